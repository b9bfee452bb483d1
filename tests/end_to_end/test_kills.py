"""A job that is killed while it writes leaves tables that can be read, and a rerun completes them."""

from __future__ import annotations

import os
import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from tests.end_to_end.processes import checks, commits, contents, is_created, kill, start
from tests.small_dumps import DAY, FIRST_PRODUCER_ID, small_dump
from tests.writer import NOW
from txnlog.config import detect_options
from txnlog.job.main import run
from txnlog.report.table_rows import rows
from txnlog.tables.layout import ABORT_CANDIDATES, TABLES, Root

pytestmark = pytest.mark.faults
# So many jobs are killed between their first and their last commit. Each process runs several, so that one kill ends
# them all, each at another moment.
KILLS = int(os.environ.get("TXNLOG_KILLS", "20"))
JOBS = 4
SEED = int(os.environ.get("TXNLOG_SEED", str(random.SystemRandom().randrange(10**6))))
LONGEST_DELAY = 2.0
PATIENCE = 600.0


class Night(NamedTuple):
    """A dump, the tables that were there before it, and the tables after a job that nobody disturbed."""

    dump: Path
    before: Path | None
    after: Path

    def commits(self) -> tuple[int, int]:
        """Before and after an undisturbed job."""
        return commits(self.before) if self.before else 0, commits(self.after)


class Killed(NamedTuple):
    """Tables of a killed job."""

    night: Night
    tables: Path
    commits: int

    def is_between_commits(self) -> bool:
        first, last = self.night.commits()
        return first < self.commits < last


def detect(spark: SparkSession, dump: Path, tables: Path) -> None:
    run(spark, detect_options({"dump": str(dump), "tables": str(tables)}))


@pytest.fixture(scope="module")
def nights(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Night, Night]:
    """The first on no tables; a day later one transaction has ended and the rest is still open."""
    folder = tmp_path_factory.mktemp("nights")
    first = Night(small_dump(folder / "first"), None, folder / "after-first")
    detect(spark, first.dump, first.after)
    dump = small_dump(folder / "second", copied=NOW + DAY, ended=[FIRST_PRODUCER_ID])
    second = Night(dump, first.after, folder / "after-second")
    shutil.copytree(first.after, second.after)
    detect(spark, second.dump, second.after)
    return first, second


@pytest.fixture(scope="module")
def killed(nights: tuple[Night, Night], tmp_path_factory: pytest.TempPathFactory) -> list[Killed]:
    moments = random.Random(SEED)
    print(f"TXNLOG_SEED={SEED}")
    found = list[Killed]()
    for number in range(KILLS):
        found += kill_once(nights, tmp_path_factory.mktemp(f"{number}"), moments)
        if sum(job.is_between_commits() for job in found) >= KILLS:
            break
    return found


def kill_once(nights: tuple[Night, Night], folder: Path, moments: random.Random) -> list[Killed]:
    """Kill a process some time after it has written a random number of commits; the jobs that it had not finished."""
    jobs = [Killed(nights[number % 2], folder / f"tables-{number}", 0) for number in range(JOBS)]
    for job in jobs:
        if job.night.before:
            shutil.copytree(job.night.before, job.tables)
    before = sum(job.night.commits()[0] for job in jobs)
    everything = sum(job.night.commits()[1] for job in jobs)
    wanted, delay = moments.randrange(before + 1, everything), moments.uniform(0, LONGEST_DELAY)
    process = start(jobs=[{"dump": str(job.night.dump), "tables": str(job.tables)} for job in jobs])
    deadline = time.monotonic() + PATIENCE
    while sum(commits(job.tables) for job in jobs) < wanted and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[1][-3000:]
        time.sleep(0.02)
    time.sleep(delay)
    lines = kill(process).splitlines()
    left = [job._replace(commits=commits(job.tables)) for job in jobs]
    print(f"{[job.commits for job in left]} of {everything} commits, wanted {wanted}, killed {delay:.2f} s later")
    return [job for number, job in enumerate(left) if f"{number} done" not in lines]


def test_kills_fall_between_the_first_and_the_last_commit(killed: list[Killed]) -> None:
    between = [job for job in killed if job.is_between_commits()]
    print(f"{len(killed)} jobs were killed, {len(between)} of them between their first and last commit")
    assert len(between) >= KILLS


def test_tables_of_a_killed_job_can_be_read(spark: SparkSession, killed: list[Killed]) -> None:
    read = 0
    for job in killed:
        root = Root(str(job.tables))
        for table in TABLES:
            if is_created(job.tables, table):
                by_spark = spark.sql(f"SELECT * FROM {root.sql_name(table)}").count()
                assert by_spark == len(rows(root, table))
                read += 1
    assert read > len(killed)


def test_an_abort_is_listed_by_a_killed_job_only_if_the_whole_job_lists_it(killed: list[Killed]) -> None:
    for job in killed:
        if is_created(job.tables, ABORT_CANDIDATES):
            whole = [contents(tables)["abort_candidates"] for tables in (job.night.before, job.night.after) if tables]
            listed = sorted(repr(row) for row in rows(Root(str(job.tables)), ABORT_CANDIDATES))
            assert listed in ([], *whole)


def test_a_rerun_completes_what_a_killed_job_began(spark: SparkSession, killed: list[Killed]) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda job: detect(spark, job.night.dump, job.tables), killed))
    for job in killed:
        assert contents(job.tables) == contents(job.night.after)
        assert checks(job.tables) == {table.name: set(table.checks) for table in TABLES}
