"""Records that a coordinator's log lacks although it looks whole: it does not explain each COMMIT marker."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from txnlog.detection.coordinator import IS_BIRTH, PLACE, written
from txnlog.detection.copies import COPY
from txnlog.detection.evidence import PRODUCER
from txnlog.detection.replay import KEY
from txnlog.detection.times import within_calendar


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
    named = states.where("producer_id IS NOT NULL AND problem IS NULL")
    contradictions = (
        _unexplained(runs, named, clock_skew_ms)
        .unionByName(_too_many(runs, named, copies, coverage))
        .join(F.broadcast(_owners(named)), [*PRODUCER], "left")
        .withColumnRenamed("coordinator_partition", "owner")
        .join(F.broadcast(_believed(coverage, clusters)), ["cluster"], "inner")
        # What was written after the coordinator was copied has its record in no copy.
        .where(
            "if(owner IS NULL, are_all_there, owner = coordinator_partition)"
            f" AND marked_at > if(owner IS NULL, all_whole_from, whole_from) + {clock_skew_ms}"
            f" AND marked_at < if(owner IS NULL, all_copied_from, coordinator_copy_from) - {clock_skew_ms}"
        )
        .groupBy(*PLACE)
        .agg(F.count("*").alias("unexplained_commits"))
    )
    return (
        coverage.join(F.broadcast(contradictions), [*PLACE], "left")
        .withColumn("unexplained_commits", F.coalesce("unexplained_commits", F.lit(0)))
        .withColumn("whole_from", F.when(F.col("unexplained_commits") == 0, F.col("whole_from")))
    )


def _unexplained(runs: DataFrame, named: DataFrame, clock_skew_ms: int) -> DataFrame:
    """The last COMMIT markers in any copy that no record of a coordinator is about, and when each was written."""
    # Also of copies that are not believed: a leader that was elected unclean has lost the marker, the commit stays.
    markers = runs.where("fact = 'marker' AND marker_type = 'COMMIT'").select(
        *KEY, "producer_epoch", "coordinator_epoch", within_calendar("last_timestamp").alias("marked_at")
    )
    return unexplained(markers, named, clock_skew_ms).drop("coordinator_epoch")


def unexplained(markers: DataFrame, named: DataFrame, clock_skew_ms: int) -> DataFrame:
    """Those of some COMMIT markers that no readable record (`named`) is about: `marked_at` (ms) says when."""
    is_explained = F.expr(
        "m.cluster = e.cluster AND m.producer_id = e.producer_id"
        " AND m.producer_epoch = coalesce(e.epoch, m.producer_epoch)"
        " AND m.marked_at >= e.since AND m.marked_at <= coalesce(e.until, m.marked_at)"
        " AND NOT coalesce(m.coordinator_epoch > e.until_coordinator, false)"
        " AND coalesce(exists(e.listed, each -> each.topic = m.topic AND each.partition = m.partition), true)"
    )
    return (
        markers.where("marked_at IS NOT NULL")
        .alias("m")
        .join(_explanations(named, clock_skew_ms).alias("e"), is_explained, "left_anti")
    )


def _explanations(named: DataFrame, clock_skew_ms: int) -> DataFrame:
    """Which COMMIT markers each commit explains: of whom (producer_id, epoch), where (listed), when and by whom sent.

    `since` and `until` in ms; null where nothing bounds it: `until` and `until_coordinator` of a commit that is under
    way, `epoch` where the record does not tell it, `listed` where the record that does is compacted away.
    """
    is_complete = F.col("state") == "CompleteCommit"
    # Whatever the version, a marker has the epoch of its Prepare* record (`TransactionMetadata.prepareAbortOrCommit`).
    # With a new producer id its Complete* record has epoch 0: that of the marker is not told.
    has_new_producer = F.coalesce(
        F.expr("previous_producer_id >= 0 AND previous_producer_id <> producer_id"), F.lit(False)
    )
    # Of a commit that is under way the markers may still be coming.
    in_turn = Window.partitionBy("cluster", "transactional_id").orderBy("offset")
    is_pending = F.lead("offset").over(in_turn).isNull() & ~is_complete
    # A Complete* record lists nothing: that is what the Prepare* record before it is for, unless it is compacted away.
    prepared = F.lag(F.when(F.col("state") == "PrepareCommit", F.col("topic_partitions"))).over(in_turn)
    # When all markers are written a coordinator says so: a later one writes none of that commit.
    completed_by = F.when(is_complete, F.col("coordinator_epoch")).otherwise(F.lead("coordinator_epoch").over(in_turn))
    return (
        named.withColumn("is_pending", is_pending)
        .withColumn("until_coordinator", completed_by)
        .withColumn("listed", F.when(is_complete, prepared).otherwise(F.col("topic_partitions")))
        .where("state IN ('PrepareCommit', 'CompleteCommit')")
        .select(
            "cluster",
            "listed",
            F.when(is_complete & has_new_producer, F.col("previous_producer_id"))
            .otherwise(F.col("producer_id"))
            .alias("producer_id"),
            F.when(~(is_complete & has_new_producer), F.col("producer_epoch")).alias("epoch"),
            (F.col("last_update_timestamp") - clock_skew_ms).alias("since"),
            F.when(~F.col("is_pending"), written() + clock_skew_ms).alias("until"),
            "until_coordinator",
        )
    )


def _too_many(runs: DataFrame, named: DataFrame, copies: DataFrame, coverage: DataFrame) -> DataFrame:
    """The last markers of producer ids with more COMMITs in a partition than commits that listed it, by whole records.

    Where clocks may differ by the skew, times alone do not tell the markers of two commits from one another.
    """
    is_commit = "state = 'PrepareCommit' AND producer_id >= 0"
    recorded = (
        named.where(is_commit)
        .withColumn("listed", F.explode("topic_partitions"))
        .groupBy(
            "cluster", "producer_id", F.col("listed.topic").alias("topic"), F.col("listed.partition").alias("partition")
        )
        .agg(F.count("*").alias("recorded"))
    )
    born = (
        named.where(IS_BIRTH)
        .join(F.broadcast(coverage.select(*PLACE, "whole_from_offset")), [*PLACE], "inner")
        .where("offset >= whole_from_offset")
        .select("cluster", "producer_id")
        .distinct()
    )
    return (
        runs.where("fact = 'marker'")
        .join(F.broadcast(copies.select(*COPY)), [*COPY], "left_semi")
        .groupBy(*KEY)
        .agg(
            F.sum("commits").alias("commits"),
            F.max(within_calendar("last_timestamp")).alias("marked_at"),
            F.max("producer_epoch").alias("producer_epoch"),
        )
        .join(F.broadcast(born), [*PRODUCER], "left_semi")
        .join(F.broadcast(recorded), [*KEY], "left")
        .where("commits > coalesce(recorded, 0) AND marked_at IS NOT NULL")
        .select(*KEY, "producer_epoch", "marked_at")
    )


def _owners(named: DataFrame) -> DataFrame:
    """Each producer id that a record names or announces, and in which coordinator partition."""
    return (
        named.withColumn("named", F.explode(F.array("producer_id", "next_producer_id")))
        .where("named >= 0")
        .select(*PLACE, F.col("named").alias("producer_id"))
        .distinct()
    )


def _believed(coverage: DataFrame, clusters: DataFrame) -> DataFrame:
    """Within which times each coordinator's records are held to be whole, and all of them together."""
    everywhere = Window.partitionBy("cluster")
    are_whole = F.count_if(F.col("whole_from").isNull()).over(everywhere) == 0
    return (
        coverage.join(F.broadcast(clusters.select("cluster", "partition_count")), ["cluster"], "inner")
        .withColumns(
            {
                "are_all_there": are_whole & (F.count("*").over(everywhere) >= F.col("partition_count")),
                "all_whole_from": F.max("whole_from").over(everywhere),
                "all_copied_from": F.min("coordinator_copy_from").over(everywhere),
            }
        )
        .select(*PLACE, "whole_from", "coordinator_copy_from", "are_all_there", "all_whole_from", "all_copied_from")
    )
