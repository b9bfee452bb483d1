"""When data was really appended. Its own timestamps are the producer's clock; a broker's clock bounds them.

A batch was appended after what a broker stamped before it in the same log (markers, LogAppendTime, the topics that
coordinators write), before what a broker stamped after it, and not before the coordinator handed out its producer id.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from txnlog.detection.copies import COPY, PARTITION
from txnlog.detection.markers import IS_MARKER
from txnlog.detection.replay import KEY
from txnlog.detection.times import within_calendar

WRITTEN_BY_BROKERS = ("__transaction_state", "__consumer_offsets")


def broker_times(batches: DataFrame, copies: DataFrame) -> DataFrame:
    """The batches of the chosen copies whose time is a broker's."""
    by_broker = F.expr(f"{IS_MARKER} OR timestamp_type = 'LogAppendTime'")
    chosen = copies.select(*COPY)
    return (
        batches.where("crc_valid")
        .where(within_calendar("max_timestamp").isNotNull())
        .where(by_broker | F.col("topic").isin(*WRITTEN_BY_BROKERS))
        .join(F.broadcast(chosen), [*COPY], "left_semi")
        .select(
            *PARTITION,
            F.col("base_offset").alias("stamp_offset"),
            F.col("max_timestamp").alias("stamp"),
            F.col("producer_id").alias("stamp_producer_id"),
            F.col("producer_epoch").alias("stamp_epoch"),
            F.expr(IS_MARKER).alias("stamp_is_marker"),
        )
    )


def with_bounds(transactions: DataFrame, stamps: DataFrame, clock_skew_ms: int) -> DataFrame:
    """Add the broker's times around each open transaction, and how many markers its last row of neighbours got."""
    earlier, later = F.expr("stamp_offset < last_batch_offset"), F.expr("stamp_offset > last_batch_offset")
    is_neighbour = (
        F.expr("stamp_is_marker AND stamp_producer_id = producer_id")
        & (F.col("stamp_epoch") == F.col("listing.prepared.epoch"))
        & (F.col("stamp") >= F.col("neighbours_from") - clock_skew_ms)
    )
    bounds = (
        transactions.select(*KEY, "start_offset", "last_batch_offset", "listing", "neighbours_from")
        .join(stamps, [*PARTITION], "inner")
        .groupBy(*KEY)
        .agg(
            F.max(F.when(F.expr("stamp_offset < start_offset"), F.col("stamp"))).alias("stamp_before_start"),
            F.max(F.when(earlier, F.col("stamp"))).alias("stamp_before"),
            F.min(F.when(later, F.col("stamp"))).alias("stamp_after"),
            F.count_if(is_neighbour).alias("neighbour_markers"),
        )
    )
    return transactions.join(bounds, [*KEY], "left").withColumn(
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
