"""The rows of the Delta tables. Each column is declared here once; schemas, comments and docs are derived."""

from __future__ import annotations

from typing import Annotated, NamedTuple, get_type_hints

from txnlog.format.structure import (
    BOOLEAN,
    INT16,
    INT32,
    INT64,
    STEP_SECONDS,
    TEXT,
    TEXTS,
    TIMESTAMP,
    TOPIC_PARTITIONS,
    UINT32,
)
from txnlog.sources.rows import DumpFileRow


class OpenTransactionRow(NamedTuple):
    """One open transaction at one as-of, with its verdict and the evidence for it."""

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    topic: Annotated[str, TEXT, "Topic."]
    partition: Annotated[int, INT32, "Partition."]
    topic_id: Annotated[str | None, TEXT, "Topic id, if the dump has it; a recreated topic has another."]
    producer_id: Annotated[int, INT64, "Producer id."]
    producer_epoch: Annotated[int, INT16, "Epoch of its last batch."]
    coordinator_epoch: Annotated[int, INT32, "Coordinator epoch of its last marker here; -1 none."]
    start_offset: Annotated[int, INT64, "Base offset of its first batch: what abort --start-offset takes."]
    transactional_id: Annotated[str | None, TEXT, "Transactional id that owns the producer id; null if unknown."]
    transactional_ids: Annotated[list[str] | None, TEXTS, "All transactional ids that claim the producer id."]
    coordinator_partition: Annotated[int | None, INT32, "Partition of __transaction_state that owns the id."]
    cause: Annotated[str, TEXT, "Why it is open."]
    action: Annotated[str, TEXT, "What to do: ABORT, KEEP, FENCE, MOVE_COORDINATOR, WAIT, UNDETERMINED."]
    confidence: Annotated[str, TEXT, "How complete the evidence is: HIGH, MEDIUM, LOW."]
    reason: Annotated[str, TEXT, "The cause in words, or what is missing."]
    lacking: Annotated[str | None, TEXT, "Missing proof that makes it UNDETERMINED: a name in verdicts.md."]
    wanted_cause: Annotated[str | None, TEXT, "Cause of the rule that needs the missing proof."]
    accepted: Annotated[bool | None, BOOLEAN, "Only history is missing, and --accept-compacted-history was given."]
    late: Annotated[bool | None, BOOLEAN, "Open for longer than late_after_ms; null if its age is unknown."]
    as_of: Annotated[object, TIMESTAMP, "When the partition was copied; ages count from it."]
    as_of_source: Annotated[str, TEXT, "Where the as-of comes from."]
    copied_until: Annotated[object | None, TIMESTAMP, "Latest possible end of the copy."]
    start_timestamp: Annotated[object | None, TIMESTAMP, "Producer's timestamp of its first batch."]
    last_timestamp: Annotated[object | None, TIMESTAMP, "Producer's timestamp of its last batch."]
    last_activity: Annotated[object | None, TIMESTAMP, "Start of its age; a broker timestamp where needed."]
    timestamps_trusted: Annotated[bool, BOOLEAN, "Whether its timestamps agree with the brokers' around them."]
    open_for_ms: Annotated[
        int | None, INT64, "Age, ms: as_of, or the copy's latest time if earlier, minus last_activity."
    ]
    late_after_ms: Annotated[int, INT64, "transaction.max.timeout.ms, or the id's timeout if larger, plus padding, ms."]
    batches: Annotated[int, INT64, "Its batches in the log."]
    records: Annotated[int, INT64, "Their records: what an abort discards."]
    bytes: Annotated[int, INT64, "Their bytes."]
    last_stable_offset: Annotated[int, INT64, "Last stable offset: where read_committed consumers stop."]
    log_start_offset: Annotated[int, INT64, "First offset of the log."]
    log_end_offset: Annotated[int, INT64, "Log end offset in the copy: the offset of the next record."]
    high_watermark: Annotated[int | None, INT64, "High watermark by the broker's checkpoint."]
    held_back_offsets: Annotated[int, INT64, "Offsets from the last stable offset to the log end."]
    held_back_records: Annotated[int, INT64, "Records between the two."]
    held_back_bytes: Annotated[int, INT64, "Bytes between the two."]
    held_back_since: Annotated[object | None, TIMESTAMP, "Since when the last stable offset has not moved."]
    coordinator_state: Annotated[str | None, TEXT, "Current state of the transactional id."]
    coordinator_state_epoch: Annotated[int | None, INT16, "Producer epoch of that state."]
    pending_partitions: Annotated[
        list[str] | None, TEXTS, "Partitions where the marker of a Prepare* transaction is missing."
    ]
    broker: Annotated[str, TEXT, "Broker whose copy of the partition was used."]
    log_dir: Annotated[str, TEXT, "Its log directory in the dump."]
    copies: Annotated[int, INT32, "Copies of the partition in the dump."]
    chosen_because: Annotated[str, TEXT, "Why that copy was used."]
    opened_file: Annotated[str, TEXT, "File with the batch (or snapshot entry) that opened it."]
    opened_position: Annotated[int, INT64, "Byte of that file."]
    first_batch_leader_epoch: Annotated[int | None, INT32, "Leader epoch of its first batch."]
    first_batch_crc: Annotated[int | None, UINT32, "Checksum of its first batch; another one is another transaction."]
    last_marker_type: Annotated[str | None, TEXT, "COMMIT or ABORT: the producer id's last marker before it."]
    last_marker_offset: Annotated[int | None, INT64, "Its offset."]
    last_marker_epoch: Annotated[int | None, INT16, "Its producer epoch."]
    last_marker_file: Annotated[str | None, TEXT, "Its file."]
    last_marker_position: Annotated[int | None, INT64, "Byte of that file."]
    evidence_state: Annotated[str | None, TEXT, "State of the coordinator record on which the verdict rests."]
    evidence_offset: Annotated[int | None, INT64, "Its offset in __transaction_state."]
    evidence_file: Annotated[str | None, TEXT, "Its file."]
    evidence_position: Annotated[int | None, INT64, "Byte at which its batch starts."]


