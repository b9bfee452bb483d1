"""When data was appended, by brokers' clocks: a producer may write any time into its batches.

Bounds come from what a broker dated before and after a batch in the same log (markers, LogAppendTime, the topics that
coordinators write), from when the coordinator handed out the producer id, from the times of files that do not change
any more, and from earlier dumps. Where bounds contradict each other a clock was set, and none of them is believed.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from txnlog.detection.copies import COPY, PARTITION
from txnlog.detection.replay import KEY
from txnlog.detection.rules import BY_EARLIER
from txnlog.detection.times import LOG_DIR

# What is compared of an earlier dump's transaction; `seen_` stands before each.
FIRST_BATCH = ("first_batch_leader_epoch", "first_batch_crc")
SEEN = ("batches", "bytes", "topic_id", "action", *FIRST_BATCH)


def with_bounds(
    transactions: DataFrame, runs: DataFrame, files: DataFrame, copies: DataFrame, clock_skew_ms: int
) -> DataFrame:
    """Add the brokers' times around each open transaction: from its own file, and from those before and after it.

    `stamp_before_start`, `stamp_before` (its last batch) and `stamp_after` (that), ms; null where there are none.
    `complete_at` (ms): when its last batch was on the broker's disk at the latest, by a file that has not changed
    since, or by a listing made before the copy; null where neither says so.
    """
    is_before = F.expr("if(first_part IS NULL, next_part <= start_offset, part < first_part)")
    is_after = F.expr("part > coalesce(last_part, start_offset)")
    is_before_last = F.expr("if(last_part IS NULL, next_part <= last_batch_offset, part < last_part)")
    holds_it = F.expr("if(is_snapshot, part > last_batch_offset, part >= last_part)")
    bounds = (
        transactions.select(*KEY, "start_offset", "last_batch_offset", "first_part", "last_part")
        .join(_files(runs, files, copies, clock_skew_ms), [*PARTITION], "inner")
        .groupBy(*KEY)
        .agg(
            F.max(F.when(is_before, F.col("latest"))).alias("before_files_start"),
            F.max(F.when(is_before_last, F.col("latest"))).alias("before_files"),
            F.min(F.when(is_after, F.col("earliest"))).alias("after_files"),
            F.min(F.when(holds_it, F.col("complete_at"))).alias("complete_at"),
        )
    )
    return (
        transactions.join(F.broadcast(bounds), [*KEY], "left")
        .withColumns(
            {
                "stamp_before_start": F.greatest("stamp_before_start", "before_files_start"),
                "stamp_before": F.greatest("stamp_before", "before_files"),
                "stamp_after": F.least("stamp_after", "after_files"),
            }
        )
        .drop("first_part", "last_part", "before_files_start", "before_files", "after_files")
    )


def _files(runs: DataFrame, files: DataFrame, copies: DataFrame, clock_skew_ms: int) -> DataFrame:
    """The segments of the chosen copies and their snapshots: where each begins, brokers' times in it, its own time."""
    order = Window.partitionBy(*PARTITION).orderBy("part")
    chosen = F.broadcast(copies.select(*COPY))
    dated = files.transform(_with_file_times, clock_skew_ms)
    segments = (
        runs.where("fact = 'sums'")
        .join(chosen, [*COPY], "left_semi")
        .select(
            *COPY,
            "file",
            "part",
            F.lead("part").over(order).alias("next_part"),
            F.col("stamp_before_start").alias("latest"),
            F.col("stamp_after").alias("earliest"),
        )
        .join(dated.select(*COPY, "file", "written_at", "listed_at"), [*COPY, "file"], "left")
        # A sealed segment never changes again. The active one can grow between its stat and its reading: of that only
        # the listing says when it had all its bytes.
        .withColumn("complete_at", F.least("listed_at", F.when(F.expr("next_part IS NOT NULL"), F.col("written_at"))))
        .withColumn("is_snapshot", F.lit(False))
    )
    snapshots = (
        dated.where("kind = 'producer_snapshot' AND problem IS NULL")
        .join(chosen, [*COPY], "left_semi")
        .select(*PARTITION, F.col("base_offset").alias("part"), F.least("listed_at", "written_at").alias("complete_at"))
        .withColumn("is_snapshot", F.lit(True))
    )
    return segments.drop("broker", "log_dir", "file", "written_at", "listed_at").unionByName(
        snapshots, allowMissingColumns=True
    )


def _with_file_times(files: DataFrame, clock_skew_ms: int) -> DataFrame:
    """Add `written_at` (ms), a file's modification time where the copy kept it, and `listed_at` (ms), when the listing
    had it as long as the copy. A file with a tail says nothing by its length: it may be preallocated.

    A copy that keeps times has no file that is older than what a broker dated in it, and has some that prove it.
    """
    modified = F.when(~F.coalesce("is_text", F.lit(False)), F.unix_millis("modified"))
    is_older = F.col("own_time") + clock_skew_ms < F.col("broker_timestamp")
    is_sound = F.col("own_time") + clock_skew_ms >= F.col("broker_timestamp")
    everything = Window.partitionBy(*LOG_DIR)
    keeps_times = (F.count_if(is_older).over(everything) == 0) & (F.count_if(is_sound).over(everything) > 0)
    listed = F.when(F.col("bytes_tail") == 0, F.unix_millis("complete_at"))
    return files.withColumn("own_time", F.when(modified > 0, modified)).withColumns(
        {"written_at": F.when(keeps_times, F.col("own_time")), "listed_at": listed}
    )


