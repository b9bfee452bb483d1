"""The lines of an abort script, and what it takes to run them: Kafka's commands, which the jars come without."""

import itertools
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from programs import REPOSITORY, TRANSACTIONS_COMMAND, java_command

COMMANDS = {"kafka-transactions.sh": TRANSACTIONS_COMMAND, "kafka-cluster.sh": "org.apache.kafka.tools.ClusterTool"}
# What starts an abort in a list, and where what all of them share ends.
ABORT, HEAD_ENDS = "abort --", "\nstart\n"
SHIM = """#!/bin/sh
exec {command} "$@"
"""
Place = tuple[str, int]


class Transaction(NamedTuple):
    """An open transaction, as an abort line names it."""

    topic: str
    partition: int
    start_offset: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} from offset {self.start_offset}"

    @property
    def place(self) -> Place:
        """Its partition."""
        return self.topic, self.partition


class Finished(NamedTuple):
    """A command that has ended."""

    code: int
    out: str
    error: str


def abort_lines(script: str) -> list[str]:
    """The lines of an abort list that abort something."""
    return [line for line in script.splitlines() if line.startswith(ABORT)]


def single_aborts(script: str) -> dict[str, str]:
    """For each line of an abort list that aborts something a script that does only that."""
    head, entries = script.split(HEAD_ENDS, 1)
    scripts, checks = {}, list[str]()
    for line in entries.splitlines():
        if line.startswith(ABORT):
            scripts[line] = "\n".join([head + HEAD_ENDS, *checks, line, "finish\n"])
            checks = []
        elif line.startswith("expect_"):
            checks.append(line)
    return scripts


def transaction_of(line: str) -> Transaction:
    """What a line of the list would abort."""
    words = shlex.split(line)
    options = dict(itertools.pairwise(words))
    return Transaction(options["--topic"], int(options["--partition"]), int(options["--start-offset"]))


def bash(line: str, folder: Path, release: str, variables: Mapping[str, str]) -> Finished:
    """Run bash with these variables, and with Kafka's commands on the path, which the jars come without."""
    for name, main_class in COMMANDS.items():
        shim = folder / "bin" / name
        shim.parent.mkdir(exist_ok=True)
        shim.write_text(SHIM.format(command=shlex.join(java_command(release, main_class))))
        shim.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", **variables}
    finished = _run(["bash", "-c", line], folder, environment, 600)
    return Finished(finished.code, finished.out + finished.error, "")


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float) -> Finished:
    finished = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds, check=False
    )
    return Finished(finished.returncode, finished.stdout, finished.stderr)


def txnlog(folder: Path, *arguments: str) -> Finished:
    """Run txnlog: the one that is installed beside this Python, or else that of this repository."""
    installed = Path(sys.executable).with_name("txnlog")
    if installed.exists():
        return _run([str(installed), *arguments], folder, os.environ, 900)
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return _run([sys.executable, "-m", "txnlog.cli", *arguments], folder, environment, 900)
