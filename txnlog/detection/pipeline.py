"""All steps in their order: from the facts of a dump to a verdict on each open transaction."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from txnlog.detection.clock import with_activity, with_bounds, with_sightings
from txnlog.detection.commit_markers import places_to_read, with_counted_commits
from txnlog.detection.commits import (
    needs_markers,
    places_of_witnesses,
    with_commit_markers,
    with_witnesses,
)
from txnlog.detection.coordinator import coordinator_coverage
from txnlog.detection.copies import COPY, PARTITION, chosen_copies, partition_copies
from txnlog.detection.evidence import with_coordinator, with_index, with_owner, with_pending, with_remembered
from txnlog.detection.impact import held_back
from txnlog.detection.missing_records import with_missing_records
from txnlog.detection.partition_count import partition_counts
from txnlog.detection.replay import open_transactions, with_last_end
from txnlog.detection.replicas import coordinator_copies, disagreements, elsewhere, recorded_states, stretches
from txnlog.detection.times import LOG_DIR, copy_times
from txnlog.detection.verdicts import Thresholds, with_proofs, with_unproved, with_verdicts


@dataclass(frozen=True, slots=True)
class Facts:
    """The DataFrames of a dump (`txnlog.sources`), and what is known of its log directories.

    `runs` are rows of `ReplayRow`. `batches` gives back rows of `BatchRow`: at least all transactional batches of the
    producer ids in the partitions (`topic`, `partition`, `producer_id`) that it is given, from the whole log.

    `log_dirs` has one row per log directory: cluster, broker, log_dir, copy_started and copy_ended (ms or null),
    transaction_max_timeout_ms and coordinator_partitions (null where nobody states it).
    `remembered` has (cluster, producer_id, transactional_id)
    of earlier runs: it names an id that its coordinator has forgotten, and proves nothing. `sightings` are open
    transactions of earlier dumps: cluster, topic, partition, producer_id, start_offset, batches, bytes, seen_at and
    seen_until (ms: as-of and end of its copy),
    topic_id, action, reason, confidence, first_batch_leader_epoch and first_batch_crc.
    """

    runs: DataFrame
    batches: Callable[[DataFrame], DataFrame]
    transaction_states: DataFrame
    producer_snapshots: DataFrame
    aborted_transactions: DataFrame
    checkpoints: DataFrame
    dump_files: DataFrame
    log_dirs: DataFrame
    remembered: DataFrame | None = None
    sightings: DataFrame | None = None


@dataclass(frozen=True, slots=True)
class Detection:
    """What the pipeline yields: verdicts, the copies they rest on, and the coordinators' coverage."""

    transactions: DataFrame
    copies: DataFrame
    coverage: DataFrame
    times: DataFrame
    clusters: DataFrame


Settle = Callable[[DataFrame], DataFrame]


def detect(facts: Facts, thresholds: Thresholds, settle: Settle, as_of: int | None = None) -> Detection:
    """A verdict on every open transaction of the dump.

    `settle` gives back a frame with the same rows and no history. Each step's result is small (copies, open
    transactions) and used several times by the next ones: unsettled, the plan would double at every step.
    """
    skew_ms = thresholds.clock_skew_ms
    # Neither needs the other: one is planned while the other is computed.
    with ThreadPoolExecutor(1) as beside:
        found = beside.submit(lambda: settle(partition_copies(facts.dump_files, facts.checkpoints)))
        times = settle(copy_times(facts.dump_files, facts.log_dirs, as_of, thresholds.slack_ms))
        everywhere = found.result()
    copies = settle(chosen_copies(everywhere, times))
    of_coordinators = settle(coordinator_copies(facts.transaction_states, everywhere, copies))
    taken = settle(stretches(of_coordinators))
    states = recorded_states(facts.transaction_states, taken)
    readable = states.where("problem IS NULL")
    others = elsewhere(facts.transaction_states, of_coordinators, taken)
    clusters = settle(partition_counts(states, copies, _clusters(facts.log_dirs)))
    disagreeing = disagreements(facts.transaction_states, of_coordinators)
    covered = settle(coordinator_coverage(states, copies, times, taken, disagreeing))
    coverage = settle(covered.transform(with_missing_records, clusters, facts.runs, states, copies, skew_ms))
    opened = settle(open_transactions(facts.runs, facts.producer_snapshots, copies))
    placed = settle(
        opened.transform(with_last_end, facts.producer_snapshots, copies)
        .transform(_with_copy, copies, times, clusters)
        .transform(with_owner, readable, others, coverage)
    )
    known = settle(placed.transform(with_coordinator, readable, others, coverage, clusters, skew_ms))
    places = places_of_witnesses(known, facts.runs, copies)
    batches = facts.batches(known.where(needs_markers(skew_ms)).select(*COPY, "producer_id").union(places))
    proved = settle(
        known.transform(with_bounds, facts.runs, facts.dump_files, copies, skew_ms)
        .transform(with_commit_markers, batches, copies, skew_ms)
        .transform(with_witnesses, batches, copies)
        .transform(with_sightings, facts.sightings)
        .transform(with_activity, skew_ms)
        .transform(with_index, facts.aborted_transactions, copies)
        .transform(with_pending, facts.runs, copies, skew_ms)
        .transform(with_remembered, facts.remembered)
        .transform(with_proofs, thresholds)
    )
    read = facts.batches(places_to_read(proved, facts.runs, facts.producer_snapshots, readable, facts.dump_files))
    judged = settle(
        proved.transform(with_counted_commits, read, readable, skew_ms)
        .transform(with_unproved, copies, times)
        .transform(with_verdicts, thresholds)
    )
    impact = held_back(judged, facts.runs, copies)
    return Detection(settle(judged.join(impact, [*PARTITION], "left")), copies, coverage, times, clusters)


def _clusters(log_dirs: DataFrame) -> DataFrame:
    return log_dirs.groupBy("cluster").agg(
        F.max("transaction_max_timeout_ms").alias("transaction_max_timeout_ms"),
        F.max("coordinator_partitions").alias("stated_count"),
    )


def _with_copy(transactions: DataFrame, copies: DataFrame, times: DataFrame, clusters: DataFrame) -> DataFrame:
    return (
        transactions.join(F.broadcast(copies), [*PARTITION], "inner")
        .join(F.broadcast(times), [*LOG_DIR], "left")
        .withColumn("copy_from", F.least("copy_from", "copied_since"))
        .drop("coordinator_from")
        .join(F.broadcast(clusters.select("cluster", "transaction_max_timeout_ms")), ["cluster"], "left")
    )
