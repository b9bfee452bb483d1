"""Aggregates as SQL: the JVM parses a text in one message, while a column built in Python takes one per operation."""

from __future__ import annotations

from functools import cache

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F


def summed(frame: DataFrame, keys: tuple[str, ...], *aggregates: str) -> DataFrame:
    """One row for each combination of the keys, with what the aggregates say: each is Spark SQL with a name."""
    return frame.groupBy(*(_column(frame.sparkSession, key) for key in keys)).agg(*map(F.expr, aggregates))


@cache
def _column(_: SparkSession, name: str) -> Column:
    """A column by name: that of one frame is that of any other."""
    return F.col(name)
