"""What records of `__transaction_state` say of a transaction. Numbers are items of docs/semantics.md."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from pyspark.sql import SparkSession

from txnlog.detection.recorded_transactions import combined, of_records
from txnlog.spark.materialize import local_frame
from txnlog.spark.schema import arrow_schema
from txnlog.tables.archive_rows import CoordinatorRecordRow

START = datetime(2026, 11, 21, tzinfo=UTC)
TIMEOUT_MS = 60_000
# State, epoch, seconds after the start, client transaction version.
Record = tuple[str, int, int, int | None]

# Records, outcome, who ended it.
ENDED: dict[str, tuple[list[Record], str | None, str | None]] = {
    "a commit is the client's": ([("Ongoing", 3, 0, 0), ("PrepareCommit", 3, 9, 0)], "COMMIT", "CLIENT"),
    "an abort at the data's epoch is the client's": ([("Ongoing", 3, 0, 0), ("PrepareAbort", 3, 9, 0)], "ABORT", "CLIENT"),
    "one epoch higher, past the timeout": ([("Ongoing", 3, 0, 1), ("PrepareAbort", 4, 61, 2)], "ABORT", "TIMEOUT"),
    "one epoch higher, in the last ms of the timeout": (
        [("Ongoing", 3, 0, 0), ("PrepareAbort", 4, 60, 0)], "ABORT", "FENCING",
    ),
    "values of version 0 have no client version": (
        [("Ongoing", 3, 0, None), ("PrepareAbort", 4, 9, None)], "ABORT", "FENCING",
    ),
    "clients of version 2 abort one epoch higher themselves": (
        [("Ongoing", 3, 0, 2), ("PrepareAbort", 4, 61, 2)], "ABORT", None,
    ),
    "two epochs higher is the coordinator's whatever the version": (
        [("Ongoing", 3, 0, 2), ("PrepareAbort", 5, 9, 2)], "ABORT", "FENCING",
    ),
    "without the epoch of the data nothing is known": ([("PrepareAbort", 4, 61, 0)], "ABORT", None),
    "without its Prepare record a time is lacking": ([("Ongoing", 3, 0, 0), ("CompleteAbort", 4, 61, 0)], "ABORT", None),
    "records that contradict each other": (
        [("Ongoing", 3, 0, 0), ("PrepareCommit", 3, 9, 0), ("CompleteAbort", 3, 9, 0)], "CONTRADICTED", None,
    ),
    "under way": ([("Ongoing", 3, 0, 0)], None, None),
}  # fmt: skip


def row(transactional_id: str, offset: int, record: Record, **more: Any) -> dict[str, Any]:
    state, epoch, seconds, version = record
    at = START + timedelta(seconds=seconds)
    return {
        "cluster": "c",
        "coordinator_partition": 0,
        "file": "f",
        "position": 0,
        "offset": offset,
        "coordinator_epoch": 0,
        "append_timestamp": at,
        "transactional_id": transactional_id,
        "is_tombstone": False,
        "state": state,
        "producer_id": 7,
        "producer_epoch": epoch,
        "client_transaction_version": version,
        "timeout_ms": TIMEOUT_MS,
        "topic_partitions": [],
        "update_lag_ms": 0,
        "start_timestamp": START,
        "topic_id": "t",
        "as_of": START,
    } | more


def transactions(spark: SparkSession, rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    records = local_frame(spark, rows, arrow_schema(CoordinatorRecordRow))
    # Twice: what several dumps show counts once.
    found = combined(of_records(records).unionByName(of_records(records))).collect()
    assert len({each["transactional_id"] for each in found}) == len(found)
    return {each["transactional_id"]: each.asDict(recursive=True) for each in found}


def test_83_who_ended_a_transaction(spark: SparkSession) -> None:
    offsets = count()
    rows = [row(case, next(offsets), record) for case, (records, _, _) in ENDED.items() for record in records]
    found = transactions(spark, rows)
    told = {case: (found[case]["outcome"], found[case]["ended_by"]) for case in ENDED}
    assert told == {case: (outcome, by) for case, (_, outcome, by) in ENDED.items()}


def test_a_transaction_is_of_the_producer_id_that_wrote_it(spark: SparkSession) -> None:
    rows = [
        row("rotated", 0, ("Ongoing", 32766, 0, 2), topic_partitions=[{"topic": "orders", "partition": 0}]),
        row("rotated", 1, ("PrepareCommit", 32767, 9, 2), next_producer_id=8),
        row("rotated", 2, ("CompleteCommit", 0, 10, 2), producer_id=8, previous_producer_id=7),
    ]
    found = transactions(spark, rows)["rotated"]
    assert (found["producer_id"], found["end_epoch"], found["next_producer_id"]) == (7, 32767, 8)
    assert (found["first_offset"], found["last_offset"], found["state"]) == (0, 2, "CompleteCommit")


def test_each_partition_is_listed_since_the_first_record_that_lists_it(spark: SparkSession) -> None:
    orders, second, payments = (
        {"topic": topic, "partition": partition} for topic, partition in [("orders", 0), ("orders", 1), ("payments", 0)]
    )
    rows = [
        # A time that no calendar has is null.
        row("shop", 0, ("Ongoing", 3, 0, 0), topic_partitions=[payments], update_lag_ms=None),
        row("shop", 1, ("Ongoing", 3, 1, 0), topic_partitions=[orders, payments]),
        row("shop", 2, ("Ongoing", 3, 2, 0), topic_partitions=[payments, orders, second]),
        row("shop", 3, ("CompleteCommit", 3, 3, 0)),
        row("undated", 4, ("Ongoing", 3, 0, 0), topic_partitions=[orders], update_lag_ms=None),
        row("none", 5, ("PrepareAbort", 3, 0, 0), topic_partitions=None),
    ]
    found = transactions(spark, rows)
    listed = {name: [tuple(each.values()) for each in found[name]["partitions"]] for name in found}
    first, then = ((START + timedelta(seconds=seconds)).replace(tzinfo=None) for seconds in (1, 2))
    assert listed == {
        "shop": [("orders", 0, first), ("orders", 1, then), ("payments", 0, first)],
        "undated": [("orders", 0, None)],
        "none": [],
    }
