"""`txnlog groups` prints what Kafka's own tool has, and who is blocked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tables_by_hand import put, written
from txnlog.cli import main
from txnlog.tables.layout import BLOCKED_GROUPS, GROUP_POSITIONS, RUNS, Root

# `ConsumerGroupCommand`.
KAFKAS = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"]


def position(group: str, **values: Any) -> dict[str, Any]:
    return {
        "cluster": "c", "group_id": group, "topic": "orders", "partition": 0, "committed_offset": 4,
        "log_end_offset": 9, "last_stable_offset": 6, "lag": 5, "broker": "1",
    } | values  # fmt: skip


BLOCKED = {
    "cluster": "c", "group_id": "it's", "topic": "orders", "partition": 0, "blocked_by": "LAST_STABLE_OFFSET",
    "client_sees": "no records", "committed_offset": 6, "last_stable_offset": 6, "log_end_offset": 9,
    "waiting_offsets": 3, "blocking_topic": "orders", "blocking_partition": 0, "start_offset": 6,
    "transactional_id": "id", "cause": "NEVER_ADDED", "action": "ABORT", "not_known": "the isolation level",
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    root = written(tmp_path_factory.mktemp("tables"), {RUNS.name: [{"cluster": "c"}, {"cluster": "other"}]})
    found = [
        position("b", committed_offset=None, lag=None),
        position("it's", member_id="m"),
        position("b", topic="pay"),
    ]
    put(root, GROUP_POSITIONS, [*found, position("b", cluster="other")])
    put(root, BLOCKED_GROUPS, [BLOCKED])
    return root


def printed(root: Root, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["groups", "--tables", root.text, *arguments]) == 0
    return capsys.readouterr().out


def test_the_table_begins_with_the_columns_of_kafkas_own_tool(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    heading, first, *_ = printed(root, capsys, "--cluster", "c").splitlines()
    assert heading.split()[: len(KAFKAS)] == KAFKAS
    assert first.split()[: len(KAFKAS)] == ["b", "orders", "0", "-", "9", "-", "-", "-", "-"]


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        ([], 4),
        (["--cluster", "other"], 1),
        (["--group", "it's"], 1),
        (["--topic", "pay"], 1),
        (["--topic", "absent"], 0),
        (["--blocked"], 1),
        (["--blocked", "--group", "b"], 0),
    ],
)
def test_rows_are_chosen(root: Root, capsys: pytest.CaptureFixture[str], arguments: list[str], rows: int) -> None:
    assert len(json.loads(printed(root, capsys, "--format", "json", *arguments))) == rows
    assert len(printed(root, capsys, "--format", "csv", *arguments).splitlines()) == rows + 1


def test_a_blocked_group_is_shown_with_what_its_clients_see(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    _, row, *rest = printed(root, capsys, "--blocked").splitlines()
    assert row.split() == [
        "it's", "orders", "0", "LAST_STABLE_OFFSET", "6", "6", "-", "3", "orders-0", "6", "-", "id", "NEVER_ADDED",
        "ABORT",
    ]  # fmt: skip
    assert rest == ["1 group blocked.", "Clients see: no records.", "Not known: the isolation level."]


def test_nothing_is_said_in_a_sentence(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(root, capsys, "--topic", "absent") == "No committed offsets.\n"
    assert printed(root, capsys, "--blocked", "--topic", "absent") == "No blocked groups.\n"


def test_an_unknown_cluster_or_group_is_said(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--group", "absent"], ["--blocked", "--group", "absent"]):
        assert main(["groups", "--tables", root.text, *arguments]) == 2
        assert "--group: no committed offset of 'absent' is known" in capsys.readouterr().err
    assert main(["groups", "--tables", root.text, "--cluster", "absent"]) == 2
    assert "absent is not in the tables; they have c, other" in capsys.readouterr().err


def test_tables_of_an_older_txnlog_lack_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", "--tables", str(tmp_path)]) == 4
    assert "there is no table group_positions" in capsys.readouterr().err
