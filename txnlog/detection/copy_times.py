"""When each copy was taken. Ages are measured against that, never against when the job runs."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.partition_copies import IS_COORDINATOR
from txnlog.keys import LOG_DIR

# Dump-log output may have been printed or fetched long after the log was copied. 0 means that the time is unknown.
_FILE_TIME = "if(NOT coalesce(is_text, false) AND unix_millis(modified) > 0, unix_millis(modified), NULL)"
_OF_BROKER = "OVER (PARTITION BY cluster, broker)"


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
    of coordinators in it were begun no earlier than that, as far as anything says so. `copy_ended`: nothing in it is
    later; null where its end is not stated. `are_texts_alone`: the dump has no segments, so that a time that is stated
    is that of its texts.
    """
    is_stated = "copy_started IS NOT NULL" if as_of is None else "true"
    return _with_as_of(log_dirs.transform(_with_evidence, files), as_of).selectExpr(
        *LOG_DIR,
        "as_of",
        "least(as_of, evidence) AS shown_as_of",
        f"{_source(as_of)} AS as_of_source",
        # Brokers write checkpoints every minute: where nothing in a copy is nearly as late as its stated time, the copy
        # is of another time. Files that were unpacked since do not show that.
        f"as_of <= greatest(broker_timestamp, kept_timestamp) + {slack_ms} AS as_of_is_plausible",
        f"if(ended IS NULL, as_of - {slack_ms}, as_of) AS copy_from",
        # A broker's time in the copy that is later than its stated end shows that the end was stated wrongly.
        f"greatest(coalesce(ended, as_of + {slack_ms}), broker_timestamp) AS copy_to",
        # How long a copy took that does not say it may be more than the slack.
        "if(ended IS NULL, NULL, greatest(ended, broker_timestamp)) AS copy_ended",
        # Without a stated start, a copy of coordinators is proved to be no later than the records in it.
        f"if({is_stated}, copy_from, least(copy_from, coalesce(coordinator_timestamp, 0))) AS coordinator_from",
        "are_texts_alone",
    )


def _with_as_of(log_dirs: DataFrame, as_of: int | None) -> DataFrame:
    """The as-of and the end of each copy as they are stated, or as the latest time in the copy shows."""
    given = "NULL" if as_of is None else f"{as_of}"
    return log_dirs.selectExpr(
        *LOG_DIR,
        "copy_started",
        "broker_timestamp",
        "coordinator_timestamp",
        "greatest(broker_timestamp, file_timestamp) AS evidence",
        # If the copy was fetched later without its files' times, all of them are later than its brokers' timestamps.
        "if(earliest_file_timestamp <= coalesce(broker_timestamp, earliest_file_timestamp), file_timestamp, NULL)"
        " AS kept_timestamp",
        f"coalesce(CAST({given} AS bigint), copy_started, greatest(broker_timestamp, kept_timestamp)) AS as_of",
        f"if(CAST({given} AS bigint) IS NULL, copy_ended, NULL) AS ended",
        "are_texts_alone",
    )


def _with_evidence(log_dirs: DataFrame, files: DataFrame) -> DataFrame:
    """Add the latest time by a broker's clock, the latest and the earliest of a file.

    All are of the directory, and of the broker where the directory has texts alone.
    """
    of_directory = summed(
        files,
        LOG_DIR,
        "max(broker_timestamp) AS own_broker_timestamp",
        f"max(broker_timestamp) FILTER (WHERE {IS_COORDINATOR}) AS own_coordinator_timestamp",
        f"max({_FILE_TIME}) AS own_file_timestamp",
        f"min({_FILE_TIME}) AS own_earliest",
        "bool_or(kind = 'segment' AND NOT coalesce(is_text, false)) AS has_segments",
    )
    has_own = "own_file_timestamp IS NOT NULL"
    return log_dirs.join(of_directory, [*LOG_DIR], "left").selectExpr(
        *LOG_DIR,
        "copy_started",
        "copy_ended",
        f"if({has_own}, own_broker_timestamp, max(own_broker_timestamp) {_OF_BROKER}) AS broker_timestamp",
        f"if({has_own}, own_coordinator_timestamp, max(own_coordinator_timestamp) {_OF_BROKER})"
        " AS coordinator_timestamp",
        f"if({has_own}, own_file_timestamp, max(own_file_timestamp) {_OF_BROKER}) AS file_timestamp",
        f"if({has_own}, own_earliest, min(own_earliest) {_OF_BROKER}) AS earliest_file_timestamp",
        "NOT coalesce(bool_or(has_segments) OVER (PARTITION BY cluster), false) AS are_texts_alone",
    )


def _source(as_of: int | None) -> str:
    if as_of is not None:
        return "'option'"
    return (
        "CASE WHEN copy_started IS NOT NULL THEN 'manifest'"
        " WHEN coalesce(broker_timestamp, 0) >= coalesce(kept_timestamp, 0) THEN 'latest broker timestamp'"
        " ELSE 'latest file time' END"
    )
