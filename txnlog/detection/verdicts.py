"""The verdict on each open transaction: conditions, then proofs, then the first rule that applies (`RULES`)."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from txnlog.detection.causes import DISCARDING, Action, Confidence
from txnlog.detection.copies import LACKS_END, PARTITION, STARTS_WITH_LOG, UNKNOWN_PRODUCER_ID
from txnlog.detection.proofs import CONTRADICTING, HISTORY_IS_WHOLE, PROOFS, TRANSACTION_IS_WHOLE, Proof
from txnlog.detection.rules import OF_OWN_DATA, RULES, Rule
from txnlog.detection.times import LOG_DIR
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.format.coordinator import TWO_PHASE_COMMIT_TIMEOUT_MS

BY_TEXT = " (by kafka-dump-log output)"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What an operator may set. All times in ms.

    `padding_ms` is added to the largest timeout before anything counts as late; `slack_ms` stands for how long a copy
    took where that is not known; `clock_skew_ms` is how far two brokers' clocks may be apart.
    `accept_compacted_history` marks what is undetermined for want of history alone.
    """

    padding_ms: int = 300_000
    slack_ms: int = 600_000
    clock_skew_ms: int = 5_000
    accept_compacted_history: bool = False


# Conditions with a name. Each may use those before it. Null counts as false, so each is worded such that false is
# what is not known to be so.
CONDITIONS: dict[str, str] = {
    "is_two_phase": f"current.timeout_ms = {TWO_PHASE_COMMIT_TIMEOUT_MS}",
    "is_late": "age_ms > late_after_ms AND NOT is_two_phase",
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
    "coordinator_is_damaged": "is_known AND NOT coalesce(coalesce(current.offset, certain_from_offset)"
    " >= certain_from_offset, false)",
    # A copy that is made while the cleaner swaps segments may lack one (`UnifiedLog.replaceSegments`), which leaves a
    # gap like those of the cleaner. Another copy that reaches beyond it has what lay there.
    "is_last_record": "if(is_known, current.offset >= gapless_from_offset OR (current IS NOT NULL AND are_listed)"
    " OR (current.offset = last_reaching AND current.offset = last_elsewhere), no_record_can_be_missing)",
    "lists_partition": "is_known"
    " AND exists(current.topic_partitions, each -> each.topic = topic AND each.partition = partition)"
    " AND current.producer_id = producer_id",
    "is_ongoing": "lists_partition AND current.state = 'Ongoing'",
    "is_prepared": "lists_partition AND current.state IN ('PrepareCommit', 'PrepareAbort')",
    # Before 4.1 a text has no start time; the last update is later, and so proves as much.
    "is_past_timeout": "coordinator_as_of - coalesce(current.start_timestamp, current.last_update_timestamp)"
    " > current.timeout_ms + padding_ms",
    "is_past_padding": "coordinator_as_of - current.last_update_timestamp > padding_ms",
    # A coordinator records an epoch before it hands it out (`TransactionCoordinator.initTransactionId`) and before it
    # sends markers of it: its copy is of before that.
    "is_ahead_of_coordinator": "is_known AND current.producer_id = producer_id"
    " AND greatest(producer_epoch, last_end.producer_epoch) > current.producer_epoch",
    # What the coordinator says of the id is about the data then, and not about a transaction that has ended since.
    "is_dated_before_coordinator": "bounded_by + clock_skew_ms < least(coordinator_copy_from, coordinator_as_of)"
    " OR coordinator_copy_from >= copy_to",
    # Its producer's time counts only if both were copied in one moment: a transaction in flight may have written the
    # time of an event of yesterday.
    "is_seen_by_coordinator": "(is_dated_before_coordinator"
    " OR (appended_by + clock_skew_ms < coordinator_copy_from AND coordinator_copy_from + clock_skew_ms >= copy_to))"
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
    "marker_is_gone": "((last_end IS NULL AND log_start_offset > 0) OR marker_may_be_cleaned)"
    " AND NOT coalesce(coalesce(committed.timestamp, listing.prepared.timestamp) > appended_by + clock_skew_ms, false)",
    "ended_before_copy": "listing.prepared.ended_timestamp + clock_skew_ms < copy_from",
    "abort_is_missing": "listing.prepared.state = 'PrepareAbort' AND NOT marker_came",
    # Where one marker is lost, those of later transactions often are, too: the data may be of an earlier one that was
    # committed, whatever became of the last.
    "commit_is_missing": "committed IS NOT NULL AND NOT commit_came AND NOT marker_is_gone"
    " AND committed.ended_timestamp + clock_skew_ms < copy_from"
    " AND (last_end IS NULL OR last_end.producer_epoch < committed.epoch"
    " OR last_end.max_timestamp < committed.timestamp - clock_skew_ms)",
    # Else it may be of a topic that was made anew since, or a late write whose marker was removed with the log's start.
    "is_dated_before_commit": "first_timestamp <= committed.timestamp + clock_skew_ms AND (last_end IS NOT NULL"
    " OR log_start_offset = 0 OR bounded_by + clock_skew_ms < committed.timestamp)",
    # Where all records of the id are there and no commit of that epoch or later lists the partition, what was committed
    # elsewhere is not this data.
    "is_witnessed": "witness IS NOT NULL AND NOT (is_known AND NOT lists_partition"
    f" AND NOT coalesce(committed.epoch > producer_epoch, false) AND coalesce(({HISTORY_IS_WHOLE.holds}), false))",
    # Its epoch was committed elsewhere, and it was not written after that, nor behind an end of its own here.
    "commit_is_witnessed": "is_witnessed AND first_producer_epoch = producer_epoch"
    " AND coalesce(last_end.producer_epoch <= producer_epoch, last_end IS NULL)"
    " AND NOT coalesce(started_after > witness.max_timestamp, false)"
    " AND (last_end IS NOT NULL OR log_start_offset = 0"
    " OR witness.max_timestamp > appended_by + clock_skew_ms)",
    "is_expired": "is_known AND current.is_tombstone",
    "epoch_allowance": "if(coalesce(current.client_transaction_version, 0) >= 2, 2, 1)",
    "is_zombie": "is_known AND (NOT (current.producer_id = producer_id) OR current.producer_epoch >"
    " producer_epoch + if(current.state IN ('Empty', 'Ongoing'), 0, epoch_allowance))",
    "follows_own_marker": "last_end.producer_epoch = producer_epoch"
    " AND coalesce(listing.client_transaction_version, 0) < 2",
    "is_not_listed_since": "is_known AND (NOT is_listed OR marker_came)",
}

