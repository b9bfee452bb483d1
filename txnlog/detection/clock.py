"""When data was really appended. Its own timestamps are the producer's clock; a broker's clock bounds them.

A batch was appended after what a broker stamped before it in the same log (markers, LogAppendTime, the topics that
coordinators write), before what a broker stamped after it, and not before the coordinator handed out its producer id.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from txnlog.detection.copies import COPY, PARTITION
from txnlog.detection.markers import IS_MARKER
from txnlog.detection.replay import KEY
from txnlog.detection.times import within_calendar

# Only a marker of the epoch that the coordinator prepared can be one of several of the same epoch.
NEEDS_NEIGHBOURS = "listing.prepared IS NOT NULL AND last_marker.producer_epoch = listing.prepared.epoch"


def with_bounds(transactions: DataFrame, runs: DataFrame, copies: DataFrame) -> DataFrame:
    """Add the brokers' times around each open transaction: what its own file knows, and the files before and behind.

    `stamp_before_start`, `stamp_before` (its last batch) and `stamp_after` (that), ms; null where there are none.
    """
    is_before = F.expr("if(first_part IS NULL, next_part <= start_offset, part < first_part)")
    is_behind = F.expr("part > coalesce(last_part, start_offset)")
    is_before_last = F.expr("if(last_part IS NULL, next_part <= last_batch_offset, part < last_part)")
    bounds = (
        transactions.select(*KEY, "start_offset", "last_batch_offset", "first_part", "last_part")
        .join(_files(runs, copies), [*PARTITION], "inner")
        .groupBy(*KEY)
        .agg(
            F.max(F.when(is_before, F.col("latest"))).alias("before_files_start"),
            F.max(F.when(is_before_last, F.col("latest"))).alias("before_files"),
            F.min(F.when(is_behind, F.col("earliest"))).alias("behind_files"),
        )
    )
    return (
        transactions.join(F.broadcast(bounds), [*KEY], "left")
        .withColumn("stamp_before_start", F.greatest("stamp_before_start", "before_files_start"))
        .withColumn("stamp_before", F.greatest("stamp_before", "before_files"))
        .withColumn("stamp_after", F.least("stamp_after", "behind_files"))
        .drop("first_part", "last_part", "before_files_start", "before_files", "behind_files")
    )


def _files(runs: DataFrame, copies: DataFrame) -> DataFrame:
    """The files of the chosen copies: where each begins, where the next one does, and the brokers' times in it."""
    order = Window.partitionBy(*PARTITION).orderBy("part")
    return (
        runs.where("fact = 'sums'")
        .join(F.broadcast(copies.select(*COPY)), [*COPY], "left_semi")
        .select(
            *PARTITION,
            "part",
            F.lead("part").over(order).alias("next_part"),
            F.col("stamp_before_start").alias("latest"),
            F.col("stamp_after").alias("earliest"),
        )
    )


def with_neighbours(transactions: DataFrame, markers: DataFrame, copies: DataFrame, clock_skew_ms: int) -> DataFrame:
    """Add `neighbour_markers`: how many markers the last row of neighbours of each transaction got here.

    `markers` are rows of `BatchRow`: at least the markers of those that `NEEDS_NEIGHBOURS` names.
    """
    pairs = transactions.where(NEEDS_NEIGHBOURS).select(
        *KEY, F.col("listing.prepared.epoch").alias("producer_epoch"), "neighbours_from"
    )
    counted = (
        markers.where(f"crc_valid AND {IS_MARKER}")
        .where(within_calendar("max_timestamp").isNotNull())
        .join(F.broadcast(copies.select(*COPY)), [*COPY], "left_semi")
        .join(F.broadcast(pairs), [*KEY, "producer_epoch"], "inner")
        .where(F.col("max_timestamp") >= F.col("neighbours_from") - clock_skew_ms)
        .groupBy(*KEY)
        .agg(F.count("*").alias("neighbour_markers"))
    )
    return transactions.join(F.broadcast(counted), [*KEY], "left").withColumn(
        "neighbour_markers", F.coalesce("neighbour_markers", F.lit(0))
    )


def with_sightings(transactions: DataFrame, sightings: DataFrame | None) -> DataFrame:
    """Add `seen_at` (ms): when an earlier dump first showed the same transaction with the same batches."""
    if sightings is None:
        return transactions.withColumn("seen_at", F.lit(None).cast("bigint"))
    same = [*KEY, "start_offset", "batches", "bytes"]
    earlier = sightings.join(F.broadcast(transactions.select(*same, "as_of")), same, "inner").where("seen_at < as_of")
    return transactions.join(earlier.groupBy(*same).agg(F.min("seen_at").alias("seen_at")), same, "left")


def with_activity(transactions: DataFrame, clock_skew_ms: int) -> DataFrame:
    """Add when the transaction was last written to, as far as it can be known (ms).

    `timestamps_trusted`: the producer's times agree with the broker's around them. `last_activity`: the time that the
    age counts from; where the producer's cannot be trusted, the latest time that a broker's clock puts before it.
    `appended_by`: a time before which the last batch was certainly written, at the latest when an earlier dump showed
    it (`seen_at`). `started_after`: one after which the first batch was.
    """
    agrees = (
        F.expr("last_timestamp >= 0")
        & (F.col("last_timestamp") <= F.col("as_of") + clock_skew_ms)
        & F.coalesce(F.col("last_timestamp") >= F.col("known_before") - clock_skew_ms, F.lit(True))
        & F.coalesce(F.col("last_timestamp") <= F.col("stamp_after") + clock_skew_ms, F.lit(True))
    )
    start_agrees = F.expr("first_timestamp >= 0 AND first_timestamp <= last_timestamp")
    trusted = F.col("timestamps_trusted")
    return (
        transactions.withColumn("known_before", F.greatest("stamp_before", "known_since"))
        .withColumn("timestamps_trusted", F.coalesce(F.col("is_log_append_time") | agrees, F.lit(False)))
        .withColumn("last_activity", _either(trusted, F.col("last_timestamp"), F.col("known_before")))
        .withColumn("appended_by", _either(trusted, F.col("last_timestamp"), F.least("stamp_after", "seen_at")))
        .withColumn(
            "started_after",
            _either(
                trusted & start_agrees,
                F.col("first_timestamp") - clock_skew_ms,
                F.greatest("stamp_before_start", "known_since") - clock_skew_ms,
            ),
        )
    )


def _either(condition: Column, if_true: Column, otherwise: Column) -> Column:
    return F.when(condition, if_true).otherwise(otherwise)
