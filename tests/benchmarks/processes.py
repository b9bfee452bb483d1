"""Memory of a command and of the processes that it starts."""

from __future__ import annotations

import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TextIO

PAUSE_S = 0.05


class Peak(NamedTuple):
    """What a job took: seconds that it printed as its last line, and MiB of the largest process of each kind.

    `driver` is the command's own process, `java` Spark's, which in a local session has the executors in it, `worker`
    one of PySpark's, which read the dump.
    """

    inner_seconds: float
    driver: float
    java: float
    worker: float


# All but the seconds.
KINDS = Peak._fields[1:]


def peak_of(command: list[str]) -> Peak:
    """Run a command to its end and watch it and all processes below it. `CalledProcessError` if it fails."""
    largest = dict.fromkeys(KINDS, 0)
    # Files, as nobody empties a pipe while it runs.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        while process.poll() is None:
            for pid in [process.pid, *descendants(process.pid)]:
                kind = "driver" if pid == process.pid else kind_of(pid)
                if kind in largest:
                    largest[kind] = max(largest[kind], resident_kib(pid))
            time.sleep(PAUSE_S)
        said, complained = (_all_of(stream) for stream in (out, err))
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, said, complained)
    return Peak(float(said.splitlines()[-1]), **{kind: kib / 1024 for kind, kib in largest.items()})


def descendants(pid: int) -> list[int]:
    """The processes below one."""
    found = [pid]
    for each in found:
        # It may have ended meanwhile.
        with suppress(OSError):
            for task in Path(f"/proc/{each}/task").glob("*/children"):
                found.extend(int(child) for child in task.read_text().split())
    return found[1:]


def kind_of(pid: int) -> str:
    """Which of a job's processes this is."""
    words = _content(Path(f"/proc/{pid}/cmdline")).split("\0")
    if Path(words[0]).name == "java":
        return "java"
    return "worker" if "pyspark.daemon" in words else "other"


def resident_kib(pid: int) -> int:
    """The memory of a process that is its own, in KiB; pages of files that it looks at are the system's."""
    for line in _content(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    return 0


def _all_of(stream: TextIO) -> str:
    stream.seek(0)
    return stream.read()


def _content(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
