"""Two jobs at once: both succeed, and the tables are as if one had run after the other."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.end_to_end.processes import contents, start
from tests.small_dumps import DAY, FIRST_PRODUCER_ID, small_dump
from tests.writer import NOW
from txnlog.config import detect_options
from txnlog.job.main import run
from txnlog.report.table_rows import rows
from txnlog.tables.layout import ABORT_CANDIDATES, OPEN_TRANSACTIONS, RUNS, Root
from txnlog.tables.lock import only_writer


def detect(spark: SparkSession, dump: Path, tables: Path) -> None:
    run(spark, detect_options({"dump": str(dump), "tables": str(tables)}))


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`one` has the tables of two nights of one cluster, `two` those of two clusters: two processes wrote each."""
    root = tmp_path_factory.mktemp("at-once")
    nights = [
        small_dump(root / "first"),
        small_dump(root / "second", copied=NOW + DAY, ended=[FIRST_PRODUCER_ID]),
        small_dump(root / "a", cluster="a"),
        small_dump(root / "b", cluster="b"),
    ]
    jobs = [(nights[0], root / "one"), (nights[2], root / "two"), (nights[1], root / "one"), (nights[3], root / "two")]
    process = start(jobs=[{"dump": str(dump), "tables": str(tables)} for dump, tables in jobs[:2]])
    assert process.stdout is not None
    assert "list the dump" in process.stdout.readline()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda job: detect(spark, *job), jobs[2:]))
    printed, trouble = process.communicate(timeout=900)
    assert process.returncode == 0, trouble[-3000:]
    assert sorted(line for line in printed.splitlines() if "done" in line) == ["0 done", "1 done"]
    alone = root / "alone"
    one_by_one = {
        alone / "one": [nights[0], nights[1]],
        alone / "one-in-the-other-order": [nights[1], nights[0]],
        alone / "two": [nights[2], nights[3]],
    }

    def detect_in_turn(tables: Path) -> None:
        for dump in one_by_one[tables]:
            detect(spark, dump, tables)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(detect_in_turn, one_by_one))
    return root


@pytest.mark.faults
def test_two_nights_of_one_cluster_are_as_if_one_followed_the_other(folder: Path) -> None:
    alone = [contents(folder / "alone" / order) for order in ("one", "one-in-the-other-order")]
    assert contents(folder / "one") in alone
    assert len(rows(Root(str(folder / "one")), RUNS)) == 2


@pytest.mark.faults
def test_the_older_night_undoes_nothing_of_the_newer(folder: Path) -> None:
    states = {row["producer_id"]: row["status"] for row in rows(Root(str(folder / "one")), ABORT_CANDIDATES)}
    assert states.pop(FIRST_PRODUCER_ID, "RESOLVED") == "RESOLVED"
    assert set(states.values()) == {"OPEN"}


@pytest.mark.faults
def test_two_clusters_do_not_touch_one_another(folder: Path) -> None:
    assert contents(folder / "two") == contents(folder / "alone" / "two")
    assert {row["cluster"] for row in rows(Root(str(folder / "two")), OPEN_TRANSACTIONS)} == {"a", "b"}


HOLD = """
import sys
from txnlog.tables.layout import Root
from txnlog.tables.lock import only_writer
with only_writer(Root(sys.argv[1])):
    print("locked", flush=True)
    sys.stdin.readline()
"""


def test_a_job_waits_until_the_one_that_writes_is_done_or_dead(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    entered = threading.Event()

    def enter() -> None:
        with only_writer(Root(str(tmp_path))):
            entered.set()

    waiting = threading.Thread(target=enter)
    waiting.start()
    assert not entered.wait(0.5)
    holder.kill()
    assert entered.wait(30)
    waiting.join()
    holder.communicate()


def test_jobs_in_other_folders_do_not_wait(tmp_path: Path) -> None:
    with only_writer(Root(str(tmp_path / "one"))), only_writer(Root(str(tmp_path / "other"))):
        assert sorted(each.name for each in tmp_path.iterdir()) == ["one", "other"]
