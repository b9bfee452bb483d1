"""Writes the two tables that show the latest dump only: what coordinators and brokers know."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from txnlog.detection.coordinator import COORDINATOR_TOPIC
from txnlog.detection.pipeline import Detection, Facts
from txnlog.detection.snapshots import dated_copies, latest_producers, latest_states
from txnlog.settle import settled
from txnlog.tables.changes import PARTITION, instant, table_columns
from txnlog.tables.layout import COORDINATOR_STATES, DUMP_FILES, PRODUCER_STATES, Table
from txnlog.tables.store import Store

COORDINATOR_PARTITION = ("cluster", "coordinator_partition")
# Columns of the frames that are ms, and timestamps in the tables.
TIMES = {
    COORDINATOR_STATES.name: ("last_update_timestamp", "start_timestamp", "as_of"),
    PRODUCER_STATES.name: ("last_timestamp", "as_of"),
}


def write_snapshots(store: Store, clusters: list[str], facts: Facts, detection: Detection) -> None:
    """Renew the rows of the partitions that this dump has, unless a later dump has been there before."""
    dated = settled(dated_copies(detection.copies, detection.times))
    renewed = settled(_renewed(dated, later_copies(store, clusters)))
    states = latest_states(facts.transaction_states, dated, detection.coverage)
    producers = latest_producers(facts.batches, facts.producer_snapshots, dated)
    coordinators = renewed.where(F.col("topic") == COORDINATOR_TOPIC).withColumnRenamed(
        "partition", "coordinator_partition"
    )
    renew(store, COORDINATOR_STATES, clusters, states, coordinators.select(*COORDINATOR_PARTITION))
    renew(store, PRODUCER_STATES, clusters, producers, renewed)


def later_copies(store: Store, clusters: list[str]) -> DataFrame:
    """The latest as-of (`later_as_of`) that any run saw of each partition."""
    return (
        store.read(DUMP_FILES, clusters)
        .where("kind = 'segment' AND copy_chosen")
        .groupBy(*PARTITION)
        .agg(F.max("as_of").alias("later_as_of"))
    )


def _renewed(dated: DataFrame, later: DataFrame) -> DataFrame:
    """The partitions whose rows this dump replaces."""
    seen = dated.join(later, [*PARTITION], "left")
    return seen.where(F.coalesce(instant(F.col("as_of")) >= F.col("later_as_of"), F.lit(True))).select(*PARTITION)


def renew(store: Store, table: Table, clusters: list[str], found: DataFrame, renewed: DataFrame) -> None:
    """Put `found` (times in ms) in the place of the rows of the partitions in `renewed`; all other rows stay."""
    place = renewed.columns
    rows = found.join(F.broadcast(renewed), place, "left_semi")
    new = rows.select(*table_columns(table, {name: instant(F.col(name)) for name in TIMES[table.name]}))
    existing = store.read(table, clusters)
    old = existing.join(F.broadcast(renewed), place, "left_semi")
    # Where nothing changed, there is no commit.
    if not _are_equal(new, old.select(new.columns)):
        rest = existing.join(F.broadcast(renewed), place, "left_anti")
        store.overwrite(table, new.unionByName(rest), clusters)


def _are_equal(new: DataFrame, old: DataFrame) -> bool:
    return new.exceptAll(old).isEmpty() and old.exceptAll(new).isEmpty()
