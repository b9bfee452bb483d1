"""COMMIT markers as witnesses. Coordinators alone write them; ABORT markers are written by administrators, too.

So one that closed data proves that one more transaction of its producer id was committed there. What follows from those
that no record explains: `txnlog.detection.missing_records`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.coordinator_evidence import PRODUCER
from txnlog.detection.replay import KEY
from txnlog.dump_log.dump_text import NOT_PRINTED
from txnlog.keys import COPY, PARTITION
from txnlog.times import within_calendar

# A COMMIT or ABORT marker, or one of which kafka-dump-log does not say which it is: Kafka writes no other control
# batches within a transaction.
IS_MARKER = f"(marker_type IS NOT NULL OR (is_transactional AND coalesce(control_type, '') = '{NOT_PRINTED}'))"


def in_turn(batches: DataFrame, log: Sequence[str]) -> DataFrame:
    """The transactional data and markers of each producer id in each log, and which of them each follows (`closed`).

    `batches` are rows of `BatchRow`, `log` the columns that name a log: `PARTITION` where there is one copy of each,
    which spares a shuffle, else `COPY`. A marker closes data if data of its producer id comes right before it.
    """
    before = f"OVER (PARTITION BY {', '.join(log)}, producer_id ORDER BY base_offset)"
    return (
        batches.where("crc_valid AND is_transactional")
        .where(f"NOT is_control OR {IS_MARKER}")
        .selectExpr("*", f"lag(struct(is_control, producer_epoch AS epoch)) {before} AS closed")
    )


def needs_markers(clock_skew_ms: int) -> str:
    """The transactions of which only the number of COMMIT markers can tell whether the last commit's came."""
    return (
        "committed IS NOT NULL AND last_marker.producer_epoch = committed.epoch"
        f" AND coalesce(last_marker.max_timestamp, 0) <= committed.timestamp + {clock_skew_ms}"
    )


def with_commit_markers(
    transactions: DataFrame, batches: DataFrame, copies: DataFrame, clock_skew_ms: int
) -> DataFrame:
    """Add `closing_commits`: COMMIT markers of the group of `committed` that closed data here.

    `batches` are rows of `BatchRow`: at least all transactional batches of those that `needs_markers` names. A marker
    that was sent twice has nothing left to close, and does not count for another one.
    """
    wanted = transactions.where(needs_markers(clock_skew_ms)).selectExpr(
        *KEY, "committed.epoch AS commit_epoch", "group_from"
    )
    closing = (
        batches.join(copies, [*COPY], "left_semi")
        .join(wanted, [*KEY], "inner")
        .transform(in_turn, PARTITION)
        .where("NOT closed.is_control AND marker_type = 'COMMIT' AND producer_epoch = commit_epoch")
        .where(f"{within_calendar('max_timestamp')} >= group_from - {clock_skew_ms}")
    )
    counted = summed(closing, KEY, "count(*) AS closing_commits")
    return transactions.join(counted, [*KEY], "left").selectExpr(
        "* EXCEPT (closing_commits)", "coalesce(closing_commits, 0) AS closing_commits"
    )


def places_of_witnesses(transactions: DataFrame, sums: DataFrame, copies: DataFrame) -> DataFrame:
    """Copies (columns of `COPY`, producer_id) in which a COMMIT may have ended the epoch of open data elsewhere.

    A transaction of version 2 ends at the next epoch (KIP-890). So all places of its producer id count that reach the
    data's epoch, if one of them reaches a later one.
    """
    wanted = transactions.selectExpr(*PRODUCER, "first_producer_epoch AS open_epoch").distinct()
    return (
        sums.where("fact = 'producer' AND producer_epoch IS NOT NULL")
        .join(copies, [*COPY], "left_semi")
        .join(wanted, [*PRODUCER], "inner")
        .where("producer_epoch >= open_epoch AND first_producer_epoch <= open_epoch + 1")
        .selectExpr("*", "max(producer_epoch) OVER (PARTITION BY cluster, producer_id, open_epoch) AS latest")
        .where("latest > open_epoch")
        .selectExpr(*COPY, "producer_id")
        .distinct()
    )


def with_witnesses(transactions: DataFrame, batches: DataFrame, copies: DataFrame) -> DataFrame:
    """Add `witness`: a COMMIT elsewhere that closed data of the same producer id and epoch at the next epoch.

    Its topic, partition, base_offset and max_timestamp. `batches` are rows of `BatchRow`: at least all transactional
    batches in `places_of_witnesses`. There is none where a marker ended the epoch itself: clients before version 2 keep
    one epoch for many transactions, and a client may have changed to version 2 in between.
    """
    closing = (
        batches.join(copies, [*COPY], "left_semi")
        .join(transactions, [*PRODUCER], "left_semi")
        .transform(in_turn, PARTITION)
        .where("is_control AND NOT closed.is_control")
        .selectExpr("*", "closed.epoch AS first_producer_epoch")
    )
    is_witness = "marker_type = 'COMMIT' AND producer_epoch = closed.epoch + 1"
    marker = f"struct({within_calendar('max_timestamp')} AS max_timestamp, topic, partition, base_offset)"
    found = summed(
        closing,
        (*PRODUCER, "first_producer_epoch"),
        f"min(if({is_witness}, {marker}, NULL)) AS witness",
        "bool_or(producer_epoch = closed.epoch) AS is_shared",
    )
    unshared = found.where("witness IS NOT NULL AND NOT is_shared").drop("is_shared")
    return transactions.join(unshared, [*PRODUCER, "first_producer_epoch"], "left")
