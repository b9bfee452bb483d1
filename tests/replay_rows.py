"""What rows of batches add up to, by the code of the job: `ReplayRow`s of `BatchRow`s."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from txnlog.schema import arrow_schema
from txnlog.sources.evidence import EvidenceRows, batches_of_rows
from txnlog.sources.files import WRITTEN_BY_BROKERS
from txnlog.sources.inventory import DumpFile, FileKind
from txnlog.sources.rows import BatchRow, ReplayRow
from txnlog.sources.runs import Sums

Row = Mapping[str, Any]
LOG = ("cluster", "broker", "log_dir", "topic", "partition")


def replay_rows(batches: Iterable[Row], snapshots: Iterable[Row], checkpoints: Iterable[Row]) -> pa.Table:
    """Rows of `ReplayRow`: each file's batches summed up, with what snapshots and checkpoints say of its log."""
    anchors: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for entry in snapshots:
        if entry["current_txn_first_offset"] is not None:
            anchors[_log(entry)].append(entry["current_txn_first_offset"])
    for line in checkpoints:
        if line["checkpoint"] == "log-start-offset-checkpoint":
            anchors[_log(line)].append(line["checkpoint_offset"])
    files: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for batch in batches:
        files[(*_log(batch), batch["file"])].append(batch)
    found = EvidenceRows()
    for (cluster, broker, log_dir, topic, partition, name), rows in files.items():
        file = DumpFile(name, name, log_dir, FileKind.SEGMENT, 0, 0, cluster, broker, topic, partition)
        found.add_sums(file, _sums(rows, anchors[cluster, broker, log_dir, topic, partition]))
    names = arrow_schema(ReplayRow).names
    tables = [pa.Table.from_batches([batch.select(names)]).cast(arrow_schema(ReplayRow)) for batch in found.batches()]
    return pa.concat_tables([arrow_schema(ReplayRow).empty_table(), *tables])


def _log(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in LOG)


def _sums(rows: Iterable[Row], anchors: list[int]) -> Sums:
    schema = arrow_schema(BatchRow)
    table = pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema)
    sums = Sums(anchors)
    # In pieces of two, so that what is summed up over pieces is tested as well.
    for start in range(0, len(table), 2):
        topic = table["topic"][start].as_py()
        sums.add(batches_of_rows(table.slice(start, 2), topic in WRITTEN_BY_BROKERS))
    return sums
