"""Records of `__transaction_state`: bytes that Kafka wrote, what was written, and what lies."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import golden
from tests.coordinator_writer import STATES, coordinator_key, coordinator_value
from tests.writer import unsigned_varint
from txnlog.errors import FormatError
from txnlog.format.batch import HEADER_SIZE
from txnlog.format.coordinator import TransactionState, transaction_state, transactional_id_of_key
from txnlog.format.record import records

ROCKET = "\N{ROCKET}-payments"


def test_a_record_of_kafka_3_5_is_read_as_kafka_dump_log_prints_it() -> None:
    (record,) = records(golden.COORDINATOR[HEADER_SIZE:], 1)
    assert transactional_id_of_key(record.key) == "orders-none"
    partitions = [("__consumer_offsets", 3), ("orders", 0), ("orders", 1)]
    expected = TransactionState(1000, 0, 9000, "Ongoing", partitions, 1795253563622, 1795253563482)
    assert transaction_state(record.value or b"") == expected


def test_a_record_of_kafka_4_3_is_read_as_kafka_dump_log_prints_it() -> None:
    (record,) = records(golden.COORDINATOR_V1[HEADER_SIZE:], 1)
    assert transactional_id_of_key(record.key) == "lost-commit.leaderless-tv2-id"
    partitions = [("lost-commit.leaderless-tv2", 0)]
    assert transaction_state(record.value or b"") == TransactionState(
        1015, 1, 10000, "PrepareCommit", partitions, 1795254423228, 1795254420316, 1015, -1, 2, -1
    )


# What was set in Kafka's own TransactionLogValue before it wrote these bytes.
BY_KAFKA = TransactionState(
    1001,
    32766,
    60000,
    "PrepareCommit",
    [("orders", 7), ("orders", 300), ("pay.€", 0)],
    1700000000123,
    1700000000001,
)
TAGS: dict[str, Any] = {
    "previous_producer_id": 900,
    "next_producer_id": 1234,
    "client_transaction_version": 2,
    "next_producer_epoch": 5,
}
EMPTY = TransactionState(4000, 0, 2147483647, "Empty", None, 5, -1)


@pytest.mark.parametrize(
    ("content", "state"),
    [
        pytest.param(golden.VALUE_V0, BY_KAFKA, id="version 0"),
        pytest.param(golden.VALUE_V1, BY_KAFKA._replace(**TAGS), id="version 1 with all tags"),
        pytest.param(golden.VALUE_UNKNOWN_TAGS, BY_KAFKA._replace(**TAGS), id="with tags that nobody knows yet"),
        pytest.param(golden.EMPTY_V0, EMPTY, id="null partitions, version 0"),
        pytest.param(golden.EMPTY_V1, EMPTY, id="null partitions, version 1"),
    ],
)
def test_values_that_kafka_wrote_are_read(content: bytes, state: TransactionState) -> None:
    assert transaction_state(content) == state


def test_a_key_that_kafka_wrote_is_read() -> None:
    assert transactional_id_of_key(golden.KEY) == ROCKET


INT16, INT32, INT64 = (st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (16, 32, 64))
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from([ROCKET, "a.b_c-d"])
VALUES = st.builds(
    TransactionState,
    INT64, INT16, INT32, st.sampled_from(STATES),
    st.none() | st.lists(st.tuples(NAMES, INT32), max_size=6),
    INT64, INT64, INT64, INT64, INT16, INT16,
)  # fmt: skip


@given(VALUES, st.dictionaries(st.integers(4, 2**31 - 1), st.binary(max_size=200), max_size=3))
def test_every_value_of_version_1_that_is_written_is_read_again(
    state: TransactionState, tags: dict[int, bytes]
) -> None:
    """Item 29."""
    assert transaction_state(coordinator_value(state, 1, tags)) == state


@given(VALUES)
def test_every_value_of_version_0_that_is_written_is_read_again(state: TransactionState) -> None:
    """Item 29. Version 0 has no tags."""
    without_tags = TransactionState(*state[:7])
    assert transaction_state(coordinator_value(state, 0)) == without_tags


@given(NAMES)
def test_every_key_that_is_written_is_read_again(name: str) -> None:
    assert transactional_id_of_key(coordinator_key(name)) == name


@given(st.integers(-(2**15), 2**15 - 1).filter(bool))
def test_a_key_of_another_version_is_skipped(version: int) -> None:
    """Item 28: a coordinator of the future may have written it; what follows the version is not looked at."""
    assert transactional_id_of_key(coordinator_key("id", version)) is None
    assert transactional_id_of_key(struct.pack(">h", version)) is None


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(None, id="null"),
        pytest.param(b"\0", id="shorter than its version"),
        pytest.param(b"\0\0\0", id="half a length"),
        pytest.param(b"\0\0\0\x03id", id="an id longer than the key"),
        pytest.param(b"\0\0\0\x01id", id="an id shorter than the key"),
        pytest.param(b"\0\0\xff\xff", id="an id of a negative length"),
        pytest.param(b"\0\0\0\x01\xff", id="an id that is not UTF-8"),
    ],
)
def test_a_key_that_cannot_be_one_is_an_error(key: bytes | None) -> None:
    with pytest.raises(FormatError):
        transactional_id_of_key(key)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("status", [6, 7, 8, -1, 127])
def test_a_status_that_is_never_on_disk_is_an_error(version: int, status: int) -> None:
    """Item 30: Dead and PrepareEpochFence are states of the coordinator's memory."""
    content = bytearray(coordinator_value(BY_KAFKA, version))
    content[16:17] = struct.pack(">b", status)
    with pytest.raises(FormatError, match=f"byte 16: status {status} "):
        transaction_state(bytes(content))


