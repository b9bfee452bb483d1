"""Which proofs hold of each open transaction: a column each."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame

from txnlog.config import Thresholds
from txnlog.detection.aggregates import summed
from txnlog.detection.conditions import conditions, with_parameters
from txnlog.detection.coordinator_evidence import PRODUCER
from txnlog.detection.coordinator_proofs import TRANSACTION_IS_WHOLE, UNSEEN_EPOCHS
from txnlog.detection.partition_copies import IS_CUT, STARTS_WITH_LOG, UNKNOWN_PRODUCER_ID
from txnlog.detection.proofs import PROOFS
from txnlog.detection.replay import KEY, TIME_OF_MARKER
from txnlog.detection.rules import OF_OWN_DATA
from txnlog.format.coordinator import LAST_EPOCH
from txnlog.keys import COPY, PARTITION
from txnlog.times import within_calendar


def with_proofs(transactions: DataFrame, thresholds: Thresholds) -> DataFrame:
    """Add the conditions and the proofs: a column each, of which a proof is null where it is not proved.

    `is_own_data`: whether nothing in it can be of another transaction that was committed, by this dump or another.
    """
    own = " AND ".join(f"coalesce({proof.name}, false)" for proof in OF_OWN_DATA)
    return transactions.transform(with_parameters, thresholds).selectExpr(
        "*",
        *conditions(),
        *(f"cast(({proof.holds}) AS boolean) AS {proof.name}" for proof in PROOFS if proof is not TRANSACTION_IS_WHOLE),
        f"({own}) AND kept_by IS NULL AS is_own_data",
    )


def with_unproved(
    transactions: DataFrame,
    sums: DataFrame,
    snapshots: DataFrame,
    copies: DataFrame,
    files: DataFrame,
    sightings: DataFrame | None,
) -> DataFrame:
    """Add `unproved_partitions`: of the coordinator's transaction those that are not proved to hold its data alone.

    And the proof that there are none.

    All partitions that it lists count, also those in which nothing is open: they must be in the dump and whole, and
    have all that was written before it began. Before that, data of an earlier transaction may have been on its way.
    What another dump showed beyond the end of the copy is not in it. And in no partition may there be anything of
    the producer id of after the coordinator's copy: then that transaction has ended, and another one may be under way.
    """
    current = _under_way(transactions)
    listed = current.selectExpr(*PRODUCER, "known_epoch", "began + clock_skew_ms AS began", "inline(topic_partitions)")
    unproved = (
        listed.join(_wholeness(copies), [*PARTITION], "left")
        .join(transactions.selectExpr(*KEY, "is_own_data"), [*KEY], "left")
        # After the last epoch an id goes on with another producer id, whose data nothing ties to it: `UNSEEN_EPOCHS`.
        .where(
            f"known_epoch > {LAST_EPOCH - UNSEEN_EPOCHS}"
            " OR NOT coalesce(is_own_data, copy_is_whole AND seen_at > began, false)"
        )
        .selectExpr(*KEY)
        .unionByName(_since_coordinator(transactions, current, sums, snapshots, copies, files))
    )
    if sightings is not None:
        unproved = unproved.unionByName(_seen_beyond(sightings.join(current, [*PRODUCER], "left_semi"), copies))
    found = summed(
        unproved,
        ("cluster", "producer_id"),
        "sort_array(collect_set(concat_ws('-', topic, partition))) AS unproved",
    )
    return transactions.join(found, ["cluster", "producer_id"], "left").selectExpr(
        "* EXCEPT (unproved)",
        "if(is_ongoing OR is_prepared, coalesce(unproved, CAST(array() AS array<string>)), NULL)"
        " AS unproved_partitions",
        f"cast(({TRANSACTION_IS_WHOLE.holds}) AS boolean) AS {TRANSACTION_IS_WHOLE.name}",
    )


def _under_way(transactions: DataFrame) -> DataFrame:
    """The coordinators' transactions under way, a row for each producer id.

    Which partitions one lists, when it `began` (ms), whether it `is_committing`, the epoch that its coordinator knows,
    and up to when (`seen_to`, ms) all that the producer id did is surely in the coordinator's copy.
    """
    return (
        transactions.where("is_ongoing OR is_prepared")
        .selectExpr(
            *PRODUCER,
            "current.topic_partitions",
            "current.producer_epoch AS known_epoch",
            "current.state = 'PrepareCommit' AS is_committing",
            "coalesce(current.start_timestamp, current.last_update_timestamp) AS began",
            "least(coordinator_copy_from, coordinator_as_of) - clock_skew_ms AS seen_to",
            "clock_skew_ms",
        )
        .dropDuplicates([*PRODUCER])
    )


def _since_coordinator(
    transactions: DataFrame,
    current: DataFrame,
    sums: DataFrame,
    snapshots: DataFrame,
    copies: DataFrame,
    files: DataFrame,
) -> DataFrame:
    """Where a producer id with a transaction under way has something that its coordinator's copy may be too old for.

    Of every copy, whichever is believed: a leader that died may have what no other broker has. What is open must be
    seen by the coordinator. A last marker must be of an epoch that it knows, and be older than its copy by the clock of
    the partition's broker: of a transaction in Prepare* there are some, and an administrator may have aborted. No
    coordinator has a transaction open that began before its producer id's COMMIT, but one that has lost records; and
    what may be a COMMIT counts as one. Who writes while a log is copied is alive, and whose transaction another dump
    showed longer, too.
    """
    traces = _traces(sums, snapshots, files).join(current, [*PRODUCER], "inner")
    believed = copies.selectExpr(*COPY, "true AS is_believed")
    known_until = f"max(if(is_believed, until, NULL)) OVER (PARTITION BY {', '.join(KEY)})"
    # A marker without a time was written before those that follow it in its log.
    next_marker = (
        f"min(if(is_open, NULL, ended_by)) OVER (PARTITION BY {', '.join(COPY)}, producer_id"
        " ORDER BY until DESC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    )
    later = (
        traces.join(believed, [*COPY], "left")
        .selectExpr("*", f"{known_until} AS known_until")
        .selectExpr("* EXCEPT (ended_by)", f"coalesce(ended_by, {next_marker}) AS ended_by")
        .where(
            # What the believed copy has not, neither open nor ended.
            "if(is_open, NOT coalesce(until <= known_until, false),"
            " NOT coalesce(producer_epoch <= known_epoch AND ended_by < seen_to, false)"
            " OR coalesce(marker_type <> 'ABORT', true) AND NOT is_committing AND ended_by > began + clock_skew_ms)"
        )
    )
    opened = transactions.where("NOT is_seen_by_coordinator OR coalesce(seen_longer, false)").join(
        current, [*PRODUCER], "left_semi"
    )
    written = (
        files.where("kind = 'segment' AND tail_producer_id IS NOT NULL")
        .join(current, ["cluster"], "inner")
        .where(f"tail_producer_id IN (producer_id, {UNKNOWN_PRODUCER_ID})")
    )
    return reduce(DataFrame.unionByName, (each.selectExpr(*KEY) for each in (later, opened, written)))


def _traces(sums: DataFrame, snapshots: DataFrame, files: DataFrame) -> DataFrame:
    """What each file and snapshot of any copy has last of a producer id: a marker, or what `is_open`, `until` where.

    `ended_by` (ms): by when a broker had written the marker. A snapshot may have the time of the data in its place:
    then the brokers' times in the segments after it count. `marker_type` is null in a snapshot,
    which does not say it.
    """
    logs = summed(
        files.where("topic IS NOT NULL"),
        COPY,
        "max(topic_id) AS topic_id",
        "coalesce(bool_or(is_text), false) AS is_text",
        f"collect_list(struct(base_offset, {within_calendar('broker_timestamp')} AS written_at))"
        " FILTER (WHERE kind = 'segment') AS segments",
    )
    of_snapshots = (
        snapshots.where("current_txn_first_offset IS NOT NULL OR coordinator_epoch >= 0")
        .join(logs, [*COPY], "inner")
        .selectExpr(
            *(*COPY, "producer_id", "producer_epoch", "CAST(NULL AS string) AS marker_type"),
            "current_txn_first_offset IS NOT NULL AS is_open",
            "coalesce(current_txn_first_offset, snapshot_offset - 1) AS until",
            f"coalesce({TIME_OF_MARKER}, array_min(transform(filter(segments, each ->"
            " each.base_offset >= snapshot_offset), each -> each.written_at))) AS ended_by",
        )
    )
    return (
        sums.where("fact IN ('open_data', 'marker')")
        .selectExpr(
            *(*COPY, "producer_id", "producer_epoch", "marker_type"),
            "fact = 'open_data' AS is_open",
            "coalesce(last_batch_offset, start_offset) AS until",
            f"{within_calendar('last_timestamp')} AS ended_by",
        )
        .unionByName(of_snapshots)
    )


def _wholeness(copies: DataFrame) -> DataFrame:
    """Of each partition whether its copy is whole (`copy_is_whole`), and up to when it has everything (`seen_at`, ms).

    A high watermark says where the copy's log ended, and a broker's time in it up to when it has everything. So does
    the time of the copy, if as many brokers have one as of any partition: else the leader's may be missing, and a
    follower may have stopped to fetch long before.
    """
    is_whole = (
        f"NOT {IS_CUT} AND coalesce({STARTS_WITH_LOG}, false) AND high_watermark <= log_end_offset"
        " AND damaged_to IS NULL AND coalesce(gap_to <= cleaned_to, gap_to IS NULL)"
    )
    copied_at = "if(brokers >= max(brokers) OVER (PARTITION BY cluster), least(copied_since, shown_since), NULL)"
    return copies.selectExpr(
        *PARTITION,
        f"{is_whole} AS copy_is_whole",
        f"greatest({copied_at}, latest_broker_timestamp) AS seen_at",
    )


def _seen_beyond(sightings: DataFrame, copies: DataFrame) -> DataFrame:
    """Where other dumps, older or newer, showed something of a producer id beyond the end of the copy."""
    ends = copies.selectExpr(*PARTITION, "log_end_offset", "topic_id AS own_topic_id")
    return (
        sightings.selectExpr(*KEY, "start_offset", "topic_id")
        .join(ends, [*PARTITION], "inner")
        .where("start_offset >= log_end_offset AND NOT coalesce(topic_id <> own_topic_id, false)")
        .selectExpr(*KEY)
    )
