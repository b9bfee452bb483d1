"""What the coordinators know of each open transaction, joined to it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from txnlog.detection.coordinator import births, current_states, histories, listings, producer_ids
from txnlog.detection.copies import COPY, PARTITION
from txnlog.detection.replicas import last_elsewhere
from txnlog.detection.times import within_calendar

PRODUCER = ("cluster", "producer_id")


def with_owner(transactions: DataFrame, states: DataFrame, elsewhere: DataFrame, coverage: DataFrame) -> DataFrame:
    """Add whose the producer id is: `transactional_ids`, `owners`, and the one `transactional_id` where it is one.

    An id that only `elsewhere` (records of other copies) knows counts, too.
    `known_since` (ms) is when the coordinator gave the producer id out; null where no record says so.
    """
    whole = coverage.where("whole_from = 0").select("cluster", "coordinator_partition", F.lit(True).alias("is_whole"))
    owners = (
        producer_ids(states.unionByName(elsewhere.drop("reaches")))
        .join(F.broadcast(whole), ["cluster", "coordinator_partition"], "left")
        .join(F.broadcast(transactions.select(*PRODUCER).dropDuplicates([*PRODUCER])), [*PRODUCER], "left_semi")
        .groupBy(*PRODUCER)
        .agg(
            F.sort_array(F.collect_set("transactional_id")).alias("transactional_ids"),
            F.min("transactional_id").alias("transactional_id"),
            F.count_distinct("transactional_id").alias("owners"),
            F.min("coordinator_partition").alias("coordinator_partition"),
            F.coalesce(F.min("born_at"), F.min(F.when(F.col("is_whole"), F.col("known_since")))).alias("known_since"),
        )
    )
    return transactions.join(F.broadcast(owners), [*PRODUCER], "left")


def with_coordinator(
    transactions: DataFrame,
    states: DataFrame,
    elsewhere: DataFrame,
    coverage: DataFrame,
    clusters: DataFrame,
    clock_skew_ms: int,
) -> DataFrame:
    """Add the id's current state, the last transaction that listed the partition, and how far its log can be believed.

    For a producer id that no coordinator knows every coordinator partition counts: the earliest copy, the latest start.
    `is_born_in_range`: the range of whole records has the one that gave the producer id out: nothing is before it.
    `last_elsewhere` and `last_reaching`: where other copies (`elsewhere`) have its last record. An id of which they
    have no more than that it expired, and the chosen copy has nothing, is known to no coordinator.
    """
    ids = transactions.where("transactional_id IS NOT NULL")
    history = histories(states, ids)
    owned = (
        transactions.join(F.broadcast(current_states(history)), ["cluster", "transactional_id"], "left")
        .join(
            F.broadcast(listings(history, clock_skew_ms)),
            ["cluster", "transactional_id", "producer_id", "topic", "partition"],
            "left",
        )
        .join(F.broadcast(births(history, coverage)), ["cluster", "transactional_id", "producer_id"], "left")
        .join(F.broadcast(last_elsewhere(elsewhere, ids)), ["cluster", "transactional_id"], "left")
        .join(F.broadcast(coverage), ["cluster", "coordinator_partition"], "left")
        .join(F.broadcast(_all_coordinators(coverage, clusters)), ["cluster"], "left")
    )
    has_expired = F.expr("current IS NULL AND is_forgotten")
    nobody = F.expr("transactional_id IS NULL")
    names = (
        "coordinator_as_of", "coordinator_as_of_is_plausible", "coordinator_copy_from", "whole_from",
        "coordinator_is_text", "unexplained_commits", "copies_disagree",
    )  # fmt: skip
    return (
        owned.withColumn("transactional_id", F.when(~F.coalesce(has_expired, F.lit(False)), F.col("transactional_id")))
        .withColumns({name: F.when(nobody, F.col(f"all_{name}")).otherwise(F.col(name)) for name in names})
        .drop("is_forgotten")
    )


def _all_coordinators(coverage: DataFrame, clusters: DataFrame) -> DataFrame:
    """One row per cluster: what holds for all partitions of `__transaction_state` together, and which are missing.

    `missing_coordinators` is null where their number is neither stated nor proved by the ids (`partition_counts`).
    """
    everything = F.expr("transform(sequence(0, partition_count - 1), each -> int(each))")
    every_whole = F.count_if(F.col("whole_from").isNull()) == 0
    sums = coverage.groupBy("cluster").agg(
        F.collect_set("coordinator_partition").alias("present"),
        F.min("coordinator_as_of").alias("all_coordinator_as_of"),
        F.bool_and("coordinator_as_of_is_plausible").alias("all_coordinator_as_of_is_plausible"),
        F.min("coordinator_copy_from").alias("all_coordinator_copy_from"),
        F.when(every_whole, F.max("whole_from")).alias("all_whole_from"),
        F.bool_or("coordinator_is_text").alias("all_coordinator_is_text"),
        F.bool_or("copies_disagree").alias("all_copies_disagree"),
        F.sum("unexplained_commits").alias("all_unexplained_commits"),
        # A gap that no cleaner explains may hide the record that names the producer id.
        (F.count_if(F.expr("certain_from_offset IS NULL OR certain_from_offset > 0")) == 0).alias(
            "all_coordinators_certain"
        ),
        F.bool_and(F.expr("coalesce(gapless_from_offset = 0 OR are_listed OR others_reach, false)")).alias(
            "no_record_can_be_missing"
        ),
    )
    none = F.array().cast("array<int>")
    return (
        clusters.join(sums, ["cluster"], "left")
        .withColumn("missing_coordinators", F.array_sort(F.array_except(everything, F.coalesce("present", none))))
        .drop("present", *(name for name in clusters.columns if name != "cluster"))
    )


def with_pending(transactions: DataFrame, runs: DataFrame, copies: DataFrame, clock_skew_ms: int) -> DataFrame:
    """Add `pending_partitions`: where a Prepare* transaction still owes its marker, as far as the dump shows.

    Listed are all its partitions; those with a marker of the producer id since are done.
    """
    preparing = transactions.where("current.state IN ('PrepareCommit', 'PrepareAbort')")
    listed = (
        preparing.select("cluster", "transactional_id", "current.*")
        .dropDuplicates(["cluster", "transactional_id"])
        .withColumn("listed", F.explode("topic_partitions"))
        .select(
            "cluster",
            "transactional_id",
            "producer_id",
            "producer_epoch",
            "last_update_timestamp",
            "listed.*",
        )
    )
    markers = (
        runs.where("fact = 'marker'")
        .join(F.broadcast(copies.select(*COPY)), [*COPY], "left_semi")
        .select(
            *PARTITION,
            "producer_id",
            F.col("producer_epoch").alias("stamp_epoch"),
            within_calendar("last_timestamp").alias("stamp"),
        )
    )
    is_done = F.expr(f"stamp_epoch >= producer_epoch AND stamp >= last_update_timestamp - {clock_skew_ms}")
    pending = (
        listed.join(markers, ["cluster", "topic", "partition", "producer_id"], "left")
        .groupBy("cluster", "transactional_id", "topic", "partition")
        .agg(F.count_if(is_done).alias("done"))
        .where("done = 0")
        .groupBy("cluster", "transactional_id")
        .agg(F.sort_array(F.collect_set(F.concat_ws("-", "topic", "partition"))).alias("pending_partitions"))
    )
    return transactions.join(F.broadcast(pending), ["cluster", "transactional_id"], "left")


def with_index(transactions: DataFrame, aborted: DataFrame, copies: DataFrame) -> DataFrame:
    """Add `index_aborts`: whether the transaction index of the chosen copy says that this transaction was aborted."""
    chosen = copies.select("cluster", "broker", "log_dir", "topic", "partition")
    entries = (
        aborted.join(F.broadcast(chosen), chosen.columns, "left_semi")
        .select("cluster", "topic", "partition", "producer_id", F.col("first_offset").alias("start_offset"))
        .dropDuplicates()
        .withColumn("index_aborts", F.lit(True))
    )
    return transactions.join(
        F.broadcast(entries), ["cluster", "topic", "partition", "producer_id", "start_offset"], "left"
    )


def with_remembered(transactions: DataFrame, remembered: DataFrame | None) -> DataFrame:
    """Add `remembered_id`: whose the producer id was in earlier runs."""
    if remembered is None:
        return transactions.withColumn("remembered_id", F.lit(None).cast("string"))
    names = (
        remembered.join(
            F.broadcast(transactions.select(*PRODUCER).dropDuplicates([*PRODUCER])), [*PRODUCER], "left_semi"
        )
        .groupBy(*PRODUCER)
        .agg(F.array_join(F.sort_array(F.collect_set("transactional_id")), ", ").alias("remembered_id"))
    )
    return transactions.join(F.broadcast(names), [*PRODUCER], "left")
