"""`txnlog partition`: which transactions it lists, whose they are by the tables, and what it finds odd."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.tables_by_hand import Row, at
from tests.unit.report.test_record_answer import AT, ID, dump_of, dumps, open_from, tables, transaction
from tests.writer import ABORT, LOG_APPEND_TIME, TRANSACTIONAL, checkpoint, data, marker, put, segment
from txnlog.cli import main
from txnlog.report.partition_list import COLUMNS
from txnlog.times import epoch_ms

OF = ["--topic", "orders", "--partition", "0"]
# Three producer ids; one commits after a minute, one aborts after a second, one has not ended.
LOG = (
    data(0, base_timestamp=AT, max_timestamp=AT),
    data(1, 1001, base_timestamp=AT + 1, max_timestamp=AT + 1),
    marker(2, 1001, kind=ABORT, max_timestamp=AT + 1_000),
    marker(3, max_timestamp=AT + 60_000),
    data(4, 1002, base_timestamp=AT + 90_000, max_timestamp=AT + 90_000),
)
Printed = pytest.CaptureFixture[str]


def listed(printed: Printed, dump: Path, *arguments: str) -> list[dict[str, Any]]:
    assert main(["partition", str(dump), *OF, "--format", "json", *arguments]) == 0
    found: list[dict[str, Any]] = json.loads(printed.readouterr().out)
    return found


def log(dump: Path, *batches: bytes) -> Path:
    put(dump / "dump.toml", 'cluster = "c"\n')
    return dump_of(dump.parent, b"".join(batches))


@pytest.mark.parametrize(
    ("arguments", "markers"),
    [
        ([], [2, 3, None]),
        (["--producer-id", "1001"], [2]),
        (["--outcome", "OPEN"], [None]),
        (["--outcome", "COMMIT"], [3]),
        (["--longer-than", "999ms"], [3]),
        (["--longer-than", "998ms"], [2, 3]),
        (["--from", str(AT + 1_000)], [2, 3, None]),
        (["--from", str(AT + 1_001)], [3, None]),
        (["--to", str(AT + 1)], [3]),
        (["--to", str(AT + 2)], [2, 3]),
        (["--from", str(AT + 60_001)], [None]),
        (["--limit", "2"], [3, None]),
        (["--producer-id", "7"], []),
    ],
)
def test_what_is_wanted_is_listed(
    arguments: list[str], markers: list[int | None], tmp_path: Path, capsys: Printed
) -> None:
    dump = log(tmp_path / "dump", *LOG)
    assert [row["marker_offset"] for row in listed(capsys, dump, *arguments)] == markers


def test_a_transactional_id_is_that_of_its_producer_ids(tmp_path: Path, capsys: Printed) -> None:
    dump, root = log(tmp_path / "dump", *LOG), tables(tmp_path, [])
    rows = listed(capsys, dump, "--tables", root.text, "--transactional-id", ID)
    assert [(row["producer_id"], row["transactional_ids"]) for row in rows] == [(1000, [ID])]
    assert listed(capsys, dump, "--tables", root.text, "--transactional-id", "another") == []


@pytest.mark.parametrize(
    ("transactions", "matched_by", "recorded", "findings"),
    [
        ([transaction(client_transaction_version=2, decided_at=at(50), completed_at=at(60))], "EPOCH", "COMMIT", []),
        ([transaction()], "TIME", "COMMIT", []),
        # Of a short one before it, and of a long one after it, it cannot be.
        (
            [transaction(start_timestamp=at(1), decided_at=at(2), completed_at=at(2)), transaction(),
             transaction(start_timestamp=at(7), decided_at=at(8), completed_at=at(9))],
            "TIME", "COMMIT", [],
        ),
        # The coordinator says otherwise.
        ([transaction(client_transaction_version=2, outcome="ABORT")], "EPOCH", "ABORT", ["TORN_OUTCOME"]),
        ([transaction(outcome="ABORT")], "TIME", "ABORT", ["TORN_OUTCOME"]),
        # If clocks were apart it could be of the other one.
        ([transaction(outcome="ABORT"), transaction(start_timestamp=at(7), decided_at=at(8), completed_at=at(9))],
         None, None, []),
        ([transaction(outcome="CONTRADICTED", client_transaction_version=2)], "EPOCH", "CONTRADICTED", []),
        ([transaction(end_epoch=2)], None, None, []),
        ([transaction(completed_at=None)], None, None, []),
        ([transaction(cluster="d")], None, None, []),
        ([transaction(partitions=[{"topic": "orders", "partition": 1, "listed_at": at(3)}])], None, None, []),
        ([], None, None, []),
    ],
)  # fmt: skip
def test_a_marker_is_held_against_what_coordinators_recorded(
    transactions: list[Row], matched_by: str | None, recorded: str | None, findings: list[str],
    tmp_path: Path, capsys: Printed,
) -> None:  # fmt: skip
    dump = log(tmp_path / "dump", data(0), marker(1, producer_epoch=1, max_timestamp=AT))
    (row,) = listed(capsys, dump, "--tables", tables(tmp_path, transactions).text)
    assert (row["matched_by"], row["recorded_outcome"], row["findings"]) == (matched_by, recorded, findings)
    assert (row["start_timestamp"] is None) == (matched_by is None)


@pytest.mark.parametrize(
    ("place", "cause", "is_its", "findings"),
    [
        ((4, 9, 1002), "MARKER_LOST_COMMIT", True, ["MARKER_LOST"]),
        ((4, 9, 1002), "MARKER_LOST_ABORT", True, ["MARKER_LOST"]),
        ((4, 9, 1002), "TOO_YOUNG", True, []),
        # By an earlier dump, from another offset, of another producer id: of another transaction.
        ((4, 8, 1002), "MARKER_LOST_COMMIT", False, []),
        ((1, 9, 1002), "MARKER_LOST_COMMIT", False, []),
        ((4, 9, 1001), "MARKER_LOST_COMMIT", False, []),
    ],
)
def test_what_is_open_has_its_verdict(
    place: tuple[int, int, int], cause: str, is_its: bool, findings: list[str], tmp_path: Path, capsys: Printed
) -> None:
    dump = log(tmp_path / "dump", *LOG)
    opened = open_from(*place, cause=cause, action="KEEP", reason="COMMITTED by a marker")
    root = tables(tmp_path, [], dump_files=dumps(9), open_transactions=[opened])
    *ended, row = listed(capsys, dump, "--tables", root.text)
    verdict = (cause, "KEEP", "COMMITTED by a marker") if is_its else (None, None, None)
    assert tuple(row[name] for name in ("cause", "action", "verdict")) == verdict
    assert row["findings"] == findings
    assert not any(each["verdict"] for each in ended)
    assert main(["partition", str(dump), *OF, "--tables", root.text]) == 0
    said = f"KEEP from offset 4, {cause}: COMMITTED by a marker."
    assert (said in capsys.readouterr().out.splitlines()) == is_its


@pytest.mark.parametrize(
    ("written", "attributes", "findings"),
    [
        (at(3), LOG_APPEND_TIME, []),
        # Long before the coordinator had the partition, by a broker's clock.
        (at(-70), LOG_APPEND_TIME, ["LATE_WRITE"]),
        # Clocks may be a minute apart.
        (at(-50), LOG_APPEND_TIME, []),
        # A producer's clock proves nothing.
        (at(-70), 0, []),
    ],
)
def test_data_of_before_the_transaction_was_written_late(
    written: Any, attributes: int, findings: list[str], tmp_path: Path, capsys: Printed
) -> None:
    time = {"base_timestamp": epoch_ms(written), "max_timestamp": epoch_ms(written)}
    late = data(0, attributes=TRANSACTIONAL | attributes, **time)
    dump = log(tmp_path / "dump", late, marker(1, producer_epoch=1, max_timestamp=AT))
    (row,) = listed(capsys, dump, "--tables", tables(tmp_path, [transaction()]).text)
    assert (row["matched_by"], row["findings"]) == ("TIME", findings)


@pytest.mark.parametrize(
    ("batches", "findings"),
    [
        ([data(0), marker(1), data(2), marker(3)], [[], []]),
        # An epoch that the marker before had ended.
        ([data(0), marker(1, producer_epoch=1), data(2), data(3, producer_epoch=1), marker(4)], [[], ["LATE_WRITE"]]),
        ([data(0), marker(1, producer_epoch=1), data(2, producer_epoch=1), marker(3)], [[], []]),
        # A marker stood between data of two epochs, unless the cleaner may have taken it.
        ([data(0), data(1, producer_epoch=1), marker(2, producer_epoch=1)], [["MARKER_LOST"]]),
        ([data(0), data(1, producer_epoch=1)], [["MARKER_LOST"]]),
        ([data(0), data(2, producer_epoch=1), marker(3, producer_epoch=1)], [[]]),
        ([data(0), marker(1), marker(2)], [[], ["MARKER_WITHOUT_DATA"]]),
        # The cleaner may have taken it.
        ([data(0), marker(1), marker(5)], [[], []]),
    ],
)
def test_the_log_alone_shows_what_is_odd(
    batches: list[bytes], findings: list[list[str]], tmp_path: Path, capsys: Printed
) -> None:
    dump = log(tmp_path / "dump", *batches)
    assert [row["findings"] for row in listed(capsys, dump)] == findings


SHORT = transaction(start_timestamp=at(1), decided_at=at(2), completed_at=at(2))
NEXT = transaction(start_timestamp=at(7), decided_at=at(8), completed_at=at(9))


@pytest.mark.parametrize(
    ("transactions", "arguments", "finding"),
    [
        ([transaction()], [], "MARKER_TWICE"),
        ([transaction(completed_at=at(7)), NEXT], [], "NEVER_WRITTEN"),
        # The marker before is of a transaction that nobody recorded, or none is seen.
        ([NEXT], [], "MARKER_WITHOUT_DATA"),
        ([transaction(), NEXT], ["--limit", "1"], "MARKER_WITHOUT_DATA"),
        ([transaction(completed_at=at(5))], [], "MARKER_WITHOUT_DATA"),
        ([SHORT], [], "MARKER_WITHOUT_DATA"),
        ([], [], "MARKER_WITHOUT_DATA"),
    ],
)
def test_tables_tell_a_second_marker_from_a_transaction_that_wrote_nothing(
    transactions: list[Row], arguments: list[str], finding: str, tmp_path: Path, capsys: Printed
) -> None:
    second = AT + (3_000 if NEXT in transactions else 500)
    markers = [marker(at, producer_epoch=1, max_timestamp=time) for at, time in ((1, AT), (2, second))]
    dump = log(tmp_path / "dump", data(0), *markers)
    *_, row = listed(capsys, dump, "--tables", tables(tmp_path, transactions).text, *arguments)
    assert row["findings"] == [finding]


def test_the_copy_of_the_last_leader_is_read_unless_another_is_named(tmp_path: Path, capsys: Printed) -> None:
    dump = dump_of(tmp_path, data(0), data(0) + marker(1), data(0) + data(1, 1001) + data(2))
    assert {row["log_dir"] for row in listed(capsys, dump)} == {"broker-3"}
    put(dump / "broker-2/replication-offset-checkpoint", checkpoint([("orders", 0, 9)]))
    assert {row["log_dir"] for row in listed(capsys, dump)} == {"broker-2"}
    put(dump / "broker-1/orders-0/leader-epoch-checkpoint", "0\n1\n3 0\n")
    assert {row["log_dir"] for row in listed(capsys, dump)} == {"broker-1"}
    assert {row["log_dir"] for row in listed(capsys, dump, "--log-dir", "broker-2")} == {"broker-2"}


def test_a_table_says_what_it_leaves_out_and_what_to_type_next(tmp_path: Path, capsys: Printed) -> None:
    dump = dump_of(tmp_path, b"".join(LOG), b"")
    assert main(["partition", str(dump), *OF, "--limit", "2"]) == 0
    heading, *rows, one, two, three, four = capsys.readouterr().out.splitlines()
    names = "First Last Marker Outcome From Whole ProducerId Epoch Start DurationMs Records Bytes"
    assert [line.split() for line in (heading, *rows)] == [
        names.split(),
        ["0", "0", "3", "COMMIT", "0", "yes", "1000", "0", "2026-11-21T22:00:05.000Z", "60000", "1", "75"],
        ["4", "4", "-", "OPEN", "4", "yes", "1002", "0", "2026-11-21T22:01:35.000Z", "-", "1", "75"],
    ]
    assert [one, two, three, four] == [
        "orders-0 by broker-1: 3 transactions: 1 COMMIT, 1 ABORT, 1 OPEN.",
        "Only the latest 2 are listed: --limit 3 lists all.",
        "1 other copy is not read: --log-dir reads one of them, txnlog record compares all.",
        f"Next: txnlog record {dump} --topic orders --partition 0 --offset 4",
    ]


def test_what_cannot_be_read_is_said(tmp_path: Path, capsys: Printed) -> None:
    dump = dump_of(tmp_path, data(0) + b"?" * 80)
    assert main(["partition", str(dump), *OF]) == 0
    out = capsys.readouterr().out
    assert "Of the one at offset 0: no marker follows in what can be read: broker-1/orders-0/" in out
    assert "Not read: broker-1/orders-0/" in out
    assert main(["partition", str(dump), *OF, "--format", "csv"]) == 0
    printed = capsys.readouterr()
    (row,) = csv.DictReader(io.StringIO(printed.out))
    assert list(row) == list(COLUMNS)
    assert row["outcome"] == "UNKNOWN"
    assert printed.err.startswith("txnlog: not read: broker-1/orders-0/")


def test_a_damaged_index_is_said(tmp_path: Path, capsys: Printed) -> None:
    dump = dump_of(tmp_path, data(0) + marker(1))
    put(dump / "broker-1/orders-0" / f"{0:020}.txnindex", b"garbage")
    assert main(["partition", str(dump), *OF]) == 0
    out = capsys.readouterr().out
    assert "1 transaction: 1 COMMIT." in out
    assert f"Not read: broker-1/orders-0/{0:020}.txnindex: byte 0: " in out


def test_a_partition_without_transactions_says_so(tmp_path: Path, capsys: Printed) -> None:
    dump = dump_of(tmp_path, b"")
    assert main(["partition", str(dump), *OF]) == 0
    assert capsys.readouterr().out == "orders-0 by broker-1: No transactions.\n"
    assert listed(capsys, dump) == []


def test_a_cluster_is_named_where_there_are_several(tmp_path: Path, capsys: Printed) -> None:
    for name in ("a", "b"):
        segment(tmp_path / name / "broker-1", "orders-0", data(0))
        put(tmp_path / name / "dump.toml", f'cluster = "{name}"\n')
    assert main(["partition", str(tmp_path), *OF]) == 2
    assert "several clusters: add --cluster, one of a, b" in capsys.readouterr().err
    assert {row["cluster"] for row in listed(capsys, tmp_path, "--cluster", "b")} == {"b"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--partition", "7"], "the dump has no log of orders-7: `txnlog check` prints what it has"),
        (["--log-dir", "nope"], "no log of orders-0 in log directory nope, but perhaps in broker-1"),
        (["--transactional-id", "a"], "--transactional-id needs --tables"),
        (["--limit", "0"], "--limit: must be above 0"),
        (["--longer-than", "x"], "--longer-than: 'x' is not a duration"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], said: str, tmp_path: Path, capsys: Printed) -> None:
    dump = dump_of(tmp_path, data(0))
    assert main(["partition", str(dump), *OF, *arguments]) == 2
    assert said in capsys.readouterr().err
