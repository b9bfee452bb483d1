"""Rows of the Delta tables about one open transaction: verdict, abort candidate, the live cluster's answer.

Each column is declared here once; schemas, comments and docs are derived.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from txnlog.format.structure import BOOLEAN, INT16, INT32, INT64, TEXT, TEXTS, TIMESTAMP, UINT32


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
    remedy: Annotated[str | None, TEXT, "What mends it, with its commands: `txnlog remedies` of its dump."]
    lacking: Annotated[str | None, TEXT, "Missing proof that makes it UNDETERMINED: a name in verdicts.md."]
    also_lacking: Annotated[list[str] | None, TEXTS, "Further proofs of wanted_cause that are missing; null if none."]
    wanted_cause: Annotated[str | None, TEXT, "Cause of the rule that needs the missing proof."]
    accepted: Annotated[bool | None, BOOLEAN, "Only history is missing, and --accept-compacted-history was given."]
    late: Annotated[bool | None, BOOLEAN, "Open for longer than late_after_ms; null if its age is unknown."]
    as_of: Annotated[object, TIMESTAMP, "When the partition was copied; ages count from it."]
    as_of_source: Annotated[str, TEXT, "Where the as-of comes from."]
    copied_until: Annotated[object | None, TIMESTAMP, "End of the copy, if need be as of --slack."]
    copy_ended: Annotated[object | None, TIMESTAMP, "End of the copy; null where dump.toml does not state it."]
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
    last_marker_timestamp: Annotated[object | None, TIMESTAMP, "Its time, by the broker's clock."]
    last_marker_file: Annotated[str | None, TEXT, "Its file."]
    last_marker_position: Annotated[int | None, INT64, "Byte of that file."]
    evidence_state: Annotated[str | None, TEXT, "State of the coordinator record on which the verdict rests."]
    evidence_offset: Annotated[int | None, INT64, "Its offset in __transaction_state."]
    evidence_timestamp: Annotated[object | None, TIMESTAMP, "When the coordinator wrote it, by its own clock."]
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
    detected_at: Annotated[object, TIMESTAMP, "As-of of the oldest dump that shows it as a candidate."]
    resolved_at: Annotated[object | None, TIMESTAMP, "As-of of the dump that resolved it; not before `as_of`."]
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
