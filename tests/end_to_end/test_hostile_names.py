"""Names that producers, users and file systems can give: nothing runs, nothing leaves its place, all stay exact."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from tests.abort_scripts import Stage, producer_answer
from tests.small_dumps import ORDERS, Hanging, small_dump
from tests.writer import put
from txnlog import cli
from txnlog.commands.detect import print_outcome
from txnlog.config import DetectOptions, detect_options
from txnlog.job.main import Outcome, run
from txnlog.report import late_transactions
from txnlog.report.kafka_listing import epoch_ms
from txnlog.report.table_rows import rows
from txnlog.tables.layout import (
    ABORT_CANDIDATES,
    DUMP_FILES,
    OPEN_TRANSACTIONS,
    PRODUCER_STATES,
    RUNS,
    TABLES,
    TRANSACTIONAL_IDS,
    Root,
)

CANARY = "canary"
TEXTS = (
    "$(touch canary)",
    "`touch canary`",
    "'; touch canary; '",
    '"; touch canary; "',
    "a\ntouch canary",
    "a\r\ntouch canary",
    "\x1b[2J\x1b]0;title\x07",
    "\u202eevil\u2066\u200f",
    "..",
    "100%25 %2e%2e%2f",
    "{rows} {changes} {",
    "${user.home}",
    "a,b;c\td e",
    "\\x41\\",
    "-rf --help",
    "é😀",
    "' OR true --",
)
PATHS = ("../../outside", "/etc/passwd", "a/../b")
LONGEST_TOPIC = "t" * 249
LONGEST_ID = "i" * 10_000
HANGING = tuple(
    sorted(
        [
            *(Hanging(text, text) for text in TEXTS),
            *(Hanging("paths", path) for path in PATHS),
            Hanging(LONGEST_TOPIC, LONGEST_ID),
        ]
    )
)
# Fewer, as each makes the job longer; all the same texts are in them.
CLUSTERS = ("..", "../../outside", "".join(TEXTS[:4]), "".join(TEXTS[4:8]), "".join(TEXTS[9:13]), "".join(TEXTS[13:]))
LINKED = ("plain", "partition", "coordinator", "only coordinator")
# In one name all that a path may have.
TABLES_FOLDER = "p'a\"t`h$(touch canary); \u202e{x}[y]*?#&% é"
FOLDER = TABLES_FOLDER + "\n\r\x1b[31m%20%2e\\"


class Written(NamedTuple):
    """What a job found in dumps with hostile names, its tables, and the folder in which all of it happened."""

    folder: Path
    tables: Path
    options: DetectOptions
    outcome: Outcome

    @property
    def root(self) -> Root:
        return Root(str(self.tables))


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("hostile")
    dump, tables = folder / FOLDER / "dump", folder / TABLES_FOLDER / "tables"
    small_dump(dump / "names", HANGING, cluster="names")
    for number, cluster in enumerate(CLUSTERS):
        small_dump(dump / f"cluster-{number}", ORDERS[:1], cluster=cluster)
    put(dump / os.fsdecode(b"names/broker-1/caf\xe9"), b"x")
    _add_links(dump, tmp_path_factory.mktemp("outside"))
    # The dump itself may be a link.
    link = tmp_path_factory.mktemp("link") / "dump"
    link.symlink_to(dump)
    options = detect_options({"dump": str(link), "tables": str(tables)})
    return Written(folder, tables, options, run(spark, options))


def _add_links(dump: Path, outside: Path) -> None:
    """Dumps in which links stand for files and folders."""
    for cluster in LINKED:
        small_dump(dump / cluster, ORDERS[:1], cluster=cluster)
    elsewhere = small_dump(outside / "dump", cluster="outside") / "broker-1"
    _second_broker(dump / "partition", elsewhere, "orders-0")
    _second_broker(dump / "coordinator", elsewhere, "__transaction_state-0")
    only = dump / "only coordinator" / "broker-1" / "__transaction_state-0"
    only.rename(outside / "moved")
    only.symlink_to(outside / "moved")
    (dump / "plain" / "loop").symlink_to(dump)
    (dump / "plain" / "broker-1" / "orders-0" / "notes").symlink_to("/etc/passwd")
    os.mkfifo(dump / "plain" / "pipe")
    (dump / "plain" / "broker-1" / "to a pipe").symlink_to(dump / "plain" / "pipe")


def _second_broker(dump: Path, outside: Path, partition: str) -> None:
    """A broker of which this partition is a link; what it leads to may be the longer copy."""
    put(dump / "broker-2" / "meta.properties", "cluster.id=small\nbroker.id=2\n")
    (dump / "broker-2" / partition).symlink_to(outside / partition)


def command(*arguments: str) -> str:
    """What `txnlog` prints."""
    done = subprocess.run(
        [sys.executable, "-m", "txnlog.cli", *arguments], capture_output=True, check=True, env={**os.environ}
    )
    return done.stdout.decode()


def of_names(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return sorted((row["topic"], row["transactional_id"]) for row in found if row["cluster"] == "names")


def test_tables_hold_the_exact_names(written: Written) -> None:
    for table in (OPEN_TRANSACTIONS, ABORT_CANDIDATES):
        assert of_names(rows(written.root, table)) == sorted(HANGING)
    owners = {row["transactional_id"] for row in rows(written.root, TRANSACTIONAL_IDS)}
    assert owners == {each.transactional_id for each in (*HANGING, *ORDERS[:1])}
    assert {row["cluster"] for row in rows(written.root, RUNS)} == {"names", *CLUSTERS, *LINKED}


def test_spark_reads_the_same_names_as_the_reports(spark: SparkSession, written: Written) -> None:
    found = spark.sql(f"SELECT * FROM {written.root.sql_name(ABORT_CANDIDATES)}").collect()
    assert of_names([row.asDict() for row in found]) == sorted(HANGING)


@pytest.mark.processes
def test_a_rerun_finds_each_row_again(spark: SparkSession, written: Written) -> None:
    before = {table.name: len(rows(written.root, table)) for table in TABLES if table is not RUNS}
    run(spark, written.options)
    assert before == {table.name: len(rows(written.root, table)) for table in TABLES if table is not RUNS}


def test_a_file_name_that_is_no_text_is_in_the_inventory(written: Written) -> None:
    found = [row["file"] for row in rows(written.root, DUMP_FILES) if "caf" in row["file"]]
    assert found == ["names/broker-1/caf\\xe9"]


def test_nothing_ran_and_nothing_is_outside_of_its_place(written: Written) -> None:
    assert sorted(each.name for each in written.folder.iterdir()) == [TABLES_FOLDER, FOLDER]
    assert [each.name for each in (written.folder / TABLES_FOLDER).iterdir()] == ["tables"]
    assert {each.name for each in written.tables.iterdir()} == {table.name for table in TABLES}
    for table in TABLES:
        assert all(each.name.startswith(("_delta_log", "cluster=")) for each in (written.tables / table.name).iterdir())
    assert not list(written.folder.rglob(CANARY))
    assert not Path(CANARY).exists()


def aborts_of(written: Written, cluster: str, *arguments: str) -> str:
    """The abort script of a cluster."""
    found = command("abort-list", "--tables", str(written.tables), "--cluster", cluster, "--unverified", *arguments)
    assert all(line.isprintable() for line in found.split("\n"))
    return found


def test_each_command_of_the_abort_list_gets_the_true_names(written: Written, tmp_path: Path) -> None:
    clusters = ("names", *CLUSTERS, "plain")
    stopped = {"I_STOPPED_THESE_PRODUCERS": "yes", "CLUSTER_ID": "small"}
    topics = []
    for number, cluster in enumerate(clusters):
        stage = Stage(tmp_path / str(number), {"cluster-id": "Cluster ID: small\n"})
        ran = stage.run(aborts_of(written, cluster, "--broker-version", "older"), stopped)
        assert ran.code == 0, ran.out + ran.error
        topics += [topic_of(call) for call in ran.aborted]
    assert sorted(topics) == sorted([each.topic for each in HANGING] + ["orders"] * len(clusters[1:]))
    assert not list(tmp_path.rglob(CANARY))


def test_each_question_of_the_abort_list_gets_the_true_names(written: Written, tmp_path: Path) -> None:
    found = rows(written.root, PRODUCER_STATES, "cluster = 'names' AND current_txn_start_offset IS NOT NULL")
    names = ("producer_id", "producer_epoch", "coordinator_epoch", "last_sequence", "current_txn_start_offset")
    shown = [[row[name] for name in names] for row in found]
    answer = producer_answer(
        *([*row[:4], epoch_ms(each["last_timestamp"]), row[4]] for row, each in zip(shown, found, strict=True))
    )
    stage = Stage(tmp_path, {"cluster-id": "Cluster ID: small\n", "describe-producers": answer})
    ran = stage.run(aborts_of(written, "names"), {"CLUSTER_ID": "small"}, **{"describe.fails": "no\n"})
    assert ran.summary == f"{len(HANGING)} tried: 0 aborted, 0 had ended, 0 not as in the dump, {len(HANGING)} failed"
    told = [
        (topic_of(producers), described[-1].removeprefix("--transactional-id="))
        for producers, described in zip(ran.calls[1::2], ran.calls[2::2], strict=True)
    ]
    assert sorted(told) == sorted(HANGING)
    assert all(line.isprintable() for line in ran.out.split("\n"))
    assert not list(tmp_path.rglob(CANARY))


def topic_of(call: list[str]) -> str:
    """The topic that a call of Kafka's tool names."""
    (topic,) = [word.removeprefix("--topic=") for word in call if word.startswith("--topic=")] or [
        call[call.index("--topic") + 1]
    ]
    return topic


