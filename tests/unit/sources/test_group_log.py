"""What a piece of `__consumer_offsets` leaves is what a coordinator has after loading it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.group_writer import (
    classic_group,
    commit_key,
    commit_value,
    consumer_group,
    consumer_member,
    current_assignment,
    group_batch,
    group_key,
)
from tests.writer import ABORT, CODECS, COMMIT, Bytes, marker
from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.sources import group_events, group_log
from txnlog.sources.group_log import GroupLog
from txnlog.sources.group_rows import GroupRecordRow
from txnlog.sources.summary import SegmentSummary, summed_up
from txnlog.spark.schema import arrow_schema

FILE = DumpFile("", "b1/s/0.log", "b1", FileKind.SEGMENT, 0, 0, "c", "1", "__consumer_offsets", 10, 0)
TOPIC_ID = "tkBWRpVtQnqhjhPUUjDHPw"
KEYS = [commit_key("g", "t", 0), commit_key("g", "t", 1)]


def read(content: bytes, log: GroupLog | None = None) -> GroupLog:
    log = log or GroupLog()
    for run, control in summed_up(SegmentSummary(), Bytes(content), 0, True):
        log.add(FILE, run, control)
    return log


def rows(log: GroupLog) -> list[dict[str, Any]]:
    found = list(log.batches())
    assert all(each.schema == arrow_schema(GroupRecordRow) for each in found)
    return [row for each in found for row in each.to_pylist()]


def left(content: bytes) -> Iterator[dict[str, Any]]:
    for row in rows(read(content)):
        yield {name: value for name, value in row.items() if value is not None}


PLACE = {"cluster": "c", "broker": "1", "log_dir": "b1", "coordinator_partition": 10, "file": "b1/s/0.log"}


def test_a_commit_is_a_row() -> None:
    first = group_batch(0, (commit_key("g", "t", 7), commit_value(300, version=4, topic_id=TOPIC_ID)))
    assert list(left(first + group_batch(1, (commit_key("g", "t", 8), None)))) == [
        PLACE | {
            "position": 0, "offset": 0, "fate": "FINAL", "applied_at": 0, "record_type": "OFFSET_COMMIT",
            "is_tombstone": False, "group_id": "g", "topic": "t", "partition": 7, "topic_id": TOPIC_ID,
            "committed_offset": 300, "leader_epoch": 7, "metadata": "note", "commit_timestamp": 5,
        },
        PLACE | {
            "position": len(first), "offset": 1, "fate": "FINAL", "applied_at": 1, "record_type": "OFFSET_COMMIT",
            "is_tombstone": True, "group_id": "g", "topic": "t", "partition": 8,
        },
    ]  # fmt: skip


def test_members_are_rows() -> None:
    content = group_batch(
        0,
        (group_key("old"), classic_group([("m-1", [("t", 3)]), ("m-2", [])])),
        (group_key("connect"), classic_group([("w-1", [])], "connect")),
        (group_key("new", 3), consumer_group()),
        (group_key("new", 5, "m-3"), consumer_member("c")),
        (group_key("new", 8, "m-3"), current_assignment([(TOPIC_ID, [4])])),
    )
    members = {(row["group_id"], row["record_type"]): row.get("members") for row in left(content)}
    place = {"topic": "t", "topic_id": None, "partition": 3}
    classic = {"client_id": "client of m-1", "client_host": "/10.0.0.1", "partitions": [place]}
    other = {"client_id": "client of m-2", "client_host": "/10.0.0.1", "partitions": []}
    worker = {"client_id": "client of w-1", "client_host": "/10.0.0.1", "partitions": []}
    newer = {
        "client_id": None,
        "client_host": None,
        "partitions": [place | {"topic": None, "topic_id": TOPIC_ID, "partition": 4}],
    }
    assert members == {
        ("old", "GROUP_METADATA"): [{"member_id": "m-1"} | classic, {"member_id": "m-2"} | other],
        ("connect", "GROUP_METADATA"): [{"member_id": "w-1"} | worker],
        ("new", "CONSUMER_GROUP_METADATA"): None,
        ("new", "CONSUMER_GROUP_MEMBER_METADATA"): [
            {"member_id": "m-3", "client_id": "c", "client_host": "/10.0.0.2", "partitions": []}
        ],
        ("new", "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT"): [{"member_id": "m-3"} | newer],
    }


def test_what_is_not_known_is_counted_and_named() -> None:
    content = group_batch(
        0,
        (commit_key("g", "t", 0, 99), b"\0\0"),
        (commit_key("g", "t", 1, 99), b"\0\0"),
        (group_key("shared", 11), b"\0\0"),
        (KEYS[0], commit_value(1)),
    )
    newer = (KEYS[1], b"\0\x09" + commit_value(1)[2:])
    log = read(content + group_batch(4, newer) + group_batch(5, newer, codec="gzip"))
    found = rows(log)
    assert log.problem(FILE) == "not decoded: 2 OffsetCommitValue of version 9, 2 records of type 99"
    # What cannot be read is the last of its key all the same: the one before it no longer counts.
    assert [(row["partition"], row["committed_offset"], row["problem"]) for row in found] == [
        (0, 1, None),
        (1, None, "OffsetCommitValue of version 9"),
    ]


def test_records_that_cannot_be_read_are_counted() -> None:
    log = read(
        group_batch(0, (b"\0\1\0\x09g", b"\0"), (KEYS[0], b"\0\3\0")) + group_batch(2, (b"\0", b""), codec="gzip")
    )
    (row,) = rows(log)
    assert row["problem"] == "byte 2: a coordinator record ends too early"
    assert log.problem(FILE) == "not decoded: 2 records that cannot be read"


def test_a_batch_that_cannot_be_expanded_is_counted() -> None:
    log = read(group_batch(0, (KEYS[0], commit_value(1)), codec="gzip", record_count=3))
    assert (rows(log), log.problem(FILE)) == ([], "not decoded: 3 records that cannot be read")


class Loaded:
    """The committed offsets of a coordinator that has loaded a log (`GroupMetadataManager.doLoadGroupsAndOffsets`)."""

    def __init__(self) -> None:
        self.offsets: dict[bytes, int] = {}
        self.pending: dict[int, dict[bytes, int]] = {}

    def record(self, offset: int, key: bytes, is_tombstone: bool, producer_id: int) -> None:
        where = self.offsets if producer_id < 0 else self.pending.setdefault(producer_id, {})
        if is_tombstone:
            where.pop(key, None)
        else:
            where[key] = offset

    def end(self, producer_id: int, is_commit: bool) -> None:
        for key, offset in self.pending.pop(producer_id, {}).items():
            if is_commit and self.offsets.get(key, -1) < offset:
                self.offsets[key] = offset


COMMITS = st.tuples(
    st.just("commits"),
    st.integers(-1, 2),
    st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), min_size=1, max_size=3),
    st.sampled_from([*CODECS[:2], "none", "none"]),
)
ENDS = st.tuples(st.just("end"), st.integers(0, 2), st.booleans())
LOGS = st.lists(COMMITS | ENDS, max_size=14)


def written(log: list[tuple[Any, ...]]) -> tuple[list[bytes], Loaded]:
    """The batches of a log, and what a coordinator has after loading it."""
    batches, loaded, offset = [], Loaded(), 0
    for kind, producer_id, *rest in log:
        if kind == "end":
            (is_commit,) = rest
            batches.append(marker(offset, producer_id, kind=COMMIT if is_commit else ABORT))
            loaded.end(producer_id, is_commit)
            offset += 1
            continue
        records, codec = rest
        # A coordinator writes no tombstones in a transaction.
        content = [
            (key, None if is_gone and producer_id < 0 else commit_value(offset + delta))
            for delta, (key, is_gone) in enumerate(records)
        ]
        batches.append(group_batch(offset, *content, producer_id=producer_id, codec=codec))
        for delta, (key, value) in enumerate(content):
            loaded.record(offset + delta, key, value is None, producer_id)
        offset += len(records)
    return batches, loaded


def together(found: list[dict[str, Any]]) -> tuple[dict[bytes, int], dict[int, dict[bytes, int]]]:
    """Pieces put together: committed offsets, and what is still pending, by producer id."""
    markers = [row for row in found if row["fate"] == "MARKER"]
    offsets: dict[bytes, int] = {}
    pending: dict[int, dict[bytes, int]] = {}
    for key in KEYS:
        of_key = [
            row
            for row in found
            if row["fate"] != "MARKER" and commit_key(row["group_id"], row["topic"], row["partition"]) == key
        ]
        final = max((row for row in of_key if row["fate"] == "FINAL"), key=lambda row: row["offset"], default=None)
        candidates = []
        for row in of_key:
            ends = [
                each for each in markers if each["producer_id"] == row["producer_id"] and each["offset"] > row["offset"]
            ]
            end = min(ends, key=lambda each: each["offset"], default=None)
            if row["fate"] == "PENDING" and end is None:
                mine = pending.setdefault(row["producer_id"], {})
                mine[key] = max(mine.get(key, -1), row["offset"])
            elif row["fate"] == "COMMITTED" or (row["fate"] == "PENDING" and end and end["is_commit"]):
                candidates.append(
                    (row["offset"], row["applied_at"] if end is None or row["fate"] == "COMMITTED" else end["offset"])
                )
        if final is not None:
            since = final["offset"]
            candidates = [
                (at, applied) for at, applied in candidates if (applied if final["is_tombstone"] else at) > since
            ]
            candidates += [] if final["is_tombstone"] else [(since, since)]
        if candidates:
            offsets[key] = max(candidates)[0]
    return offsets, pending


@settings(deadline=None, max_examples=500)
@given(LOGS, st.lists(st.integers(0, 14), max_size=3))
def test_what_is_left_is_what_a_coordinator_loads(log: list[tuple[Any, ...]], cuts: list[int]) -> None:
    batches, loaded = written(log)
    places = sorted({0, len(batches), *(cut % (len(batches) + 1) for cut in cuts)})
    found = []
    for start, end in itertools.pairwise(places):
        found += rows(read(b"".join(batches[start:end])))
    offsets, pending = together(found)
    assert offsets == loaded.offsets
    assert pending == {producer_id: each for producer_id, each in loaded.pending.items() if each}


@settings(deadline=None, max_examples=100)
@given(LOGS)
def test_a_run_can_be_added_in_parts(log: list[tuple[Any, ...]]) -> None:
    batches, _ = written(log)
    content, in_parts = b"".join(batches), GroupLog()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(group_events, "BYTES_AT_ONCE", 200)
        for run, control in summed_up(SegmentSummary(), Bytes(content), 0, True):
            for first, last in group_events.parts_of(run):
                in_parts.add(FILE, run, control, first, last)

    def order(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["fate"], row["offset"], row["partition"] or 0

    assert sorted(rows(in_parts), key=order) == sorted(rows(read(content)), key=order)


def test_a_piece_is_handed_on_before_it_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_log, "BYTES_KEPT", 1000)
    log, handed_on = GroupLog(), []
    for number in range(100):
        read(group_batch(number, (commit_key("g", "t", number % 40), commit_value(number))), log)
        if log.is_full:
            handed_on.append(len(rows(log)))
    assert sum(handed_on) > 80
    assert max(handed_on) < 40
