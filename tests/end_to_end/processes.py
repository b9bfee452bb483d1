"""Jobs in processes of their own, and what the tables hold after them, for the tests of faults."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from deltalake import DeltaTable

from txnlog.report.table_rows import rows
from txnlog.spark.session import IS_SMALL, SMALL
from txnlog.tables.layout import RUNS, TABLES, Root, Table

ROOT = Path(__file__).parents[2]
JOB = Path(__file__).with_name("job_process.py")
# As for few rows, since most of the time of such a process is spent on starting; but the dump is read by workers.
SETTINGS = {"spark.master": "local[2]", **{name: value for name, value in SMALL.items() if name != IS_SMALL}}
# What tells one run over a dump from another over the same.
OF_ONE_RUN = frozenset({"run_id", "started_at", "finished_at", "step_seconds", "options"})


def start(prefix: tuple[str, ...] = (), settings: dict[str, Any] = SETTINGS, **given: Any) -> subprocess.Popen[str]:
    """A process that runs `jobs` or `commands`; it and its JVM are a group of their own."""
    return subprocess.Popen(
        [*prefix, sys.executable, str(JOB), json.dumps({"settings": settings, **given})],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Executors have to be of this Python, too.
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )


def kill(process: subprocess.Popen[str]) -> str:
    """End a process and its JVM as a failing machine does, and wait until both are gone; what it printed."""
    os.killpg(process.pid, signal.SIGKILL)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    return printed


def built_wheel(folder: Path) -> Path:
    """The wheel of this code, in a folder."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, cwd=folder, capture_output=True, timeout=600, check=True)
    (built,) = folder.glob("txnlog-*.whl")
    return built


def is_created(root: Path, table: Table) -> bool:
    return (root / table.name / "_delta_log" / f"{0:020}.json").exists()


def commits(root: Path) -> int:
    """Commits of all tables below a root."""
    return sum(1 for table in TABLES for _ in (root / table.name / "_delta_log").glob("*[0-9].json"))


def in_order(root: Path) -> list[Path]:
    """The commits of all tables below a root, as they were made one after the other."""
    found = (commit for table in TABLES for commit in (root / table.name / "_delta_log").glob("*[0-9].json"))
    return sorted(found, key=lambda commit: commit.stat().st_mtime_ns)


def as_if_killed(whole: Path, kept: int, root: Path) -> None:
    """Copy the tables of a job as they were after the first `kept` commits: files of later ones lie there, unused."""
    shutil.copytree(whole, root)
    for commit in in_order(root)[kept:]:
        commit.unlink()
        # Delta's checksum of the version, and Hadoop's of the files.
        for name in (f"{commit.stem}.crc", f".{commit.name}.crc", f".{commit.stem}.crc.crc"):
            commit.with_name(name).unlink(missing_ok=True)
        # A checkpoint has the commits before it, too.
        assert not commit.with_name(f"{commit.stem}.checkpoint.parquet").exists()
    for table in (each for each in TABLES if not is_created(root, each)):
        # Nothing is written before all tables are there; a creation that has begun leaves an empty log.
        for folder in (root / table.name).glob("cluster=*"):
            shutil.rmtree(folder)


def contents(root: Path, left_out: Mapping[str, Collection[str]] = MappingProxyType({})) -> dict[str, list[str]]:
    """The rows of all tables in an order of their own, without what tells two runs apart, and without the columns that
    are to be left out of a table.
    """
    found = {}
    for table in TABLES:
        read = rows(Root(str(root)), table)
        keys = [tuple(row[name] for name in table.key) for row in read]
        assert len(keys) == len(set(keys)), f"{table.name} has a key twice"
        unequal = OF_ONE_RUN.union(left_out.get(table.name, ()))
        texts = (repr({name: row[name] for name in row if name not in unequal}) for row in read)
        found[table.name] = sorted(set(texts) if table is RUNS else texts)
    return found


def checks(root: Path) -> dict[str, set[str]]:
    """The checks of each table."""
    return {
        table.name: {
            name.removeprefix("delta.constraints.")
            for name in DeltaTable(str(root / table.name)).metadata().configuration
            if name.startswith("delta.constraints.")
        }
        for table in TABLES
    }
