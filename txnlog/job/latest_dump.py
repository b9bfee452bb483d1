"""Writes the two tables that show the latest dump only: what coordinators and brokers know."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from txnlog.detection.aggregates import summed
from txnlog.detection.inputs import Facts
from txnlog.detection.latest_states import dated_copies, latest_producers, latest_states
from txnlog.detection.pipeline import Detection
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.keys import PARTITION
from txnlog.tables.changes import instant, rows_of_table
from txnlog.tables.layout import (
    BLOCKED_GROUPS,
    COORDINATOR_STATES,
    DUMP_FILES,
    GROUP_POSITIONS,
    PARTITION_TRANSACTIONS,
    PRODUCER_STATES,
    RUNS,
    Table,
)
from txnlog.tables.store import Store

# Columns of the frames that are ms, and timestamps in the tables.
TIMES = {
    COORDINATOR_STATES.name: ("last_update_timestamp", "start_timestamp", "as_of"),
    PRODUCER_STATES.name: ("last_timestamp", "as_of"),
    GROUP_POSITIONS.name: ("committed_at", "as_of"),
    BLOCKED_GROUPS.name: ("as_of",),
    PARTITION_TRANSACTIONS.name: ("first_timestamp", "last_timestamp", "marker_timestamp", "as_of"),
}


def write_snapshots(store: Store, clusters: list[str], facts: Facts, detection: Detection, dated: DataFrame) -> None:
    """Renew the rows of the partitions that this dump shows later than any other: `dated` has their copies."""
    states = latest_states(facts.transaction_states, dated, detection.coverage)
    producers = latest_producers(facts.replay_sums, facts.producer_snapshots, dated, detection.transactions)
    renewed = dated.selectExpr(*PARTITION)
    coordinators = renewed.where(f"topic = '{TRANSACTION_STATE}'").selectExpr(
        "cluster", "partition AS coordinator_partition"
    )
    # Most of a write is waiting, and the tables do not wait for one another.
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(renew, store, COORDINATOR_STATES, clusters, states, coordinators)
        second = pool.submit(renew, store, PRODUCER_STATES, clusters, producers, renewed)
    first.result()
    second.result()


def later_copies(store: Store, clusters: list[str], since: str, are_full: bool = False) -> DataFrame:
    """The latest as-of (`later_as_of`) that any run saw of each partition, of those of which `since` holds: no earlier
    one is later than any of this dump. `are_full`: that any run with `--full` saw.
    """
    seen = store.read(DUMP_FILES, clusters).where(f"kind = 'segment' AND copy_chosen AND {since}")
    if are_full:
        runs = store.read(RUNS, clusters).where("get_json_object(options, '$.full') = 'true'")
        is_of_run = F.expr("seen.cluster = runs.cluster AND as_of BETWEEN as_of_from AND as_of_to")
        seen = seen.alias("seen").join(runs.alias("runs"), is_of_run, "left_semi")
    return summed(seen, PARTITION, "max(as_of) AS later_as_of")


def latest_copies(detection: Detection, later: DataFrame) -> DataFrame:
    """The copies of partitions that no run saw later, each with its `as_of` (ms)."""
    seen = dated_copies(detection.copies, detection.times).join(later, [*PARTITION], "left")
    return seen.where(f"coalesce({instant('as_of')} >= later_as_of, true)").drop("later_as_of")


def with_states(store: Store, clusters: list[str]) -> DataFrame:
    """A row if there are any states: tables of an older txnlog have runs, and no states."""
    states, producers = (
        store.read(table, clusters).selectExpr("cluster") for table in (COORDINATOR_STATES, PRODUCER_STATES)
    )
    return states.unionAll(producers).limit(1)


def renew(store: Store, table: Table, clusters: list[str], found: DataFrame, renewed: DataFrame) -> None:
    """Put `found` (times in ms) in the place of the rows of the partitions in `renewed`; all other rows stay."""
    new = rows_of_table(table, found, {name: instant(name) for name in TIMES[table.name]})
    rest = store.read(table, clusters).join(renewed, renewed.columns, "left_anti")
    store.overwrite(table, new.unionByName(rest), clusters)
