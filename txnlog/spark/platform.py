"""Whether the Spark of a platform has Delta: asked at the start, as a job would notice only when it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from txnlog.errors import SetupError
from txnlog.spark.jars import coordinates

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A command of Delta's own, of a path where nothing is: a Spark that has Delta says so. Spark's own grammar reads it as
# DESCRIBE of a table called DETAIL.
QUESTION = "DESCRIBE DETAIL delta.`file:/no/such/table`"


def check_delta(spark: SparkSession) -> None:
    """Raise SetupError if Delta's jars or the settings that name it are missing."""
    from txnlog.spark.spark_errors import SPARK_ERRORS, condition_of

    try:
        spark.sql(QUESTION)
    except SPARK_ERRORS as error:
        said = str(error)
        if "ClassNotFoundException" in said and ".delta." in said:
            raise SetupError(
                f"Spark does not find Delta's jars: give spark-submit --packages {coordinates(spark.version)}"
            ) from error
        if condition_of(error) == "TABLE_OR_VIEW_NOT_FOUND" and "`DETAIL`" in said:
            raise SetupError(
                "Spark is not set up for Delta: set spark.sql.extensions and spark.sql.catalog.spark_catalog as"
                " conf/spark-defaults.conf does (SPARK_CONF_DIR=conf spark-submit ...)"
            ) from error
