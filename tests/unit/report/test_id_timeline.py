"""`txnlog timeline` shows every producer and transaction of an id in order, and whom each of them fenced."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.tables_by_hand import at, put
from tests.terminal import seen
from txnlog.cli import main
from txnlog.report import id_timeline
from txnlog.report.id_timeline_svg import LEFT as AXIS_LEFT
from txnlog.report.id_timeline_svg import RIGHT as AXIS_RIGHT
from txnlog.report.id_timeline_svg import STYLES
from txnlog.report.transaction_query import STATUSES, Wanted
from txnlog.tables.layout import (
    COORDINATOR_RANGES,
    COORDINATOR_RECORDS,
    COORDINATOR_STATES,
    TRANSACTIONS,
    Root,
)

ID = "it's\n\x1b[2J"


def record(offset: int, state: str | None, producer: int = 7, epoch: int | None = 0, **values: Any) -> dict[str, Any]:
    """Written in the second of its offset."""
    return {
        "cluster": "c", "transactional_id": ID, "topic_id": "t", "offset": offset, "state": state,
        "producer_id": producer, "producer_epoch": epoch, "append_timestamp": at(offset),
        "update_lag_ms": 0, "start_timestamp": None if state == "Empty" else at(offset),
    } | values  # fmt: skip


def tombstone(offset: int) -> dict[str, Any]:
    return record(offset, None, epoch=None, producer_id=None, is_tombstone=True, update_lag_ms=None)


def transaction(second: int, epoch: int | None = 0, **values: Any) -> dict[str, Any]:
    return {
        "cluster": "c", "transactional_id": ID, "topic_id": "t", "producer_id": 7, "start_timestamp": at(second),
        "decided_at": at(second + 1), "completed_at": at(second + 2), "outcome": "COMMIT", "ended_by": "CLIENT",
        "producer_epoch": epoch, "end_epoch": epoch, "first_offset": second, "last_offset": second + 2,
        "partitions": [{"topic": "orders", "partition": 0, "listed_at": at(second)}],
    } | values  # fmt: skip


RECORDS = [
    record(0, "Empty"),
    record(1, "Ongoing"), record(2, "PrepareCommit"), record(3, "CompleteCommit"),
    # A second producer of the id; the same answer twice is no other producer.
    record(10, "Empty", epoch=1), record(11, "Empty", epoch=1),
    record(20, "Ongoing", epoch=1), record(80, "PrepareAbort", epoch=2), record(81, "CompleteAbort", epoch=2),
    record(85, "Empty", epoch=3),
    # Each transaction of version 2 ends with an epoch of its own.
    record(90, "Ongoing", epoch=3), record(91, "PrepareCommit", epoch=4), record(92, "CompleteCommit", epoch=4),
    record(93, "Ongoing", epoch=4), record(94, "PrepareAbort", epoch=5), record(95, "CompleteAbort", epoch=5),
    # In a hole the epoch went up, and the epochs of the producer id were used up.
    record(200, "Ongoing", epoch=9), record(201, "PrepareCommit", epoch=9), record(202, "CompleteCommit", epoch=9),
    record(210, "Empty", producer=8),
    tombstone(300),
    record(310, "Empty", producer=9),
    # Others.
    record(5, "Empty", transactional_id="other"),
    record(6, "Empty", cluster="d", coordinator_partition=3),
]  # fmt: skip
TRANSACTIONS_FOUND = [
    transaction(1),
    transaction(20, 1, outcome="ABORT", ended_by="TIMEOUT", end_epoch=2, decided_at=at(80), completed_at=at(81)),
    transaction(90, 3, end_epoch=4),
    transaction(93, 4, end_epoch=5, outcome="ABORT", ended_by=None),
    transaction(200, None, end_epoch=9),
    transaction(7, transactional_id="other"),
]
EXPECTED = [
    (0, "STARTED", 7, 0, None),
    (1, "COMMIT", 7, 0, None),
    (10, "STARTED", 7, 1, (7, 0)),
    (20, "ABORT", 7, 1, (7, 1)),
    (85, "STARTED", 7, 3, (7, 2)),
    (90, "COMMIT", 7, 3, None),
    (93, "ABORT", 7, 4, None),
    (200, "STARTED", 7, 9, (7, 5)),
    (200, "COMMIT", 7, 9, None),
    (210, "STARTED", 8, 0, (7, 9)),
    (300, "EXPIRED", None, None, None),
    (310, "STARTED", 9, 0, None),
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    root = Root(str(tmp_path_factory.mktemp("tables")))
    put(root, COORDINATOR_RECORDS, RECORDS)
    put(root, TRANSACTIONS, TRANSACTIONS_FOUND)
    put(root, COORDINATOR_RANGES, [])
    put(root, COORDINATOR_STATES, [])
    return root


def told(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (
            round(row["time"].timestamp() - at(0).timestamp()),
            row["event"],
            row["producer_id"],
            row["producer_epoch"],
            None if row["fenced_epoch"] is None else (row["fenced_producer_id"], row["fenced_epoch"]),
        )
        for row in events
    ]


def printed(root: Root, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["timeline", "--tables", root.text, *arguments]) == 0
    return capsys.readouterr().out


def test_every_producer_and_transaction_is_there_in_order_with_whom_it_fenced(root: Root) -> None:
    assert told(id_timeline.timeline(root, Wanted("c", ID)).events) == EXPECTED


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (10, 20, [EXPECTED[2]]),
        # A transaction is there for as long as it was under way; of a start the producer before it is known.
        (10.001, 85, [EXPECTED[3]]),
        (81.001, 85.001, [EXPECTED[4]]),
    ],
)
def test_what_lies_in_a_period(root: Root, start: float, end: float, expected: list[tuple[Any, ...]]) -> None:
    from_ms, to_ms = (round(at(each).timestamp() * 1000) for each in (start, end))
    assert told(id_timeline.timeline(root, Wanted("c", ID, from_ms=from_ms, to_ms=to_ms)).events) == expected


def test_the_table_shows_fenced_epochs_and_ends_with_the_numbers(
    root: Root, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(root, capsys, "--transactional-id", ID, "--cluster", "c").splitlines()
    assert lines[0].split() == [
        "Time", "Event", "ProducerId", "Epoch", "Fenced", "EndedBy", "DurationMs", "Partitions",
    ]  # fmt: skip
    assert lines[4].split() == [
        "2026-11-21T22:00:20.000Z", "ABORT", "7", "1", "epoch", "1", "TIMEOUT", "61000", "orders-0",
    ]  # fmt: skip
    assert lines[10].split()[1:] == ["STARTED", "8", "0", "producer", "id", "7,", "epoch", "9"]
    assert lines[-2] == "6 STARTED, 1 EXPIRED, 3 COMMIT, 2 ABORT."
    assert lines[-1] == (
        f"Next: txnlog transactions --tables {root.text} --transactional-id $'it\\'s\\x0a\\x1b[2J' --summary"
    )
    assert all(line.isprintable() for line in lines)


def test_events_beyond_a_limit_are_counted_and_the_latest_stay(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ["--transactional-id", ID, "--cluster", "c", "--limit", "2"]
    _, first, second, numbers, limit, _ = printed(root, capsys, *wanted).splitlines()
    assert [first.split()[1], second.split()[1]] == ["EXPIRED", "STARTED"]
    assert numbers == "6 STARTED, 1 EXPIRED, 3 COMMIT, 2 ABORT."
    assert limit == "Only the latest 2 events are listed: --limit 12 lists all."
    assert len(json.loads(printed(root, capsys, *wanted, "--format", "json"))) == 2


def test_json_and_csv_have_all_columns_and_all_clusters(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(root, capsys, "--transactional-id", ID, "--format", "json"))
    header, *lines = csv.reader(io.StringIO(printed(root, capsys, "--transactional-id", ID, "--format", "csv")))
    assert [*found[0]] == header == list(id_timeline.COLUMNS)
    assert len(found) == len(lines) == len(EXPECTED) + 1
    assert [row["time"] for row in found if row["cluster"] == "d"] == ["2026-11-21T22:00:06.000Z"]
    assert found[1]["partitions"] == [{"topic": "orders", "partition": 0, "listed_at": "2026-11-21T22:00:01.000Z"}]


def test_every_line_fits_a_terminal(root: Root) -> None:
    found = id_timeline.timeline(root, Wanted(None, ID))
    *lines, _ = seen(id_timeline.rendered(found, "table", 90, root.text))
    assert max(map(len, lines)) <= 90
    assert all(line.isprintable() for line in lines)


def test_what_is_open_leads_to_its_explanation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = Root(str(tmp_path))
    under_way = dict.fromkeys(("decided_at", "completed_at", "outcome", "ended_by"))
    put(root, COORDINATOR_RECORDS, [])
    put(root, TRANSACTIONS, [transaction(1, transactional_id="a", **under_way)])
    put(root, COORDINATOR_RANGES, [{"cluster": "c", "topic_id": "t", "from_offset": 0, "to_offset": 9}])
    put(root, COORDINATOR_STATES, [])
    *_, numbers, following = printed(root, capsys, "--transactional-id", "a").splitlines()
    assert (numbers, following) == ("1 OPEN.", f"Next: txnlog explain --tables {tmp_path} --transactional-id a")


def bars(svg: str) -> list[tuple[float, float, str]]:
    """Where the bars of transactions start, how long they are, and what they say."""
    found = ElementTree.fromstring(svg).findall("{*}rect")
    titled = ((each, each.findtext("{*}title")) for each in found)
    return [(float(each.attrib["x"]), float(each.attrib["width"]), title) for each, title in titled if title]


def test_a_drawing_has_each_transaction_on_the_line_of_each_partition(
    root: Root, capsys: pytest.CaptureFixture[str]
) -> None:
    svg = printed(root, capsys, "--transactional-id", ID, "--cluster", "c", "--format", "svg")
    whole = ElementTree.fromstring(svg)
    texts = [each.text for each in whole.findall("{*}text")]
    assert texts[:3] == ["it's\\n\\x1b[2J in c", "3 COMMIT", "2 ABORT"]
    assert {"producers", "orders-0", "2026-11-21 22:00:00 UTC", "2026-11-21 22:05:10 UTC"} <= {*texts}
    found = bars(svg)
    assert [title.split(",")[0] for *_, title in found][1] == "orders-0: ABORT 2026-11-21T22:00:20.000Z"
    assert [f"ended by {by}" in title for by, (*_, title) in zip(("CLIENT", "TIMEOUT"), found, strict=False)] == [
        True
    ] * 2
    # From second 20 to 81 of 310.
    scale = (AXIS_RIGHT - AXIS_LEFT) / 310
    assert found[1][0] == pytest.approx(AXIS_LEFT + 20 * scale, abs=0.1)
    assert found[1][1] == pytest.approx(61 * scale, abs=0.2)
    marks = [each.findtext("{*}title") or "" for each in whole.findall("{*}path")]
    assert len(marks) == 7
    assert marks[1] == "STARTED 2026-11-21T22:00:10.000Z: producer id 7, epoch 1, fenced epoch 0"


def test_in_a_drawing_what_is_under_way_reaches_the_edge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = Root(str(tmp_path))
    under_way = dict.fromkeys(("decided_at", "completed_at", "outcome", "ended_by"))
    put(root, COORDINATOR_RECORDS, [])
    rows = [transaction(1, transactional_id="a"), transaction(5, transactional_id="a", **under_way)]
    put(root, TRANSACTIONS, [*rows, *(row | {"cluster": "d"} for row in rows[:1])])
    put(root, COORDINATOR_RANGES, [{"cluster": "c", "topic_id": "t", "from_offset": 0, "to_offset": 9}])
    put(root, COORDINATOR_STATES, [])
    found = {
        title.split(" 2026")[0]: x + width
        for x, width, title in bars(printed(root, capsys, "--transactional-id", "a", "--format", "svg"))
    }
    assert found["c: orders-0: OPEN"] == AXIS_RIGHT
    assert found["c: orders-0: COMMIT"] == found["d: orders-0: COMMIT"] < AXIS_RIGHT


def test_a_name_cannot_break_a_drawing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root, name = Root(str(tmp_path)), "<script>\x00&]]></text>\ud7ff\u202e"
    put(root, COORDINATOR_RECORDS, [])
    put(root, TRANSACTIONS, [transaction(1, transactional_id=name)])
    put(root, COORDINATOR_RANGES, [])
    put(root, COORDINATOR_STATES, [])
    svg = printed(root, capsys, "--transactional-id", name, "--format", "svg")
    texts = [each.text or "" for each in ElementTree.fromstring(svg).findall("{*}text")]
    assert texts[0].startswith("<script>\\x00&]]></text>")
    assert texts[0].isprintable()


def test_each_status_has_a_look_of_its_own() -> None:
    assert set(STYLES) == set(STATUSES)
    assert len({each[1:] for each in STYLES.values()}) == len(STYLES)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--transactional-id", "absent"], "no record of 'absent' is kept"),
        (["--transactional-id", "other", "--cluster", "x"], "--cluster: x is not in the tables; they have c"),
        (["--transactional-id", "other", "--limit", "-1"], "--limit: must be above 0"),
        (["--transactional-id", "other", "--from", "now"], "--from: 'now' is not a time"),
    ],
)
def test_what_cannot_be_is_said(
    root: Root, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["timeline", "--tables", root.text, *arguments]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert said in printed.err
