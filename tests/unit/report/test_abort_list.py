"""The abort list is fed to a shell by people in a hurry: nothing that a producer named may run."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.abort_scripts import MS as AT
from tests.abort_scripts import Stage, aborts, candidate, coordinator_state, producer_answer, transaction_answer
from tests.report_tables import HOUR, NIGHT, Row, night, transaction, written
from tests.tables_by_hand import put
from txnlog.cli import main
from txnlog.report.abort_candidates import rendered
from txnlog.tables.layout import ABORT_CANDIDATES, PRODUCER_STATES, RULES_GENERATION, VERIFICATIONS, Root, columns_of

HOSTILE = (
    "$(touch owned)",
    "`touch owned`",
    "a'; touch owned; '",
    'a"b',
    "a\ntouch owned",
    "a\tb\t",
    "-rf",
    "\u202eevil",
    "\x1b[2J\r\x07'; touch owned #\\",
    "*",
    "x" * 249,
)


def test_a_line_is_what_the_tool_of_brokers_from_3_0_takes(tmp_path: Path) -> None:
    ran = Stage(tmp_path).run(aborts(candidate()))
    assert ran.calls[-1] == ["kafka-transactions.sh", "--bootstrap-server", "broker:9092", "abort",
                             "--topic", "orders", "--partition", "3", "--start-offset", "42"]  # fmt: skip


def test_older_brokers_get_the_three_ids_and_an_unknown_coordinator_epoch_becomes_zero(tmp_path: Path) -> None:
    ran = Stage(tmp_path).run(aborts(candidate(), older_brokers=True), {"I_STOPPED_THESE_PRODUCERS": "yes"})
    assert ran.aborted == [["--topic", "orders", "--partition", "3", "--producer-id", "7", "--producer-epoch", "2",
                            "--coordinator-epoch", "0"]]  # fmt: skip


@pytest.mark.parametrize("older", [False, True])
def test_a_known_coordinator_epoch_is_never_made_larger(older: bool) -> None:
    script = aborts(candidate(coordinator_epoch=5), older_brokers=older)
    assert ("--coordinator-epoch 5" in script) is older


@pytest.mark.parametrize("name", HOSTILE, ids=repr)
@pytest.mark.parametrize("column", ["topic", "transactional_id", "reason", "cluster", "opened_file"])
def test_no_name_runs_as_shell(tmp_path: Path, name: str, column: str) -> None:
    row = candidate(transactional_id="id") | {column: name}
    owner = row["transactional_id"]
    described = transaction_answer((1, owner, 7, 2, "CompleteCommit", 60_000, AT, 9, ""))
    ran = Stage(tmp_path).run(aborts(row, coordinators=[coordinator_state(row)]), describe=described)
    assert not (tmp_path / "owned").exists()
    assert (ran.code, ran.error) == (0, "")
    topic = row["topic"]
    options = [f"--topic={topic}"] if topic.startswith("-") else ["--topic", topic]
    assert ran.aborted == [[*options, "--partition", "3", "--start-offset", "42"]]
    assert f"--transactional-id={owner}" in ran.calls[2]


@pytest.mark.parametrize("name", HOSTILE, ids=repr)
def test_comments_hold_no_control_or_direction_characters(name: str) -> None:
    script = aborts(candidate(transactional_id=name, reason=name))
    comments = [line for line in script.splitlines() if line.startswith("#")]
    assert "\u202e" not in "".join(comments)
    assert len([line for line in script.splitlines() if line.startswith("touch owned")]) == 0


@pytest.mark.parametrize("name", HOSTILE, ids=repr)
def test_the_list_can_be_looked_at_on_a_terminal(tmp_path: Path, name: str) -> None:
    script = aborts(candidate(topic=name, transactional_id=name, reason=name))
    assert all(line.isprintable() for line in script.split("\n"))
    assert sum(line.startswith("abort --") for line in script.split("\n")) == 1
    # Kafka's tool repeats names as they are.
    ran = Stage(tmp_path).run(script, describe_producers=producer_answer((7, 3, -1, 4, AT, 42)) + name)
    assert all(line.isprintable() for line in ran.out.split("\n"))


def test_each_line_stands_under_its_cause_and_evidence() -> None:
    script = aborts(candidate(transactional_id="payments-1"))
    comment = script.split("\n\n")[-2]
    assert "NEVER_ADDED (HIGH): why" in comment
    assert "payments-1" in comment
    assert "broker-1/orders-3/00000000000000000000.log at byte 9" in comment


def test_nothing_to_abort_is_an_empty_script() -> None:
    assert aborts() == ""
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


COMPACTED: Row = {"cause": "HISTORY_COMPACTED", "action": "UNDETERMINED", "wanted_cause": "COORDINATOR_UNKNOWN"}


def tables(folder: Path, *clusters: str, judged_by: int | None = RULES_GENERATION) -> str:
    """In each cluster a candidate, two transactions that lack nothing but history, and one that lacks more."""
    found, candidates, producers = [], [], []
    for cluster in clusters or ("payments",):
        rows = [
            transaction("proved"),
            transaction("without-history", **COMPACTED, accepted=True),
            transaction("of-another-cause", **(COMPACTED | {"wanted_cause": "SUPERSEDED"}), accepted=True),
            transaction("lacks-more", **COMPACTED, accepted=False),
        ]
        found += [row | {"cluster": cluster} for row in rows]
        values = {name: value for name, value in found[-4].items() if name in candidate()}
        candidates.append(candidate(**values, run_id="r", judged_by=judged_by))
        producers += [of_producer(row) for row in found[-4:]]
    root = written(folder, found, [night(cluster=each) for each in clusters or ("payments",)], candidates=candidates)
    put(root, PRODUCER_STATES, producers)
    return root.text


def of_producer(row: dict[str, Any]) -> dict[str, Any]:
    same = ("cluster", "topic", "partition", "producer_id", "producer_epoch", "coordinator_epoch", "last_timestamp")
    state = {name: row[name] for name in (*same, "broker", "as_of")}
    return state | {"last_sequence": 2, "current_txn_start_offset": row["start_offset"]}


def listed(script: str) -> list[str]:
    """The topics of the aborts of a script."""
    return [line.split()[2] for line in script.splitlines() if line.startswith("abort --")]


def test_what_is_accepted_without_its_history_stands_apart_under_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tables(tmp_path)
    assert main(["abort-list", "--tables", root, "--unverified", "--include-accepted", "COORDINATOR_UNKNOWN"]) == 0
    proved, warning, rest = capsys.readouterr().out.partition("# ATTENTION: the evidence")
    assert warning
    assert (listed(proved), listed(rest)) == (["proved"], ["without-history"])
    assert main(["abort-list", "--tables", root, "--unverified"]) == 0
    assert listed(capsys.readouterr().out) == ["proved"]


def test_what_is_accepted_is_of_the_latest_dump_not_of_the_dump_that_was_judged_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [
        transaction("latest", **COMPACTED, accepted=True),
        transaction("a-day-before", **COMPACTED, accepted=True, as_of=NIGHT - 24 * HOUR),
    ]
    runs = [night(), night(NIGHT - 24 * HOUR, finished_at=NIGHT + 5 * HOUR)]
    root = written(tmp_path, found, runs, candidates=[])
    put(root, PRODUCER_STATES, [of_producer(row) for row in found])
    asked = ["abort-list", "--tables", root.text, "--unverified", "--include-accepted", "COORDINATOR_UNKNOWN"]
    assert main(asked) == 0
    assert listed(capsys.readouterr().out) == ["latest"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "json"], "--include-accepted: only the script prints them separately, not --format json"),
        (["--format", "csv"], "--include-accepted: only the script prints them separately, not --format csv"),
        ([], "--include-accepted needs --unverified"),
        (
            ["--unverified", "--include-accepted", "STUCK_PREPARE"],
            "--include-accepted: STUCK_PREPARE: no cause of an abort",
        ),
    ],
)
def test_only_a_script_of_what_is_not_verified_has_what_is_accepted(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    accepting = ["abort-list", "--tables", tables(tmp_path), "--include-accepted", "COORDINATOR_UNKNOWN"]
    assert main([*accepting, *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err


def test_a_script_is_of_one_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["abort-list", "--tables", tables(tmp_path, "blue", "gr\x1been"), "--unverified"]
    assert main(command) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "add --cluster, one of blue, gr\\x1been" in printed.err
    assert main([*command, "--cluster", "blue"]) == 0
    script = capsys.readouterr().out
    assert listed(script) == ["proved"]
    assert "# cluster blue, cluster id not in the dump" in script
    assert "CLUSTER_ID=${CLUSTER_ID:-} " in script
    assert main([*command, "--cluster", "red"]) == 2
    assert "--cluster: red is not in the tables; they have blue, gr\\x1been" in capsys.readouterr().err
    assert main([*command, "--format", "json"]) == 0
    assert [row["cluster"] for row in json.loads(capsys.readouterr().out)] == ["blue", "gr\x1been"]


@pytest.mark.parametrize("judged_by", [None, RULES_GENERATION - 1])
def test_what_weaker_rules_judged_is_not_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], judged_by: int | None
) -> None:
    root = tables(tmp_path, judged_by=judged_by)
    for command in (["abort-list", "--unverified"], ["abort-list", "--unverified", "--format", "csv"]):
        assert main([*command, "--tables", root]) == 0
        printed = capsys.readouterr()
        assert "1 open candidate" in printed.err
        assert "NEVER_ADDED" not in printed.out


def test_what_nobody_verified_lately_is_not_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tables(tmp_path)
    assert main(["abort-list", "--tables", root]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "1 of 1 open candidate left out: 1 not verified lately" in printed.err
    assert main(["abort-list", "--tables", root, "--unverified", "--verified-within", "1h"]) == 2
    assert "--verified-within, --unverified: only one of the two" in capsys.readouterr().err


@pytest.mark.parametrize("status", ["RESOLVED", "GONE"])
def test_what_is_over_is_never_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], status: str) -> None:
    root = tables(tmp_path)
    key = {name: transaction("proved")[name] for name in ABORT_CANDIDATES.key}
    seen = {"verified_at": night()["as_of_to"], "as_of": night()["as_of_to"], "reason": "moved on", "cluster_id": "i"}
    put(Root(root), VERIFICATIONS, [key | seen | {"status": status}])
    assert main(["abort-list", "--tables", root, "--unverified"]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"1 of 1 open candidate left out: 1 {status}" in printed.err


def test_the_cluster_of_a_dump_without_an_id_is_the_one_that_was_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tables(tmp_path)
    key = {name: transaction("proved")[name] for name in ABORT_CANDIDATES.key}
    seen = {"verified_at": datetime.now(UTC), "as_of": night()["as_of_to"], "reason": "at 42", "cluster_id": "asked"}
    put(Root(root), VERIFICATIONS, [key | seen | {"status": "STILL_STUCK"}])
    assert main(["abort-list", "--tables", root]) == 0
    script = capsys.readouterr().out
    assert listed(script) == ["proved"]
    assert "\nCLUSTER_ID=asked " in script
