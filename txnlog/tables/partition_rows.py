"""Rows of the Delta tables that `detect --full` writes about what each log shows."""

from __future__ import annotations

from typing import Annotated, get_type_hints

from txnlog.format.structure import INT64, TEXT, TIMESTAMP
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
            "transactional_id": Annotated[str | None, TEXT, "Transactional id of that row; null without one."],
            "start_timestamp": Annotated[object | None, TIMESTAMP, "Its start, by the coordinator's clock."],
            "listed_at": Annotated[object | None, TIMESTAMP, "Since when it lists the partition."],
            "decided_at": Annotated[object | None, TIMESTAMP, "When its outcome was decided."],
            "completed_at": Annotated[object | None, TIMESTAMP, "When all of its markers had been written."],
            "recorded_outcome": Annotated[str | None, TEXT, "Its outcome by the coordinator's records."],
            "as_of": Annotated[object, TIMESTAMP, "When the partition was copied."],
        },
    },
)
