"""When each copy was taken. Ages are measured against that, never against when the job runs."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.times import LATEST_MS

LOG_DIR = ("cluster", "broker", "log_dir")


def copy_times(files: DataFrame, log_dirs: DataFrame, as_of: int | None, slack_ms: int) -> DataFrame:
    """One row per log directory: `as_of` (ms, what ages count from), `as_of_source`, and the window of the copy.

    `shown_as_of`: the as-of, but no later than what the copy shows. Whoever states a time may have a clock that is
    fast, and something is late only if the copy shows it.

    `as_of_is_plausible`: something in the copy, by a broker's clock or the time of a file that the copy has kept, is at
    most `slack_ms` older than that; null where nothing in it has a time. One disk of a broker may have failed long
    before the others were copied.

    `log_dirs` has what the manifest says: `copy_started` and `copy_ended`, ms or null; `as_of` overrides it. Without
    either the latest time in the broker's copy counts, of files only if the copy has kept their times. Where start or
    end of the copy are not known, the window reaches `slack_ms` beyond the one time that is. `coordinator_from`: copies
    of coordinators in it were begun no earlier than that, as far as anything says so.
    """
    given = F.lit(as_of).cast("bigint")
    started = F.coalesce(given, "copy_started")
    ended = F.when(given.isNull(), F.col("copy_ended"))
    evidence = F.greatest("broker_timestamp", "file_timestamp")
    # All files of a copy that was fetched later, without its files' times, are later than its brokers' last stamp.
    has_kept_times = F.expr("earliest_file_timestamp <= coalesce(broker_timestamp, earliest_file_timestamp)")
    # Where nobody says when it began, a copy of coordinators is proved to be no later than what stands in them.
    is_stated = F.lit(as_of).isNotNull() | F.col("copy_started").isNotNull()
    proven = F.least("copy_from", F.coalesce("coordinator_timestamp", F.lit(0)))
    return (
        log_dirs.transform(_with_evidence, files)
        .withColumn("kept_timestamp", F.when(has_kept_times, F.col("file_timestamp")))
        .withColumn("as_of", F.coalesce(started, F.greatest("broker_timestamp", "kept_timestamp")))
        .withColumn("as_of_source", _source(as_of))
        .withColumn("copy_from", F.when(ended.isNull(), F.col("as_of") - slack_ms).otherwise(F.col("as_of")))
        # A broker's time in the copy that is later than its stated end shows that the end was stated wrongly.
        .withColumn("copy_to", F.greatest(F.coalesce(ended, F.col("as_of") + slack_ms), "broker_timestamp"))
        .withColumn("shown_as_of", F.least("as_of", evidence))
        # Brokers write checkpoints every minute: where nothing in a copy is nearly as late as what somebody says of
        # it, the copy is of another time. Files that were unpacked since say nothing of that.
        .withColumn("as_of_is_plausible", F.col("as_of") <= F.greatest("broker_timestamp", "kept_timestamp") + slack_ms)
        .withColumn("coordinator_from", F.when(is_stated, F.col("copy_from")).otherwise(proven))
        .select(
            *LOG_DIR,
            "as_of",
            "shown_as_of",
            "as_of_source",
            "as_of_is_plausible",
            "copy_from",
            "copy_to",
            "coordinator_from",
        )
    )


def _with_evidence(log_dirs: DataFrame, files: DataFrame) -> DataFrame:
    """Add the latest time by a broker's clock, the latest and the earliest of a file.

    All are of the directory, and of the broker where the directory has texts alone.
    """
    # A text may have been printed, or attached and fetched, long after the log was copied; 0 is a time nobody knows.
    file_timestamp = F.unix_millis("modified")
    of_the_copy = F.when(~F.coalesce("is_text", F.lit(False)) & (file_timestamp > 0), file_timestamp)
    times = {
        "broker_timestamp": (F.max, F.col("broker_timestamp")),
        "coordinator_timestamp": (F.max, F.when(F.col("topic") == TRANSACTION_STATE, F.col("broker_timestamp"))),
        "file_timestamp": (F.max, of_the_copy),
        "earliest_file_timestamp": (F.min, of_the_copy),
    }
    of_directory = [summed(time).alias(f"own_{name}") for name, (summed, time) in times.items()]
    everything = Window.partitionBy("cluster", "broker")
    has_own = F.col("own_file_timestamp").isNotNull()
    return (
        log_dirs.join(files.groupBy(*LOG_DIR).agg(*of_directory), [*LOG_DIR], "left")
        .withColumns(
            {
                name: F.when(has_own, F.col(f"own_{name}")).otherwise(summed(f"own_{name}").over(everything))
                for name, (summed, _) in times.items()
            }
        )
        .drop(*(f"own_{name}" for name in times))
    )


def _source(as_of: int | None) -> Column:
    if as_of is not None:
        return F.lit("option")
    by_evidence = F.when(
        F.expr("coalesce(broker_timestamp, 0) >= coalesce(kept_timestamp, 0)"),
        F.lit("latest broker timestamp"),
    ).otherwise(F.lit("latest file time"))
    return F.when(F.col("copy_started").isNotNull(), F.lit("manifest")).otherwise(by_evidence)


def within_calendar(name: str) -> Column:
    """A column of ms since 1970; null outside the years 1970 to 9999."""
    return F.when(F.col(name).between(0, LATEST_MS), F.col(name))
