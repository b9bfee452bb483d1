"""What all tests share: one small Spark with Delta."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from tests.quick_spark import QUICK
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
            **QUICK,
            "spark.sql.shuffle.partitions": 2,
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        },
    )
    yield started
    started.stop()
