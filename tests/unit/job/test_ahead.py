"""The driver reads small dumps by itself: as Spark would, while Spark starts, and no longer than anybody waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import txnlog.job.ahead
from tests.small_dumps import Hanging, small_dump
from txnlog.errors import DumpError
from txnlog.job.ahead import reading_ahead
from txnlog.sources import reading
from txnlog.sources.evidence import EvidenceRow
from txnlog.spark.schema import arrow_schema
from txnlog.spark.settle import frame_of

TOPICS = ("carts", "orders", "stock")
PATIENCE_S = 30


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(small_dump(tmp_path_factory.mktemp("dump"), [Hanging(topic, f"of-{topic}") for topic in TOPICS]))


@pytest.mark.parametrize("full", [False, True])
def test_the_rows_are_those_that_spark_reads(spark: SparkSession, dump: str, full: bool) -> None:
    with reading_ahead(dump, full, cluster="named") as ahead:
        here = frame_of(spark, ahead.result(), arrow_schema(EvidenceRow))
    by_spark = reading.evidence(spark, dump, full, cluster="named")
    assert sorted(map(str, here.collect())) == sorted(map(str, by_spark.collect()))
    assert {row["cluster"] for row in here.select("cluster").collect()} >= {"named"}


def test_what_cannot_be_read_is_said_when_the_rows_are_wanted(tmp_path: Path) -> None:
    with reading_ahead(str(tmp_path / "missing"), full=True) as ahead:
        pass
    with pytest.raises(DumpError, match="missing: there is no such folder"):
        ahead.result()


def test_it_ends_before_the_next_log_when_nobody_waits(dump: str) -> None:
    asked: list[None] = []

    def goes_on() -> bool:
        asked.append(None)
        return len(asked) < 3

    some, everything = reading.evidence_here(dump, True, goes_on), reading.evidence_here(dump, True)
    assert 0 < sum(map(len, some)) < sum(map(len, everything))


def test_nobody_waits_once_the_run_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(dump: str, full: bool, goes_on: Callable[[], bool]) -> None:
        give_up = time.monotonic() + PATIENCE_S
        while goes_on() and time.monotonic() < give_up:
            time.sleep(0.01)

    monkeypatch.setattr(txnlog.job.ahead, "evidence_here", endless)
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="Spark did not start"), reading_ahead("dump", full=True):
        raise RuntimeError("Spark did not start")
    assert time.monotonic() - began < PATIENCE_S
