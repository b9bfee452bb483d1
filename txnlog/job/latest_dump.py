"""Writes the two tables that show the latest dump only: what coordinators and brokers know."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from txnlog import __version__
from txnlog.detection.pipeline import Detection, Facts
from txnlog.detection.snapshots import dated_copies, latest_producers, latest_states
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.spark.settle import settled_unless_empty
from txnlog.tables.changes import PARTITION, instant, table_columns
from txnlog.tables.layout import COORDINATOR_STATES, DUMP_FILES, PRODUCER_STATES, RUNS, Table
from txnlog.tables.store import Store

# Columns of the frames that are ms, and timestamps in the tables.
TIMES = {
    COORDINATOR_STATES.name: ("last_update_timestamp", "start_timestamp", "as_of"),
    PRODUCER_STATES.name: ("last_timestamp", "as_of"),
}


def write_snapshots(
    store: Store, clusters: list[str], facts: Facts, detection: Detection, options: Mapping[str, object]
) -> None:
    """Renew the rows of the partitions that this dump has, unless a later dump has been there before.

    `options` are those of the run: where the latest run had the same and read the same files, nothing is to be done.
    """
    if _is_repeated(store, clusters, facts, detection, options):
        return
    copies = dated_copies(detection.copies, detection.times)
    dated = settled_unless_empty(_not_older(copies, later_copies(store, clusters)))
    if dated is None:
        return
    states = latest_states(facts.transaction_states, dated, detection.coverage)
    producers = latest_producers(facts.runs, facts.producer_snapshots, dated)
    renewed = dated.select(*PARTITION)
    coordinators = renewed.where(F.col("topic") == TRANSACTION_STATE).select(
        "cluster", F.col("partition").alias("coordinator_partition")
    )
    # Most of a write is waiting, and the tables do not wait for one another.
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(renew, store, COORDINATOR_STATES, clusters, states, coordinators)
        second = pool.submit(renew, store, PRODUCER_STATES, clusters, producers, renewed)
    first.result()
    second.result()


def _is_repeated(
    store: Store, clusters: list[str], facts: Facts, detection: Detection, options: Mapping[str, object]
) -> bool:
    # Tables of an older txnlog have runs, and no states.
    states, producers = (
        store.read(table, clusters).select("cluster") for table in (COORDINATOR_STATES, PRODUCER_STATES)
    )
    if states.unionAll(producers).isEmpty():
        return False
    compared = ["cluster", "input_digest", "as_of_from", "as_of_to"]
    latest = F.max_by(F.struct(*compared[1:], "options", "txnlog_version"), "finished_at")
    runs = store.read(RUNS, clusters).groupBy("cluster").agg(latest.alias("latest")).select("cluster", "latest.*")
    same = (F.col("options") == options_text(options)) & (F.col("txnlog_version") == __version__)
    digests = facts.dump_files.groupBy("cluster").agg(input_digest().alias("input_digest"))
    found = digests.join(as_of_range(detection.times), ["cluster"], "inner")
    return found.join(runs.where(same), compared, "left_semi").count() == len(clusters)


def as_of_range(times: DataFrame) -> DataFrame:
    """Earliest and latest as-of of each cluster, and where they are from."""
    return times.groupBy("cluster").agg(
        instant(F.min("as_of")).alias("as_of_from"),
        instant(F.max("as_of")).alias("as_of_to"),
        F.sort_array(F.collect_set("as_of_source")).alias("as_of_sources"),
    )


def input_digest() -> Column:
    """An aggregate over the files of a cluster: equal for equal dumps."""
    one_file = F.concat_ws("|", "file", "size_in_bytes", "bytes_parsed", "first_offset", "last_offset", "problem")
    return F.sha2(F.concat_ws("\n", F.sort_array(F.collect_list(one_file))), 256)


def options_text(options: Mapping[str, object]) -> str:
    """The options of a run as `runs` has them."""
    return json.dumps(options, sort_keys=True)


def later_copies(store: Store, clusters: list[str]) -> DataFrame:
    """The latest as-of (`later_as_of`) that any run saw of each partition."""
    return (
        store.read(DUMP_FILES, clusters)
        .where("kind = 'segment' AND copy_chosen")
        .groupBy(*PARTITION)
        .agg(F.max("as_of").alias("later_as_of"))
    )


def _not_older(dated: DataFrame, later: DataFrame) -> DataFrame:
    """The copies of partitions that no run saw later."""
    seen = dated.join(later, [*PARTITION], "left")
    return seen.where(F.coalesce(instant(F.col("as_of")) >= F.col("later_as_of"), F.lit(True))).drop("later_as_of")


def renew(store: Store, table: Table, clusters: list[str], found: DataFrame, renewed: DataFrame) -> None:
    """Put `found` (times in ms) in the place of the rows of the partitions in `renewed`; all other rows stay."""
    new = found.select(*table_columns(table, {name: instant(F.col(name)) for name in TIMES[table.name]}))
    rest = store.read(table, clusters).join(F.broadcast(renewed), renewed.columns, "left_anti")
    store.overwrite(table, new.unionByName(rest), clusters)
