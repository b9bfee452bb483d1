"""What the coordinators say: current states, whose a producer id is, and which transactions listed a partition."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.copies import IS_COORDINATOR, LACKS_END
from txnlog.detection.times import within_calendar

ID = ("cluster", "transactional_id")
PLACE = ("cluster", "coordinator_partition")
# A new producer id starts with an Empty record at epoch 0, before its producer can write anything
# (`TransactionMetadata.prepareProducerIdRotation`). Any later start of its producer raises the epoch.
IS_BIRTH = "state = 'Empty' AND producer_epoch = 0"
# A transaction of an id, from its first Ongoing record to its Complete record.
IS_UNDER_WAY = "state IN ('Ongoing', 'PrepareCommit', 'PrepareAbort')"
# When a record was written (ms): the later one of what it says and of its batch. A Complete* record carries the time at
# which its markers were first sent (`TransactionMetadata.prepareComplete`), its batch the time at which they had all
# been written: where one of them is long in coming, that is much later.
WRITTEN = f"greatest(last_update_timestamp, {within_calendar('append_timestamp')})"
# The records of an id in their order.
_IN_TURN = f"PARTITION BY {', '.join(ID)} ORDER BY offset"


def chosen_states(states: DataFrame, copies: DataFrame) -> DataFrame:
    """The records of the chosen copy of each coordinator partition; damaged ones stay, with their `problem`."""
    chosen = copies.where(IS_COORDINATOR).selectExpr(
        "cluster", "broker", "log_dir", "partition AS coordinator_partition"
    )
    place = ["cluster", "broker", "log_dir", "coordinator_partition"]
    return states.join(chosen, place, "left_semi").transform(within_calendars)


def within_calendars(states: DataFrame) -> DataFrame:
    """Times that no calendar holds become null, so that no sum of them overflows."""
    times = ("last_update_timestamp", "start_timestamp")
    return states.selectExpr(
        "* EXCEPT (timeout_ms, last_update_timestamp, start_timestamp)",
        "CAST(timeout_ms AS bigint) AS timeout_ms",
        *(f"{within_calendar(name)} AS {name}" for name in times),
    )


def coordinator_coverage(
    states: DataFrame, copies: DataFrame, times: DataFrame, taken: DataFrame, disagreeing: DataFrame
) -> DataFrame:
    """One row per coordinator partition in the dump. `taken`: the stretches that the records in `states` are from.

    `whole_from_offset`: every record from there to the end of the copy is there and could be read; null where the end
    itself is missing, or copies disagree (`copies_disagree`). `whole_from` is the time (ms) from which on that holds,
    0 where the log is whole from its start and that is of its first epoch: the later one of what the first such record
    says and of its batch, as a Complete* record carries the time of its preparation
    (`TransactionMetadata.prepareComplete`), possibly long before it was appended. `copied_whole_from_offset` and
    `copied_whole_from` are the same without what earlier dumps showed. `certain_from_offset`: an id's record
    from there on is its current state, and no damage hides a later one. `gapless_from_offset`: no offset is missing
    from there on; `are_listed`: a listing shows that no segment
    is missing below; `others_reach`: another copy has something from there on. `coordinator_as_of` and
    `coordinator_copy_from` (ms) are no later than the last record of a partition of which fewer brokers have a copy
    than of another, and of any other no later than the first of its copies or its last record.
    """
    # A copy without an end is one that could not be opened: missing. With fewer copies than others have, the leader's
    # may be missing, and a follower that had fallen behind proves what it has and nothing more.
    logs = copies.where(f"{IS_COORDINATOR} AND log_end_offset IS NOT NULL").selectExpr(
        "*",
        "partition AS coordinator_partition",
        "brokers < max(brokers) OVER (PARTITION BY cluster) AS may_lack_leader",
    )
    history = summed(
        taken,
        PLACE,
        "min(history_from) AS history_from",
        "min(copied_from) AS copied_from",
        "min(archived_since) AS archived_since",
        "min(archived_epoch) AS archived_epoch",
        "bool_or(archive_differs) AS archive_differs",
        "bool_and(are_listed) AS are_listed",
        "bool_and(others_reach) AS others_reach",
    )
    is_of_history = "offset >= copied_from AND last_update_timestamp IS NOT NULL"
    records = summed(
        states.join(history, [*PLACE], "inner"),
        PLACE,
        "max(offset) FILTER (WHERE problem IS NOT NULL) AS broken",
        f"max({WRITTEN}) AS latest_record",
        f"min_by({WRITTEN}, offset) FILTER (WHERE {is_of_history}) AS first_time",
        f"min_by(coordinator_epoch, offset) FILTER (WHERE {is_of_history}) AS first_epoch",
    )
    end_is_missing = (
        f"tail_producer_id IS NOT NULL OR damaged_to > log_end_offset OR {LACKS_END}"
        " OR (high_watermark IS NULL AND NOT is_text)"
    )
    return (
        logs.join(records, [*PLACE], "left")
        .join(history, [*PLACE], "left")
        .join(disagreeing, [*PLACE], "left")
        .join(times, ["cluster", "broker", "log_dir"], "left")
        .selectExpr(
            "* EXCEPT (copies_disagree)",
            "coalesce(copies_disagree, false) OR coalesce(archive_differs, false) AS copies_disagree",
            "history_from < copied_from AS is_archived",
            f"NOT coalesce({end_is_missing}, false) AS has_end",
            # A follower that is copied after its leader may have what it had fetched before: the earliest copy counts.
            "coalesce(latest_record, 0) AS latest",
            "greatest(if(NOT may_lack_leader, coordinator_since, NULL), latest) AS proven_copy_from",
            "greatest(if(NOT may_lack_leader, least(shown_since, coordinator_since), NULL), latest) AS proven_as_of",
            # A replica that lost its disk and was elected nevertheless begins at offset 0 as well, but not in the first
            # epoch.
            "if(is_archived, archived_epoch = 0, first_time IS NULL OR first_epoch = 0) AS is_of_first_epoch",
            "first_time IS NULL OR first_epoch = 0 AS is_copied_of_first_epoch",
            # The cleaner leaves gaps, but always keeps an id's last record; a missing segment does not.
            "if(NOT coalesce(cleaned_to >= gap_to, false), gap_to, NULL) AS unexplained_gap",
        )
        .selectExpr(
            *PLACE,
            "if(has_end AND NOT copies_disagree, history_from, NULL) AS whole_from_offset",
            "if(has_end AND NOT copies_disagree, copied_from, NULL) AS copied_whole_from_offset",
            "if(has_end, greatest(first_base_offset, damaged_to, broken + 1, unexplained_gap), NULL)"
            " AS certain_from_offset",
            "history_from AS gapless_from_offset",
            "are_listed",
            "others_reach",
            "least(shown_as_of, proven_as_of) AS coordinator_as_of",
            "as_of_is_plausible AS coordinator_as_of_is_plausible",
            "is_text AS coordinator_is_text",
            "copies_disagree",
            "least(copy_from, proven_copy_from) AS coordinator_copy_from",
            "copy_to AS coordinator_copy_to",
            "if(whole_from_offset = 0 AND is_of_first_epoch, 0, if(whole_from_offset IS NULL, NULL, if(is_archived,"
            " archived_since, first_time))) AS whole_from",
            "if(copied_whole_from_offset = 0 AND is_copied_of_first_epoch, 0, if(copied_whole_from_offset IS NULL, NULL,"
            " first_time)) AS copied_whole_from",
        )
    )


def producer_ids(states: DataFrame) -> DataFrame:
    """Which transactional id each producer id belongs to: one row per pair that any record names.

    An id changes its producer id when the epochs are used up, so the ones before and after count as well.
    `known_since` (ms) is the earliest record that names it, `born_at` the one that gave it out (`IS_BIRTH`).
    """
    named = (
        states.where("transactional_id IS NOT NULL AND producer_id IS NOT NULL AND problem IS NULL")
        .selectExpr(
            *PLACE,
            "transactional_id",
            "producer_id AS own_id",
            "last_update_timestamp",
            f"if({IS_BIRTH}, last_update_timestamp, NULL) AS born_at",
            "explode(array_distinct(array(producer_id, previous_producer_id, next_producer_id))) AS producer_id",
        )
        .where("producer_id >= 0")
    )
    return summed(
        named,
        ("cluster", "producer_id", "transactional_id", "coordinator_partition"),
        "min(last_update_timestamp) AS known_since",
        "min(if(producer_id = own_id, born_at, NULL)) AS born_at",
    )


def histories(states: DataFrame, ids: DataFrame) -> DataFrame:
    """All records of the given ids (columns of `ID`) in their order, each with its neighbours and its transaction.

    `transaction` numbers the transactions of an id; `ended_timestamp` is when the next record was written, the one
    that says a Prepare* record's markers are all written; `is_current` marks the highest offset.
    """
    readable = states.where("transactional_id IS NOT NULL AND problem IS NULL")
    return (
        readable.join(ids, [*ID], "left_semi")
        .selectExpr("*", f"coalesce({IS_UNDER_WAY}, false) AS is_under_way")
        .selectExpr(
            "*",
            f"coalesce(lag(is_under_way) OVER ({_IN_TURN}), false)"
            f" AND lag(start_timestamp) OVER ({_IN_TURN}) <=> start_timestamp"
            f" AND lag(producer_id) OVER ({_IN_TURN}) <=> producer_id AS continues",
            f"lead({WRITTEN}) OVER ({_IN_TURN}) AS ended_timestamp",
            f"lead(offset) OVER ({_IN_TURN}) IS NULL AS is_current",
        )
        .selectExpr(
            "* EXCEPT (is_under_way, continues)",
            f"count_if(is_under_way AND NOT continues) OVER ({_IN_TURN}"
            " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS transaction",
        )
    )


def current_states(history: DataFrame) -> DataFrame:
    """The current state of each id: the record with the highest offset, as columns `current_…`."""
    return history.where("is_current").selectExpr(
        *ID,
        "struct(state, is_tombstone, producer_id, previous_producer_id, producer_epoch, timeout_ms, topic_partitions,"
        " last_update_timestamp, start_timestamp, client_transaction_version,"
        " coordinator_epoch AS epoch_of_coordinator, offset, file, position) AS current",
    )


def births(history: DataFrame, coverage: DataFrame) -> DataFrame:
    """One row per (transactional id, producer id) that was given out within the range of whole records.

    Nothing of it was written before. `is_born_in_range` is true.
    """
    in_range = (
        history.where(IS_BIRTH)
        .join(coverage.selectExpr(*PLACE, "whole_from_offset"), [*PLACE], "inner")
        .where("offset >= whole_from_offset")
    )
    return summed(in_range, (*ID, "producer_id"), "true AS is_born_in_range")


# The partition of a transactional id's producer id.
_PAIR = ("cluster", "producer_id", "transactional_id", "topic", "partition")
_OF_PAIR = f"PARTITION BY {', '.join(_PAIR)} ORDER BY listed_offset"
_PREPARED = (
    "struct(offset, state, producer_epoch AS epoch, last_update_timestamp AS timestamp, ended_timestamp,"
    " coordinator_epoch, file, position)"
)
_COMMIT = (
    "struct(prepared.offset, prepared.epoch, prepared.timestamp, prepared.ended_timestamp, prepared.file,"
    " prepared.position, client_transaction_version)"
)


def listings(history: DataFrame, clock_skew_ms: int) -> DataFrame:
    """One row per (producer id, partition): the last transaction of the producer id that listed the partition.

    `listing` has its Prepare* record (epoch, time, outcome, place) and when it ended. `committed` is the last of these
    transactions that was committed and has ended. Transactions of one epoch that end within twice the clock skew of
    one another cannot be told apart by the times of their markers: `commits_in_group` counts the commits in the group
    that `committed` belongs to, and `group_from` (ms) is when its first transaction was decided.
    """
    listed = history.where(IS_UNDER_WAY).selectExpr("*", "inline(topic_partitions)")
    per_transaction = summed(
        listed,
        (*_PAIR, "transaction"),
        "max(offset) AS listed_offset",
        f"max(if(state <> 'Ongoing', {_PREPARED}, NULL)) AS prepared",
        "max_by(struct(state, offset, file, position), offset) AS last_record",
        "max(client_transaction_version) AS client_transaction_version",
    )
    # The one before, past any whose Prepare* record is not there.
    previous = f"last_value(prepared, true) OVER ({_OF_PAIR} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    is_commit = "prepared.state = 'PrepareCommit' AND prepared.ended_timestamp IS NOT NULL"
    grouped = per_transaction.selectExpr("*", f"{previous} AS previous").selectExpr(
        "*",
        "count_if(NOT coalesce(previous.epoch = prepared.epoch"
        f" AND prepared.timestamp - previous.ended_timestamp <= {2 * clock_skew_ms}, false))"
        f" OVER ({_OF_PAIR} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS group",
    )
    of_groups = summed(
        grouped,
        (*_PAIR, "group"),
        "max_by(struct(prepared, last_record, listed_offset, client_transaction_version), listed_offset) AS listing",
        f"max_by({_COMMIT}, listed_offset) FILTER (WHERE {is_commit}) AS committed",
        f"count_if({is_commit}) AS commits_in_group",
        "min(prepared.timestamp) AS group_from",
    )
    latest = summed(
        of_groups,
        _PAIR,
        "max_by(listing, group) AS listing",
        "max_by(struct(committed, commits_in_group, group_from), group) FILTER (WHERE committed IS NOT NULL)"
        " AS commits",
    )
    return latest.selectExpr(*_PAIR, "listing", "commits.*")
