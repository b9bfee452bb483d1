"""The main job: read a dump, reach a verdict on each open transaction, write the tables."""

from __future__ import annotations

import dataclasses
import glob
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import txnlog
from txnlog.config import DetectOptions
from txnlog.detection.coordinator import producer_ids
from txnlog.detection.copies import COPY
from txnlog.detection.pipeline import Detection, Facts, detect
from txnlog.detection.verdicts import Thresholds
from txnlog.effort import is_few_rows, is_read_in_a_moment
from txnlog.errors import DumpError
from txnlog.format.partitioner import DEFAULT_PARTITIONS
from txnlog.report import metrics
from txnlog.report.metrics import Figures, figures_of
from txnlog.schema import arrow_schema, spark_schema
from txnlog.session import IS_SMALL
from txnlog.settle import local_frame, settled
from txnlog.snapshots import as_of_range, input_digest, later_copies, options_text, write_snapshots
from txnlog.sources import reading
from txnlog.sources.evidence import FILE, OF_REPLAY, PIECES, STATES
from txnlog.sources.files import rows_of_pieces
from txnlog.sources.inventory import Inventory, LogDir, inventory
from txnlog.sources.manifest import NAME as MANIFEST
from txnlog.sources.opener import dump_root
from txnlog.sources.rows import BatchRow, DumpFileRow, ReplayRow
from txnlog.sources.shared_listing import shared_listing
from txnlog.sources.text import check_partition
from txnlog.sources.text_stream import may_be_split
from txnlog.spark_errors import SPARK_ERRORS
from txnlog.tables.changes import (
    OPERATION,
    UPSERT,
    candidate_changes,
    instant,
    new_or_different,
    open_transaction_changes,
    open_transaction_rows,
)
from txnlog.tables.layout import (
    ABORT_CANDIDATES,
    DUMP_FILES,
    OPEN_TRANSACTIONS,
    RUNS,
    TRANSACTIONAL_IDS,
    Root,
    Table,
)
from txnlog.tables.lock import only_writer
from txnlog.tables.rows import DumpFileTableRow, RunRow
from txnlog.tables.store import Store

if TYPE_CHECKING:
    from txnlog.live.coordinators import CoordinatorLogs

DEFAULT_MAX_TIMEOUT_MS = 900_000
# Of what is computed before it is needed: how many frames at once, and what its jobs are known by.
FRAMES_AHEAD = 2
AHEAD = "txnlog-ahead"
STEPS = (
    "list the dump",
    "ask the cluster",
    "start Spark",
    "open the tables",
    "read and replay",
    "write the verdicts",
    "write states and inventory",
    "write the run",
    "write the metrics",
)
LOG_DIR_SCHEMA = pa.schema(
    [
        ("cluster", pa.string()),
        ("broker", pa.string()),
        ("log_dir", pa.string()),
        ("copy_started", pa.int64()),
        ("copy_ended", pa.int64()),
        ("transaction_max_timeout_ms", pa.int64()),
        ("coordinator_partitions", pa.int32()),
        ("cluster_id", pa.string()),
    ]
)


def steps_of(options: DetectOptions) -> tuple[str, ...]:
    """The steps of a run with these options, in their order."""
    left_out = {"ask the cluster": options.bootstrap_server is None, "write the metrics": options.metrics is None}
    return tuple(step for step in STEPS if not left_out.get(step, False))


@dataclass(slots=True)
class Steps:
    """Seconds that each step took; `announce` is told the name of each as it begins."""

    announce: Callable[[str], None]
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time one step."""
        self.announce(name)
        start = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + round(time.monotonic() - start, 3)


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
    clusters = sorted({log_dir.cluster for log_dir in dump.log_dirs})
    store = Store(spark, Root(options.tables))
    with ExitStack() as writing, _keeping(spark) as keep, shared_listing(dump) as listing:
        found = facts_of(spark, options, dump, keep, coordinators, listing)
        with steps.step("open the tables"):
            is_only_writer = writing.enter_context(only_writer(store.root))
            writing.callback(store.await_quietly)
            store.ensure(is_only_writer)
        if not store.has_new_tables:
            writing.close()
        facts = _with_memory(found, store, clusters)
        with steps.step("read and replay"):
            detection = detect(facts, _thresholds(options), settled, options.as_of)
            _check_times(options, detection)
        # What is written depends on what is there: no other job may come in between.
        if not store.has_new_tables:
            writing.enter_context(only_writer(store.root))
        runs = _write(store, options, clusters, facts, detection, started, steps)
    if options.metrics is not None:
        with steps.step("write the metrics"):
            metrics.write(_figures(store, clusters, runs), Path(options.metrics))
    return Outcome(runs, [file.file for file in dump.files if file.is_special])


def _prepared(options: DetectOptions, steps: Steps) -> tuple[DetectOptions, Inventory, CoordinatorLogs | None]:
    """All that needs no Spark: options, the dump, coordinators' logs of the running cluster if wanted."""
    with steps.step("list the dump"):
        dump = _listed(options)
    if options.bootstrap_server is None:
        return options, dump, None
    with steps.step("ask the cluster"):
        complete, coordinators = _asked(options, dump)
        return complete, _listed(complete), coordinators


