"""The abort list is fed to a shell by people in a hurry: nothing that a producer named may run."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.report_tables import night, transaction, written
from txnlog.cli import main
from txnlog.report.abort_list import rendered
from txnlog.tables.layout import ABORT_CANDIDATES, RULES_GENERATION, columns_of

HOSTILE = (
    "$(touch owned)",
    "`touch owned`",
    "a'; touch owned; '",
    'a"b',
    "a\ntouch owned",
    "-rf",
    "\u202eevil",
    "\x1b[2J\r\x07'; touch owned #\\",
    "x" * 249,
)


def candidate(**values: Any) -> dict[str, Any]:
    row: dict[str, Any] = {field.name: None for field in columns_of(ABORT_CANDIDATES)}
    return row | {
        "cluster": "c", "topic": "orders", "partition": 3, "producer_id": 7, "producer_epoch": 2,
        "coordinator_epoch": -1, "start_offset": 42, "cause": "NEVER_ADDED", "confidence": "HIGH", "reason": "why",
        "as_of": datetime(2026, 11, 21, tzinfo=UTC), "records": 1, "bytes": 70, "held_back_offsets": 5,
        "opened_file": "broker-1/orders-3/00000000000000000000.log", "opened_position": 9,
        "detected_at": datetime(2026, 11, 21, tzinfo=UTC), "status": "OPEN", "action": "ABORT",
    } | values  # fmt: skip


def run(script: str, folder: Path) -> list[list[str]]:
    """Run a script with a `kafka-transactions.sh` that writes down its arguments; those of each call."""
    tool = folder / "bin" / "kafka-transactions.sh"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\nprintf "%s\\0" "$@" >> "$CALLS"; printf "\\0" >> "$CALLS"\n')
    tool.chmod(0o755)
    calls = folder / "calls"
    subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={"PATH": f"{tool.parent}:/usr/bin:/bin", "BOOTSTRAP_SERVER": "broker:9092", "CALLS": str(calls)},
        check=True,
    )
    return [call.split("\0") for call in calls.read_bytes().decode().removesuffix("\0\0").split("\0\0")]


def test_a_line_is_what_the_tool_of_brokers_from_3_0_takes(tmp_path: Path) -> None:
    (call,) = run(rendered([candidate()], "sh"), tmp_path)
    assert call == ["--bootstrap-server", "broker:9092", "abort",
                    "--topic", "orders", "--partition", "3", "--start-offset", "42"]  # fmt: skip


def test_older_brokers_get_the_three_ids_and_an_unknown_coordinator_epoch_becomes_zero(tmp_path: Path) -> None:
    (call,) = run(rendered([candidate()], "sh", older_brokers=True), tmp_path)
    assert call[3:] == ["--topic", "orders", "--partition", "3", "--producer-id", "7", "--producer-epoch", "2",
                        "--coordinator-epoch", "0"]  # fmt: skip


@pytest.mark.parametrize("older", [False, True])
def test_a_known_coordinator_epoch_is_never_made_larger(older: bool) -> None:
    script = rendered([candidate(coordinator_epoch=5)], "sh", older_brokers=older)
    assert ("--coordinator-epoch 5" in script) is older


@pytest.mark.parametrize("name", HOSTILE, ids=repr)
@pytest.mark.parametrize("column", ["topic", "transactional_id", "reason", "cluster", "opened_file"])
def test_no_name_runs_as_shell(tmp_path: Path, name: str, column: str) -> None:
    (call,) = run(rendered([candidate(**{column: name})], "sh"), tmp_path)
    assert not (tmp_path / "owned").exists()
    assert call[4] == (name if column == "topic" else "orders")


@pytest.mark.parametrize("name", HOSTILE, ids=repr)
def test_comments_hold_no_control_or_direction_characters(name: str) -> None:
    script = rendered([candidate(transactional_id=name, reason=name)], "sh")
    comments = [line for line in script.splitlines() if line.startswith("#")]
    assert "\u202e" not in "".join(comments)
    assert len([line for line in script.splitlines() if "touch owned" in line and not line.startswith("#")]) == 0


@pytest.mark.parametrize("name", HOSTILE, ids=repr)
def test_the_list_can_be_looked_at_on_a_terminal(name: str) -> None:
    script = rendered([candidate(topic=name, transactional_id=name, reason=name)], "sh")
    assert all(line.isprintable() for line in script.split("\n"))
    assert sum(line.startswith("kafka-transactions.sh ") for line in script.split("\n")) == 1


def test_each_line_stands_under_its_cause_and_evidence() -> None:
    script = rendered([candidate(transactional_id="payments-1")], "sh")
    comment = script.split("\n\n")[1]
    assert "NEVER_ADDED (HIGH): why" in comment
    assert "payments-1" in comment
    assert "broker-1/orders-3/00000000000000000000.log at byte 9" in comment


def test_nothing_to_abort_is_an_empty_script() -> None:
    assert rendered([], "sh") == ""
    assert json.loads(rendered([], "json")) == []


def test_json_and_csv_hold_every_column() -> None:
    names = [field.name for field in columns_of(ABORT_CANDIDATES)]
    (row,) = json.loads(rendered([candidate(topic='a,"b"\nc')], "json"))
    assert list(row) == names
    assert row["as_of"] == "2026-11-21T00:00:00.000Z"
    text = rendered([candidate(topic='a,"b"\n\r\nc\rd', transactional_ids=["e f", 'g"h'])], "csv")
    header, line = csv.reader(io.StringIO(text, newline=""))
    assert header == names
    assert line[names.index("topic")] == 'a,"b"\n\r\nc\rd'
    assert json.loads(line[names.index("transactional_ids")]) == ["e f", 'g"h']


def accepted_tables(folder: Path) -> str:
    """A candidate, two transactions that lack nothing but history, and one that lacks more."""
    compacted = {"cause": "HISTORY_COMPACTED", "action": "UNDETERMINED", "wanted_cause": "COORDINATOR_UNKNOWN"}
    found = [
        transaction("proved"),
        transaction("without-history", **compacted, accepted=True),
        transaction("of-another-cause", **(compacted | {"wanted_cause": "SUPERSEDED"}), accepted=True),
        transaction("lacks-more", **compacted, accepted=False),
    ]
    values = {name: value for name, value in transaction("proved").items() if name in candidate()}
    offered = candidate(**values, run_id="r", judged_by=RULES_GENERATION)
    return written(folder, found, [night()], candidates=[offered]).text


def test_what_is_accepted_without_its_history_stands_apart_under_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = accepted_tables(tmp_path)
    assert main(["abort-list", "--tables", tables, "--include-accepted", "COORDINATOR_UNKNOWN"]) == 0
    proved, warning, rest = capsys.readouterr().out.partition("# ATTENTION: the evidence")
    assert warning
    lines = [[line for line in part.splitlines() if line.startswith("kafka-")] for part in (proved, rest)]
    assert [[line.split("--topic ")[1].split()[0] for line in part] for part in lines] == [
        ["proved"],
        ["without-history"],
    ]
    assert main(["abort-list", "--tables", tables]) == 0
    assert "without-history" not in capsys.readouterr().out


@pytest.mark.parametrize("form", ["json", "csv"])
def test_only_a_script_sets_apart_what_is_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    arguments = ["--include-accepted", "COORDINATOR_UNKNOWN", "--format", form]
    assert main(["abort-list", "--tables", accepted_tables(tmp_path), *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"--include-accepted: only the script prints them separately, not --format {form}" in printed.err
