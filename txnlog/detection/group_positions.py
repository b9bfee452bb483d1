"""Where consumer groups stand, by the records of `__consumer_offsets`, and what holds them there.

The records are those that are left of pieces of the log (`GroupRecordRow`); here the pieces are put together as a
coordinator loads them. A commit of a transaction counts once its COMMIT marker is there; until a marker is there, it
is pending, and whoever asks for a stable offset is told `UNSTABLE_OFFSET_COMMIT` (KIP-447).
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.partition_copies import LACKS_END
from txnlog.format.group_messages import CONSUMER_OFFSETS
from txnlog.keys import LOG_DIR, PARTITION

GROUP = ("cluster", "coordinator_partition", "group_id")
POSITION = (*GROUP, "topic", "partition")
MEMBER = (*GROUP, "member_id")
LAST_STABLE_OFFSET, UNSTABLE = "LAST_STABLE_OFFSET", "UNSTABLE_OFFSET_COMMIT"
_IS_COMMIT = "record_type IN ('LEGACY_OFFSET_COMMIT', 'OFFSET_COMMIT')"
# The types of a commit have keys of their own, and are one offset to the coordinator.
_KEY = (*MEMBER, "topic", "partition", "kind")
_KIND = f"if({_IS_COMMIT}, 'COMMIT', record_type) AS kind"
_OF_PRODUCER = "PARTITION BY cluster, coordinator_partition, producer_id"
# The next marker.
_ENDED = (
    "last_value(if(fate = 'MARKER', struct(applied_at, is_commit), NULL), true)"
    f" OVER ({_OF_PRODUCER} ORDER BY offset DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ended"
)
_FINAL = f"max(if(fate = 'FINAL', struct(offset, is_tombstone), NULL)) OVER (PARTITION BY {', '.join(_KEY)})"
# A tombstone removes what counted before it; of two commits the one with the larger offset wins.
_COUNTS = """CASE
    WHEN is_pending THEN false
    WHEN fate = 'FINAL' THEN offset = final.offset AND NOT is_tombstone
    WHEN final IS NULL THEN NOT is_tombstone
    ELSE NOT is_tombstone AND if(final.is_tombstone, counts_from > final.offset, offset > final.offset)
