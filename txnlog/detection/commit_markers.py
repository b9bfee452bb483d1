"""All COMMIT markers of a producer id whose data would be discarded, each held against its coordinator's records.

Replay needs the last marker of each file only, and leaves out segments below a producer snapshot. An earlier COMMIT
that no record explains shows that records were lost (`txnlog.detection.missing_records`), so before data is discarded
the partitions that its producer id may have written to are read once more, for its markers.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from txnlog.detection.coordinator import ID
from txnlog.detection.copies import COPY, PARTITION
from txnlog.detection.evidence import PRODUCER
from txnlog.detection.markers import IS_MARKER
from txnlog.detection.missing_records import unexplained
from txnlog.detection.replay import KEY
from txnlog.detection.times import within_calendar


def places_to_read(
    transactions: DataFrame, runs: DataFrame, snapshots: DataFrame, states: DataFrame, files: DataFrame
) -> DataFrame:
    """Partitions and producer ids (columns of `KEY`) that may have COMMIT markers which replay has not seen.

    Those in which a segment was left out or the producer id has several COMMITs, if a log, a snapshot or a
    coordinator's record names it there.
    """
    wanted = transactions.where("is_own_data").select(*PRODUCER).dropDuplicates()
    listed = states.withColumn("listed", F.explode("topic_partitions")).select(
        "cluster", "listed.topic", "listed.partition", "producer_id", F.lit(0).alias("commits")
    )
    of_logs = runs.where("fact IN ('producer', 'marker')").select(
        *KEY, F.coalesce("commits", F.lit(0)).alias("commits")
    )
    of_snapshots = snapshots.select(*KEY, F.lit(0).alias("commits"))
    unread = files.where("kind = 'segment' AND bytes_skipped > 0").select(*PARTITION, F.lit(True).alias("is_unread"))
    return (
        of_logs.unionByName(of_snapshots)
        .unionByName(listed)
        .join(F.broadcast(wanted), [*PRODUCER], "left_semi")
        .groupBy(*KEY)
        .agg(F.sum("commits").alias("commits"))
        .join(F.broadcast(unread.dropDuplicates()), [*PARTITION], "left")
        .where("is_unread OR commits > 1")
        .select(*KEY)
    )


def with_counted_commits(
    transactions: DataFrame, batches: DataFrame, states: DataFrame, clock_skew_ms: int
) -> DataFrame:
    """Let `commits_are_explained` and `is_own_data` be false where one of these COMMITs has no record.

    `batches` are rows of `BatchRow`: the transactional batches in `places_to_read`, of all copies. Only what was
    written while the records are held to be whole counts; of markers that were sent twice, the one that closed data.
    """
    whole = (
        transactions.where("is_own_data")
        .groupBy(*PRODUCER)
        .agg(
            F.max("whole_from").alias("whole_from"),
            F.max("whole_from_offset").alias("whole_from_offset"),
            F.min("coordinator_copy_from").alias("copied_from"),
        )
    )
    order = Window.partitionBy(*COPY, "producer_id").orderBy("base_offset")
    commits = (
        batches.where("crc_valid AND is_transactional")
        .where(f"NOT is_control OR {IS_MARKER}")
        .withColumn("closes", F.lag(~F.col("is_control")).over(order))
        .where("marker_type = 'COMMIT'")
        .withColumn("marked_at", within_calendar("max_timestamp"))
        .join(F.broadcast(whole), [*PRODUCER], "inner")
        .where(f"marked_at > whole_from + {clock_skew_ms} AND marked_at < copied_from - {clock_skew_ms}")
        .select(*COPY, "producer_id", "producer_epoch", "coordinator_epoch", "marked_at", "closes")
    )
    unrecorded = unexplained(commits, states, clock_skew_ms).select(*PRODUCER).dropDuplicates()
    too_many = _too_many(commits.where("closes"), states, whole).select(*PRODUCER).dropDuplicates()
    explained = F.expr("is_unrecorded IS NULL AND are_too_many IS NULL")
    return (
        transactions.join(F.broadcast(unrecorded.withColumn("is_unrecorded", F.lit(True))), [*PRODUCER], "left")
        .join(F.broadcast(too_many.withColumn("are_too_many", F.lit(True))), [*PRODUCER], "left")
        .withColumns({name: F.col(name) & explained for name in ("commits_are_explained", "is_own_data")})
        .drop("is_unrecorded", "are_too_many")
    )


def _too_many(commits: DataFrame, states: DataFrame, whole: DataFrame) -> DataFrame:
    """Copies in which a producer id has more COMMITs than its coordinator has commits that list the partition.

    A Complete* record lists nothing: where its Prepare* record is before what is whole, it may be about any partition.
    """
    in_turn = Window.partitionBy(*ID).orderBy("offset")
    recorded = (
        states.withColumn("before", F.lag("state").over(in_turn))
        .join(F.broadcast(whole.select(*PRODUCER, "whole_from_offset")), [*PRODUCER], "inner")
        .where("offset >= coalesce(whole_from_offset, 0)")
    )
    listed = (
        recorded.where("state = 'PrepareCommit'")
        .withColumn("listed", F.explode("topic_partitions"))
        .groupBy(*PRODUCER, "listed.topic", "listed.partition")
        .agg(F.count("*").alias("recorded"))
    )
    adrift = (
        recorded.where("state = 'CompleteCommit' AND NOT coalesce(before = 'PrepareCommit', false)")
        .groupBy(*PRODUCER)
        .agg(F.count("*").alias("adrift"))
    )
    return (
        commits.groupBy(*COPY, "producer_id")
        .agg(F.count("*").alias("commits"))
        .join(F.broadcast(listed), [*KEY], "left")
        .join(F.broadcast(adrift), [*PRODUCER], "left")
        .where("commits > coalesce(recorded, 0) + coalesce(adrift, 0)")
    )
