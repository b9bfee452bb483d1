"""Writes records of `__transaction_state`, for tests: keys, and values of version 0 and 1 with tags."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Mapping

from tests.writer import record, unsigned_varint
from txnlog.format.coordinator import TransactionState

STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")


def coordinator_key(transactional_id: str, version: int = 0) -> bytes:
    name = transactional_id.encode()
    return struct.pack(">hh", version, len(name)) + name


def coordinator_value(state: TransactionState, version: int = 0, unknown_tags: Mapping[int, bytes] = {}) -> bytes:
    """A value of `__transaction_state`; version 1 with the tags that are set and those given."""
    fixed = struct.pack(">hqhi", version, state.producer_id, state.producer_epoch, state.timeout_ms)
    status = bytes([STATES.index(state.state)])
    times = struct.pack(">qq", state.last_update_timestamp, state.start_timestamp)
    topics = state.topic_partitions
    if version == 0:
        return fixed + status + _partitions(topics) + times
    return (
        fixed
        + status
        + _flexible_partitions(topics, unknown_tags)
        + times
        + _tags({**_known_tags(state), **unknown_tags})
    )


def coordinator_record(
    state: TransactionState | None, transactional_id: str, version: int = 0, delta: int = 0
) -> bytes:
    """A whole record; a tombstone without a state."""
    value = None if state is None else coordinator_value(state, version)
    return record(value, coordinator_key(transactional_id), delta)


def coordinator_partition(transactional_id: str, partitions: int = 50) -> int:
    """The partition of `__transaction_state` that has an id's records: `TransactionStateManager.partitionFor`."""
    units = transactional_id.encode("utf-16-be", "surrogatepass")
    number = 0
    for (unit,) in struct.iter_unpack(">H", units):
        number = (31 * number + unit) & 0xFFFFFFFF
    number -= (number >> 31) << 32
    return 0 if number == -(1 << 31) else abs(number) % partitions


def _by_topic(partitions: list[tuple[str, int]]) -> list[tuple[bytes, list[int]]]:
    groups = itertools.groupby(partitions, lambda each: each[0])
    return [(topic.encode(), [number for _, number in group]) for topic, group in groups]


def _partitions(partitions: list[tuple[str, int]] | None) -> bytes:
    if partitions is None:
        return struct.pack(">i", -1)
    topics = _by_topic(partitions)
    return struct.pack(">i", len(topics)) + b"".join(
        struct.pack(">h", len(topic)) + topic + struct.pack(f">i{len(ids)}i", len(ids), *ids) for topic, ids in topics
    )


def _flexible_partitions(partitions: list[tuple[str, int]] | None, tags: Mapping[int, bytes]) -> bytes:
    if partitions is None:
        return b"\0"
    topics = _by_topic(partitions)
    return unsigned_varint(len(topics) + 1) + b"".join(
        unsigned_varint(len(topic) + 1) + topic + unsigned_varint(len(ids) + 1)
        + struct.pack(f">{len(ids)}i", *ids) + _tags(tags)
        for topic, ids in topics
    )  # fmt: skip


def _known_tags(state: TransactionState) -> dict[int, bytes]:
    tags = {
        0: struct.pack(">q", state.previous_producer_id),
        1: struct.pack(">q", state.next_producer_id),
        2: struct.pack(">h", state.client_transaction_version),
        3: struct.pack(">h", state.next_producer_epoch),
    }
    unset = (struct.pack(">q", -1), struct.pack(">q", -1), struct.pack(">h", 0), struct.pack(">h", -1))
    return {tag: content for tag, content in tags.items() if content != unset[tag]}


def _tags(tags: Mapping[int, bytes]) -> bytes:
    pieces = [unsigned_varint(tag) + unsigned_varint(len(tags[tag])) + tags[tag] for tag in sorted(tags)]
    return unsigned_varint(len(pieces)) + b"".join(pieces)
