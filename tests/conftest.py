"""What all tests share: one small Spark with Delta."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from txnlog.session import session

# A machine that is busy is no failure.
settings.register_profile("txnlog", deadline=None)
settings.load_profile("txnlog")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One for the whole run, as to start it takes longer than most tests."""
    started = session(
        "txnlog-tests",
        **{
            "spark.master": "local[2]",
            "spark.sql.shuffle.partitions": 2,
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            # Tests are short: what the second compiler makes faster would not be run often enough to pay. With one
            # compiler Java keeps 48 MiB for what it compiles; many plans fill them, and nothing is compiled any more.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
            # They have a handful of rows, too: to compile each plan, and to plan anew after each stage, takes longer
            # than to run it. Jobs in processes of their own do both.
            "spark.sql.adaptive.enabled": False,
            "spark.sql.codegen.wholeStage": False,
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        },
    )
    yield started
    started.stop()
