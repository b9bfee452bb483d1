"""`find-hanging` has Kafka's column names and ours, and no name changes the terminal."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.report_tables import night, transaction, written
from tests.terminal import seen
from txnlog.cli import main
from txnlog.errors import TableError
from txnlog.report.late_transactions import late_transactions, rendered
from txnlog.tables.layout import OPEN_TRANSACTIONS, RUNS, Root, columns_of

# The columns of `kafka-transactions.sh find-hanging` (`TransactionsCommand.FindHangingTransactionsCommand`).
KAFKAS = ["Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp"]


def late(**values: Any) -> dict[str, Any]:
    row: dict[str, Any] = {field.name: None for field in columns_of(OPEN_TRANSACTIONS)}
    return row | {
        "cluster": "c", "topic": "orders", "partition": 3, "producer_id": 7, "producer_epoch": 2,
        "coordinator_epoch": -1, "start_offset": 42, "last_timestamp": datetime(2026, 11, 21, tzinfo=UTC),
        "open_for_ms": 7_200_000, "as_of": datetime(2026, 11, 22, tzinfo=UTC), "held_back_records": 4,
        "cause": "NEVER_ADDED", "action": "ABORT", "confidence": "HIGH",
    } | values  # fmt: skip


def test_the_table_has_the_columns_of_kafkas_own_tool_and_ours() -> None:
    heading, header, *_ = rendered([late()], "table").splitlines()
    assert heading == "Cluster c, 1 late transaction as of 2026-11-22T00:00:00.000Z"
    assert header.split() == [*KAFKAS, "Duration(min)", "TransactionalId", "Cause", "Action", "Confidence"]


def test_columns_stand_below_their_headings() -> None:
    _, header, line, *_ = rendered([late(transactional_id="payments")], "table").splitlines()
    for heading, value in (("Topic", "orders"), ("StartOffset", "42"), ("Duration(min)", "120"), ("Action", "ABORT")):
        assert line[header.index(heading) :].startswith(value)


def test_each_cluster_is_a_block_and_the_last_line_says_what_to_type_next() -> None:
    found = [late(), late(), late(cluster="it's", action="KEEP")]
    lines = rendered(found, "table", tables="/data/txnlog").splitlines()
    assert [line for line in lines if line.startswith("Cluster ")] == [
        "Cluster c, 2 late transactions as of 2026-11-22T00:00:00.000Z",
        "Cluster it's, 1 late transaction as of 2026-11-22T00:00:00.000Z",
    ]
    following = "Next: txnlog remedies --tables /data/txnlog --cluster 'it'\"'\"'s'"
    assert lines[-1] == f"1 KEEP, 2 ABORT. {following}"
    assert rendered([], "table") == "No late transactions.\n"


def test_the_most_urgent_come_first_and_a_selection_leaves_the_rest_out(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    few, many = transaction("few", held_back_records=1), transaction("many", held_back_records=9)
    keep = transaction("kept", action="KEEP", cause="MARKER_LOST_COMMIT", held_back_records=5)
    other = transaction("elsewhere", cluster="other", action="FENCE", cause="STUCK_ONGOING")
    root = written(tmp_path, [few, many, keep, other], [night(), night(cluster="other")])

    def topics(*more: str) -> list[str]:
        assert main(["find-hanging", "--tables", root.text, "--format", "json", *more]) == 0
        return [row["topic"] for row in json.loads(capsys.readouterr().out)]

    assert topics() == ["elsewhere", "kept", "many", "few"]
    assert topics("--cluster", "payments") == ["kept", "many", "few"]
    assert topics("--action", "ABORT") == ["many", "few"]
    assert topics("--topic", "few") == ["few"]
    assert main(["find-hanging", "--tables", root.text, "--cluster", "nope"]) == 2
    assert "they have other, payments" in capsys.readouterr().err


def test_each_table_is_read_once(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    root = written(tmp_path, [transaction("orders")], [night()])
    assert main(["-v", "find-hanging", "--tables", root.text, "--cluster", "payments"]) == 0
    read = [line.split()[2] for line in capsys.readouterr().err.splitlines() if line.startswith("txnlog: read ")]
    assert read == ["runs", "open_transactions"]


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31mred", "\u202edrow", "a\tb", "a\rb", "\ud800"])
def test_a_row_stays_one_line_of_plain_characters(name: str) -> None:
    lines = rendered([late(transactional_id=name)], "table").splitlines()
    assert len(lines) == 5
    assert lines[2].isprintable()


def test_a_very_long_name_leaves_the_other_columns_on_the_screen() -> None:
    lines = seen(rendered([late(transactional_id="x" * 10_000), late(transactional_id="y")], "table", 200))
    assert max(map(len, lines)) <= 200
    assert any("xxx…" in line and "NEVER_ADDED" in line for line in lines)
    assert "x" * 10_000 in rendered([late(transactional_id="x" * 10_000)], "json")


def test_tables_that_are_not_there_are_named(tmp_path: Any) -> None:
    with pytest.raises(TableError, match="there is no table runs in it: run `txnlog detect` first"):
        late_transactions(Root(str(tmp_path)))


@pytest.mark.parametrize("name", ["a\nb", "a\x7f", "a\\b", "%2e%2e", "${user.home}", "\udce9"])
def test_places_that_lead_spark_or_delta_rs_astray_are_refused(tmp_path: Any, name: str) -> None:
    with pytest.raises(TableError, match="tables cannot be there"):
        Root(str(tmp_path / name)).sql_name(RUNS)
    assert Root(f"s3://bucket/{name}".replace("$", "")).sql_name(RUNS).endswith("/runs`")
