"""The main job: read a dump, reach a verdict on each open transaction, write the tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from txnlog.config import DetectOptions
from txnlog.detection.conditions import Thresholds
from txnlog.detection.inputs import Facts
from txnlog.detection.pipeline import Detection, detect
from txnlog.dump.address import is_address
from txnlog.dump.dump_file import Inventory
from txnlog.dump.inventory import check_has_logs, inventory
from txnlog.dump.manifest import NAME as MANIFEST
from txnlog.dump.opener import dump_root
from txnlog.errors import DumpError, TableError
from txnlog.job.archive import StoredArchive
from txnlog.job.effort import is_few_rows
from txnlog.job.facts import facts_of
from txnlog.job.results import write_results
from txnlog.job.steps import Steps
from txnlog.report import prometheus
from txnlog.report.prometheus import Figures, figures_of
from txnlog.sources.reading import evidence
from txnlog.sources.text import check_partition
from txnlog.spark.session import is_small
from txnlog.spark.settle import settled_together
from txnlog.spark.spark_errors import SPARK_ERRORS
from txnlog.tables.layout import (
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

# How many frames are computed ahead at once, and the tag of their jobs.
FRAMES_AHEAD = 2
AHEAD = "txnlog-ahead"


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
    with ExitStack() as writing, _keeping(spark) as keep:
        read = keep(evidence(spark, dump, options.full))
        with steps.step("open the tables"):
            _open_tables(store, writing)
        with steps.step("read and replay"):
            archive = StoredArchive(store, clusters)
            facts = _with_memory(facts_of(read, options, dump, coordinators), store, clusters, archive)
            detection = detect(facts, _thresholds(options), settled_together, options.as_of)
            _check_times(options, detection)
            _check_coordinators(options, detection)
        # What is written depends on what is there: no other job may come in between.
        if not store.has_new_tables:
            writing.enter_context(only_writer(store.root))
        runs = write_results(store, options, clusters, facts, detection, started, steps)
    if options.metrics is not None:
        with steps.step("write the metrics"):
            prometheus.write(_figures(store, clusters, runs), Path(options.metrics))
    return Outcome(runs, [file.file for file in dump.files if file.is_special])


def _open_tables(store: Store, writing: ExitStack) -> None:
    """Create what is missing. Who has created tables keeps others out until it has written; in `writing` is how."""
    is_only_writer = writing.enter_context(only_writer(store.root))
    writing.callback(store.await_quietly)
    store.ensure(is_only_writer)
    if not store.has_new_tables:
        writing.close()


def _prepared(options: DetectOptions, steps: Steps) -> tuple[DetectOptions, Inventory, CoordinatorLogs | None]:
    """All that needs no Spark: options, the dump, coordinators' logs of the running cluster if wanted."""
    with steps.step("list the dump"):
        _check_tables_are_elsewhere(options)
        dump = _listed(options)
    if options.bootstrap_server is None:
        return options, dump, None
    with steps.step("ask the cluster"):
        complete, coordinators = _asked(options, dump)
        return complete, _listed(complete), coordinators


def _listed(options: DetectOptions) -> Inventory:
    dump = inventory(dump_root(options.dump), options.cluster, options.topic_partition)
    check_has_logs(dump, options.dump)
    for file in dump.files:
        if file.is_text:
            check_partition(file)
    return dump


def _check_tables_are_elsewhere(options: DetectOptions) -> None:
    """Within the dump the next run would take them for a part of it."""
    root, dump = Root(options.tables), dump_root(options.dump)
    if root.is_schema:
        return
    tables = root.base()
    if not is_address(dump):
        tables, dump = str(Path(tables).resolve()), str(Path(dump).resolve())
    if f"{tables}/".startswith(f"{dump.rstrip('/')}/"):
        raise TableError(
            f"{options.tables} lies in the dump {options.dump}: name a folder outside of it for the tables"
        )


def _asked(options: DetectOptions, dump: Inventory) -> tuple[DetectOptions, CoordinatorLogs | None]:
    """The options, completed by what the running cluster says that they name; its coordinators' logs if wanted."""
    # Its package is needed by those only who name a cluster.
    from txnlog.live.coordinators import coordinator_logs
    from txnlog.live.settings import cluster_settings, live_cluster, with_live_settings

    live = live_cluster(options)
    complete = with_live_settings(options, dump, cluster_settings(live, options))
    return complete, coordinator_logs(live) if options.live_coordinators else None


def _check_times(options: DetectOptions, detection: Detection) -> None:
    """Dump-log output may hold no time by a broker's clock, and its own file time is not that of the copy."""
    for log_dir in detection.undated:
        raise DumpError(
            f"{options.dump}: it is not known when {log_dir} was copied or printed: give the time with"
            f" --as-of, or as started in {MANIFEST}"
        )


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
    """What `txnlog metrics` reads without Spark, which cannot read tables in a catalog."""

    def found(table: Table, where: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = store.read(table, clusters).where(where).toArrow().to_pylist()
        return rows

    return figures_of(found(RUNS, f"run_id = '{runs[0]['run_id']}'"), found)


def _with_memory(facts: Facts, store: Store, clusters: list[str], archive: StoredArchive) -> Facts:
    """The facts, and what earlier runs knew: owners of producer ids, open transactions, what coordinators said."""
    return dataclasses.replace(
        facts,
        archive=archive if archive.ranges else None,
        remembered=store.read(TRANSACTIONAL_IDS, clusters),
        sightings=store.read(OPEN_TRANSACTIONS, clusters).selectExpr(
            "*", "unix_millis(as_of) AS seen_at", "unix_millis(copied_until) AS seen_until"
        ),
    )


@contextmanager
def _keeping(spark: SparkSession) -> Iterator[Callable[[DataFrame], DataFrame]]:
    """Keeps the frames it is given, which are used several times, in memory or on disk meanwhile.

    Each is computed at once, beside whatever else is done until it is needed.
    """
    kept, ahead = list[DataFrame](), ThreadPoolExecutor(FRAMES_AHEAD)

    def compute(frame: DataFrame) -> None:
        spark.addTag(AHEAD)
        frame.count()

    def keep(frame: DataFrame) -> DataFrame:
        try:
            kept.append(frame.persist())
        except PySparkException:
            # Serverless compute keeps nothing: it is computed anew each time, which is slower and just as right.
            return frame
        # Whoever uses the frame meets the same error.
        computed = ahead.submit(compute, kept[-1])
        # Spark estimates 8 bytes for what no task has read yet, and would broadcast all coordinators' records.
        if not is_small(spark):
            computed.result()
        return kept[-1]

    try:
        yield keep
    except BaseException:
        # Where Spark itself is gone, there is nothing to interrupt.
        with suppress(*SPARK_ERRORS, OSError):
            spark.interruptTag(AHEAD)
        raise
    finally:
        ahead.shutdown(cancel_futures=True)
        for frame in kept:
            frame.unpersist()


def _thresholds(options: DetectOptions) -> Thresholds:
    return Thresholds(options.padding, options.slack, options.clock_skew, options.accept_compacted_history)
