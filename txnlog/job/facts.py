"""The facts of a dump: what detection judges by, as DataFrames."""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from txnlog.config import DetectOptions
from txnlog.detection.pipeline import Facts
from txnlog.dump.inventory import Inventory, LogDir
from txnlog.dump.text_stream import may_be_split
from txnlog.job.ahead import Rows
from txnlog.job.effort import is_few_rows, is_read_by_driver
from txnlog.sources import reading
from txnlog.sources.evidence import FILE, OF_REPLAY, PIECES, STATES, EvidenceRow
from txnlog.sources.files import rows_of_pieces
from txnlog.sources.rows import BatchRow, DumpFileRow, ReplayRow
from txnlog.spark.schema import arrow_schema, spark_schema
from txnlog.spark.session import is_small
from txnlog.spark.settle import frame_of, local_frame

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


def _as_it_is(frame: DataFrame) -> DataFrame:
    return frame


def facts_of(
    spark: SparkSession,
    options: DetectOptions,
    dump: Inventory,
    keep: Callable[[DataFrame], DataFrame] = _as_it_is,
    coordinators: CoordinatorLogs | None = None,
    listing: str | None = None,
    ahead: Rows | None = None,
) -> Facts:
    """The facts of a dump, with coordinators' logs of the running cluster if given, and nothing of earlier runs.

    `keep` gives back a frame that is not computed twice. In a session of txnlog's own for few rows the driver reads
    by itself: to start workers takes longer. `ahead` are the rows of the evidence if it has begun already.
    """
    has_few_rows = is_small(spark) and is_few_rows(dump)
    is_here = has_few_rows and is_read_by_driver(dump)
    shared = what_is_read(options, listing)
    of_batches, of_rows = {"on_driver": int(is_here), **shared}, {"on_driver": int(has_few_rows), **shared}
    if ahead is not None:
        evidence = frame_of(spark, ahead.result(), arrow_schema(EvidenceRow))
    else:
        evidence = reading.evidence(spark, options.dump, options.full, **of_batches)
        evidence = evidence if is_here else keep(evidence)
    facts = Facts(
        # Of a frame that is kept Spark passes over what is of other kinds, if the kinds wanted are named.
        runs=evidence.where(F.col("fact").isin(*OF_REPLAY)).select(*spark_schema(ReplayRow).names),
        batches=_batches_of(spark, options, of_batches),
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


def what_is_read(options: DetectOptions, listing: str | None = None) -> dict[str, str | int | None]:
    """The options of every data source (`txnlog.sources.reading`); `listing` is that of the dump (`shared_listing`)."""
    return {
        "cluster": options.cluster,
        "topic_partition": options.topic_partition,
        "listing": listing,
    }


def _dump_files(evidence: DataFrame, dump: Inventory) -> DataFrame:
    """A row for each file; those of long texts are put together of what several tasks have read."""
    names = spark_schema(DumpFileRow).names
    rows = evidence.where(f"fact = '{FILE}'").select(*names)
    if not any(file.is_text and may_be_split(file.path, file.size) for file in dump.files):
        return rows
    pieces = evidence.where(f"fact = '{PIECES}'").select(*names, "piece").toArrow().to_pylist()
    return rows.unionAll(local_frame(evidence.sparkSession, rows_of_pieces(pieces), arrow_schema(DumpFileRow)))


def _batches_of(
    spark: SparkSession, options: DetectOptions, shared: dict[str, Any]
) -> Callable[[Collection[Mapping[str, Any]]], DataFrame]:
    """The transactional batches of some open transactions' producers: they are few, and so is what is read."""

    def batches(found: Collection[Mapping[str, Any]]) -> DataFrame:
        if not found:
            return local_frame(spark, [], arrow_schema(BatchRow))
        partitions = sorted({f"{glob.escape(row['topic'])}-{row['partition']}" for row in found})
        producers = sorted({row["producer_id"] for row in found})
        return reading.batches(
            spark,
            options.dump,
            level="transactional",
            partitions=",".join(partitions),
            producers=",".join(map(str, producers)),
            **shared,
        )

    return batches


def _log_dirs(spark: SparkSession, log_dirs: Sequence[LogDir], options: DetectOptions) -> DataFrame:
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
