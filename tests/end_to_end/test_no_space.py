"""Disks that are full or read-only, by the command line: one line that says so, and nothing is lost."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from tests.end_to_end.processes import contents, start
from tests.small_dumps import DAY, FIRST_PRODUCER_ID, small_dump
from tests.writer import NOW
from txnlog.config import detect_options
from txnlog.job.main import run

pytestmark = pytest.mark.processes

UNLIMITED = 1 << 40
# The first commit of a table is larger than the one, the rows of a night are larger than the other.
TOO_SMALL_FOR_A_TABLE, TOO_SMALL_FOR_ROWS = 4_000, 9_000
# Rights do not hold for root, unless it gives up the right to pass them over.
AS_A_USER = ("setpriv", "--bounding-set=-dac_override") if os.geteuid() == 0 else ()
END = "exit code "


class Answer(NamedTuple):
    """What a command said, and the tables that it was to write."""

    code: int
    errors: str
    tables: Path


@pytest.fixture(scope="module")
def nights(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Two dumps, and the tables after the first."""
    folder = tmp_path_factory.mktemp("nights")
    first = small_dump(folder / "first")
    second = small_dump(folder / "second", copied=NOW + DAY, ended=[FIRST_PRODUCER_ID])
    run(spark, detect_options({"dump": str(first), "tables": str(folder / "tables")}))
    return first, second, folder / "tables"


@pytest.fixture(scope="module")
def answers(nights: tuple[Path, Path, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    """One process for all commands: each would take as long to start."""
    folder = tmp_path_factory.mktemp("no-space")
    _, second, tables = nights
    places = {
        "full at the start": folder / "new",
        "full in the middle": shutil.copytree(tables, folder / "full"),
        "read-only tables": shutil.copytree(tables, folder / "read-only"),
        "read-only folder": folder / "closed" / "tables",
        "below a file": folder / "file" / "tables",
    }
    limits = {"full at the start": TOO_SMALL_FOR_A_TABLE, "full in the middle": TOO_SMALL_FOR_ROWS}
    (folder / "closed").mkdir()
    (folder / "file").touch()
    closed = [folder / "closed", folder / "read-only", *(folder / "read-only").rglob("*")]
    for place in closed:
        place.chmod(place.stat().st_mode & ~0o222)
    commands: list[dict[str, Any]] = [
        {"arguments": ["detect", str(second), "--tables", str(place)], "largest_file": limits.get(name, UNLIMITED)}
        # The first one may write: it unpacks the libraries of the JVM, which are larger than the limits.
        for name, place in [("free", folder / "free"), *places.items()]
    ]
    process = start(AS_A_USER, commands=commands)
    printed, errors = process.communicate(timeout=900)
    for place in closed:
        place.chmod(place.stat().st_mode | 0o200)
    free, *codes = [int(line.removeprefix(END)) for line in printed.splitlines() if line.startswith(END)]
    assert (free, len(codes)) == (0, len(places)), errors[-3000:]
    said = errors.split(END)[1:]
    return {
        name: Answer(code, text, place) for (name, place), code, text in zip(places.items(), codes, said, strict=False)
    }


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("full at the start", "File too large"),
        ("full in the middle", "File too large"),
        ("read-only tables", "Permission denied"),
        ("read-only folder", "Permission denied"),
        ("below a file", "Not a directory"),
    ],
)
def test_a_table_that_cannot_be_written_is_one_line_and_exit_code_4(
    answers: dict[str, Answer], name: str, says: str
) -> None:
    answer = answers[name]
    lines = [line for line in answer.errors.splitlines() if line.startswith("txnlog: ")]
    assert answer.code == 4, answer.errors[-3000:]
    assert len(lines) == 1
    assert says in lines[0]
    assert "Traceback" not in answer.errors


@pytest.mark.parametrize("name", ["full in the middle", "read-only tables"])
def test_what_was_there_is_there_and_a_rerun_completes(
    spark: SparkSession, nights: tuple[Path, Path, Path], answers: dict[str, Answer], name: str, tmp_path: Path
) -> None:
    _, second, tables = nights
    before, after = contents(tables), contents(answers[name].tables)
    assert all(set(before[table]) <= set(after[table]) for table in before)
    undisturbed = shutil.copytree(tables, tmp_path / "undisturbed")
    for place in (undisturbed, answers[name].tables):
        run(spark, detect_options({"dump": str(second), "tables": str(place)}))
    assert contents(answers[name].tables) == contents(undisturbed)
