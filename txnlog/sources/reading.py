"""The public reading API: a dump as Spark DataFrames, in a job or a notebook.

The driver lists the dump and distributes its files; the tasks of a frame read them as Arrow (`mapInArrow`), which works
on classic Spark, on Spark Connect and on serverless compute alike.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from txnlog.dump.dump_file import Inventory
from txnlog.errors import DumpError
from txnlog.sources.data_sources import (
    SOURCES,
    AbortedTransactionsSource,
    BatchesSource,
    CheckpointsSource,
    DumpFilesSource,
    EvidenceSource,
    PartitionTransactionsSource,
    ProducerSnapshotsSource,
    TransactionStatesSource,
)
from txnlog.sources.dump_source import DumpSource, tasks

# A dump that is yet to be listed, or one that has been.
Dump = str | Inventory
Option = str | int | None
_sessions: WeakSet[SparkSession] = WeakSet()


def register(spark: SparkSession) -> None:
    """Make `spark.read.format("txnlog_batches")` and its siblings known to a session."""
    # Spark warns of each source that is registered again.
    if spark not in _sessions:
        for source in SOURCES:
            spark.dataSource.register(source)
        _sessions.add(spark)


def batches(spark: SparkSession, dump: Dump, level: str = "all", **options: Option) -> DataFrame:
    """One row per record batch of topic partitions (`BatchRow`). `level`: all, transactional or markers.

    All readers take `cluster` (its name) and `partitions` (patterns such as `orders-0,payments-*`). They list the dump
    at once, unless they are given what has been listed (`txnlog.dump.inventory`).
    """
    return _frame(spark, BatchesSource, dump, options | {"level": level})


def transaction_states(spark: SparkSession, dump: Dump, **options: Option) -> DataFrame:
    """One row per record of `__transaction_state` (`TransactionStateRow`)."""
    return _frame(spark, TransactionStatesSource, dump, options)


def producer_snapshots(spark: SparkSession, dump: Dump, **options: Option) -> DataFrame:
    """One row per entry of a `.snapshot` file (`ProducerSnapshotRow`)."""
    return _frame(spark, ProducerSnapshotsSource, dump, options)


def aborted_transactions(spark: SparkSession, dump: Dump, **options: Option) -> DataFrame:
    """One row per entry of a `.txnindex` file (`AbortedTransactionRow`)."""
    return _frame(spark, AbortedTransactionsSource, dump, options)


def partition_transactions(spark: SparkSession, dump: Dump, **options: Option) -> DataFrame:
    """One row per transaction, ended or open, in each copy of each partition (`PartitionTransactionRow`).

    All of every log is read; choose with `partitions`. A task reads whole logs, and a text once for each log in it.
    """
    return _frame(spark, PartitionTransactionsSource, dump, options)


def checkpoints(spark: SparkSession, dump: Dump, **options: Option) -> DataFrame:
    """One row per line of the offset checkpoints of log directories (`CheckpointRow`)."""
    return _frame(spark, CheckpointsSource, dump, options)


def dump_files(spark: SparkSession, dump: Dump, **options: Option) -> DataFrame:
    """One row per file of the dump, every byte accounted for (`DumpFileRow`)."""
    return _frame(spark, DumpFilesSource, dump, options)


def evidence(spark: SparkSession, dump: Dump, full: bool = False, **options: Option) -> DataFrame:
    """The rows of all readers but `batches`, and of `ReplayRow`, from one pass over each file (`EvidenceRow`).

    `full` reads all of every log, by default what follows its newest valid producer snapshot.
    """
    return _frame(spark, EvidenceSource, dump, options | {"full": "true" if full else "false"})


def _frame(spark: SparkSession, source: type[DumpSource], dump: Dump, options: Mapping[str, Option]) -> DataFrame:
    given = {key: str(value) for key, value in options.items() if value is not None}
    opened = source.of(dump, given) if isinstance(dump, Inventory) else source({"path": dump, **given})
    dealt = [zlib.compress(pickle.dumps(task.files), 1) for task in tasks(_readable(opened))]
    # One partition a task: it takes its files from what all have been sent, which takes no shuffle.
    numbers = spark.range(0, len(dealt), 1, max(1, len(dealt)))
    return numbers.mapInArrow(_Tasks(source, given, dealt), opened.schema())


def _readable(source: DumpSource) -> Sequence[Any]:
    try:
        return source.readable()
    except OSError as error:
        raise DumpError(f"{error.filename or source.options['path']}: {error.strerror or error}") from error


@dataclass(frozen=True)
class _Tasks:
    """Reads the files of each task, given its number."""

    source: type[DumpSource]
    options: dict[str, str]
    dealt: list[bytes]

    def __call__(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of the source."""
        for some in numbers:
            for number in some.column(0).to_pylist():
                yield from self.source(self.options).rows(pickle.loads(zlib.decompress(self.dealt[number])))
