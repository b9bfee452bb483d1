"""The records inside a batch of magic 2 (`DefaultRecord`): needed of markers and of coordinator records only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from txnlog.errors import FormatError

LONGEST_VARINT = 5
LONGEST_VARLONG = 10


class Record(NamedTuple):
    """One record: its offset relative to the batch's base offset, and its key and value, which may be null."""

    offset_delta: int
    key: bytes | None
    value: bytes | None


def varint(payload: bytes, position: int, longest: int = LONGEST_VARINT) -> tuple[int, int]:
    """A zig-zag variable-length integer and the position after it (`ByteUtils.readVarint`)."""
    number, position = unsigned_varint(payload, position, longest)
    return (number >> 1) ^ -(number & 1), position


def unsigned_varint(payload: bytes, position: int, longest: int = LONGEST_VARINT) -> tuple[int, int]:
    """A variable-length integer without a sign and the position after it (`ByteUtils.readUnsignedVarint`)."""
    number = 0
    for index, byte in enumerate(payload[position : position + longest]):
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return number, position + index + 1
    raise FormatError("a variable-length integer does not end", position)


def records(payload: bytes, count: int) -> Iterator[Record]:
    """The `count` records of an uncompressed payload: the bytes after the batch header."""
    position = 0
    for _ in range(count):
        length, start = varint(payload, position)
        end = start + length
        if length < 0 or end > len(payload):
            raise FormatError(f"a record claims {length} bytes, {len(payload) - start} are left", position)
        yield _record(payload, start, end)
        position = end
    if position != len(payload):
        raise FormatError(f"{len(payload) - position} bytes after the last of {count} records", position)


def _record(payload: bytes, position: int, end: int) -> Record:
    _, position = varint(payload, position + 1, LONGEST_VARLONG)
    offset_delta, position = varint(payload, position)
    key, position = _nullable_bytes(payload, position, end)
    value, position = _nullable_bytes(payload, position, end)
    return Record(offset_delta, key, value)


def _nullable_bytes(payload: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, start = varint(payload, position)
    if length < 0:
        return None, start
    if start + length > end:
        raise FormatError(f"a key or value claims {length} bytes, {end - start} are left", position)
    return payload[start : start + length], start + length
