"""Of what Spark says at length, the one line that a person needs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from txnlog.errors import DumpError
from txnlog.spark.spark_errors import SPARK_ERRORS, cause_of


def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    raise DumpError("orders-0: became shorter while it was read")
    yield from batches  # type: ignore[unreachable]  # by it this is a generator


def test_an_error_of_ours_in_a_worker_is_told_in_its_own_words(spark: SparkSession) -> None:
    with pytest.raises(SPARK_ERRORS) as raised:
        spark.range(1).mapInArrow(fail, "id bigint").collect()
    assert cause_of(raised.value) == "orders-0: became shorter while it was read"


def test_an_error_of_the_file_system_names_the_file(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SPARK_ERRORS) as raised:
        spark.range(1).write.format("delta").save(str(tmp_path / "file" / "table"))
    assert f"{tmp_path}/file" in cause_of(raised.value)
    assert "\n" not in cause_of(raised.value)
