"""Which copy of each partition is believed, and how whole it is.

Copies of one partition are never unioned: the one with the highest last leader epoch counts, then the one with the
highest log end offset. A lagging follower may lack a marker that the leader has. Raw segments come before texts.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.format.checkpoint import CLEANED_TO, HIGH_WATERMARKS, LOG_STARTS
from txnlog.format.coordinator import TRANSACTION_STATE

# Whose batch a tail starts that is too short to say it.
UNKNOWN_PRODUCER_ID = -2
# Segments below the newest producer snapshot. Those that cannot be read have `damaged_to`.
IS_NOT_NEEDED = "bytes_skipped > 0 AND damaged_to IS NULL"
# Of a chosen copy: something says that the log reaches beyond it.
LACKS_END = (
    "high_watermark > log_end_offset OR snapshot_above_end IS NOT NULL OR longest_log_end_offset > log_end_offset"
    " OR epochs_to > log_end_offset"
)
# Of a chosen copy: nothing of the log is missing below it, whatever the broker still had when it was copied.
STARTS_WITH_LOG = (
    "(first_base_offset = 0 OR epochs_from >= first_base_offset OR log_start_checkpoint >= first_base_offset)"
    " AND NOT lowest_base_offset < first_base_offset"
)
IS_COORDINATOR = f"topic = '{TRANSACTION_STATE}'"
PARTITION = ("cluster", "topic", "partition")
COPY = ("cluster", "broker", "log_dir", "topic", "partition")


def partition_copies(files: DataFrame, checkpoints: DataFrame) -> DataFrame:
    """One row per copy of a partition: where it starts and ends, and below which offset something is missing.

    `damaged_to` and `gap_to` bound damage and gaps from above; `is_hidden_end` says that a file which could not be
    opened may reach beyond the rest; `snapshot_offset` is the newest valid producer snapshot of this log;
    `snapshot_above_end` one that was taken of a longer log than this. `unlisted_from` is where the first segment
    starts that no listing had as long as it is; null where all were listed.
    """
    segments = files.where("kind = 'segment' AND topic IS NOT NULL").transform(_with_neighbours)
    logs = segments.groupBy(*COPY).agg(
        F.min("base_offset").alias("first_base_offset"),
        F.max(F.coalesce(F.col("last_offset") + 1, "base_offset")).alias("log_end_offset"),
        F.max("partition_leader_epoch").alias("last_leader_epoch"),
        F.max("damaged_to").alias("damaged_to"),
        F.max("gap_to").alias("gap_to"),
        F.max("tail_producer_id").alias("tail_producer_id"),
        F.coalesce(F.bool_or("is_hidden_end"), F.lit(False)).alias("is_hidden_end"),
        F.coalesce(F.bool_or("is_text"), F.lit(False)).alias("is_text"),
        F.min(F.expr("if(complete_at IS NULL, coalesce(base_offset, 0), NULL)")).alias("unlisted_from"),
    )
    return (
        logs.join(_offsets_of(checkpoints), [*COPY], "left")
        .join(_topic_ids(files), [*COPY], "left")
        .join(_epochs(files), [*COPY], "left")
        .transform(_with_snapshots, files)
        .withColumn("log_start_offset", F.greatest("first_base_offset", F.coalesce("log_start_checkpoint", F.lit(0))))
    )


def chosen_copies(copies: DataFrame, times: DataFrame) -> DataFrame:
    """One row per partition: the copy that is believed, why, and how far the others reach.

    `copied_since` and `shown_since` (ms) are `copy_from` and `shown_as_of` of the copy that was taken first, and
    `coordinator_since` its `coordinator_from` (`copy_times`). Which copy is the leader's is not known: what the
    believed one has may be what its follower had fetched long before it was copied.
    """
    ranked = Window.partitionBy(*PARTITION).orderBy(
        "is_text",
        F.col("last_leader_epoch").desc_nulls_last(),
        F.col("log_end_offset").desc(),
        F.col("damaged_to").asc_nulls_first(),
        "broker",
        "log_dir",
    )
    everything = Window.partitionBy(*PARTITION)
    taken = times.select("cluster", "broker", "log_dir", "copy_from", "shown_as_of", "coordinator_from")
    return (
        copies.join(F.broadcast(taken), ["cluster", "broker", "log_dir"], "left")
        .withColumns(
            {
                "copied_since": F.min("copy_from").over(everything),
                "shown_since": F.min("shown_as_of").over(everything),
                "coordinator_since": F.min("coordinator_from").over(everything),
            }
        )
        .drop("copy_from", "shown_as_of", "coordinator_from")
        .withColumn("rank", F.row_number().over(ranked))
        .withColumn("copies", F.count("*").over(everything).cast("int"))
        .withColumn("brokers", F.size(F.collect_set("broker").over(everything)))
        .withColumn("longest_log_end_offset", F.max(_possible_end()).over(everything))
        .withColumn("lowest_base_offset", F.min("first_base_offset").over(everything))
        .withColumn("text_epoch", F.max(F.when(F.col("is_text"), F.col("last_leader_epoch"))).over(everything))
        .withColumn("text_is_newer", F.expr("NOT is_text AND coalesce(text_epoch > last_leader_epoch, false)"))
        .withColumn("next_is_text", F.lead("is_text").over(ranked))
        .withColumn("next_epoch", F.lead("last_leader_epoch").over(ranked))
        .withColumn("next_log_end_offset", F.lead("log_end_offset").over(ranked))
        .where("rank = 1")
        .withColumn("chosen_because", _reason())
        .drop("rank", "text_epoch", "next_is_text", "next_epoch", "next_log_end_offset", "is_hidden_end")
    )


def _possible_end() -> Column:
    """Where a copy may end: anywhere if its last file could not be opened."""
    return F.when(F.col("is_hidden_end"), F.lit(NOTHING_FOLLOWS)).otherwise(F.col("log_end_offset"))


def _with_neighbours(segments: DataFrame) -> DataFrame:
    """What one segment says of another: gaps between them, overlaps, and where damage at an end must stop."""
    order = Window.partitionBy(*COPY).orderBy("base_offset", "file")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    after = order.rowsBetween(1, Window.unboundedFollowing)
    # What was not needed was not read: a broker believes that it reaches to the next segment, and so do we.
    next_one = F.lead("base_offset").over(order)
    unread_end = F.when(F.expr(IS_NOT_NEEDED), F.coalesce(next_one, "base_offset"))
    segments = segments.withColumn("end", F.coalesce(F.col("last_offset") + 1, unread_end, "base_offset"))
    end_before = F.max("end").over(before)
    follows = F.min(F.coalesce("first_offset", "base_offset")).over(after)
    return (
        segments.withColumn("end_before", F.coalesce(end_before, "base_offset"))
        # What has no offset in its name may lie anywhere: nothing bounds it.
        .withColumn("follows", F.when(F.col("base_offset").isNotNull(), follows))
        .withColumn("is_hidden_end", F.expr("batches IS NULL AND follows IS NULL"))
        .withColumn("starts", F.coalesce("first_offset", "base_offset"))
        .withColumn("gap_to", F.greatest("gap_to", F.when(F.expr("starts > end_before"), F.col("starts"))))
        .withColumn("damaged_to", F.greatest(_damage(), _overlap(), _cut_short_in_the_middle()))
        .withColumn("tail_producer_id", F.when(F.col("follows").isNull(), F.col("tail_producer_id")))
    )


def _damage() -> Column:
    """Damage within a segment ends where the next one starts. `least` alone would skip a null: no damage."""
    return F.when(F.col("damaged_to").isNotNull(), F.least("damaged_to", "follows"))


def _overlap() -> Column:
    return F.when(F.expr("starts < end_before"), F.greatest("end_before", F.col("last_offset") + 1))


def _cut_short_in_the_middle() -> Column:
    """Only the newest segment may end in a batch that was being written."""
    return F.when(F.expr("tail_producer_id IS NOT NULL AND follows IS NOT NULL"), F.col("follows"))


def _offsets_of(checkpoints: DataFrame) -> DataFrame:
    def offset(name: str) -> Column:
        return F.max(F.when(F.col("checkpoint") == name, F.col("checkpoint_offset")))

    return checkpoints.groupBy(*COPY).agg(
        offset(HIGH_WATERMARKS).alias("high_watermark"),
        offset(LOG_STARTS).alias("log_start_checkpoint"),
        offset(CLEANED_TO).alias("cleaned_to"),
    )


def _topic_ids(files: DataFrame) -> DataFrame:
    named = files.where("kind = 'partition_metadata' AND topic IS NOT NULL")
    return named.groupBy(*COPY).agg(F.max("topic_id").alias("topic_id"))


def _epochs(files: DataFrame) -> DataFrame:
    """Where the first and the last epoch of `leader-epoch-checkpoint` start: a broker keeps them within its log.

    It moves the first one up to the log start (`LeaderEpochFileCache.truncateFromStart`).
    """
    named = files.where("kind = 'leader_epoch_checkpoint' AND topic IS NOT NULL AND problem IS NULL")
    return named.groupBy(*COPY).agg(F.min("first_offset").alias("epochs_from"), F.max("last_offset").alias("epochs_to"))


def _with_snapshots(logs: DataFrame, files: DataFrame) -> DataFrame:
    snapshots = files.where("kind = 'producer_snapshot' AND topic IS NOT NULL").select(
        *COPY, F.col("base_offset").alias("offset"), F.col("problem").isNull().alias("is_valid")
    )
    usable = F.expr("is_valid AND offset <= log_end_offset AND offset >= first_base_offset")
    offsets = (
        logs.select(*COPY, "log_end_offset", "first_base_offset")
        .join(snapshots, [*COPY], "inner")
        .groupBy(*COPY)
        .agg(
            F.max(F.when(usable, F.col("offset"))).alias("snapshot_offset"),
            F.min(F.when(usable, F.col("offset"))).alias("first_snapshot_offset"),
            F.max(F.when(F.expr("offset > log_end_offset"), F.col("offset"))).alias("snapshot_above_end"),
        )
    )
    return logs.join(offsets, [*COPY], "left")


def _reason() -> Column:
    return (
        F.when(F.expr("copies = 1"), F.lit("the only copy"))
        .when(F.expr("next_is_text AND NOT is_text"), F.lit("raw segments, which have more than kafka-dump-log output"))
        .when(F.expr("next_epoch IS NULL OR last_leader_epoch > next_epoch"), F.lit("highest last leader epoch"))
        .when(F.expr("log_end_offset > next_log_end_offset"), F.lit("highest log end offset"))
        .otherwise(F.lit("as long as the others, first by broker name"))
    )
