"""The public reading API: a dump as Spark DataFrames, in a job or a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from weakref import WeakSet

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from txnlog.errors import DumpError
from txnlog.sources.data_sources import SOURCES, DumpSource, EvidenceSource
from txnlog.spark.schema import arrow_schema
from txnlog.spark.settle import frame_of

_SOURCE_OF: dict[str, type[DumpSource]] = {source.short_name: source for source in SOURCES}
_sessions: WeakSet[SparkSession] = WeakSet()


def register(spark: SparkSession) -> None:
    """Make `spark.read.format("txnlog_batches")` and its siblings known to a session."""
    # Spark warns of each source that is registered again.
    if spark not in _sessions:
        for source in SOURCES:
            spark.dataSource.register(source)
        _sessions.add(spark)


def batches(spark: SparkSession, dump: str, level: str = "all", **options: str | int | None) -> DataFrame:
    """One row per record batch of topic partitions (`BatchRow`). `level`: all, transactional or markers.

    All readers take `cluster` (its name) and `partitions` (patterns such as `orders-0,payments-*`). With `on_driver`
    (1) they read at once, in this process, which is faster than to start workers where there is little to read.
    """
    return _frame(spark, "txnlog_batches", dump, options | {"level": level})


def transaction_states(spark: SparkSession, dump: str, **options: str | int | None) -> DataFrame:
    """One row per record of `__transaction_state` (`TransactionStateRow`)."""
    return _frame(spark, "txnlog_transaction_states", dump, options)


def producer_snapshots(spark: SparkSession, dump: str, **options: str | int | None) -> DataFrame:
    """One row per entry of a `.snapshot` file (`ProducerSnapshotRow`)."""
    return _frame(spark, "txnlog_producer_snapshots", dump, options)


def aborted_transactions(spark: SparkSession, dump: str, **options: str | int | None) -> DataFrame:
    """One row per entry of a `.txnindex` file (`AbortedTransactionRow`)."""
    return _frame(spark, "txnlog_aborted_transactions", dump, options)


def checkpoints(spark: SparkSession, dump: str, **options: str | int | None) -> DataFrame:
    """One row per line of the offset checkpoints of log directories (`CheckpointRow`)."""
    return _frame(spark, "txnlog_checkpoints", dump, options)


def dump_files(spark: SparkSession, dump: str, **options: str | int | None) -> DataFrame:
    """One row per file of the dump, every byte accounted for (`DumpFileRow`)."""
    return _frame(spark, "txnlog_dump_files", dump, options)


def evidence(spark: SparkSession, dump: str, full: bool = False, **options: str | int | None) -> DataFrame:
    """The rows of `dump_files`, `transaction_states` and of `ReplayRow` (column `fact`), from one pass over each file.

    `full` reads all of every log, by default what follows its newest valid producer snapshot.
    """
    return _frame(spark, "txnlog_evidence", dump, options | {"full": "true" if full else "false"})


def evidence_here(
    dump: str, full: bool = False, goes_on: Callable[[], bool] = lambda: True, **options: str | int | None
) -> list[pa.RecordBatch]:
    """The rows of `evidence`, read in this process without Spark; no further once `goes_on` denies it before a log."""
    source = EvidenceSource(_given(dump, options | {"full": "true" if full else "false"}))
    with _errors_of(source):
        return list(source.rows(takewhile(lambda _: goes_on(), source.readable())))


def _frame(spark: SparkSession, name: str, dump: str, options: dict[str, str | int | None]) -> DataFrame:
    on_driver = options.pop("on_driver", None)
    given = _given(dump, options)
    if on_driver:
        source = _SOURCE_OF[name](given)
        with _errors_of(source):
            return frame_of(spark, source.rows(list(source.readable())), arrow_schema(source.row))
    register(spark)
    return spark.read.format(name).options(**given).load()


def _given(dump: str, options: dict[str, str | int | None]) -> dict[str, str]:
    return {"path": dump} | {key: str(value) for key, value in options.items() if value is not None}


@contextmanager
def _errors_of(source: DumpSource) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DumpError(f"{error.filename or source.options['path']}: {error.strerror or error}") from error
