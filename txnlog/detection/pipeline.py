"""All steps in their order: from the facts of a dump to a verdict on each open transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame

from txnlog.config import Thresholds
from txnlog.detection.aggregates import summed
from txnlog.detection.archived_records import archived_states, with_commits_elsewhere, with_later
from txnlog.detection.clock import with_activity, with_bounds, with_sightings
from txnlog.detection.commit_markers import places_to_read, with_counted_commits
from txnlog.detection.commits import (
    needs_markers,
    places_of_witnesses,
    with_commit_markers,
    with_witnesses,
)
from txnlog.detection.coordinator_copies import (
    coordinator_copies,
    disagreements,
    elsewhere,
    recorded_states,
    stretches,
    whole_parts,
)
from txnlog.detection.coordinator_coverage import coordinator_coverage
from txnlog.detection.coordinator_evidence import (
    PRODUCER,
    with_coordinator,
    with_owner,
    with_pending,
    with_remembered,
)
from txnlog.detection.copy_times import copy_times
from txnlog.detection.idle_ids import idle_ids, idle_states
from txnlog.detection.impact import held_back
from txnlog.detection.inputs import Facts, Materialize, Materialized, Reaching
from txnlog.detection.missing_records import with_missing_records
from txnlog.detection.partition_copies import believed, partition_copies, ranked_copies, with_earliest
from txnlog.detection.partition_count import partition_counts
from txnlog.detection.proved import with_proofs, with_unproved
from txnlog.detection.replay import open_transactions, with_index, with_last_end
from txnlog.detection.verdicts import with_verdicts
from txnlog.keys import COPY, LOG_DIR, PARTITION


@dataclass(frozen=True, slots=True)
class Detection:
    """What the pipeline yields: verdicts, the copies they rest on, and the coordinators' coverage.

    `undated`: log directories of which nothing says when they were copied. `contradicted`: clusters whose ids lie in
    other coordinator partitions than they would with the number that is stated. `whole_parts`: what each copy of a
    coordinator partition shows whole. `as_ofs`: the as-ofs of `times` (ms), in order. `judged`: the rows of
    `transactions`.
    """

    transactions: DataFrame
    copies: DataFrame
    coverage: DataFrame
    times: DataFrame
    clusters: DataFrame
    undated: list[str]
    contradicted: list[dict[str, Any]]
    whole_parts: pa.Table
    as_ofs: list[int]
    judged: pa.Table


class Shown(NamedTuple):
    """What the copies of coordinator partitions show whole, and when log directories were copied; as in `Detection`."""

    whole_parts: pa.Table
    times: DataFrame
    undated: list[str]


def detect(facts: Facts, thresholds: Thresholds, materialize: Materialize, as_of: int | None = None) -> Detection:
    """A verdict on every open transaction of the dump.

    `materialize` gives back frames with the same rows and no history, computed by one query. Each step's results are
    small (copies, open transactions) and used several times by the next one: else the plan would double at every step.
    """
    skew_ms, sums, snapshots = thresholds.clock_skew_ms, facts.replay_sums, facts.producer_snapshots
    copies, of_coordinators, times = _copies(facts, thresholds, materialize, as_of)
    archived = facts.archive.reaching(facts.transaction_states, of_coordinators.rows) if facts.archive else None
    taken = stretches(of_coordinators.frame, archived and archived.frame)
    states = recorded_states(facts.transaction_states, taken)
    disagreeing = disagreements(facts.transaction_states, of_coordinators.frame)
    clusters, covered, opened, parts = materialize(
        partition_counts(states, copies, facts.checkpoints, _clusters(facts.log_dirs)),
        coordinator_coverage(states, copies, times.frame, taken, disagreeing),
        open_transactions(sums, snapshots, copies),
        whole_parts(facts.transaction_states, of_coordinators.frame),
    )
    others = elsewhere(facts.transaction_states, of_coordinators.frame)
    readable, idle, later, records = states.where("problem IS NULL"), None, None, None
    if facts.archive and archived:
        records = facts.archive.records(opened, readable)
        later = records if archived.has_later else None
        readable, idle = _with_archived(
            readable, records, archived, covered.frame, of_coordinators.frame, others, materialize
        )
    coverage, placed, places = materialize(
        covered.frame.transform(with_missing_records, clusters.frame, sums, states, copies, skew_ms),
        opened.frame.transform(with_last_end, snapshots, copies)
        .transform(_with_copy, copies, times.frame, clusters.frame)
        .transform(with_owner, readable, others, records),
        places_of_witnesses(opened.frame, sums, copies),
    )
    (known,) = materialize(
        placed.frame.transform(with_coordinator, readable, others, coverage.frame, clusters.frame, idle, skew_ms)
        .transform(with_later, later, of_coordinators.frame)
        .transform(with_commits_elsewhere, records, readable)
        .selectExpr("*", f"coalesce({needs_markers(skew_ms)}, false) AS needs_markers")
    )
    found = _judged(known, places.rows, facts, copies, readable, thresholds, materialize)
    return Detection(
        found.frame,
        copies,
        coverage.frame,
        times.frame,
        clusters.frame,
        undated=_undated(times),
        contradicted=[row for row in clusters.rows.to_pylist() if row["contradicting_ids"]],
        whole_parts=parts.rows,
        as_ofs=sorted({row["as_of"] for row in times.rows.to_pylist() if row["as_of"] is not None}),
        judged=found.rows,
    )


def _with_archived(
    readable: DataFrame,
    records: DataFrame,
    archived: Reaching,
    covered: DataFrame,
    of_coordinators: DataFrame,
    others: DataFrame,
    materialize: Materialize,
) -> tuple[DataFrame, DataFrame | None]:
    """The readable records with those that earlier dumps showed; and ids that were idle across holes, if it has any."""
    readable = readable.unionByName(archived_states(records, of_coordinators, archived.frame))
    if not archived.has_holes:
        return readable, None
    (idle,) = materialize(idle_ids(records, readable, covered, archived.frame, of_coordinators, others))
    return readable.unionByName(idle_states(records, readable, idle.frame)), idle.frame


def _judged(
    known: Materialized,
    places: pa.Table,
    facts: Facts,
    copies: DataFrame,
    readable: DataFrame,
    thresholds: Thresholds,
    materialize: Materialize,
) -> Materialized:
    """The transactions with their verdicts; what these need is read once more (`places`)."""
    sums, skew_ms = facts.replay_sums, thresholds.clock_skew_ms
    batches = facts.batches(_wanted(known.rows, places))
    proved, unread = materialize(
        known.frame.transform(_proved, facts, batches, copies, thresholds),
        places_to_read(known.frame, sums, facts.producer_snapshots, readable, facts.dump_files),
    )
    read = facts.batches(_of_own_data(unread.rows, proved.rows))
    judged = (
        proved.frame.transform(with_counted_commits, read, readable, skew_ms)
        .transform(with_unproved, sums, facts.producer_snapshots, copies, facts.dump_files, facts.sightings)
        .transform(with_verdicts, thresholds)
    )
    (found,) = materialize(judged.join(held_back(proved.frame, sums, copies), [*PARTITION], "left"))
    return found


def shown_whole(facts: Facts, thresholds: Thresholds, materialize: Materialize, as_of: int | None) -> Shown:
    """What the copies of coordinator partitions show, without a verdict on anything."""
    _, of_coordinators, times = _copies(facts, thresholds, materialize, as_of)
    (parts,) = materialize(whole_parts(facts.transaction_states, of_coordinators.frame))
    return Shown(parts.rows, times.frame, _undated(times))


def _undated(times: Materialized) -> list[str]:
    return [row["log_dir"] for row in times.rows.to_pylist() if row["as_of"] is None]


def _copies(
    facts: Facts, thresholds: Thresholds, materialize: Materialize, as_of: int | None
) -> tuple[DataFrame, Materialized, Materialized]:
    """The copy of each partition that is believed, all copies of the coordinators, and when each was taken."""
    ranked = ranked_copies(partition_copies(facts.dump_files, facts.checkpoints))
    taken_at = copy_times(facts.dump_files, facts.log_dirs, as_of, thresholds.slack_ms)
    everywhere, of_coordinators, times = materialize(
        with_earliest(ranked, taken_at), coordinator_copies(facts.transaction_states, ranked), taken_at
    )
    return believed(everywhere.frame), of_coordinators, times


def _proved(known: DataFrame, facts: Facts, batches: DataFrame, copies: DataFrame, thresholds: Thresholds) -> DataFrame:
    """The transactions with all that their verdicts depend on."""
    skew_ms = thresholds.clock_skew_ms
    return (
        known.transform(with_bounds, facts.replay_sums, facts.dump_files, copies, skew_ms)
        .transform(with_commit_markers, batches, copies, skew_ms)
        .transform(with_witnesses, batches, copies)
        .transform(with_sightings, facts.sightings)
        .transform(with_activity, skew_ms)
        .transform(with_index, facts.aborted_transactions, copies)
        .transform(with_pending, facts.replay_sums, copies, skew_ms)
        .transform(with_remembered, facts.remembered)
        .transform(with_proofs, thresholds)
    )


def _wanted(known: pa.Table, places: pa.Table) -> list[dict[str, Any]]:
    """The copies and producer ids of which batches are read once more."""
    names = [*COPY, "producer_id"]
    lacking = known.filter(known.column("needs_markers")).select(names)
    return [*lacking.to_pylist(), *places.select(names).to_pylist()]


def _of_own_data(places: pa.Table, proved: pa.Table) -> list[dict[str, Any]]:
    """Those of the places whose producer id has a transaction that would be discarded."""
    own = proved.filter(proved.column("is_own_data"))
    discarded = {tuple(row.values()) for row in own.select([*PRODUCER]).to_pylist()}
    return [row for row in places.to_pylist() if tuple(row[name] for name in PRODUCER) in discarded]


def _clusters(log_dirs: DataFrame) -> DataFrame:
    return summed(
        log_dirs,
        ("cluster",),
        "max(transaction_max_timeout_ms) AS transaction_max_timeout_ms",
        "max(coordinator_partitions) AS stated_count",
    )


def _with_copy(transactions: DataFrame, copies: DataFrame, times: DataFrame, clusters: DataFrame) -> DataFrame:
    return (
        transactions.join(copies, [*PARTITION], "inner")
        .join(times, [*LOG_DIR], "left")
        .selectExpr(
            "* EXCEPT (copy_from, coordinator_from, are_texts_alone)",
            "least(copy_from, copied_since) AS copy_from",
        )
        .join(clusters.selectExpr("cluster", "transaction_max_timeout_ms"), ["cluster"], "left")
    )
