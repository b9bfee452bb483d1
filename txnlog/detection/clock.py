"""When data was appended, by brokers' clocks: a producer may write any time into its batches.

Bounds come from what a broker dated before and after a batch in the same log (markers, LogAppendTime, the topics that
coordinators write), from when the coordinator handed out the producer id, from the times of files that do not change
any more, and from earlier dumps. Where bounds contradict each other, a clock was set, and none of them counts.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.coordinator_proofs import COMMITS_EXPLAINED
from txnlog.detection.replay import KEY
from txnlog.detection.rules import own_reason
from txnlog.keys import COPY, LOG_DIR, PARTITION

# What is compared with an earlier dump's transaction; there each name begins with `seen_`.
FIRST_BATCH = ("first_batch_leader_epoch", "first_batch_crc")
SEEN = ("batches", "bytes", "last_timestamp", "topic_id", "action", *FIRST_BATCH)
# After an unclean election another transaction may start at the same offset, and be as long.
_IS_ANOTHER = " OR ".join(f"{name} <> seen_{name}" for name in ("topic_id", *FIRST_BATCH))
# By this dump itself, too, when it is judged once more: a dump of other brokers may be as of the same time.
_IS_KEPT = "seen_action = 'KEEP'"
_IS_REST = (
    f"{_IS_KEPT} AND seen_start < log_start_offset AND start_offset >= log_start_offset"
    " AND coalesce(last_end.base_offset < seen_start, true) AND coalesce(topic_id = seen_topic_id, true)"
)
# This dump itself may have been judged by less.
_WAS_UNEXPLAINED = (
    f"seen_at <> as_of AND (lacking = '{COMMITS_EXPLAINED.name}'"
    f" OR array_contains(also_lacking, '{COMMITS_EXPLAINED.name}'))"
)
# What `with_sightings` adds.
_OF_OTHER_DUMPS = {
    "seen_until": "bigint", "seen_longer": "boolean", "kept_by": "string", "kept_with": "string",
    "seen_unexplained": "boolean",
}  # fmt: skip


def with_bounds(
    transactions: DataFrame, sums: DataFrame, files: DataFrame, copies: DataFrame, clock_skew_ms: int
) -> DataFrame:
    """Add the brokers' times around each open transaction: from its own file, and from those before and after it.

    `broker_timestamp_before_start`, `broker_timestamp_before` (its last batch) and `broker_timestamp_after` (that), ms;
    null where there are none.
    `complete_at` (ms): when its last batch was on the broker's disk at the latest, by a file that has not changed
    since, or by a listing made before the copy; null where neither says so.
    """
    is_before = "if(first_file_start IS NULL, next_file_start <= start_offset, file_start < first_file_start)"
    is_before_last = "if(last_file_start IS NULL, next_file_start <= last_batch_offset, file_start < last_file_start)"
    holds_it = "if(is_snapshot, file_start > last_batch_offset, file_start >= last_file_start)"
    bounds = summed(
        transactions.selectExpr(*KEY, "start_offset", "last_batch_offset", "first_file_start", "last_file_start").join(
            _files(sums, files, copies, clock_skew_ms), [*PARTITION], "inner"
        ),
        KEY,
        f"max(if({is_before}, latest, NULL)) AS before_files_start",
        f"max(if({is_before_last}, latest, NULL)) AS before_files",
        "min(if(file_start > coalesce(last_file_start, start_offset), earliest, NULL)) AS after_files",
        f"min(if({holds_it}, complete_at, NULL)) AS complete_at",
    )
    return transactions.join(bounds, [*KEY], "left").selectExpr(
        "* EXCEPT (first_file_start, last_file_start, before_files_start, before_files, after_files,"
        " broker_timestamp_before_start, broker_timestamp_before, broker_timestamp_after)",
        "greatest(broker_timestamp_before_start, before_files_start) AS broker_timestamp_before_start",
        "greatest(broker_timestamp_before, before_files) AS broker_timestamp_before",
        "least(broker_timestamp_after, after_files) AS broker_timestamp_after",
    )


def _files(sums: DataFrame, files: DataFrame, copies: DataFrame, clock_skew_ms: int) -> DataFrame:
    """The segments of the chosen copies and their snapshots: where each begins, brokers' times in it, its own time."""
    dated = files.transform(_with_file_times, clock_skew_ms)
    segments = (
        sums.where("fact = 'sums'")
        .join(copies, [*COPY], "left_semi")
        .selectExpr(
            *COPY,
            "file",
            "file_start",
            f"lead(file_start) OVER (PARTITION BY {', '.join(PARTITION)} ORDER BY file_start) AS next_file_start",
            "broker_timestamp_before_start AS latest",
            "broker_timestamp_after AS earliest",
        )
        .join(dated.selectExpr(*COPY, "file", "written_at", "listed_at"), [*COPY, "file"], "left")
        .selectExpr(
            *PARTITION,
            "file_start",
            "next_file_start",
            "latest",
            "earliest",
            # A sealed segment never changes again. The active one can grow between its stat and its reading: of that
            # only the listing says when it had all its bytes.
            "least(listed_at, if(next_file_start IS NOT NULL, written_at, NULL)) AS complete_at",
            "false AS is_snapshot",
        )
    )
    snapshots = (
        dated.where("kind = 'producer_snapshot' AND problem IS NULL")
        .join(copies, [*COPY], "left_semi")
        .selectExpr(
            *PARTITION,
            "base_offset AS file_start",
            "least(listed_at, written_at) AS complete_at",
            "true AS is_snapshot",
        )
    )
    return segments.unionByName(snapshots, allowMissingColumns=True)


