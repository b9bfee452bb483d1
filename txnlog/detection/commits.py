"""COMMIT markers as witnesses. Coordinators alone write them; ABORT markers are written by administrators, too.

So a COMMIT marker that no record of the coordinator explains proves that records are missing, and one that closed
data proves that one more transaction of its producer id was committed there.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from txnlog.detection.coordinator import IS_BIRTH, PLACE, written
from txnlog.detection.copies import COPY
from txnlog.detection.markers import IS_MARKER
from txnlog.detection.replay import KEY
from txnlog.detection.times import within_calendar

_PRODUCER = ("cluster", "producer_id")


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
        # What a coordinator that was elected meanwhile sent once more may have closed data of the next transaction.
        .agg(F.when(F.expr("min(coordinator_epoch) <=> max(coordinator_epoch)"), F.count("*")).alias("closing_commits"))
    )
    return transactions.join(F.broadcast(counted), [*KEY], "left").withColumn(
        "closing_commits", F.coalesce("closing_commits", F.lit(0))
    )


def places_of_witnesses(transactions: DataFrame, runs: DataFrame, copies: DataFrame) -> DataFrame:
    """Copies (columns of `COPY`, producer_id) in which a COMMIT may have ended the epoch of open data elsewhere.

    A transaction of version 2 ends at the next epoch (KIP-890). So all places of its producer id count that reach the
    data's epoch, if one of them reaches a later one.
    """
    wanted = transactions.select(*_PRODUCER, F.col("first_producer_epoch").alias("open_epoch")).distinct()
    return (
        runs.where("fact = 'producer' AND producer_epoch IS NOT NULL")
        .join(F.broadcast(copies.select(*COPY)), [*COPY], "left_semi")
        .join(F.broadcast(wanted), [*_PRODUCER], "inner")
        .where("producer_epoch >= open_epoch AND first_producer_epoch <= open_epoch + 1")
        .withColumn("latest", F.max("producer_epoch").over(Window.partitionBy(*_PRODUCER, "open_epoch")))
        .where("latest > open_epoch")
        .select(*COPY, "producer_id")
        .distinct()
    )


def with_witnesses(transactions: DataFrame, batches: DataFrame, copies: DataFrame) -> DataFrame:
    """Add `witness`: a COMMIT elsewhere that closed data of the same producer id and epoch at the next epoch.

    Its topic, partition, base_offset and max_timestamp. `batches` are rows of `BatchRow`: at least all transactional
    batches in `places_of_witnesses`. There is none where a marker ended the epoch itself: clients before version 2 keep
    one epoch for many transactions, and a client may have changed to version 2 in between.
    """
    order = Window.partitionBy(*KEY).orderBy("base_offset")
    closing = (
        batches.where("crc_valid AND is_transactional")
        .join(F.broadcast(copies.select(*COPY)), [*COPY], "left_semi")
        .join(F.broadcast(transactions.select(*_PRODUCER).distinct()), [*_PRODUCER], "left_semi")
        .where(f"NOT is_control OR {IS_MARKER}")
        .withColumn("closed", F.lag(F.struct("is_control", F.col("producer_epoch").alias("epoch"))).over(order))
        .where("is_control AND NOT closed.is_control")
    )
    is_witness = F.expr("marker_type = 'COMMIT' AND producer_epoch = closed.epoch + 1")
    marker = F.struct(within_calendar("max_timestamp").alias("max_timestamp"), "topic", "partition", "base_offset")
    found = (
        closing.groupBy(*_PRODUCER, F.col("closed.epoch").alias("first_producer_epoch"))
        .agg(
            F.min(F.when(is_witness, marker)).alias("witness"),
            F.bool_or(F.expr("producer_epoch = closed.epoch")).alias("is_shared"),
        )
        .where("witness IS NOT NULL AND NOT is_shared")
        .drop("is_shared")
    )
    return transactions.join(F.broadcast(found), [*_PRODUCER, "first_producer_epoch"], "left")


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
        .join(F.broadcast(_owners(named)), ["cluster", "producer_id"], "left")
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
    """COMMIT markers in any copy that no record of a coordinator is about, and when each was written."""
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
    explained = (
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
    # Also of copies that are not believed: a leader that was elected unclean has lost the marker, the commit stays.
    markers = (
        runs.where("fact = 'marker' AND marker_type = 'COMMIT'")
        .select(*KEY, "producer_epoch", "coordinator_epoch", within_calendar("last_timestamp").alias("marked_at"))
        .where("marked_at IS NOT NULL")
    )
    is_explained = F.expr(
        "m.cluster = e.cluster AND m.producer_id = e.producer_id"
        " AND m.producer_epoch = coalesce(e.epoch, m.producer_epoch)"
        " AND m.marked_at >= e.since AND m.marked_at <= coalesce(e.until, m.marked_at)"
        " AND NOT coalesce(m.coordinator_epoch > e.until_coordinator, false)"
        " AND coalesce(exists(e.listed, each -> each.topic = m.topic AND each.partition = m.partition), true)"
    )
    return markers.alias("m").join(explained.alias("e"), is_explained, "left_anti").drop("coordinator_epoch")


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
        .join(F.broadcast(born), ["cluster", "producer_id"], "left_semi")
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
