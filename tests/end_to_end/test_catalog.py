"""Tables in a catalog, which only Spark can read: what each command says of them is what it says of a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.small_dumps import small_dump
from txnlog.cli import main
from txnlog.commands.parser import COMMANDS
from txnlog.config import detect_options
from txnlog.job.main import run
from txnlog.report.contents import of_spark, of_tables
from txnlog.report.table_rows import rows, text_literal
from txnlog.tables.append import append
from txnlog.tables.layout import (
    ABORT_CANDIDATES,
    OPEN_TRANSACTIONS,
    RUNS,
    TABLES,
    TRANSACTIONS,
    VERIFICATIONS,
    Root,
    columns_of,
)

DUMP = Path("data/samples/kafka-3.5.2")
SCHEMA = "spark_catalog.samples"
PLACE = ["--topic", "lost-commit", "--partition", "0"]
# What is asked of the tables; `{id}` is one of the transactional ids.
QUESTIONS = {
    "abort-list": ["--unverified"],
    "describe": ["--transactional-id", "{id}"],
    "describe-producers": PLACE,
    "explain": PLACE,
    "fencings": [],
    "find-hanging": [],
    "groups": [],
    "history": [],
    "list": [],
    "metrics": [],
    "partition": [str(DUMP), *PLACE],
    "record": [str(DUMP), *PLACE, "--offset", "0"],
    "remedies": [],
    "timeline": ["--transactional-id", "{id}"],
    "transactions": [],
}
# Commands that read no tables, or that are asked below in other words.
OTHERS = {"archive", "check", "copy-script", "detect", "prune", "report", "verify"}
MORE = (
    ["groups", "--blocked"],
    ["transactions", "--summary", "--by", "topic"],
    ["transactions", "--topic", "lost-commit", "--format", "json"],
    ["list", "--cluster", "it's ${no}\\such"],
)
# Spark takes seconds for each.
LEFT_TO_CI = (
    ["transactions", "--summary"],
    ["transactions", "--summary", "--by", "partition"],
    ["transactions", "--summary", "--by", "hour"],
    ["transactions", "--outcome", "ABORT", "--longer-than", "1ms", "--from", "2020-01-01T00:00:00Z", "--format", "csv"],
    ["transactions", "--to", "2100-01-01T00:00:00Z", "--limit", "3"],
    ["find-hanging", "--format", "json"],
)
ASKED = (
    *([command, *more] for command, more in QUESTIONS.items()),
    *MORE,
    *(pytest.param(each, marks=pytest.mark.processes) for each in LEFT_TO_CI),
)


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Root:
    tables = tmp_path_factory.mktemp("tables")
    run(spark, detect_options({"dump": str(DUMP), "tables": str(tables)}))
    return Root(str(tables))


@pytest.fixture(scope="module")
def catalog(spark: SparkSession, folder: Root) -> Iterator[Root]:
    """The tables of the folder, by name."""
    spark.sql(f"CREATE SCHEMA {SCHEMA}")
    for table in TABLES:
        spark.sql(f"CREATE TABLE {SCHEMA}.{table.name} USING delta LOCATION '{folder.path_of(table)}'")
    yield Root(SCHEMA)
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


def test_each_command_that_reads_tables_is_asked() -> None:
    assert {each.name for each in COMMANDS} == {*QUESTIONS, *OTHERS}


def said(root: Root, question: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main([*question, "--tables", root.text])
    printed = capsys.readouterr()
    out, error = (text.replace(root.text, "TABLES") for text in (printed.out, printed.err))
    return code, out, error


@pytest.mark.parametrize("question", ASKED, ids=" ".join)
def test_a_command_says_of_a_catalog_what_it_says_of_a_folder(
    question: list[str], folder: Root, catalog: Root, capsys: pytest.CaptureFixture[str]
) -> None:
    named = max(row["transactional_id"] for row in rows(folder, TRANSACTIONS))
    question = [each.format(id=named) if each == "{id}" else each for each in question]
    of_folder = said(folder, question, capsys)
    assert of_folder[1] or of_folder[0]
    assert said(catalog, question, capsys) == of_folder


def test_the_report_of_a_catalog_is_that_of_a_folder(folder: Root, catalog: Root, spark: SparkSession) -> None:
    assert of_tables(catalog) == of_spark(spark, folder) == of_tables(folder)


def test_names_are_the_same_in_both(folder: Root, catalog: Root) -> None:
    for name in ("it's", "a\\nb", "${user}", "\\'", "ordinary", "zwei\nZeilen"):
        asked = f"{text_literal(name)} = {text_literal(name)} AND length({text_literal(name)}) = {len(name)}"
        assert len(rows(catalog, RUNS, asked)) == len(rows(folder, RUNS, asked)) == 1


def test_an_instant_is_utc_whatever_the_zone_of_the_session(spark: SparkSession, folder: Root, catalog: Root) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kathmandu")
    try:
        found = rows(catalog, TRANSACTIONS, order="cluster, transactional_id, last_offset")
    finally:
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")
    wanted = rows(folder, TRANSACTIONS, order="cluster, transactional_id, last_offset")
    assert found == wanted
    assert {str(row["start_timestamp"]) for row in found} == {str(row["start_timestamp"]) for row in wanted}
    assert {str(each["listed_at"]) for row in found for each in row["partitions"]} == {
        str(each["listed_at"]) for row in wanted for each in row["partitions"]
    }


@pytest.mark.processes
def test_a_run_writes_into_a_catalog_and_says_what_to_type_next(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump, folder, root = small_dump(tmp_path / "dump"), Root(str(tmp_path / "tables")), Root("spark_catalog.written")
    spark.sql(f"CREATE SCHEMA {root.text} LOCATION '{tmp_path / 'schema'}'")
    try:
        assert [main(["detect", str(dump), "--tables", each.text]) for each in (folder, root)] == [0, 0]
        last = capsys.readouterr().out.splitlines()[-1]
        assert last == f"Open transactions: 4 ABORT. Next: txnlog find-hanging --tables {root.text}"
        order = "topic, partition, producer_id, start_offset"
        assert rows(root, OPEN_TRANSACTIONS, order=order) == rows(folder, OPEN_TRANSACTIONS, order=order) != []
        one, *_ = rows(root, ABORT_CANDIDATES, order=order)
        # As `txnlog verify` does.
        answer = {field.name: one.get(field.name) for field in columns_of(VERIFICATIONS)}
        answer |= {"verified_at": one["as_of"], "status": "RESOLVED", "reason": "it ended", "cluster_id": "small"}
        append(root, VERIFICATIONS, [tuple(answer.values())])
        assert [row["status"] for row in rows(root, VERIFICATIONS)] == ["RESOLVED"]
        script = tmp_path / "aborts.sh"
        assert main(["abort-list", "--unverified", "--tables", root.text, "--output", str(script)]) == 0
        assert "1 of 4 open candidates left out: 1 RESOLVED" in capsys.readouterr().err
        assert script.read_text().count("\nabort --topic") == 3
    finally:
        spark.sql(f"DROP SCHEMA {root.text} CASCADE")


def test_a_schema_without_tables_is_said(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["find-hanging", "--tables", "spark_catalog.nothing"]) == 4
    wanted = "txnlog: spark_catalog.nothing: there is no table runs in it: run `txnlog detect` first\n"
    assert capsys.readouterr().err == wanted


def test_a_catalog_that_the_session_does_not_know_is_said(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["find-hanging", "--tables", "nowhere.txnlog"]) == 4
    said = capsys.readouterr().err
    assert said.startswith("txnlog: nowhere.txnlog cannot be read: ")
    assert said.count("\n") == 1


def test_without_a_spark_that_knows_the_catalog_one_line_says_what_to_do() -> None:
    asked = [[command, *more] for command, more in QUESTIONS.items()]
    asked += [["report", "--html", "report.html"], ["verify", "--bootstrap-server", "127.0.0.1:1"]]
    asks = f"from txnlog.cli import main; print([main([*each, '--tables', 'main.txnlog']) for each in {asked}])"
    done = subprocess.run(
        [sys.executable, "-c", asks],
        capture_output=True, text=True, check=True,
        env={name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))},
    )  # fmt: skip
    assert json.loads(done.stdout) == [4] * len(asked)
    line = "txnlog: main.txnlog names a catalog and schema, which only a Spark that knows the catalog can read: "
    assert [each.startswith(line) for each in done.stderr.splitlines()] == [True] * len(asked)
