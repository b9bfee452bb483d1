"""The rows of the tables that keep what coordinators once said, which compaction removes from their logs."""

from __future__ import annotations

from typing import Annotated, NamedTuple, get_type_hints

from txnlog.format.structure import INT32, INT64, LEADER_EPOCHS, TEXT, TIMESTAMP
from txnlog.sources.rows import TransactionStateRow

_RECORD = get_type_hints(TransactionStateRow, include_extras=True)
# The record as a dump shows it, with instants as in all tables; `file` says which copy that was.
CoordinatorRecordRow = type(
    "CoordinatorRecordRow",
    (),
    {
        "__doc__": "One record of `__transaction_state` within a range of offsets that some dump showed whole.",
        "__annotations__": {
            **{name: hint for name, hint in _RECORD.items() if name not in ("broker", "log_dir", "problem")},
            "transactional_id": Annotated[str, TEXT, "Transactional id."],
            "offset": Annotated[int, INT64, "Offset of the record."],
            "append_timestamp": Annotated[
                object | None, TIMESTAMP, "Largest time of its batch, by the coordinator's clock."
            ],
            "last_update_timestamp": Annotated[object | None, TIMESTAMP, "When the coordinator wrote the record."],
            "start_timestamp": Annotated[object | None, TIMESTAMP, "Start of the transaction; null if none."],
            "topic_id": Annotated[str, TEXT, "Topic id of __transaction_state; a recreated topic has another."],
            "as_of": Annotated[object, TIMESTAMP, "When the copy was taken that showed the record first."],
        },
    },
)


class CoordinatorRangeRow(NamedTuple):
    """Offsets of a partition of `__transaction_state` of which every record is in `coordinator_records`."""

    cluster: Annotated[str, TEXT, "Cluster of the dumps."]
    coordinator_partition: Annotated[int, INT32, "Partition of __transaction_state."]
    topic_id: Annotated[str, TEXT, "Topic id of __transaction_state; a recreated topic has another."]
    from_offset: Annotated[int, INT64, "First offset of the range."]
    to_offset: Annotated[int, INT64, "Offset after its last one."]
    written_from: Annotated[object, TIMESTAMP, "When its first record was written, by the coordinator's clock."]
    written_to: Annotated[object, TIMESTAMP, "When its last record was written."]
    leader_epochs: Annotated[
        list[tuple[int, int]], LEADER_EPOCHS, "Leader epochs of its records, each with its first offset in the range."
    ]
