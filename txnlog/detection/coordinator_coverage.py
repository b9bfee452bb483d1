"""How far the copy of each coordinator partition can be believed: from which offset, and until when."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.coordinator_records import IS_UNREAD, PLACE, WRITTEN
from txnlog.detection.partition_copies import IS_COORDINATOR, IS_CUT
from txnlog.keys import LOG_DIR

LARGEST = (1 << 63) - 1
# Something says that the copy lacks the end of its log, or nothing says where that is.
_END_IS_MISSING = f"{IS_CUT} OR damaged_to > log_end_offset OR (high_watermark IS NULL AND NOT is_text)"


def coordinator_coverage(
    states: DataFrame, copies: DataFrame, times: DataFrame, taken: DataFrame, disagreeing: DataFrame
) -> DataFrame:
    """One row per coordinator partition in the dump. `taken`: the stretches that the records in `states` are from.

    `whole_from_offset`: the copy has every record from there to its end, and all can be read. Null if the end itself is
    missing, or if copies disagree (`copies_disagree`).
    `whole_from` (ms): when the first of these records was written (`WRITTEN`). 0 if the log is whole from its start,
    and the start is of the first epoch. `whole_from_epoch`: in which leader epoch it was.
    `copied_whole_from_offset` and `copied_whole_from`: the same without what earlier dumps showed.
    `certain_from_offset`: an id's record from there on is its current state, and no damage hides a later one.
    `damaged_to_offset`: damage may hide records up to there; 0 where there is none.
    `gapless_from_offset`: no offset is missing from there on. `are_listed`: a listing shows that no segment is missing
    below. `others_reach`: another copy has records from there on. `earliest_record` (ms): when the first one that is
    left was written.
    `coordinator_as_of` and `coordinator_copy_from` (ms): of a text beside segments, and of a partition of which fewer
    brokers have a copy than of another, no later than its last record; of any other, no later than the first of its
    copies or its last record.
    """
    history = _history(taken)
    return _with_proven_times(copies, _records(states, history), history, disagreeing, times).selectExpr(
        *PLACE,
        "if(has_end AND NOT copies_disagree, history_from, NULL) AS whole_from_offset",
        "if(has_end AND NOT copies_disagree, copied_from, NULL) AS copied_whole_from_offset",
        "if(has_end, greatest(first_base_offset, damaged_to, broken + 1, unexplained_gap), NULL)"
        " AS certain_from_offset",
        f"if(damaged_to > log_end_offset OR is_text AND NOT has_end, {LARGEST}, greatest(damaged_to, broken + 1, 0))"
        " AS damaged_to_offset",
        "history_from AS gapless_from_offset",
        "are_listed",
        "others_reach",
        "least(shown_as_of, proven_as_of) AS coordinator_as_of",
        "as_of_is_plausible AS coordinator_as_of_is_plausible",
        "is_text AS coordinator_is_text",
        "copies_disagree",
        "least(copy_from, proven_copy_from) AS coordinator_copy_from",
        "copy_ended AS coordinator_copy_ended",
        "earliest_record",
        _time_of("whole_from_offset", "is_of_first_epoch", "if(is_archived, archived_since, first_time)")
        + " AS whole_from",
        "if(is_archived, archived_epoch, first_epoch) AS whole_from_epoch",
        _time_of("copied_whole_from_offset", "is_copied_of_first_epoch", "first_time") + " AS copied_whole_from",
    )


def _time_of(offset: str, is_of_first_epoch: str, first_time: str) -> str:
    return f"if({offset} = 0 AND {is_of_first_epoch}, 0, if({offset} IS NULL, NULL, {first_time}))"


def _with_proven_times(
    copies: DataFrame, records: DataFrame, history: DataFrame, disagreeing: DataFrame, times: DataFrame
) -> DataFrame:
    # When a text was printed only its records tell if there are segments: they may have been copied a day later.
    is_dated = "NOT may_lack_leader AND (NOT coalesce(is_text, false) OR are_texts_alone)"
    return (
        _readable_copies(copies)
        .join(records, [*PLACE], "left")
        .join(history, [*PLACE], "left")
        .join(disagreeing, [*PLACE], "left")
        .join(times, [*LOG_DIR], "left")
        .selectExpr(
            "* EXCEPT (copies_disagree)",
            "coalesce(copies_disagree, false) OR coalesce(archive_differs, false) AS copies_disagree",
            "coalesce(history_from < copied_from, false) AS is_archived",
            # What another dump shows beyond its end, written before this copy was made, is missing in it.
            f"NOT coalesce({_END_IS_MISSING}, false) AND NOT coalesce(archived_beyond < copy_from, false) AS has_end",
            # A follower that is copied after its leader may have what it had fetched before: the earliest copy counts.
            "coalesce(latest_record, 0) AS latest",
            f"greatest(if({is_dated}, coordinator_since, NULL), latest) AS proven_copy_from",
            f"greatest(if({is_dated}, least(shown_since, coordinator_since), NULL), latest) AS proven_as_of",
            # A replica that lost its disk and was elected nevertheless begins at offset 0 as well, but not in the first
            # epoch. Of an empty log leader-epoch-checkpoint says it; where nothing does, it may be on a new disk.
            "coalesce(first_epoch, last_leader_epoch, -1) = 0 AS is_copied_of_first_epoch",
            "if(is_archived, archived_epoch = 0, is_copied_of_first_epoch) AS is_of_first_epoch",
            # The cleaner leaves gaps, but always keeps an id's last record; a missing segment does not.
            "if(NOT coalesce(cleaned_to >= gap_to, false), gap_to, NULL) AS unexplained_gap",
        )
    )


def _readable_copies(copies: DataFrame) -> DataFrame:
    # A copy without an end is one that could not be opened: missing. With fewer copies than others have, the leader's
    # may be missing, and a follower that lagged proves what it has and nothing more.
    return copies.where(f"{IS_COORDINATOR} AND log_end_offset IS NOT NULL").selectExpr(
        "*",
        "partition AS coordinator_partition",
        "brokers < max(brokers) OVER (PARTITION BY cluster) AS may_lack_leader",
    )


def _history(taken: DataFrame) -> DataFrame:
    return summed(
        taken,
        PLACE,
        "min(history_from) AS history_from",
        "min(copied_from) AS copied_from",
        "min(archived_since) AS archived_since",
        "min(archived_epoch) AS archived_epoch",
        "bool_or(archive_differs) AS archive_differs",
        "min(archived_beyond) AS archived_beyond",
        "bool_and(are_listed) AS are_listed",
        "bool_and(others_reach) AS others_reach",
    )


def _records(states: DataFrame, history: DataFrame) -> DataFrame:
    is_of_history = "offset >= copied_from AND last_update_timestamp IS NOT NULL"
    return summed(
        states.join(history, [*PLACE], "inner"),
        PLACE,
        f"max(offset) FILTER (WHERE {IS_UNREAD}) AS broken",
        f"max({WRITTEN}) AS latest_record",
        f"min({WRITTEN}) AS earliest_record",
        f"min_by({WRITTEN}, offset) FILTER (WHERE {is_of_history}) AS first_time",
        f"min_by(coordinator_epoch, offset) FILTER (WHERE {is_of_history}) AS first_epoch",
    )
