"""How far back a log is read: from its newest valid snapshot on, and further only where something asks for it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.coordinator_writer import coordinator_key, coordinator_record
from tests.writer import NOW, batch, data, marker, put, record, snapshot
from txnlog.dump.inventory import inventory
from txnlog.format.coordinator import TransactionState
from txnlog.format.scan import WINDOW
from txnlog.format.snapshot import NO_TRANSACTION, ProducerSnapshotEntry
from txnlog.sources.data_sources import (
    AbortedTransactionsSource,
    CheckpointsSource,
    EvidenceSource,
    ProducerSnapshotsSource,
    TransactionStatesSource,
)
from txnlog.sources.dump_source import DumpSource
from txnlog.sources.file_groups import logs

Row = dict[str, Any]
PARTITION = "broker-1/orders-0"
SEGMENTS = 4
PER_SEGMENT = 10


def entry(producer_id: int, open_since: int | None = None) -> ProducerSnapshotEntry:
    first = NO_TRANSACTION if open_since is None else open_since
    return ProducerSnapshotEntry(producer_id, 0, 0, 0, 0, NOW, 0, first)


def log(root: Path, opened: dict[int, int] | None = None, *, has_markers: bool = True) -> Path:
    """Four segments of ten offsets, a committed transaction of two in each; `opened` are more, by their offset.

    Each segment but the first has the snapshot that a broker writes when it begins.
    """
    opened = opened or {}
    for base in range(0, SEGMENTS * PER_SEGMENT, PER_SEGMENT):
        put(root / PARTITION / f"{base:020}.log", b"".join(batches(base, opened, has_markers)))
        if base:
            entries = [entry(1000), *(entry(owner, offset) for offset, owner in opened.items() if offset < base)]
            put(root / PARTITION / f"{base:020}.snapshot", snapshot(entries))
    return root


def batches(base: int, opened: dict[int, int], has_markers: bool) -> list[bytes]:
    found = []
    for offset in range(base, base + PER_SEGMENT):
        if offset in opened:
            found.append(data(offset, opened[offset], max_timestamp=NOW + offset))
        elif has_markers and offset % 2:
            found.append(marker(offset, 1000, max_timestamp=NOW + offset))
        else:
            found.append(data(offset, 1000 if has_markers else -1, max_timestamp=NOW + offset))
    return found


def found(root: Path, full: str = "false") -> list[Row]:
    source = EvidenceSource({"path": str(root), "full": full})
    tables = [pa.Table.from_batches([rows]) for rows in source.rows(list(source.readable()))]
    every_row: list[Row] = pa.concat_tables(tables).to_pylist()
    return every_row


def unread(root: Path) -> list[int]:
    """Base offsets of the segments that were not read."""
    return sorted(
        row["base_offset"]
        for row in found(root)
        if row["fact"] == "file" and row["kind"] == "segment" and row["bytes_skipped"] == row["size_in_bytes"] > 0
    )


def of(rows: list[Row], fact: str) -> list[Row]:
    return [row for row in rows if row["fact"] == fact]


def path(root: Path, name: str) -> Path:
    return root / PARTITION / name


@pytest.mark.parametrize("full", [False, True])
def test_a_log_is_read_by_one_group_so_that_each_of_its_snapshots_is_parsed_once(tmp_path: Path, full: bool) -> None:
    files = inventory(str(log(tmp_path))).files
    (group,) = logs(files, from_snapshots=not full)
    assert sorted(file.file for file in group.files) == sorted(file.file for file in files)


def test_a_log_with_nothing_open_is_read_from_its_newest_snapshot_on(tmp_path: Path) -> None:
    assert unread(log(tmp_path)) == [0, 10, 20]


def test_full_reads_all(tmp_path: Path) -> None:
    rows = found(log(tmp_path), full="true")
    assert sum(row["bytes_skipped"] for row in of(rows, "file")) == 0
    assert len(of(rows, "sums")) == SEGMENTS


def test_a_log_is_read_from_where_the_oldest_open_transaction_of_its_snapshot_starts(tmp_path: Path) -> None:
    assert unread(log(tmp_path, {14: 7})) == [0]


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        pytest.param(["30"], [0, 10], id="the newest is damaged: the one before it counts"),
        pytest.param(["30", "20"], [0], id="two are damaged: the oldest counts"),
        pytest.param(["30", "20", "10"], [], id="all are damaged: all is read"),
    ],
)
def test_a_damaged_snapshot_is_not_believed(tmp_path: Path, damage: list[str], expected: list[int]) -> None:
    log(tmp_path)
    for offset in damage:
        file = path(tmp_path, f"{int(offset):020}.snapshot")
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
    assert unread(tmp_path) == expected


def test_without_snapshots_all_is_read(tmp_path: Path) -> None:
    for file in list(log(tmp_path).rglob("*.snapshot")):
        file.unlink()
    assert unread(tmp_path) == []


def test_a_snapshot_that_may_be_of_a_longer_log_does_not_stand_alone(tmp_path: Path) -> None:
    """It lies after the start of the newest segment: what is open in the one before it is looked for, too."""
    log(tmp_path, {14: 7})
    path(tmp_path, f"{35:020}.snapshot").write_bytes(snapshot([entry(1000), entry(8, 25)]))
    assert unread(tmp_path) == [0]
    starts = {row["start_offset"] for row in of(found(tmp_path), "named_offset")}
    assert starts == {14, 25}


def test_a_snapshot_below_the_log_reads_all_that_is_left(tmp_path: Path) -> None:
    log(tmp_path)
    for base in (0, 10):
        path(tmp_path, f"{base:020}.log").unlink()
    for base in (20, 30):
        path(tmp_path, f"{base:020}.snapshot").unlink()
    assert unread(tmp_path) == []


def test_an_earlier_segment_is_read_where_no_time_of_a_broker_lies_before_what_is_open(tmp_path: Path) -> None:
    log(tmp_path, {31: 7, 14: 8}, has_markers=False)
    marked = batches(0, {}, has_markers=True)
    put(path(tmp_path, f"{0:020}.log"), b"".join(marked))
    assert unread(tmp_path) == []


def test_the_transactions_of_coordinators_are_always_read_whole(tmp_path: Path) -> None:
    log(tmp_path)
    (tmp_path / PARTITION).rename(tmp_path / "broker-1/__transaction_state-0")
    assert unread(tmp_path) == []


def test_a_coordinator_with_snapshots_is_read_in_groups_as_others_are_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("txnlog.sources.file_groups.WEIGHT_PER_TASK", 1)
    log(tmp_path)
    (tmp_path / PARTITION).rename(tmp_path / "broker-1/__transaction_state-0")
    groups = list(logs(inventory(str(tmp_path)).files, from_snapshots=True))
    assert len([group for group in groups if group.files]) > 1
    assert not any(group.from_snapshot for group in groups)


def test_both_ways_say_the_same_of_what_is_open(tmp_path: Path) -> None:
    log(tmp_path, {14: 7, 16: 7, 22: 8, 33: 9})
    ways = [found(tmp_path, full) for full in ("false", "true")]
    assert len(of(ways[0], "sums")) < len(of(ways[1], "sums"))
    for fact in ("open_data", "named_offset"):
        read, everything = (
            {(row["file"], row["producer_id"], row["start_offset"]): row for row in of(rows, fact)} for rows in ways
        )
        assert read
        assert {place: everything[place] for place in read} == read
        assert {place[1:] for place in everything} == {place[1:] for place in read}


def test_a_row_says_why_a_segment_was_not_read(tmp_path: Path) -> None:
    (row,) = (row for row in of(found(log(tmp_path)), "file") if row["file"].endswith(f"{20:020}.log"))
    assert row["problem"] == "not needed: the producer snapshot at offset 30 has what it left open (--full reads it)"
    assert (row["bytes_parsed"], row["batches"], row["damaged_to"]) == (0, None, None)


@pytest.mark.parametrize(
    ("fact", "source"),
    [
        ("state", TransactionStatesSource),
        ("producer_snapshot", ProducerSnapshotsSource),
        ("aborted_transaction", AbortedTransactionsSource),
        ("checkpoint", CheckpointsSource),
    ],
)
def test_records_and_entries_are_those_of_their_own_source(fact: str, source: type[DumpSource]) -> None:
    """Of the files themselves and of texts."""
    for dump in ("data/samples/kafka-3.5.2", "tests/texts/3.5.2"):
        place = str(Path(__file__).parents[3] / dump)
        own = source({"path": place})
        expected = [row for rows in own.rows(list(own.readable())) for row in rows.to_pylist()]
        rows = [row[fact] for row in of(found(Path(place)), fact)]
        assert expected or (fact, dump) == ("checkpoint", "tests/texts/3.5.2")
        assert sorted(map(repr, rows)) == sorted(map(repr, expected))


@pytest.mark.parametrize(
    ("newer", "why"),
    [
        (
            record(struct.pack(">h", 5), coordinator_key("orders-none")),
            "value: byte 0: the value of a coordinator record has version 5",
        ),
        (record(b"", coordinator_key("orders-none", version=1)), "its key has a version that is not known"),
    ],
    ids=["value", "key"],
)
def test_records_of_coordinators_that_are_not_decoded_are_counted_in_the_row_of_their_segment(
    newer: bytes, why: str, tmp_path: Path
) -> None:
    """A release to come may write another version: the bytes are whole, and yet nothing is certain below them."""
    value = TransactionState(1000, 0, 60_000, "Ongoing", [("orders", 1)], NOW, NOW)
    batches = [coordinator_record(value, "orders-none"), newer, newer, coordinator_record(value, "orders-none")]
    content = b"".join(batch(offset, [each]) for offset, each in enumerate(batches))
    put(tmp_path / "broker-1" / "__transaction_state-10" / f"{0:020}.log", content)
    (row,) = (row for row in of(found(tmp_path), "file") if row["file"].endswith(".log"))
    assert row["problem"] == f"records not decoded: 2, the first at offset 1: {why}"
    assert (row["bytes_damaged"], row["bytes_parsed"]) == (0, len(content))


def test_records_of_coordinators_are_handed_on_before_their_segment_is_read_to_its_end(tmp_path: Path) -> None:
    """So that no more of them are kept than a window has."""
    value = TransactionState(1000, 0, 60_000, "Ongoing", [("orders", 1)], NOW, NOW)
    content = batch(0, [coordinator_record(value, "orders-none")])
    put(tmp_path / "broker-1" / "__transaction_state-10" / f"{0:020}.log", content * (WINDOW // len(content)))
    source = EvidenceSource({"path": str(tmp_path)})
    facts = [rows["fact"][0].as_py() for rows in source.rows(list(source.readable()))]
    assert facts[:3] == ["state"] * 3
    assert facts.index("file") > 3
