"""COMMIT markers as witnesses. Coordinators alone write them; ABORT markers are written by administrators, too.

So one that closed data proves that one more transaction of its producer id was committed there. What follows from those
that no record explains: `txnlog.detection.missing_records`.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from txnlog.detection.copies import COPY
from txnlog.detection.evidence import PRODUCER
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
    wanted = transactions.select(*PRODUCER, F.col("first_producer_epoch").alias("open_epoch")).distinct()
    return (
        runs.where("fact = 'producer' AND producer_epoch IS NOT NULL")
        .join(F.broadcast(copies.select(*COPY)), [*COPY], "left_semi")
        .join(F.broadcast(wanted), [*PRODUCER], "inner")
        .where("producer_epoch >= open_epoch AND first_producer_epoch <= open_epoch + 1")
        .withColumn("latest", F.max("producer_epoch").over(Window.partitionBy(*PRODUCER, "open_epoch")))
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
        .join(F.broadcast(transactions.select(*PRODUCER).distinct()), [*PRODUCER], "left_semi")
        .where(f"NOT is_control OR {IS_MARKER}")
        .withColumn("closed", F.lag(F.struct("is_control", F.col("producer_epoch").alias("epoch"))).over(order))
        .where("is_control AND NOT closed.is_control")
    )
    is_witness = F.expr("marker_type = 'COMMIT' AND producer_epoch = closed.epoch + 1")
    marker = F.struct(within_calendar("max_timestamp").alias("max_timestamp"), "topic", "partition", "base_offset")
    found = (
        closing.groupBy(*PRODUCER, F.col("closed.epoch").alias("first_producer_epoch"))
        .agg(
            F.min(F.when(is_witness, marker)).alias("witness"),
            F.bool_or(F.expr("producer_epoch = closed.epoch")).alias("is_shared"),
        )
        .where("witness IS NOT NULL AND NOT is_shared")
        .drop("is_shared")
    )
    return transactions.join(F.broadcast(found), [*PRODUCER, "first_producer_epoch"], "left")
