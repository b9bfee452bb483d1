"""What a verdict that discards data rests on: each proof is a named column, true, false, or null where not proved.

An action whose proofs are not all true is not taken: the first proof that is lacking names the cause, says what is
missing and what would supply it. Null never lets a row by: only `true` counts.
"""

from __future__ import annotations

from typing import NamedTuple

from txnlog.detection.causes import Cause


class Proof(NamedTuple):
    """One thing that must be so. `holds` is a condition and `lacking` a text, both Spark SQL; `cause` if it lacks.

    `rests_on` names the KIP or Kafka's class that makes it a proof, `supplied_by` what an operator can add.
    """

    name: str
    holds: str
    meaning: str
    rests_on: str
    supplied_by: str
    cause: Cause
    lacking: str


# Of the partition's copy. Several proofs have the same cause, so that each says what is wrong.
PRINTED_WHOLE = Proof(
    "log_is_printed_whole",
    "NOT (is_damaged AND is_text)",
    "kafka-dump-log output of the partition, if it is used, is not cut short or damaged after the producer id's last"
    " marker or snapshot entry.",
    "kafka-dump-log (`DumpLogSegments`)",
    "print the partition again, or copy its segments",
    Cause.CORRUPT_INPUT,
    "concat('the kafka-dump-log output of this partition is cut short, damaged or inconsistent: print it again,"
    " kafka-dump-log.sh --deep-iteration --files ', topic, '-', partition, '/*.log, or copy the segments')",
)
NOT_DAMAGED = Proof(
    "log_is_not_damaged",
    "NOT is_damaged",
    "No damage in the copy can hide a batch or marker after the producer id's last marker or snapshot entry.",
    "`DefaultRecordBatch` (CRC-32C)",
    "dump the partition again",
    Cause.CORRUPT_INPUT,
    "concat('damage in this partition may hide a batch below offset ', damaged_to_text, ': dump it again')",
)
AGREES_WITH_SNAPSHOT = Proof(
    "log_agrees_with_snapshot",
    "NOT contradicts_snapshot",
    "The producer snapshot and the log show the same open transaction.",
    "`ProducerStateManager`",
    "dump the partition again",
    Cause.CORRUPT_INPUT,
    "concat('the producer snapshot at offset ', snapshot_offset, ' and the log disagree about this producer id')",
)
NOT_IN_ABORTED_INDEX = Proof(
    "not_in_aborted_index",
    "NOT is_aborted_by_index",
    "The transaction index does not list the transaction as aborted.",
    "`AbortedTxn`",
    "dump the partition again",
    Cause.CORRUPT_INPUT,
    "'the transaction index says that this transaction was aborted, but the log has no marker of it'",
)
END_IS_READ = Proof(
    "end_of_log_is_read",
    "NOT tail_may_end_it",
    "The copy does not end in the middle of a batch that may be the marker.",
    "`FileRecords`",
    "dump the partition again",
    Cause.CORRUPT_INPUT,
    "'the log ends in the middle of a batch of this producer id, which may be its marker: dump it again'",
)
NO_GAP = Proof(
    "log_has_no_gap",
    "NOT has_gap",
    "No offsets are missing that compaction does not explain.",
    "`LogCleaner`, cleaner-offset-checkpoint",
    "find the missing segment, or dump the partition again",
    Cause.COVERAGE_GAP,
    "concat('offsets below ', gap_to, ' are missing and compaction does not explain it: is a segment missing?')",
)
REACHES_END = Proof(
    "copy_reaches_log_end",
    "NOT is_cut",
    "The copy reaches the log end: no high watermark, snapshot, leader-epoch-checkpoint or other copy reaches further.",
    "`UnifiedLog`, `LeaderEpochFileCache`",
    "dump the partition again, checkpoints first",
    Cause.COVERAGE_GAP,
    "concat('the copy ends at offset ', log_end_offset, ' but the log reaches at least ', "
    "greatest(high_watermark, snapshot_above_end, longest_log_end_offset, epochs_to), ': dump it again, checkpoints"
    " first')",
)
NEWEST_FORM = Proof(
    "segments_are_not_older_than_text",
    "NOT text_is_newer",
    "No kafka-dump-log output of the partition has a later leader epoch than the segments.",
    "leader epochs (KIP-101)",
    "copy the segments again",
    Cause.COVERAGE_GAP,
    "'the kafka-dump-log output of this partition has a later leader epoch than its raw segments: copy the segments"
    " again'",
)
START_IS_IN_COPY = Proof(
    "log_start_is_known",
    "log_start_is_confirmed OR is_seen_to_start",
    "The broker's log starts where the copy does: retention removed what is below, no segment is missing. Or the copy"
    " shows what the producer id had before: its last end, or a snapshot in which nothing of it is open.",
    "`LeaderEpochFileCache.truncateFromStart`, log-start-offset-checkpoint",
    "copy all segments of the partition and leader-epoch-checkpoint",
    Cause.COVERAGE_GAP,
    "concat('the copy starts at offset ', log_start_offset, ', and nothing proves that the broker\\'s log starts"
    " there: is its first segment missing?')",
)
HAS_RECORDS = Proof(
    "has_records",
    "NOT (batches > 0 AND records = 0)",
    "Records of the transaction are left, not only batches that the log cleaner emptied.",
    "`LogCleaner`",
    "ask the broker with kafka-transactions.sh describe-producers",
    Cause.CLEANER_ARTEFACT,
    "'compaction left only batches without records: ask the broker with describe-producers'",
)
ONE_OWNER = Proof(
    "has_one_owner",
    "NOT is_ambiguous_id",
    "At most one transactional id claims the producer id.",
    "`ProducerIdManager`",
    "make sure that the dump is of one cluster",
    Cause.AMBIGUOUS_PRODUCER_ID,
    "concat('several transactional ids claim the producer id: ', array_join(transactional_ids, ', '))",
)
COORDINATOR_IS_CERTAIN = Proof(
    "coordinator_is_certain",
    "NOT coordinator_is_damaged",
    "The copy of the id's coordinator partition reaches its high watermark, and nothing in it can hide a later record.",
    "`TransactionStateManager`, replication-offset-checkpoint",
    "copy the partition of __transaction_state and replication-offset-checkpoint again",
    Cause.CORRUPT_INPUT,
    "if(coordinator_is_text, concat('the kafka-dump-log output of __transaction_state-', coordinator_partition, ' is"
    " cut short, damaged or not decoded: print it again, kafka-dump-log.sh --transaction-log-decoder --files"
    " __transaction_state-',"
    " coordinator_partition, '/*.log'), concat('the copy of __transaction_state-', coordinator_partition,"
    " ' is damaged, lacks its end, or has no replication-offset-checkpoint that proves its end'))",
)
AS_OF_IS_PLAUSIBLE = Proof(
    "as_of_is_confirmed",
    "as_of_is_plausible AND coalesce(coordinator_as_of_is_plausible, true)",
    "A broker timestamp or a file time in the copy is close to the as-of.",
    "checkpoints are written every minute (`LogManager`)",
    "correct dump.toml or --as-of",
    Cause.SKEW,
    "concat('the as-of of the copy is ', iso_as_of, ', but no time in the copy is close to it: correct dump.toml or"
    " --as-of')",
)
IS_LATE = Proof(
    "is_proven_late",
    "shown_as_of - appended_by > late_after_ms",
    "Its last batch was in the log for longer than transaction.max.timeout.ms plus the padding, by the as-of and by"
    " the times in the copy.",
    "KIP-664; brokers' clocks in markers, LogAppendTime and file times",
    "list the folder on the broker before the copy (listing.tsv), or dump again later",
    Cause.SKEW,
    "'its timestamps contradict the brokers\\' clocks, and no later broker timestamp in the log bounds its age: dump it"
    " again'",
)
COORDINATOR_IS_NEWER = Proof(
    "coordinator_is_newer",
    "is_seen_by_coordinator OR (transactional_id IS NULL AND coordinator_copy_from IS NULL)",
    "The coordinator was copied after the data was written, by brokers' clocks (by the producer's only if both were"
    " copied within `clock-skew`), and it knows the epochs that are in the log.",
    "item 40 of semantics.md",
    "dump __transaction_state after the partitions; state start and end of each copy in dump.toml; list the folders"
    " before the copy (listing.tsv)",
    Cause.SKEW,
    "'it is not certain that the coordinator was copied after this data was written: dump __transaction_state again'",
)
ALL_COORDINATORS = Proof(
    "all_coordinators_are_there",
    "is_known OR size(missing_coordinators) = 0",
    "The producer id has an owner, or every partition of __transaction_state is in the dump, and their number is"
    " stated or proved by the ids in them.",
    "`TransactionStateManager.partitionFor`",
    "copy all partitions of __transaction_state; state transaction_state_partitions in dump.toml",
    Cause.COVERAGE_GAP,
    "if(missing_coordinators IS NULL, 'no coordinator in the dump knows the producer id, and nothing says how many"
    " partitions __transaction_state has: state transaction_state_partitions in dump.toml',"
    " concat('no coordinator in the dump knows the producer id, but partitions of __transaction_state are missing: ',"
    " array_join(slice(missing_coordinators, 1, 10), ', '), if(size(missing_coordinators) > 10, ', ...', '')))",
)
COORDINATORS_ARE_CERTAIN = Proof(
    "all_coordinators_are_certain",
    "is_known OR all_coordinators_certain",
    "The producer id has an owner, or every copy of __transaction_state reaches its log end undamaged.",
    "`TransactionStateManager`",
    "copy __transaction_state again",
    Cause.CORRUPT_INPUT,
    "'no coordinator in the dump knows the producer id, but a copy of __transaction_state is damaged, lacks records, or"
    " has no replication-offset-checkpoint'",
)
NOT_OWNED = Proof(
    "no_coordinator_will_end_it",
    "NOT lists_partition",
    "The coordinator's current transaction of the producer id does not list the partition.",
    "KIP-664; `TransactionMetadata`",
    "wait for the coordinator, or dump again",
    Cause.ONGOING,
    "concat('the coordinator is in ', current.state, ' and lists this partition')",
)
NOT_ENDED_SINCE = Proof(
    "no_end_since_copy",
    "NOT is_listed OR marker_came OR ended_before_copy",
    "The last transaction that listed the partition had ended before the partition was copied.",
    "item 41 of semantics.md",
    "dump again",
    Cause.SKEW,
    "concat('the coordinator ended it at ', iso_ended, ', while or after this partition was copied: dump again')",
)
MARKER_IS_PRINTED = Proof(
    "last_marker_is_printed",
    "NOT coalesce(last_marker.marker_type = 'NOT_PRINTED', false)",
    "It is known whether the producer id's last marker is a COMMIT or an ABORT: some kafka-dump-log output does not"
    " say.",
    "kafka-dump-log --deep-iteration",
    "print the partition again with --deep-iteration",
    Cause.NOT_PRINTED,
    "concat('the kafka-dump-log output does not say whether the marker at offset ', last_marker.base_offset, ' is a"
    " COMMIT or an ABORT: print it again, kafka-dump-log.sh --deep-iteration --files ', topic, '-', partition,"
    " '/*.log')",
)
NO_COMMIT = Proof(
    "no_commit_can_own_it",
    "(committed IS NULL OR commit_came) AND NOT is_witnessed",
    "No known committed transaction that listed the partition can have written the data: the marker of the last one is"
    " here, or the data is later by a broker's clock or by its producer epoch. If records are missing, no COMMIT marker"
    " in another partition closed data of the same epoch, either.",
    "`TransactionMarkerChannelManager`; KIP-890",
    "dump again, or keep the data",
    Cause.SKEW,
    "'cannot tell which of the listed transactions the last marker closed, nor which one wrote this data'",
)
COMMITS_EXPLAINED = Proof(
    "commits_are_explained",
    "coalesce(unexplained_commits, 0) = 0",
    "Each COMMIT marker of the time for which the coordinator's records look complete has its record.",
    "only coordinators write COMMIT markers (`TransactionMarkerChannelManager`)",
    "dump all brokers again; look for an unclean leader election of __transaction_state",
    Cause.HISTORY_COMPACTED,
    "'COMMIT markers in the dump have no record in __transaction_state although its copy looks complete: records are"
    " lost, and this data may have been committed'",
)
COPIES_AGREE = Proof(
    "coordinator_copies_agree",
    "NOT coalesce(copies_disagree, false)",
    "All copies of the coordinator partition have the same records at the same offsets, where they have any.",
    "leader epochs (KIP-101), unclean leader elections",
    "look for an unclean leader election of __transaction_state",
    Cause.HISTORY_COMPACTED,
    "'copies of __transaction_state have different records at the same offsets: records were lost, and this data may"
    " have been committed'",
)
HISTORY_IS_WHOLE = Proof(
    "history_is_whole",
    "whole_from = 0 OR is_born_in_range OR whole_from < started_after OR is_of_current",
    "The coordinator's records reach back without a gap to before the data was written, by brokers' clocks, or to when"
    " the producer id was handed out.",
    "compaction of __transaction_state (`LogCleaner`)",
    "keep dumps from before the data; raise min.compaction.lag.ms of __transaction_state",
    Cause.HISTORY_COMPACTED,
    "'records of __transaction_state from before this transaction are compacted away, missing or damaged: it may"
    " have been committed and its marker lost'",
)
STATE_IS_CURRENT = Proof(
    "no_later_record_is_missing",
    "is_last_record",
    "No offset is missing after the id's last record, or a listing has all segments of its coordinator partition, or"
    " another broker's copy that reaches beyond the gap has the same last record. If no coordinator knows the producer"
    " id, each partition has no gap, or a listing, or another copy that does not know it, either.",
    "`LogCleaner`, `UnifiedLog.replaceSegments`: a copy may lack a segment that was replaced meanwhile",
    "copy __transaction_state from all brokers, or list the folders before the copy (listing.tsv)",
    Cause.COVERAGE_GAP,
    "if(is_known, concat('offsets after the id\\'s last record are missing in the copy of __transaction_state-',"
    " coordinator_partition, ': compaction removed them, or a segment was replaced during the copy. Another copy or a"
    " listing would show which'), 'offsets are missing in a copy of __transaction_state: compaction removed them, or a"
    " segment was replaced during the copy. Another copy or a listing would show which')",
)
TRANSACTION_IS_WHOLE = Proof(
    "all_its_partitions_are_proved",
    "unproved_partitions IS NOT NULL AND size(unproved_partitions) = 0",
    "Every partition that the coordinator's transaction lists is in the dump and was copied after the transaction"
    " began, and no committed transaction can own what its producer id has open there: ending it decides all of them.",
    "`TransactionMarkerChannelManager.addTxnMarkersToSend`",
    "dump all partitions that the transaction lists, after it began",
    Cause.COVERAGE_GAP,
    "concat('ending the coordinator\\'s transaction decides all partitions that it lists, and some are not proved"
    " to hold only its data: ', array_join(slice(unproved_partitions, 1, 5), ', '))",
)
OF_LOG = (
    PRINTED_WHOLE, NOT_DAMAGED, AGREES_WITH_SNAPSHOT, NOT_IN_ABORTED_INDEX, END_IS_READ, NO_GAP, REACHES_END,
    NEWEST_FORM, HAS_RECORDS, ONE_OWNER, COORDINATOR_IS_CERTAIN,
)  # fmt: skip
OF_AGE = (IS_LATE, ALL_COORDINATORS, COORDINATORS_ARE_CERTAIN, AS_OF_IS_PLAUSIBLE, COORDINATOR_IS_NEWER)
# History comes late, so that it is named only where what comes before is proved.
OF_HISTORY = (NO_COMMIT, COMMITS_EXPLAINED, COPIES_AGREE, HISTORY_IS_WHOLE)
PROOFS: tuple[Proof, ...] = (
    *OF_LOG, *OF_AGE, NOT_OWNED, NOT_ENDED_SINCE, MARKER_IS_PRINTED, START_IS_IN_COPY, *OF_HISTORY,
    STATE_IS_CURRENT, TRANSACTION_IS_WHOLE,
)  # fmt: skip
# They lack only where something speaks against them, not where a copy shows less than another.
CONTRADICTING = (AGREES_WITH_SNAPSHOT, NOT_IN_ABORTED_INDEX, ONE_OWNER, NO_COMMIT, COMMITS_EXPLAINED, COPIES_AGREE)
