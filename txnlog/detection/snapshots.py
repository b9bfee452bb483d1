"""What coordinators and brokers know of ids and producers as of a dump: what `kafka-transactions.sh` asks them for."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from txnlog.detection.coordinator import ID, chosen_states
from txnlog.detection.copies import COPY, PARTITION
from txnlog.detection.producers import producer_states
from txnlog.format.coordinator import TRANSACTION_STATE

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
    readable = copies.where(F.col("log_end_offset").isNotNull())
    return readable.join(F.broadcast(times), ["cluster", "broker", "log_dir"], "inner").select(
        *COPY, "snapshot_offset", "as_of"
    )


def latest_states(states: DataFrame, dated: DataFrame, coverage: DataFrame) -> DataFrame:
    """One row per transactional id: its record of the highest offset, without ids of which that is a tombstone.

    A coordinator lists an id from its first record to its tombstone, however long it has been idle: it writes the
    tombstone when it forgets the id (`TransactionStateManager.removeExpiredTransactionalIds`). `is_certain` says
    whether nothing that is damaged or missing in the copy can hide a later record.
    """
    place = ["cluster", "coordinator_partition"]
    certain = F.coalesce(F.col("offset") >= F.col("certain_from_offset"), F.lit(False))
    return (
        chosen_states(states, dated)
        .where("transactional_id IS NOT NULL AND problem IS NULL")
        .groupBy(*ID)
        .agg(F.max_by(F.struct(*FIELDS), "offset").alias("latest"))
        .select(*ID, "latest.*")
        .where("NOT is_tombstone")
        .join(F.broadcast(coverage.select(*place, "certain_from_offset")), place, "left")
        .join(F.broadcast(_coordinators(dated)), place, "inner")
        .withColumn("is_certain", certain)
        .drop("is_tombstone", "certain_from_offset")
    )


def _coordinators(dated: DataFrame) -> DataFrame:
    of_topic = dated.where(F.col("topic") == TRANSACTION_STATE)
    return of_topic.select("cluster", F.col("partition").alias("coordinator_partition"), "as_of")


def latest_producers(runs: DataFrame, snapshots: DataFrame, dated: DataFrame) -> DataFrame:
    """`producer_states` of the chosen copies, each with the broker of the copy and its `as_of` (ms)."""
    found = producer_states(runs, snapshots, dated)
    return found.join(F.broadcast(dated.select(*PARTITION, "broker", "as_of")), [*PARTITION], "inner").withColumns(
        {name: _known(name) for name in ("last_sequence", "last_timestamp", "coordinator_epoch", "producer_epoch")}
    )


def _known(name: str) -> Column:
    """Texts do not print everything."""
    return F.coalesce(name, F.lit(-1))
