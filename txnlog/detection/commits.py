"""COMMIT markers as witnesses. Coordinators alone write them; ABORT markers are written by administrators, too.

So a COMMIT marker that no record of the coordinator explains proves that records are missing, and one that closed
data proves that one more transaction of its producer id was committed there.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from txnlog.detection.copies import COPY
from txnlog.detection.markers import IS_MARKER
from txnlog.detection.replay import KEY
from txnlog.detection.times import within_calendar


def needs_markers(clock_skew_ms: int) -> str:
    """The transactions of which only the number of COMMIT markers can tell whether the last commit's came."""
    return (
        "committed IS NOT NULL AND last_marker.producer_epoch = committed.epoch"
        f" AND coalesce(last_marker.max_timestamp, 0) <= committed.timestamp + {clock_skew_ms}"
    )


def with_commit_markers(
    transactions: DataFrame, batches: DataFrame, copies: DataFrame, clock_skew_ms: int
) -> DataFrame:
    """Add `closing_commits`: COMMIT markers of the group of `committed` that closed data here.

    `batches` are rows of `BatchRow`: at least all transactional batches of those that `needs_markers` names. A marker
    that was sent twice has nothing left to close, and does not count for another one.
    """
    wanted = transactions.where(needs_markers(clock_skew_ms)).select(
        *KEY, F.col("committed.epoch").alias("commit_epoch"), "group_from"
    )
    order = Window.partitionBy(*KEY).orderBy("base_offset")
    counted = (
        batches.where("crc_valid AND is_transactional")
        .join(F.broadcast(copies.select(*COPY)), [*COPY], "left_semi")
        .join(F.broadcast(wanted), [*KEY], "inner")
        .where(f"NOT is_control OR {IS_MARKER}")
        .withColumn("closes", F.lag(~F.col("is_control")).over(order))
        .where("closes AND marker_type = 'COMMIT' AND producer_epoch = commit_epoch")
        .where(within_calendar("max_timestamp") >= F.col("group_from") - clock_skew_ms)
        .groupBy(*KEY)
        .agg(F.count("*").alias("closing_commits"))
    )
    return transactions.join(F.broadcast(counted), [*KEY], "left").withColumn(
        "closing_commits", F.coalesce("closing_commits", F.lit(0))
    )


def with_missing_records(
    coverage: DataFrame,
    clusters: DataFrame,
    runs: DataFrame,
    states: DataFrame,
    copies: DataFrame,
    clock_skew_ms: int,
) -> DataFrame:
    """The coverage, in which a range counts as whole only if it explains each COMMIT marker written meanwhile.

    `unexplained_commits` counts the markers that contradict it; `whole_from` is null then. A marker of a producer id
    that no coordinator knows contradicts all of them, if none is missing and each reaches back to before it.
    """
    place = ["cluster", "coordinator_partition"]
    named = states.where("producer_id IS NOT NULL AND problem IS NULL")
    owners = (
        named.select(*place, "producer_id")
        .unionByName(
            named.where("next_producer_id >= 0").select(*place, F.col("next_producer_id").alias("producer_id"))
        )
        .dropDuplicates([*place, "producer_id"])
    )
    # A marker has the epoch of its Prepare* record, whatever the version (`TransactionMetadata.prepareAbortOrCommit`).
    since = named.where("state = 'PrepareCommit'").select(
        "cluster", "producer_id", F.col("producer_epoch").alias("epoch"), F.col("last_update_timestamp").alias("since"),
        (F.col("last_update_timestamp") + clock_skew_ms).alias("until"),
    )  # fmt: skip
    is_same_producer = F.coalesce(F.expr("previous_producer_id = producer_id OR previous_producer_id < 0"), F.lit(True))
    ended = named.where("state = 'CompleteCommit'").select(
        "cluster",
        F.coalesce("previous_producer_id", "producer_id").alias("producer_id"),
        # With a new producer id comes epoch 0: that of the marker is not told.
        F.when(is_same_producer, F.col("producer_epoch")).alias("epoch"),
        F.col("last_update_timestamp").alias("since"),
        (F.greatest("last_update_timestamp", within_calendar("append_timestamp")) + clock_skew_ms).alias("until"),
    )
    # Of a commit that is under way the markers may still be coming.
    newest = Window.partitionBy("cluster", "transactional_id").orderBy("offset")
    pending = (
        named.withColumn("is_last", F.lead("offset").over(newest).isNull())
        .where("is_last AND state = 'PrepareCommit'")
        .select(
            "cluster",
            "producer_id",
            F.col("producer_epoch").alias("epoch"),
            F.col("last_update_timestamp").alias("since"),
            F.lit(2**62).alias("until"),
        )
    )
    explained = since.unionByName(ended).unionByName(pending)
    markers = (
        runs.where("fact = 'marker' AND marker_type = 'COMMIT'")
        .join(F.broadcast(copies.select(*COPY)), [*COPY], "left_semi")
        .select("cluster", "producer_id", "producer_epoch", within_calendar("last_timestamp").alias("marked_at"))
        .where("marked_at IS NOT NULL")
    )
    unexplained = (
        markers.alias("m")
        .join(
            explained.alias("e"),
            F.expr(
                "m.cluster = e.cluster AND m.producer_id = e.producer_id"
                " AND m.producer_epoch = coalesce(e.epoch, m.producer_epoch)"
                f" AND m.marked_at >= e.since - {clock_skew_ms} AND m.marked_at <= e.until"
            ),
            "left_anti",
        )
        .join(owners, ["cluster", "producer_id"], "left")
    )
    of_all = coverage.groupBy("cluster").agg(
        F.when(F.count_if(F.col("whole_from").isNull()) == 0, F.max("whole_from")).alias("whole_from"),
        F.min("coordinator_copy_from").alias("coordinator_copy_from"),
        F.count("*").alias("present"),
    )
    is_there = F.broadcast(clusters.select("cluster", "partition_count"))
    of_all = of_all.join(is_there, ["cluster"], "inner").where("present >= partition_count")
    # What was written after the coordinator was copied has its record in no copy.
    is_within = F.expr(
        f"marked_at > whole_from + {clock_skew_ms} AND marked_at < coordinator_copy_from - {clock_skew_ms}"
    )
    contradictions = (
        unexplained.where("coordinator_partition IS NOT NULL")
        .join(F.broadcast(coverage.select(*place, "whole_from", "coordinator_copy_from")), place, "inner")
        .where(is_within)
        .groupBy(*place).agg(F.count("*").alias("of_known"))
    )  # fmt: skip
    of_unknown = (
        unexplained.where("coordinator_partition IS NULL")
        .join(F.broadcast(of_all), ["cluster"], "inner")
        .where(is_within)
        .groupBy("cluster").agg(F.count("*").alias("of_unknown"))
    )  # fmt: skip
    return (
        coverage.join(contradictions, place, "left")
        .join(of_unknown, ["cluster"], "left")
        .withColumn("unexplained_commits", F.coalesce("of_known", F.lit(0)) + F.coalesce("of_unknown", F.lit(0)))
        .withColumn("whole_from", F.when(F.col("unexplained_commits") == 0, F.col("whole_from")))
        .drop("of_known", "of_unknown")
    )
