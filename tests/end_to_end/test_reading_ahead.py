"""A run whose evidence has been read before Spark is there finds the same, and reads no segment again."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import txnlog.job.ahead
import txnlog.job.main
from tests.small_dumps import small_dump
from txnlog.config import DetectOptions
from txnlog.sources.reading import evidence_here

FOUND = ("open_transactions", "late_transactions", "abort_candidates", "undetermined", "bytes", "input_digest")
PATIENCE_S = 60


def test_segments_are_read_while_spark_starts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump, has_read = small_dump(tmp_path / "dump"), threading.Event()

    def options(tables: str) -> DetectOptions:
        return DetectOptions(str(dump), str(tmp_path / tables))

    def evidence(*given: object, **options: object) -> object:
        try:
            return evidence_here(*given, **options)  # type: ignore[arg-type]
        finally:
            has_read.set()

    def start(is_small: bool) -> SparkSession:
        assert is_small
        assert has_read.wait(PATIENCE_S)
        for segment in dump.rglob("*.log"):
            segment.unlink()
        return spark

    (by_spark,) = txnlog.job.main.run(spark, options("by-spark")).runs
    monkeypatch.setattr(txnlog.job.ahead, "evidence_here", evidence)
    monkeypatch.setattr(txnlog.job.main, "starts_here", lambda: True)
    (ahead,) = txnlog.job.main.run_in(start, options("ahead")).runs
    assert {name: ahead[name] for name in FOUND} == {name: by_spark[name] for name in FOUND}
    assert by_spark["abort_candidates"]
