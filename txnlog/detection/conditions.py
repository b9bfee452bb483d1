"""What is known of each open transaction, as conditions with a name: proofs and rules are worded in them."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.config import Thresholds
from txnlog.detection.partition_copies import LACKS_END, STARTS_WITH_LOG, UNKNOWN_PRODUCER_ID
from txnlog.detection.possible_writers import NO_LATER, cuts_in_two, is_followed, may_be_of, may_own_unlisted
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.format.coordinator import TWO_PHASE_COMMIT_TIMEOUT_MS

# Conditions with a name. Each may use those before it. Null counts as false, so each is worded such that false is
# what is not known to be so.
CONDITIONS: dict[str, str] = {
    "is_two_phase": f"current.timeout_ms = {TWO_PHASE_COMMIT_TIMEOUT_MS}",
    "is_late": "age_ms > late_after_ms",
    "is_young": "age_ms <= late_after_ms",
    # The proof that nothing of this producer id is missing before the start: its last end, or a snapshot that shows the
    # same start.
    "snapshot_confirms": "snapshot_start_offset = start_offset",
    "is_damaged": "damaged_to > proven_from",
    "contradicts_snapshot": "(start_offset < snapshot_offset AND NOT snapshot_confirms)"
    " OR (snapshot_confirms AND start_offset >= log_start_offset"
    " AND NOT coalesce(first_batch_offset = start_offset, false))",
    "is_aborted_by_index": "index_aborts",
    "has_gap": "gap_to > proven_from AND (gap_to > start_offset OR NOT coalesce(cleaned_to >= gap_to, false))",
    "is_cut": LACKS_END,
    "starts_below_log": "start_offset < log_start_offset",
    "log_start_is_confirmed": STARTS_WITH_LOG,
    # Its last end is in the copy, or a snapshot from within the copy and before its start does not have it open.
    "is_seen_to_start": "NOT starts_below_log AND (last_end IS NOT NULL OR first_snapshot_offset <= start_offset)",
    "tail_may_end_it": f"tail_producer_id IN (producer_id, {UNKNOWN_PRODUCER_ID})",
    "is_ambiguous_id": "owners > 1",
    "is_known": "transactional_id IS NOT NULL",
    "coordinator_is_damaged": "is_known AND coalesce(current.offset, 0) < damaged_to_offset",
    "coordinator_lacks_records": "is_known AND NOT coalesce(coalesce(current.offset, certain_from_offset)"
    " >= certain_from_offset, false)",
    # A copy that is made while the cleaner swaps segments may lack one (`UnifiedLog.replaceSegments`), which leaves a
    # gap like those of the cleaner. Another copy that reaches beyond it has what lay there.
    "is_last_record": "if(is_known, current.offset >= gapless_from_offset"
    " OR (current IS NOT NULL AND are_listed AND NOT coalesce(last_elsewhere > current.offset, false))"
    " OR (current.offset = last_reaching AND current.offset = last_elsewhere), no_record_can_be_missing)",
    "lists_partition": "is_known"
    " AND exists(current.topic_partitions, each -> each.topic = topic AND each.partition = partition)"
    " AND current.producer_id = producer_id",
    # The archive has more of the id than the copy: what lists the partition there may have been decided since.
    "is_gone_on": "lists_partition AND later_offset IS NOT NULL",
    "is_ongoing": "lists_partition AND current.state = 'Ongoing'",
    "is_prepared": "lists_partition AND current.state IN ('PrepareCommit', 'PrepareAbort')",
    # Before 4.1 a text has no start time; the last update is later, and so proves as much.
    "is_past_timeout": "coordinator_as_of - coalesce(current.start_timestamp, current.last_update_timestamp)"
    " > current.timeout_ms + padding_ms",
    "is_past_padding": "coordinator_as_of - current.last_update_timestamp > padding_ms",
    # A coordinator records an epoch before it hands it out (`TransactionCoordinator.initTransactionId`) and before it
    # sends markers of it: its copy is of before that.
    # It gives out the next producer id when all markers of its transaction are written.
    "is_ahead_of_coordinator": "is_known AND (coalesce(current.next_producer_id = producer_id, false)"
    " OR (current.producer_id = producer_id"
    " AND greatest(producer_epoch, last_end.producer_epoch) > current.producer_epoch))",
    # What the coordinator says of the id is about the data then, and not about a transaction that has ended since. Two
    # copies may have been timed by the clocks of two machines.
    "is_dated_before_coordinator": "bounded_by + clock_skew_ms < least(coordinator_copy_from, coordinator_as_of)"
    " OR coordinator_copy_from >= copy_ended + clock_skew_ms",
    # Its producer's time counts only if both were copied in one moment: a transaction in flight may have written the
    # time of an event of yesterday.
    "is_seen_by_coordinator": "(is_dated_before_coordinator"
    " OR (appended_by + clock_skew_ms < coordinator_copy_from AND coordinator_copy_from + clock_skew_ms >= copy_ended))"
    " AND NOT is_ahead_of_coordinator",
    # Whatever the producer id wrote before its current transaction began had ended by then.
    "is_of_current": "(is_ongoing OR is_prepared) AND started_after >= current.start_timestamp",
    "is_listed": "listing IS NOT NULL",
    # A Prepare* record of version 2 carries the epoch of the next transaction (KIP-890).
    "is_of_later_epoch": "first_producer_epoch > committed.epoch"
    " OR (committed.client_transaction_version >= 2 AND first_producer_epoch >= committed.epoch)",
    # All that an epoch does not tell, brokers' clocks do, or the number of markers: those that closed data are of one
    # commit each.
    "commit_came": "is_of_later_epoch OR started_after > committed.timestamp"
    " OR last_end.producer_epoch > committed.epoch"
    " OR (last_end.producer_epoch = committed.epoch AND (committed.client_transaction_version >= 2"
    " OR last_end.max_timestamp > committed.timestamp + clock_skew_ms"
    " OR (closing_commits = commits_in_group"
    " AND (whole_from = 0 OR is_born_in_range OR whole_from < group_from - 2 * clock_skew_ms))))",
    "marker_came": "is_listed AND (last_end.producer_epoch > listing.prepared.epoch"
    " OR started_after > listing.prepared.timestamp"
    " OR (last_end.producer_epoch = listing.prepared.epoch AND (listing.client_transaction_version >= 2"
    " OR last_end.max_timestamp >= listing.prepared.timestamp - clock_skew_ms)))",
    # The cleaner takes a marker when all data that it ended is superseded (`LogCleaner.shouldDiscardBatch`).
    "marker_may_be_cleaned": "gap_to > coalesce(last_end.base_offset, -1) AND gap_to <= start_offset",
    "ended_before_copy": "listing.prepared.ended_timestamp + clock_skew_ms < copy_from",
    "abort_is_missing": "listing.prepared.state = 'PrepareAbort' AND NOT marker_came",
    # Where one marker is lost, those of later transactions often are, too: the data may be of an earlier one that was
    # committed, whatever became of the last.
    "precedes_commit": "bounded_by + clock_skew_ms < committed.start_timestamp"
    f" OR producer_epoch < committed.epoch - {NO_LATER.format('committed')}",
    # Else it may be of a topic that was made anew since, in which a producer that was fenced long ago can write again,
    # or a late write whose marker was removed with the log's start or by the cleaner.
    "is_dated_before_commit": "first_timestamp <= committed.timestamp + clock_skew_ms"
    " AND (last_end IS NOT NULL AND NOT marker_may_be_cleaned OR bounded_by + clock_skew_ms < committed.timestamp)",
    # Where transactions share an epoch, what its producer dates before this one began may be a late write of another.
    "may_precede_commit": "committed.shares_epoch"
    " AND NOT coalesce(first_timestamp >= committed.start_timestamp - clock_skew_ms, false)",
    # So it may if an aborted transaction can have written it, of which no marker is here either; if it came late after
    # one whose marker is here; if the current one can have written it; or if an administrator aborted what there was of
    # this one, and it may have come when that had been committed.
    "may_be_of_another": f"exists(aborts, each -> {may_be_of('each')})"
    " OR (last_end.producer_epoch = producer_epoch AND coalesce(last_end.marker_type, '') <> 'COMMIT'"
    " AND listing.shares_epoch AND NOT coalesce(started_after >= committed.start_timestamp"
    " AND first_timestamp > last_end.max_timestamp + clock_skew_ms, false))"
    " OR ((is_ongoing OR is_prepared) AND NOT coalesce(bounded_by + clock_skew_ms < current.start_timestamp, false))"
    " OR (last_end.producer_epoch = producer_epoch AND coalesce(last_end.marker_type, '') <> 'COMMIT'"
    " AND last_end.max_timestamp > committed.start_timestamp"
    " AND NOT coalesce(first_timestamp + clock_skew_ms < committed.timestamp, false))",
    # Before version 2 a request to end a transaction that arrives late ends the next one of its producer, too, half
    # written as it may be (KIP-890, KAFKA-17754). After a commit the client's own request is answered without a record;
    # after an abort it commits if the producer has added another partition since. So nothing tells what was written
    # after the marker from a late write. The late request was first sent before the end of an earlier transaction of
    # the same epoch; what it cut in two its producer wrote in no more time than a transaction may take.
    "follows_late_commit": f"{cuts_in_two('committed', 'previous_ended')} AND NOT {is_followed('committed')}",
    "follows_late_abort": "exists(aborts, each -> each.goes_on"
    f" AND {cuts_in_two('each', 'previous_aborted')} AND NOT {is_followed('each')})",
    # What came before the end of its epoch that it follows is there, too. That end may have been decided long before
    # its marker came, and its marker may be gone from the log.
    "decided_at": "least(last_end.max_timestamp, committed.timestamp, array_min(transform(filter(aborts, each ->"
    " coalesce(each.ended_timestamp, copy_to) >= last_end.max_timestamp - clock_skew_ms), each -> each.timestamp)))",
    "reaches_before_end": "NOT coalesce(last_end.producer_epoch"
    " BETWEEN coalesce(first_producer_epoch, last_end.producer_epoch) AND producer_epoch,"
    " committed IS NOT NULL OR log_start_offset > 0 OR marker_may_be_cleaned)"
    " OR whole_from < greatest(if(last_end.max_timestamp <= first_completed + clock_skew_ms, NULL, decided_at),"
    " started_after - late_after_ms) - padding_ms",
    # It may be of a commit that does not list the partition, if the record that did was lost with its coordinator.
    # Whether that changed may lie before all that is left of the id's records; but not if what is whole begins with the
    # same coordinator, and so long before the data that it was not listed earlier.
    "may_be_unlisted": may_own_unlisted("each.has_moved"),
    # Or of one that the leader did not ask its coordinator to list.
    "may_be_not_added": may_own_unlisted("each.shares_epoch"),
    "may_be_unlisted_before": may_own_unlisted(
        "each.may_have_moved AND NOT coalesce(each.coordinator_epoch = whole_from_epoch"
        " AND whole_from < started_after - late_after_ms, false)"
    ),
    # Or of a commit that the archive alone has: of a log that was lost, or of beyond a hole. When the coordinator says
    # that it gave out the producer id (`started_after`) does not matter: it may have done so twice.
    "may_be_of_another_log": "exists(commits_elsewhere, each -> each.epoch >= coalesce(first_producer_epoch, 0)"
    " AND NOT coalesce(started_after > each.timestamp"
    " AND broker_timestamp_before_start > each.timestamp + clock_skew_ms, false))",
    "history_reaches_back": "whole_from = 0 OR is_born_in_range OR (whole_from < started_after AND reaches_before_end"
    " AND NOT may_be_unlisted_before) OR is_of_current",
    # A record that compaction removed may say that the producer id was given out after its producer dates the data.
    "surely_appended_by": "if(history_reaches_back OR last_timestamp + clock_skew_ms >= given_out_by, appended_by,"
    " bounded_by)",
    "marker_is_gone": "((last_end IS NULL AND log_start_offset > 0) OR marker_may_be_cleaned)"
    " AND NOT coalesce(committed.timestamp > surely_appended_by + clock_skew_ms, false)",
    "commit_is_missing": "committed IS NOT NULL AND NOT commit_came AND NOT marker_is_gone AND NOT precedes_commit"
    " AND committed.ended_timestamp + clock_skew_ms < copy_from"
    " AND (last_end IS NULL OR last_end.producer_epoch < committed.epoch"
    " OR last_end.max_timestamp < committed.timestamp - clock_skew_ms)",
    # Where all records of the id are there and no commit of that epoch or later lists the partition, what was committed
    # elsewhere is not this data.
    "is_witnessed": "witness IS NOT NULL AND NOT (is_known AND NOT lists_partition"
    " AND NOT coalesce(committed.epoch > producer_epoch, false) AND history_reaches_back)",
    # Its epoch was committed elsewhere, and it was not written after that, nor after an end of its own here.
    "commit_is_witnessed": "is_witnessed AND first_producer_epoch = producer_epoch"
    " AND coalesce(last_end.producer_epoch <= producer_epoch, last_end IS NULL)"
    " AND NOT coalesce(started_after > witness.max_timestamp, false)"
    " AND (last_end IS NOT NULL OR log_start_offset = 0"
    " OR witness.max_timestamp > surely_appended_by + clock_skew_ms)",
    "is_expired": "is_known AND current.is_tombstone",
    "epoch_allowance": "if(coalesce(current.client_transaction_version, 0) >= 2, 2, 1)",
    "is_zombie": "is_known AND (NOT (current.producer_id = producer_id) OR current.producer_epoch >"
    " producer_epoch + if(current.state IN ('Empty', 'Ongoing'), 0, epoch_allowance))",
    "follows_own_marker": "last_end.producer_epoch = producer_epoch"
    " AND coalesce(listing.client_transaction_version, 0) < 2",
    "is_not_listed_since": "is_known AND (NOT is_listed OR marker_came)",
}

# Names that hold a number, not a truth value.
_NUMBERS = frozenset({"epoch_allowance", "decided_at", "surely_appended_by"})


def with_parameters(transactions: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Add what the conditions compare with, and what the reasons say."""
    own_timeout = f"if(current.timeout_ms < {TWO_PHASE_COMMIT_TIMEOUT_MS}, current.timeout_ms, NULL)"
    return transactions.selectExpr(
        "*",
        f"{thresholds.padding_ms} AS padding_ms",
        f"{thresholds.clock_skew_ms} AS clock_skew_ms",
        f"greatest(transaction_max_timeout_ms, {own_timeout}) + padding_ms AS late_after_ms",
        "if(coalesce(snapshot_start_offset = start_offset, false), snapshot_offset,"
        " coalesce(last_end.base_offset, -1)) AS proven_from",
        "shown_as_of - last_activity AS age_ms",
        f"{_duration('age_ms')} AS age_text",
        f"{_duration('late_after_ms')} AS late_after_text",
        f"coalesce({_iso('current.start_timestamp')}, {_iso('current.last_update_timestamp')}) AS iso_current_start",
        f"{_iso('current.last_update_timestamp')} AS iso_current_update",
        f"{_iso('as_of')} AS iso_as_of",
        f"{_iso('committed.timestamp')} AS iso_committed",
        f"{_iso('witness.max_timestamp')} AS iso_witness",
        f"{_iso('listing.prepared.timestamp')} AS iso_prepared",
        f"{_iso('listing.prepared.ended_timestamp')} AS iso_ended",
        f"if(damaged_to = {NOTHING_FOLLOWS}, concat(log_end_offset, ' or after it'), string(damaged_to))"
        " AS damaged_to_text",
    )


def conditions() -> list[str]:
    """The conditions as columns, in their order."""
    return [_condition(name, condition) for name, condition in CONDITIONS.items()]


def _condition(name: str, condition: str) -> str:
    value = condition if name in _NUMBERS else f"coalesce(cast(({condition}) AS boolean), false)"
    return f"{value} AS {name}"


def _iso(milliseconds: str) -> str:
    return f"""date_format(timestamp_millis({milliseconds}), "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")"""


def _duration(milliseconds: str) -> str:
    seconds = f"CAST({milliseconds} / 1000 AS bigint)"
    return (
        f"CASE WHEN {seconds} < 120 THEN concat({seconds}, ' s')"
        f" WHEN {seconds} < 7200 THEN concat(CAST({seconds} / 60 AS bigint), ' min')"
        f" ELSE concat(CAST({seconds} / 3600 AS bigint), ' h') END"
    )
