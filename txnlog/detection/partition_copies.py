"""Which copy of each partition is used, and how complete it is.

Copies of one partition are never unioned: the one with the highest last leader epoch counts, then the one with the
highest log end offset. A lagging follower may lack a marker that the leader has. Raw segments come before texts.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.format.checkpoint import CLEANED_TO, HIGH_WATERMARKS, LOG_STARTS
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.keys import COPY, LOG_DIR, PARTITION

# Whose batch a tail starts that is too short to say it.
UNKNOWN_PRODUCER_ID = -2
# Segments below the newest producer snapshot. Those that cannot be read have `damaged_to`.
IS_NOT_NEEDED = "bytes_skipped > 0 AND damaged_to IS NULL"
# Something shows that the log reaches beyond the chosen copy.
LACKS_END = (
    "highest_watermark > log_end_offset OR snapshot_above_end IS NOT NULL OR longest_log_end_offset > log_end_offset"
    " OR epochs_to > log_end_offset OR bytes_missing IS NOT NULL OR are_of_several_logs"
)
# The same, or its last batch is cut, whoever wrote that.
IS_CUT = f"(coalesce({LACKS_END}, false) OR tail_producer_id IS NOT NULL)"
# The chosen copy begins where the broker's log did when it was copied: no segment below it is missing.
STARTS_WITH_LOG = (
    "(first_base_offset = 0 OR epochs_from = first_base_offset OR log_start_checkpoint >= first_base_offset)"
    " AND NOT lowest_base_offset < first_base_offset"
)
IS_COORDINATOR = f"topic = '{TRANSACTION_STATE}'"
# The files of a copy in their order: its segments first, so that segments are adjacent to segments only.
_ORDER = ("kind <> 'segment'", "base_offset", "file")
_OF_COPY = f"PARTITION BY {', '.join(COPY)}"
_IN_COPY = f"{_OF_COPY} ORDER BY {', '.join(_ORDER)}"
_BACKWARDS = f"{_OF_COPY} ORDER BY {', '.join(f'{each} DESC' for each in _ORDER)}"
_BEFORE, _AFTER = (f"OVER ({each} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)" for each in (_IN_COPY, _BACKWARDS))
# The copies of a partition in their order, the one that is used first. That of the live coordinators
# (`live/coordinator_facts.py`) wins a tie by the name of its broker.
_OF_PARTITION = f"PARTITION BY {', '.join(PARTITION)}"
_RANKED = (
    f"OVER ({_OF_PARTITION} ORDER BY is_text, last_leader_epoch DESC NULLS LAST, log_end_offset DESC,"
    " damaged_to ASC NULLS FIRST, broker, log_dir)"
)
_RANKS = ("rank", "text_epoch", "next_is_text", "next_epoch", "next_log_end_offset")


def partition_copies(files: DataFrame, checkpoints: DataFrame) -> DataFrame:
    """One row per copy of a partition: where it starts and ends, and below which offset something is missing.

    `damaged_to` and `gap_to` bound damage and gaps from above; `is_hidden_end` says that a file which could not be
    opened may reach beyond the rest; `snapshot_offset` is the newest valid producer snapshot of this log;
    `snapshot_above_end` one that was taken of a longer log than this. `unlisted_from` is where the first segment
    starts that no listing had as long as it is; null where all were listed.
    """
    logs = summed(files.where("topic IS NOT NULL").transform(_with_adjacent_segments), COPY, *_OF_FILES)
    offsets = summed(
        checkpoints,
        COPY,
        f"max(checkpoint_offset) FILTER (WHERE checkpoint = '{HIGH_WATERMARKS}') AS high_watermark",
        f"max(checkpoint_offset) FILTER (WHERE checkpoint = '{LOG_STARTS}') AS log_start_checkpoint",
        f"max(checkpoint_offset) FILTER (WHERE checkpoint = '{CLEANED_TO}') AS cleaned_to",
    )
    # From which snapshot on a log is read is another question: `txnlog.sources.reading_start`.
    is_usable = "each -> each.is_valid AND each.offset <= log_end_offset AND each.offset >= first_base_offset"
    return (
        logs.where("segments > 0")
        .join(offsets, [*COPY], "left")
        .selectExpr(
            "*",
            f"array_max(filter(snapshots, {is_usable})).offset AS snapshot_offset",
            f"array_min(filter(snapshots, {is_usable})).offset AS first_snapshot_offset",
            "array_max(filter(snapshots, each -> each.offset > log_end_offset)).offset AS snapshot_above_end",
            "greatest(first_base_offset, coalesce(log_start_checkpoint, 0)) AS log_start_offset",
        )
        .drop("segments", "snapshots")
    )


def ranked_copies(copies: DataFrame) -> DataFrame:
    """All copies, with what `believed` chooses by. A copy whose last file could not be opened may end anywhere."""
    return copies.selectExpr(
        "* EXCEPT (bytes_missing)",
        # Which copy is the leader's is not known: what any of them lacks may be missing in all.
        f"max(bytes_missing) OVER ({_OF_PARTITION}) AS bytes_missing",
        f"max(high_watermark) OVER ({_OF_PARTITION}) AS highest_watermark",
        f"row_number() {_RANKED} AS rank",
        f"CAST(count(*) OVER ({_OF_PARTITION}) AS int) AS copies",
        f"size(collect_set(broker) OVER ({_OF_PARTITION})) AS brokers",
        f"max(if(is_hidden_end, {NOTHING_FOLLOWS}, log_end_offset)) OVER ({_OF_PARTITION}) AS longest_log_end_offset",
        f"min(first_base_offset) OVER ({_OF_PARTITION}) AS lowest_base_offset",
        f"coalesce(min(topic_id) OVER ({_OF_PARTITION}) <> max(topic_id) OVER ({_OF_PARTITION}), false)"
        " AS are_of_several_topics",
        f"max(struct(last_leader_epoch, epochs_to)) OVER ({_OF_PARTITION}) AS latest",
        f"max(if(is_text, last_leader_epoch, NULL)) OVER ({_OF_PARTITION}) AS text_epoch",
        f"lead(is_text) {_RANKED} AS next_is_text",
        f"lead(last_leader_epoch) {_RANKED} AS next_epoch",
        f"lead(log_end_offset) {_RANKED} AS next_log_end_offset",
    ).selectExpr(
        "* EXCEPT (are_of_several_topics, latest)",
        # What one copy has in an earlier epoch, the latest leader has written anew.
        "are_of_several_topics OR coalesce(bool_or(last_leader_epoch < latest.last_leader_epoch"
        f" AND log_end_offset > latest.epochs_to) OVER ({_OF_PARTITION}), false) AS are_of_several_logs",
    )


def with_earliest(ranked: DataFrame, times: DataFrame) -> DataFrame:
    """Add `copied_since` and `shown_since` (ms): `copy_from` and `shown_as_of` of the partition's copy taken first.

    And `coordinator_since`, its `coordinator_from` (`copy_times`). Which copy is the leader's is not known: what the
    believed one has may be what its follower had fetched long before it was copied.
    """
    taken = times.selectExpr(*LOG_DIR, "copy_from", "shown_as_of", "coordinator_from")
    return ranked.join(taken, [*LOG_DIR], "left").selectExpr(
        "* EXCEPT (copy_from, shown_as_of, coordinator_from)",
        f"min(copy_from) OVER ({_OF_PARTITION}) AS copied_since",
        f"min(shown_as_of) OVER ({_OF_PARTITION}) AS shown_since",
        f"min(coordinator_from) OVER ({_OF_PARTITION}) AS coordinator_since",
    )


def believed(ranked: DataFrame) -> DataFrame:
    """The first of each partition's `ranked_copies`, and why it is that."""
    return (
        ranked.where("rank = 1")
        .selectExpr(
            "*",
            "NOT is_text AND coalesce(text_epoch > last_leader_epoch, false) AS text_is_newer",
            "CASE WHEN copies = 1 THEN 'the only copy'"
            " WHEN next_is_text AND NOT is_text THEN 'raw segments, which have more than kafka-dump-log output'"
            " WHEN next_epoch IS NULL OR last_leader_epoch > next_epoch THEN 'highest last leader epoch'"
            " WHEN log_end_offset > next_log_end_offset THEN 'highest log end offset'"
            " ELSE 'as long as the others, first by broker name' END AS chosen_because",
        )
        .drop(*_RANKS, "is_hidden_end")
    )


