"""Settings of a Spark that evaluates a handful of rows at a time, many times over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from txnlog.spark.session import JAVA_OPTIONS, SMALL, Setting

# A session of so many runs gains by Java's second compiler from the second run on: 15 s a run, not 27.
_OPTIONS = str(SMALL[JAVA_OPTIONS]).replace("-XX:TieredStopAtLevel=1 ", "")
QUICK: dict[str, Setting] = {"spark.master": "local[2]", **SMALL, JAVA_OPTIONS: _OPTIONS}


@contextmanager
def with_settings(spark: SparkSession, settings: Mapping[str, Setting]) -> Iterator[None]:
    """Other settings of a session meanwhile."""
    before: dict[str, Any] = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