def with_sightings(transactions: DataFrame, sightings: DataFrame | None) -> DataFrame:
    """Add what earlier dumps showed of the same transaction.

    `seen_until` (ms): the end of the first copy that showed it with the same batches. `kept_by` and `kept_with`: reason
    and confidence of the latest dump that proved it committed (KEEP), of the same topic id and first batch as far as
    both are known. A KEEP stays until it is disproved.
    """
    if sightings is None:
        nothing = {"seen_until": "bigint", "kept_by": "string", "kept_with": "string"}
        return transactions.withColumns({name: F.lit(None).cast(kind) for name, kind in nothing.items()})
    # After an unclean election another transaction may start at the same offset, and be as long.
    is_another = " OR ".join(f"{name} <> seen_{name}" for name in ("topic_id", *FIRST_BATCH))
    is_same = F.expr(
        "batches = seen_batches AND bytes = seen_bytes AND seen_at < as_of"
        + "".join(f" AND {name} <=> seen_{name}" for name in FIRST_BATCH)
    )
    # Not by this dump itself, when it is judged once more.
    is_kept = (F.col("seen_action") == "KEEP") & (F.col("seen_at") != F.col("as_of"))
    said = F.regexp_replace("reason", f"^({BY_EARLIER})+", "")
    shown = [F.col(name).alias(f"seen_{name}") for name in SEEN]
    earlier = (
        sightings.select(*KEY, "start_offset", "seen_at", "seen_until", "reason", "confidence", *shown)
        .join(
            F.broadcast(
                transactions.select(*KEY, "start_offset", "batches", "bytes", "topic_id", "as_of", *FIRST_BATCH)
            ),
            [*KEY, "start_offset"],
            "inner",
        )
        .where(f"NOT coalesce({is_another}, false)")
        .groupBy(*KEY, "start_offset")
        .agg(
            F.min(F.when(is_same, F.col("seen_until"))).alias("seen_until"),
            F.max_by(F.when(is_kept, said), F.when(is_kept, F.col("seen_at"))).alias("kept_by"),
            F.max_by(F.when(is_kept, F.col("confidence")), F.when(is_kept, F.col("seen_at"))).alias("kept_with"),
        )
    )
    return transactions.join(earlier, [*KEY, "start_offset"], "left")


def with_activity(transactions: DataFrame, clock_skew_ms: int) -> DataFrame:
    """Add when the transaction was written, as far as brokers' clocks bound it (ms).

    `started_after`: its first batch was not in the log before; `known_before`: the same of its last batch. Only
    brokers' clocks say so, and both are null where their times contradict each other or are missing.
    `timestamps_trusted`: the producer's times lie within the bounds; `last_activity` is then what the producer says,
    else the latest time by a broker that lies before. `appended_by`: its last batch was in the log by then, as
    far as the producer or, where that is not believed, a broker says; `bounded_by`: what a broker says of that, null
    where none does.
    """
    own = F.when(F.col("is_log_append_time"), F.col("last_timestamp"))
    after = F.greatest(F.col("lower"), F.when(F.col("is_log_append_time") & (F.col("batches") == 1), own))
    first = F.greatest("stamp_before_start", "known_since", F.when(F.col("batches") == 1, own))
    contradicts = (F.col("lower") > F.col("upper") + clock_skew_ms) | (F.col("lower") > F.col("as_of") + clock_skew_ms)
    return (
        transactions.withColumns(
            {
                "lower": F.greatest("stamp_before", "known_since"),
                "upper": F.least("stamp_after", "complete_at", "seen_until", own),
            }
        )
        .withColumn("clocks_contradict", F.coalesce(contradicts, F.lit(False)))
        .withColumns(
            {
                "bounded_by": F.when(~F.col("clocks_contradict"), F.col("upper")),
                "known_before": F.when(~F.col("clocks_contradict"), after),
                "started_after": F.when(~F.col("clocks_contradict"), first - clock_skew_ms),
                "timestamps_trusted": F.coalesce(F.col("is_log_append_time") | _agrees(clock_skew_ms), F.lit(False)),
            }
        )
        .withColumns(
            {
                "last_activity": F.when(F.col("timestamps_trusted"), F.col("last_timestamp")).otherwise(
                    F.col("known_before")
                ),
                "appended_by": F.when(F.col("timestamps_trusted"), F.col("last_timestamp")).otherwise(
                    F.col("bounded_by")
                ),
            }
        )
        .drop("lower", "upper")
    )


def _agrees(clock_skew_ms: int) -> Column:
    """Whether the producer's time of the last batch can be the broker's, too."""
    return (
        F.expr("last_timestamp >= 0 AND NOT clocks_contradict")
        & (F.col("last_timestamp") <= F.col("as_of") + clock_skew_ms)
        & F.coalesce(F.col("last_timestamp") >= F.col("lower") - clock_skew_ms, F.lit(True))
        & F.coalesce(F.col("last_timestamp") <= F.col("upper") + clock_skew_ms, F.lit(True))
    )