def _with_file_times(files: DataFrame, clock_skew_ms: int) -> DataFrame:
    """Add `written_at` (ms), a file's modification time where the copy kept it, and `listed_at` (ms), when the listing
    had it as long as the copy. A file with a tail says nothing by its length: it may be preallocated.

    A copy that keeps times has no file that is older than what a broker dated in it, and has some that prove it.
    """
    everything = f"OVER (PARTITION BY {', '.join(LOG_DIR)})"
    modified = "if(coalesce(is_text, false), NULL, unix_millis(modified))"
    is_older = f"own_time + {clock_skew_ms} < broker_timestamp"
    is_sound = f"own_time + {clock_skew_ms} >= broker_timestamp"
    return files.selectExpr("*", f"if({modified} > 0, {modified}, NULL) AS own_time").selectExpr(
        *(*COPY, "file", "kind", "problem", "base_offset"),
        f"if(count_if({is_older}) {everything} = 0 AND count_if({is_sound}) {everything} > 0, own_time, NULL)"
        " AS written_at",
        "if(bytes_tail = 0, unix_millis(complete_at), NULL) AS listed_at",
    )


def has_same_batches(prefix: str) -> str:
    """Whether a transaction has the batches that another dump showed of it, in columns with this prefix, as SQL.

    After an unclean election others may be where some of them were. Of one below the log start others may be left by
    now, as many of the same size.
    """
    return (
        f"coalesce(batches = {prefix}batches AND bytes = {prefix}bytes AND last_timestamp <=> {prefix}last_timestamp"
        " AND start_offset >= log_start_offset, false)"
    )


