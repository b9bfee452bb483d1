"""Rows of the Delta tables about consumer groups: where they stand, and which of them transactions block."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from txnlog.format.structure import INT32, INT64, TEXT, TIMESTAMP


class GroupPositionRow(NamedTuple):
    """A partition that a group has committed to, has a commit pending for, or is assigned, by the latest dump."""

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    group_id: Annotated[str, TEXT, "Consumer group."]
    topic: Annotated[str, TEXT, "Topic."]
    partition: Annotated[int, INT32, "Partition."]
    coordinator_partition: Annotated[int, INT32, "Partition of __consumer_offsets that has the group."]
    protocol: Annotated[str | None, TEXT, "CLASSIC, or CONSUMER (KIP-848); null if the log has no record of the group."]
    protocol_type: Annotated[str | None, TEXT, "Protocol type of a classic group, such as consumer or connect."]
    committed_offset: Annotated[int | None, INT64, "Committed offset; null if the group has committed none."]
    committed_at: Annotated[object | None, TIMESTAMP, "When it was committed."]
    leader_epoch: Annotated[int | None, INT32, "Leader epoch that was committed with it; null if not set."]
    metadata: Annotated[str | None, TEXT, "Text that was committed with it."]
    pending_offset: Annotated[int | None, INT64, "Offset of a commit whose transaction is open; null if none."]
    pending_producer_id: Annotated[int | None, INT64, "Producer id of that transaction."]
    topic_id: Annotated[str | None, TEXT, "Topic id, by the commit or by the dump; null if neither has it."]
    log_end_offset: Annotated[int | None, INT64, "Log end offset in the copy; null if the dump lacks the partition."]
    last_stable_offset: Annotated[int | None, INT64, "Last stable offset: where read_committed consumers stop."]
    lag: Annotated[int | None, INT64, "Offsets from the committed offset to the log end offset."]
    members: Annotated[int | None, INT32, "Members of the group; null if the log has no record of the group."]
    member_id: Annotated[str | None, TEXT, "Member that is assigned the partition; null if none is known."]
    client_id: Annotated[str | None, TEXT, "Its client id."]
    client_host: Annotated[str | None, TEXT, "Its host."]
    blocked_by: Annotated[str | None, TEXT, "LAST_STABLE_OFFSET or UNSTABLE_OFFSET_COMMIT: see blocked_groups."]
    not_known: Annotated[str | None, TEXT, "What the dump does not tell about this row; null if nothing is missing."]
    broker: Annotated[str, TEXT, "Broker whose copy of the partition of __consumer_offsets was used."]
    offset: Annotated[int | None, INT64, "Offset of the commit's record in __consumer_offsets."]
    file: Annotated[str | None, TEXT, "Its file."]
    position: Annotated[int | None, INT64, "Byte at which its batch starts."]
    as_of: Annotated[object, TIMESTAMP, "When the partition of __consumer_offsets was copied."]


class BlockedGroupRow(NamedTuple):
    """A group that an open transaction keeps from reading on in a partition, by the latest dump."""

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    group_id: Annotated[str, TEXT, "Consumer group."]
    topic: Annotated[str, TEXT, "Topic that it reads."]
    partition: Annotated[int, INT32, "Partition."]
    coordinator_partition: Annotated[int, INT32, "Partition of __consumer_offsets that has the group."]
    blocked_by: Annotated[
        str, TEXT, "LAST_STABLE_OFFSET: it stands there. UNSTABLE_OFFSET_COMMIT: its commit is pending."
    ]
    client_sees: Annotated[str, TEXT, "What its consumers see."]
    committed_offset: Annotated[int | None, INT64, "Committed offset; null if the group has committed none."]
    pending_offset: Annotated[int | None, INT64, "Offset of the commit whose transaction is open; null if none."]
    last_stable_offset: Annotated[int | None, INT64, "Last stable offset of the partition."]
    log_end_offset: Annotated[int | None, INT64, "Its log end offset in the copy; null if the dump lacks it."]
    waiting_offsets: Annotated[int | None, INT64, "Offsets that the group cannot read."]
    members: Annotated[int | None, INT32, "Members of the group; null if the log has no record of the group."]
    blocking_topic: Annotated[str, TEXT, "Topic in which the transaction is open: this one, or __consumer_offsets."]
    blocking_partition: Annotated[int, INT32, "Its partition."]
    producer_id: Annotated[int | None, INT64, "Producer id of the first open transaction there that blocks the group."]
    start_offset: Annotated[int | None, INT64, "Its start offset: a row of open_transactions."]
    transactional_id: Annotated[str | None, TEXT, "Transactional id that owns the producer id; null if unknown."]
    cause: Annotated[str | None, TEXT, "Why it is open."]
    action: Annotated[str | None, TEXT, "What to do about it."]
    not_known: Annotated[str, TEXT, "What the dump does not tell about this row."]
    as_of: Annotated[object, TIMESTAMP, "When the partition of __consumer_offsets was copied."]
