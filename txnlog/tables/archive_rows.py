"""The rows of the tables that keep what coordinators once said, which compaction removes from their logs."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from txnlog.format.structure import BOOLEAN, INT16, INT32, INT64, LEADER_EPOCHS, TEXT, TIMESTAMP, TOPIC_PARTITIONS


class CoordinatorRecordRow(NamedTuple):
    """One record of `__transaction_state` within a range of offsets that some dump showed whole."""

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    coordinator_partition: Annotated[int, INT32, "Partition of __transaction_state."]
    topic_id: Annotated[str, TEXT, "Topic id of __transaction_state; a recreated topic has another."]
    offset: Annotated[int, INT64, "Offset of the record."]
    coordinator_epoch: Annotated[int, INT32, "Leader epoch of the batch: the epoch of the coordinator that wrote it."]
    append_timestamp: Annotated[object | None, TIMESTAMP, "Largest time of its batch, by the coordinator's clock."]
    transactional_id: Annotated[str, TEXT, "Transactional id."]
    is_tombstone: Annotated[bool, BOOLEAN, "Whether the value is null: the id has expired."]
    state: Annotated[str | None, TEXT, "Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort."]
    producer_id: Annotated[int | None, INT64, "Producer id of the transaction."]
    producer_epoch: Annotated[int | None, INT16, "Its epoch."]
    previous_producer_id: Annotated[int | None, INT64, "Previous producer id; null if not set."]
    next_producer_id: Annotated[int | None, INT64, "Producer id after this transaction; null if not set."]
    next_producer_epoch: Annotated[int | None, INT16, "Epoch after this transaction; null if not set."]
    client_transaction_version: Annotated[int | None, INT16, "2 where each transaction has its own epoch (KIP-890)."]
    timeout_ms: Annotated[int | None, INT32, "The id's own timeout, ms; 2147483647 in two-phase commit."]
    topic_partitions: Annotated[list[tuple[str, int]] | None, TOPIC_PARTITIONS, "Partitions added; null if none."]
    last_update_timestamp: Annotated[object | None, TIMESTAMP, "When the coordinator wrote the record."]
    start_timestamp: Annotated[object | None, TIMESTAMP, "Start of the transaction; null if none."]
    file: Annotated[str, TEXT, "Segment of the dump that showed it first."]
    position: Annotated[int, INT64, "Byte at which its batch starts."]
    as_of: Annotated[object, TIMESTAMP, "When that copy was taken."]


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
