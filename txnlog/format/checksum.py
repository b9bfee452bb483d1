"""Whether a whole batch with a valid checksum is at a position: the only proof of where a batch begins."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Protocol

import fastcrc

from txnlog.format import batch as wire
from txnlog.format.batch import HEADER, HEADER_SIZE, LENGTH_END, MAGIC_POSITION, RecordBatchHeader

PIECE = 1 << 20


class Segment(Protocol):
    """Bytes of one file, read in windows."""

    @property
    def size(self) -> int:
        """Bytes in the file."""

    def view(self, position: int, length: int) -> memoryview:
        """The bytes from `position` on: `length` of them, or fewer at the end of the file."""


def valid_length_at(segment: Segment, position: int, limit: int | None = None) -> int | None:
    """Bytes of the valid batch at `position`, its first 12 included; None where there is none.

    `limit` bounds one read, never the batch: a length counts only after the checksum over all of it matched.
    """
    view = segment.view(position, HEADER_SIZE)
    if len(view) > MAGIC_POSITION + 1 and view[MAGIC_POSITION] <= 1:
        return _legacy_length_at(segment, position, view)
    if len(view) < HEADER_SIZE:
        return None
    header = RecordBatchHeader(*HEADER.unpack_from(view))
    length = LENGTH_END + header.batch_length
    if not wire.is_plausible(header) or position + length > segment.size:
        return None
    crc = crc_of_range(segment, position + wire.CHECKED_FROM, position + length, limit or PIECE)
    return length if crc == header.crc else None


def crc_of_range(segment: Segment, start: int, end: int, piece: int = PIECE, crc: int = 0) -> int:
    """CRC-32C of the bytes from `start` to `end`, continued from `crc`, in pieces of bounded size."""
    return _in_pieces(segment, start, end, piece, crc, fastcrc.crc32.iscsi)


def _legacy_length_at(segment: Segment, position: int, view: memoryview) -> int | None:
    length = int.from_bytes(view[wire.LENGTH_POSITION : LENGTH_END], "big", signed=True)
    end = position + LENGTH_END + length
    if length < wire.SMALLEST_LEGACY_LENGTH or end > segment.size:
        return None
    stored = int.from_bytes(view[wire.LEGACY_CRC_POSITION : MAGIC_POSITION], "big")
    crc = _in_pieces(segment, position + MAGIC_POSITION, end, PIECE, 0, zlib.crc32)
    return LENGTH_END + length if crc == stored and view[0] < 0x80 else None


def _in_pieces(
    segment: Segment, start: int, end: int, piece: int, crc: int, continued: Callable[[memoryview, int], int]
) -> int:
    while start < end:
        view = segment.view(start, min(piece, end - start))
        crc = continued(view, crc)
        start += len(view)
    return crc