END"""
_VALUE = (
    "struct(offset, file, position, broker, committed_offset, leader_epoch, metadata, commit_timestamp, topic_id,"
    " protocol_type, members, problem)"
)
_LASTS = (
    f"max_by({_VALUE}, offset) FILTER (WHERE counts) AS last",
    "max_by(struct(offset, committed_offset, producer_id), offset) FILTER (WHERE is_pending) AS pending",
    "max(is_sure) AS is_sure",
    "max(as_of) AS as_of",
    "max(broker) AS broker",
)


def last_records(records: DataFrame, copies: DataFrame) -> DataFrame:
    """One row for each key of the chosen `copies` (with `as_of`, ms) that has a value, or one that is pending.

    Columns of `_KEY`; `last`, a struct of the columns of `GroupRecordRow`; `pending`, one of offset, committed_offset
    and producer_id; `is_sure`: no damage and no missing end of the log can hide a later record; `as_of` and `broker`.
    """
    chosen = copies.where(f"topic = '{CONSUMER_OFFSETS}'").selectExpr(
        *LOG_DIR,
        "partition AS coordinator_partition",
        "as_of",
        f"NOT coalesce({LACKS_END}, false) AS has_end",
        "coalesce(damaged_to, 0) AS sure_from",
    )
    found = records.join(chosen, [*LOG_DIR, "coordinator_partition"], "inner")
    ended = found.where("producer_id IS NOT NULL").selectExpr("*", _ENDED)
    of_transactions = ended.where(
        "fate <> 'MARKER' AND coalesce(fate = 'COMMITTED' OR ended.is_commit, true)"
    ).selectExpr(
        "* EXCEPT (ended)",
        "fate = 'PENDING' AND ended IS NULL AS is_pending",
        "if(fate = 'COMMITTED', applied_at, ended.applied_at) AS counts_from",
    )
    others = found.where("producer_id IS NULL").selectExpr("*", "false AS is_pending", "offset AS counts_from")
    keyed = others.unionByName(of_transactions).selectExpr("*", _KIND, "has_end AND offset >= sure_from AS is_sure")
    judged = keyed.selectExpr("*", f"{_FINAL} AS final").selectExpr("*", f"{_COUNTS} AS counts")
    return summed(judged, _KEY, *_LASTS).where("last IS NOT NULL OR pending IS NOT NULL")


def group_members(lasts: DataFrame, ends: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Of each group what it is and how many members it has; and the partitions that each member is assigned.

    A classic group names its members in one record, a group of the new protocol (KIP-848) each in records of its own,
    where topics are ids: those that the dump does not name are left out.
    """
    kinds = summed(
        lasts.where("last IS NOT NULL"),
        GROUP,
        "CASE WHEN count_if(kind = 'CONSUMER_GROUP_METADATA') > 0 THEN 'CONSUMER'"
        " WHEN count_if(kind = 'GROUP_METADATA') > 0 THEN 'CLASSIC' END AS protocol",
        "max(last.protocol_type) AS protocol_type",
        "if(count_if(kind IN ('GROUP_METADATA', 'CONSUMER_GROUP_METADATA')) > 0,"
        " CAST(coalesce(sum(size(last.members)) FILTER (WHERE kind = 'GROUP_METADATA'), 0)"
        " + count_if(kind = 'CONSUMER_GROUP_MEMBER_METADATA') AS int), NULL) AS members",
    )
    each = lasts.where("last.members IS NOT NULL").selectExpr(*GROUP, "inline(last.members)")
    members = summed(
        each,
        MEMBER,
        "max(client_id) AS client_id",
        "max(client_host) AS client_host",
        "flatten(collect_list(partitions)) AS partitions",
    )
    assigned = members.selectExpr(*MEMBER, "client_id", "client_host", "inline(partitions)")
    names = ends.where("topic_id IS NOT NULL").selectExpr("cluster", "topic_id", "topic AS name").dropDuplicates()
    return kinds, assigned.join(names, ["cluster", "topic_id"], "left").selectExpr(
        *MEMBER, "client_id", "client_host", "coalesce(topic, name) AS topic", "partition"
    ).where("topic IS NOT NULL")


_STANDS_AT_LIMIT = "is_held AND committed_offset <= last_stable_offset"
_IS_AT_LIMIT = f"{_STANDS_AT_LIMIT} AND (committed_offset = last_stable_offset OR committed_offset > data_to)"
_MAY_BE_AT_LIMIT = f"{_STANDS_AT_LIMIT} AND committed_offset >= aborted_from"
_NOT_KNOWN = (
    ("log_end_offset IS NULL", "where the partition ends: the dump does not have it"),
    ("NOT is_sure", "whether there is a later commit: __consumer_offsets is damaged or ends too early in the dump"),
    ("problem IS NOT NULL", "the committed offset: its record is not decoded"),
    (
        f"{_STANDS_AT_LIMIT} AND data_to IS NULL AND committed_offset < last_stable_offset",
        "whether records lie between the committed offset and the last stable offset",
    ),
    (
        f"{_MAY_BE_AT_LIMIT} AND NOT coalesce({_IS_AT_LIMIT}, false)",
        "whether all records between the committed offset and the last stable offset were aborted",
    ),
)
_TEXT = ", ".join(f"if(coalesce({condition}, false), '{text}', NULL)" for condition, text in _NOT_KNOWN)


_OF_COMMIT = (
    "offset", "file", "position", "committed_offset", "leader_epoch", "metadata", "commit_timestamp", "problem",
)  # fmt: skip


