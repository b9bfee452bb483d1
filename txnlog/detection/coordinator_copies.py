"""Records of `__transaction_state` from several copies: each broker cleans its own log, and one has what another lacks.

What earlier dumps showed is one more copy, as far as history goes (`txnlog.detection.whole_ranges`).

The current state of an id is that of the chosen copy. As history the records of other copies count as well, as far as
they are whole and below the high watermark: of each copy that reaches into what is whole in the one before it, starting
with the chosen one. A copy that ends right there may be of a log that went another way. Copies that disagree show that
records were lost in an unclean leader election.

The cleaner merges segments and removes those that it has merged (`UnifiedLog.replaceSegments`). A copy that is made
meanwhile may have the first one as it was and lack the next: a gap like those that the cleaner leaves. So what lies
below a gap is a current state only if another copy, or a listing made before, shows that nothing went missing.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.coordinator_records import ID, IS_UNREAD, PLACE, WRITTEN, within_calendars
from txnlog.detection.partition_copies import IS_COORDINATOR
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.times import within_calendar

OF_COPY = ("broker", "log_dir")
# What `Archive.reaching` says of a partition: from which offset on earlier dumps make its history whole, when that
# record was written (ms), its leader epoch, whether they show records that its log has lost, and when the first of the
# records was written that they show beyond the copy's end (ms).
OF_ARCHIVE = {
    "archived_from": "bigint", "archived_since": "bigint", "archived_epoch": "int", "archive_differs": "boolean",
    "archived_beyond": "bigint",
}  # fmt: skip
# Tells the records of two logs at one offset apart. A tombstone has no time but that of its batch. Each release's
# `kafka-dump-log` prints all of it.
CONTENT = (
    "xxhash64(transactional_id, producer_id, producer_epoch, state,"
    f" coalesce(last_update_timestamp, {within_calendar('append_timestamp')}))"
)
_OF_PLACE = f"OVER (PARTITION BY {', '.join(PLACE)})"


def coordinator_copies(states: DataFrame, ranked: DataFrame) -> DataFrame:
    """All copies of all coordinator partitions, of the `ranked_copies` of all partitions.

    `whole_from`: every record from that offset to the copy's end is there and can be read. `certain_to`: every broker
    that could lead had the records below; null where nobody says so. `is_chosen`: whether it is the copy that is
    believed, and `own_from` from where on that is whole. `others`: the copies that have what lies before, one after
    the other back in time, each with the offsets that are taken from it. `history_from`: every record from that offset
    on is in one of them. `epochs`: leader epochs of its records, each with the first and the last offset that is left.
    `earliest` and `latest` (ms): when the first and the last of its records were written, by their times (`WRITTEN`).
    """
    return (
        ranked.where(f"{IS_COORDINATOR} AND log_end_offset IS NOT NULL")
        .withColumnRenamed("partition", "coordinator_partition")
        .join(_epochs(states), [*PLACE, *OF_COPY], "left")
        .selectExpr(
            *PLACE,
            *OF_COPY,
            "rank = 1 AS is_chosen",
            "coalesce(is_text, false) AS is_text",
            "greatest(first_base_offset, damaged_to, gap_to, broken + 1) AS whole_from",
            "if(is_text OR high_watermark IS NULL, NULL, least(log_end_offset, high_watermark)) AS certain_to",
            "log_end_offset",
            "unlisted_from",
            "topic_id",
            "epochs",
            "earliest",
            "latest",
        )
        .selectExpr(
            "*",
            f"bool_or(is_chosen) {_OF_PLACE} AS has_chosen",
            f"max(if(is_chosen, whole_from, NULL)) {_OF_PLACE} AS own_from",
            f"max(if(is_chosen, log_end_offset, NULL)) {_OF_PLACE} AS own_end",
            f"max(if(is_chosen OR is_text, NULL, log_end_offset)) {_OF_PLACE} AS others_end",
        )
        .transform(_with_others)
    )


def _with_others(copies: DataFrame) -> DataFrame:
    """The copies with their `others` and `history_from`, as `coordinator_copies` has them."""
    # They share a record, so that all before it is the same in both logs (KIP-101), or `disagreements` says otherwise.
    reaching = (
        "array_sort(filter(candidates, each -> each.whole_from < element_at(taken, -1).whole_from"
        " AND each.certain_to > element_at(taken, -1).whole_from AND own_end > own_from))"
    )
    itself = "named_struct('whole_from', own_from, 'certain_to', own_end, 'broker', broker, 'log_dir', log_dir)"
    return copies.selectExpr(
        "*",
        f"collect_list(if(is_chosen, NULL, struct(whole_from, certain_to, broker, log_dir))) {_OF_PLACE} AS candidates",
        f"aggregate(candidates, array({itself}), (taken, _) -> concat(taken, slice({reaching}, 1, 1))) AS taken",
    ).selectExpr(
        "* EXCEPT (candidates, taken)",
        "transform(slice(taken, 2, size(taken)), (each, i) -> struct(each.broker, each.log_dir,"
        " each.whole_from AS from_offset, taken[i].whole_from AS to_offset)) AS others",
        "least(own_from, array_min(others.from_offset)) AS history_from",
    )


def _epochs(states: DataFrame) -> DataFrame:
    """The leader epochs in the records of each copy, when these were written, and which offset is the last `broken`."""
    of_epochs = summed(
        states.transform(within_calendars),
        (*PLACE, *OF_COPY, "coordinator_epoch"),
        f"max(offset) FILTER (WHERE {IS_UNREAD}) AS broken",
        "struct(coordinator_epoch AS epoch, min(offset) AS first_offset, max(offset) AS last_offset) AS epoch",
        f"min({WRITTEN}) AS earliest",
        f"max({WRITTEN}) AS latest",
    )
    return summed(
        of_epochs,
        (*PLACE, *OF_COPY),
        "max(broken) AS broken",
        "sort_array(collect_list(epoch)) AS epochs",
        "min(earliest) AS earliest",
        "max(latest) AS latest",
    )


def stretches(copies: DataFrame, archived: DataFrame | None = None) -> DataFrame:
    """From which copy each stretch of a coordinator partition is taken: `from_offset` to `to_offset` (excluded).

    `copies` are those of `coordinator_copies`. `history_from`: every record from that offset on is in one of them, or
    in what earlier dumps showed (`archived`, from `Archive.reaching`); `copied_from`: in one of them. `are_listed`: all
    segments below that were in a listing made before the copy, as long as they are. `others_reach`: another raw copy
    has something beyond it.
    """
    chosen = copies.where("is_chosen")
    # What the archive has, `archived_states` adds.
    own = "named_struct('broker', broker, 'log_dir', log_dir, 'from_offset', {}, 'to_offset', {})"
    in_turn = own.format("0L", "history_from"), own.format("coalesce(own_from, 0)", f"{NOTHING_FOLLOWS}L")
    reaching = (
        chosen.selectExpr("*", *(f"CAST(NULL AS {kind}) AS {name}" for name, kind in OF_ARCHIVE.items()))
        if archived is None
        else chosen.join(archived, [*PLACE], "left")
    )
    return (
        reaching.withColumnRenamed("history_from", "copied_from")
        .selectExpr("*", "least(copied_from, archived_from) AS history_from")
        .selectExpr(
            *PLACE,
            "history_from",
            "copied_from",
            *OF_ARCHIVE,
            "coalesce(unlisted_from >= history_from, true) AS are_listed",
            "coalesce(others_end > history_from, false) AS others_reach",
            f"inline(concat(array({', '.join(in_turn)}), others))",
        )
    )


def recorded_states(states: DataFrame, taken: DataFrame) -> DataFrame:
    """The records of all stretches; damaged ones stay, with their `problem`."""
    return (
        states.join(taken, [*PLACE, *OF_COPY], "inner")
        .where("offset >= from_offset AND offset < to_offset")
        .drop("from_offset", "to_offset", "history_from", "copied_from", "are_listed", "others_reach", *OF_ARCHIVE)
        .transform(within_calendars)
    )


def whole_parts(states: DataFrame, copies: DataFrame) -> DataFrame:
    """What each raw copy of `coordinator_copies` shows whole and certain, and when its first and last record were
    written (`written_from`, `written_to`, ms); `started_from` (ms): no transaction in it started before. Only of logs
    whose topic id is known.
    """
    parts = copies.where("topic_id IS NOT NULL AND whole_from < certain_to").selectExpr(
        *PLACE, *OF_COPY, "topic_id", "whole_from", "certain_to", "epochs"
    )
    written = summed(
        states.transform(within_calendars)
        .join(parts.drop("topic_id", "epochs"), [*PLACE, *OF_COPY], "inner")
        .where("offset >= whole_from AND offset < certain_to"),
        (*PLACE, *OF_COPY),
        f"min_by({WRITTEN}, offset) AS written_from",
        f"max({WRITTEN}) AS written_to",
        "min(start_timestamp) AS started_from",
    )
    return parts.join(written.where("written_from IS NOT NULL"), [*PLACE, *OF_COPY], "inner")


def elsewhere(states: DataFrame, copies: DataFrame) -> DataFrame:
    """The readable records of the raw copies that are not believed, `copies` being those of `coordinator_copies`.

    `reaches`: its copy has something from where on the history is whole, so it had what is missing below.
    """
    others = copies.where("NOT is_chosen AND NOT is_text AND has_chosen").selectExpr(
        *PLACE, *OF_COPY, "log_end_offset > history_from AS reaches"
    )
    return (
        states.where("problem IS NULL AND transactional_id IS NOT NULL")
        .join(others, [*PLACE, *OF_COPY], "inner")
        .transform(within_calendars)
    )


def last_elsewhere(records: DataFrame, ids: DataFrame) -> DataFrame:
    """One row per id of `ids` that `elsewhere` has: the offset of the last record of it in the other copies
    (`last_elsewhere`) and in those that reach beyond what is missing (`last_reaching`), and whether that is a tombstone
    (`is_forgotten`).
    """
    return summed(
        records.join(ids, [*ID], "left_semi"),
        ID,
        "max(offset) AS last_elsewhere",
        "max(offset) FILTER (WHERE reaches) AS last_reaching",
        "max_by(is_tombstone, offset) AS is_forgotten",
    )


def disagreements(states: DataFrame, copies: DataFrame) -> DataFrame:
    """The coordinator partitions of which two copies differ: (cluster, partition).

    Records at one offset are not the same: those of coordinators of different epochs, or of a broker that was restored
    from a backup and whose epochs were given out once more. High watermarks do not matter: that of a broker that died
    is some seconds old, and what it had above was perhaps acknowledged.
    """
    of_offsets = summed(
        states.where("problem IS NULL")
        .join(copies.select(*PLACE, *OF_COPY), [*PLACE, *OF_COPY], "left_semi")
        .selectExpr("*", f"{CONTENT} AS content"),
        (*PLACE, "offset"),
        "min(content) <> max(content) AS differs",
    )
    return summed(of_offsets.where("differs"), PLACE, "true AS copies_disagree")
