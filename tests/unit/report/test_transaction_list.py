"""`txnlog transactions` lists what coordinators recorded, and never calls open what may have ended in a hole."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.tables_by_hand import at, put
from tests.terminal import seen
from txnlog.cli import main
from txnlog.report import transaction_list
from txnlog.report.transaction_query import ADDED, Wanted
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_STATES, TRANSACTIONS, Root, columns_of

HOSTILE = "a\n\x1b[2J\u202e'; DROP TABLE x; --"


def transaction(second: float, name: str = "id", *places: str, **values: Any) -> dict[str, Any]:
    """A commit that takes 2 s, and 1 s more until all markers are written; `places` are `orders-0`."""
    listed = [each.rpartition("-") for each in places or ("orders-0",)]
    return {
        "cluster": "c", "topic_id": "t", "coordinator_partition": 0, "transactional_id": name, "producer_id": 7,
        "start_timestamp": at(second), "decided_at": at(second + 2), "completed_at": at(second + 3),
        "outcome": "COMMIT", "ended_by": "CLIENT", "state": "CompleteCommit", "producer_epoch": 0,
        "last_offset": int(second), "as_of": at(500),
        "partitions": [{"topic": topic, "partition": int(number), "listed_at": at(second)}
                       for topic, _, number in listed],
    } | values  # fmt: skip


def under_way(second: float, name: str, **values: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(("decided_at", "completed_at", "outcome", "ended_by"))
    return transaction(second, name, **nothing | {"state": "Ongoing"} | values)


def whole(from_offset: int, to_offset: int, **values: Any) -> dict[str, Any]:
    """A range of the coordinator's log whose last record is of the second before its end."""
    return {
        "cluster": "c", "topic_id": "t", "coordinator_partition": 0, "from_offset": from_offset, "to_offset": to_offset,
        "written_from": at(from_offset), "written_to": at(to_offset - 1),
    } | values  # fmt: skip


FOUND = [
    # Its end lies between the two ranges.
    under_way(15, "in the hole"),
    under_way(16, "in a damaged copy"),
    # Of this one nothing else is kept, but the latest dump still has this record as the last one of the id.
    under_way(17, "seen again"),
    under_way(18, "gone on"),
    transaction(100, "id", "orders-0", "orders-1", "pay-0"),
    transaction(110, "id", "pay-1"),
    transaction(120, "late", outcome="ABORT", ended_by="TIMEOUT", decided_at=at(180), completed_at=at(190)),
    transaction(130, "undecided by us", outcome="CONTRADICTED", ended_by=None),
    transaction(140, "only its end", decided_at=None, partitions=[], ended_by=None, outcome="ABORT"),
    transaction(150, "no end", completed_at=None, state="PrepareCommit"),
    transaction(151, "no end"),
    transaction(160, "gone on"),
    transaction(170, "pending", completed_at=None, state="PrepareCommit"),
    under_way(172, "open"),
    under_way(174, "grown"),
    under_way(176, "ended unseen"),
    under_way(178, "overtaken"),
    transaction(173, HOSTILE, HOSTILE + "-0"),
    # A topic that was deleted and created anew: its log begins at offset 0 again.
    under_way(5, "recreated", coordinator_partition=1, topic_id="old"),
    transaction(30, cluster="other"),
]
RANGES = [
    whole(10, 20),
    whole(90, 200),
    whole(0, 9, coordinator_partition=1, topic_id="old"),
    whole(0, 9, coordinator_partition=1, written_to=at(300)),
    whole(0, 90, cluster="other"),
]
STATES = [
    {"cluster": "c", "transactional_id": name, "coordinator_partition": 0, "offset": offset, "state": state,
     "is_certain": name != "in a damaged copy", "start_timestamp": at(start), "as_of": at(900)}
    for name, offset, state, start in (
        ("seen again", 17, "Ongoing", 17),
        ("in a damaged copy", 16, "Ongoing", 16),
        # Records that are not in a whole range: two later ones of the same transaction, and one of a later one.
        ("grown", 175, "Ongoing", 174),
        ("ended unseen", 177, "CompleteCommit", 176),
        ("overtaken", 180, "Ongoing", 179),
    )
]  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    root = Root(str(tmp_path_factory.mktemp("tables")))
    put(root, TRANSACTIONS, FOUND)
    put(root, COORDINATOR_RANGES, RANGES)
    put(root, COORDINATOR_STATES, STATES)
    return root


def printed(root: Root, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["transactions", "--tables", root.text, *arguments]) == 0
    return capsys.readouterr().out


def of_c(root: Root, **wanted: Any) -> list[dict[str, Any]]:
    return transaction_list.transactions(root, Wanted("c", **wanted)).rows


