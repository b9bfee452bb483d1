"""Proofs by `__transaction_state`: no coordinator will end the data, and no transaction that was committed owns it."""

from __future__ import annotations

from txnlog.detection.causes import Cause
from txnlog.detection.proof import Proof

# By how much the epoch of an id may have grown since its coordinator was copied, and no data tells of it: each start of
# its client and each fencing adds one, with or without a transaction. With version 2 each transaction does, too; but
# those leave their markers, if the dump has their partitions.
UNSEEN_EPOCHS = 1000

ONE_OWNER = Proof(
    "has_one_owner",
    "NOT is_ambiguous_id",
    "At most one transactional id claims the producer id.",
    "`ProducerIdManager`",
    "make sure that the dump is of one cluster",
    Cause.AMBIGUOUS_PRODUCER_ID,
    "concat('several transactional ids claim the producer id: ', array_join(transactional_ids, ', '))",
)
COORDINATOR_NOT_DAMAGED = Proof(
    "coordinator_is_not_damaged",
    "NOT coordinator_is_damaged",
    "No damage in the copy of the id's coordinator partition can hide a record after the id's last one, and"
    " kafka-dump-log output of it is not cut short.",
    "`DefaultRecordBatch` (CRC-32C), `TransactionLog`",
    "copy the partition of __transaction_state again",
    Cause.CORRUPT_INPUT,
    "if(coordinator_is_text, concat('the kafka-dump-log output of __transaction_state-', coordinator_partition, ' is"
    " cut short, damaged or not decoded: print it again, kafka-dump-log.sh --transaction-log-decoder --files"
    " __transaction_state-',"
    " coordinator_partition, '/*.log'), concat('what cannot be read in the copy of __transaction_state-',"
    " coordinator_partition, ' (damage, or a version of a newer Kafka) may hide a later record of this id: copy it"
    " again, or update txnlog'))",
)
COORDINATOR_IS_CERTAIN = Proof(
    "coordinator_is_certain",
    "NOT coordinator_lacks_records",
    "The copy of the id's coordinator partition reaches its high watermark, no segment is missing after the id's last"
    " record, and no other copy is of a topic that was deleted and made again.",
    "`TransactionStateManager`, replication-offset-checkpoint",
    "copy the partition of __transaction_state and replication-offset-checkpoint again",
    Cause.COVERAGE_GAP,
    "if(coordinator_is_text, concat('records are missing in the kafka-dump-log output of __transaction_state-',"
    " coordinator_partition, ': print all its segments again'), concat('the copy of __transaction_state-',"
    " coordinator_partition, ' lacks its end or a segment, has no replication-offset-checkpoint that proves its end, or"
    " another copy has a different topic id'))",
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
NO_COORDINATOR_DAMAGED = Proof(
    "no_coordinator_is_damaged",
    "is_known OR all_coordinators_undamaged",
    "The producer id has an owner, or no copy of __transaction_state is damaged.",
    "`DefaultRecordBatch` (CRC-32C), `TransactionLog`",
    "copy __transaction_state again",
    Cause.CORRUPT_INPUT,
    "'no coordinator in the dump knows the producer id, but a copy of __transaction_state is damaged'",
)
COORDINATORS_ARE_CERTAIN = Proof(
    "all_coordinators_are_certain",
    "is_known OR all_coordinators_certain",
    "The producer id has an owner, or every copy of __transaction_state reaches its log end and lacks no segment.",
    "`TransactionStateManager`",
    "copy __transaction_state again",
    Cause.COVERAGE_GAP,
    "'no coordinator in the dump knows the producer id, but a copy of __transaction_state lacks records, or has no"
    " replication-offset-checkpoint'",
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
    "concat('the coordinator ended it ', coalesce(concat('at ', iso_ended, ', '), ''),"
    " 'while or after this partition was copied: dump again')",
)
NO_COMMIT = Proof(
    "no_commit_can_own_it",
    "(committed IS NULL OR commit_came) AND NOT follows_late_commit AND NOT follows_late_abort AND NOT is_witnessed"
    " AND NOT may_be_unlisted AND NOT may_be_not_added",
    "No known committed transaction can have written the data. Of the last one that listed the partition the marker is"
    " here, or the data is later by a broker's clock or by its producer epoch. Before transaction version 2 the last"
    " one did not end within the padding after another one of its producer epoch, as by a request that arrived late."
    " None that may have written the data was or can be committed after its coordinator had changed, nor as the first"
    " one of version 2 at an epoch that its client had used before. If records are missing, no COMMIT marker in another"
    " partition closed data of the same epoch, either.",
    "`TransactionMarkerChannelManager`; KIP-890",
    "dump again, or keep the data",
    Cause.SKEW,
    "CASE WHEN committed IS NOT NULL AND NOT commit_came OR is_witnessed"
    " THEN 'cannot tell which of the listed transactions the last marker closed, nor which one wrote this data'"
    " WHEN may_be_unlisted THEN 'a transaction of this producer id was or can be committed after its coordinator had"
    " changed: if that was elected unclean, the record that listed this partition may be lost'"
    " WHEN may_be_not_added THEN 'the first transaction of version 2 of this producer id was or can be committed at an"
    " epoch that its client had used before. To that no leader adds a partition in which something of the epoch is"
    " still open (KAFKA-18227): this data may be of it'"
    " ELSE concat('the ', if(follows_late_commit, concat('commit at ', iso_committed), 'last abort there'), ' came soon"
    " after the end of an earlier transaction of its epoch. If a delayed request of that one ended it, this data is its"
    " second half, and the application may have been told that it is committed (KIP-890): ask the application') END",
)
COMMITS_EXPLAINED = Proof(
    "commits_are_explained",
    "coalesce(unexplained_commits, 0) = 0 AND NOT coalesce(seen_unexplained, false)",
    "Each COMMIT marker of its producer id of the time for which the coordinator's records look complete, in the dump"
    " or in earlier ones, has its record. So has the last marker of each other producer id in each file, if it is a"
    " COMMIT of the time for which those in the dump do. No other dump lacked that proof for the same transaction: the"
    " marker may have gone since.",
    "only coordinators write COMMIT markers (`TransactionMarkerChannelManager`)",
    "dump all brokers again; look for an unclean leader election of __transaction_state",
    Cause.HISTORY_COMPACTED,
    "concat('COMMIT markers in ', if(coalesce(unexplained_commits, 0) = 0, 'another', 'the'), ' dump have no record in"
    " __transaction_state although its copy looks complete: records are lost, and this data may have been committed')",
)
NO_COMMIT_ELSEWHERE = Proof(
    "no_commit_of_another_log_can_own_it",
    "NOT may_be_of_another_log",
    "No earlier dump has a commit of its producer id that lists the partition and is no part of what is whole, unless"
    " the data is later by brokers' times in its log or by its producer epoch: controllers that were restored give out"
    " producer ids once more.",
    "`ProducerIdManager`, `TransactionMetadata`",
    "keep the data, or ask the application",
    Cause.HISTORY_COMPACTED,
    "'another dump has a commit of this producer id that lists this partition, and this dump\\'s __transaction_state"
    " does not: this data may be of it'",
)
COPIES_AGREE = Proof(
    "coordinator_copies_agree",
    "NOT coalesce(copies_disagree, false)",
    "All copies of the coordinator partition, in the dump and in earlier ones, have the same records at the same"
    " offsets, where they have any, and it has none of the time in which it was another topic.",
    "leader epochs (KIP-101), unclean leader elections",
    "look for an unclean leader election of __transaction_state",
    Cause.HISTORY_COMPACTED,
    "'this copy of __transaction_state contradicts another one, of this dump or of another: records were lost, and this"
    " data may have been committed'",
)
HISTORY_IS_WHOLE = Proof(
    "history_is_whole",
    "history_reaches_back",
    "The coordinator's records reach back to before the data was written, by brokers' clocks, or to when the producer"
    " id was handed out, without a gap in which the id may have a record.",
    "compaction of __transaction_state (`LogCleaner`)",
    "keep what coordinators say (txnlog archive); raise min.compaction.lag.ms of __transaction_state",
    Cause.HISTORY_COMPACTED,
    "concat('records of __transaction_state from before this transaction are compacted away, missing or damaged: it may"
    " have been committed and its marker lost',"
    " if(coalesce(current.state IN ('PrepareCommit', 'CompleteCommit'), false),"
    " coalesce(concat(', perhaps as the transaction that its coordinator committed at ', iso_current_update), ''), ''),"
    " '. txnlog archive keeps such records from now on, and min.compaction.lag.ms delays their compaction')",
)
IS_SURELY_LATE = Proof(
    "is_surely_late",
    "shown_as_of - surely_appended_by > late_after_ms",
    "That it is late does not rest on a producer's time that a record which compaction removed may contradict: brokers'"
    " times alone show it, or no record from before the data is missing, or the remaining records show that the id had"
    " been given out by the time that its producer states.",
    "a producer id is given out before it writes (`TransactionCoordinator.handleInitProducerId`,"
    " `TransactionMetadata.prepareComplete`)",
    "list the folder on the broker before the copy (listing.tsv), or dump again later",
    Cause.SKEW,
    "'only its producer says that it is late, and a record of its producer id that compaction removed may contradict"
    " that: dump it again'",
)
HAS_ENDED_LONG_AGO = Proof(
    "has_ended_long_ago",
    "shown_as_of - witness.max_timestamp > late_after_ms",
    "The COMMIT marker in another partition, which ended the epoch of the data, was written longer ago than"
    " transaction.max.timeout.ms plus the padding, by its broker's clock.",
    "KIP-890: each transaction has an epoch of its own",
    "dump again later",
    Cause.SKEW,
    "concat('its epoch was committed in another partition at ', iso_witness, ', not long before the copy: dump it again"
    " later')",
)
STATE_IS_CURRENT = Proof(
    "no_later_record_is_missing",
    "is_last_record AND NOT is_gone_on",
    "If the id's current transaction lists the partition, no other dump shows a later record of the id. No offset is"
    " missing after the id's last record, or a listing has all segments of its coordinator partition, or another"
    " broker's copy that reaches beyond the gap has the same last record. If no coordinator knows the producer id, each"
    " partition has no gap, or a listing, or another copy that does not know it, either.",
    "`LogCleaner`, `UnifiedLog.replaceSegments`: a copy may lack a segment that was replaced meanwhile",
    "copy __transaction_state from all brokers, or list the folders before the copy (listing.tsv)",
    Cause.COVERAGE_GAP,
    "CASE WHEN is_gone_on THEN concat('another dump shows later records of the id than this copy of"
    " __transaction_state-', coordinator_partition, ': dump again') WHEN is_known THEN concat('offsets after the id\\'s"
    " last record are missing in the copy of __transaction_state-', coordinator_partition, ': compaction removed them,"
    " or a segment was replaced during the copy. Another copy or a listing would show which') ELSE 'offsets are missing"
    " in a copy of __transaction_state: compaction removed them, or a segment was replaced during the copy. Another"
    " copy or a listing would show which' END",
)
TRANSACTION_IS_WHOLE = Proof(
    "all_its_partitions_are_proved",
    "unproved_partitions IS NOT NULL AND size(unproved_partitions) = 0",
    "Every partition that the coordinator's transaction lists is in the dump and was copied after the transaction"
    " began, and no committed transaction can own what its producer id has open there: ending it decides all of them."
    " And the coordinator was copied after all that any copy in the dump has of the producer id: its markers, too, by"
    " brokers' clocks and by their epochs; no other dump showed data of it beyond the end of a copy; no COMMIT of it"
    " was written since the transaction began, unless that is being committed; nobody wrote to a partition while that"
    f" was copied who may be its producer; and the id has {UNSEEN_EPOCHS} epochs left, so that what it did since is of"
    " the same producer id.",
    "`TransactionMarkerChannelManager.addTxnMarkersToSend`",
    "dump all partitions that the transaction lists, after it began, and __transaction_state after them",
    Cause.COVERAGE_GAP,
    "concat('ending the coordinator\\'s transaction decides all partitions that it lists, and some are not proved"
    " to hold only its data, or show that it has ended since: ', array_join(slice(unproved_partitions, 1, 5), ', '))",
)
