"""The verdict on each open transaction: the first rule that applies, in an order that asks for proof first.

A rule is a cause, a condition in Spark SQL over the columns that the earlier steps added, and a reason in words. Only
the last rules say ABORT, and they are reached only when every rule that asks for missing evidence has let the row by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from txnlog.detection.causes import ACTION_OF, Action, Cause, Confidence

TWO_PHASE_COMMIT_TIMEOUT_MS = 2147483647
BY_TEXT = " (by the text of kafka-dump-log)"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What an operator may set. All times in ms.

    `padding_ms` is added to the largest timeout before anything counts as late; `slack_ms` stands for how long a copy
    took where that is not known; `clock_skew_ms` is how far two brokers' clocks may be apart.
    `accept_compacted_history` lets a producer id that nobody knows count as such although the coordinators' logs were
    compacted since the transaction began.
    """

    padding_ms: int = 300_000
    slack_ms: int = 600_000
    clock_skew_ms: int = 5_000
    accept_compacted_history: bool = False


class Rule(NamedTuple):
    """`when` is a condition, `reason` an expression that yields the reason; both Spark SQL."""

    cause: Cause
    when: str
    reason: str


# Conditions with a name. Each may use those before it. Null counts as false.
CONDITIONS: dict[str, str] = {
    "is_two_phase": f"current.timeout_ms = {TWO_PHASE_COMMIT_TIMEOUT_MS}",
    "is_late": "as_of - last_activity > late_after_ms AND NOT is_two_phase",
    # The proof that nothing of this producer id is missing before the start: a marker of its own, or a snapshot that
    # shows the same start.
    "snapshot_confirms": "snapshot_start_offset = start_offset",
    "is_damaged": "damaged_to > proven_from",
    "contradicts_snapshot": "(start_offset < snapshot_offset AND NOT snapshot_confirms)"
    " OR (snapshot_confirms AND start_offset >= log_start_offset"
    " AND NOT coalesce(first_batch_offset = start_offset, false))",
    "is_aborted_by_index": "index_aborts",
    "has_gap": "gap_to > proven_from AND (gap_to > start_offset OR NOT coalesce(cleaned_to >= gap_to, false))",
    "is_cut": "high_watermark > log_end_offset OR snapshot_above_end IS NOT NULL"
    " OR longest_log_end_offset > log_end_offset",
    "tail_may_end_it": "tail_producer_id = producer_id",
    "is_ambiguous_id": "owners > 1",
    "is_known": "transactional_id IS NOT NULL",
    "coordinator_is_damaged": "is_known AND NOT coalesce(current.offset >= certain_from_offset, false)",
    "lists_partition": "is_known"
    " AND exists(current.topic_partitions, each -> each.topic = topic AND each.partition = partition)"
    " AND (current.producer_id = producer_id OR current.previous_producer_id = producer_id)",
    "is_ongoing": "lists_partition AND current.state = 'Ongoing'",
    "is_prepared": "lists_partition AND current.state IN ('PrepareCommit', 'PrepareAbort')",
    # Before 4.1 a text has no start time; the last update is later, and so proves as much.
    "is_past_timeout": "coordinator_as_of - coalesce(current.start_timestamp, current.last_update_timestamp)"
    " > current.timeout_ms + padding_ms",
    "is_past_padding": "coordinator_as_of - current.last_update_timestamp > padding_ms",
    "is_proven_late": "as_of - appended_by > late_after_ms",
    "is_seen_by_coordinator": "appended_by + clock_skew_ms < coordinator_copy_from",
    # What it says of the id is about the present then, and not about a transaction that has ended since.
    "coordinator_is_as_new": "is_seen_by_coordinator OR coordinator_copy_from >= copy_from",
    "is_listed": "listing IS NOT NULL",
    "is_same_epoch": "is_listed AND last_marker.producer_epoch = listing.prepared.epoch",
    "neighbours_are_whole": "(row_number > 1 AND certain_from_offset = 0) OR whole_from = 0"
    " OR whole_from < neighbours_from - 2 * clock_skew_ms",
    # Markers are written twice at times: the number of them is not enough to say that none was lost.
    "marker_is_last": "neighbours = 1 OR last_marker.max_timestamp >= listing.prepared.timestamp",
    "marker_came": "is_listed AND (last_marker.producer_epoch > listing.prepared.epoch"
    " OR (is_same_epoch AND neighbour_markers = neighbours AND neighbours_are_whole AND marker_is_last))",
    "marker_is_below_log": "last_marker IS NULL AND log_start_offset > 0"
    " AND NOT coalesce(listing.prepared.timestamp > appended_by + clock_skew_ms, false)",
    "marker_is_missing": "is_listed AND listing.prepared IS NOT NULL AND NOT marker_came AND NOT marker_is_below_log"
    " AND (last_marker IS NULL OR last_marker.producer_epoch < listing.prepared.epoch"
    " OR (is_same_epoch AND neighbour_markers < neighbours"
    " AND last_marker.max_timestamp < listing.prepared.timestamp - clock_skew_ms))",
    "ended_before_copy": "listing.prepared.ended_timestamp + clock_skew_ms < copy_from",
    # Where one marker is lost, those of later transactions often are, too: the data may be of an earlier one that was
    # committed, whatever became of the last.
    "commit_came": "last_marker.producer_epoch > committed.epoch OR (last_marker.producer_epoch = committed.epoch"
    " AND (committed.client_transaction_version >= 2"
    " OR last_marker.max_timestamp > committed.timestamp + clock_skew_ms))",
    "may_be_committed": "committed IS NOT NULL AND NOT commit_came"
    " AND NOT coalesce(started_after > committed.timestamp, false)",
    "commit_is_missing": "may_be_committed AND NOT marker_is_below_log"
    " AND timestamps_trusted AND first_timestamp <= committed.timestamp"
    " AND committed.ended_timestamp + clock_skew_ms < copy_from"
    " AND (last_marker IS NULL OR last_marker.producer_epoch < committed.epoch"
    " OR last_marker.max_timestamp < committed.timestamp - clock_skew_ms)",
    "history_is_whole": "whole_from = 0 OR whole_from <= started_after",
    "is_expired": "is_known AND current.is_tombstone",
    "epoch_allowance": "if(coalesce(current.client_transaction_version, 0) >= 2, 2, 1)",
    "is_zombie": "is_known AND (NOT (current.producer_id = producer_id) OR current.producer_epoch >"
    " producer_epoch + if(current.state IN ('Empty', 'Ongoing'), 0, epoch_allowance))",
    "follows_own_marker": "last_marker.producer_epoch = producer_epoch"
    " AND coalesce(listing.client_transaction_version, 0) < 2",
}

