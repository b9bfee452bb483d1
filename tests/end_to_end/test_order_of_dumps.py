"""The order in which dumps are judged does not matter, where each of them proves its verdicts by itself."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.archived_dumps import LOST, OF_THE_FIRST, PROVED, UNPROVED, Judged, dump, dumps_of, history, side_by_side
from tests.end_to_end.processes import contents
from txnlog.tables.layout import RUNS

pytestmark = pytest.mark.processes
# The minute of each dump: both transactions are late in all of them.
MINUTES = range(34, 58, 2)
# A cluster for each order, so that one run judges a dump of each. Their names are of one length, as bytes are counted.
ORDERS: dict[str, Callable[[list[int]], list[int]]] = {
    "upward": sorted,
    "downwd": lambda minutes: minutes[::-1],
    "random": lambda minutes: random.Random(20).sample(minutes, len(minutes)),
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """All tables once each cluster had its dumps judged in its order."""
    judged = Judged(spark, tmp_path_factory.mktemp("orders"))
    clusters = {name: dumps_of(*((each, 2) for each in order([*MINUTES]))) for name, order in ORDERS.items()}
    for dumped in side_by_side(judged.folder, clusters):
        judged.detect(dumped)
    # Their folders have other names in each order.
    return contents(judged.folder / "tables", {**OF_THE_FIRST, RUNS.name: {"dump", "input_digest"}})


@pytest.mark.faults
@pytest.mark.parametrize("order", [pytest.param("downwd", id="from the last to the first"), "random"])
def test_dumps_in_another_order_leave_the_same_tables(tables: dict[str, list[str]], order: str) -> None:
    for name, found in tables.items():
        wanted = [row.replace("upward", order) for row in found if "upward" in row]
        assert sorted(wanted) == sorted(row for row in found if order in row), name
    assert len([row for row in tables[RUNS.name] if order in row]) == len(MINUTES)
    assert any(order in row and "NEVER_ADDED" in row for row in tables["abort_candidates"])


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
