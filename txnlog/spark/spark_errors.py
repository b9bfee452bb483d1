"""What Spark raises, and what of it to tell."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

# Most errors of the JVM come as the first; those of its file systems as the second, which is none of PySpark's.
SPARK_ERRORS = (PySparkException, Py4JError)
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_CAUSED_BY = "Caused by: "
_OURS = "txnlog.errors."


@contextmanager
def told_once() -> Iterator[None]:
    """Meanwhile PySpark does not log each error that it raises, with the whole stack."""
    before = {name: logging.getLogger(name).level for name in _LOGGERS}
    try:
        for name in before:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def condition_of(error: Exception) -> str | None:
    """The name that Spark or Delta has for what went wrong, their error condition; None for what they have none for."""
    return error.getCondition() if isinstance(error, PySparkException) else None


def cause_of(error: Exception) -> str:
    """What went wrong, in one line: txnlog's own error in a worker, else the innermost of nested errors of the JVM."""
    lines = [line.removeprefix(": ") for line in str(error).splitlines() if line.strip()]
    # Those of suppressed errors are indented, and tell of the clean-up only.
    causes = [line.removeprefix(_CAUSED_BY) for line in lines if line.startswith(_CAUSED_BY)]
    ours = [line.partition(": ")[2] for line in lines if line.startswith(_OURS)]
    said = [line for line in lines if not line.startswith("An error occurred while calling ")]
    return (ours[-1:] or causes[-1:] or said or [type(error).__name__])[0].strip()