class AbortCandidateRow(NamedTuple):
    """One transaction that may be aborted, from its first detection until a later dump no longer shows it."""

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    topic: Annotated[str, TEXT, "Topic: --topic."]
    partition: Annotated[int, INT32, "Partition: --partition."]
    topic_id: Annotated[str | None, TEXT, "Topic id, if the dump has it; a recreated topic has another."]
    producer_id: Annotated[int, INT64, "Producer id: --producer-id for brokers before 3.0."]
    producer_epoch: Annotated[int, INT16, "Its epoch: --producer-epoch for brokers before 3.0."]
    coordinator_epoch: Annotated[int, INT32, "Coordinator epoch of its last marker here; -1 none."]
    start_offset: Annotated[int, INT64, "Start of the transaction: --start-offset."]
    transactional_id: Annotated[str | None, TEXT, "Transactional id that owns the producer id; null if unknown."]
    transactional_ids: Annotated[list[str] | None, TEXTS, "All transactional ids that claim the producer id."]
    coordinator_partition: Annotated[int | None, INT32, "Partition of __transaction_state that owns the id."]
    cause: Annotated[str, TEXT, "Why it hangs."]
    action: Annotated[str, TEXT, "Always ABORT."]
    confidence: Annotated[str, TEXT, "How complete the evidence is: HIGH or MEDIUM."]
    reason: Annotated[str, TEXT, "The cause in words."]
    as_of: Annotated[object, TIMESTAMP, "When the partition was copied, by the latest dump that shows it."]
    start_timestamp: Annotated[object | None, TIMESTAMP, "Producer's timestamp of its first batch."]
    last_activity: Annotated[object | None, TIMESTAMP, "Start of its age."]
    open_for_ms: Annotated[
        int | None, INT64, "Age, ms: as_of, or the copy's latest time if earlier, minus last_activity."
    ]
    batches: Annotated[int, INT64, "Its batches in the log."]
    records: Annotated[int, INT64, "Their records: what the abort discards."]
    bytes: Annotated[int, INT64, "Their bytes."]
    last_stable_offset: Annotated[int, INT64, "Last stable offset; below start_offset an earlier transaction blocks."]
    log_end_offset: Annotated[int, INT64, "Log end offset in the copy: the offset of the next record."]
    held_back_offsets: Annotated[int, INT64, "Offsets from the last stable offset to the log end."]
    held_back_records: Annotated[int, INT64, "Records between the two."]
    held_back_bytes: Annotated[int, INT64, "Bytes between the two."]
    held_back_since: Annotated[object | None, TIMESTAMP, "Since when the last stable offset has not moved."]
    opened_file: Annotated[str, TEXT, "File with the batch (or snapshot entry) that opened it."]
    opened_position: Annotated[int, INT64, "Byte of that file."]
    first_batch_leader_epoch: Annotated[int | None, INT32, "Leader epoch of its first batch."]
    first_batch_crc: Annotated[int | None, UINT32, "Checksum of its first batch; another one is another transaction."]
    last_marker_offset: Annotated[int | None, INT64, "Offset of the producer id's last marker before it."]
    last_marker_file: Annotated[str | None, TEXT, "Its file."]
    evidence_state: Annotated[str | None, TEXT, "State of the coordinator record on which the verdict rests."]
    evidence_offset: Annotated[int | None, INT64, "Its offset in __transaction_state."]
    evidence_file: Annotated[str | None, TEXT, "Its file."]
    status: Annotated[str, TEXT, "OPEN, or RESOLVED once a later dump shows that it has ended."]
    resolution: Annotated[str | None, TEXT, "How it was resolved."]
    detected_at: Annotated[object, TIMESTAMP, "As-of of the first dump that showed it as a candidate."]
    resolved_at: Annotated[object | None, TIMESTAMP, "As-of of the dump that showed that it has ended."]
    judged_by: Annotated[int | None, INT32, "Generation of the rules; null: rules without proofs, never offered."]


