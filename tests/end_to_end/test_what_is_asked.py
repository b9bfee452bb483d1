"""What a run asks of Spark: SQL executions, and messages to Java. Counts, as seconds are the machine's."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.executions import last_execution
from txnlog.config import DetectOptions
from txnlog.job.main import run
from txnlog.tables.layout import TABLES

SAMPLE = Path(__file__).parents[2] / "data" / "samples" / "kafka-4.3.0"
# With eight tables; each further one may take three executions (created, written, and what Delta runs within that), and
# three hundred messages.
EXECUTIONS, EXECUTIONS_OF_A_TABLE = 30, 3
MESSAGES, MESSAGES_OF_A_TABLE = 5_000, 300
MORE_TABLES = len(TABLES) - 8


class Messages(logging.Handler):
    """Counts the commands that py4j logs, but not those that let Java forget an object: they come at any time."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        message = record.getMessage()
        self.count += message.startswith("Command to send") and not message.startswith("Command to send: m\nd")


@contextmanager
def counting() -> Iterator[Messages]:
    """Count the messages to Java meanwhile."""
    log, messages = logging.getLogger("py4j"), Messages()
    level, propagates = log.level, log.propagate
    log.addHandler(messages)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    try:
        yield messages
    finally:
        log.removeHandler(messages)
        log.setLevel(level)
        log.propagate = propagates


@pytest.fixture(scope="module")
def asked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, int]:
    """Executions and messages of a run into new tables."""
    tables = tmp_path_factory.mktemp("tables")
    first = last_execution(spark)
    with counting() as messages:
        run(spark, DetectOptions(str(SAMPLE), str(tables)))
    return last_execution(spark) - first - 1, messages.count


def test_a_run_makes_few_sql_executions(asked: tuple[int, int]) -> None:
    assert 0 < asked[0] <= EXECUTIONS + EXECUTIONS_OF_A_TABLE * MORE_TABLES


def test_a_run_sends_few_messages_to_java(asked: tuple[int, int]) -> None:
    assert 0 < asked[1] <= MESSAGES + MESSAGES_OF_A_TABLE * MORE_TABLES
