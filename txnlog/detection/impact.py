"""What an open transaction holds back: the last stable offset stands at the first one's start."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from txnlog.detection.copies import COPY, PARTITION


def held_back(transactions: DataFrame, runs: DataFrame, copies: DataFrame) -> DataFrame:
    """One row per partition with open transactions: its last stable offset, and what lies behind it.

    `held_back_offsets`, `held_back_records` and `held_back_bytes` count from the last stable offset to the log end;
    records left by compaction are fewer than the offsets.
    """
    stuck = (
        transactions.groupBy(*PARTITION)
        .agg(
            F.min("start_offset").alias("first_start_offset"),
            F.min_by(F.coalesce("last_activity", "first_timestamp"), "start_offset").alias("held_back_since"),
        )
        .join(copies.select(*COPY, "log_start_offset", "log_end_offset"), [*PARTITION], "inner")
        .withColumn("last_stable_offset", F.greatest("first_start_offset", "log_start_offset"))
    )
    of_stuck = runs.where("fact <> 'marker'").join(
        F.broadcast(stuck.select(*COPY, "last_stable_offset")), [*COPY], "inner"
    )
    # A place whose neighbourhood is known: a run's start, an anchor, or the start of a file, with nothing before it.
    place = F.struct(F.coalesce("start_offset", "part").alias("offset"), "part")
    before = F.struct(
        "part",
        F.coalesce("records_before", F.lit(0)).alias("records_before"),
        F.coalesce("bytes_before", F.lit(0)).alias("bytes_before"),
    )
    begins = (
        of_stuck.where("coalesce(start_offset, part) >= last_stable_offset")
        .groupBy(*PARTITION)
        .agg(F.min_by(before, place).alias("begin"))
    )
    behind = (
        of_stuck.where("fact = 'sums'")
        .join(F.broadcast(begins), [*PARTITION], "inner")
        .where("part >= begin.part")
        .groupBy(*PARTITION)
        .agg(
            (F.sum("records") - F.any_value("begin.records_before")).alias("held_back_records"),
            (F.sum("size_in_bytes") - F.any_value("begin.bytes_before")).alias("held_back_bytes"),
        )
    )
    return (
        stuck.join(behind, [*PARTITION], "left")
        .withColumn("held_back_offsets", F.col("log_end_offset") - F.col("last_stable_offset"))
        .withColumn("held_back_records", F.coalesce("held_back_records", F.lit(0)))
        .withColumn("held_back_bytes", F.coalesce("held_back_bytes", F.lit(0)))
        .select(
            *PARTITION,
            "last_stable_offset",
            "held_back_offsets",
            "held_back_records",
            "held_back_bytes",
            "held_back_since",
        )
    )
