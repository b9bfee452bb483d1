"""Segments of `__transaction_state` as rows: states, tombstones, and what is wrong with a record."""

from __future__ import annotations

import re
import struct
from typing import Any

import pytest

from tests import golden
from tests.coordinator_writer import coordinator_key, coordinator_record, coordinator_value
from tests.writer import CODECS, Bytes, batch, compressed, data, marker, message, record
from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.format.compression import LARGEST_EXPANDED
from txnlog.format.coordinator import TransactionState
from txnlog.sources import coordinator_states as coordinator
from txnlog.sources.coordinator_states import coordinator_states
from txnlog.sources.rows import TransactionStateRow
from txnlog.spark.schema import arrow_schema

FILE = DumpFile("", "b1/s/0.log", "b1", FileKind.SEGMENT, 0, 0, "c", "1", "__transaction_state", 10, 0)
# Belongs to partition 10 of 50, as Java says.
ID = "orders-none"
ONGOING = TransactionState(1000, 3, 60000, "Ongoing", [("orders", 1), ("orders", 2), ("pay", 0)], 9, 8)


def rows(content: bytes) -> list[dict[str, Any]]:
    found = list(coordinator_states(FILE, Bytes(content)))
    assert all(each.schema == arrow_schema(TransactionStateRow) for each in found)
    # What is read one record after the other follows what is not.
    return sorted((row for each in found for row in each.to_pylist()), key=lambda row: row["position"])


def test_a_record_of_a_real_coordinator_is_a_row() -> None:
    (row,) = rows(golden.COORDINATOR)
    assert row == {
        "cluster": "c", "broker": "1", "log_dir": "b1", "coordinator_partition": 10, "file": "b1/s/0.log",
        "position": 0, "offset": 2, "coordinator_epoch": 3, "append_timestamp": 1795253563623,
        "transactional_id": ID, "is_tombstone": False, "state": "Ongoing", "producer_id": 1000, "producer_epoch": 0,
        "previous_producer_id": None, "next_producer_id": None, "next_producer_epoch": None,
        "client_transaction_version": 0, "timeout_ms": 9000,
        "topic_partitions": [
            {"topic": "__consumer_offsets", "partition": 3},
            {"topic": "orders", "partition": 0},
            {"topic": "orders", "partition": 1},
        ],
        "last_update_timestamp": 1795253563622, "start_timestamp": 1795253563482, "problem": None,
    }  # fmt: skip


def test_tags_of_a_record_are_columns() -> None:
    state = ONGOING._replace(
        previous_producer_id=900, next_producer_id=1234, client_transaction_version=2, next_producer_epoch=5
    )
    (row,) = rows(batch(0, [coordinator_record(state, ID, version=1)]))
    names = ("previous_producer_id", "next_producer_id", "next_producer_epoch", "client_transaction_version")
    assert [row[name] for name in names] == [900, 1234, 5, 2]


def test_what_is_not_set_is_null() -> None:
    """Item 30: partitions are null in Empty, empty in Complete*; the start is -1 in Empty."""
    empty = TransactionState(1000, 3, 60000, "Empty", None, 9, -1)
    complete = ONGOING._replace(state="CompleteCommit", topic_partitions=[])
    found = rows(batch(0, [coordinator_record(empty, ID), coordinator_record(complete, ID, version=1, delta=1)]))
    assert [(row["topic_partitions"], row["start_timestamp"]) for row in found] == [(None, None), ([], 8)]


def test_a_null_value_is_a_tombstone() -> None:
    """Item 28."""
    (row,) = rows(batch(5, [coordinator_record(None, ID)]))
    assert (row["is_tombstone"], row["transactional_id"], row["state"], row["problem"]) == (True, ID, None, None)


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_is_read_with_every_codec(codec: str) -> None:
    """Item 19."""
    records = [coordinator_record(ONGOING, ID, version=number % 2, delta=2 * number) for number in range(40)]
    found = rows(batch(100, records, codec=codec, partition_leader_epoch=4, last_offset_delta=78))
    assert [row["offset"] for row in found] == list(range(100, 180, 2))
    assert {row["coordinator_epoch"] for row in found} == {4}
    assert {row["problem"] for row in found} == {None}


