"""Records of coordinators, many at a time: the same as one after the other, whatever is in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.coordinator_writer import STATES, coordinator_key, coordinator_value
from tests.writer import Bytes, batch, record
from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.format.coordinator import TransactionState
from txnlog.format.coordinator_batches import usual_records
from txnlog.format.scan import Run, scan
from txnlog.sources.coordinator_states import coordinator_states

FILE = DumpFile("", "b1/s/0.log", "b1", FileKind.SEGMENT, 0, 0, "c", "1", "__transaction_state", 10, 0)
INT16, INT32, INT64 = (st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (16, 32, 64))
NAMES = st.text("abc.-_", max_size=12) | st.sampled_from(["pay.€", "x" * 249, "x" * 250])
STATE = st.builds(
    TransactionState,
    INT64, INT16, INT32, st.sampled_from(STATES),
    st.none() | st.lists(st.tuples(NAMES, INT32), max_size=6)
    | st.integers(63, 66).map(lambda count: [(f"t{number}", number) for number in range(count)]),
    INT64, INT64, INT64, INT64, INT16, INT16,
)  # fmt: skip
TAGS = st.dictionaries(st.integers(4, 2**31 - 1), st.binary(max_size=200), max_size=3)
VALUES = st.none() | st.builds(coordinator_value, STATE, st.sampled_from([0, 1]), TAGS)
IDS = st.text("abc-0", max_size=40) | st.sampled_from(["\N{ROCKET}-payments", "x" * 1024, "x" * 1025, "orders-none"])
KEYS = st.builds(coordinator_key, IDS, st.sampled_from([0, 0, 0, 1]))
RECORDS = st.builds(record, VALUES, st.none() | KEYS, st.integers(0, 300), st.integers(-300, 2**40))


def rows(batches: list[bytes]) -> list[dict[str, Any]]:
    found = coordinator_states(FILE, Bytes(b"".join(batches)))
    every = (row for each in found for row in each.to_pylist())
    return [row | {"position": None} for row in sorted(every, key=lambda row: row["position"])]


def changed(content: bytes, place: int, byte: int) -> bytes:
    found = bytearray(content)
    found[place % len(found)] = byte
    return bytes(found)


@given(st.lists(RECORDS, min_size=1, max_size=4))
def test_records_are_read_at_once_as_they_are_read_one_by_one(records: list[bytes]) -> None:
    """Whatever is compressed is read one by one."""
    at_once = rows([batch(1000 * number, [each]) for number, each in enumerate(records)])
    assert at_once == rows([batch(1000 * number, [each], codec="zstd") for number, each in enumerate(records)])


@given(st.lists(RECORDS, min_size=1, max_size=3), st.integers(0, 10_000), st.integers(0, 255))
def test_damaged_records_are_read_at_once_as_they_are_read_one_by_one(
    records: list[bytes], place: int, byte: int
) -> None:
    damaged = [changed(each, place, byte) for each in records]
    at_once = rows([batch(1000 * number, [each]) for number, each in enumerate(damaged)])
    assert at_once == rows([batch(1000 * number, [each], codec="zstd") for number, each in enumerate(damaged)])


ONE = TransactionState(1000, 3, 60_000, "Ongoing", [("orders", 1)], 1_700_000_000_000, 1_700_000_000_000, -1, -1, 0, -1)
WITHOUT_PARTITIONS = ONE._replace(topic_partitions=None)
# Of a topic. Taken for what stands after topics without tags, its bytes are two times and a tag up to the end.
CRAFTED = {5: bytes(14) + b"\1\x09\x14" + bytes(3)}
UNUSUAL = {
    "a byte too many": coordinator_value(ONE, 0) + b"\0",
    "a byte too many after tags": coordinator_value(ONE, 1) + b"\0",
    "a tag of another size": coordinator_value(WITHOUT_PARTITIONS, 1, {0: bytes(7)}),
    "a tag of another size before others": coordinator_value(WITHOUT_PARTITIONS, 1, {2: bytes(3), 3: bytes(2)}),
    "a tag of a topic": coordinator_value(ONE, 1, CRAFTED)[: -len(CRAFTED[5]) - 3] + b"\0",
}


@pytest.mark.parametrize("value", UNUSUAL.values(), ids=UNUSUAL)
def test_what_looks_like_a_usual_record_to_its_end_is_read_as_alone(value: bytes) -> None:
    content = record(value, coordinator_key("orders-1"))
    assert rows([batch(0, [content])]) == rows([batch(0, [content], codec="zstd")])


@given(st.lists(STATE, min_size=1, max_size=5), st.sampled_from([0, 1]))
def test_what_coordinators_write_is_read_at_once(states: list[TransactionState], version: int) -> None:
    plain = [state._replace(topic_partitions=[("orders", 1), ("pay", 2)]) for state in states]
    content = b"".join(batch(0, [record(coordinator_value(each, version), coordinator_key("a"))]) for each in plain)
    (run,) = (piece for piece in scan(Bytes(content)) if isinstance(piece, Run))
    assert usual_records(run, np.arange(len(states))).indexes.tolist() == list(range(len(states)))
