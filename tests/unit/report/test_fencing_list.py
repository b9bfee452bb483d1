"""`txnlog fencings` lists each producer that was fenced once, with when and by whom."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.tables_by_hand import at, put
from tests.unit.report.test_id_timeline import ID, RECORDS, TRANSACTIONS_FOUND, record, transaction
from txnlog.cli import main
from txnlog.report import fencing_list
from txnlog.report.transaction_query import Wanted
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_RECORDS, COORDINATOR_STATES, TRANSACTIONS, Root

# Of the id: the second, the fenced producer id and epoch, by whom, and the producer id and epoch that follow.
OF_ID = [
    (10, 7, 0, "NEW_PRODUCER", 7, 1),
    # What starts at second 85 fences nobody: the coordinator had taken epoch 2 for itself.
    (80, 7, 1, "TIMEOUT", None, None),
    (200, 7, 5, "NEW_PRODUCER", 7, 9),
    (210, 7, 9, "NEW_PRODUCER", 8, 0),
]


def tables(folder: Path, records: list[Any], transactions: list[Any]) -> Root:
    root = Root(str(folder))
    put(root, COORDINATOR_RECORDS, records)
    put(root, TRANSACTIONS, transactions)
    put(root, COORDINATOR_RANGES, [])
    put(root, COORDINATOR_STATES, [])
    return root


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    others = [
        record(50, "Empty", transactional_id="other", producer_epoch=1, producer_id=5),
        record(51, "Empty", transactional_id="other", producer_epoch=2, producer_id=5),
    ]
    # The last record of the other id that the timeline knows is of producer id 7.
    return tables(tmp_path_factory.mktemp("tables"), [*RECORDS, *others], TRANSACTIONS_FOUND)


def told(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (
            round(row["time"].timestamp() - at(0).timestamp()),
            row["fenced_producer_id"],
            row["fenced_epoch"],
            row["fenced_by"],
            row["producer_id"],
            row["producer_epoch"],
        )
        for row in rows
    ]


def test_each_producer_is_fenced_once(root: Root) -> None:
    assert told(fencing_list.fencings(root, Wanted("c", ID)).rows) == OF_ID


def test_a_fencing_names_the_producer_that_started_instead(tmp_path: Path) -> None:
    records = [
        record(0, "Empty"), record(1, "Ongoing"), record(10, "PrepareAbort", epoch=1),
        record(11, "CompleteAbort", epoch=1), record(12, "Empty", epoch=2),
    ]  # fmt: skip
    ended = transaction(1, outcome="ABORT", ended_by="FENCING", end_epoch=1, decided_at=at(10), completed_at=at(11))
    found = fencing_list.fencings(tables(tmp_path, records, [ended]), Wanted())
    assert told(found.rows) == [(10, 7, 0, "FENCING", 7, 2)]


def test_ids_are_kept_apart_and_in_the_order_of_time(root: Root) -> None:
    found = fencing_list.fencings(root, Wanted()).rows
    assert [row["time"] for row in found] == sorted(row["time"] for row in found)
    of_other = [row for row in found if row["transactional_id"] == "other"]
    assert told(of_other) == [(50, 7, 0, "NEW_PRODUCER", 5, 1), (51, 5, 1, "NEW_PRODUCER", 5, 2)]
    assert len(found) == len(OF_ID) + len(of_other)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(10, 80, ["NEW_PRODUCER"]), (80, 81, ["TIMEOUT"]), (10.001, 80, []), (81, 200, [])],
)
def test_what_was_fenced_in_a_period(root: Root, start: float, end: float, expected: list[str]) -> None:
    from_ms, to_ms = (round(at(each).timestamp() * 1000) for each in (start, end))
    found = fencing_list.fencings(root, Wanted("c", ID, from_ms=from_ms, to_ms=to_ms)).rows
    assert [row["fenced_by"] for row in found] == expected


def test_the_table_ends_with_the_numbers_and_the_next_command(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fencings", "--tables", root.text, "--limit", "2"]) == 0
    heading, first, second, numbers, limit, following = capsys.readouterr().out.splitlines()
    assert heading.split() == ["Time", "TransactionalId", "Fenced", "By", "ProducerId", "Epoch"]
    assert first.split()[1:] == ["it's\\n\\x1b[2J", "epoch", "5", "NEW_PRODUCER", "7", "9"]
    assert second.split()[2:] == ["producer", "id", "7,", "epoch", "9", "NEW_PRODUCER", "8", "0"]
    assert numbers == "6 producers fenced: 5 by NEW_PRODUCER, 1 by TIMEOUT."
    assert limit == "Only the latest 2 are listed: --limit 6 lists all."
    assert following == f"Next: txnlog timeline --tables {root.text} --transactional-id $'it\\'s\\x0a\\x1b[2J'"


def test_json_and_csv_have_all_columns(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fencings", "--tables", root.text, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(["fencings", "--tables", root.text, "--format", "csv"]) == 0
    header, *lines = csv.reader(io.StringIO(capsys.readouterr().out))
    assert [*found[0]] == header == list(fencing_list.COLUMNS)
    assert len(found) == len(lines) == 6


def test_nothing_and_an_unknown_cluster_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tables(tmp_path, [record(0, "Empty")], [transaction(1)])
    assert main(["fencings", "--tables", root.text]) == 0
    assert capsys.readouterr().out == "No producer was fenced, by the records that are kept.\n"
    assert main(["fencings", "--tables", root.text, "--transactional-id", "x"]) == 2
    assert "--transactional-id: no record of 'x' is kept" in capsys.readouterr().err
    assert main(["fencings", "--tables", root.text, "--cluster", "x"]) == 2
    assert "--cluster: x is not in the tables; they have c" in capsys.readouterr().err
