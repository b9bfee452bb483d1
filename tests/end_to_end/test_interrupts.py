"""Ctrl-C ends a run with one line, whatever Spark is just doing, and leaves no process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.small_dumps import small_dump

pytestmark = pytest.mark.processes
SAID = "txnlog: interrupted; each table is unchanged or complete: run it again"


@pytest.fixture(autouse=True)
def interrupts_are_heeded() -> Iterator[None]:
    """A shell ignores them for what it starts in the background, these tests and the job included."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("step", ["start Spark", "open the tables", "replay and judge"])
def test_an_interrupt_leaves_one_line_and_no_process(step: str, tmp_path: Path) -> None:
    dump, tables = small_dump(tmp_path / "dump"), tmp_path / "tables"
    arguments = [sys.executable, "-m", "txnlog.cli", "-v", "detect", str(dump), "--tables", str(tables)]
    # The terminal sends it to the whole group.
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, start_new_session=True) as job:
        assert job.stderr is not None
        assert any(f": {step};" in line for line in job.stderr)
        os.killpg(job.pid, signal.SIGINT)
        # The end of what they write comes when no process is left.
        *others, last = job.communicate(timeout=120)[1].splitlines()
    assert (job.returncode, last) == (130, SAID)
    assert [line for line in others if not line.startswith(("txnlog: step ", "txnlog: read ", "WARNING: "))] == []
