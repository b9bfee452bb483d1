"""What `runs` says of a run: what it read, what it found, and whether the latest one did the same."""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from txnlog import __version__
from txnlog.config import DetectOptions
from txnlog.detection.aggregates import summed
from txnlog.detection.inputs import Facts
from txnlog.detection.pipeline import Detection
from txnlog.job.steps import Steps
from txnlog.tables.changes import instant
from txnlog.tables.layout import RUNS
from txnlog.tables.store import Store

# Where they are equal, two runs have read the same.
COMPARED = ("input_digest", "as_of_from", "as_of_to", "options", "txnlog_version")
_FILE = "concat_ws('|', file, size_in_bytes, bytes_parsed, first_offset, last_offset, problem)"


def of_clusters(facts: Facts, detection: Detection, found: DataFrame) -> DataFrame:
    """What each cluster's row of `runs` says of input and result; `found` are rows of `open_transactions`."""
    counted = (
        facts.dump_files.selectExpr("cluster", "size_in_bytes", "bytes_damaged", f"{_FILE} AS file"),
        detection.times.selectExpr("cluster", "as_of", "as_of_source"),
        detection.copies.selectExpr("cluster", "true AS is_copy"),
        detection.coverage.selectExpr("cluster", "true AS is_coordinator"),
        detection.clusters.selectExpr("cluster", "partition_count"),
        facts.log_dirs.selectExpr("cluster", "cluster_id"),
        found.selectExpr("cluster", "action", "late", "struct(topic, partition) AS partition", "open_for_ms"),
    )
    sums = summed(reduce(partial(DataFrame.unionByName, allowMissingColumns=True), counted), ("cluster",), *_SUMS)
    return sums.where("files > 0 AND cluster <> ''").selectExpr(
        "* EXCEPT (coordinators)",
        "greatest(coordinator_partitions - coordinators, 0) AS coordinator_partitions_missing",
    )


# Of rows of one kind the columns of all others are null.
_SUMS = (
    "count(file) AS files",
    "sum(size_in_bytes) AS bytes",
    "sum(bytes_damaged) AS bytes_damaged",
    # Equal for equal dumps.
    "sha2(concat_ws('\n', sort_array(collect_list(file))), 256) AS input_digest",
    f"{instant('min(as_of)')} AS as_of_from",
    f"{instant('max(as_of)')} AS as_of_to",
    "sort_array(collect_set(as_of_source)) AS as_of_sources",
    "count(is_copy) AS partitions",
    "CAST(count(is_coordinator) AS int) AS coordinators",
    "max(cluster_id) AS cluster_id",
    # 0 where their number is not known: older tables take no null.
    "CAST(coalesce(max(partition_count), 0) AS int) AS coordinator_partitions",
    "count(action) AS open_transactions",
    "count_if(action IS NOT NULL AND coalesce(late, true)) AS late_transactions",
    "count_if(action = 'ABORT') AS abort_candidates",
    "count_if(action = 'UNDETERMINED') AS undetermined",
    (
        "count(DISTINCT if(action IS NOT NULL AND coalesce(late, true), partition, NULL))"
        " AS partitions_with_late_transactions"
    ),
    "max(open_for_ms) AS longest_open_ms",
)


def latest_runs(store: Store, clusters: list[str]) -> DataFrame:
    """What the latest run of each cluster read: columns of `COMPARED`."""
    latest = f"max_by(struct({', '.join(COMPARED)}), finished_at) AS latest"
    return summed(store.read(RUNS, clusters), ("cluster",), latest).selectExpr("cluster", "latest.*")


def is_repeated(runs: pa.Table, latest: pa.Table, options: DetectOptions) -> bool:
    """Whether the latest run of each cluster had the same options and read the same."""

    def read(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return row["cluster"], *(row[name] for name in COMPARED)

    same = {"options": options_text(options), "txnlog_version": __version__}
    return {read(row | same) for row in runs.to_pylist()} <= {read(row) for row in latest.to_pylist()}


def options_text(options: DetectOptions) -> str:
    """The options of a run as `runs` has them."""
    return json.dumps(dataclasses.asdict(options), sort_keys=True)


def complete(runs: pa.Table, options: DetectOptions, started: datetime, steps: Steps) -> list[dict[str, object]]:
    """The rows of `runs`, as dictionaries: what a query found, and what only the job knows."""
    of_job = {
        "run_id": str(uuid.uuid4()),
        "dump": options.dump,
        "txnlog_version": __version__,
        "options": options_text(options),
        "started_at": started,
        "finished_at": datetime.now(UTC),
        "step_seconds": dict(steps.seconds),
    }
    return [row | of_job for row in runs.to_pylist()]
