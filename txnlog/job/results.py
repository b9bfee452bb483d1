"""What a run writes: verdicts, states, the inventory and the run itself."""

from __future__ import annotations

import dataclasses
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import txnlog
from txnlog.config import DetectOptions
from txnlog.detection.coordinator import producer_ids
from txnlog.detection.copies import COPY, LACKS_END
from txnlog.detection.pipeline import Detection, Facts
from txnlog.detection.proofs import CONTRADICTING
from txnlog.job.latest_dump import as_of_range, input_digest, later_copies, options_text, write_snapshots
from txnlog.job.steps import Steps
from txnlog.spark.schema import arrow_schema, spark_schema
from txnlog.spark.settle import local_frame, settled, settled_unless_empty
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
    Table,
)
from txnlog.tables.rows import DumpFileTableRow, RunRow
from txnlog.tables.store import Store


def write_results(
    store: Store,
    options: DetectOptions,
    clusters: list[str],
    facts: Facts,
    detection: Detection,
    started: datetime,
    steps: Steps,
) -> list[dict[str, object]]:
    """Write all tables of a run; the rows of `runs`, one a cluster, as dictionaries."""
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


def _write_verdicts(store: Store, clusters: list[str], found: DataFrame, detection: Detection) -> None:
    covered = settled(
        detection.copies.join(detection.times, ["cluster", "broker", "log_dir"], "inner")
        .withColumn("as_of", instant(F.col("as_of")))
        .withColumn(
            "is_cut",
            F.expr(f"coalesce({LACKS_END}, false) OR tail_producer_id IS NOT NULL"),
        )
    )
    later = later_copies(store, clusters)
    existing = store.read(OPEN_TRANSACTIONS, clusters)
    _merge(store, OPEN_TRANSACTIONS, open_transaction_changes(found, existing, covered), clusters)
    candidates = store.read(ABORT_CANDIDATES, clusters)
    contradicting = [proof.name for proof in CONTRADICTING]
    changes = candidate_changes(found, candidates, covered, later, contradicting)
    _merge(store, ABORT_CANDIDATES, changes, clusters)


def _merge(store: Store, table: Table, changes: DataFrame, clusters: list[str]) -> None:
    """Write what changed; where nothing did, there is no commit."""
    ready = settled_unless_empty(changes)
    if ready is not None:
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
    known = producer_ids(states).withColumn("known_since", instant(F.col("known_since"))).drop("born_at")
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
    expected = (
        facts.log_dirs.groupBy("cluster")
        .agg(F.max("cluster_id").alias("cluster_id"))
        .join(
            detection.clusters.select("cluster", F.col("partition_count").cast("int").alias("coordinator_partitions")),
            ["cluster"],
            "left",
        )
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
    # 0 where their number is not known: older tables take no null.
    joined = joined.withColumn("coordinator_partitions", F.coalesce("coordinator_partitions", F.lit(0)))
    missing = F.greatest(F.col("coordinator_partitions") - F.coalesce("coordinators", F.lit(0)), F.lit(0))
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