def with_sightings(transactions: DataFrame, sightings: DataFrame | None) -> DataFrame:
    """Add what other dumps, earlier and later ones, showed of the same transaction.

    `seen_until` (ms): the end of the first copy that showed it with the same batches; null where its first one is gone,
    or where nothing says when that copy ended.
    `seen_longer`: another dump showed it with more batches; some of them may have been compacted away since.
    `kept_by` and `kept_with`: reason and confidence of the latest dump that proved it committed (KEEP), of the same
    topic id and first batch as far as both are known. A KEEP stays until it is disproved: it holds in older dumps, too,
    and for what is left of a transaction whose beginning is below the log start by now.
    Of other batches, and of what is left without the first, it says nothing certain: `kept_with` is MEDIUM then.
    `seen_unexplained`: another dump had a COMMIT marker that no record explains. Retention may have taken it since.
    """
    if sightings is None:
        return transactions.selectExpr(
            "*", *(f"CAST(NULL AS {kind}) AS {name}" for name, kind in _OF_OTHER_DUMPS.items())
        )
    has_same = f"is_at_same AND {has_same_batches('seen_')}"
    is_same = f"{has_same} AND seen_at < as_of AND first_batch_crc IS NOT NULL" + "".join(
        f" AND {name} <=> seen_{name}" for name in FIRST_BATCH
    )
    names = "start_offset", "batches", "bytes", "last_timestamp", "topic_id", "as_of", "log_start_offset", "last_end"
    now = transactions.selectExpr(*KEY, *names, *FIRST_BATCH)
    shown = sightings.selectExpr(
        *(*KEY, "start_offset AS seen_start", "seen_at", "seen_until"),
        *("reason", "confidence", "lacking", "also_lacking"),
        *(f"{name} AS seen_{name}" for name in SEEN),
    )
    seen = shown.join(now, [*KEY], "inner").selectExpr("*", "start_offset = seen_start AS is_at_same")
    earlier = summed(
        seen.where(f"(is_at_same AND NOT coalesce({_IS_ANOTHER}, false)) OR ({_IS_REST})"),
        (*KEY, "start_offset"),
        f"min(if({is_same}, seen_until, NULL)) AS seen_until",
        "bool_or(is_at_same AND seen_batches > batches) AS seen_longer",
        f"max_by({own_reason('reason')}, seen_at) FILTER (WHERE {_IS_KEPT}) AS kept_by",
        f"max_by(if({has_same}, confidence, 'MEDIUM'), seen_at) FILTER (WHERE {_IS_KEPT}) AS kept_with",
        f"bool_or(is_at_same AND {_WAS_UNEXPLAINED}) AS seen_unexplained",
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
    # A time after the copy's is of a clock that was ahead, and says nothing about what came after it.
    of_past = f"if({{0}} <= as_of + {clock_skew_ms}, {{0}}, NULL)"
    before, before_start = map(of_past.format, ("broker_timestamp_before", "broker_timestamp_before_start"))
    # The producer's time of the last batch can be the broker's, too.
    agrees = (
        f"last_timestamp >= 0 AND NOT clocks_contradict AND last_timestamp <= as_of + {clock_skew_ms}"
        f" AND coalesce(last_timestamp >= lower - {clock_skew_ms}, true)"
        f" AND coalesce(last_timestamp <= upper + {clock_skew_ms}, true)"
    )
    return transactions.selectExpr(
        "*",
        "if(is_log_append_time, last_timestamp, NULL) AS own",
        f"greatest({before}, known_since) AS lower",
        "least(broker_timestamp_after, complete_at, seen_until, own) AS upper",
        f"coalesce(lower > upper + {clock_skew_ms} OR lower > as_of + {clock_skew_ms}, false) AS clocks_contradict",
        "if(clocks_contradict, NULL, upper) AS bounded_by",
        "if(clocks_contradict, NULL, greatest(lower, if(batches = 1, own, NULL))) AS known_before",
        f"if(clocks_contradict, NULL, greatest({before_start}, known_since, if(batches = 1, own, NULL))"
        f" - {clock_skew_ms}) AS started_after",
        f"coalesce(is_log_append_time OR ({agrees}), false) AS timestamps_trusted",
        "if(timestamps_trusted, last_timestamp, known_before) AS last_activity",
        "if(timestamps_trusted, last_timestamp, bounded_by) AS appended_by",
    ).drop("own", "lower", "upper")
