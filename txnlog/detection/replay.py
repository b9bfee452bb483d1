"""Replay of a partition: which transactions are open at its end (`ProducerStateManager`, `ProducerAppendInfo`).

The key is the producer id alone. A marker closes whatever that producer id has open, at whatever epoch: a replica
that replays the log does the same, with only a warning. So a transaction is open if and only if transactional data
of its producer id lies behind that id's last marker, and it starts with the first such batch.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from txnlog.detection.copies import COPY, PARTITION
from txnlog.detection.markers import IS_MARKER, MARKER_TYPE
from txnlog.detection.times import within_calendar

KEY = (*PARTITION, "producer_id")


def open_transactions(batches: DataFrame, snapshots: DataFrame, copies: DataFrame) -> DataFrame:
    """One row per open transaction of the chosen `copies`.

    Seeded from the newest valid producer snapshot of each copy, which alone remembers transactions that start below
    the log start offset; where both show one, the smaller start offset wins. A batch with a wrong checksum neither
    opens nor closes.
    """
    events = _events(batches, copies).unionByName(_seeds(snapshots, copies))
    last_marker = F.max(F.when(F.col("marker_type").isNotNull(), _marker())).over(Window.partitionBy(*KEY))
    return (
        events.withColumn("last_marker", last_marker)
        .where("marker_type IS NULL AND base_offset > coalesce(last_marker.base_offset, -1)")
        .groupBy(*KEY)
        .agg(*_sums())
        .select("*", "first.*", "last.*")
        .drop("first", "last")
    )


def ended_transactions(batches: DataFrame, snapshots: DataFrame, copies: DataFrame) -> DataFrame:
    """One row per transaction that a marker ended in the chosen `copies` (`CompletedTxn`).

    Columns of `KEY`; `start_offset` of its first batch; `marker` with its offset, type, epochs, time and place.
    A marker with nothing open ends no transaction.
    """
    events = _events(batches, copies).unionByName(_seeds(snapshots, copies))
    before = Window.partitionBy(*KEY).orderBy("base_offset", "is_seed").rowsBetween(Window.unboundedPreceding, -1)
    is_marker = F.col("marker_type").isNotNull()
    return (
        events.withColumn("transaction", F.count_if(is_marker).over(before))
        .groupBy(*KEY, "transaction")
        .agg(
            F.min(F.when(~is_marker, F.col("base_offset"))).alias("start_offset"),
            F.max(F.when(is_marker, _marker())).alias("marker"),
        )
        .where("start_offset IS NOT NULL AND marker IS NOT NULL")
        .drop("transaction")
    )


def _events(batches: DataFrame, copies: DataFrame) -> DataFrame:
    data_or_marker = f"producer_id >= 0 AND is_transactional AND (NOT is_control OR {IS_MARKER})"
    chosen = copies.select(*COPY)
    return (
        batches.where("crc_valid")
        .where(data_or_marker)
        .join(F.broadcast(chosen), [*COPY], "left_semi")
        .withColumn("marker_type", F.expr(MARKER_TYPE))
        .select(*KEY, *_EVENT, F.lit(False).alias("is_seed"))
    )


_EVENT = (
    "base_offset",
    "producer_epoch",
    "coordinator_epoch",
    "marker_type",
    "base_timestamp",
    "max_timestamp",
    "timestamp_type",
    "record_count",
    "size_in_bytes",
    "file",
    "position",
)


def _seeds(snapshots: DataFrame, copies: DataFrame) -> DataFrame:
    """What the newest valid snapshot holds open, as if it were a batch at the start offset."""
    chosen = copies.select(*COPY, "snapshot_offset")
    return (
        snapshots.where("current_txn_first_offset IS NOT NULL")
        .join(F.broadcast(chosen), [*COPY, "snapshot_offset"], "left_semi")
        .select(
            *KEY,
            F.col("current_txn_first_offset").alias("base_offset"),
            "producer_epoch",
            "coordinator_epoch",
            F.lit(None).cast("string").alias("marker_type"),
            F.lit(None).cast("bigint").alias("base_timestamp"),
            F.col("timestamp").alias("max_timestamp"),
            F.lit("CreateTime").alias("timestamp_type"),
            F.lit(0).alias("record_count"),
            F.lit(0).cast("bigint").alias("size_in_bytes"),
            "file",
            "position",
            F.lit(True).alias("is_seed"),
        )
    )


def _marker() -> Column:
    return F.struct(
        "base_offset",
        "marker_type",
        "producer_epoch",
        "coordinator_epoch",
        "max_timestamp",
        "file",
        "position",
    )


def _sums() -> list[Column]:
    in_log = ~F.col("is_seed")
    order = F.struct("base_offset", "is_seed")
    first = F.struct(
        F.col("base_offset").alias("start_offset"),
        F.coalesce(within_calendar("base_timestamp"), within_calendar("max_timestamp")).alias("first_timestamp"),
        F.col("file").alias("opened_file"),
        F.col("position").alias("opened_position"),
    )
    # A snapshot's entry knows the producer's last batch, which lies behind the offset that it stands in for.
    last = F.struct(
        within_calendar("max_timestamp").alias("last_timestamp"),
        F.col("producer_epoch"),
        F.col("base_offset").alias("last_batch_offset"),
        F.expr("timestamp_type = 'LogAppendTime'").alias("is_log_append_time"),
    )
    return [
        F.min_by(first, order).alias("first"),
        F.max_by(last, F.struct(in_log, "base_offset")).alias("last"),
        F.any_value("last_marker").alias("last_marker"),
        F.count_if(in_log).alias("batches"),
        _records(in_log).cast("bigint").alias("records"),
        F.sum("size_in_bytes").alias("bytes"),
        F.min(F.when(in_log, F.col("base_offset"))).alias("first_batch_offset"),
        F.min("producer_epoch").alias("first_producer_epoch"),
        F.min(F.when(F.col("is_seed"), F.col("base_offset"))).alias("snapshot_start_offset"),
        F.max(F.when(F.col("is_seed"), F.col("coordinator_epoch"))).alias("snapshot_coordinator_epoch"),
    ]


def _records(in_log: Column) -> Column:
    """How many records there are; null where a text does not say how many a batch has."""
    is_said = F.count_if(in_log & F.col("record_count").isNull()) == 0
    return F.when(is_said, F.coalesce(F.sum(F.when(in_log, F.col("record_count"))), F.lit(0)))
