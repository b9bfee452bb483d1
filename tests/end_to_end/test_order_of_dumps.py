"""The order in which dumps are judged does not matter, where each of them proves its verdicts by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.archived_dumps import LOST, OF_THE_FIRST, PROVED, UNPROVED, Judged, dump, history
from tests.end_to_end.processes import contents
from txnlog.tables.layout import RUNS

pytestmark = pytest.mark.processes
# The minute of each dump: both transactions are late in all of them.
MINUTES = (34, 36, 38, 40)


def judged_in(spark: SparkSession, folder: Path, dumps: Path, order: tuple[int, ...]) -> dict[str, list[str]]:
    """All tables after a run over each dump, in this order."""
    judged = Judged(spark, folder)
    for minute in order:
        judged.detect(dumps / f"{minute}")
    return contents(folder / "tables", OF_THE_FIRST)


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dumps")
    for minute in MINUTES:
        dump(folder / f"{minute}", history(), minute, 2)
    return folder


@pytest.fixture(scope="module")
def in_time_order(spark: SparkSession, dumps: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return judged_in(spark, tmp_path_factory.mktemp("in-time-order"), dumps, MINUTES)


@pytest.mark.parametrize(
    "order",
    [pytest.param((40, 38, 36, 34), id="from the last to the first"), pytest.param((36, 40, 34, 38), id="mixed")],
)
def test_dumps_in_another_order_leave_the_same_tables(
    spark: SparkSession, dumps: Path, in_time_order: dict[str, list[str]], tmp_path: Path, order: tuple[int, ...]
) -> None:
    found = judged_in(spark, tmp_path, dumps, order)
    assert len(found[RUNS.name]) == len(in_time_order[RUNS.name]) == len(MINUTES)
    assert any("NEVER_ADDED" in row for row in found["abort_candidates"])
    for table, wanted in in_time_order.items():
        assert found[table] == wanted, table


def test_a_commit_that_only_an_older_dump_proves_holds_in_a_newer_one_that_was_judged_before(
    spark: SparkSession, tmp_path: Path
) -> None:
    judged = Judged(spark, tmp_path)
    compacted = dump(tmp_path / "new", history(), 40, 38)
    assert judged.detect(compacted) == UNPROVED
    # What it returns is of the newer one.
    assert judged.detect(dump(tmp_path / "old", history(), 34, 2))[LOST] == PROVED[LOST]
    judged.detect(compacted)
    before = contents(tmp_path / "tables")
    judged.detect(tmp_path / "old")
    assert contents(tmp_path / "tables") == before
