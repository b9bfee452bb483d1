"""Records of `__transaction_state`: keys, values and their flexible version (`TransactionLog`, KIP-915, KIP-890)."""

from __future__ import annotations

import struct
from typing import NamedTuple

from txnlog.errors import FormatError
from txnlog.format.record import unsigned_varint

TRANSACTION_STATE = "__transaction_state"
# The stored timeout of a transaction in two phases, which has none (KIP-939).
TWO_PHASE_COMMIT_TIMEOUT_MS = 2147483647
# Kafka takes no longer name (`Topic.MAX_NAME_LENGTH`). A list of partitions has it once, their rows each.
LONGEST_TOPIC = 249
STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
# Dead and PrepareEpochFence are states of the coordinator's memory; on disk they are damage.
STATES_ON_DISK = 6

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_FIXED = struct.Struct(">qhib")
_TIMES = struct.Struct(">qq")


class TransactionState(NamedTuple):
    """A value of `__transaction_state`.

    Times in ms since 1970, `start_timestamp` -1 without a transaction. `topic_partitions` is None where the record
    has none (Empty). -1 is a producer id or epoch that is not set.
    """

    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: str
    topic_partitions: list[tuple[str, int]] | None
    last_update_timestamp: int
    start_timestamp: int
    previous_producer_id: int = -1
    next_producer_id: int = -1
    client_transaction_version: int = 0
    next_producer_epoch: int = -1


def transactional_id_of_key(key: bytes | None) -> str | None:
    """The transactional id of a key; None for a key of another version, which is to be skipped."""
    if key is None or len(key) < _INT16.size:
        raise FormatError("the key of a coordinator record is shorter than its version")
    (version,) = _INT16.unpack_from(key)
    if version != 0:
        return None
    reader = _Reader(key, _INT16.size)
    transactional_id = reader.text(reader.number(_INT16))
    reader.must_end()
    return transactional_id


def transaction_state(value: bytes) -> TransactionState:
    """Decode a value of version 0 or 1. Tags that are not known are skipped; unknown versions are an error."""
    reader = _Reader(value)
    version = reader.number(_INT16)
    if version not in (0, 1):
        raise FormatError(f"the value of a coordinator record has version {version}")
    producer_id, producer_epoch, timeout_ms, status = reader.numbers(_FIXED)
    if not 0 <= status < STATES_ON_DISK:
        raise FormatError(f"status {status} is never written to disk", _INT16.size + _FIXED.size - 1)
    topic_partitions = _flexible_partitions(reader) if version else _partitions(reader)
    last_update, start = reader.numbers(_TIMES)
    tags = _tags(reader) if version else {}
    reader.must_end()
    return TransactionState(
        producer_id, producer_epoch, timeout_ms, STATES[status], topic_partitions, last_update, start, **tags
    )


class _Reader:
    """A position in a key or value that never runs past its end."""

    def __init__(self, content: bytes, position: int = 0) -> None:
        self.content = content
        self.position = position

    def numbers(self, layout: struct.Struct) -> tuple[int, ...]:
        if self.position + layout.size > len(self.content):
            raise FormatError("a coordinator record ends too early", self.position)
        self.position += layout.size
        return layout.unpack_from(self.content, self.position - layout.size)

    def number(self, layout: struct.Struct) -> int:
        return self.numbers(layout)[0]

    def length(self) -> int:
        """A compact length: the number on disk is one more; None is -1."""
        number, self.position = unsigned_varint(self.content, self.position)
        return number - 1

    def tag(self) -> int:
        number, self.position = unsigned_varint(self.content, self.position)
        return number

    def skip(self, length: int) -> int:
        start = self.position
        if length < 0 or start + length > len(self.content):
            raise FormatError(f"a coordinator record claims {length} bytes more than it has", start)
        self.position += length
        return start

    def text(self, length: int) -> str:
        start = self.skip(length)
        try:
            return self.content[start : self.position].decode()
        except UnicodeDecodeError as error:
            raise FormatError("a name in a coordinator record is not UTF-8", start + error.start) from error

    def topic(self, length: int) -> str:
        if length > LONGEST_TOPIC:
            raise FormatError(f"a topic's name has {length} bytes", self.position)
        return self.text(length)

    def must_end(self) -> None:
        if self.position != len(self.content):
            raise FormatError("a coordinator record is longer than its fields", self.position)

    def items(self, count: int, smallest: int) -> range:
        """As many steps as an array claims, once it is clear that the bytes for them are there."""
        if not 0 <= count * smallest <= len(self.content) - self.position:
            raise FormatError(f"an array claims {count} items", self.position)
        return range(count)


def _partitions(reader: _Reader) -> list[tuple[str, int]] | None:
    topics = reader.number(_INT32)
    if topics < 0:
        return None
    found = []
    for _ in reader.items(topics, 6):
        topic = reader.topic(reader.number(_INT16))
        count = reader.number(_INT32)
        found += [(topic, reader.number(_INT32)) for _ in reader.items(count, 4)]
    return found


def _flexible_partitions(reader: _Reader) -> list[tuple[str, int]] | None:
    topics = reader.length()
    if topics < 0:
        return None
    found = []
    for _ in reader.items(topics, 3):
        topic = reader.topic(reader.length())
        count = reader.length()
        found += [(topic, reader.number(_INT32)) for _ in reader.items(count, 4)]
        _tags(reader, known={})
    return found


_KNOWN_TAGS = {
    0: ("previous_producer_id", _INT64),
    1: ("next_producer_id", _INT64),
    2: ("client_transaction_version", _INT16),
    3: ("next_producer_epoch", _INT16),
}


def _tags(reader: _Reader, known: dict[int, tuple[str, struct.Struct]] = _KNOWN_TAGS) -> dict[str, int]:
    found = {}
    for _ in reader.items(reader.tag(), 2):
        tag, size = reader.tag(), reader.tag()
        start = reader.skip(size)
        if tag in known:
            name, layout = known[tag]
            if size != layout.size:
                raise FormatError(f"tag {tag} ({name}) has {size} bytes", start)
            (found[name],) = layout.unpack_from(reader.content, start)
    return found
