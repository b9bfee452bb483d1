"""The walk through a segment: whole batches, and by name every stretch of bytes that is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import golden
from tests.walk import batches, damaged, pieces, stretches
from tests.writer import NOW, batch, data, marker, message, record
from txnlog.format import scan as walk
from txnlog.format import search
from txnlog.format.scan import Kind, Run, Stretch

SMALL = (data(5, count=2), marker(7), data(8, 1001, 3))
pytestmark = pytest.mark.usefixtures("each_walk")


def test_batches_of_real_brokers_are_read_in_one_run() -> None:
    found = pieces(golden.DATA + golden.MARKER + golden.DATA_ZSTD)
    assert [type(piece) for piece in found] == [Run]
    assert {position: header.crc for position, header in batches(found).items()} == {
        0: 2587589008,
        97: 1928435420,
        175: 2632090801,
    }


def test_older_messages_stand_among_batches() -> None:
    """Item 20."""
    content = golden.MAGIC_0 + golden.DATA_ZSTD + golden.MAGIC_1 + golden.WRAPPER
    found = pieces(content)
    headers = list(batches(found).values())
    assert [(header.magic, header.base_offset, header.record_count) for header in headers] == [
        (0, 41, 1),
        (2, 18, 3),
        (1, 42, 1),
        (1, 44, -1),
    ]
    assert [header.max_timestamp for header in headers] == [-1, 1795254396818, 1500000000123, 1500000000456]


def test_a_file_of_nothing_but_older_messages_is_read() -> None:
    assert len(batches(pieces(b"".join(message(offset, offset % 2) for offset in range(5))))) == 5


def test_an_empty_file_has_no_pieces() -> None:
    assert pieces(b"") == []


def test_a_batch_without_records_is_a_batch() -> None:
    """Item 4."""
    assert len(batches(pieces(batch(3, last_offset_delta=4)))) == 1


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 300)), min_size=1, max_size=12))
def test_everything_that_is_written_is_read_again(sizes: list[tuple[bool, int]]) -> None:
    written = {}
    content = b""
    for offset, (old, size) in enumerate(sizes):
        written[len(content)] = offset
        content += message(offset, 1, bytes(size)) if old else batch(offset, [record(bytes(size))])
    assert {position: each.base_offset for position, each in batches(pieces(content)).items()} == written


@pytest.mark.parametrize("zeros", [1, 11, 12, 17, 61, 5000])
def test_zeros_at_the_end_are_a_preallocated_file(zeros: int) -> None:
    """Item 22."""
    content = b"".join(SMALL)
    assert stretches(pieces(content + bytes(zeros))) == [(len(content), len(content) + zeros, Kind.ZEROS)]


def test_a_file_of_zeros_is_preallocated() -> None:
    assert stretches(pieces(bytes(100))) == [(0, 100, Kind.ZEROS)]


@pytest.mark.parametrize("hole", [1, 16, 61, 4096])
def test_a_hole_of_zeros_hides_no_batch_after_it(hole: int) -> None:
    found = pieces(SMALL[0] + bytes(hole) + SMALL[1])
    assert stretches(found) == [(len(SMALL[0]), len(SMALL[0]) + hole, Kind.UNREADABLE)]
    assert list(batches(found)) == [0, len(SMALL[0]) + hole]


def test_a_wrong_checksum_keeps_its_place_and_its_header() -> None:
    """Item 22: a batch with a wrong checksum is marked; the ones around it are read."""
    first, second, third = SMALL
    found = pieces(first + damaged(second) + third)
    start, end = len(first), len(first + second)
    assert stretches(found) == [(start, end, Kind.CRC_MISMATCH)]
    (stretch,) = (piece for piece in found if isinstance(piece, Stretch))
    assert stretch.header is not None
    assert (stretch.header.base_offset, stretch.header.producer_id) == (7, 1000)
    assert list(batches(found)) == [0, end]


def test_a_wrong_checksum_at_the_end_of_the_file_is_not_a_tail() -> None:
    assert stretches(pieces(SMALL[0] + damaged(SMALL[1]))) == [
        (len(SMALL[0]), len(SMALL[0] + SMALL[1]), Kind.CRC_MISMATCH)
    ]


def test_two_damaged_batches_in_a_row_hide_nothing_after_them() -> None:
    first, second, third = SMALL
    content = first + damaged(second) + damaged(first) + third
    found = pieces(content)
    end = len(content) - len(third)
    assert list(batches(found)) == [0, end]
    assert [piece[:2] for piece in stretches(found)] in (
        [(len(first), end)],
        [(len(first), len(first + second)), (len(first + second), end)],
    )


def test_a_checksum_of_an_older_message_is_checked() -> None:
    found = pieces(message(0, 1) + damaged(message(1, 1)) + message(2, 1))
    assert stretches(found) == [(39, 78, Kind.CRC_MISMATCH)]


CUTS = [
    pytest.param(5, False, id="not even a length"),
    pytest.param(16, False, id="no magic"),
    pytest.param(40, False, id="half a header"),
    pytest.param(61, True, id="a header"),
    pytest.param(90, True, id="a header and half of the records"),
]


@pytest.mark.parametrize(("kept", "whole_header"), CUTS)
def test_a_batch_cut_short_is_the_tail_and_tells_whose_it_is_if_it_can(kept: int, whole_header: bool) -> None:
    """Item 22: normal for a log that was copied while it was written."""
    found = pieces(SMALL[0] + data(2**56, 4711, count=3)[:kept])
    assert stretches(found) == [(len(SMALL[0]), len(SMALL[0]) + kept, Kind.CUT_SHORT)]
    tail = found[-1]
    assert isinstance(tail, Stretch)
    assert (tail.header.producer_id if tail.header else None) == (4711 if whole_header else None)


@pytest.mark.parametrize("size", [-(2**31), -1, 0, 13, 48])
def test_a_length_that_is_too_small_is_damage_and_not_a_tail(size: int) -> None:
    """Item 22: a size below 14 is corruption; a header of magic 2 has 49 bytes after the length."""
    content = bytearray(SMALL[0])
    content[8:12] = size.to_bytes(4, "big", signed=True)
    found = pieces(bytes(content) + SMALL[1])
    assert stretches(found) == [(0, len(SMALL[0]), Kind.UNREADABLE)]
    assert list(batches(found)) == [len(SMALL[0])]
    assert stretches(pieces(bytes(content))) == [(0, len(SMALL[0]), Kind.UNREADABLE)]


@pytest.mark.parametrize("size", [60, 2**20, 2**31 - 1])
def test_a_length_that_is_too_large_hides_nothing_after_it(size: int) -> None:
    content = bytearray(SMALL[0])
    content[8:12] = size.to_bytes(4, "big")
    found = pieces(bytes(content) + SMALL[1] + SMALL[2])
    assert stretches(found) == [(0, len(SMALL[0]), Kind.UNREADABLE)]
    assert list(batches(found)) == [len(SMALL[0]), len(SMALL[0] + SMALL[1])]


@pytest.mark.parametrize("window", [64, 100, 256, 1000])
def test_windows_end_anywhere_and_batches_may_be_longer(monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    for module, name in ((walk, "WINDOW"), (walk, "WINDOW_AFTER_DAMAGE"), (search, "WINDOW"), (search, "LOOK_AHEAD")):
        monkeypatch.setattr(module, name, window)
    long = batch(100, [record(bytes(range(256)) * 4)], max_timestamp=NOW + 9)
    content = SMALL[0] + damaged(SMALL[1]) + long + b"junk" * 99 + message(7, 1, bytes(300)) + long + SMALL[2]
    content += bytes(5 * window)
    found = pieces(content)
    long_at = len(SMALL[0] + SMALL[1])
    after_junk = content.index(long, long_at + 1)
    assert set(batches(found)) >= {0, long_at, after_junk, after_junk + len(long)}
    assert batches(found)[long_at].max_timestamp == NOW + 9
    assert stretches(found)[-1] == (len(content) - 5 * window, len(content), Kind.ZEROS)


def test_a_long_batch_with_a_wrong_checksum_hides_nothing_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "WINDOW", 128)
    long = batch(100, [record(bytes(1000))])
    found = pieces(SMALL[0] + damaged(long) + SMALL[1])
    assert list(batches(found)) == [0, len(SMALL[0] + long)]


@given(st.binary(max_size=300) | st.lists(st.sampled_from([0, 2, 255, 64]), max_size=300).map(bytes))
def test_any_bytes_are_walked_to_their_end(content: bytes) -> None:
    pieces(content)
    assert 0 in batches(pieces(SMALL[0] + content))
