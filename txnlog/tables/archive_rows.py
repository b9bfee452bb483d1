"""The rows of the tables that keep what coordinators once said, which compaction removes from their logs."""

from __future__ import annotations

from typing import Annotated, NamedTuple, get_type_hints

from txnlog.format.structure import (
    EPOCHS,
    INT16,
    INT32,
    INT64,
    LEADER_EPOCHS,
    LISTED_PARTITIONS,
    TEXT,
    TIMESTAMP,
)
from txnlog.sources.rows import TransactionStateRow

_RECORD = get_type_hints(TransactionStateRow, include_extras=True)
# The time of the last update is mostly the same to a few ms; as a time it would take a fourth of the table.
_LEFT_OUT = ("broker", "log_dir", "problem", "last_update_timestamp")
# The record as a dump shows it, with instants as in all tables; `file` says which copy that was.
CoordinatorRecordRow = type(
    "CoordinatorRecordRow",
    (),
    {
        "__doc__": "One record of `__transaction_state` within a range of offsets that some dump showed whole.",
        "__annotations__": {
            **{name: hint for name, hint in _RECORD.items() if name not in _LEFT_OUT},
            "transactional_id": Annotated[str, TEXT, "Transactional id."],
            "offset": Annotated[int, INT64, "Offset of the record."],
            "append_timestamp": Annotated[
                object | None, TIMESTAMP, "Largest time of its batch, by the coordinator's clock."
            ],
            "update_lag_ms": Annotated[
                int | None,
                INT64,
                "How long before that is the time of the last update that the record has, ms; null if it has none.",
            ],
            "start_timestamp": Annotated[object | None, TIMESTAMP, "Start of the transaction; null if none."],
            "topic_id": Annotated[str, TEXT, "Topic id of __transaction_state; a recreated topic has another."],
            "as_of": Annotated[object, TIMESTAMP, "When the copy was taken that the record is from."],
        },
    },
)


class CoordinatorRangeRow(NamedTuple):
    """Offsets of a partition of `__transaction_state` of which every record is in `coordinator_records`."""

    cluster: Annotated[str, TEXT, "Cluster of the dumps."]
    coordinator_partition: Annotated[int, INT32, "Partition of __transaction_state."]
    topic_id: Annotated[str, TEXT, "Topic id of __transaction_state; a recreated topic has another."]
    from_offset: Annotated[int, INT64, "First offset of the range; earlier ones were pruned."]
    to_offset: Annotated[int, INT64, "Offset after its last one."]
    written_from: Annotated[object, TIMESTAMP, "When its first record was written, by the coordinator's clock."]
    written_to: Annotated[object, TIMESTAMP, "When its last record was written."]
    leader_epochs: Annotated[
        list[tuple[int, int]], LEADER_EPOCHS, "Leader epochs, each with its first offset; those of pruned records stay."
    ]


class TransactionRow(NamedTuple):
    """One transaction, as far as the records in `coordinator_records` show it."""

    cluster: Annotated[str, TEXT, "Cluster of the dumps."]
    coordinator_partition: Annotated[int, INT32, "Partition of __transaction_state."]
    topic_id: Annotated[str, TEXT, "Topic id of __transaction_state; a recreated topic has another."]
    transactional_id: Annotated[str, TEXT, "Transactional id."]
    producer_id: Annotated[int, INT64, "Producer id that wrote its data."]
    start_timestamp: Annotated[object, TIMESTAMP, "Start of the transaction, by the coordinator's clock."]
    state: Annotated[str, TEXT, "State by its latest record: Ongoing, Prepare* or Complete*."]
    outcome: Annotated[str | None, TEXT, "COMMIT or ABORT; CONTRADICTED if records say both; null while it is open."]
    ended_by: Annotated[str | None, TEXT, "CLIENT, TIMEOUT or FENCING (a newer producer); null if that is not known."]
    decided_at: Annotated[object | None, TIMESTAMP, "When the outcome was decided: the time of the Prepare* record."]
    completed_at: Annotated[object | None, TIMESTAMP, "When all markers had been written, by the Complete* record."]
    producer_epoch: Annotated[int | None, INT16, "Producer epoch of its data; null if no Ongoing record is kept."]
    end_epoch: Annotated[int | None, INT16, "Producer epoch of its markers; null if unknown."]
    next_producer_id: Annotated[int | None, INT64, "Producer id of the next transaction, if it is another one."]
    client_transaction_version: Annotated[int | None, INT16, "Transaction version of the client; null if unknown."]
    timeout_ms: Annotated[int | None, INT64, "Timeout of the transactional id, ms; 2147483647 in two-phase commit."]
    partitions: Annotated[
        list[tuple[str, int, object]],
        LISTED_PARTITIONS,
        "Its partitions, each with the time of the earliest record kept that lists it.",
    ]
    first_offset: Annotated[int, INT64, "Offset of its first record that is kept."]
    last_offset: Annotated[int, INT64, "Offset of its last record."]
    coordinator_epochs: Annotated[list[int], EPOCHS, "Coordinator epochs (leader epochs) of its records."]
    as_of: Annotated[object, TIMESTAMP, "When the copy was taken that its latest record is from."]