def _listed(options: DetectOptions) -> Inventory:
    dump = inventory(dump_root(options.dump), options.cluster, options.topic_partition)
    if not any(file.topic or file.is_text for file in dump.files):
        raise DumpError(
            f"{options.dump}: there are no Kafka logs in it: no folder such as orders-0 with .log files, no text"
            " of kafka-dump-log.sh"
        )
    for file in dump.files:
        if file.is_text:
            check_partition(file)
    return dump


def _asked(options: DetectOptions, dump: Inventory) -> tuple[DetectOptions, CoordinatorLogs | None]:
    """The options, completed by what the running cluster says that they name; its coordinators' logs if wanted."""
    # Its package is needed by those only who name a cluster.
    from txnlog.live.coordinators import coordinator_logs
    from txnlog.live.settings import cluster_settings, live_cluster, with_live_settings

    live = live_cluster(options)
    complete = with_live_settings(options, dump, cluster_settings(live))
    return complete, coordinator_logs(live) if options.live_coordinators else None


def _check_times(options: DetectOptions, detection: Detection) -> None:
    """Texts and objects may hold no time that a broker stamped; when they were written says nothing of the copy."""
    undated = detection.times.where("as_of IS NULL").select("log_dir").head()
    if undated is not None:
        raise DumpError(
            f"{options.dump}: nothing says when what is in {undated['log_dir']} was copied or printed: name it with"
            f" --as-of, or as started in {MANIFEST}"
        )


def _write(
    store: Store,
    options: DetectOptions,
    clusters: list[str],
    facts: Facts,
    detection: Detection,
    started: datetime,
    steps: Steps,
) -> list[dict[str, object]]:
    with steps.step("write the verdicts"):
        store.await_tables()
        found = settled(open_transaction_rows(detection.transactions))
        _write_verdicts(store, clusters, found, detection)
    # Behind the verdicts: states are of the latest dump only, so that a disk that fills up leaves the ones before.
    # Most of a write is waiting, and these tables do not wait for one another.
    with steps.step("write states and inventory"), ThreadPoolExecutor(2) as beside:
        states = beside.submit(write_snapshots, store, clusters, facts, detection, dataclasses.asdict(options))
        owners = beside.submit(_write_owners, store, clusters, facts.transaction_states)
        _write_dump_files(store, clusters, facts.dump_files, detection)
        states.result()
        owners.result()
    with steps.step("write the run"):
        return _write_runs(store, options, _runs(facts, detection, found), started, steps)


