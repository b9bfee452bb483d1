"""Rows of the Delta tables that `detect --full` writes about what each log shows."""

from __future__ import annotations

from typing import Annotated, NamedTuple, get_type_hints

from txnlog.format.structure import INT16, INT32, INT64, TEXT, TIMESTAMP
from txnlog.sources.transaction_rows import PartitionTransactionRow

# The row as a dump shows it, with instants as in all tables, and what its coordinator recorded.
PartitionTransactionTableRow = type(
    "PartitionTransactionTableRow",
    (),
    {
        "__doc__": "A transaction in a partition, ended or open, with what its coordinator recorded of it.",
        "__annotations__": {
            **get_type_hints(PartitionTransactionRow, include_extras=True),
            "first_timestamp": Annotated[object | None, TIMESTAMP, "First time in its data."],
            "last_timestamp": Annotated[object | None, TIMESTAMP, "Largest time in its data."],
            "marker_timestamp": Annotated[object | None, TIMESTAMP, "Time of the marker by the broker's clock."],
            "duration_ms": Annotated[int | None, INT64, "From the first time in its data to the marker, ms."],
            "matched_by": Annotated[
                str | None,
                TEXT,
                "How its row of transactions was found. EPOCH: no other one has this epoch. TIME: only that one was"
                " under way when the marker was written. Null: none, or more than one.",
            ],
            "transactional_id": Annotated[
                str | None, TEXT, "Transactional id of that row; of an open one, that of its verdict."
            ],
            "start_timestamp": Annotated[object | None, TIMESTAMP, "Its start, by the coordinator's clock."],
            "listed_at": Annotated[object | None, TIMESTAMP, "Since when it lists the partition."],
            "decided_at": Annotated[object | None, TIMESTAMP, "When its outcome was decided."],
            "completed_at": Annotated[object | None, TIMESTAMP, "When all of its markers had been written."],
            "recorded_outcome": Annotated[str | None, TEXT, "Its outcome by the coordinator's records."],
            "as_of": Annotated[object, TIMESTAMP, "When the partition was copied."],
        },
    },
)


class FindingRow(NamedTuple):
    """Something odd about a transaction in a partition."""

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    topic: Annotated[str, TEXT, "Topic."]
    partition: Annotated[int, INT32, "Partition."]
    finding: Annotated[
        str,
        TEXT,
        "LATE_WRITE, TORN_OUTCOME, MARKER_LOST, MARKER_TWICE, NEVER_WRITTEN, or MARKER_WITHOUT_DATA: one of both.",
    ]
    producer_id: Annotated[int, INT64, "Producer id."]
    producer_epoch: Annotated[int | None, INT16, "Epoch of its last batch; null without data."]
    first_offset: Annotated[int | None, INT64, "Offset of its first record; null without data."]
    last_offset: Annotated[int | None, INT64, "Offset of its last record; null without data."]
    marker_offset: Annotated[int | None, INT64, "Offset of its marker; null without one."]
    outcome: Annotated[str, TEXT, "Outcome by this log: COMMIT, ABORT, OPEN or UNKNOWN."]
    recorded_outcome: Annotated[str | None, TEXT, "Outcome by the coordinator's records; null if no row is matched."]
    transactional_id: Annotated[str | None, TEXT, "Transactional id of that row, or of the verdict."]
    start_timestamp: Annotated[object | None, TIMESTAMP, "Its start, by the coordinator's clock."]
    reason: Annotated[str, TEXT, "The finding in words."]
    file: Annotated[str | None, TEXT, "File with the marker, or for LATE_WRITE and MARKER_LOST with the first batch."]
    position: Annotated[int | None, INT64, "Byte of that file."]
    as_of: Annotated[object, TIMESTAMP, "When the partition was copied."]
