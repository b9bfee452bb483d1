"""Records that a coordinator's log lacks although it looks whole: it does not explain each COMMIT marker."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from txnlog.detection.aggregates import summed
from txnlog.detection.coordinator_evidence import PRODUCER
from txnlog.detection.coordinator_records import IS_BIRTH, PLACE, WRITTEN
from txnlog.detection.replay import KEY
from txnlog.keys import COPY
from txnlog.times import within_calendar

_IN_TURN = "OVER (PARTITION BY cluster, transactional_id ORDER BY offset)"
_EVERYWHERE = "OVER (PARTITION BY cluster)"


def with_missing_records(
    coverage: DataFrame,
    clusters: DataFrame,
    sums: DataFrame,
    states: DataFrame,
    copies: DataFrame,
    clock_skew_ms: int,
) -> DataFrame:
    """The coverage, in which a range counts as whole only if it explains each COMMIT marker written meanwhile.

    Only the records in the dump are held against its markers: of those that earlier dumps showed only those of a few
    producer ids are read. `unexplained_commits` counts the markers that contradict it; `whole_from` is null then. A
    marker of a producer id that no coordinator knows contradicts all of them, if none is missing and each reaches back
    to before it.
    """
    named = states.where("producer_id IS NOT NULL AND problem IS NULL")
    contradicting = (
        _unexplained(sums, named, clock_skew_ms)
        .unionByName(_of_more_commits_than_recorded(sums, named, copies, coverage))
        .join(_owners(named), [*PRODUCER], "left")
        .join(_believed(coverage, clusters), ["cluster"], "inner")
        # What was written after the coordinator was copied has its record in no copy. But before it gives out a later
        # epoch, it has recorded each commit of the epochs before (`TransactionCoordinator.initTransactionId`).
        .where(
            "if(owner IS NULL, are_all_there, owner = coordinator_partition)"
            f" AND marked_at > if(owner IS NULL, all_whole_from, whole_from) + {clock_skew_ms}"
            f" AND (marked_at < if(owner IS NULL, all_copied_from, coordinator_copy_from) - {clock_skew_ms}"
            " OR coalesce(producer_epoch < latest_epoch, false))"
        )
    )
    contradictions = summed(contradicting, PLACE, "count(*) AS unexplained_commits")
    return coverage.join(contradictions, [*PLACE], "left").selectExpr(
        "* EXCEPT (unexplained_commits, whole_from, copied_whole_from)",
        "coalesce(unexplained_commits, 0) AS unexplained_commits",
        "if(coalesce(unexplained_commits, 0) = 0, whole_from, NULL) AS whole_from",
    )


def _unexplained(sums: DataFrame, named: DataFrame, clock_skew_ms: int) -> DataFrame:
    """The last COMMIT markers in any copy that no record of a coordinator is about, and when each was written."""
    # Also of copies that are not believed: a leader that was elected unclean has lost the marker, the commit stays.
    markers = sums.where("fact = 'marker' AND marker_type = 'COMMIT'").selectExpr(
        *KEY, "producer_epoch", "coordinator_epoch", f"{within_calendar('last_timestamp')} AS marked_at"
    )
    return unexplained(markers, named, clock_skew_ms).drop("coordinator_epoch")


def unexplained(markers: DataFrame, named: DataFrame, clock_skew_ms: int) -> DataFrame:
    """Those of some COMMIT markers that no readable record (`named`) is about: `marked_at` (ms) says when."""
    is_explained = F.expr(
        "m.cluster = e.cluster AND m.producer_id = e.producer_id"
        " AND m.producer_epoch = coalesce(e.epoch, m.producer_epoch)"
        " AND m.marked_at >= e.since AND m.marked_at <= coalesce(e.until, m.marked_at)"
        " AND NOT coalesce(m.coordinator_epoch > e.until_coordinator, false)"
        " AND NOT coalesce(m.coordinator_epoch < e.since_coordinator, false)"
        " AND coalesce(exists(e.listed, each -> each.topic = m.topic AND each.partition = m.partition), true)"
    )
    return (
        markers.where("marked_at IS NOT NULL")
        .alias("m")
        .join(_explanations(named, clock_skew_ms).alias("e"), is_explained, "left_anti")
    )


def _explanations(named: DataFrame, clock_skew_ms: int) -> DataFrame:
    """Which COMMIT markers each commit explains: of whom (producer_id, epoch), where (listed), when and by whom sent.

    `since` and `until` in ms; null where nothing bounds it: `until` and `until_coordinator` of a commit that is under
    way, `epoch` where the record does not tell it, `listed` and `since_coordinator` where the record that does is
    compacted away.
    """
    # Whatever the version, a marker has the epoch of its Prepare* record (`TransactionMetadata.prepareAbortOrCommit`).
    # With a new producer id its Complete* record has epoch 0: that of the marker is not told.
    # A Complete* record lists nothing: that is what the Prepare* record before it is for, unless it is compacted away.
    # Of a commit that is under way the markers may still be coming. When all are written a coordinator says so: a later
    # one writes none of that commit.
    return (
        named.selectExpr(
            "*",
            "state = 'CompleteCommit' AS is_complete",
            "is_complete AND coalesce(previous_producer_id >= 0 AND previous_producer_id <> producer_id, false)"
            " AS has_new_producer",
            f"lead(offset) {_IN_TURN} IS NULL AND NOT is_complete AS is_pending",
            f"lag(if(state = 'PrepareCommit', struct(topic_partitions, coordinator_epoch), NULL)) {_IN_TURN}"
            " AS prepared",
            f"lead(coordinator_epoch) {_IN_TURN} AS next_coordinator",
        )
        .where("state IN ('PrepareCommit', 'CompleteCommit')")
        .selectExpr(
            "cluster",
            "if(is_complete, prepared.topic_partitions, topic_partitions) AS listed",
            "if(is_complete, prepared.coordinator_epoch, coordinator_epoch) AS since_coordinator",
            "if(has_new_producer, previous_producer_id, producer_id) AS producer_id",
            "if(has_new_producer, NULL, producer_epoch) AS epoch",
            f"last_update_timestamp - {clock_skew_ms} AS since",
            f"if(is_pending, NULL, {WRITTEN} + {clock_skew_ms}) AS until",
            "if(is_complete, coordinator_epoch, next_coordinator) AS until_coordinator",
        )
    )


def _of_more_commits_than_recorded(
    sums: DataFrame, named: DataFrame, copies: DataFrame, coverage: DataFrame
) -> DataFrame:
    """The last markers of producer ids with more COMMITs in a partition than commits that listed it, by whole records.

    Where clocks may differ by the skew, times alone do not tell the markers of two commits from one another.
    """
    recorded = summed(
        named.where("state = 'PrepareCommit' AND producer_id >= 0").selectExpr(*PRODUCER, "inline(topic_partitions)"),
        KEY,
        "count(*) AS recorded",
    )
    born = (
        named.where(IS_BIRTH)
        .join(coverage.selectExpr(*PLACE, "copied_whole_from_offset"), [*PLACE], "inner")
        .where("offset >= copied_whole_from_offset")
    )
    marked = summed(
        sums.where("fact = 'marker'").join(copies, [*COPY], "left_semi"),
        KEY,
        "sum(commits) AS commits",
        f"max({within_calendar('last_timestamp')}) AS marked_at",
        "max(producer_epoch) AS producer_epoch",
    )
    return (
        marked.join(born, [*PRODUCER], "left_semi")
        .join(recorded, [*KEY], "left")
        .where("commits > coalesce(recorded, 0) AND marked_at IS NOT NULL")
        .selectExpr(*KEY, "producer_epoch", "marked_at")
    )


def _owners(named: DataFrame) -> DataFrame:
    """Each producer id that a record names or announces, in which coordinator partition (`owner`), and its epoch there.

    `latest_epoch` is null for one that is announced only.
    """
    return summed(
        named.selectExpr(
            "cluster",
            "coordinator_partition AS owner",
            "inline(array(struct(producer_id, producer_epoch AS epoch),"
            " struct(next_producer_id AS producer_id, CAST(NULL AS smallint) AS epoch)))",
        ).where("producer_id >= 0"),
        ("cluster", "owner", "producer_id"),
        "max(epoch) AS latest_epoch",
    )


def _believed(coverage: DataFrame, clusters: DataFrame) -> DataFrame:
    """Within which times each coordinator's records are held to be whole, and all of them together."""
    return coverage.join(clusters.selectExpr("cluster", "partition_count"), ["cluster"], "inner").selectExpr(
        *PLACE,
        "copied_whole_from AS whole_from",
        "coordinator_copy_from",
        f"count_if(copied_whole_from IS NULL) {_EVERYWHERE} = 0 AND count(*) {_EVERYWHERE} >= partition_count"
        " AS are_all_there",
        f"max(copied_whole_from) {_EVERYWHERE} AS all_whole_from",
        f"min(coordinator_copy_from) {_EVERYWHERE} AS all_copied_from",
    )
