"""What the coordinators know of each open transaction, joined to it."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.coordinator_copies import last_elsewhere
from txnlog.detection.coordinator_records import producer_ids
from txnlog.detection.coordinator_transactions import (
    current_states,
    first_records,
    histories,
    listings,
    unlisting_commits,
)
from txnlog.detection.idle_ids import with_idle
from txnlog.keys import COPY, PARTITION
from txnlog.times import within_calendar

PRODUCER = ("cluster", "producer_id")
# Of the id's coordinator partition; of all partitions together if the owner of the producer id is unknown.
_OF_COORDINATOR = (
    "coordinator_as_of", "coordinator_as_of_is_plausible", "coordinator_copy_from", "whole_from",
    "coordinator_is_text", "unexplained_commits", "copies_disagree",
)  # fmt: skip


def with_owner(
    transactions: DataFrame, states: DataFrame, elsewhere: DataFrame, archived: DataFrame | None = None
) -> DataFrame:
    """Add the owners of the producer id: `transactional_ids`, their number `owners`, and `transactional_id`.

    Ids that are only in `elsewhere` (records of other copies) count, too. Where any of them is an owner, so are ids of
    which `archived` alone has records, before a hole: controllers that were restored give out producer ids once more.
    `born_at` (ms) is when the coordinator gave the producer id out; null where no record says so. `given_out_by` (ms):
    it had been by then. `named_since` has the earliest record of each of its coordinator partitions that names it.
    """
    named = producer_ids(states.unionByName(elsewhere.drop("reaches"))).selectExpr("*", "true AS is_named")
    if archived is not None:
        earlier = producer_ids(archived).select(*PRODUCER, "transactional_id").selectExpr("*", "false AS is_named")
        named = named.unionByName(earlier, allowMissingColumns=True)
    owners = summed(
        named.join(transactions, [*PRODUCER], "left_semi"),
        PRODUCER,
        "sort_array(collect_set(transactional_id)) AS transactional_ids",
        "min(transactional_id) FILTER (WHERE is_named) AS transactional_id",
        "size(collect_set(transactional_id)) AS owners",
        "min(coordinator_partition) AS coordinator_partition",
        "min(born_at) AS born_at",
        "min(given_out_by) AS given_out_by",
        "collect_list(struct(coordinator_partition, known_since)) AS named_since",
    )
    return transactions.join(owners.where("transactional_id IS NOT NULL"), [*PRODUCER], "left")


def with_coordinator(
    transactions: DataFrame,
    states: DataFrame,
    elsewhere: DataFrame,
    coverage: DataFrame,
    clusters: DataFrame,
    idle: DataFrame | None,
    clock_skew_ms: int,
) -> DataFrame:
    """Add the id's current state, the last transaction that listed the partition, and how complete its log is.

    For a producer id that no coordinator knows every coordinator partition counts: the earliest copy, the latest start.
    `is_born_in_range`: the record that handed out the producer id is in the range of whole records.
    `known_since` (ms) is when it was given out, or, of a coordinator whose log is whole from its start, first named.
    `last_elsewhere` and `last_reaching`: where other copies (`elsewhere`) have its last record. An id of which they
    have no more than that it expired, and the chosen copy has nothing, is known to no coordinator. `idle` are the
    `idle_ids`, if there is an archive.
    """
    ids = transactions.where("transactional_id IS NOT NULL")
    history = histories(states, ids)
    is_whole = "each -> array_contains(whole_partitions, each.coordinator_partition)"
    return (
        transactions.join(current_states(history), ["cluster", "transactional_id"], "left")
        .join(
            listings(history, clock_skew_ms),
            ["cluster", "transactional_id", "producer_id", "topic", "partition"],
            "left",
        )
        .join(first_records(history), ["cluster", "transactional_id", "producer_id"], "left")
        .join(unlisting_commits(history), ["cluster", "transactional_id", "producer_id"], "left")
        .join(last_elsewhere(elsewhere, ids), ["cluster", "transactional_id"], "left")
        .join(coverage, ["cluster", "coordinator_partition"], "left")
        .transform(with_idle, idle)
        .join(_all_coordinators(coverage, clusters), ["cluster"], "left")
        .selectExpr(
            "* EXCEPT (transactional_id, is_forgotten)",
            "if(current IS NULL AND is_forgotten, NULL, transactional_id) AS transactional_id",
        )
        .selectExpr(
            f"* EXCEPT ({', '.join(_OF_COORDINATOR)}, born_at, born_offset, named_since, whole_partitions)",
            "born_offset >= whole_from_offset AS is_born_in_range",
            *(f"if(transactional_id IS NULL, all_{name}, {name}) AS {name}" for name in _OF_COORDINATOR),
            f"coalesce(born_at, array_min(transform(filter(named_since, {is_whole}), each -> each.known_since)))"
            " AS known_since",
        )
    )


def _all_coordinators(coverage: DataFrame, clusters: DataFrame) -> DataFrame:
    """One row per cluster: what holds for all partitions of `__transaction_state` together, and which are missing.

    `missing_coordinators` is null where their number is neither stated nor proved by the ids (`partition_counts`).
    """
    sums = summed(
        coverage,
        ("cluster",),
        "collect_set(coordinator_partition) AS present",
        "collect_set(if(whole_from = 0, coordinator_partition, NULL)) AS whole_partitions",
        "min(coordinator_as_of) AS all_coordinator_as_of",
        "bool_and(coordinator_as_of_is_plausible) AS all_coordinator_as_of_is_plausible",
        "min(coordinator_copy_from) AS all_coordinator_copy_from",
        # Of a topic that is whole from its start a record says that it was there by then: it may have been made anew.
        "if(count_if(whole_from IS NULL) = 0, if(max(whole_from) = 0, min(earliest_record), max(whole_from)), NULL)"
        " AS all_whole_from",
        "bool_or(coordinator_is_text) AS all_coordinator_is_text",
        "bool_or(copies_disagree) AS all_copies_disagree",
        "sum(unexplained_commits) AS all_unexplained_commits",
        # A gap that no cleaner explains may hide the record that names the producer id.
        "count_if(certain_from_offset IS NULL OR certain_from_offset > 0) = 0 AS all_coordinators_certain",
        "count_if(damaged_to_offset > 0) = 0 AS all_coordinators_undamaged",
        "bool_and(coalesce(gapless_from_offset = 0 OR are_listed OR others_reach, false)) AS no_record_can_be_missing",
    )
    everything = "transform(sequence(0, partition_count - 1), each -> int(each))"
    present = "coalesce(present, CAST(array() AS array<int>))"
    return (
        clusters.selectExpr("cluster", "partition_count")
        .join(sums, ["cluster"], "left")
        .selectExpr(
            "* EXCEPT (present, partition_count, all_coordinators_certain, all_coordinators_undamaged)",
            # Where no copy is there all are missing, and none of them is at fault.
            "coalesce(all_coordinators_certain, present IS NULL) AS all_coordinators_certain",
            "coalesce(all_coordinators_undamaged, present IS NULL) AS all_coordinators_undamaged",
            f"array_sort(array_except({everything}, {present})) AS missing_coordinators",
        )
    )


def with_pending(transactions: DataFrame, sums: DataFrame, copies: DataFrame, clock_skew_ms: int) -> DataFrame:
    """Add `pending_partitions`: where a Prepare* transaction still owes its marker, as far as the dump shows.

    Listed are all its partitions; those with a marker of the producer id since are done.
    """
    listed = (
        transactions.where("current.state IN ('PrepareCommit', 'PrepareAbort')")
        .selectExpr("cluster", "transactional_id", "current.*")
        .dropDuplicates(["cluster", "transactional_id"])
        .selectExpr(
            *("cluster", "transactional_id", "producer_id", "producer_epoch", "last_update_timestamp"),
            "inline(topic_partitions)",
        )
    )
    markers = (
        sums.where("fact = 'marker'")
        .join(copies, [*COPY], "left_semi")
        .selectExpr(
            *PARTITION,
            "producer_id",
            "producer_epoch AS marker_epoch",
            f"{within_calendar('last_timestamp')} AS marked_at",
        )
    )
    is_done = f"marker_epoch >= producer_epoch AND marked_at >= last_update_timestamp - {clock_skew_ms}"
    partitions = summed(
        listed.join(markers, ["cluster", "topic", "partition", "producer_id"], "left"),
        ("cluster", "transactional_id", "topic", "partition"),
        f"count_if({is_done}) AS done",
    )
    pending = summed(
        partitions.where("done = 0"),
        ("cluster", "transactional_id"),
        "sort_array(collect_set(concat_ws('-', topic, partition))) AS pending_partitions",
    )
    return transactions.join(pending, ["cluster", "transactional_id"], "left")


def with_remembered(transactions: DataFrame, remembered: DataFrame | None) -> DataFrame:
    """Add `remembered_id`: the transactional ids that owned the producer id in earlier runs."""
    if remembered is None:
        return transactions.selectExpr("*", "CAST(NULL AS string) AS remembered_id")
    names = summed(
        remembered.join(transactions, [*PRODUCER], "left_semi"),
        PRODUCER,
        "array_join(sort_array(collect_set(transactional_id)), ', ') AS remembered_id",
    )
    return transactions.join(names, [*PRODUCER], "left")
