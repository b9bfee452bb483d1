"""A job of Spark's as a command runs it: the current step on a terminal, and Spark's errors in one line."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from txnlog.commands.terminal import progress
from txnlog.errors import SetupError, SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    Start = Callable[[bool], SparkSession]

# Read by txnlog/spark/conf/log4j2.properties.
SPARK_LOG_LEVEL = "TXNLOG_SPARK_LOG_LEVEL"
Result = TypeVar("Result")


@contextmanager
def spark_needed() -> Iterator[None]:
    """Around the imports of a job: SetupError where Spark is not installed."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise SetupError(f"this command needs Spark ({missing}): pip install 'txnlog[spark]', and Java 17") from missing


def spark_job(steps: Sequence[str], job: Callable[[Start, Callable[[str], None]], Result]) -> Result:
    """What `job` returns: given how to start Spark (whether for few rows), and what to call as each step begins."""
    from txnlog.spark.session import session
    from txnlog.spark.spark_errors import SPARK_ERRORS, cause_of, told_once

    if logging.getLogger("txnlog").isEnabledFor(logging.DEBUG):
        os.environ.setdefault(SPARK_LOG_LEVEL, "info")
    try:
        with told_once(), progress(steps) as announce:
            return job(lambda is_small: session(is_small=is_small), announce)
    except SPARK_ERRORS as error:
        raise SparkError(f"Spark: {cause_of(error)}") from error
    except OSError as error:
        # PySpark hands small tables to Spark in temporary files, and talks to it through a socket.
        raise SparkError(f"{error}: is a disk full, or was Spark killed?") from error