class VerificationRow(NamedTuple):
    """The live cluster's answer about an abort candidate at one time."""

    cluster: Annotated[str, TEXT, "Cluster of the candidate."]
    topic: Annotated[str, TEXT, "Topic."]
    partition: Annotated[int, INT32, "Partition."]
    producer_id: Annotated[int, INT64, "Producer id."]
    start_offset: Annotated[int, INT64, "Start of the transaction."]
    verified_at: Annotated[object, TIMESTAMP, "When the cluster was asked: the time before the first request."]
    status: Annotated[str, TEXT, "STILL_STUCK, BLOCKED_BY_EARLIER, RESOLVED, GONE or UNKNOWN."]
    reason: Annotated[str, TEXT, "Why it has this status."]
    cluster_id: Annotated[str, TEXT, "Id of the cluster that was asked."]
    topic_id: Annotated[str | None, TEXT, "Topic id in the live cluster; a recreated topic has another."]
    leader: Annotated[int | None, INT32, "Broker that leads the partition."]
    log_start_offset: Annotated[int | None, INT64, "First offset of the live log."]
    last_stable_offset: Annotated[int | None, INT64, "Last stable offset: where read_committed consumers stop."]
    high_watermark: Annotated[int | None, INT64, "High watermark: where read_uncommitted consumers stop."]
    as_of: Annotated[object, TIMESTAMP, "As-of of the candidate when it was verified."]


class RunRow(NamedTuple):
    """One run over one cluster."""

    run_id: Annotated[str, TEXT, "Random id of the run."]
    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    dump: Annotated[str, TEXT, "Folder or address that was read."]
    txnlog_version: Annotated[str, TEXT, "Version of txnlog."]
    options: Annotated[str, TEXT, "Options of the run as JSON."]
    started_at: Annotated[object, TIMESTAMP, "Start of the run."]
    finished_at: Annotated[object, TIMESTAMP, "End of the run."]
    input_digest: Annotated[str, TEXT, "SHA-256 over names, sizes and offsets of all files: equal for equal dumps."]
    as_of_from: Annotated[object | None, TIMESTAMP, "Earliest as-of of the copies."]
    as_of_to: Annotated[object | None, TIMESTAMP, "Latest as-of of the copies."]
    as_of_sources: Annotated[list[str], TEXTS, "Where the as-ofs come from."]
    files: Annotated[int, INT64, "Files of the dump."]
    bytes: Annotated[int, INT64, "Their bytes."]
    bytes_damaged: Annotated[int, INT64, "Bytes that are not what Kafka writes."]
    partitions: Annotated[int, INT64, "Topic partitions in the dump."]
    coordinator_partitions: Annotated[int, INT32, "Partitions of __transaction_state; 0 if neither stated nor proved."]
    coordinator_partitions_missing: Annotated[int, INT32, "How many of them are missing from the dump."]
    open_transactions: Annotated[int, INT64, "Open transactions."]
    late_transactions: Annotated[int, INT64, "Those that are late, or whose age is unknown."]
    abort_candidates: Annotated[int, INT64, "Those with the action ABORT."]
    undetermined: Annotated[int, INT64, "Those with the action UNDETERMINED."]
    partitions_with_late_transactions: Annotated[int, INT64, "Kafka's PartitionsWithLateTransactionsCount."]
    longest_open_ms: Annotated[int | None, INT64, "Age of the oldest open transaction, ms."]
    step_seconds: Annotated[dict[str, float], STEP_SECONDS, "Seconds each step of the job took."]
    cluster_id: Annotated[str | None, TEXT, "Cluster id, if meta.properties has it."]


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


# The rows of the dump's inventory, with the as-of that tells the runs apart.
DumpFileTableRow = type(
    "DumpFileTableRow",
    (),
    {
        "__doc__": "One file of one dump.",
        "__annotations__": {
            **get_type_hints(DumpFileRow, include_extras=True),
            "as_of": Annotated[object, TIMESTAMP, "When the copy was taken."],
            "copy_chosen": Annotated[bool, BOOLEAN, "Whether this copy of the partition was used."],
            "chosen_because": Annotated[str | None, TEXT, "Why it was used."],
        },
    },
)
