"""The walk through a segment: runs of whole batches, and every stretch of bytes that is none.

Every byte of the segment ends up in exactly one run or stretch, in order. Damage never ends the walk where the next
batch can be found again with certainty (`txnlog.format.search`). Memory is bounded by `WINDOW`, whatever a length
claims, because nothing is read on the word of a length field alone.
"""

from __future__ import annotations

import bisect
import enum
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from txnlog.format import batch as wire
from txnlog.format.batch import (
    HEADER,
    HEADER_SIZE,
    LENGTH_END,
    LENGTH_POSITION,
    MAGIC_POSITION,
    RecordBatchHeader,
)
from txnlog.format.checksum import Segment, valid_length_at
from txnlog.format.headers import Headers, Places
from txnlog.format.search import Search
from txnlog.format.walk import Steps, Walker

WINDOW = 16 << 20
# After damage the window starts small again and doubles: a segment with damage every few bytes stays linear.
WINDOW_AFTER_DAMAGE = 64 << 10

_INT32 = struct.Struct(">i")
# Of the process: what one segment has shown of the sizes of batches, the next ones show, too.
walk = Walker()


class Kind(enum.StrEnum):
    """What a stretch of bytes that is no whole, checked batch is."""

    CRC_MISMATCH = "a batch whose checksum does not match"
    UNREADABLE = "bytes that are not a batch"
    CUT_SHORT = "the tail of a batch that was being written"
    ZEROS = "zeros of a preallocated file"


@dataclass(frozen=True, slots=True)
class Run:
    """Whole batches that follow one another, each with a matching checksum.

    `positions` (n, int64) are bytes from the start of the segment; `window` starts at byte `start` of it. Only a batch
    longer than `WINDOW` is not wholly in it.
    """

    start: int
    end: int
    positions: npt.NDArray[np.int64]
    headers: Headers
    window: memoryview


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes that are no whole, checked batch. `header` is what they claim to be, where 61 bytes of it are there."""

    start: int
    end: int
    kind: Kind
    header: RecordBatchHeader | None = None


class _Chain(NamedTuple):
    """Where batches lie in a window by their length fields: starts and ends relative to it, and which are valid."""

    starts: Places
    ends: Places
    headers: Headers
    valid: npt.NDArray[np.bool_]


def scan(segment: Segment) -> Iterator[Run | Stretch]:
    """Walk a segment from its first byte to its last."""
    position, size = 0, WINDOW
    search = Search(segment)
    while position < segment.size:
        reached = position
        for piece in _pieces(segment, position, segment.view(position, size), search):
            yield piece
            reached = piece.end
        size = min(size * 2, WINDOW)
        if reached == position:
            piece = _long_batch(segment, position) or _stretch(segment, position, search)
            yield piece
            reached, size = piece.end, WINDOW_AFTER_DAMAGE
        position = reached


def _pieces(segment: Segment, position: int, window: memoryview, search: Search) -> Iterator[Run | Stretch]:
    """What of a window can be told from the window alone; it may end before the window does."""
    chain = _chain(window)
    index, count = 0, len(chain.starts)
    stops = [*np.flatnonzero(~chain.valid).tolist(), count]
    while index < count:
        if chain.valid[index]:
            stop = stops[bisect.bisect(stops, index)]
            start, end = int(chain.starts[index]), int(chain.ends[stop - 1])
            kept = chain.starts[index:stop] + position
            yield Run(position + start, position + end, kept, chain.headers.chosen(slice(index, stop)), window[start:])
            index = stop
        elif _is_framed(segment, position, chain, index, search):
            header = chain.headers.row(index)
            start, end = int(chain.starts[index]), int(chain.ends[index])
            yield Stretch(position + start, position + end, Kind.CRC_MISMATCH, header)
            index += 1
        else:
            return


def _is_framed(segment: Segment, position: int, chain: _Chain, index: int, search: Search) -> bool:
    """Whether a batch with a wrong checksum still has its right length.

    The next one starts where it ends, and the checksum does not match up to any other place.
    """
    end = position + int(chain.ends[index])
    if index + 1 < len(chain.starts):
        followed = bool(chain.valid[index + 1])
    else:
        followed = end == segment.size or valid_length_at(segment, end, WINDOW) is not None
    start = position + int(chain.starts[index])
    return followed and search.true_end(start, start + 1, end) is None


def _chain(window: memoryview) -> _Chain:
    steps = walk(window)
    return _Chain(steps.starts, steps.ends, steps.headers, _validity(window, steps))


def _validity(window: memoryview, steps: Steps) -> npt.NDArray[np.bool_]:
    headers = steps.headers
    valid: npt.NDArray[np.bool_] = (steps.crcs == headers["crc"]) & wire.are_plausible(headers.__getitem__)
    for index in np.flatnonzero((headers["magic"] == 0) | (headers["magic"] == 1)):
        message = window[steps.starts[index] : steps.ends[index]]
        valid[index] = wire.crc_of_legacy(message) == headers["crc"][index] and headers["base_offset"][index] >= 0
    return valid


def _long_batch(segment: Segment, position: int) -> Run | None:
    """A valid batch that is longer than a window."""
    length = valid_length_at(segment, position, WINDOW)
    if length is None:
        return None
    window = segment.view(position, WINDOW)
    headers = Headers.at(window, np.zeros(1, np.int64))
    return Run(position, position + length, np.array([position], np.int64), headers, window)


def _stretch(segment: Segment, position: int, search: Search) -> Stretch:
    """What the bytes at `position`, which are no valid batch, are, and how far they reach."""
    first_not_zero = _first_not_zero(segment, position)
    if first_not_zero == segment.size:
        return Stretch(position, segment.size, Kind.ZEROS)
    header = _claimed_header(segment, position)
    found = search.next_batch(position)
    if found is not None:
        return Stretch(position, found, Kind.UNREADABLE, header)
    kind = Kind.CUT_SHORT if _is_cut_short(segment, position, header) else Kind.UNREADABLE
    return Stretch(position, segment.size, kind, header)


def _claimed_header(segment: Segment, position: int) -> RecordBatchHeader | None:
    view = segment.view(position, HEADER_SIZE)
    if len(view) < HEADER_SIZE or view[MAGIC_POSITION] != 2:
        return None
    return RecordBatchHeader(*HEADER.unpack_from(view))


def _is_cut_short(segment: Segment, position: int, header: RecordBatchHeader | None) -> bool:
    """Whether the file simply ends inside a batch, as it does when a log is copied while it is written."""
    if header is not None:
        return wire.is_plausible(header) and position + LENGTH_END + header.batch_length > segment.size
    view = segment.view(position, HEADER_SIZE)
    if len(view) <= MAGIC_POSITION:
        return True
    (length,) = _INT32.unpack_from(view, LENGTH_POSITION)
    return view[MAGIC_POSITION] <= 2 and position + LENGTH_END + int(length) > segment.size


def _first_not_zero(segment: Segment, position: int) -> int:
    size = HEADER_SIZE
    while position < segment.size:
        window = np.frombuffer(segment.view(position, size), np.uint8)
        places = np.flatnonzero(window)
        if len(places):
            return position + int(places[0])
        position, size = position + len(window), min(2 * size, WINDOW)
    return segment.size
