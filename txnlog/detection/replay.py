"""Replay of a partition: which transactions are open at its end (`ProducerStateManager`, `ProducerAppendInfo`).

The key is the producer id alone. A marker closes whatever that producer id has open, at whatever epoch: a replica
that replays the log does the same, with only a warning. So a transaction is open if and only if transactional data
of its producer id lies behind that id's last marker, and it starts with the first such batch.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from txnlog.detection.copies import COPY, PARTITION
from txnlog.detection.times import within_calendar

KEY = (*PARTITION, "producer_id")


def open_transactions(runs: DataFrame, snapshots: DataFrame, copies: DataFrame) -> DataFrame:
    """One row per open transaction of the chosen `copies`, by what their files add up to (`ReplayRow`).

    Seeded from the newest valid producer snapshot of each copy, which alone remembers transactions that start below
    the log start offset; where both show one, the smaller start offset wins.
    """
    events = _run_events(runs, copies).unionByName(_run_seeds(snapshots, runs, copies))
    last_marker = F.max(F.when(F.col("marker_type").isNotNull(), _marker())).over(Window.partitionBy(*KEY))
    return (
        events.withColumn("last_marker", last_marker)
        .where("marker_type IS NULL AND base_offset > coalesce(last_marker.base_offset, -1)")
        .groupBy(*KEY)
        .agg(*_sums())
        .select("*", "first.*", "last.*")
        .drop("first", "last")
    )


def with_last_end(transactions: DataFrame, snapshots: DataFrame, copies: DataFrame) -> DataFrame:
    """Add `last_end`: the producer id's last marker, or of one that went with the log's start what snapshots know.

    A snapshot's entry with nothing open and the epoch of a coordinator is of a marker below its offset: its epochs and
    time. Which kind of marker it was it does not say.
    """
    unmarked = transactions.where("last_marker IS NULL").select(*KEY, "start_offset")
    ends = (
        snapshots.where("current_txn_first_offset IS NULL AND coordinator_epoch >= 0")
        .join(F.broadcast(copies.select(*COPY)), [*COPY], "left_semi")
        .join(F.broadcast(unmarked), [*KEY], "inner")
        .where("snapshot_offset <= start_offset")
        .withColumns(
            {
                "base_offset": F.col("snapshot_offset") - 1,
                "marker_type": F.lit(None).cast("string"),
                "max_timestamp": within_calendar("timestamp"),
            }
        )
        .groupBy(*KEY)
        .agg(F.max(_marker()).alias("ended"))
    )
    return (
        transactions.join(F.broadcast(ends), [*KEY], "left")
        .withColumn("last_end", F.coalesce("last_marker", "ended"))
        .drop("ended")
    )


_EVENT = ("base_offset", "producer_epoch", "coordinator_epoch", "marker_type", "max_timestamp", "file", "position")


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
            F.col("timestamp").alias("max_timestamp"),
            "file",
            "position",
            F.lit(True).alias("is_seed"),
        )
    )


_OF_RUN = (
    "first_timestamp",
    "first_leader_epoch",
    "first_crc",
    "last_batch_offset",
    "is_log_append_time",
    "batches",
    "records",
    "size_in_bytes",
    "lowest_producer_epoch",
    "part",
    "stamp_before_start",
    "stamp_before",
    "stamp_after",
)


def _run_events(runs: DataFrame, copies: DataFrame) -> DataFrame:
    of_run = runs.withColumnsRenamed({"start_offset": "base_offset", "last_timestamp": "max_timestamp"})
    return (
        of_run.where("fact IN ('run', 'marker')")
        .join(F.broadcast(copies.select(*COPY)), [*COPY], "left_semi")
        .select(*KEY, *_EVENT, *_OF_RUN, F.lit(False).alias("is_seed"))
    )


def _run_seeds(snapshots: DataFrame, runs: DataFrame, copies: DataFrame) -> DataFrame:
    """The seeds, with the brokers' times around the places at which they start."""
    around = F.struct("part", "stamp_before_start", "stamp_after")
    # The first file that reaches an anchor holds it; later ones begin behind it.
    anchors = (
        runs.where("fact = 'anchor'")
        .join(F.broadcast(copies.select(*COPY)), [*COPY], "left_semi")
        .groupBy(*PARTITION, F.col("start_offset").alias("base_offset"))
        .agg(F.min_by(around, "part").alias("around"))
    )
    return (
        _seeds(snapshots, copies)
        .join(F.broadcast(anchors), [*PARTITION, "base_offset"], "left")
        .select(
            "*",
            F.lit(None).cast("bigint").alias("first_timestamp"),
            F.lit(None).cast("int").alias("first_leader_epoch"),
            F.lit(None).cast("bigint").alias("first_crc"),
            F.col("base_offset").alias("last_batch_offset"),
            F.lit(False).alias("is_log_append_time"),
            F.lit(0).cast("bigint").alias("batches"),
            F.lit(0).cast("bigint").alias("records"),
            F.lit(0).cast("bigint").alias("size_in_bytes"),
            F.lit(None).cast("smallint").alias("lowest_producer_epoch"),
            "around.*",
            F.col("around.stamp_before_start").alias("stamp_before"),
        )
        .drop("around")
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
        F.coalesce(within_calendar("first_timestamp"), within_calendar("max_timestamp")).alias("first_timestamp"),
        F.col("file").alias("opened_file"),
        F.col("position").alias("opened_position"),
        F.col("first_leader_epoch").alias("first_batch_leader_epoch"),
        F.col("first_crc").alias("first_batch_crc"),
        F.col("part").alias("first_part"),
        F.col("stamp_before_start").alias("stamp_before_start"),
    )
    # A snapshot's entry knows the producer's last batch, which lies behind the offset that it stands in for.
    last = F.struct(
        within_calendar("max_timestamp").alias("last_timestamp"),
        F.col("producer_epoch"),
        F.col("last_batch_offset"),
        F.col("is_log_append_time"),
        F.col("part").alias("last_part"),
        F.col("stamp_before"),
        F.col("stamp_after"),
    )
    return [
        F.min_by(first, order).alias("first"),
        F.max_by(last, F.struct(in_log, "base_offset")).alias("last"),
        F.any_value("last_marker").alias("last_marker"),
        F.sum("batches").alias("batches"),
        _records(in_log).cast("bigint").alias("records"),
        F.sum("size_in_bytes").alias("bytes"),
        F.min(F.when(in_log, F.col("base_offset"))).alias("first_batch_offset"),
        # A snapshot has the epoch of the last batch: where that of the first is not in the log, nobody knows it.
        F.when(
            F.min("base_offset") == F.min(F.when(in_log, F.col("base_offset"))), F.min("lowest_producer_epoch")
        ).alias("first_producer_epoch"),
        F.min(F.when(F.col("is_seed"), F.col("base_offset"))).alias("snapshot_start_offset"),
        F.max(F.when(F.col("is_seed"), F.col("coordinator_epoch"))).alias("snapshot_coordinator_epoch"),
    ]


def _records(in_log: Column) -> Column:
    """How many records there are; null where a text does not say how many a batch has."""
    is_said = F.count_if(in_log & F.col("records").isNull()) == 0
    return F.when(is_said, F.coalesce(F.sum(F.when(in_log, F.col("records"))), F.lit(0)))
