"""Proofs by the partition's own copy: it is complete, shows the whole transaction, and shows how old that is.

Several have the same cause, so that each says what is wrong.
"""

from __future__ import annotations

from txnlog.detection.causes import Cause
from txnlog.detection.proof import Proof

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
    Cause.COVERAGE_GAP,
    "concat('the producer snapshot at offset ', snapshot_offset, ' and the log disagree about this producer id')",
)
NOT_IN_ABORTED_INDEX = Proof(
    "not_in_aborted_index",
    "NOT is_aborted_by_index",
    "The transaction index does not list the transaction as aborted.",
    "`AbortedTxn`",
    "dump the partition again",
    Cause.COVERAGE_GAP,
    "'the transaction index says that this transaction was aborted, but the log has no marker of it'",
)
END_IS_READ = Proof(
    "end_of_log_is_read",
    "NOT tail_may_end_it",
    "The copy does not end in the middle of a batch that may be the marker.",
    "`FileRecords`",
    "dump the partition again",
    Cause.COVERAGE_GAP,
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
ONE_LOG = Proof(
    "copies_are_of_one_log",
    "NOT coalesce(are_of_several_logs, false)",
    "All copies of the partition are of one log: they have the same topic id, and none has an offset in an earlier"
    " leader epoch than the chosen one's leader-epoch-checkpoint says.",
    "partition.metadata (KIP-516), leader epochs (KIP-101)",
    "leave out copies of a deleted topic, or this partition of a broker that died",
    Cause.COVERAGE_GAP,
    "'copies of this partition are of different logs, by their topic ids or leader epochs: of a topic that was deleted"
    " and made again, or of a broker that died before others wrote these offsets anew'",
)
REACHES_END = Proof(
    "copy_reaches_log_end",
    "NOT is_cut",
    "The copy reaches the log end: no high watermark, snapshot, leader-epoch-checkpoint, other copy or listing.tsv"
    " reaches further.",
    "`UnifiedLog`, `LeaderEpochFileCache`",
    "dump the partition again, checkpoints first",
    Cause.COVERAGE_GAP,
    "concat('the copy ends at offset ', log_end_offset, ' but ', if(bytes_missing IS NULL, concat('the log reaches at"
    " least ', greatest(highest_watermark, snapshot_above_end, longest_log_end_offset, epochs_to)), concat('listing.tsv"
    " has ', bytes_missing, ' bytes more of the log')), ': dump it again, checkpoints first')",
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
