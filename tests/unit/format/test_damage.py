"""Every cut and every flipped bit of a small segment; payloads that hold batches; files made to be slow."""

from __future__ import annotations

import pytest

from tests.walk import batches, damaged, pieces, stretches
from tests.writer import Bytes, batch, data, marker, message, record
from txnlog.format.batch import RecordBatchHeader
from txnlog.format.scan import Kind, Run, scan

pytestmark = pytest.mark.usefixtures("each_walk")
# An older message as in a log that was converted, three batches with a marker between them, and a last one.
BATCHES = (message(0, 1, b"old"), data(1), marker(2), data(3, 1001, 4, count=2), data(5, 1002))
SEGMENT = b"".join(BATCHES)
STARTS = tuple(sum(map(len, BATCHES[:index])) for index in range(len(BATCHES)))
ENDS = (*STARTS[1:], len(SEGMENT))
WHOLE = batches(pieces(SEGMENT))
# Bytes of a batch of magic 2 that no checksum covers and that a reader cannot check either (item 17).
NOT_COVERED = frozenset({*range(8), *range(12, 16)})


def test_the_small_segment_is_whole() -> None:
    assert tuple(WHOLE) == STARTS
    assert len(SEGMENT) == 354


def test_every_cut_leaves_the_batches_before_it_and_a_tail() -> None:
    for end in range(len(SEGMENT)):
        found = pieces(SEGMENT[:end])
        assert batches(found) == {start: WHOLE[start] for start, stop in zip(STARTS, ENDS, strict=True) if stop <= end}
        assert [kind in (Kind.CUT_SHORT, Kind.ZEROS) for *_, kind in stretches(found)] in ([], [True])
        assert stretches(found) != [] or end in (0, *ENDS)


@pytest.mark.parametrize("index", range(len(BATCHES)))
def test_every_flipped_bit_spares_the_batches_around_it(index: int) -> None:
    others = {start: header for start, header in WHOLE.items() if start != STARTS[index]}
    for bit in range(8 * STARTS[index], 8 * ENDS[index]):
        flipped = bytearray(SEGMENT)
        flipped[bit // 8] ^= 1 << bit % 8
        found = batches(pieces(bytes(flipped)))
        itself = found.pop(STARTS[index], None)
        assert found == others, f"bit {bit}"
        assert itself is None or believable(itself, WHOLE[STARTS[index]], bit // 8 - STARTS[index])


def believable(read: RecordBatchHeader, written: RecordBatchHeader, byte: int) -> bool:
    """Only what no checksum covers may be read differently; of magic 1 that is the offset."""
    uncovered = {"base_offset", "partition_leader_epoch"}
    same = [read[at] == written[at] for at, name in enumerate(read._fields) if name not in uncovered]
    return all(same) and byte in NOT_COVERED and read.base_offset >= 0


# A payload that holds whole batches, as of a topic that mirrors another.
INNER = marker(77, 4242, 9)
EMBEDDING = batch(10, [record(b"<" + INNER + data(78) + b">" * 40)])
FOLLOWING = data(11)


def with_length(content: bytes, length: int) -> bytes:
    return content[:8] + length.to_bytes(4, "big", signed=True) + content[12:]


LENGTHS = [-1, 0, 48, 49, len(EMBEDDING) + 500, 2**31 - 1]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("after", [(FOLLOWING,), (FOLLOWING, marker(12), data(13)), ()], ids=["one", "three", "none"])
def test_a_batch_inside_a_payload_is_not_taken_for_real(length: int, after: tuple[bytes, ...]) -> None:
    """The damaged batch's own checksum still names its true end, even where that is the end of the file."""
    found = pieces(BATCHES[0] + with_length(EMBEDDING, length) + b"".join(after))
    start = len(BATCHES[0] + EMBEDDING)
    assert list(batches(found)) == [0, *(start + sum(map(len, after[:index])) for index in range(len(after)))]


@pytest.mark.parametrize("bit", range(31))
def test_no_bit_of_a_length_lets_a_payload_pose_as_batches(bit: int) -> None:
    length = int.from_bytes(EMBEDDING[8:12], "big") ^ 1 << bit
    found = pieces(with_length(EMBEDDING, length) + FOLLOWING)
    assert list(batches(found)) == [len(EMBEDDING)]


def test_a_length_that_leads_to_a_batch_inside_the_payload_is_seen_through() -> None:
    """One flipped bit of the length ends the batch where the batch in its payload begins."""
    outer = batch(10, [record(bytes(200) + INNER + bytes(127 - len(INNER)))])
    shorter = int.from_bytes(outer[8:12], "big") ^ 128
    assert outer[12 + shorter :].startswith(INNER)
    for after in (FOLLOWING, b""):
        assert list(batches(pieces(with_length(outer, shorter) + after))) == ([len(outer)] if after else [])


def test_a_length_that_leads_into_the_next_batches_hides_none_of_them() -> None:
    """The wrong length ends where some later batch begins, so that the file looks well framed."""
    first, second, third = data(0), marker(1), data(2)
    found = pieces(with_length(first, len(first + second) - 12) + second + third)
    assert list(batches(found)) == [len(first), len(first + second)]


def test_damage_in_many_places_of_a_small_file_loses_only_what_it_touched() -> None:
    """Each damage is two batches in a row, so that no checksum confirms where the next one starts."""
    untouched, content = [], b""
    for offset in range(0, 300, 3):
        content += damaged(data(offset)) + damaged(data(offset + 1))
        untouched.append(len(content))
        content += data(offset + 2)
    assert list(batches(pieces(content))) == untouched


def lying_headers(size: int) -> bytes:
    """Headers one after the other, each of which claims the rest of the file."""
    content = bytearray()
    while size - len(content) > 61:
        content += with_length(data(1), size - len(content) - 12)[:61]
    return bytes(content).ljust(size, b"x")


def every_other_length_damaged(size: int) -> bytes:
    pair = with_length(data(1), -1) + data(2)
    return pair * (size // len(pair))


@pytest.mark.parametrize("bad", [lying_headers, every_other_length_damaged, lambda size: b"\x02" * size])
def test_a_file_made_to_be_slow_is_walked_in_bounded_work(bad: object) -> None:
    assert callable(bad)
    segment = Bytes(bad(400_000))
    found = list(scan(segment))
    assert found[-1].end == segment.size
    assert segment.viewed < 2000 * segment.size


def test_every_other_batch_is_read_when_the_rest_is_damaged() -> None:
    content = every_other_length_damaged(100_000)
    runs = [piece for piece in scan(Bytes(content)) if isinstance(piece, Run)]
    assert sum(len(run.headers) for run in runs) == len(content) // len(data(1) + data(2))
