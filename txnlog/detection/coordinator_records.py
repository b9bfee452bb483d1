"""Records of `__transaction_state`: what they say by themselves, and which producer ids they name."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.partition_copies import IS_COORDINATOR
from txnlog.keys import LOG_DIR
from txnlog.times import within_calendar

ID = ("cluster", "transactional_id")
PLACE = ("cluster", "coordinator_partition")
# A new producer id starts with an Empty record at epoch 0, before its producer can write anything
# (`TransactionMetadata.prepareProducerIdRotation`). Any later start of its producer raises the epoch.
IS_BIRTH = "state = 'Empty' AND producer_epoch = 0"
# A transaction of an id, from its first Ongoing record to its Complete record.
IS_UNDER_WAY = "state IN ('Ongoing', 'PrepareCommit', 'PrepareAbort')"
# What cannot be decoded may say anything; so may a key of a version that is not known yet, which Kafka skips.
IS_UNREAD = "problem IS NOT NULL OR transactional_id IS NULL"
# When a record was written (ms): the later one of what it says and of its batch. A Complete* record carries the time at
# which its markers were first sent (`TransactionMetadata.prepareComplete`), its batch the time at which they had all
# been written: where one of them is long in coming, that is much later.
WRITTEN = f"greatest(last_update_timestamp, {within_calendar('append_timestamp')})"


def chosen_states(states: DataFrame, copies: DataFrame) -> DataFrame:
    """The records of the chosen copy of each coordinator partition; damaged ones stay, with their `problem`."""
    chosen = copies.where(IS_COORDINATOR).selectExpr(*LOG_DIR, "partition AS coordinator_partition")
    return states.join(chosen, [*LOG_DIR, "coordinator_partition"], "left_semi").transform(within_calendars)


def within_calendars(states: DataFrame) -> DataFrame:
    """Times that no calendar holds become null, so that no sum of them overflows."""
    times = ("last_update_timestamp", "start_timestamp")
    return states.selectExpr(
        "* EXCEPT (timeout_ms, last_update_timestamp, start_timestamp)",
        "CAST(timeout_ms AS bigint) AS timeout_ms",
        *(f"{within_calendar(name)} AS {name}" for name in times),
    )


def producer_ids(states: DataFrame) -> DataFrame:
    """The transactional ids of each producer id: one row per pair that any record names.

    An id changes its producer id when the epochs are used up, so the ones before and after count as well.
    `known_since` (ms) is the earliest record that names it, `born_at` the first one that is of it, if that gave it out
    (`IS_BIRTH`). `given_out_by` (ms): by then it had been given out.
    """
    named = (
        states.where("transactional_id IS NOT NULL AND producer_id IS NOT NULL AND problem IS NULL")
        .selectExpr(
            *PLACE,
            "transactional_id",
            "producer_id AS own_id",
            "last_update_timestamp",
            # A Complete* record of version 2 may be the first one of a new producer id. It has the start of the
            # transaction before it (`TransactionMetadata.prepareComplete`).
            "if(state IN ('CompleteCommit', 'CompleteAbort'), NULL, start_timestamp) AS began",
            "offset",
            f"if({IS_BIRTH}, last_update_timestamp, NULL) AS born_at",
            "explode(array_distinct(array(producer_id, previous_producer_id, next_producer_id))) AS producer_id",
        )
        .where("producer_id >= 0")
    )
    return summed(
        named,
        ("cluster", "producer_id", "transactional_id", "coordinator_partition"),
        "min(last_update_timestamp) AS known_since",
        # A Prepare* record names the next producer id, which the transaction that it ends did not have yet.
        "min(if(producer_id = own_id, least(began, last_update_timestamp), last_update_timestamp)) AS given_out_by",
        "min_by(born_at, offset) FILTER (WHERE producer_id = own_id) AS born_at",
    )
