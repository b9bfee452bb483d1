"""Frames that a job uses several times: computed once, beside whatever else is done until they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from txnlog.spark.session import is_small
from txnlog.spark.spark_errors import SPARK_ERRORS

# How many frames are computed ahead at once, and the tag of their jobs.
FRAMES_AHEAD = 2
AHEAD = "txnlog-ahead"
Persist = Callable[[DataFrame], DataFrame]


@contextmanager
def persisting(spark: SparkSession) -> Iterator[Persist]:
    """Persists the frames it is given, which are used several times, on disk meanwhile.

    Each is computed at once, beside whatever else is done until it is needed. What Spark keeps in memory its sorts have
    to do without, and a task that finds no room for a block has it in memory twice.
    """
    persisted, ahead = list[DataFrame](), ThreadPoolExecutor(FRAMES_AHEAD)

    def compute(frame: DataFrame) -> None:
        spark.addTag(AHEAD)
        frame.count()

    def persist(frame: DataFrame) -> DataFrame:
        try:
            persisted.append(frame.persist(StorageLevel.DISK_ONLY))
        except PySparkException:
            # Serverless compute keeps nothing: it is computed anew each time, which is slower and just as right.
            return frame
        # Whoever uses the frame meets the same error.
        computed = ahead.submit(compute, persisted[-1])
        # Spark estimates 8 bytes for what no task has read yet, and would broadcast all coordinators' records.
        if not is_small(spark):
            computed.result()
        return persisted[-1]

    try:
        yield persist
    except BaseException:
        # Whatever ends the job, Ctrl-C too: or it would wait below until frames are computed that nobody uses.
        # Where Spark itself is gone, there is nothing to interrupt.
        with suppress(*SPARK_ERRORS, OSError):
            spark.interruptTag(AHEAD)
        raise
    finally:
        ahead.shutdown(cancel_futures=True)
        for frame in persisted:
            frame.unpersist()
