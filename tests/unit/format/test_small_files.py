"""Producer snapshots, transaction indexes, checkpoints and properties."""

from __future__ import annotations

import struct

import fastcrc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden import SNAPSHOT, TRANSACTION_INDEX
from tests.writer import checkpoint, snapshot, transaction_index
from txnlog.errors import FormatError
from txnlog.format.checkpoint import (
    LeaderEpoch,
    OffsetCheckpoint,
    leader_epochs,
    offset_checkpoints,
    properties,
)
from txnlog.format.snapshot import ProducerSnapshotEntry, snapshot_entries
from txnlog.format.transaction_index import AbortedTransaction, aborted_transactions

INT16, INT32, INT64 = (st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (16, 32, 64))
ENTRIES = st.builds(ProducerSnapshotEntry, INT64, INT16, INT32, INT64, INT32, INT64, INT32, INT64)
OFFSETS = st.integers(0, 2**63 - 1)

# --- producer snapshots (item 24) ---


def test_a_snapshot_of_a_real_broker_is_read_as_kafka_dump_log_prints_it() -> None:
    expected = ProducerSnapshotEntry(2007, 3, 9, 5, 0, 1795254903595, 6, 3)
    assert [ProducerSnapshotEntry(*entry.item()) for entry in snapshot_entries(SNAPSHOT)] == [expected]
    assert snapshot([expected]) == SNAPSHOT


@given(st.lists(ENTRIES, max_size=20))
def test_every_snapshot_that_is_written_is_read_again(entries: list[ProducerSnapshotEntry]) -> None:
    assert [tuple(entry.item()) for entry in snapshot_entries(snapshot(entries))] == entries


def test_every_cut_of_a_snapshot_is_an_error() -> None:
    for end in range(len(SNAPSHOT)):
        with pytest.raises(FormatError):
            snapshot_entries(SNAPSHOT[:end])


def test_every_flipped_bit_of_a_snapshot_is_an_error() -> None:
    for bit in range(8 * len(SNAPSHOT)):
        flipped = bytearray(SNAPSHOT)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FormatError):
            snapshot_entries(bytes(flipped))


@pytest.mark.parametrize("count", [0, 2, -1, 2**31 - 1, -(2**31)])
def test_a_snapshot_that_lies_about_its_number_of_entries_is_an_error(count: int) -> None:
    checked = struct.pack(">i", count) + SNAPSHOT[10:]
    with pytest.raises(FormatError, match=f"{count} entries"):
        snapshot_entries(struct.pack(">hI", 1, fastcrc.crc32.iscsi(checked)) + checked)


# --- transaction indexes (item 25) ---


def test_an_index_of_a_real_broker_is_read_as_kafka_dump_log_prints_it() -> None:
    expected = [
        (0, 1000, 5, 9, 10),
        (0, 1001, 20, 24, 25),
        (0, 1002, 35, 39, 40),
        (0, 1003, 50, 54, 55),
        (0, 1004, 65, 69, 70),
    ]
    assert [entry.item() for entry in aborted_transactions(TRANSACTION_INDEX)] == expected


@given(st.lists(st.builds(AbortedTransaction, st.integers(0, 2**15 - 1), INT64, OFFSETS, OFFSETS, INT64)))
def test_every_index_that_is_written_is_read_again(entries: list[AbortedTransaction]) -> None:
    entries = [each._replace(last_offset=max(each[2:4])) for each in entries]
    assert [entry.item() for entry in aborted_transactions(transaction_index(entries))] == entries


def test_an_index_is_cut_between_entries_or_an_error() -> None:
    for end in range(len(TRANSACTION_INDEX)):
        if end % 34:
            with pytest.raises(FormatError, match=f"byte {end - end % 34}:"):
                aborted_transactions(TRANSACTION_INDEX[:end])
        else:
            assert len(aborted_transactions(TRANSACTION_INDEX[:end])) == end // 34


@pytest.mark.parametrize("wrong", [{"version": -1}, {"first_offset": 70}], ids=["version", "ends before its start"])
def test_an_entry_that_cannot_be_one_is_named_by_its_byte(wrong: dict[str, int]) -> None:
    entry = AbortedTransaction(0, 1004, 65, 69, 70)
    with pytest.raises(FormatError, match="byte 34:"):
        aborted_transactions(transaction_index([entry, entry._replace(**wrong)]))


# --- checkpoints and properties (item 26) ---

TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True)


@given(st.lists(st.tuples(TOPICS, st.integers(0, 2**31 - 1), st.integers(-1, 2**63 - 1))))
def test_every_offset_checkpoint_that_is_written_is_read_again(lines: list[tuple[str, int, int]]) -> None:
    assert offset_checkpoints(checkpoint(lines)) == [OffsetCheckpoint(*line) for line in lines]


@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), OFFSETS)))
def test_every_leader_epoch_checkpoint_that_is_written_is_read_again(lines: list[tuple[int, int]]) -> None:
    assert leader_epochs(checkpoint(lines)) == [LeaderEpoch(*line) for line in lines]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("0\n", id="no number of entries"),
        pytest.param("1\n0\n", id="another version"),
        pytest.param("0\n2\na 0 5\n", id="cut off"),
        pytest.param("0\n1\na 0 5\nb 0 5\n", id="more lines than it says"),
        pytest.param("0\n-1\n", id="a negative number of entries"),
        pytest.param("0\n1\na 0\n", id="too few words"),
        pytest.param("0\n1\na b 0 5\n", id="too many words"),
        pytest.param("0\n1\na 0 x\n", id="an offset that is no number"),
        pytest.param("0\n1\na 0 --5\n", id="an offset with two signs"),
        pytest.param("0\n1\na 0 -\n", id="a sign alone"),
        pytest.param("0\n1\na 0 9223372036854775808\n", id="an offset beyond int64"),
        pytest.param("0\n1\na 2147483648 0\n", id="a partition beyond int32"),
        pytest.param("0\n1\na 0 " + "9" * 5000, id="an offset of thousands of digits"),
        pytest.param("0\n" + "9" * 5000 + "\n", id="a number of entries of thousands of digits"),
    ],
)
def test_a_checkpoint_that_cannot_be_one_is_an_error(text: str) -> None:
    with pytest.raises(FormatError):
        offset_checkpoints(text)


@pytest.mark.parametrize("text", ["0\n1\n0\n", "0\n1\nx 5\n", "0\n1\n1 2 3\n", "0\n1\n2147483648 0\n"])
def test_a_leader_epoch_checkpoint_that_cannot_be_one_is_an_error(text: str) -> None:
    with pytest.raises(FormatError):
        leader_epochs(text)


@given(st.text(max_size=40))
def test_any_text_is_a_checkpoint_or_a_format_error(text: str) -> None:
    for read in (offset_checkpoints, leader_epochs):
        for start in ("", "0\n1\n"):
            try:
                assert isinstance(read(start + text), list)
            except FormatError:
                continue


def test_properties_come_with_equals_signs_and_with_colons() -> None:
    meta = "#\n#Fri Jan 01 00:00:00 UTC 2021\ncluster.id=5L6g3nShT-eMCtK--X86sw\nnode.id = 1\n\nversion=1\n"
    assert properties(meta) == {"cluster.id": "5L6g3nShT-eMCtK--X86sw", "node.id": "1", "version": "1"}
    assert properties("version: 0\ntopic_id: Ad8Nv_-ZQBqv3FLxmHXmAA")["topic_id"] == "Ad8Nv_-ZQBqv3FLxmHXmAA"