# Names that hold a number, not a truth value.
_NUMBERS = frozenset({"epoch_allowance"})


def with_proofs(transactions: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Add the conditions and the proofs: a column each, of which a proof is null where it is not proved.

    `is_own_data`: whether nothing in it can be of another transaction that was committed.
    """
    own = " AND ".join(f"coalesce({proof.name}, false)" for proof in OF_OWN_DATA)
    return transactions.transform(_with_parameters, thresholds).selectExpr(
        "*",
        *(_condition(name, condition) for name, condition in CONDITIONS.items()),
        *(f"cast(({proof.holds}) AS boolean) AS {proof.name}" for proof in PROOFS if proof is not TRANSACTION_IS_WHOLE),
        f"({own}) AS is_own_data",
    )


def with_unproved(transactions: DataFrame, copies: DataFrame, times: DataFrame) -> DataFrame:
    """Add `unproved_partitions`: of the coordinator's transaction those that are not proved to hold its data alone.

    All partitions that it lists count, also those in which nothing is open: they must be in the dump and whole, and
    copied since it began. Before that, data of an earlier transaction may have been on its way.
    """
    began = F.coalesce("current.start_timestamp", "current.last_update_timestamp") + F.col("clock_skew_ms")
    ending = transactions.where("is_ongoing OR is_prepared").select(
        "cluster", "producer_id", "current.topic_partitions", began.alias("began")
    )
    listed = (
        ending.dropDuplicates(["cluster", "producer_id"])
        .withColumn("each", F.explode("topic_partitions"))
        .select("cluster", "producer_id", "began", "each.topic", "each.partition")
    )
    is_whole = F.expr(
        "log_end_offset IS NOT NULL AND damaged_to IS NULL AND coalesce(gap_to <= cleaned_to, gap_to IS NULL)"
        f" AND tail_producer_id IS NULL AND NOT coalesce({LACKS_END}, false) AND coalesce({STARTS_WITH_LOG}, false)"
    )
    here = [*PARTITION, "producer_id"]
    whole = copies.join(F.broadcast(times), [*LOG_DIR], "left").withColumns(
        {"copy_is_whole": is_whole, "seen_at": F.least("copied_since", "shown_since")}
    )
    found = (
        listed.join(F.broadcast(whole.select(*PARTITION, "copy_is_whole", "seen_at")), [*PARTITION], "left")
        .join(transactions.select(*here, "is_own_data"), here, "left")
        .where("NOT coalesce(is_own_data, copy_is_whole AND seen_at > began, false)")
        .groupBy("cluster", "producer_id")
        .agg(F.sort_array(F.collect_set(F.concat_ws("-", "topic", "partition"))).alias("unproved"))
    )  # fmt: skip
    nothing = F.array().cast("array<string>")
    return (
        transactions.join(F.broadcast(found), ["cluster", "producer_id"], "left")
        .withColumn(
            "unproved_partitions",
            F.when(F.expr("is_ongoing OR is_prepared"), F.coalesce("unproved", nothing)),
        )
        .drop("unproved")
    )


def with_verdicts(transactions: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Add `cause`, `action`, `confidence`, `reason`, `late` (null where the age cannot be known) and `lacking`.

    `lacking` names the proof for want of which the verdict is UNDETERMINED, and `wanted_cause` what it would be.
    `accepted`: only history is lacking, and the operator wants to see such rows. It stays UNDETERMINED.
    `is_contradicted`: something speaks against an abort, though other proofs may be lacking as well.
    """
    against = " OR ".join(
        ["commit_is_missing", "commit_is_witnessed", *(f"NOT {proof.name}" for proof in CONTRADICTING)]
    )
    whole = f"cast(({TRANSACTION_IS_WHOLE.holds}) AS boolean)"
    return (
        transactions.withColumn(TRANSACTION_IS_WHOLE.name, F.expr(whole))
        .withColumn("verdict", _first_rule())
        .select("*", "verdict.cause", "verdict.action", "verdict.lacking", "verdict.wanted_cause")
        .withColumns(
            {
                "reason": F.concat("verdict.reason", F.when(_rests_on_text(), F.lit(BY_TEXT)).otherwise("")),
                "late": F.when(F.col("last_activity").isNotNull(), F.col("is_late")),
                "confidence": _confidence(),
                "is_contradicted": F.expr(f"coalesce({against}, false)"),
                "accepted": F.lit(thresholds.accept_compacted_history) & _lacks_history_alone(),
            }
        )
    )


def _with_parameters(transactions: DataFrame, thresholds: Thresholds) -> DataFrame:
    own_timeout = F.when(F.col("current.timeout_ms") < TWO_PHASE_COMMIT_TIMEOUT_MS, F.col("current.timeout_ms"))
    return transactions.withColumns(
        {
            "padding_ms": F.lit(thresholds.padding_ms),
            "clock_skew_ms": F.lit(thresholds.clock_skew_ms),
            "late_after_ms": F.greatest("transaction_max_timeout_ms", own_timeout) + thresholds.padding_ms,
            "proven_from": F.when(
                F.expr("coalesce(snapshot_start_offset = start_offset, false)"), F.col("snapshot_offset")
            ).otherwise(F.coalesce("last_end.base_offset", F.lit(-1))),
        }
    ).withColumns(
        {
            "age_ms": F.col("shown_as_of") - F.col("last_activity"),
            "age_text": _duration(F.col("shown_as_of") - F.col("last_activity")),
            "late_after_text": _duration(F.col("late_after_ms")),
            "iso_current_start": F.coalesce(_iso("current.start_timestamp"), _iso("current.last_update_timestamp")),
            "iso_current_update": _iso("current.last_update_timestamp"),
            "iso_as_of": _iso("as_of"),
            "iso_committed": _iso("committed.timestamp"),
            "iso_witness": _iso("witness.max_timestamp"),
            "iso_prepared": _iso("listing.prepared.timestamp"),
            "iso_ended": _iso("listing.prepared.ended_timestamp"),
            "damaged_to_text": F.expr(
                f"if(damaged_to = {NOTHING_FOLLOWS}, concat(log_end_offset, ' or after it'), string(damaged_to))"
            ),
        }
    )


def _condition(name: str, condition: str) -> str:
    value = condition if name in _NUMBERS else f"coalesce(cast(({condition}) AS boolean), false)"
    return f"{value} AS {name}"


def _first_rule() -> Column:
    # One expression, which Spark reads at once: put together of columns, each part of each rule is a question to Java.
    return F.expr(f"CASE{''.join(f' WHEN {rule.when} THEN {_by_its_proofs(rule)}' for rule in RULES)} END")


def _by_its_proofs(rule: Rule) -> str:
    """The rule's verdict if all that it needs is proved, else UNDETERMINED by the first proof that is lacking."""
    lacking = "".join(f" WHEN NOT coalesce({proof.name}, false) THEN {_without(rule, proof)}" for proof in rule.needs)
    taken = _verdict(rule.cause.value, rule.action.value, rule.reason)
    return f"CASE{lacking} ELSE {taken} END" if lacking else taken


def _without(rule: Rule, proof: Proof) -> str:
    return _verdict(proof.cause.value, Action.UNDETERMINED.value, proof.lacking, proof.name, rule.cause.value)


def _verdict(cause: str, action: str, reason: str, lacking: str = "", wanted_cause: str = "") -> str:
    return (
        f"named_struct('cause', '{cause}', 'action', '{action}', 'reason', coalesce({reason}, 'its evidence is"
        f" incomplete'), 'lacking', nullif('{lacking}', ''), 'wanted_cause', nullif('{wanted_cause}', ''))"
    )


def _lacks_history_alone() -> Column:
    # The older texts lack previous producer ids. And somebody else than the producer must say when it was written.
    is_dated = F.expr(
        "(bounded_by IS NOT NULL OR known_before IS NOT NULL OR NOT is_known)"
        " AND NOT coalesce(coordinator_is_text, false)"
    )
    return F.coalesce((F.col("lacking") == HISTORY_IS_WHOLE.name) & is_dated, F.lit(False))


def _rests_on_text() -> Column:
    return F.coalesce("is_text", F.lit(False)) | F.coalesce("coordinator_is_text", F.lit(False))


def _confidence() -> Column:
    """HIGH where nothing stands in for evidence: a stated as-of, checkpoints, sound timestamps, a quiet producer. For
    what discards data the coordinator must have been copied after it by brokers' clocks, not by its producer's.

    That it was committed is certain only of data that its producer dates before the commit (`is_dated_before_commit`),
    in this dump or in an earlier one.
    """
    stated = F.col("as_of_source").isin("option", "manifest")
    quiet = ~F.coalesce(F.col("current.state") == "Ongoing", F.lit(False))
    whole = stated & F.col("high_watermark").isNotNull() & F.col("timestamps_trusted") & quiet
    discards = F.col("action").isin(*DISCARDING)
    by_producer = discards & ~F.col("is_dated_before_coordinator")
    printed = _rests_on_text()
    doubtful = F.expr("action = 'KEEP' AND NOT is_dated_before_commit AND coalesce(kept_with <> 'HIGH', true)")
    return (
        F.when(F.col("action") == Action.UNDETERMINED.value, F.lit(Confidence.LOW.value))
        .when(
            printed | doubtful | by_producer | ((F.col("action") == Action.ABORT.value) & ~whole),
            F.lit(Confidence.MEDIUM.value),
        )
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
