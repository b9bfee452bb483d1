"""The command line as people meet it: examples that work, errors in one line, help and completion."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import txnlog
from tests import report_tables
from tests.small_dumps import small_dump
from tests.tables_by_hand import filled, put, written
from txnlog.cli import main
from txnlog.commands.command import Command
from txnlog.commands.detect import print_outcome
from txnlog.commands.parser import COMMANDS, SHELLS, parser
from txnlog.commands.terminal import numbered, steps_after
from txnlog.config import DetectOptions
from txnlog.job.main import Outcome
from txnlog.job.steps import steps_of
from txnlog.tables.layout import COORDINATOR_STATES, FINDINGS


def output(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "txnlog.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_example_in_the_help_can_be_typed(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = shlex.split(command.example.partition(" >")[0])
    assert parser().parse_args(arguments).command is command.run
    with pytest.raises(SystemExit):
        main([command.name, "--help"])
    assert f"example:\n  txnlog {command.example}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "txnlog: the following arguments are required: COMMAND: see txnlog --help"),
        (["list"], "txnlog: --tables is missing, and TXNLOG_TABLES is not set"),
        (["describe", "--tables", "t"], "txnlog: the following arguments are required: --transactional-id: see txnlog"),
        (["remedis"], "txnlog: argument COMMAND: invalid choice: 'remedis' (choose from"),
        (["list", "--tables", "t", "--stat", "Empty"],
         "txnlog: unrecognized arguments: --stat Empty; did you mean --state?: see txnlog list --help"),
        (["list", "--tables", "t", "--clutser=c"],
         "txnlog: unrecognized arguments: --clutser=c; did you mean --cluster?: see txnlog list --help"),
        (["explain", "--tables", "t", "--topic", "a"], "txnlog: explain takes either --topic and --partition or"),
        (["explain", "--tables", "t", "--topic", "a", "--partition", "0", "--transactional-id", "x"],
         "txnlog: explain takes either --topic and --partition or"),
        (["list", "--tables", "t", "--state", "x"], "txnlog: argument --state: invalid choice: 'x' (choose from"),
        (["list", "--tables", "t", "--duration-filter", "soon"], "txnlog: --duration-filter: 'soon' is not a duration"),
        (["describe-producers", "--tables", "t", "--topic", "a", "--partition", "0", "--producer-id-expiration", "x"],
         "txnlog: --producer-id-expiration: 'x' is not a duration"),
        (["explain", "--tables", "/no", "--topic", "a", "--partition", "0"], "txnlog: /no: there is no table"),
        (["list", "--tables", "a", "b\x1b[2J"], "txnlog: unrecognized arguments: b\\x1b[2J: see txnlog list --help"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_that_says_what_to_do(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(arguments)
    except SystemExit as ended:
        code = int(str(ended.code))
    printed = capsys.readouterr()
    assert code in (2, 4)
    assert printed.out == ""
    assert printed.err.startswith(line)
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["remedis"], "remedies"),
        (["find-hangin"], "find-hanging"),
        (["list", "--format", "jsno"], "json"),
        (["find-hanging", "--action", "X"], None),
        (["remedies", "--action", "UNDETERMIND"], "UNDETERMINED"),
    ],
)
def test_a_word_that_is_nearly_right_is_said(
    arguments: list[str], meant: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    said = capsys.readouterr().err
    assert f"; did you mean {meant}?: see txnlog" in said or (meant is None and "did you mean" not in said)


def test_the_environment_says_where_the_tables_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = written(tmp_path, {})
    monkeypatch.setenv("TXNLOG_TABLES", root.text)
    assert main(["list", "--format", "json"]) == 0
    assert capsys.readouterr().out == "[]\n"
    assert main(["list", "--tables", "/no"]) == 4
    assert "/no: there is no table" in capsys.readouterr().err
    assert main(["detect", "/no"]) == 2
    assert "tables is missing" not in capsys.readouterr().err


NEEDS = {
    "detect": ["."],
    "verify": ["--bootstrap-server", "127.0.0.1:1"],
    "describe": ["--transactional-id", "t"],
    "describe-producers": ["--topic", "t", "--partition", "0"],
    "explain": ["--transactional-id", "t"],
    "partition": [".", "--topic", "t", "--partition", "0"],
    "record": [".", "--topic", "t", "--partition", "0", "--offset", "0"],
    "report": ["--html", "report.html"],
    "timeline": ["--transactional-id", "t"],
    "prune": ["--keep", "90d"],
}


# These have no tables.
TABLELESS = ("copy-script", "check")


@pytest.mark.parametrize(
    "command", [each for each in COMMANDS if each.name not in TABLELESS], ids=lambda command: command.name
)
def test_a_file_in_the_place_of_the_tables_is_said_at_once(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tables"
    file.touch()
    assert main(["-v", command.name, *NEEDS.get(command.name, []), "--tables", str(file)]) == 4
    # Of each step that is begun there would be a line.
    said = f"txnlog: {file} is a file: --tables takes the folder of the tables\n"
    assert capsys.readouterr().err == said


def outcome(**values: object) -> Outcome:
    counts = {"open_transactions": 1, "late_transactions": 1, "abort_candidates": 1, "undetermined": 0}
    found = {"cluster": "payments", "partitions": 1, "as_of_from": None, "as_of_sources": ["manifest"], "bytes": 1}
    return Outcome([counts | found | {"coordinator_partitions_missing": 0, "bytes_damaged": 0} | values], [])


def ends(folder: Path, transactions: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> list[str]:
    nights = [report_tables.night(), report_tables.night(cluster="other")]
    root = report_tables.written(folder, transactions, nights)
    print_outcome(outcome(), DetectOptions(dump="d", tables=root.text))
    return capsys.readouterr().out.splitlines()


def test_detect_ends_with_the_count_of_each_action_and_what_to_type_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    actions = ("WAIT", "KEEP", "ABORT", "ABORT", "UNDETERMINED")
    found = [report_tables.transaction(start=start, action=action) for start, action in enumerate(actions)]
    elsewhere = [report_tables.transaction(action="FENCE", cluster="other")]
    first, _, history, hint, last = ends(tmp_path / "some tables", [*found, *elsewhere], capsys)
    assert first.startswith("payments: 1 open transaction, 1 late, 1 to abort, 0 undetermined (1 partition, as of")
    assert history == "payments: history of coordinators: no record of __transaction_state-0"
    assert hint.startswith("  copy __transaction_state again before compaction ")
    tables = f"'{tmp_path / 'some tables'}'"
    assert (
        last
        == f"Open transactions: 1 KEEP, 2 ABORT, 1 UNDETERMINED, 1 WAIT. Next: txnlog find-hanging --tables {tables}"
    )
    assert ends(tmp_path / "young", found[:1], capsys)[-1] == "Open transactions: 1 WAIT. Nothing hangs."
    assert ends(tmp_path / "none", [], capsys)[-1] == "Open transactions: none. Nothing hangs."


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ([], "none."),
        (["TORN_OUTCOME", "LATE_WRITE", "TORN_OUTCOME"], "1 LATE_WRITE, 2 TORN_OUTCOME: table findings."),
    ],
)
def test_detect_in_full_counts_what_is_odd_in_the_logs(
    kinds: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = report_tables.written(tmp_path, [], [report_tables.night()])
    found = [("payments", each) for each in kinds] + [("other", "MARKER_LOST")]
    put(root, FINDINGS, [filled(FINDINGS, {"cluster": cluster, "finding": each}) for cluster, each in found])
    for full in (False, True):
        print_outcome(outcome(), DetectOptions(dump="d", tables=root.text, full=full))
        lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Findings")]
        assert lines == ([f"Findings in the logs: {said}"] if full else [])


def test_tables_within_the_dump_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump, link = small_dump(tmp_path / "dump"), tmp_path / "link"
    link.symlink_to(dump)
    for tables in (dump, dump / "tables", link / "broker-1/tables"):
        assert main(["detect", str(dump), "--tables", str(tables)]) == 4
        assert f"{tables} lies in the dump {dump}" in capsys.readouterr().err
    assert not (dump / "tables").exists()


def test_debug_adds_the_traceback_for_those_who_ask(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--debug", "list", "--tables", "/no"], ["list", "--tables", "/no", "--debug"]):
        assert main(arguments) == 4
        error = capsys.readouterr().err
        assert "Traceback" in error
        assert error.splitlines()[-1].startswith("txnlog: /no: there is no table")


def test_verbose_says_what_is_read_on_stderr_only(tmp_path: Path) -> None:
    root = written(tmp_path, {})
    quiet, loud = (output("list", "--tables", root.text, *more) for more in ([], ["-v"]))
    assert quiet.stderr == ""
    assert "txnlog: read coordinator_states of " in loud.stderr
    assert loud.stdout == quiet.stdout


def test_a_table_in_a_pipe_is_not_fitted(tmp_path: Path) -> None:
    state = {"cluster": "c", "transactional_id": "x" * 500, "state": "Empty"}
    root = written(tmp_path, {COORDINATOR_STATES.name: [state]})
    printed = output("list", "--tables", root.text, COLUMNS="80").stdout
    assert "x" * 500 in printed
    assert "\x1b" not in printed


def test_a_command_answers_within_seconds_and_without_spark(tmp_path: Path) -> None:
    root = written(tmp_path, {})
    begun = time.monotonic()
    done = output("list", "--tables", root.text, PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0
    assert "pyspark" not in done.stderr
    assert time.monotonic() - begun < 20


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"txnlog {txnlog.__version__}\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_completion_is_code_of_the_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--print-completion", shell])
    assert not ended.value.code
    assert "txnlog" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "completions"),
    [
        ("txnlog desc", {"describe", "describe-producers"}),
        ("txnlog list --st", {"--state"}),
        ("txnlog find-hanging --format ", {"table", "json", "csv"}),
    ],
)
def test_bash_completes_commands_flags_and_values(line: str, completions: set[str], tmp_path: Path) -> None:
    command = tmp_path / "txnlog"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m txnlog.cli "$@"\n')
    command.chmod(0o755)
    script = f"""eval "$(txnlog --print-completion bash)"
COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)} COMP_TYPE=9 COMP_WORDS=({line} '') COMP_CWORD={line.count(" ")}
_python_argcomplete txnlog
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert {each.strip() for each in done.stdout.split()} == completions


def test_a_step_says_its_number_and_what_is_left() -> None:
    steps = steps_of(DetectOptions(dump="d", tables="t"))
    assert numbered("replay and judge", steps) == "step 5 of 8: replay and judge"
    assert steps_after("write the verdicts", steps) == "then write states and inventory, write the run"
    assert steps_after("write the run", steps) == ""


def test_a_step_counts_only_where_somebody_asked_for_it() -> None:
    steps = steps_of(DetectOptions(dump="d", tables="t", bootstrap_server="b:9092", metrics="m.prom"))
    assert (steps.index("ask the cluster"), steps[-1], len(steps)) == (1, "write the metrics", 10)
