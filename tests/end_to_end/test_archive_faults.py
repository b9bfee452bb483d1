"""`txnlog archive` and `txnlog prune`: killed between two commits, run again, two at once, an older dump after a newer.

A job that is killed leaves its first commits, whatever it was doing: so the tables of a whole job, without the later
ones, are those of one that was killed there.
"""

from __future__ import annotations

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.archived_dumps import OF_THE_FIRST, Judged, dump, history
from tests.end_to_end.processes import as_if_killed, commits, contents, in_order, kill, start
from tests.report_tables import NIGHT, file, night, transaction
from tests.tables_by_hand import filled
from txnlog.job.pruning import Kept, without_old_rows
from txnlog.report.table_rows import rows
from txnlog.spark.materialize import local_frame
from txnlog.spark.schema import arrow_schema
from txnlog.tables.layout import COORDINATOR_RANGES, DUMP_FILES, OPEN_TRANSACTIONS, RUNS, TABLES, Root
from txnlog.tables.store import Store

pytestmark = pytest.mark.processes
DAY = timedelta(days=1)
DAY_MS, MINUTE_MS = 86_400_000, 60_000
# The minute of each dump, and to which the cleaner had come: both together show minutes 2 to 37.
TIMES = ((24, 2), (37, 23))
PATIENCE = 600.0


@pytest.fixture(scope="module")
def archived(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`one` has the tables after one `archive`, `both` those after another one, of a later dump."""
    folder = tmp_path_factory.mktemp("archived")
    judged = Judged(spark, folder)
    for name, times in zip(("one", "both"), TIMES, strict=True):
        judged.archive(dump(folder / f"dump-{times[0]}", history(), *times, of_coordinator_alone=True))
        shutil.copytree(folder / "tables", folder / name)
    return folder


def archive(spark: SparkSession, tables: Path, dumped: Path) -> int:
    """How many records were new."""
    judged = Judged(spark, tables.parent)
    assert tables.name == "tables"
    return judged.archive(dumped)


def test_an_archive_that_is_killed_after_any_commit_ends_as_if_it_was_not(
    spark: SparkSession, archived: Path, tmp_path: Path
) -> None:
    first, last = commits(archived / "one"), commits(archived / "both")
    # Records, transactions and ranges, in this order.
    assert [each.parts[-3] for each in in_order(archived / "both")[first:]] == [
        "coordinator_records",
        "transactions",
        "coordinator_ranges",
    ]
    wanted = {name: contents(archived / name) for name in ("one", "both")}
    # The first job creates the tables at once; in between is one moment of many.
    moments = [("one", 24, kept) for kept in (len(TABLES) // 2, *range(len(TABLES), first))]
    moments += [("both", 37, kept) for kept in range(first + 1, last)]
    assert len(moments) == 6
    for name, minute, kept in moments:
        tables = tmp_path / f"{kept}" / "tables"
        as_if_killed(archived / name, kept, tables)
        archive(spark, tables, archived / f"dump-{minute}")
        assert contents(tables) == wanted[name], kept
        # Once more, nothing is new.
        before = commits(tables)
        assert archive(spark, tables, archived / f"dump-{minute}") == 0
        assert commits(tables) == before


def offsets(tables: Path) -> int:
    """How many offsets the only range of an archive has."""
    (kept,) = rows(Root(str(tables)), COORDINATOR_RANGES)
    return int(kept["to_offset"] - kept["from_offset"])


@pytest.mark.parametrize("is_new", [True, False], ids=["no tables", "tables of an earlier archive"])
def test_two_archives_at_once_are_as_if_one_followed_the_other(
    spark: SparkSession, archived: Path, tmp_path: Path, is_new: bool
) -> None:
    dumps = [archived / f"dump-{minute}" for minute, _ in TIMES]
    tables = tmp_path / "tables"
    if not is_new:
        shutil.copytree(archived / "one", tables)
        dumps[0] = dump(tmp_path / "dump-30", history(), 30, 20, of_coordinator_alone=True)
    # The first one twice: both jobs have the same to add.
    with ThreadPoolExecutor(3) as pool:
        new = list(pool.map(lambda each: archive(spark, tables, each), [*dumps, dumps[0]]))
    assert contents(tables, OF_THE_FIRST) == contents(archived / "both", OF_THE_FIRST)
    there = 0 if is_new else offsets(archived / "one")
    assert sum(new) == offsets(tables) - there > 0


def test_an_older_dump_after_a_newer_one_adds_what_that_had_lost(
    spark: SparkSession, archived: Path, tmp_path: Path
) -> None:
    tables = tmp_path / "tables"
    assert archive(spark, tables, archived / "dump-37") > 0
    assert archive(spark, tables, archived / "dump-24") > 0
    assert contents(tables, OF_THE_FIRST) == contents(archived / "both", OF_THE_FIRST)


def old_nights(store: Store) -> None:
    """Two nights of a cluster, by hand: of the older one most is removed."""
    for as_of in (NIGHT - 100 * DAY, NIGHT):
        found = (
            (RUNS, night(as_of)),
            (DUMP_FILES, file(topic="orders", as_of=as_of)),
            (OPEN_TRANSACTIONS, transaction(start=as_of.day, as_of=as_of)),
        )
        for table, row in found:
            store.append(table, local_frame(store.spark, [filled(table, row)], arrow_schema(table.row)))


@pytest.mark.faults
def test_a_prune_that_is_killed_after_any_commit_ends_as_if_it_was_not(
    spark: SparkSession, archived: Path, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(archived / "both", whole)
    old_nights(Store(spark, Root(str(whole))))
    kept, first = Kept(90 * DAY_MS, 17 * MINUTE_MS), commits(whole)
    before = contents(whole)
    removed = without_old_rows(Store(spark, Root(str(whole))), kept)
    assert len(removed) == 5
    wanted, last = contents(whole), commits(whole)
    # Those five, and the ranges.
    assert (last - first, wanted != before) == (6, True)
    for number in range(first, last):
        tables = tmp_path / f"{number}"
        as_if_killed(whole, number, tables)
        assert (contents(tables) == before) is (number == first)
        without_old_rows(Store(spark, Root(str(tables))), kept)
        assert contents(tables) == wanted, number
        assert not without_old_rows(Store(spark, Root(str(tables))), kept)


@pytest.mark.faults
def test_an_archive_that_is_killed_by_the_system_is_completed_by_the_next(
    spark: SparkSession, archived: Path, tmp_path: Path
) -> None:
    tables, dumped = tmp_path / "tables", archived / "dump-37"
    shutil.copytree(archived / "one", tables)
    first, last = commits(tables), commits(archived / "both")
    arguments = ["archive", str(dumped), "--tables", str(tables)]
    process = start(commands=[{"arguments": arguments, "largest_file": -1}])
    deadline = time.monotonic() + PATIENCE
    while commits(tables) == first and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[1][-3000:]
        time.sleep(0.01)
    kill(process)
    assert first < commits(tables) < last
    archive(spark, tables, dumped)
    assert contents(tables) == contents(archived / "both")
