"""The README's commands, those that need no broker, on the sample that it shows; what it shows is what they print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pages import README, ROOT, arguments, blocks, commands, outputs
from tests.terminal import seen
from txnlog.cli import main
from txnlog.report import late_transactions
from txnlog.tables.layout import Root

TEXT = README.read_text("utf-8")
SAMPLE = "data/samples/shop"
# Where the README's commands find the tables, and what they are read from.
TABLES = ("/data/txnlog", "build/tables")
DUMPS = ("dump", SAMPLE)
WIDTH = 120
DETECT = "txnlog detect "


def here(command: str, tables: Path) -> list[str]:
    """The arguments of a command of the README, with the sample and these tables in the place of its own."""
    places = dict.fromkeys(TABLES, str(tables)) | dict.fromkeys(DUMPS, str(ROOT / SAMPLE))
    return [places.get(word, word) for word in arguments(command)]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables that the README's own commands have made: once, where they only name the dump in two ways."""
    folder = tmp_path_factory.mktemp("readme") / "tables"
    within_text = [" ".join(each.split()) for each in re.findall(r"`(txnlog detect data/samples[^`]*)`", TEXT)]
    runs = [command for command in [*within_text, *offline()] if command.startswith(DETECT)]
    for words in {tuple(here(command, folder)) for command in runs}:
        assert main(words) == 0
    return folder


@pytest.fixture
def printed(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, list[str]]:
    """What each other command of the README prints."""
    monkeypatch.chdir(tmp_path)
    lines = {}
    for command in (each for each in offline() if not each.startswith(DETECT)):
        capsys.readouterr()
        assert main(here(command, tables)) == 0, command
        lines[command] = capsys.readouterr().out.splitlines()
    return lines


def offline() -> list[str]:
    """The commands of the README's blocks that need no broker."""
    return list(dict.fromkeys(each for each in commands(README) if "--bootstrap-server" not in each))


def is_shown(line: str, real: str) -> bool:
    """Whether a line of the README is a real one, of which `...` stands for the rest."""
    return real.startswith(line.removesuffix("...")) if line.endswith("...") else real == line


def is_excerpt(shown: list[str], real: list[str]) -> bool:
    """Whether the lines are the real ones, of which a line of `...` stands for one or more."""
    if not shown or not real:
        return shown == real
    if shown[0] == "...":
        return any(is_excerpt(shown[1:], real[left_out:]) for left_out in range(1, len(real) + 1))
    return is_shown(shown[0], real[0]) and is_excerpt(shown[1:], real[1:])


def test_the_readme_shows_what_its_commands_print(printed: dict[str, list[str]], tables: Path) -> None:
    hanging, explained = outputs(README).items()
    found = late_transactions.late_transactions(Root(str(tables)))
    for shown, real in (
        (hanging[1], seen(late_transactions.rendered(found, "table", WIDTH, TABLES[1]))),
        (explained[1], printed[explained[0]]),
    ):
        assert is_excerpt(shown, real), "\n".join(real)
    assert len(printed["txnlog abort-list --tables /data/txnlog --cluster shop > aborts.sh"]) == 0


def test_the_abort_in_the_readme_is_one_of_the_list(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [entry] = [block for block in blocks(README) if "abort --topic" in block]
    assert main(["abort-list", "--tables", str(tables), "--unverified"]) == 0
    assert f"\n{entry}" in capsys.readouterr().out


def test_the_sql_in_the_docs_is_answered(spark: SparkSession, tables: Path) -> None:
    [block] = [block for block in blocks(ROOT / "docs/monitoring.md") if block.startswith("SELECT ")]
    found = [spark.sql(each).count() for each in block.replace(TABLES[0], str(tables)).split(";") if each.strip()]
    assert len(found) == 2
    assert found[1] == 1