def test_a_key_of_another_version_is_a_row_without_an_id() -> None:
    """Item 28: skipped, yet counted."""
    (row,) = rows(batch(0, [record(b"\0\x09", coordinator_key(ID, version=7))]))
    assert (row["transactional_id"], row["state"], row["is_tombstone"], row["problem"]) == (None, None, False, None)


def status(number: int) -> bytes:
    value = bytearray(coordinator_value(ONGOING))
    value[16] = number
    return bytes(value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(record(coordinator_value(ONGOING), None), "key: ", id="a null key"),
        pytest.param(record(coordinator_value(ONGOING), b"\0\0\0\x09x"), "key: ", id="a key that lies"),
        pytest.param(record(status(6), coordinator_key(ID)), "value: byte 16: status 6 ", id="Dead"),
        pytest.param(record(status(7), coordinator_key(ID)), "value: byte 16: status 7 ", id="PrepareEpochFence"),
        pytest.param(record(struct.pack(">h", 2), coordinator_key(ID)), "value: .*version 2", id="a version to come"),
        pytest.param(record(b"", coordinator_key(ID)), "value: ", id="an empty value"),
        pytest.param(record(coordinator_value(ONGOING)[:-1], coordinator_key(ID)), "value: ", id="a value cut off"),
    ],
)
def test_a_record_that_cannot_be_read_is_a_row_that_says_so(content: bytes, problem: str) -> None:
    """Item 30: quarantined; the records around it are read."""
    good = coordinator_record(ONGOING, ID)
    first, bad, last = rows(batch(0, [good]) + batch(1, [content]) + batch(2, [good]))
    assert first["problem"] is last["problem"] is None
    assert bad["state"] is None
    assert bad["offset"] == 1
    assert re.match(problem, bad["problem"])


GOOD = coordinator_record(ONGOING, ID)


@pytest.mark.parametrize(
    ("content", "before"),
    [
        pytest.param(batch(1, [GOOD], record_count=2), 1, id="more records are claimed than are there"),
        pytest.param(batch(1, [GOOD], record_count=2**31 - 1), 1, id="as many as an int32 holds"),
        pytest.param(batch(1, [GOOD, GOOD], record_count=1), 1, id="fewer records are claimed than are there"),
        pytest.param(batch(1, [GOOD, b"\x7f"]), 1, id="a record of a negative length"),
        pytest.param(batch(1, [GOOD], attributes=1), 0, id="no gzip where gzip is claimed"),
        pytest.param(batch(1, [GOOD], attributes=6), 0, id="a codec that is not known"),
        pytest.param(message(1, 1), 0, id="a message of magic 1"),
    ],
)
def test_a_batch_that_lies_is_a_row_that_says_so_and_hides_nothing_after_it(content: bytes, before: int) -> None:
    found = rows(content + batch(5, [GOOD]))
    assert [row["problem"] is None for row in found] == [True] * before + [False, True]
    assert found[before]["problem"].startswith("records of the batch: ")
    assert (found[before]["offset"], found[-1]["offset"]) == (1, 5)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_batch_that_expands_without_end_is_a_row_that_says_so(codec: str) -> None:
    bomb = compressed(bytes(LARGEST_EXPANDED + 1), codec)
    (row,) = rows(batch(0, [bomb], attributes=CODECS.index(codec)))
    assert f"expands to more than {LARGEST_EXPANDED} bytes" in row["problem"]


def test_control_batches_and_damaged_ones_are_no_rows() -> None:
    damaged = bytearray(batch(3, [GOOD]))
    damaged[-1] ^= 1
    assert [row["offset"] for row in rows(batch(1, [GOOD]) + marker(2) + damaged + batch(4, [GOOD]))] == [1, 4]


def test_an_emptied_batch_is_no_row() -> None:
    assert rows(batch(0, last_offset_delta=3)) == []


def test_no_row_is_lost_where_a_run_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "BYTES_AT_ONCE", 300)
    content = b"".join(batch(number, [GOOD]) for number in range(20))
    assert [row["offset"] for row in rows(content)] == list(range(20))


def test_a_batch_that_is_none_of_a_coordinator_is_a_problem_and_no_error() -> None:
    assert [row["problem"] is None for row in rows(data(0, count=2))] == [False, False]