def starts(rows: list[dict[str, Any]]) -> list[int]:
    return [round(row["start_timestamp"].timestamp() - at(0).timestamp()) for row in rows]


@pytest.mark.parametrize(
    ("second", "status", "under_way", "duration_s", "markers_s"),
    [
        (15, "UNKNOWN", False, None, None),
        (16, "UNKNOWN", False, None, None),
        (17, "OPEN", True, 883, None),
        (18, "UNKNOWN", False, None, None),
        (100, "COMMIT", False, 3, 1),
        (120, "ABORT", False, 70, 10),
        (130, "CONTRADICTED", False, 3, 1),
        (140, "ABORT", False, 3, None),
        (150, "COMMIT", False, 2, None),
        (170, "COMMIT", True, 330, None),
        (172, "OPEN", True, 328, None),
        (174, "OPEN", True, 726, None),
        (176, "UNKNOWN", False, None, None),
        (178, "UNKNOWN", False, None, None),
        (5, "UNKNOWN", False, None, None),
    ],
)
def test_what_is_under_way_counts_to_where_it_was_last_seen_and_an_unseen_end_has_no_duration(
    root: Root, second: int, status: str, under_way: bool, duration_s: int | None, markers_s: int | None
) -> None:
    (row,) = [row for row in of_c(root) if starts([row]) == [second]]
    assert (row["status"], row["under_way"]) == (status, under_way)
    assert [row[name] and row[name] / 1000 for name in ("duration_ms", "markers_ms")] == [duration_s, markers_s]


def test_the_end_of_the_range_counts_where_it_is_later_than_the_copy_that_showed_the_record(tmp_path: Path) -> None:
    root = Root(str(tmp_path))
    put(root, TRANSACTIONS, [under_way(10, "open", as_of=at(20))])
    put(root, COORDINATOR_RANGES, [whole(0, 61)])
    put(root, COORDINATOR_STATES, [])
    assert [row["duration_ms"] for row in of_c(root)] == [50_000]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"transactional_id": "id"}, [100, 110]),
        ({"transactional_id": HOSTILE}, [173]),
        ({"topic": "pay"}, [100, 110]),
        ({"topic": "orders", "partition": 1}, [100]),
        ({"topic": HOSTILE, "partition": 0}, [173]),
        ({"topic": "pay", "partition": 2}, []),
        ({"status": "ABORT"}, [120, 140]),
        ({"status": "UNKNOWN"}, [5, 15, 16, 18, 176, 178]),
        ({"status": "OPEN"}, [17, 172, 174]),
        pytest.param({"longer_than_ms": 70_000}, [17, 170, 172, 174], id="longer than 70 s, which one took"),
        ({"longer_than_ms": 69_999}, [17, 120, 170, 172, 174]),
        # Its markers were written at second 190.
        ({"from_ms": 190, "status": "ABORT"}, [120]),
        ({"from_ms": 190.001, "status": "ABORT"}, []),
        # What ended unseen ended before the next one of its id; of another one nobody knows when.
        ({"from_ms": 160, "status": "UNKNOWN"}, [5, 15, 16, 18, 176, 178]),
        ({"from_ms": 160.001, "status": "UNKNOWN"}, [5, 15, 16, 176, 178]),
        ({"to_ms": 18, "from_ms": 10}, [5, 15, 16, 17]),
        ({"to_ms": 18.001, "transactional_id": "gone on"}, [18]),
    ],
)
def test_what_the_filters_let_by(root: Root, wanted: dict[str, Any], expected: list[int]) -> None:
    instants = {name: round(at(wanted[name]).timestamp() * 1000) for name in ("from_ms", "to_ms") if name in wanted}
    assert starts(of_c(root, **wanted | instants)) == expected


def test_a_table_ends_with_the_number_of_each_outcome_and_what_to_type_next(
    root: Root, capsys: pytest.CaptureFixture[str]
) -> None:
    heading, first, *_, numbers, following = printed(root, capsys, "--cluster", "c").splitlines()
    assert heading.split() == [
        "Start", "TransactionalId", "Outcome", "EndedBy", "DurationMs", "MarkersMs", "State", "ProducerId",
        "ProducerEpoch", "Partitions",
    ]  # fmt: skip
    assert first.split() == [
        "2026-11-21T22:00:05.000Z", "recreated", "UNKNOWN", "-", "-", "-", "Ongoing", "7", "0", "orders-0",
    ]  # fmt: skip
    assert numbers == "19 transactions: 7 COMMIT, 2 ABORT, 1 CONTRADICTED, 3 OPEN, 6 UNKNOWN."
    assert following == f"Next: txnlog find-hanging --tables {root.text} --cluster c"
    *_, following = printed(root, capsys, "--transactional-id", "recreated", "--topic", "a b").splitlines()
    assert following == "No transactions."
    *_, following = printed(
        root, capsys, "--topic", "pay", "--longer-than", "1s", "--to", "2027-01-01T00:00Z"
    ).splitlines()
    asked = "--topic pay --longer-than 1000ms --to 2027-01-01T00:00:00.000Z"
    assert following == f"Next: txnlog transactions --tables {root.text} {asked} --summary"


