"""What a run asks of earlier nights it asks of the files of the nights from its own on, however many there are."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession

from tests.report_tables import file
from tests.tables_by_hand import filled
from txnlog.job.latest_dump import later_copies
from txnlog.spark.materialize import local_frame
from txnlog.spark.schema import arrow_schema
from txnlog.tables.layout import DUMP_FILES, Root
from txnlog.tables.store import Store

FIRST = datetime(2024, 6, 1, 2, tzinfo=UTC)
NIGHTS = 4


def test_of_the_nights_before_no_file_is_read(spark: SparkSession, tmp_path: Path) -> None:
    store = Store(spark, Root(str(tmp_path)))
    store.ensure()
    for night in range(NIGHTS):
        row = filled(DUMP_FILES, file(as_of=FIRST + timedelta(days=night)))
        store.append(DUMP_FILES, local_frame(spark, [row], arrow_schema(DUMP_FILES.row)))
    for night in range(NIGHTS):
        since = int((FIRST + timedelta(days=night)).timestamp() * 1000)
        later = later_copies(store, ["payments"], f"as_of >= timestamp_millis({since})")
        assert len(later.inputFiles()) == NIGHTS - night
        (found,) = later.collect()
        assert found["later_as_of"].replace(tzinfo=UTC) == FIRST + timedelta(days=NIGHTS - 1)