# Names that hold a number, not a truth value.
_NUMBERS = frozenset({"epoch_allowance"})

RULES: tuple[Rule, ...] = (
    Rule(
        Cause.TWO_PHASE_COMMIT,
        "is_two_phase",
        "'its timeout is that of a two-phase commit: it may be open for days'",
    ),
    Rule(
        Cause.ONGOING,
        "NOT is_late AND last_activity IS NOT NULL AND is_ongoing",
        "concat('the coordinator has it Ongoing since ', iso_current_start)",
    ),
    Rule(
        Cause.PENDING,
        "NOT is_late AND last_activity IS NOT NULL AND is_prepared",
        "concat('the coordinator is writing its markers since ', iso_current_update)",
    ),
    Rule(
        Cause.TOO_YOUNG,
        "NOT is_late AND last_activity IS NOT NULL",
        "concat('written to ', age_text, ' before the copy; late after ', late_after_text)",
    ),
    Rule(
        Cause.CORRUPT_INPUT,
        "is_damaged AND is_text",
        "concat('the text of this partition is cut short, damaged or does not add up: print it again, kafka-dump-log.sh"
        " --deep-iteration --files ', topic, '-', partition, '/*.log, or copy the segments')",
    ),
    Rule(
        Cause.CORRUPT_INPUT,
        "is_damaged",
        "concat('damage in this partition may hide a batch below offset ', damaged_to_text, ': dump it again')",
    ),
    Rule(
        Cause.CORRUPT_INPUT,
        "contradicts_snapshot",
        "concat('the producer snapshot at offset ', snapshot_offset, ' and the log disagree about this producer id')",
    ),
    Rule(
        Cause.CORRUPT_INPUT,
        "is_aborted_by_index",
        "'the transaction index says that this transaction was aborted, the log has no marker of it'",
    ),
    Rule(
        Cause.CORRUPT_INPUT,
        "tail_may_end_it",
        "'the log ends in the middle of a batch of this producer id, which may be its marker: dump it again'",
    ),
    Rule(
        Cause.COVERAGE_GAP,
        "has_gap",
        "concat('offsets below ', gap_to, ' are missing and compaction does not explain it: is a segment missing?')",
    ),
    Rule(
        Cause.COVERAGE_GAP,
        "is_cut",
        "concat('the copy ends at offset ', log_end_offset, ' but the log reaches at least ', "
        "greatest(high_watermark, snapshot_above_end, longest_log_end_offset), ': dump it again, checkpoints first')",
    ),
    Rule(
        Cause.COVERAGE_GAP,
        "text_is_newer",
        "'the text of this partition is of a later leader epoch than its raw segments: copy the segments again'",
    ),
    Rule(
        Cause.CLEANER_ARTEFACT,
        "batches > 0 AND records = 0",
        "'only batches without records, left by compaction: ask the broker with describe-producers'",
    ),
    Rule(
        Cause.AMBIGUOUS_PRODUCER_ID,
        "is_ambiguous_id",
        "concat('the producer id stands under several transactional ids: ', array_join(transactional_ids, ', '))",
    ),
    Rule(
        Cause.CORRUPT_INPUT,
        "coordinator_is_damaged AND coordinator_is_text",
        "concat('the text of __transaction_state-', coordinator_partition, ' is cut short, damaged or not decoded:"
        " print it again, kafka-dump-log.sh --transaction-log-decoder --files __transaction_state-',"
        " coordinator_partition, '/*.log')",
    ),
    Rule(
        Cause.CORRUPT_INPUT,
        "coordinator_is_damaged",
        "concat('the copy of __transaction_state-', coordinator_partition, ' is damaged or lacks its end')",
    ),
    Rule(
        Cause.MARKER_LOST_COMMIT,
        "is_proven_late AND commit_is_missing",
        "concat('COMMITTED at ', iso_committed, ', but the COMMIT marker never reached this partition: the data was "
        "promised to be safe, never abort it')",
    ),
    Rule(
        Cause.STUCK_ONGOING,
        "is_ongoing AND is_past_timeout AND coordinator_is_as_new",
        "concat('the coordinator has it Ongoing since ', iso_current_start, ', longer than its timeout of ', "
        "current.timeout_ms, ' ms: forceTerminateTransaction ends it')",
    ),
    Rule(Cause.ONGOING, "is_ongoing", "concat('the coordinator has it Ongoing since ', iso_current_start)"),
    Rule(
        Cause.STUCK_PREPARE,
        "is_prepared AND is_past_padding",
        "concat('the coordinator is in ', current.state, ' since ', iso_current_update, ' and still owes this marker: "
        "restart it or elect another')",
    ),
    Rule(
        Cause.PENDING,
        "is_prepared",
        "concat('the coordinator is writing its markers since ', iso_current_update)",
    ),
    Rule(
        Cause.SKEW,
        "NOT is_proven_late",
        "'its timestamps contradict the brokers\\' clocks and nothing later in the log bounds its age: dump it again'",
    ),
    Rule(
        Cause.SKEW,
        "NOT is_seen_by_coordinator AND (is_known OR coordinator_copy_from IS NOT NULL)",
        "'the coordinator was copied before this data was certainly written: dump __transaction_state again'",
    ),
    Rule(
        Cause.COVERAGE_GAP,
        "NOT is_known AND size(missing_coordinators) > 0",
        "concat('no coordinator in the dump knows the producer id, but __transaction_state lacks partitions ', "
        "array_join(slice(missing_coordinators, 1, 10), ', '), if(size(missing_coordinators) > 10, ', ...', ''))",
    ),
    Rule(
        Cause.CORRUPT_INPUT,
        "NOT is_known AND NOT all_coordinators_certain",
        "'no coordinator in the dump knows the producer id, but a copy of __transaction_state is damaged or "
        "lacks records'",
    ),
    Rule(
        Cause.SKEW,
        "marker_is_missing AND NOT ended_before_copy",
        "concat('the coordinator ended it at ', iso_ended, ', while or after this partition was copied: dump again')",
    ),
    Rule(
        Cause.MARKER_LOST_COMMIT,
        "marker_is_missing AND listing.prepared.state = 'PrepareCommit'",
        "concat('COMMITTED at ', iso_prepared, ', but the COMMIT marker never reached this partition: the data was "
        "promised to be safe, never abort it')",
    ),
    Rule(
        Cause.NOT_PRINTED,
        "last_marker.marker_type = 'NOT_PRINTED'",
        "concat('the text does not say whether the marker at offset ', last_marker.base_offset, ' is a COMMIT or an"
        " ABORT: print it again, kafka-dump-log.sh --deep-iteration --files ', topic, '-', partition, '/*.log')",
    ),
    Rule(
        Cause.MARKER_LOST_ABORT,
        "marker_is_missing AND listing.prepared.state = 'PrepareAbort' AND NOT may_be_committed AND history_is_whole",
        "concat('aborted at ', iso_prepared, ', but the ABORT marker never reached this partition')",
    ),
    Rule(
        Cause.SKEW,
        "is_listed AND NOT marker_came AND (may_be_committed OR NOT marker_is_missing)",
        "'which of the transactions that listed this partition its last marker ended, and which wrote the data behind "
        "it, cannot be told'",
    ),
    Rule(
        Cause.PHANTOM_BELOW_LOG_START,
        "start_offset < log_start_offset AND batches = 0",
        "concat('starts below the log start offset ', log_start_offset, ': only the producer snapshot remembers it')",
    ),
    Rule(
        Cause.HISTORY_COMPACTED,
        "NOT history_is_whole AND NOT (accept_compacted_history AND NOT is_known"
        " AND NOT coalesce(coordinator_is_text, false))",
        "'records of __transaction_state from before this transaction are compacted away, missing or damaged: that it "
        "was committed and its marker lost cannot be ruled out'",
    ),
    Rule(
        Cause.PHANTOM_BELOW_LOG_START,
        "start_offset < log_start_offset",
        "concat('starts below the log start offset ', log_start_offset, ': its first data is gone')",
    ),
    Rule(
        Cause.COORDINATOR_UNKNOWN,
        "NOT is_known",
        "'all coordinators are in the dump and none knows the producer id'",
    ),
    Rule(
        Cause.ID_EXPIRED,
        "is_expired",
        "'the transactional id has expired, its coordinator has forgotten the producer id'",
    ),
    Rule(
        Cause.EPOCH_MISMATCH,
        "is_zombie",
        "concat('written by a fenced producer at epoch ', producer_epoch, '; its coordinator is at producer id ', "
        "current.producer_id, ', epoch ', current.producer_epoch)",
    ),
    Rule(
        Cause.LATE_WRITE_AFTER_END,
        "follows_own_marker",
        "concat('written after the ', last_marker.marker_type, ' marker at offset ', last_marker.base_offset, "
        "' that had ended its transaction; coordinator: ', current.state)",
    ),
    Rule(
        Cause.NEVER_ADDED,
        "true",
        "concat('no transaction of the id listed this partition; coordinator: ', current.state)",
    ),
)


