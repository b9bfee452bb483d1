"""The facts of a dump: what detection judges by, as DataFrames."""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from txnlog.config import DetectOptions
from txnlog.detection.inputs import Facts
from txnlog.dump.dump_file import Inventory, LogDir
from txnlog.dump.text_splits import may_be_split
from txnlog.job.few_rows import has_many_transactions
from txnlog.job.persisting import Persist
from txnlog.sources import reading
from txnlog.sources.evidence_rows import (
    ABORTED,
    CHECKPOINTS,
    FILE,
    GROUP_RECORDS,
    OF_FILES,
    OF_REPLAY,
    PIECES,
    SNAPSHOTS,
    STATES,
)
from txnlog.sources.rows import BatchRow, DumpFileRow, ReplayRow
from txnlog.sources.text_files import rows_of_pieces
from txnlog.spark.materialize import local_frame
from txnlog.spark.schema import arrow_schema, spark_schema

if TYPE_CHECKING:
    from txnlog.live.coordinators import CoordinatorLogs

DEFAULT_MAX_TIMEOUT_MS = 900_000
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


def facts_of(
    evidence: DataFrame,
    options: DetectOptions,
    dump: Inventory,
    coordinators: CoordinatorLogs | None = None,
    persist: Persist = lambda frame: frame,
) -> Facts:
    """The facts of a dump by its evidence (`txnlog.sources.reading`), which should be cached.

    With coordinators' logs of the running cluster if given, and nothing of earlier runs.
    """
    spark = evidence.sparkSession
    # Most queries need facts that are few. Of a cached frame Spark reads all blocks to find them.
    few = persist(evidence.where(f"fact IN {OF_FILES}"))

    def entries(fact: str) -> DataFrame:
        # Spark skips the rows of other kinds in a cached frame if the wanted kinds are literals.
        return (few if fact in OF_FILES else evidence).where(f"fact = '{fact}'").selectExpr(f"{fact}.*")

    facts = Facts(
        replay_sums=few.where(f"fact IN {OF_REPLAY}").selectExpr(*spark_schema(ReplayRow).names),
        batches=_batches_of(spark, dump),
        dump_files=_dump_files(few, dump),
        transaction_states=entries(STATES),
        producer_snapshots=entries(SNAPSHOTS),
        aborted_transactions=entries(ABORTED),
        checkpoints=entries(CHECKPOINTS),
        group_records=entries(GROUP_RECORDS),
        log_dirs=log_dirs_frame(spark, dump.log_dirs, options),
        partition_transactions=_transactions_of(spark, dump) if options.full else None,
        has_many_transactions=has_many_transactions(dump),
    )
    if coordinators is None:
        return facts
    from txnlog.live.coordinator_facts import live_log_dir, with_coordinators

    cluster = dump.log_dirs[0].cluster
    return with_coordinators(
        facts, coordinators, cluster, log_dirs_frame(spark, [live_log_dir(coordinators, cluster)], options)
    )


def _dump_files(evidence: DataFrame, dump: Inventory) -> DataFrame:
    """A row for each file; those of long texts are put together of what several tasks have read."""
    names = spark_schema(DumpFileRow).names
    rows = evidence.where(f"fact = '{FILE}'").selectExpr(*names)
    if not any(file.is_text and may_be_split(file.path, file.size) for file in dump.files):
        return rows
    pieces = evidence.where(f"fact = '{PIECES}'").select(*names, "piece").toArrow().to_pylist()
    return rows.unionAll(local_frame(evidence.sparkSession, rows_of_pieces(pieces), arrow_schema(DumpFileRow)))


def _batches_of(spark: SparkSession, dump: Inventory) -> Callable[[Collection[Mapping[str, Any]]], DataFrame]:
    """The transactional batches of some open transactions' producers: they are few, and so is what is read."""

    def batches(found: Collection[Mapping[str, Any]]) -> DataFrame:
        if not found:
            return local_frame(spark, [], arrow_schema(BatchRow))
        partitions = sorted({f"{glob.escape(row['topic'])}-{row['partition']}" for row in found})
        producers = sorted({row["producer_id"] for row in found})
        return reading.batches(
            spark,
            dump,
            level="transactional",
            partitions=",".join(partitions),
            producers=",".join(map(str, producers)),
        )

    return batches


def _transactions_of(spark: SparkSession, dump: Inventory) -> Callable[[Collection[Mapping[str, Any]]], DataFrame]:
    """The transactions in the logs of some copies, read once more. What is in a text, only reading it tells."""

    def transactions(copies: Collection[Mapping[str, Any]]) -> DataFrame:
        wanted = {(row["log_dir"], row["topic"], row["partition"]) for row in copies}
        files = (
            file for file in dump.files if file.topic is None or (file.log_dir, file.topic, file.partition) in wanted
        )
        return reading.partition_transactions(spark, replace(dump, files=tuple(files)))

    return transactions


def log_dirs_frame(spark: SparkSession, log_dirs: Sequence[LogDir], options: DetectOptions) -> DataFrame:
    """Rows of `Facts.log_dirs`."""
    return local_frame(spark, [log_dir_row(each, options) for each in log_dirs], LOG_DIR_SCHEMA)


def log_dir_row(log_dir: LogDir, options: DetectOptions) -> dict[str, object]:
    """A row of `Facts.log_dirs`: what manifest and options say of a copied log directory."""
    copied = log_dir.copied
    timeout_ms = options.max_transaction_timeout or log_dir.transaction_max_timeout_ms or DEFAULT_MAX_TIMEOUT_MS
    partitions = options.coordinator_partitions or log_dir.transaction_state_partitions
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
