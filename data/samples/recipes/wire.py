"""Kafka's wire types, written and read, and record batches of transactional producers."""

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from fastcrc import crc32

T = TypeVar("T")
TRANSACTIONAL = 0x10


class Producer(NamedTuple):
    """A producer id at one of its epochs."""

    producer_id: int
    producer_epoch: int


def i8(value: int) -> bytes:
    """One byte."""
    return struct.pack(">b", value)


def i16(value: int) -> bytes:
    """Two bytes, big endian."""
    return struct.pack(">h", value)


def i32(value: int) -> bytes:
    """Four bytes, big endian."""
    return struct.pack(">i", value)


def i64(value: int) -> bytes:
    """Eight bytes, big endian."""
    return struct.pack(">q", value)


def string(value: str | None) -> bytes:
    """STRING and NULLABLE_STRING."""
    return i16(-1) if value is None else i16(len(value.encode())) + value.encode()


def array(items: Sequence[bytes]) -> bytes:
    """ARRAY."""
    return i32(len(items)) + b"".join(items)


def unsigned_varint(value: int) -> bytes:
    """UNSIGNED_VARINT."""
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + unsigned_varint(rest) if rest else bytes([low])


def varint(value: int) -> bytes:
    """VARINT: zigzag."""
    return unsigned_varint((value << 1) ^ (value >> 63))


def compact_string(value: str | None) -> bytes:
    """COMPACT_STRING and COMPACT_NULLABLE_STRING."""
    return b"\0" if value is None else unsigned_varint(len(value.encode()) + 1) + value.encode()


def compact_array(items: Sequence[bytes]) -> bytes:
    """COMPACT_ARRAY."""
    return unsigned_varint(len(items) + 1) + b"".join(items)


NO_TAGS = b"\0"


class Reader:
    """Takes the fields of a response one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def _take(self, size: int) -> bytes:
        self._position += size
        return self._data[self._position - size : self._position]

    def number(self, form: str) -> int:
        """One number, named as in `struct`."""
        (value,) = struct.unpack(">" + form, self._take(struct.calcsize(">" + form)))
        return int(value)

    def string(self) -> str:
        """STRING and NULLABLE_STRING; null reads as empty."""
        return self._take(max(self.number("h"), 0)).decode()

    def array(self, item: Callable[[], T]) -> list[T]:
        """ARRAY."""
        return [item() for _ in range(self.number("i"))]

    def unsigned_varint(self) -> int:
        """UNSIGNED_VARINT."""
        byte = self.number("B")
        return byte if byte < 0x80 else (byte & 0x7F) | self.unsigned_varint() << 7

    def compact_string(self) -> str:
        """COMPACT_STRING and COMPACT_NULLABLE_STRING; null reads as empty."""
        return self._take(max(self.unsigned_varint() - 1, 0)).decode()

    def compact_array(self, item: Callable[[], T]) -> list[T]:
        """COMPACT_ARRAY."""
        return [item() for _ in range(self.unsigned_varint() - 1)]

    def tags(self) -> None:
        """Skip the tagged fields."""
        for _ in range(self.unsigned_varint()):
            self.unsigned_varint()
            self._take(self.unsigned_varint())


def record(delta: int, value: bytes, timestamp_delta: int) -> bytes:
    """One record of a batch, without key and headers."""
    body = i8(0) + varint(timestamp_delta) + varint(delta) + varint(-1) + varint(len(value)) + value + varint(0)
    return varint(len(body)) + body


def transactional_batch(
    producer: Producer, base_sequence: int, values: Sequence[bytes], timestamps: Sequence[int]
) -> bytes:
    """A record batch as a producer sends it: magic 2, uncompressed, transactional, offsets from 0."""
    base_timestamp = timestamps[0]
    records = [
        record(delta, value, timestamp - base_timestamp)
        for delta, (value, timestamp) in enumerate(zip(values, timestamps, strict=True))
    ]
    covered = struct.pack(
        ">hiqqqhi",
        TRANSACTIONAL,
        len(values) - 1,
        base_timestamp,
        max(timestamps),
        producer.producer_id,
        producer.producer_epoch,
        base_sequence,
    ) + array(records)
    rest = i32(-1) + i8(2) + struct.pack(">I", crc32.iscsi(covered)) + covered
    return i64(0) + i32(len(rest)) + rest
