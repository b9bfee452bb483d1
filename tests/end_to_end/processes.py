"""Jobs in processes of their own, and what the tables hold behind them, for the tests of faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
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


def contents(root: Path) -> dict[str, list[str]]:
    """The rows of all tables in an order of their own, without what tells two runs apart."""
    found = {}
    for table in TABLES:
        read = rows(Root(str(root)), table)
        keys = [tuple(row[name] for name in table.key) for row in read]
        assert len(keys) == len(set(keys)), f"{table.name} has a key twice"
        texts = (repr({name: row[name] for name in row if name not in OF_ONE_RUN}) for row in read)
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