def test_rows_beyond_a_limit_are_counted_and_the_latest_stay(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    _, first, second, numbers, limit, _ = printed(root, capsys, "--cluster", "c", "--limit", "2").splitlines()
    assert [line.split()[0] for line in (first, second)] == ["2026-11-21T22:02:56.000Z", "2026-11-21T22:02:58.000Z"]
    assert numbers.startswith("19 transactions: ")
    assert limit == "Only the latest 2 are listed: --limit 19 lists all."
    assert len(json.loads(printed(root, capsys, "--cluster", "c", "--limit", "2", "--format", "json"))) == 2


def test_programs_get_all_rows_and_people_the_latest(
    root: Root, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("txnlog.commands.command.MOST_ROWS", 3)
    assert f"Only the latest 3 are listed: --limit {len(FOUND)} lists all." in printed(root, capsys)
    assert len(json.loads(printed(root, capsys, "--format", "json"))) == len(FOUND)


def test_json_and_csv_have_the_columns_of_the_table_and_ours(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    columns = [*(field.name for field in columns_of(TRANSACTIONS)), *ADDED]
    found = json.loads(printed(root, capsys, "--format", "json"))
    header, *lines = csv.reader(io.StringIO(printed(root, capsys, "--format", "csv")))
    assert [*found[0]] == header == columns
    assert [dict(zip(header, line, strict=True))["transactional_id"] for line in lines] == [
        row["transactional_id"] for row in found
    ]
    (named,) = [row for row in found if row["transactional_id"] == HOSTILE]
    place = {"topic": HOSTILE, "partition": 0, "listed_at": "2026-11-21T22:02:53.000Z"}
    assert named["partitions"] == [place]
    (in_csv,) = [line[header.index("partitions")] for line in lines if HOSTILE in line]
    assert json.loads(in_csv) == [place]


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("wanted", [Wanted(), Wanted("c", status="OPEN"), Wanted(topic="absent")])
def test_rows_one_after_the_other_are_the_same_text(root: Root, wanted: Wanted, form: str) -> None:
    at_once = transaction_list.rendered(transaction_list.transactions(root, wanted), form)
    assert "".join(transaction_list.pieces(root, wanted, form)) == at_once
    if form == "json":
        assert json.dumps(json.loads(at_once), indent=2) + "\n" == at_once


def test_every_line_fits_a_terminal_and_no_name_controls_it(root: Root) -> None:
    found = transaction_list.transactions(root, Wanted("c"))
    *table, last = seen(transaction_list.rendered(found, "table", 100, root.text))
    assert max(map(len, table)) <= 100
    assert all(line.isprintable() for line in (*table, last))
    assert any(line.startswith("hidden columns") for line in table)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cluster", "x"], "--cluster: x is not in the tables; they have c, other"),
        (["--cluster", "x", "--format", "csv"], "--cluster: x is not in the tables; they have c, other"),
        (["--partition", "1"], "--partition needs --topic"),
        (["--by", "topic"], "--by needs --summary"),
        (["--limit", "0"], "--limit: must be above 0"),
        (["--longer-than", "soon"], "--longer-than: 'soon' is not a duration"),
        (["--from", "2026-11-21"], "--from: 2026-11-21 has no time zone"),
        (["--to", "yesterday"], "--to: 'yesterday' is not a time"),
        (["--outcome", "OPENED"], "did you mean OPEN?"),
    ],
)
def test_what_cannot_be_is_said(
    root: Root, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    try:
        code = main(["transactions", "--tables", root.text, *arguments])
    except SystemExit as ended:
        code = int(str(ended.code))
    printed = capsys.readouterr()
    assert (code, printed.out, printed.err.count("\n")) == (2, "", 1)
    assert said in printed.err


def test_tables_of_an_older_txnlog_lack_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transactions", "--tables", str(tmp_path)]) == 4
    assert "there is no table transactions" in capsys.readouterr().err
    put(Root(str(tmp_path)), TRANSACTIONS, [transaction(0, start_timestamp=datetime(1970, 1, 1, tzinfo=UTC))])
    assert main(["transactions", "--tables", str(tmp_path)]) == 4
    assert "there is no table coordinator_ranges" in capsys.readouterr().err