def group_positions(lasts: DataFrame, ends: DataFrame) -> DataFrame:
    """One row for each partition that a group has committed to, has a commit pending for, or is assigned."""
    kinds, assigned = group_members(lasts, ends)
    commits = lasts.where("kind = 'COMMIT'").selectExpr(
        *POSITION, *(f"last.{name}" for name in _OF_COMMIT), "last.topic_id AS committed_topic_id",
        "pending.committed_offset AS pending_offset", "pending.producer_id AS pending_producer_id", "is_sure",
        "broker", "as_of",
    )  # fmt: skip
    owners = summed(
        assigned, POSITION, "max_by(struct(member_id, client_id, client_host), member_id) AS owner"
    ).selectExpr(*POSITION, "owner.*")
    copied = summed(lasts, ("cluster", "coordinator_partition"), "max(broker) AS copy_of", "max(as_of) AS copied_at")
    return (
        commits.join(owners, [*POSITION], "full")
        .join(kinds, [*GROUP], "left")
        .join(copied, ["cluster", "coordinator_partition"], "left")
        .join(ends, [*PARTITION], "left")
        .selectExpr(
            "* EXCEPT (broker, as_of, topic_id)",
            "coalesce(committed_topic_id, topic_id) AS topic_id",
            "coalesce(broker, copy_of) AS broker",
            "coalesce(as_of, copied_at) AS as_of",
            "if(committed_offset > log_end_offset, 0L, log_end_offset - committed_offset) AS lag",
            f"CASE WHEN pending_producer_id IS NOT NULL THEN '{UNSTABLE}'"
            f" WHEN ({_IS_AT_LIMIT}) OR ({_MAY_BE_AT_LIMIT}) THEN '{LAST_STABLE_OFFSET}' END AS blocked_by",
            f"nullif(concat_ws('; ', {_TEXT}), '') AS not_known",
        )
    )


def blocked_groups(positions: DataFrame, opened: DataFrame) -> DataFrame:
    """Of the rows of `group_positions` those with `blocked_by`, each with the first of the `opened` that blocks it.

    `opened` are rows of `open_transactions`.
    """
    blocking = opened.selectExpr(
        "cluster",
        "topic AS blocking_topic",
        "partition AS blocking_partition",
        *("producer_id", "start_offset", "transactional_id", "cause", "action"),
    )
    of_data = f"blocked_by = '{LAST_STABLE_OFFSET}'"
    blocked = positions.where("blocked_by IS NOT NULL").selectExpr(
        "*",
        f"if({of_data}, topic, '{CONSUMER_OFFSETS}') AS blocking_topic",
        f"if({of_data}, partition, coordinator_partition) AS blocking_partition",
        f"if({of_data}, NULL, pending_producer_id) AS only_producer_id",
    )
    keys = ["cluster", "blocking_topic", "blocking_partition"]
    found = blocked.join(blocking, keys, "left")
    first = (
        "min_by(struct(producer_id, start_offset, transactional_id, cause, action), start_offset)"
        " FILTER (WHERE coalesce(producer_id = only_producer_id, only_producer_id IS NULL)) AS first"
    )
    shown = (*POSITION, "blocking_topic", "blocking_partition", "blocked_by", "committed_offset", "pending_offset")
    rest = ("last_stable_offset", "log_end_offset", "members", "as_of", "not_known")
    return summed(found, (*shown, *rest), first).selectExpr(
        *shown,
        *rest[:-1],
        "first.*",
        f"if({of_data}, log_end_offset - last_stable_offset, log_end_offset - committed_offset) AS waiting_offsets",
        f"if({of_data}, '{_SEES_NOTHING}', '{_SEES_UNSTABLE}') AS client_sees",
        f"concat_ws('; ', '{_ISOLATION}', not_known) AS not_known",
    )


_SEES_NOTHING = "no records and no error: fetches return nothing beyond the last stable offset"
_SEES_UNSTABLE = (
    "UNSTABLE_OFFSET_COMMIT: fetching the committed offset is retried until default.api.timeout.ms, and consuming does"
    " not start"
)
_ISOLATION = (
    "whether the group reads with isolation.level=read_committed, which no record says: read_uncommitted is not blocked"
)