def test_the_table_in_a_pipe_is_one_plain_line_a_row(written: Written) -> None:
    lines = command("find-hanging", "--tables", str(written.tables)).removesuffix("\n").split("\n")
    clusters = {row["cluster"] for row in late_transactions.late_transactions(Root(str(written.tables)))}
    # Of each cluster a line with its name, the headings and a blank line, and last what to type next.
    assert len(lines) == 3 * len(clusters) + len(HANGING) + len(CLUSTERS) + len(LINKED) + 1
    assert all(line.isprintable() for line in lines)


def test_the_table_fits_a_terminal(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    table = late_transactions.rendered(late_transactions.late_transactions(Root(str(written.tables))), "table", 120)
    # Headings are bold.
    lines = re.sub(r"\x1b\[[01]m", "", table).split("\n")
    assert all(line.isprintable() for line in lines)
    # The last line is a command, to be copied.
    assert max(map(len, lines[:-2])) <= 120


def test_json_and_csv_hold_the_exact_names(written: Written) -> None:
    for name in ("find-hanging", "abort-list"):
        only = ["--unverified"] if name == "abort-list" else []
        printed = command(name, "--tables", str(written.tables), *only, "--format", "json")
        assert of_names(json.loads(printed)) == sorted(HANGING)
        assert all(line.isprintable() for line in printed.split("\n"))
        text = command(name, "--tables", str(written.tables), *only, "--format", "csv")
        header, *lines = csv.reader(io.StringIO(text, newline=""))
        assert of_names([dict(zip(header, line, strict=True)) for line in lines]) == sorted(HANGING)


@pytest.mark.parametrize(
    "arguments",
    [
        ["find-hanging", "--tables", f"/no/{TABLES_FOLDER}"],
        ["find-hanging", "--tables", f"/no/{FOLDER}"],
        ["detect", f"/no/{FOLDER}", "--tables", "t"],
        ["detect", "/", "--tables", "t", "--as-of", FOLDER],
        ["detect", "/", "--tables", "t", "--config", f"/no/{FOLDER}"],
        ["detect", os.fsdecode(b"/no/caf\xe9"), "--tables", "t"],
    ],
)
def test_an_error_is_one_plain_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(arguments) in (2, 4)
    error = capsys.readouterr().err
    assert error.endswith("\n")
    assert error[:-1].isprintable()


def test_links_and_pipes_are_reported_and_not_followed(written: Written) -> None:
    problems = {row["file"]: row["problem"] for row in rows(written.root, DUMP_FILES)}
    links = [name for name, problem in problems.items() if problem == "a symbolic link is not followed"]
    assert sorted(links) == [
        "coordinator/broker-2/__transaction_state-0",
        "only coordinator/broker-1/__transaction_state-0",
        "partition/broker-2/orders-0",
        "plain/broker-1/orders-0/notes",
        "plain/broker-1/to a pipe",
    ]
    assert {row["cluster"] for row in rows(written.root, OPEN_TRANSACTIONS)} == {"names", *CLUSTERS, *LINKED}
    assert written.outcome.not_followed == sorted([*links, "plain/loop", "plain/pipe"])


def test_what_a_job_prints_is_plain_and_names_what_it_did_not_follow(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    print_outcome(written.outcome, written.options)
    printed = capsys.readouterr().out.removesuffix("\n").split("\n")
    assert all(line.isprintable() for line in printed)
    said = "symbolic links or special files, not followed and not read: 7: coordinator/broker-2/__transaction_state-0, "
    assert [line for line in printed if line.startswith(said)]


def test_a_link_in_the_place_of_a_partition_leaves_no_abort(written: Written) -> None:
    found = rows(written.root, OPEN_TRANSACTIONS)
    assert {row["cluster"]: (row["cause"], row["action"]) for row in found if row["cluster"] in LINKED} == {
        "plain": ("NEVER_ADDED", "ABORT"),
        "partition": ("COVERAGE_GAP", "UNDETERMINED"),
        "coordinator": ("COVERAGE_GAP", "UNDETERMINED"),
        "only coordinator": ("COVERAGE_GAP", "UNDETERMINED"),
    }
    candidates = {row["cluster"] for row in rows(written.root, ABORT_CANDIDATES)}
    assert candidates == {"names", *CLUSTERS, "plain"}
