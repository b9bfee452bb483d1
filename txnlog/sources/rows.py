"""The rows of a dump's DataFrames. Each column is declared here once; schemas, comments and docs are derived."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from txnlog.format.structure import (
    BOOLEAN,
    INT8,
    INT16,
    INT32,
    INT64,
    TEXT,
    TIMESTAMP,
    TOPIC_PARTITIONS,
    UINT32,
)


class BatchRow(NamedTuple):
    """One record batch of a topic partition (`DefaultRecordBatch`); one message of magic 0 or 1 in older logs."""

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    broker: Annotated[str, TEXT, "Broker id, or the folder where no meta.properties names one."]
    log_dir: Annotated[str, TEXT, "Copied log directory, relative to the dump."]
    topic: Annotated[str, TEXT, "Topic."]
    partition: Annotated[int, INT32, "Partition."]
    file: Annotated[str, TEXT, "Segment, relative to the dump."]
    position: Annotated[int, INT64, "Byte of the segment at which the batch starts."]
    size_in_bytes: Annotated[int | None, INT64, "Bytes of the whole batch; null if dump-log output does not say."]
    base_offset: Annotated[int, INT64, "Offset of the first record, kept through compaction."]
    last_offset: Annotated[int, INT64, "Offset of the last record, kept through compaction."]
    partition_leader_epoch: Annotated[int, INT32, "Epoch of the leader that appended it; -1 unknown."]
    magic: Annotated[int, INT8, "Version of the layout: 2; 0 and 1 are from before 0.11."]
    crc: Annotated[int | None, UINT32, "Stored checksum: CRC-32C, CRC-32 for magic 0 and 1; null in some output."]
    crc_valid: Annotated[bool, BOOLEAN, "Whether the stored checksum matches the bytes."]
    compression: Annotated[str, TEXT, "none, gzip, snappy, lz4, zstd, or unknown."]
    timestamp_type: Annotated[str, TEXT, "CreateTime or LogAppendTime."]
    is_transactional: Annotated[bool, BOOLEAN, "Whether the batch belongs to a transaction."]
    is_control: Annotated[bool, BOOLEAN, "Whether it is a control batch."]
    delete_horizon_ms: Annotated[int | None, INT64, "When the cleaner may drop it, ms since 1970; null if not set."]
    base_timestamp: Annotated[
        int | None, INT64, "Time of the first record, ms since 1970; null with a delete horizon, in dump-log output."
    ]
    max_timestamp: Annotated[int, INT64, "Largest time, ms since 1970; -1 none. The producer's clock with CreateTime."]
    producer_id: Annotated[int, INT64, "Producer id; -1 none."]
    producer_epoch: Annotated[int, INT16, "Producer epoch; -1 none."]
    base_sequence: Annotated[int, INT32, "Sequence number of the first record; -1 none."]
    record_count: Annotated[int | None, INT32, "Records left in it; null in a wrapper of magic 0 or 1, in some output."]
    control_type: Annotated[
        str | None, TEXT, "Kind of its control record, NOT_PRINTED in some output; null without one."
    ]
    marker_type: Annotated[str | None, TEXT, "COMMIT or ABORT where it ends a transaction."]
    coordinator_epoch: Annotated[int | None, INT32, "Epoch of the coordinator that wrote the marker."]


class ReplayRow(NamedTuple):
    """Sums of a file's batches for the replay (`txnlog.sources.replay_sums`); `fact` says which columns count.

    sums: all batches of the file. open_data: the data of one producer id after its last marker. marker: the last marker
    of a producer id. producer: a broker's state of a producer id. named_offset: an offset at which, by a snapshot, an
    open transaction starts, or the log start offset, with what lies around it.
    """

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    broker: Annotated[str, TEXT, "Broker id, or the folder where no meta.properties names one."]
    log_dir: Annotated[str, TEXT, "Copied log directory, relative to the dump."]
    topic: Annotated[str, TEXT, "Topic."]
    partition: Annotated[int, INT32, "Partition."]
    file: Annotated[str, TEXT, "Segment, relative to the dump."]
    fact: Annotated[str, TEXT, "sums, open_data, marker, named_offset or producer; of other rows file or state."]
    file_start: Annotated[int, INT64, "Base offset of the file's first batch: files of a log in their order."]
    start_offset: Annotated[int | None, INT64, "Base offset of its first batch, of the marker; the named offset."]
    position: Annotated[int | None, INT64, "Byte at which that batch starts."]
    producer_id: Annotated[int | None, INT64, "Producer id of the data or marker."]
    producer_epoch: Annotated[int | None, INT16, "Epoch of its last batch, of the marker."]
    lowest_producer_epoch: Annotated[int | None, INT16, "Smallest epoch of the data."]
    marker_type: Annotated[str | None, TEXT, "COMMIT, ABORT, or NOT_PRINTED in some dump-log output."]
    coordinator_epoch: Annotated[int | None, INT32, "Epoch of the coordinator that wrote the marker."]
    commits: Annotated[int | None, INT64, "COMMIT markers of the producer id that closed data in the file, at least."]
    first_timestamp: Annotated[int | None, INT64, "First time in its first batch, ms since 1970."]
    first_leader_epoch: Annotated[int | None, INT32, "Leader epoch of its first batch."]
    first_crc: Annotated[int | None, UINT32, "Checksum of its first batch."]
    last_batch_offset: Annotated[int | None, INT64, "Base offset of its last batch."]
    last_timestamp: Annotated[int | None, INT64, "Largest time of its last batch, of the marker, ms since 1970."]
    is_log_append_time: Annotated[bool | None, BOOLEAN, "Whether that time is the broker's."]
    batches: Annotated[int | None, INT64, "Batches of the data, of the file."]
    records: Annotated[int | None, INT64, "Their records; null if dump-log output does not say."]
    size_in_bytes: Annotated[int | None, INT64, "Their bytes."]
    records_before: Annotated[int | None, INT64, "Records of the file before the data or named offset."]
    bytes_before: Annotated[int | None, INT64, "Bytes of the file's batches before it."]
    last_data_offset_before: Annotated[
        int | None, INT64, "Last offset of the file before the data that is of no control batch; null if none."
    ]
    broker_timestamp_before_start: Annotated[
        int | None, INT64, "Latest time by a broker's clock before it, ms; of all in sums."
    ]
    broker_timestamp_before: Annotated[int | None, INT64, "Latest such time before its last batch, ms since 1970."]
    broker_timestamp_after: Annotated[int | None, INT64, "Earliest such time after it, ms; of all in sums."]
    first_producer_epoch: Annotated[int | None, INT16, "First epoch of the producer id in the file."]
    last_sequence: Annotated[int | None, INT32, "Its last sequence number in the file; null without data; -1 none."]
    is_old_sequence: Annotated[bool | None, BOOLEAN, "Whether its epoch has changed since."]


class TransactionStateRow(NamedTuple):
    """One record of `__transaction_state` (`TransactionLog`); what could not be decoded says so in `problem`."""

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    broker: Annotated[str, TEXT, "Broker id, or the folder where no meta.properties names one."]
    log_dir: Annotated[str, TEXT, "Copied log directory, relative to the dump."]
    coordinator_partition: Annotated[int, INT32, "Partition of __transaction_state."]
    file: Annotated[str, TEXT, "Segment, relative to the dump."]
    position: Annotated[int, INT64, "Byte of the segment at which the record's batch starts."]
    offset: Annotated[int, INT64, "Offset of the record; the highest one of an id is its current state."]
    coordinator_epoch: Annotated[int, INT32, "Leader epoch of the batch: the epoch of the coordinator that wrote it."]
    append_timestamp: Annotated[int, INT64, "Largest time of the batch, ms since 1970, coordinator's clock; -1 none."]
    transactional_id: Annotated[str | None, TEXT, "Transactional id; null where the key could not be read."]
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
    last_update_timestamp: Annotated[int | None, INT64, "When the coordinator wrote it, ms since 1970."]
    start_timestamp: Annotated[int | None, INT64, "Start of the transaction, ms since 1970; null if none."]
    problem: Annotated[str | None, TEXT, "What is wrong with the record."]


class ProducerSnapshotRow(NamedTuple):
    """One entry of a producer snapshot (`ProducerStateManager`)."""

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    broker: Annotated[str, TEXT, "Broker id, or the folder where no meta.properties names one."]
    log_dir: Annotated[str, TEXT, "Copied log directory, relative to the dump."]
    topic: Annotated[str, TEXT, "Topic."]
    partition: Annotated[int, INT32, "Partition."]
    file: Annotated[str, TEXT, "Snapshot, relative to the dump."]
    position: Annotated[int, INT64, "Byte of the snapshot at which the entry starts."]
    snapshot_offset: Annotated[int, INT64, "The snapshot holds the state before this offset."]
    producer_id: Annotated[int, INT64, "Producer id."]
    producer_epoch: Annotated[int, INT16, "Epoch of its last batch or marker."]
    last_sequence: Annotated[int, INT32, "Sequence number of its last record; -1 none."]
    last_offset: Annotated[int, INT64, "Offset of its last record; -1 none."]
    offset_delta: Annotated[int, INT32, "Last minus base offset of its last batch."]
    timestamp: Annotated[int | None, INT64, "Time of its last batch or marker, ms since 1970; null in some output."]
    coordinator_epoch: Annotated[int, INT32, "Coordinator epoch of its last marker; -1 none."]
    current_txn_first_offset: Annotated[int | None, INT64, "Start offset of its open transaction; null if none."]


class CheckpointRow(NamedTuple):
    """One line of an offset checkpoint of a log directory (`OffsetCheckpointFile`)."""

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    broker: Annotated[str, TEXT, "Broker id, or the folder where no meta.properties names one."]
    log_dir: Annotated[str, TEXT, "Copied log directory, relative to the dump."]
    topic: Annotated[str, TEXT, "Topic."]
    partition: Annotated[int, INT32, "Partition."]
    file: Annotated[str, TEXT, "Checkpoint, relative to the dump."]
    checkpoint: Annotated[str, TEXT, "Name of the checkpoint, such as replication-offset-checkpoint."]
    checkpoint_offset: Annotated[int, INT64, "High watermark, log start, recovery point or cleaned-up-to offset."]


class AbortedTransactionRow(NamedTuple):
    """One entry of a transaction index (`AbortedTxn`)."""

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    broker: Annotated[str, TEXT, "Broker id, or the folder where no meta.properties names one."]
    log_dir: Annotated[str, TEXT, "Copied log directory, relative to the dump."]
    topic: Annotated[str, TEXT, "Topic."]
    partition: Annotated[int, INT32, "Partition."]
    file: Annotated[str, TEXT, "Transaction index, relative to the dump."]
    position: Annotated[int, INT64, "Byte of the index at which the entry starts."]
    producer_id: Annotated[int, INT64, "Producer id."]
    first_offset: Annotated[int, INT64, "Start offset of the aborted transaction."]
    last_offset: Annotated[int, INT64, "Offset of its ABORT marker."]
    last_stable_offset: Annotated[int, INT64, "Last stable offset after it ended."]


class DumpFileRow(NamedTuple):
    """One file of a dump. Its bytes are parsed, a tail, damaged or skipped: the four add up to its size."""

    cluster: Annotated[str, TEXT, "Cluster of the dump; empty for files outside any log directory."]
    broker: Annotated[str, TEXT, "Broker id, or the folder where no meta.properties names one."]
    log_dir: Annotated[str, TEXT, "Copied log directory, relative to the dump."]
    topic: Annotated[str | None, TEXT, "Topic; null for files of the log directory itself."]
    partition: Annotated[int | None, INT32, "Partition."]
    file: Annotated[str, TEXT, "The file, relative to the dump."]
    kind: Annotated[str, TEXT, "What it is by its name: segment, producer_snapshot, and so on."]
    size_in_bytes: Annotated[int, INT64, "Bytes of the file."]
    modified: Annotated[object, TIMESTAMP, "Modification time by its file system; 1970 in object stores."]
    complete_at: Annotated[object | None, TIMESTAMP, "When it was complete, by listing.tsv; null if not listed."]
    bytes_parsed: Annotated[int, INT64, "Bytes understood, checksums included."]
    bytes_tail: Annotated[int, INT64, "Bytes at its end: a batch that was being written, or preallocated zeros."]
    bytes_damaged: Annotated[int, INT64, "Bytes that are not what Kafka writes."]
    bytes_skipped: Annotated[int, INT64, "Bytes that were not read; `problem` says why."]
    base_offset: Annotated[int | None, INT64, "Offset in the file's name."]
    first_offset: Annotated[int | None, INT64, "Base offset of its first batch; start of a checkpoint's first epoch."]
    last_offset: Annotated[int | None, INT64, "Last offset of its last batch; start of a checkpoint's last epoch."]
    batches: Annotated[int | None, INT64, "Whole batches with a matching checksum; entries of other files."]
    partition_leader_epoch: Annotated[int | None, INT32, "Largest leader epoch of its batches or entries."]
    broker_timestamp: Annotated[int | None, INT64, "Latest time in it by a broker's clock, ms since 1970."]
    damaged_to: Annotated[int | None, INT64, "All damage lies below this offset; 2^63-1 when nothing follows it."]
    gap_to: Annotated[int | None, INT64, "All gaps between its offsets lie below this offset; null if none."]
    tail_producer_id: Annotated[
        int | None, INT64, "Producer id of the batch that begins in its tail; null without a tail."
    ]
    bytes_missing: Annotated[
        int | None, INT64, "Bytes of its log beyond its end that listing.tsv has and the copy lacks; null if none."
    ]
    topic_id: Annotated[str | None, TEXT, "Topic id by partition.metadata."]
    is_text: Annotated[bool | None, BOOLEAN, "Whether it is kafka-dump-log output; sizes are those of the output."]
    problem: Annotated[str | None, TEXT, "What is wrong with it, or why it was skipped."]
