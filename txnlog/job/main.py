"""The main job: read a dump, reach a verdict on each open transaction, write the tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from txnlog.config import DetectOptions
from txnlog.detection.inputs import Facts
from txnlog.detection.pipeline import Detection, detect
from txnlog.dump.dump_file import Inventory
from txnlog.dump.manifest import NAME as MANIFEST
from txnlog.errors import DumpError
from txnlog.job.facts import facts_of
from txnlog.job.few_rows import is_few_rows
from txnlog.job.persisting import persisting
from txnlog.job.preparing import check_dated, listed, open_tables
from txnlog.job.results import write_results
from txnlog.job.steps import Steps
from txnlog.job.stored_archive import StoredArchive
from txnlog.report import prometheus
from txnlog.report.coordinator_history import histories_of
from txnlog.report.prometheus import Figures, figures_of
from txnlog.sources.reading import evidence
from txnlog.spark.materialize import materialized_together
from txnlog.tables.layout import (
    COORDINATOR_RANGES,
    OPEN_TRANSACTIONS,
    RUNS,
    TRANSACTIONAL_IDS,
    Root,
    Table,
)
from txnlog.tables.lock import only_writer
from txnlog.tables.store import Store

if TYPE_CHECKING:
    from txnlog.live.coordinators import CoordinatorLogs


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run found: rows of `runs`, one a cluster, as dictionaries; and the links and pipes that it left alone."""

    runs: list[dict[str, object]]
    not_followed: list[str]


def run(spark: SparkSession, options: DetectOptions, announce: Callable[[str], None] = lambda _: None) -> Outcome:
    """Run the whole job. Raises `DumpError`, `OptionError` or `TableError` for what the user can mend."""
    return run_in(lambda _: spark, options, announce)


def run_in(
    start: Callable[[bool], SparkSession], options: DetectOptions, announce: Callable[[str], None] = lambda _: None
) -> Outcome:
    """As `run`. `start` gives the session when it is known whether few rows of the dump reach Spark."""
    steps, started = Steps(announce), datetime.now(UTC)
    options, dump, coordinators = _prepared(options, steps)
    with steps.step("start Spark"):
        spark = start(is_few_rows(dump))
    store, clusters = Store(spark, Root(options.tables)), sorted({each.cluster for each in dump.log_dirs})
    with ExitStack() as writing, persisting(spark) as persist:
        with steps.step("read the dump"):
            read = persist(evidence(spark, dump, options.full))
        with steps.step("open the tables"):
            open_tables(store, writing)
        with steps.step("replay and judge"):
            archive = StoredArchive(store, clusters, persist)
            facts = _with_memory(facts_of(read, options, dump, coordinators, persist), store, clusters, archive)
            detection = detect(facts, options.thresholds, materialized_together, options.as_of)
            check_dated(options, detection.undated)
            _check_coordinators(options, detection)
        # What is written depends on what is there: no other job may come in between.
        if not store.has_new_tables:
            writing.enter_context(only_writer(store.root))
        archive.check_is_there_still()
        runs = write_results(store, options, clusters, facts, detection, started, steps)
    if options.metrics is not None:
        with steps.step("write the metrics"):
            prometheus.write(_figures(store, clusters, runs), Path(options.metrics))
    return Outcome(runs, [file.file for file in dump.files if file.is_special])


def _prepared(options: DetectOptions, steps: Steps) -> tuple[DetectOptions, Inventory, CoordinatorLogs | None]:
    """All that needs no Spark: options, the dump, coordinators' logs of the running cluster if wanted."""
    with steps.step("list the dump"):
        dump = listed(options)
    if options.bootstrap_server is None:
        return options, dump, None
    with steps.step("ask the cluster"):
        complete, coordinators = _asked(options, dump)
        return complete, listed(complete), coordinators


def _asked(options: DetectOptions, dump: Inventory) -> tuple[DetectOptions, CoordinatorLogs | None]:
    """The options, completed by what the running cluster says that they name; its coordinators' logs if wanted."""
    # Its package is needed by those only who name a cluster.
    from txnlog.live.coordinators import coordinator_logs
    from txnlog.live.settings import cluster_settings, live_cluster, with_live_settings

    live = live_cluster(options)
    complete = with_live_settings(options, dump, cluster_settings(live, options))
    return complete, coordinator_logs(live) if options.live_coordinators else None


def _check_coordinators(options: DetectOptions, detection: Detection) -> None:
    """A wrong number of coordinator partitions would make missing ones invisible: the ids show where they belong."""
    for wrong in detection.contradicted:
        counts = wrong["possible_counts"] or []
        possible = f"; the ids allow {', '.join(map(str, counts[:5]))}" if counts else ""
        raise DumpError(
            f"{options.dump}: __transaction_state of {wrong['cluster']} is said to have {wrong['stated_count']}"
            f" partitions, but would then hold these ids in others than it does:"
            f" {', '.join(wrong['contradicting_ids'])}{possible}: correct transaction_state_partitions in {MANIFEST},"
            " or --coordinator-partitions"
        )


def _figures(store: Store, clusters: list[str], runs: list[dict[str, object]]) -> Figures:
    """What `txnlog metrics` reads, by the session that may be the only one with the rights to it."""

    def found(table: Table, where: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = store.read(table, clusters).where(where).toArrow().to_pylist()
        return rows

    latest = found(RUNS, f"run_id = '{runs[0]['run_id']}'")
    return figures_of(latest, found, histories_of(latest, found(COORDINATOR_RANGES, "true"), found))


def _with_memory(facts: Facts, store: Store, clusters: list[str], archive: StoredArchive) -> Facts:
    """The facts, and what earlier runs knew: owners of producer ids, open transactions, what coordinators said."""
    return dataclasses.replace(
        facts,
        archive=archive if archive.ranges else None,
        remembered=store.read(TRANSACTIONAL_IDS, clusters),
        sightings=store.read(OPEN_TRANSACTIONS, clusters).selectExpr(
            "* EXCEPT (last_timestamp)",
            "unix_millis(last_timestamp) AS last_timestamp",
            "unix_millis(as_of) AS seen_at",
            "unix_millis(copy_ended) AS seen_until",
        ),
    )
