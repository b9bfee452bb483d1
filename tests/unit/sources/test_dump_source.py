"""What a source reads of a dump that has been listed, and how it is dealt out."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.writer import data, segment
from txnlog.dump.inventory import inventory
from txnlog.sources import dump_source, reading
from txnlog.sources.data_sources import EvidenceSource


def test_a_source_reads_what_was_listed_and_lists_nothing(tmp_path: Path) -> None:
    first = segment(tmp_path, "orders-0", data(0))
    listed = inventory(tmp_path)
    segment(tmp_path, "orders-1", data(0))
    found = EvidenceSource.of(listed, {}).wanted_files()
    assert [file.file for file in found] == [str(first.relative_to(tmp_path))]


def test_each_task_reads_what_it_was_dealt(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for partition in range(5):
        segment(tmp_path, f"orders-{partition}", data(0))
    monkeypatch.setattr(dump_source, "FILES_PER_TASK", 2)
    found = reading.dump_files(spark, inventory(tmp_path))
    dealt = {
        (row.partition, row.task) for row in found.selectExpr("partition", "spark_partition_id() AS task").collect()
    }
    assert dealt == {(0, 0), (1, 0), (2, 1), (3, 1), (4, 2)}


@pytest.mark.parametrize(
    ("topic", "dealt"), [("orders", [6]), ("__transaction_state", [2, 2, 2]), ("__consumer_offsets", [2, 2, 2])]
)
def test_a_task_reads_less_of_a_log_whose_records_are_rows(tmp_path: Path, topic: str, dealt: list[int]) -> None:
    for partition in range(6):
        file = segment(tmp_path, f"{topic}-{partition}", data(0))
        with file.open("r+b") as of_size:
            of_size.truncate(12 << 20)
    assert [len(task.files) for task in dump_source.tasks(inventory(tmp_path).files)] == dealt


def test_a_dump_without_files_has_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    segment(tmp_path, "orders-0", data(0))
    assert reading.checkpoints(spark, inventory(tmp_path)).collect() == []
