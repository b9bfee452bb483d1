"""Delta tables with rows of one's own, written without Spark: what reports read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from txnlog.spark.schema import arrow_schema
from txnlog.tables.layout import ABORT_CANDIDATES, BLOCKED_GROUPS, DUMP_FILES, OPEN_TRANSACTIONS, RUNS, Root, Table

Row = dict[str, Any]
NIGHT = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
LOG = "00000000000000000000.log"


def transaction(topic: str = "orders", partition: int = 0, start: int = 42, **values: Any) -> Row:
    """A late open transaction, two hours old, with fifty records after its start."""
    place = f"broker-1/{topic}-{partition}/{LOG}"
    return {
        "cluster": "payments", "topic": topic, "partition": partition, "producer_id": 7, "producer_epoch": 2,
        "coordinator_epoch": -1, "start_offset": start, "transactional_id": f"{topic}-writer",
        "cause": "NEVER_ADDED", "action": "ABORT", "confidence": "HIGH", "reason": "no transaction listed it",
        "late": True, "as_of": NIGHT, "as_of_source": "manifest", "start_timestamp": NIGHT - 2 * HOUR,
        "last_timestamp": NIGHT - 2 * HOUR, "last_activity": NIGHT - 2 * HOUR, "timestamps_trusted": True,
        "open_for_ms": 7_200_000, "late_after_ms": 1_200_000, "batches": 1, "records": 3, "bytes": 210,
        "last_stable_offset": start, "log_start_offset": 0, "log_end_offset": start + 50, "high_watermark": start + 50,
        "held_back_offsets": 50, "held_back_records": 50, "held_back_bytes": 3_500,
        "held_back_since": NIGHT - 2 * HOUR, "broker": "1", "log_dir": "broker-1", "copies": 1,
        "chosen_because": "the only copy", "opened_file": place, "opened_position": 9,
    } | values  # fmt: skip


def night(as_of: datetime = NIGHT, **values: Any) -> Row:
    """A run over a whole dump."""
    return {
        "run_id": f"run of {as_of:%Y-%m-%d}", "cluster": "payments", "dump": "/d",
        "txnlog_version": "0.1.0", "options": "{}", "started_at": as_of + HOUR,
        "finished_at": as_of + 2 * HOUR, "input_digest": "0" * 64,
        "as_of_from": as_of, "as_of_to": as_of, "as_of_sources": ["manifest"], "files": 2, "bytes": 4_096,
        "bytes_damaged": 0, "partitions": 2, "coordinator_partitions": 1, "coordinator_partitions_missing": 0,
        "open_transactions": 1, "late_transactions": 1, "abort_candidates": 1, "undetermined": 0,
        "partitions_with_late_transactions": 1, "longest_open_ms": 7_200_000, "step_seconds": [],
    } | values  # fmt: skip


def file(name: str = f"broker-1/__transaction_state-0/{LOG}", **values: Any) -> Row:
    """A segment, of `__transaction_state` if nothing else is said."""
    return {
        "cluster": "payments", "broker": "1", "log_dir": "broker-1", "topic": "__transaction_state", "partition": 0,
        "file": name, "kind": "segment", "size_in_bytes": 100, "modified": NIGHT, "bytes_parsed": 100, "bytes_tail": 0,
        "bytes_damaged": 0, "bytes_skipped": 0, "as_of": NIGHT, "copy_chosen": True,
    } | values  # fmt: skip


def blocked(group: str = "billing", **values: Any) -> Row:
    """A group that stands at the last stable offset of `orders-0`."""
    return {
        "cluster": "payments", "group_id": group, "topic": "orders", "partition": 0, "coordinator_partition": 0,
        "blocked_by": "LAST_STABLE_OFFSET", "client_sees": "nothing new", "committed_offset": 42,
        "last_stable_offset": 42, "log_end_offset": 92, "waiting_offsets": 50, "blocking_topic": "orders",
        "blocking_partition": 0, "producer_id": 7, "start_offset": 42, "transactional_id": "orders-writer",
        "cause": "NEVER_ADDED", "action": "ABORT", "not_known": "its isolation level", "as_of": NIGHT,
    } | values  # fmt: skip


def written(
    folder: Path,
    transactions: Sequence[Row],
    runs: Sequence[Row],
    files: Sequence[Row] = (),
    candidates: Sequence[Row] = (),
    groups: Sequence[Row] | None = None,
) -> Root:
    """The tables that a report reads, with these rows and no others; those of an earlier version without `groups`."""
    tables = (OPEN_TRANSACTIONS, RUNS, DUMP_FILES, ABORT_CANDIDATES)
    for table, rows in zip(tables, (transactions, runs, files, candidates), strict=True):
        write(folder, table, rows)
    if groups is not None:
        write(folder, BLOCKED_GROUPS, groups)
    return Root(str(folder))


def write(folder: Path, table: Table, rows: Sequence[Row]) -> None:
    """Write a table with these rows and no others."""
    schema = arrow_schema(table.row)
    columns = {name: [row.get(name) for row in rows] for name in schema.names}
    write_deltalake(str(folder / table.name), pa.table(columns, schema=schema), partition_by=["cluster"])
