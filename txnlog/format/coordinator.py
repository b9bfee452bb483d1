"""Records of `__transaction_state`: keys, values and their flexible version (`TransactionLog`, KIP-915, KIP-890).

One at a time, with what is wrong with it; `txnlog.format.coordinator_batches` reads the usual ones by the same rules,
many at a time.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from txnlog.errors import FormatError
from txnlog.format.byte_reader import ByteReader

TRANSACTION_STATE = "__transaction_state"
# The stored timeout of a transaction in two phases, which has none (KIP-939).
TWO_PHASE_COMMIT_TIMEOUT_MS = 2147483647
# The last epoch of a producer id that a transaction may use (`TransactionMetadata.isEpochExhausted`).
LAST_EPOCH = 32766
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
    reader = ByteReader(key, _INT16.size)
    transactional_id = reader.text(reader.number(_INT16))
    reader.must_end()
    return transactional_id


def transaction_state(value: bytes) -> TransactionState:
    """Decode a value of version 0 or 1. Tags that are not known are skipped; unknown versions are an error."""
    reader = ByteReader(value)
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


def _topic(reader: ByteReader, length: int) -> str:
    if length > LONGEST_TOPIC:
        raise FormatError(f"a topic's name has {length} bytes", reader.position)
    return reader.text(length)


def _partitions(reader: ByteReader) -> list[tuple[str, int]] | None:
    topics = reader.number(_INT32)
    if topics < 0:
        return None
    found = []
    for _ in reader.items(topics, 6):
        topic = _topic(reader, reader.number(_INT16))
        count = reader.number(_INT32)
        found += [(topic, reader.number(_INT32)) for _ in reader.items(count, 4)]
    return found


def _flexible_partitions(reader: ByteReader) -> list[tuple[str, int]] | None:
    topics = reader.length()
    if topics < 0:
        return None
    found = []
    for _ in reader.items(topics, 3):
        topic = _topic(reader, reader.length())
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


def _tags(reader: ByteReader, known: dict[int, tuple[str, struct.Struct]] = _KNOWN_TAGS) -> dict[str, int]:
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