@pytest.mark.parametrize("version", [2, 10, -1])
def test_a_value_of_an_unknown_version_is_an_error(version: int) -> None:
    with pytest.raises(FormatError, match=f"version {version}"):
        transaction_state(struct.pack(">h", version) + golden.VALUE_V1[2:])


FIXED = golden.VALUE_V0[2:17]
TIMES = struct.pack(">qq", 1, 1)
HUGE = unsigned_varint(2**32)
LIES = [
    pytest.param(0, struct.pack(">i", 2**31 - 1) + TIMES, id="topics beyond the end"),
    pytest.param(0, struct.pack(">ih1si", 1, 1, b"t", 2**31 - 1) + TIMES, id="partitions beyond the end"),
    pytest.param(0, struct.pack(">ih1si", 1, 1, b"t", -1) + TIMES, id="null partitions of a topic"),
    pytest.param(0, struct.pack(">ih", 1, 32767) + TIMES, id="a topic beyond the end"),
    pytest.param(0, struct.pack(">ihi", 1, -1, 0) + TIMES, id="a null topic"),
    pytest.param(0, struct.pack(">ih1si", 1, 1, b"\xff", 0) + TIMES, id="a topic that is not UTF-8"),
    pytest.param(0, struct.pack(">i", 0) + TIMES + b"\0", id="bytes after the last field"),
    pytest.param(1, HUGE + TIMES + b"\0", id="compact: topics beyond the end"),
    pytest.param(1, b"\x02\x02t" + HUGE + b"\0" + TIMES + b"\0", id="compact: partitions beyond the end"),
    pytest.param(1, b"\x02\x02t\0\0" + TIMES + b"\0", id="compact: null partitions of a topic"),
    pytest.param(1, b"\x02" + HUGE + TIMES + b"\0", id="compact: a topic beyond the end"),
    pytest.param(1, b"\x02\0\x01\0" + TIMES + b"\0", id="compact: a null topic"),
    pytest.param(1, b"\0" + TIMES + HUGE, id="tags beyond the end"),
    pytest.param(1, b"\0" + TIMES + b"\x01\x09" + HUGE, id="a tag longer than the value"),
    pytest.param(1, b"\0" + TIMES + b"\x01\x01\x04\0\0\0\0", id="a known tag of another width"),
    pytest.param(1, b"\0" + TIMES + b"\xff\xff\xff\xff\xff", id="a number of tags that does not end"),
    pytest.param(1, b"\0" + TIMES + b"\0\0", id="compact: bytes after the last field"),
]


@pytest.mark.parametrize(("version", "rest"), LIES)
def test_a_value_that_lies_is_an_error(version: int, rest: bytes) -> None:
    with pytest.raises(FormatError):
        transaction_state(struct.pack(">h", version) + FIXED + rest)


@pytest.mark.parametrize("content", [golden.VALUE_V0, golden.VALUE_V1, golden.EMPTY_V0, golden.EMPTY_V1])
def test_every_cut_of_a_value_is_an_error(content: bytes) -> None:
    for end in range(len(content)):
        with pytest.raises(FormatError):
            transaction_state(content[:end])


@pytest.mark.parametrize("content", [golden.VALUE_V0, golden.VALUE_V1])
def test_every_flipped_bit_of_a_value_is_a_state_or_an_error(content: bytes) -> None:
    for bit in range(8 * len(content)):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            assert transaction_state(bytes(flipped)).state in STATES
        except FormatError:
            continue
