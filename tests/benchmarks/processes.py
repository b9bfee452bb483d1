"""Memory of the processes that a command starts."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PAUSE_S = 0.05


class Peak(NamedTuple):
    """What a job took: the largest of its Python workers in MiB, and the seconds that it printed as its last line."""

    worker_mib: float
    inner_seconds: float


def peak_of(command: list[str]) -> Peak:
    """Run a command to its end and watch the Python workers below it. `CalledProcessError` if it fails."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    largest = 0
    while process.poll() is None:
        largest = max([largest, *(resident_kib(pid) for pid in descendants(process.pid) if is_worker(pid))])
        time.sleep(PAUSE_S)
    said, complained = process.communicate()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, said, complained)
    return Peak(largest / 1024, float(said.splitlines()[-1]))


def descendants(pid: int) -> list[int]:
    """The processes below one."""
    found = [pid]
    for each in found:
        # It may have ended meanwhile.
        with suppress(OSError):
            for task in Path(f"/proc/{each}/task").glob("*/children"):
                found.extend(int(child) for child in task.read_text().split())
    return found[1:]


def is_worker(pid: int) -> bool:
    """Whether it is one of PySpark's, which read the dump."""
    return "pyspark.daemon" in _content(Path(f"/proc/{pid}/cmdline")).replace("\0", " ")


def resident_kib(pid: int) -> int:
    """The memory of a process that is its own, in KiB; pages of files that it looks at are the system's."""
    for line in _content(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    return 0


def _content(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