def with_verdicts(transactions: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Add `cause`, `action`, `confidence`, `reason` and `late` (null where the age cannot be known)."""
    return (
        transactions.transform(_with_parameters, thresholds)
        .transform(_with_conditions)
        .withColumn("verdict", _first_rule())
        .withColumns({"cause": F.col("verdict.cause"), "action": F.col("verdict.action")})
        .withColumn("reason", F.concat("verdict.reason", F.when(_rests_on_text(), F.lit(BY_TEXT)).otherwise("")))
        .withColumn("late", F.when(F.col("last_activity").isNotNull(), F.col("is_late")))
        .withColumn("confidence", _confidence())
    )


def _with_parameters(transactions: DataFrame, thresholds: Thresholds) -> DataFrame:
    own_timeout = F.when(F.col("current.timeout_ms") < TWO_PHASE_COMMIT_TIMEOUT_MS, F.col("current.timeout_ms"))
    return transactions.withColumns(
        {
            "padding_ms": F.lit(thresholds.padding_ms),
            "clock_skew_ms": F.lit(thresholds.clock_skew_ms),
            "accept_compacted_history": F.lit(thresholds.accept_compacted_history),
            "late_after_ms": F.greatest("transaction_max_timeout_ms", own_timeout) + thresholds.padding_ms,
            "proven_from": F.when(
                F.expr("coalesce(snapshot_start_offset = start_offset, false)"), F.col("snapshot_offset")
            ).otherwise(F.coalesce("last_marker.base_offset", F.lit(-1))),
        }
    ).withColumns(
        {
            "age_ms": F.col("as_of") - F.col("last_activity"),
            "age_text": _duration(F.col("as_of") - F.col("last_activity")),
            "late_after_text": _duration(F.col("late_after_ms")),
            "iso_current_start": F.coalesce(_iso("current.start_timestamp"), _iso("current.last_update_timestamp")),
            "iso_current_update": _iso("current.last_update_timestamp"),
            "iso_committed": _iso("committed.timestamp"),
            "iso_prepared": _iso("listing.prepared.timestamp"),
            "iso_ended": _iso("listing.prepared.ended_timestamp"),
            "damaged_to_text": F.expr(
                "if(damaged_to = 9223372036854775807, concat(log_end_offset, ' or behind it'), string(damaged_to))"
            ),
        }
    )


def _with_conditions(transactions: DataFrame) -> DataFrame:
    # One projection, in which each alias may use those before it: a projection each would be analysed anew each time.
    # Dropped first, so that verdicts can be reached once more with other thresholds.
    unjudged = transactions.drop(*CONDITIONS)
    return unjudged.selectExpr("*", *(_expression(name, condition) for name, condition in CONDITIONS.items()))


def _expression(name: str, condition: str) -> str:
    value = condition if name in _NUMBERS else f"coalesce(cast(({condition}) AS boolean), false)"
    return f"{value} AS {name}"


def _first_rule() -> Column:
    # One expression, which Spark reads at once: put together of columns, each part of each rule is a question to Java.
    rules = "".join(
        f" WHEN {rule.when} THEN named_struct('cause', '{rule.cause.value}', 'action', '{ACTION_OF[rule.cause].value}',"
        f" 'reason', coalesce({rule.reason}, 'its evidence is incomplete'))"
        for rule in RULES
    )
    return F.expr(f"CASE{rules} END")


def _rests_on_text() -> Column:
    return F.coalesce("is_text", F.lit(False)) | F.coalesce("coordinator_is_text", F.lit(False))


def _confidence() -> Column:
    """HIGH where nothing stands in for evidence: a stated as-of, checkpoints, sound timestamps, a quiet producer."""
    stated = F.col("as_of_source").isin("option", "manifest")
    quiet = ~F.coalesce(F.col("current.state") == "Ongoing", F.lit(False))
    whole = stated & F.col("high_watermark").isNotNull() & F.col("timestamps_trusted") & quiet
    printed = _rests_on_text()
    return (
        F.when(F.col("action") == Action.UNDETERMINED.value, F.lit(Confidence.LOW.value))
        .when(printed | ((F.col("action") == Action.ABORT.value) & ~whole), F.lit(Confidence.MEDIUM.value))
        .when(stated, F.lit(Confidence.HIGH.value))
        .otherwise(F.lit(Confidence.MEDIUM.value))
    )


def _iso(milliseconds: str) -> Column:
    return F.date_format(F.timestamp_millis(F.col(milliseconds)), "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")


def _duration(milliseconds: Column) -> Column:
    seconds = (milliseconds / 1000).cast("bigint")
    return (
        F.when(seconds < 120, F.concat(seconds.cast("string"), F.lit(" s")))
        .when(seconds < 7200, F.concat((seconds / 60).cast("bigint").cast("string"), F.lit(" min")))
        .otherwise(F.concat((seconds / 3600).cast("bigint").cast("string"), F.lit(" h")))
    )
