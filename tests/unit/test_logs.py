"""What of Spark's warnings a person sees who starts a job: none that nobody can do anything about, all others."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

LOG4J = "org.apache.logging.log4j"


def is_shown(spark: SparkSession, logger: str, text: str) -> bool:
    def java(name: str) -> object:
        return getattr(spark._jvm, f"{LOG4J}.{name}")

    level = java("Level").WARN  # type: ignore[attr-defined]
    message = java("message.SimpleMessage")(text)  # type: ignore[operator]
    event = java("core.impl.Log4jLogEvent").newBuilder().setLoggerName(logger)  # type: ignore[attr-defined]
    event = event.setLevel(level).setMessage(message).build()
    settings = java("LogManager").getLogger(logger).get()  # type: ignore[attr-defined]
    return settings.getLevel().isLessSpecificThan(level) and not settings.isFiltered(event)


@pytest.mark.parametrize(
    ("logger", "text", "expected"),
    [
        ("TaskSetManager", "Stage 45 contains a task of very large size (1311 KiB).", False),
        ("TaskSetManager", "Lost task 0.0 in stage 3.0: the disk is full", True),
        ("catalyst.analysis.Analyzer", "something new", True),
    ],
)
def test_a_warning_is_shown_if_somebody_can_act_on_it(
    spark: SparkSession, logger: str, text: str, expected: bool
) -> None:
    package = "org.apache.spark.scheduler" if logger == "TaskSetManager" else "org.apache.spark.sql"
    assert is_shown(spark, f"{package}.{logger}", text) is expected
