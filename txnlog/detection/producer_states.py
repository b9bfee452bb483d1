"""What a broker keeps of each producer id in a partition (`ProducerStateEntry`), as `describe-producers` shows it."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.replay import KEY
from txnlog.keys import COPY

# Sequence number, epoch or time that an entry does not have.
NOT_KNOWN = -1


def producer_states(sums: DataFrame, snapshots: DataFrame, copies: DataFrame, opened: DataFrame) -> DataFrame:
    """One row per producer id of the chosen `copies`: the newest snapshot's entries, and what was written since.

    `opened` are their open transactions (`txnlog.detection.replay.open_transactions`).

    Columns of `KEY`; `producer_epoch`; `coordinator_epoch` of its last marker, -1 none; `last_sequence`, -1 where
    nothing was written in this epoch; `last_timestamp` (ms) of its last batch or marker, as the producer or the
    coordinator said; `current_txn_start_offset`, null where nothing is open. A broker forgets an id that has been idle
    for `producer.id.expiration.ms` (a day); here it stays as long as the log shows it. Of an id whose only trace is a
    marker that the cleaner has emptied, a broker knows nothing but that it was there: epoch and time are -1.
    """
    before = f"lag(producer_epoch) OVER (PARTITION BY {', '.join(KEY)} ORDER BY file_start)"
    is_changed = "is_old_sequence OR (before <> first_producer_epoch AND last_sequence IS NULL)"
    traces = _of_files(sums, copies).unionByName(_entries(snapshots, copies)).selectExpr("*", f"{before} AS before")
    last = summed(
        traces,
        KEY,
        "max_by(struct(producer_epoch, last_timestamp), file_start) AS last",
        "max_by(coordinator_epoch, file_start) FILTER (WHERE coordinator_epoch IS NOT NULL) AS coordinator_epoch",
        "max(if(last_sequence IS NOT NULL, struct(file_start, last_sequence), NULL)) AS written",
        f"max(if({is_changed}, file_start, NULL)) AS changed_at",
    )
    started = opened.selectExpr(*KEY, "start_offset AS current_txn_start_offset")
    # What was written before the epoch last changed no longer counts.
    is_old = "coalesce(changed_at >= written.file_start, false) OR written IS NULL"
    return last.join(started, [*KEY], "left").selectExpr(
        *KEY,
        f"coalesce(last.producer_epoch, {NOT_KNOWN}) AS producer_epoch",
        f"coalesce(coordinator_epoch, {NOT_KNOWN}) AS coordinator_epoch",
        f"if({is_old}, {NOT_KNOWN}, written.last_sequence) AS last_sequence",
        f"coalesce(last.last_timestamp, {NOT_KNOWN}) AS last_timestamp",
        "current_txn_start_offset",
    )


_STATE = ("first_producer_epoch", "producer_epoch", "coordinator_epoch", "last_sequence", "last_timestamp")


def _of_files(sums: DataFrame, copies: DataFrame) -> DataFrame:
    return (
        sums.where("fact = 'producer'")
        .join(copies, [*COPY], "left_semi")
        .selectExpr(*KEY, "if(producer_epoch IS NULL, NULL, file_start) AS file_start", *_STATE, "is_old_sequence")
    )


def _entries(snapshots: DataFrame, copies: DataFrame) -> DataFrame:
    """The entries of each copy's snapshot, in a place before all that was read: what lies there they sum up, too."""
    return snapshots.join(copies, [*COPY, "snapshot_offset"], "left_semi").selectExpr(
        *KEY,
        "-1L AS file_start",
        "producer_epoch AS first_producer_epoch",
        "producer_epoch",
        "coordinator_epoch",
        "last_sequence",
        "timestamp AS last_timestamp",
        "false AS is_old_sequence",
    )
