"""Rows of the Delta tables about ids: what coordinators and brokers know of them."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from txnlog.format.structure import BOOLEAN, INT16, INT32, INT64, TEXT, TIMESTAMP, TOPIC_PARTITIONS


class TransactionalIdRow(NamedTuple):
    """The owner of a producer id, kept forever: coordinators forget an idle id after a week."""

    cluster: Annotated[str, TEXT, "Cluster."]
    producer_id: Annotated[int, INT64, "Producer id."]
    transactional_id: Annotated[str, TEXT, "Transactional id that claims it in some dump."]
    coordinator_partition: Annotated[int, INT32, "Partition of __transaction_state."]
    known_since: Annotated[object | None, TIMESTAMP, "Earliest coordinator record that names it, when first seen."]


class CoordinatorStateRow(NamedTuple):
    """The last coordinator record of a transactional id in the latest dump."""

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    transactional_id: Annotated[str, TEXT, "Transactional id; removed once its coordinator no longer has it."]
    coordinator_partition: Annotated[int, INT32, "Partition of __transaction_state that owns the id."]
    broker: Annotated[str, TEXT, "Broker whose copy of that partition was used."]
    coordinator_epoch: Annotated[int, INT32, "Epoch of the coordinator that wrote the record."]
    state: Annotated[str, TEXT, "Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort."]
    producer_id: Annotated[int, INT64, "Producer id."]
    producer_epoch: Annotated[int, INT16, "Its epoch."]
    previous_producer_id: Annotated[int | None, INT64, "Previous producer id; null if not set."]
    next_producer_id: Annotated[int | None, INT64, "Producer id after this transaction; null if not set."]
    next_producer_epoch: Annotated[int | None, INT16, "Epoch after this transaction; null if not set."]
    client_transaction_version: Annotated[int | None, INT16, "2 where each transaction has its own epoch (KIP-890)."]
    timeout_ms: Annotated[int, INT32, "The id's own timeout, ms; 2147483647 in two-phase commit."]
    topic_partitions: Annotated[list[tuple[str, int]] | None, TOPIC_PARTITIONS, "Partitions added; null if none."]
    last_update_timestamp: Annotated[object | None, TIMESTAMP, "When the coordinator wrote the record."]
    start_timestamp: Annotated[object | None, TIMESTAMP, "Start of its last transaction; null if there was none."]
    is_certain: Annotated[bool, BOOLEAN, "Whether no damage or gap in the copy can hide a later record."]
    offset: Annotated[int, INT64, "Offset of the record in __transaction_state."]
    file: Annotated[str, TEXT, "Its file."]
    position: Annotated[int, INT64, "Byte at which its batch starts."]
    as_of: Annotated[object, TIMESTAMP, "When the coordinator's partition was copied; durations count to it."]


class ProducerStateRow(NamedTuple):
    """A broker's state of a producer id in a partition (`ProducerStateEntry`), by the latest dump."""

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    topic: Annotated[str, TEXT, "Topic."]
    partition: Annotated[int, INT32, "Partition."]
    producer_id: Annotated[int, INT64, "Producer id."]
    producer_epoch: Annotated[int, INT16, "Epoch of its last batch or marker."]
    coordinator_epoch: Annotated[int, INT32, "Coordinator epoch of its last marker; -1 none."]
    last_sequence: Annotated[int, INT32, "Sequence number of its last record in this epoch; -1 none."]
    last_timestamp: Annotated[object | None, TIMESTAMP, "Time of its last batch or marker."]
    current_txn_start_offset: Annotated[int | None, INT64, "Start offset of its open transaction; null if none."]
    broker: Annotated[str, TEXT, "Broker whose copy of the partition was used."]
    as_of: Annotated[
        object, TIMESTAMP, "When the partition was copied; brokers forget an idle producer id after a day."
    ]
