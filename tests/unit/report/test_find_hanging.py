"""`find-hanging` has Kafka's column names and ours, and no name changes the terminal."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.terminal import seen
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
        "open_for_ms": 7_200_000, "cause": "NEVER_ADDED", "action": "ABORT", "confidence": "HIGH",
    } | values  # fmt: skip


def test_the_table_has_the_columns_of_kafkas_own_tool_and_ours() -> None:
    header = rendered([], "table").split()
    assert header == [*KAFKAS, "Duration(min)", "TransactionalId", "Cause", "Action", "Confidence"]


def test_columns_stand_below_their_headings() -> None:
    header, line = rendered([late(transactional_id="payments")], "table").splitlines()
    for heading, value in (("Topic", "orders"), ("StartOffset", "42"), ("Duration(min)", "120"), ("Action", "ABORT")):
        assert line[header.index(heading) :].startswith(value)


def test_rows_of_several_clusters_name_theirs() -> None:
    header, *lines = rendered([late(), late(cluster="other")], "table").splitlines()
    assert [line.split()[0] for line in (header, *lines)] == ["Cluster", "c", "other"]


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31mred", "\u202edrow", "a\tb", "a\rb", "\ud800"])
def test_a_row_stays_one_line_of_plain_characters(name: str) -> None:
    lines = rendered([late(transactional_id=name)], "table").splitlines()
    assert len(lines) == 2
    assert lines[1].isprintable()


def test_a_very_long_name_leaves_the_other_columns_on_the_screen() -> None:
    lines = seen(rendered([late(transactional_id="x" * 10_000), late(transactional_id="y")], "table", 200))
    assert max(map(len, lines)) <= 200
    assert any("xxx…" in line and "NEVER_ADDED" in line for line in lines)
    assert "x" * 10_000 in rendered([late(transactional_id="x" * 10_000)], "json")


def test_tables_that_are_not_there_are_named(tmp_path: Any) -> None:
    with pytest.raises(TableError, match="there is no table runs in it: run `txnlog detect` first"):
        late_transactions(Root(str(tmp_path)))


def test_tables_by_catalog_and_schema_are_for_spark_sql() -> None:
    with pytest.raises(TableError, match=r"main\.txnlog names a catalog and schema"):
        late_transactions(Root("main.txnlog"))


@pytest.mark.parametrize("name", ["a\nb", "a\x7f", "a\\b", "%2e%2e", "${user.home}", "\udce9"])
def test_places_that_lead_spark_or_delta_rs_astray_are_refused(tmp_path: Any, name: str) -> None:
    with pytest.raises(TableError, match="tables cannot be there"):
        Root(str(tmp_path / name)).sql_name(RUNS)
    assert Root(f"s3://bucket/{name}".replace("$", "")).sql_name(RUNS).endswith("/runs`")
