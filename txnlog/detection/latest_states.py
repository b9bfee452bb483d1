"""What coordinators and brokers know of ids and producers as of a dump: what `kafka-transactions.sh` asks them for."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.coordinator_records import ID, PLACE, chosen_states
from txnlog.detection.partition_copies import IS_COORDINATOR
from txnlog.detection.producer_states import producer_states
from txnlog.keys import COPY, LOG_DIR, PARTITION

FIELDS = (
    "broker",
    "coordinator_partition",
    "coordinator_epoch",
    "is_tombstone",
    "state",
    "producer_id",
    "producer_epoch",
    "previous_producer_id",
    "next_producer_id",
    "next_producer_epoch",
    "client_transaction_version",
    "timeout_ms",
    "topic_partitions",
    "last_update_timestamp",
    "start_timestamp",
    "offset",
    "file",
    "position",
)


def dated_copies(copies: DataFrame, times: DataFrame) -> DataFrame:
    """The chosen copies that could be read, each with its `as_of` (ms)."""
    readable = copies.where("log_end_offset IS NOT NULL")
    return readable.join(times, [*LOG_DIR], "inner").selectExpr(*COPY, "snapshot_offset", "as_of")


def latest_states(states: DataFrame, dated: DataFrame, coverage: DataFrame) -> DataFrame:
    """One row per transactional id: its record of the highest offset, without ids of which that is a tombstone.

    A coordinator lists an id from its first record to its tombstone, however long it has been idle: it writes the
    tombstone when it forgets the id (`TransactionStateManager.removeExpiredTransactionalIds`). `is_certain` says
    whether nothing that is damaged or missing in the copy can hide a later record.
    """
    readable = chosen_states(states, dated).where("transactional_id IS NOT NULL AND problem IS NULL")
    latest = summed(readable, ID, f"max_by(struct({', '.join(FIELDS)}), offset) AS latest")
    coordinators = dated.where(IS_COORDINATOR).selectExpr("cluster", "partition AS coordinator_partition", "as_of")
    return (
        latest.selectExpr(*ID, "latest.*")
        .where("NOT is_tombstone")
        .join(coverage.selectExpr(*PLACE, "certain_from_offset"), [*PLACE], "left")
        .join(coordinators, [*PLACE], "inner")
        .selectExpr(
            "* EXCEPT (is_tombstone, certain_from_offset)",
            "coalesce(offset >= certain_from_offset, false) AS is_certain",
        )
    )


def latest_producers(sums: DataFrame, snapshots: DataFrame, dated: DataFrame, opened: DataFrame) -> DataFrame:
    """`producer_states` of the chosen copies, each with the broker of the copy and its `as_of` (ms)."""
    found = producer_states(sums, snapshots, dated, opened)
    # Texts do not print everything.
    known = ("last_sequence", "last_timestamp", "coordinator_epoch", "producer_epoch")
    return found.join(dated.selectExpr(*PARTITION, "broker", "as_of"), [*PARTITION], "inner").selectExpr(
        f"* EXCEPT ({', '.join(known)})", *(f"coalesce({name}, -1) AS {name}" for name in known)
    )
