"""Writes records of `__consumer_offsets`, for tests: each layout spelled out once more."""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from typing import Any

from tests.writer import batch, record, unsigned_varint

TRANSACTIONAL = 16


def text(content: str | None) -> bytes:
    if content is None:
        return struct.pack(">h", -1)
    return struct.pack(">h", len(content.encode())) + content.encode()


def compact(content: str | None) -> bytes:
    return b"\0" if content is None else unsigned_varint(len(content.encode()) + 1) + content.encode()


def blob(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def uuid(content: str) -> bytes:
    return base64.urlsafe_b64decode(content + "==")


def commit_key(group: str, topic: str, partition: int, number_of_type: int = 1) -> bytes:
    return struct.pack(">h", number_of_type) + text(group) + text(topic) + struct.pack(">i", partition)


def commit_value(offset: int, committed_at: int = 5, version: int = 3, topic_id: str | None = None) -> bytes:
    start = struct.pack(">hq", version, offset)
    if version >= 3:
        start += struct.pack(">i", 7)
    if version < 4:
        expires = struct.pack(">q", -1) if version == 1 else b""
        return start + text("note") + struct.pack(">q", committed_at) + expires
    tag = b"\0" if topic_id is None else b"\x01\0\x10" + uuid(topic_id)
    return start + compact("note") + struct.pack(">q", committed_at) + tag


def group_key(group: str, number_of_type: int = 2, *more: str) -> bytes:
    return struct.pack(">h", number_of_type) + b"".join(map(text, (group, *more)))


def assignment(partitions: Sequence[tuple[str, int]]) -> bytes:
    """A `ConsumerProtocolAssignment`, each partition as a topic of its own."""
    topics = b"".join(text(topic) + struct.pack(">ii", 1, partition) for topic, partition in partitions)
    return struct.pack(">hi", 1, len(partitions)) + topics + struct.pack(">i", -1)


def classic_group(
    members: Sequence[tuple[str, Sequence[tuple[str, int]]]] = (), protocol_type: str = "consumer"
) -> bytes:
    """A value of `GroupMetadata` of version 3: members with their partitions."""
    head = struct.pack(">h", 3) + text(protocol_type) + struct.pack(">i", 4) + text("range" if members else None)
    head += text(members[0][0] if members else None) + struct.pack(">qi", 11, len(members))
    return head + b"".join(_member(*each) for each in members)


def _member(member_id: str, partitions: Sequence[tuple[str, int]]) -> bytes:
    names = text(member_id) + text(None) + text(f"client of {member_id}") + text("/10.0.0.1")
    return names + struct.pack(">ii", 60, 30) + blob(b"") + blob(assignment(partitions))


def consumer_group(epoch: int = 3) -> bytes:
    return struct.pack(">hi", 0, epoch) + b"\0"


def consumer_member(client_id: str) -> bytes:
    """A value of `ConsumerGroupMemberMetadata`, of a member of the new protocol."""
    names = compact(None) + compact(None) + compact(client_id) + compact("/10.0.0.2")
    rest = b"\x01" + compact(None) + struct.pack(">i", 45) + compact(None) + b"\x01\0\x01\0"
    return struct.pack(">h", 0) + names + rest


def current_assignment(topics: Sequence[tuple[str, Sequence[int]]]) -> bytes:
    """A value of `ConsumerGroupCurrentMemberAssignment`: partitions by topic id."""
    owned = unsigned_varint(len(topics) + 1) + b"".join(
        uuid(topic_id) + unsigned_varint(len(ids) + 1) + struct.pack(f">{len(ids)}i", *ids) + b"\0"
        for topic_id, ids in topics
    )
    return struct.pack(">hiib", 0, 3, 2, 0) + owned + b"\x01\0"


def group_batch(base_offset: int, *records: tuple[bytes, bytes | None], producer_id: int = -1, **header: Any) -> bytes:
    """A batch of keys and values, of a transaction where it has a producer id."""
    attributes = TRANSACTIONAL if producer_id >= 0 else 0
    content = [record(value, key, delta) for delta, (key, value) in enumerate(records)]
    return batch(base_offset, content, attributes=attributes, producer_id=producer_id, **header)