def _with_adjacent_segments(files: DataFrame) -> DataFrame:
    """What one segment says of another: gaps between them, overlaps, and where damage at an end must stop.

    What was not needed was not read: a broker believes that it reaches to the next segment, and so do we. What has no
    offset in its name may lie anywhere: nothing follows it.
    """
    return (
        files.selectExpr(
            "*",
            "coalesce(first_offset, base_offset) AS starts",
            f"lead(if(kind = 'segment', base_offset, NULL)) OVER ({_IN_COPY}) AS next_base_offset",
            f"min(if(kind = 'segment', coalesce(first_offset, base_offset), NULL)) {_AFTER} AS next_start",
            "if(base_offset IS NOT NULL, next_start, NULL) AS follows",
            f"coalesce(last_offset + 1, if({IS_NOT_NEEDED}, next_base_offset, NULL), base_offset) AS ends",
        )
        .selectExpr("*", f"coalesce(max(ends) {_BEFORE}, base_offset) AS end_before")
    )  # fmt: skip


_OF_FILES = (
    "count_if(kind = 'segment') AS segments",
    "min(base_offset) FILTER (WHERE kind = 'segment') AS first_base_offset",
    "max(coalesce(last_offset + 1, base_offset)) FILTER (WHERE kind = 'segment') AS log_end_offset",
    # A leader enters its epoch before it appends anything (`Partition.makeLeader`).
    (
        "max(partition_leader_epoch) FILTER (WHERE kind = 'segment'"
        " OR (kind = 'leader_epoch_checkpoint' AND problem IS NULL)) AS last_leader_epoch"
    ),
    # Damage within a segment ends where the next one starts, if there is any: `least` alone would skip a null.
    # Segments that overlap damage one another. Only the newest one may end in a batch that was being written.
    (
        "max(greatest(if(damaged_to IS NOT NULL, least(damaged_to, follows), NULL),"
        " if(starts < end_before, greatest(end_before, last_offset + 1), NULL),"
        " if(tail_producer_id IS NOT NULL AND follows IS NOT NULL, follows, NULL)))"
        " FILTER (WHERE kind = 'segment') AS damaged_to"
    ),
    "max(greatest(gap_to, if(starts > end_before, starts, NULL))) FILTER (WHERE kind = 'segment') AS gap_to",
    "max(tail_producer_id) FILTER (WHERE kind = 'segment' AND follows IS NULL) AS tail_producer_id",
    "coalesce(bool_or(batches IS NULL AND follows IS NULL) FILTER (WHERE kind = 'segment'), false) AS is_hidden_end",
    "coalesce(bool_or(is_text) FILTER (WHERE kind = 'segment'), false) AS is_text",
    "min(coalesce(base_offset, 0)) FILTER (WHERE kind = 'segment' AND complete_at IS NULL) AS unlisted_from",
    "max(bytes_missing) AS bytes_missing",
    "max(topic_id) AS topic_id",
    "max(broker_timestamp) FILTER (WHERE kind = 'segment') AS latest_broker_timestamp",
    # A broker keeps its epochs within the log: it moves the first one up to the log start
    # (`LeaderEpochFileCache.truncateFromStart`).
    "min(first_offset) FILTER (WHERE kind = 'leader_epoch_checkpoint' AND problem IS NULL) AS epochs_from",
    "max(last_offset) FILTER (WHERE kind = 'leader_epoch_checkpoint' AND problem IS NULL) AS epochs_to",
    (
        "collect_list(struct(base_offset AS offset, problem IS NULL AS is_valid))"
        " FILTER (WHERE kind = 'producer_snapshot') AS snapshots"
    ),
)
