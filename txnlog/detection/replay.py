"""Replay of a partition: which transactions are open at its end (`ProducerStateManager`, `ProducerAppendInfo`).

The key is the producer id alone. A marker closes whatever that producer id has open, at whatever epoch: a replica
that replays the log does the same, with only a warning. So a transaction is open if and only if transactional data
of its producer id lies after that id's last marker, and it starts with the first such batch.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.keys import COPY, PARTITION
from txnlog.times import within_calendar

KEY = (*PARTITION, "producer_id")
_OF_PRODUCER = f"PARTITION BY {', '.join(KEY)}"
_EVENT = ("base_offset", "producer_epoch", "coordinator_epoch", "marker_type", "max_timestamp", "file", "position")
_MARKER = "struct(base_offset, marker_type, producer_epoch, coordinator_epoch, max_timestamp, file, position)"
_OF_OPEN_DATA = (
    "first_timestamp", "first_leader_epoch", "first_crc", "last_batch_offset", "is_log_append_time", "batches",
    "records", "size_in_bytes", "lowest_producer_epoch", "file_start",
    "broker_timestamp_before_start", "broker_timestamp_before", "broker_timestamp_after",
)  # fmt: skip
_FIRST = (
    "struct(base_offset AS start_offset,"
    f" coalesce({within_calendar('first_timestamp')}, {within_calendar('max_timestamp')}) AS first_timestamp,"
    " file AS opened_file, position AS opened_position, first_leader_epoch AS first_batch_leader_epoch,"
    " first_crc AS first_batch_crc, file_start AS first_file_start, broker_timestamp_before_start)"
)
# A snapshot's entry knows the producer's last batch, which may lie after the start offset that it stands for.
_LAST = (
    f"struct({within_calendar('max_timestamp')} AS last_timestamp, producer_epoch, last_batch_offset,"
    " is_log_append_time, file_start AS last_file_start, broker_timestamp_before, broker_timestamp_after)"
)
_SUMS = (
    f"min_by({_FIRST}, struct(base_offset, is_seed)) AS first",
    f"max_by({_LAST}, struct(NOT is_seed, base_offset)) AS last",
    "any_value(last_marker) AS last_marker",
    "sum(batches) AS batches",
    # Null where a text does not say how many records a batch has.
    "if(count_if(NOT is_seed AND records IS NULL) = 0, coalesce(sum(if(is_seed, NULL, records)), 0), NULL) AS records",
    "sum(size_in_bytes) AS bytes",
    "min(if(is_seed, NULL, base_offset)) AS first_batch_offset",
    # A snapshot has the epoch of the last batch. If the first batch is not in the log, its epoch is unknown.
    (
        "if(min(base_offset) = min(if(is_seed, NULL, base_offset)), min(lowest_producer_epoch), NULL)"
        " AS first_producer_epoch"
    ),
    "min(if(is_seed, base_offset, NULL)) AS snapshot_start_offset",
    "max(if(is_seed, coordinator_epoch, NULL)) AS snapshot_coordinator_epoch",
)
# When the marker of a snapshot's entry was written (ms), or null: before 2.4.1 it may be the time of the producer's
# last batch (KAFKA-9144), and only a broker that writes topic ids, from 2.8 on, is certain to be newer.
# `kafka-dump-log` prints that time up to 3.0.
TIME_OF_MARKER = f"if(topic_id IS NOT NULL AND NOT is_text, {within_calendar('timestamp')}, NULL)"


def open_transactions(sums: DataFrame, snapshots: DataFrame, copies: DataFrame) -> DataFrame:
    """One row per open transaction of the chosen `copies`, by what their files add up to (`ReplayRow`).

    Seeded from the newest valid producer snapshot of each copy, which alone remembers transactions that start below
    the log start offset; where both show one, the smaller start offset wins.
    """
    events = _events(sums, copies).unionByName(_dated_seeds(snapshots, sums, copies))
    last_marker = f"max(if(marker_type IS NOT NULL, {_MARKER}, NULL)) OVER ({_OF_PRODUCER})"
    unended = events.selectExpr("*", f"{last_marker} AS last_marker").where(
        "marker_type IS NULL AND base_offset > coalesce(last_marker.base_offset, -1)"
    )
    return summed(unended, KEY, *_SUMS).selectExpr("* EXCEPT (first, last)", "first.*", "last.*")


def with_last_end(transactions: DataFrame, snapshots: DataFrame, copies: DataFrame) -> DataFrame:
    """Add `last_end`: the producer id's last marker, or of one that went with the log's start what snapshots know.

    Which kind of marker it was a snapshot does not say.
    """
    ended = (
        snapshots.where("current_txn_first_offset IS NULL AND coordinator_epoch >= 0")
        .join(copies.select(*COPY, "topic_id", "is_text"), [*COPY], "inner")
        .join(transactions.where("last_marker IS NULL").selectExpr(*KEY, "start_offset"), [*KEY], "inner")
        .where("snapshot_offset <= start_offset")
        .selectExpr(
            *(*KEY, "producer_epoch", "coordinator_epoch", "file", "position"),
            "snapshot_offset - 1 AS base_offset",
            "CAST(NULL AS string) AS marker_type",
            f"{TIME_OF_MARKER} AS max_timestamp",
        )
    )
    ends = summed(ended, KEY, f"max({_MARKER}) AS ended")
    return transactions.join(ends, [*KEY], "left").selectExpr(
        "* EXCEPT (ended)", "coalesce(last_marker, ended) AS last_end"
    )


def with_index(transactions: DataFrame, aborted: DataFrame, copies: DataFrame) -> DataFrame:
    """Add `index_aborts`: whether the transaction index of the chosen copy says that this transaction was aborted."""
    key = ["cluster", "topic", "partition", "producer_id", "start_offset"]
    entries = (
        aborted.join(copies, [*COPY], "left_semi")
        .selectExpr("cluster", "topic", "partition", "producer_id", "first_offset AS start_offset")
        .dropDuplicates()
        .selectExpr("*", "true AS index_aborts")
    )
    return transactions.join(entries, key, "left")


def _seeds(snapshots: DataFrame, copies: DataFrame) -> DataFrame:
    """What the newest valid snapshot holds open, as if it were a batch at the start offset."""
    return (
        snapshots.where("current_txn_first_offset IS NOT NULL")
        .join(copies, [*COPY, "snapshot_offset"], "left_semi")
        .selectExpr(
            *(*KEY, "producer_epoch", "coordinator_epoch", "file", "position"),
            "current_txn_first_offset AS base_offset",
            "CAST(NULL AS string) AS marker_type",
            "timestamp AS max_timestamp",
            "true AS is_seed",
        )
    )


def _events(sums: DataFrame, copies: DataFrame) -> DataFrame:
    renamed = {"base_offset": "start_offset AS base_offset", "max_timestamp": "last_timestamp AS max_timestamp"}
    return (
        sums.where("fact IN ('open_data', 'marker')")
        .join(copies, [*COPY], "left_semi")
        .selectExpr(*KEY, *(renamed.get(name, name) for name in (*_EVENT, *_OF_OPEN_DATA)), "false AS is_seed")
    )


def _dated_seeds(snapshots: DataFrame, sums: DataFrame, copies: DataFrame) -> DataFrame:
    """The seeds, with the brokers' times around the places at which they start."""
    # The first file that reaches a named offset holds it; later ones begin after it.
    named_offsets = summed(
        sums.where("fact = 'named_offset'")
        .join(copies, [*COPY], "left_semi")
        .selectExpr(
            *PARTITION,
            "start_offset AS base_offset",
            "file_start",
            "broker_timestamp_before_start",
            "broker_timestamp_after",
        ),
        (*PARTITION, "base_offset"),
        "min_by(struct(file_start, broker_timestamp_before_start, broker_timestamp_after), file_start) AS around",
    )
    return (
        _seeds(snapshots, copies)
        .join(named_offsets, [*PARTITION, "base_offset"], "left")
        .selectExpr(
            "* EXCEPT (around)",
            "CAST(NULL AS bigint) AS first_timestamp",
            "CAST(NULL AS int) AS first_leader_epoch",
            "CAST(NULL AS bigint) AS first_crc",
            "base_offset AS last_batch_offset",
            "false AS is_log_append_time",
            "0L AS batches",
            "0L AS records",
            "0L AS size_in_bytes",
            "CAST(NULL AS smallint) AS lowest_producer_epoch",
            "around.*",
            "around.broker_timestamp_before_start AS broker_timestamp_before",
        )
    )
