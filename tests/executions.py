"""The SQL executions of a session, which Spark numbers."""

from __future__ import annotations

from pyspark.sql import SparkSession


def last_execution(spark: SparkSession) -> int:
    """The number of an SQL execution that is made for that: Spark counts them, nested ones too."""
    spark.range(1).count()
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    number: int = spark._jsparkSession.sharedState().statusStore().executionsList().last().executionId()
    return number