def _figures(store: Store, clusters: list[str], runs: list[dict[str, object]]) -> Figures:
    """What `txnlog metrics` reads without Spark, which cannot read tables in a catalog."""

    def found(table: Table, where: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = store.read(table, clusters).where(where).toArrow().to_pylist()
        return rows

    return figures_of(found(RUNS, f"run_id = '{runs[0]['run_id']}'"), found)


def _as_it_is(frame: DataFrame) -> DataFrame:
    return frame


def facts_of(
    spark: SparkSession,
    options: DetectOptions,
    dump: Inventory,
    keep: Callable[[DataFrame], DataFrame] = _as_it_is,
    coordinators: CoordinatorLogs | None = None,
    listing: str | None = None,
) -> Facts:
    """The facts of a dump, with coordinators' logs of the running cluster if given, and nothing of earlier runs.

    `keep` gives back a frame that is not computed twice. In a session of txnlog's own for few rows, what is read in a
    moment is read here and now: to start a worker takes longer.
    """
    has_few_rows = spark.conf.get(IS_SMALL, "false") == "true" and is_few_rows(dump)
    is_here = has_few_rows and is_read_in_a_moment(dump)
    shared: dict[str, Any] = {
        "cluster": options.cluster,
        "coordinator_partitions": options.coordinator_partitions,
        "topic_partition": options.topic_partition,
        "listing": listing,
    }
    of_batches, of_rows = {"on_driver": int(is_here), **shared}, {"on_driver": int(has_few_rows), **shared}
    evidence = reading.evidence(spark, options.dump, options.full, **of_batches)
    evidence = evidence if is_here else keep(evidence)
    facts = Facts(
        # Of a frame that is kept Spark passes over what is of other kinds, if the kinds wanted are named.
        runs=evidence.where(F.col("fact").isin(*OF_REPLAY)).select(*spark_schema(ReplayRow).names),
        markers=_markers_of(spark, options, of_batches),
        dump_files=_dump_files(evidence, dump),
        transaction_states=evidence.where(f"fact = '{STATES}'").select("state.*"),
        producer_snapshots=reading.producer_snapshots(spark, options.dump, **of_rows),
        aborted_transactions=reading.aborted_transactions(spark, options.dump, **of_rows),
        checkpoints=reading.checkpoints(spark, options.dump, **of_rows),
        log_dirs=_log_dirs(spark, dump.log_dirs, options),
    )
    if coordinators is None:
        return facts
    from txnlog.live.facts import live_log_dir, with_coordinators

    cluster = dump.log_dirs[0].cluster
    return with_coordinators(
        facts, coordinators, cluster, _log_dirs(spark, [live_log_dir(coordinators, cluster)], options)
    )


def _dump_files(evidence: DataFrame, dump: Inventory) -> DataFrame:
    """A row for each file; those of long texts are put together of what several tasks have read."""
    names = spark_schema(DumpFileRow).names
    rows = evidence.where(f"fact = '{FILE}'").select(*names)
    if not any(file.is_text and may_be_split(file.path, file.size) for file in dump.files):
        return rows
    pieces = evidence.where(f"fact = '{PIECES}'").select(*names, "piece").toArrow().to_pylist()
    return rows.unionAll(local_frame(evidence.sparkSession, rows_of_pieces(pieces), arrow_schema(DumpFileRow)))


def _markers_of(
    spark: SparkSession, options: DetectOptions, shared: dict[str, Any]
) -> Callable[[DataFrame], DataFrame]:
    """All markers of some open transactions: they are few, and what is read to find them is, too."""

    def markers(wanted: DataFrame) -> DataFrame:
        found = wanted.select("topic", "partition", "producer_id").collect()
        if not found:
            return local_frame(spark, [], arrow_schema(BatchRow))
        partitions = sorted({f"{glob.escape(row['topic'])}-{row['partition']}" for row in found})
        producers = sorted({row["producer_id"] for row in found})
        return reading.batches(
            spark,
            options.dump,
            level="markers",
            partitions=",".join(partitions),
            producers=",".join(map(str, producers)),
            **shared,
        )

    return markers


def _with_memory(facts: Facts, store: Store, clusters: list[str]) -> Facts:
    """The facts, and what earlier runs knew: whose a producer id was, and which open transactions they saw."""
    seen = store.read(OPEN_TRANSACTIONS, clusters).withColumn("seen_at", F.unix_millis("as_of"))
    return dataclasses.replace(
        facts,
        remembered=store.read(TRANSACTIONAL_IDS, clusters).select("cluster", "producer_id", "transactional_id"),
        sightings=seen.select(*OPEN_TRANSACTIONS.key[:-1], "batches", "bytes", "seen_at"),
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
        ahead.submit(compute, kept[-1])
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


def _log_dirs(spark: SparkSession, log_dirs: Sequence[LogDir], options: DetectOptions) -> DataFrame:
    return local_frame(spark, [log_dir_row(each, options) for each in log_dirs], LOG_DIR_SCHEMA)


def log_dir_row(log_dir: LogDir, options: DetectOptions) -> dict[str, object]:
    """A row of `Facts.log_dirs`: what manifest and options say of a copied log directory."""
    copied = log_dir.copied
    timeout_ms = options.max_transaction_timeout or log_dir.transaction_max_timeout_ms or DEFAULT_MAX_TIMEOUT_MS
    partitions = options.coordinator_partitions or log_dir.transaction_state_partitions or DEFAULT_PARTITIONS
    return {
        "cluster": log_dir.cluster,
        "broker": log_dir.broker,
        "log_dir": log_dir.log_dir,
        "copy_started": copied.started if copied else None,
        "copy_ended": copied.ended if copied else None,
        "transaction_max_timeout_ms": timeout_ms,
        "coordinator_partitions": partitions,
        "cluster_id": log_dir.cluster_id,
    }


def _thresholds(options: DetectOptions) -> Thresholds:
    return Thresholds(options.padding, options.slack, options.clock_skew, options.accept_compacted_history)


def _write_verdicts(store: Store, clusters: list[str], found: DataFrame, detection: Detection) -> None:
    covered = settled(
        detection.copies.join(detection.times, ["cluster", "broker", "log_dir"], "inner")
        .withColumn("as_of", instant(F.col("as_of")))
        .withColumn(
            "is_cut",
            F.expr(
                "coalesce(high_watermark > log_end_offset, false) OR snapshot_above_end IS NOT NULL"
                " OR tail_producer_id IS NOT NULL OR longest_log_end_offset > log_end_offset"
            ),
        )
    )
    later = later_copies(store, clusters)
    existing = store.read(OPEN_TRANSACTIONS, clusters)
    _merge(store, OPEN_TRANSACTIONS, open_transaction_changes(found, existing, covered), clusters)
    candidates = store.read(ABORT_CANDIDATES, clusters)
    _merge(store, ABORT_CANDIDATES, candidate_changes(found, candidates, covered, later), clusters)


def _merge(store: Store, table: Table, changes: DataFrame, clusters: list[str]) -> None:
    """Write what changed; where nothing did, there is no commit."""
    ready = settled(changes)
    if not ready.isEmpty():
        store.merge(table, ready, clusters)


def _write_dump_files(store: Store, clusters: list[str], files: DataFrame, detection: Detection) -> None:
    chosen = detection.copies.select(*COPY, "chosen_because", F.lit(True).alias("copy_chosen"))
    times = detection.times.select("cluster", "broker", "log_dir", instant(F.col("as_of")).alias("as_of"))
    rows = (
        files.where(F.col("cluster").isin(clusters))
        .join(F.broadcast(times), ["cluster", "broker", "log_dir"], "inner")
        .join(F.broadcast(chosen), [*COPY], "left")
        .withColumn("copy_chosen", F.coalesce("copy_chosen", F.lit(False)))
        .select([field.name for field in spark_schema(DumpFileTableRow).fields])
    )
    changes = new_or_different(rows, store.read(DUMP_FILES, clusters)).withColumn(OPERATION, F.lit(UPSERT))
    if not changes.isEmpty():
        store.merge(DUMP_FILES, changes, clusters)


def _write_owners(store: Store, clusters: list[str], states: DataFrame) -> None:
    known = producer_ids(states).withColumn("known_since", instant(F.col("known_since")))
    before = store.read(TRANSACTIONAL_IDS, clusters)
    news = known.join(before, list(TRANSACTIONAL_IDS.key), "left_anti").withColumn(OPERATION, F.lit(UPSERT))
    if not news.isEmpty():
        store.merge(TRANSACTIONAL_IDS, news, clusters)


def _runs(facts: Facts, detection: Detection, found: DataFrame) -> DataFrame:
    """What each cluster's row of `runs` says of input and result."""
    inputs = (
        facts.dump_files.where("cluster <> ''")
        .groupBy("cluster")
        .agg(
            F.count("*").alias("files"),
            F.sum("size_in_bytes").alias("bytes"),
            F.sum("bytes_damaged").alias("bytes_damaged"),
            input_digest().alias("input_digest"),
        )
    )
    times = as_of_range(detection.times)
    copies = detection.copies.groupBy("cluster").agg(F.count("*").alias("partitions"))
    coordinators = detection.coverage.groupBy("cluster").agg(F.count("*").alias("coordinators"))
    expected = facts.log_dirs.groupBy("cluster").agg(
        F.max("coordinator_partitions").alias("coordinator_partitions"), F.max("cluster_id").alias("cluster_id")
    )
    late = F.coalesce("late", F.lit(True))
    results = found.groupBy("cluster").agg(
        F.count("*").alias("open_transactions"),
        F.count_if(late).alias("late_transactions"),
        F.count_if(F.col("action") == "ABORT").alias("abort_candidates"),
        F.count_if(F.col("action") == "UNDETERMINED").alias("undetermined"),
        F.count_distinct(F.when(late, F.struct("topic", "partition"))).alias("partitions_with_late_transactions"),
        F.max("open_for_ms").alias("longest_open_ms"),
    )
    joined = inputs
    for part in (times, copies, coordinators, expected, results):
        joined = joined.join(part, ["cluster"], "left")
    missing = F.col("coordinator_partitions") - F.coalesce("coordinators", F.lit(0))
    return joined.withColumn("coordinator_partitions_missing", missing.cast("int")).drop("coordinators")


def _write_runs(
    store: Store, options: DetectOptions, rows: DataFrame, started: datetime, steps: Steps
) -> list[dict[str, object]]:
    run_id = str(uuid.uuid4())
    counts = (
        "open_transactions",
        "late_transactions",
        "abort_candidates",
        "undetermined",
        "partitions_with_late_transactions",
        "partitions",
    )
    complete: list[dict[str, object]] = [
        row
        | {name: row[name] or 0 for name in counts}
        | {
            "run_id": run_id,
            "dump": options.dump,
            "txnlog_version": txnlog.__version__,
            "options": options_text(dataclasses.asdict(options)),
            "started_at": started,
            "finished_at": datetime.now(UTC),
            "step_seconds": dict(steps.seconds),
        }
        for row in rows.toArrow().to_pylist()
    ]
    # Arrow takes a map as pairs.
    pairs = [row | {"step_seconds": list(steps.seconds.items())} for row in complete]
    store.append(RUNS, local_frame(rows.sparkSession, pairs, arrow_schema(RunRow)))
    return complete
