"""What rows of batches add up to, by the code of the job: `ReplayRow`s of `BatchRow`s."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.dump_log.dump_text import NOT_PRINTED
from txnlog.sources.batch_columns import MARKER_TYPES
from txnlog.sources.evidence_rows import EvidenceRows
from txnlog.sources.listed import WRITTEN_BY_BROKERS
from txnlog.sources.producer_batches import NO_MARKER, NONE, Batches, Numbers
from txnlog.sources.replay_sums import Sums
from txnlog.sources.rows import BatchRow, ReplayRow
from txnlog.spark.schema import arrow_schema

Row = Mapping[str, Any]
PIECE = 8
SEQUENCES = ("base_sequence", "base_offset", "last_offset")
LOG = ("cluster", "broker", "log_dir", "topic", "partition")


def replay_rows(batches: Iterable[Row], snapshots: Iterable[Row], checkpoints: Iterable[Row]) -> pa.Table:
    """Rows of `ReplayRow`: each file's batches summed up, with what snapshots and checkpoints say of its log."""
    named_offsets: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for entry in snapshots:
        if entry["current_txn_first_offset"] is not None:
            named_offsets[_log(entry)].append(entry["current_txn_first_offset"])
    for line in checkpoints:
        if line["checkpoint"] == "log-start-offset-checkpoint":
            named_offsets[_log(line)].append(line["checkpoint_offset"])
    files: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for batch in batches:
        files[(*_log(batch), batch["file"])].append(batch)
    found = EvidenceRows()
    for (cluster, broker, log_dir, topic, partition, name), rows in files.items():
        file = DumpFile(name, name, log_dir, FileKind.SEGMENT, 0, 0, cluster, broker, topic, partition)
        found.add_sums(file, _sums(rows, named_offsets[cluster, broker, log_dir, topic, partition]))
    names = arrow_schema(ReplayRow).names
    tables = [pa.Table.from_batches([batch.select(names)]).cast(arrow_schema(ReplayRow)) for batch in found.batches()]
    return pa.concat_tables([arrow_schema(ReplayRow).empty_table(), *tables])


def _log(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in LOG)


def _sums(rows: Iterable[Row], named_offsets: list[int]) -> Sums:
    schema = arrow_schema(BatchRow)
    table = pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema)
    sums = Sums(named_offsets)
    # In pieces, so that what is summed up over pieces is tested as well.
    for start in range(0, len(table), PIECE):
        topic = table["topic"][start].as_py()
        sums.add(batches_of_rows(table.slice(start, PIECE), topic in WRITTEN_BY_BROKERS))
    return sums


def batches_of_rows(rows: pa.Table, written_by_brokers: bool) -> Batches:
    """Rows of `BatchRow` of one file, those with a matching checksum."""
    rows = rows.filter(rows["crc_valid"])

    def numbers(name: str, null: int) -> Numbers:
        column: Numbers = rows[name].fill_null(null).combine_chunks().to_numpy(zero_copy_only=False)
        return column

    def is_one(name: str, value: str | bool) -> Numbers:
        column = rows[name].to_pylist()
        return np.array([each == value for each in column], np.bool_)

    is_transactional, is_a_control = is_one("is_transactional", True), is_one("is_control", True)
    markers = [MARKER_TYPES.index(each) if each else NO_MARKER for each in rows["marker_type"].to_pylist()]
    marker = np.array(markers, np.int8)
    marker[is_transactional & is_one("control_type", NOT_PRINTED)] = MARKER_TYPES.index(NOT_PRINTED)
    is_log_append_time = is_one("timestamp_type", "LogAppendTime")
    is_of_transaction = is_transactional & (numbers("producer_id", -1) >= 0)
    return Batches(
        position=numbers("position", 0),
        base_offset=numbers("base_offset", 0),
        last_offset=numbers("last_offset", 0),
        producer_id=numbers("producer_id", -1),
        producer_epoch=numbers("producer_epoch", -1),
        first_time=numbers("base_timestamp", NONE),
        max_timestamp=numbers("max_timestamp", -1),
        is_log_append_time=is_log_append_time,
        records=numbers("record_count", -1).astype(np.int64),
        size_in_bytes=numbers("size_in_bytes", 0),
        leader_epoch=numbers("partition_leader_epoch", -1),
        crc=numbers("crc", -1).astype(np.int64),
        marker=marker,
        coordinator_epoch=numbers("coordinator_epoch", -1),
        last_sequence=np.array(
            [
                -1 if sequence == -1 else (sequence + last - base) % 2**31
                for sequence, base, last in zip(*(rows[name].to_pylist() for name in SEQUENCES), strict=True)
            ],
            np.int32,
        ),
        is_control=is_a_control,
        is_event=is_of_transaction & (~is_a_control | (marker > NO_MARKER)),
        has_broker_timestamp=is_log_append_time | (marker > NO_MARKER) | written_by_brokers,
    )
