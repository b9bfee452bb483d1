"""All COMMIT markers of a producer id whose data would be discarded, each held against its coordinator's records.

Replay needs the last marker of each file only, and leaves out segments below a producer snapshot. An earlier COMMIT
that no record explains shows that records were lost (`txnlog.detection.missing_records`), so before data is discarded
the partitions that its producer id may have written to are read once more, for its markers.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.commits import in_turn
from txnlog.detection.coordinator_evidence import PRODUCER
from txnlog.detection.coordinator_records import ID
from txnlog.detection.missing_records import unexplained
from txnlog.detection.replay import KEY
from txnlog.keys import COPY, PARTITION
from txnlog.times import within_calendar

_IN_TURN = f"OVER (PARTITION BY {', '.join(ID)} ORDER BY offset)"


def places_to_read(
    transactions: DataFrame, sums: DataFrame, snapshots: DataFrame, states: DataFrame, files: DataFrame
) -> DataFrame:
    """Partitions and producer ids (columns of `KEY`) that may have COMMIT markers which replay has not seen.

    Those in which a segment was left out or the producer id has several COMMITs, if a log, a snapshot or a
    coordinator's record names it there; with one COMMIT, if its history is from earlier dumps in part, as only the
    records in this one were held against it. Only those of own data (`with_proofs`) need to be read.
    """
    none = "0L AS commits", "0L AS hidden"
    listed = states.selectExpr("cluster", "producer_id", "inline(topic_partitions)").selectExpr(*KEY, *none)
    # Of each file only the last marker has been held against the records.
    hidden = "if(marker_type = 'COMMIT', commits - 1, commits)"
    of_logs = sums.where("fact IN ('producer', 'marker')").selectExpr(
        *KEY, "coalesce(commits, 0) AS commits", f"coalesce({hidden}, 0) AS hidden"
    )
    of_snapshots = snapshots.selectExpr(*KEY, *none)
    unread = files.where("kind = 'segment' AND bytes_skipped > 0").selectExpr(*PARTITION, "true AS is_unread")
    is_archived = (
        "bool_or(coalesce(whole_from_offset < copied_whole_from_offset, transactional_id IS NULL)) AS is_archived"
    )
    owned = summed(transactions, PRODUCER, is_archived)
    named = of_logs.unionByName(of_snapshots).unionByName(listed).join(owned, [*PRODUCER], "inner")
    return (
        summed(named, (*KEY, "is_archived"), "sum(commits) AS commits", "sum(hidden) AS hidden")
        .join(unread.distinct(), [*PARTITION], "left")
        .where("is_unread OR hidden > 0 OR commits > if(is_archived, 0, 1)")
        .selectExpr(*KEY)
    )


def with_counted_commits(
    transactions: DataFrame, batches: DataFrame, states: DataFrame, clock_skew_ms: int
) -> DataFrame:
    """Let `commits_are_explained` and `is_own_data` be false where one of these COMMITs has no record.

    `batches` are rows of `BatchRow`: the transactional batches in `places_to_read`, of all copies.
    """
    whole = summed(
        transactions.where("is_own_data"),
        PRODUCER,
        "max(whole_from) AS whole_from",
        "max(whole_from_offset) AS whole_from_offset",
        "min(coordinator_copy_from) AS copied_from",
    )
    commits = _commits_within(batches, whole, clock_skew_ms)
    # Each by itself: of a union of frames that are partitioned alike Spark 4.2 zips the partitions, though adaptive
    # execution may have left them different numbers of these, and fails.
    unrecorded = summed(unexplained(commits, states, clock_skew_ms), PRODUCER, "true AS is_unrecorded")
    too_many = summed(
        _with_more_markers_than_commits(commits.where("closes"), states, whole), PRODUCER, "true AS are_too_many"
    )
    explained = "is_unrecorded IS NULL AND are_too_many IS NULL"
    return (
        transactions.join(unrecorded, [*PRODUCER], "left")
        .join(too_many, [*PRODUCER], "left")
        .selectExpr(
            "* EXCEPT (is_unrecorded, are_too_many, commits_are_explained, is_own_data)",
            *(f"{name} AND {explained} AS {name}" for name in ("commits_are_explained", "is_own_data")),
        )
    )


def _commits_within(batches: DataFrame, whole: DataFrame, clock_skew_ms: int) -> DataFrame:
    """The COMMIT markers that were written while the records are held to be `whole`.

    `closes`: of a marker that was sent twice, the one that closed data.
    """
    return (
        in_turn(batches, COPY)
        .where("marker_type = 'COMMIT'")
        .selectExpr("*", f"{within_calendar('max_timestamp')} AS marked_at")
        .join(whole, [*PRODUCER], "inner")
        .where(f"marked_at > whole_from + {clock_skew_ms} AND marked_at < copied_from - {clock_skew_ms}")
        .selectExpr(
            *COPY, "producer_id", "producer_epoch", "coordinator_epoch", "marked_at", "NOT closed.is_control AS closes"
        )
    )


def _with_more_markers_than_commits(commits: DataFrame, states: DataFrame, whole: DataFrame) -> DataFrame:
    """Copies in which a producer id has more COMMITs than its coordinator has commits that list the partition.

    A Complete* record lists nothing: where its Prepare* record is before what is whole, it may be about any partition.
    """
    recorded = (
        states.selectExpr("*", f"lag(state) {_IN_TURN} AS before")
        .join(whole.selectExpr(*PRODUCER, "whole_from_offset"), [*PRODUCER], "inner")
        .where("offset >= coalesce(whole_from_offset, 0)")
    )
    listed = summed(
        recorded.where("state = 'PrepareCommit'").selectExpr(*PRODUCER, "inline(topic_partitions)"),
        KEY,
        "count(*) AS recorded",
    )
    adrift = summed(
        recorded.where("state = 'CompleteCommit' AND NOT coalesce(before = 'PrepareCommit', false)"),
        PRODUCER,
        "count(*) AS adrift",
    )
    return (
        summed(commits, (*COPY, "producer_id"), "count(*) AS commits")
        .join(listed, [*KEY], "left")
        .join(adrift, [*PRODUCER], "left")
        .where("commits > coalesce(recorded, 0) + coalesce(adrift, 0)")
    )
