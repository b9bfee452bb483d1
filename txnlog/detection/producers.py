"""What a broker keeps of each producer id in a partition (`ProducerStateEntry`), as `describe-producers` shows it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from txnlog.detection.copies import COPY
from txnlog.detection.markers import IS_MARKER
from txnlog.detection.replay import KEY

# Sequence number, epoch or time that an entry does not have.
NOT_KNOWN = -1
_SEQUENCES = 1 << 31


def producer_states(batches: DataFrame, snapshots: DataFrame, copies: DataFrame) -> DataFrame:
    """One row per producer id of the chosen `copies`: the newest snapshot's entries, and what was written since.

    Columns of `KEY`; `producer_epoch`; `coordinator_epoch` of its last marker, -1 none; `last_sequence`, -1 where
    nothing was written in this epoch; `last_timestamp` (ms) of its last batch or marker, as the producer or the
    coordinator said; `current_txn_start_offset`, null where nothing is open. A broker forgets an id that has been idle
    for `producer.id.expiration.ms` (a day); here it stays as long as the log shows it. Of an id whose only trace is a
    marker that the cleaner has emptied, a broker knows nothing but that it was there: epoch and time are -1.
    """
    order = Window.partitionBy(*KEY).orderBy("place")
    return (
        _since_snapshot(batches, copies)
        .unionByName(_entries(snapshots, copies))
        .withColumn("is_new_epoch", F.lag("producer_epoch").over(order) != F.col("producer_epoch"))
        .withColumn("last_marker", F.max(F.when(F.col("is_marker"), F.col("place"))).over(Window.partitionBy(*KEY)))
        .groupBy(*KEY)
        .agg(*_last_of_all())
        .withColumn("last_sequence", _last_sequence())
        .select(
            *KEY,
            F.coalesce("last.producer_epoch", F.lit(NOT_KNOWN)).alias("producer_epoch"),
            F.coalesce("coordinator_epoch", F.lit(NOT_KNOWN)).alias("coordinator_epoch"),
            "last_sequence",
            F.coalesce("last.last_timestamp", F.lit(NOT_KNOWN)).alias("last_timestamp"),
            "current_txn_start_offset",
        )
    )


def _since_snapshot(batches: DataFrame, copies: DataFrame) -> DataFrame:
    chosen = copies.select(*COPY, "snapshot_offset")
    is_emptied = F.expr(f"is_control AND NOT {IS_MARKER}")
    return (
        batches.where("crc_valid AND producer_id >= 0")
        .where(~is_emptied | F.expr("record_count = 0"))
        .join(F.broadcast(chosen), [*COPY], "inner")
        .where("base_offset >= coalesce(snapshot_offset, 0)")
        .select(
            *KEY,
            F.when(~is_emptied, F.col("base_offset")).alias("place"),
            F.col("is_control").alias("is_marker"),
            "producer_epoch",
            "coordinator_epoch",
            F.when(~F.col("is_control"), _sequence_of_last_record()).alias("last_sequence"),
            F.col("max_timestamp").alias("last_timestamp"),
            F.expr("if(is_transactional AND NOT is_control, base_offset, NULL)").alias("start_offset"),
        )
    )


def _entries(snapshots: DataFrame, copies: DataFrame) -> DataFrame:
    """The entries of each copy's snapshot, in a place before all that was written since."""
    chosen = copies.select(*COPY, "snapshot_offset")
    return snapshots.join(F.broadcast(chosen), [*COPY, "snapshot_offset"], "left_semi").select(
        *KEY,
        F.lit(-1).cast("bigint").alias("place"),
        F.lit(False).alias("is_marker"),
        "producer_epoch",
        "coordinator_epoch",
        "last_sequence",
        F.col("timestamp").alias("last_timestamp"),
        F.col("current_txn_first_offset").alias("start_offset"),
    )


def _sequence_of_last_record() -> Column:
    """Sequence numbers start again at 0 after 2^31 - 1 (`DefaultRecordBatch.incrementSequence`)."""
    last = F.col("base_sequence") + (F.col("last_offset") - F.col("base_offset"))
    return F.when(F.col("base_sequence") == NOT_KNOWN, F.lit(NOT_KNOWN)).otherwise((last % _SEQUENCES).cast("int"))


def _last_of_all() -> list[Column]:
    is_open = F.expr("start_offset IS NOT NULL AND place > coalesce(last_marker, -2)")
    written = F.col("last_sequence").isNotNull()
    return [
        F.max_by(F.struct("producer_epoch", "last_timestamp"), "place").alias("last"),
        F.max_by("coordinator_epoch", F.when(F.col("coordinator_epoch").isNotNull(), F.col("place"))).alias(
            "coordinator_epoch"
        ),
        F.max(F.when(written, F.struct("place", "last_sequence"))).alias("written"),
        F.max(F.when(F.col("is_new_epoch"), F.col("place"))).alias("new_epoch_at"),
        F.min(F.when(is_open, F.col("start_offset"))).alias("current_txn_start_offset"),
    ]


def _last_sequence() -> Column:
    """What was written before the epoch last changed no longer counts."""
    is_old = F.coalesce(F.expr("new_epoch_at > written.place"), F.lit(False))
    return F.when(is_old | F.col("written").isNull(), F.lit(NOT_KNOWN)).otherwise(F.col("written.last_sequence"))
