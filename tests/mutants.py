"""Breaks txnlog in the ways that `mutants.toml` lists, one at a time: each must turn its test red.

    python -m tests.mutants [--only WORDS]

All of them take more than an hour on two busy cores. Two processes at a time each break a copy of the tracked files;
the files themselves are never changed. Each starts one JVM for the Spark of its tests, as to start one takes long, and
ends after a few of them: what Python had of a JVM stays in it when the process of a test has ended.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from tests.quick_spark import QUICK
from txnlog.spark.session import session

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".toml")
# A test may have any mark.
PYTEST = (sys.executable, "-m", "pytest", "-q", "--tb=no", "-rf", "-p", "no:cacheprovider", "-m", "")
TEST_FAILED = 1
PROCESSES = 2
# The mutants of one JVM, and of one whose tests run whole jobs: after more of them it does little but collect garbage.
MOST_OF_A_SHARE, MOST_OF_JOBS = 15, 4
JOBS = "tests/end_to_end/"


class Mutant(NamedTuple):
    """What is wrong with it, the text that stands once in a file, what stands there instead, and who notices."""

    says: str
    file: str
    original: str
    broken: str
    test: str


class Outcome(NamedTuple):
    """How a run of pytest ended: its exit code, the tests that failed, and all that it printed."""

    code: int
    failed: list[str]
    printed: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="WORDS", default="", help="only mutants whose words or file contain this")
    mutants, began = listed(parser.parse_args().only), time.monotonic()
    with ProcessPoolExecutor(PROCESSES, get_context("spawn"), max_tasks_per_child=1) as pool:
        survived = sum(pool.map(survivors, shares(mutants)))
    print(f"{len(mutants)} mutants, {survived} survived, {(time.monotonic() - began) / 60:.0f} min")
    return 1 if survived else 0


def shares(mutants: list[Mutant]) -> list[list[Mutant]]:
    """Shares of the mutants, one for each JVM. Those of a file of tests are in one, as far as it is not too many."""
    in_turn = sorted(mutants, key=lambda each: each.test.partition("::")[0])
    kinds = (
        (MOST_OF_JOBS, [each for each in in_turn if each.test.startswith(JOBS)]),
        (MOST_OF_A_SHARE, [each for each in in_turn if not each.test.startswith(JOBS)]),
    )
    return [of_kind[start : start + most] for most, of_kind in kinds for start in range(0, len(of_kind), most)]


def survivors(mutants: list[Mutant]) -> int:
    """How many of these no test kills. `SystemExit` where their tests do not pass as it is."""
    with tempfile.TemporaryDirectory(prefix="txnlog-mutants-") as folder, one_jvm() as variables:
        copy = Path(folder)
        copy_tracked_files(copy)
        unbroken = tested({mutant.test for mutant in mutants}, copy, variables)
        if unbroken.code != 0:
            # The other process may take long: it is said at once.
            print(unbroken.printed, flush=True)
            raise SystemExit("the tests do not pass as it is: nothing can be said of mutants")
        return sum(not is_killed(mutant, copy, variables) for mutant in mutants)


def listed(only: str) -> list[Mutant]:
    """The mutants of the list that have these words, once it is clear that each of the list can be made."""
    mutants = [Mutant(**each) for each in tomllib.loads(LIST.read_text("utf-8"))["mutant"]]
    for mutant in mutants:
        occurs = (ROOT / mutant.file).read_text("utf-8").count(mutant.original)
        if occurs != 1:
            raise SystemExit(f"{mutant.says}: {mutant.original!r} occurs {occurs} times in {mutant.file}")
    found = [mutant for mutant in mutants if only in f"{mutant.file} {mutant.says}"]
    if not found:
        raise SystemExit(f"no mutant has the words {only!r}")
    return found


@contextmanager
def one_jvm() -> Iterator[dict[str, str]]:
    """The environment variables by which a process finds the JVM of this one."""
    spark = session("txnlog-mutants", is_small=False, **QUICK)
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    parameters = gateway.gateway_parameters
    spark.stop()
    yield {
        "PYSPARK_GATEWAY_PORT": str(parameters.port),
        "PYSPARK_GATEWAY_SECRET": parameters.auth_token,
        # The JVM was started in the environment of this process, which need not have it.
        "PYSPARK_PYTHON": sys.executable,
    }
    gateway.shutdown()


def copy_tracked_files(to: Path) -> None:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.split("\0")[:-1]:
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name)


def tested(tests: Iterable[str], copy: Path, variables: dict[str, str]) -> Outcome:
    """Run tests in the copy. Compiled files are not kept: they are told from changed ones by size and second only."""
    environment = {**os.environ, **variables, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [*PYTEST, *sorted(tests)]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    failed = re.findall(r"^FAILED (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return Outcome(done.returncode, failed, done.stdout + done.stderr)


def is_killed(mutant: Mutant, copy: Path, variables: dict[str, str]) -> bool:
    """Break the copy, run the test, mend it. Only a test that fails kills: code that does not run proves nothing."""
    path, began = copy / mutant.file, time.monotonic()
    sound = path.read_text("utf-8")
    path.write_text(sound.replace(mutant.original, mutant.broken), "utf-8")
    try:
        outcome = tested([mutant.test], copy, variables)
    finally:
        path.write_text(sound, "utf-8")
    killed = outcome.code == TEST_FAILED and bool(outcome.failed)
    seconds = time.monotonic() - began
    said = f"{'killed  ' if killed else 'SURVIVED'} {seconds:3.0f} s  {mutant.file}: {mutant.says}"
    print("\n    ".join([said, *(outcome.failed if killed else [outcome.printed])]), flush=True)
    return killed


if __name__ == "__main__":
    sys.exit(main())
