"""What a broker keeps of each producer id in a partition (`ProducerStateEntry`), as `describe-producers` shows it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from txnlog.detection.copies import COPY
from txnlog.detection.replay import KEY, open_transactions

# Sequence number, epoch or time that an entry does not have.
NOT_KNOWN = -1


def producer_states(runs: DataFrame, snapshots: DataFrame, copies: DataFrame) -> DataFrame:
    """One row per producer id of the chosen `copies`: the newest snapshot's entries, and what was written since.

    Columns of `KEY`; `producer_epoch`; `coordinator_epoch` of its last marker, -1 none; `last_sequence`, -1 where
    nothing was written in this epoch; `last_timestamp` (ms) of its last batch or marker, as the producer or the
    coordinator said; `current_txn_start_offset`, null where nothing is open. A broker forgets an id that has been idle
    for `producer.id.expiration.ms` (a day); here it stays as long as the log shows it. Of an id whose only trace is a
    marker that the cleaner has emptied, a broker knows nothing but that it was there: epoch and time are -1.
    """
    order = Window.partitionBy(*KEY).orderBy("part")
    started = open_transactions(runs, snapshots, copies).select(
        *KEY, F.col("start_offset").alias("current_txn_start_offset")
    )
    return (
        _of_files(runs, copies)
        .unionByName(_entries(snapshots, copies))
        .withColumn("is_new_epoch", F.lag("producer_epoch").over(order) != F.col("first_producer_epoch"))
        .withColumn("is_changed", F.expr("is_old_sequence OR (is_new_epoch AND last_sequence IS NULL)"))
        .groupBy(*KEY)
        .agg(*_last_of_all())
        .withColumn("last_sequence", _last_sequence())
        .join(started, [*KEY], "left")
        .select(
            *KEY,
            F.coalesce("last.producer_epoch", F.lit(NOT_KNOWN)).alias("producer_epoch"),
            F.coalesce("coordinator_epoch", F.lit(NOT_KNOWN)).alias("coordinator_epoch"),
            "last_sequence",
            F.coalesce("last.last_timestamp", F.lit(NOT_KNOWN)).alias("last_timestamp"),
            "current_txn_start_offset",
        )
    )


_STATE = ("first_producer_epoch", "producer_epoch", "coordinator_epoch", "last_sequence", "last_timestamp")


def _of_files(runs: DataFrame, copies: DataFrame) -> DataFrame:
    return (
        runs.where("fact = 'producer'")
        .join(F.broadcast(copies.select(*COPY)), [*COPY], "left_semi")
        .select(*KEY, F.expr("if(producer_epoch IS NULL, NULL, part)").alias("part"), *_STATE, "is_old_sequence")
    )


def _entries(snapshots: DataFrame, copies: DataFrame) -> DataFrame:
    """The entries of each copy's snapshot, in a place before all that was read: what lies there they sum up, too."""
    chosen = copies.select(*COPY, "snapshot_offset")
    return snapshots.join(F.broadcast(chosen), [*COPY, "snapshot_offset"], "left_semi").select(
        *KEY,
        F.lit(-1).cast("bigint").alias("part"),
        F.col("producer_epoch").alias("first_producer_epoch"),
        "producer_epoch",
        "coordinator_epoch",
        "last_sequence",
        F.col("timestamp").alias("last_timestamp"),
        F.lit(False).alias("is_old_sequence"),
    )


def _last_of_all() -> list[Column]:
    has_data = F.col("last_sequence").isNotNull()
    return [
        F.max_by(F.struct("producer_epoch", "last_timestamp"), "part").alias("last"),
        F.max_by("coordinator_epoch", F.when(F.col("coordinator_epoch").isNotNull(), F.col("part"))).alias(
            "coordinator_epoch"
        ),
        F.max(F.when(has_data, F.struct("part", "last_sequence"))).alias("written"),
        F.max(F.when(F.col("is_changed"), F.col("part"))).alias("changed_at"),
    ]


def _last_sequence() -> Column:
    """What was written before the epoch last changed no longer counts."""
    is_old = F.coalesce(F.expr("changed_at >= written.part"), F.lit(False))
    return F.when(is_old | F.col("written").isNull(), F.lit(NOT_KNOWN)).otherwise(F.col("written.last_sequence"))
