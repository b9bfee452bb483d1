"""Records of `__consumer_offsets`, one at a time.

Share groups and streams groups have records of their own there, which are known and not decoded. A type or a version
that a newer release of Kafka writes is named and skipped, never an error.
"""

from __future__ import annotations

import struct
from typing import Any

from txnlog.errors import FormatError
from txnlog.format.byte_reader import ByteReader
from txnlog.format.group_messages import ASSIGNMENT, RECORD_TYPES
from txnlog.format.message import read

_INT16 = struct.Struct(">h")


def type_of_key(key: bytes | None) -> int:
    """The type of a record: the version of its key. FormatError for a key that is too short to have one."""
    if key is None or len(key) < _INT16.size:
        raise FormatError("the key of a group's record is shorter than its type")
    return int(_INT16.unpack_from(key)[0])


def unknown(key: bytes, value: bytes | None) -> str | None:
    """The name of what Kafka up to 4.3 does not write: a type, or a version of a value; None where all is known."""
    kind = RECORD_TYPES.get(type_of_key(key))
    if kind is None:
        return f"records of type {type_of_key(key)}"
    if kind.value is None or value is None or len(value) < _INT16.size:
        return None
    (version,) = _INT16.unpack_from(value)
    return None if version in kind.value.versions else f"{kind.value.name} of version {version}"


def group_key(key: bytes | None) -> dict[str, Any]:
    """The fields of a key. FormatError for what is none, and for a type that is not decoded."""
    number_of_type = type_of_key(key)
    kind = RECORD_TYPES.get(number_of_type)
    if key is None or kind is None or kind.key is None:
        raise FormatError(f"a group's record of type {number_of_type} is not decoded")
    reader = ByteReader(key, _INT16.size)
    found = kind.key(reader, number_of_type, False)
    reader.must_end()
    return found


def group_value(number_of_type: int, value: bytes) -> dict[str, Any]:
    """The fields of a value of a record of this type. FormatError for what is none, and for an unknown version."""
    kind = RECORD_TYPES.get(number_of_type)
    if kind is None or kind.value is None:
        raise FormatError(f"a group's record of type {number_of_type} is not decoded")
    return read(kind.value, value)


def assigned_partitions(assignment: bytes) -> list[tuple[str, int]]:
    """The partitions that a member of a classic group was assigned (`ConsumerProtocolAssignment`); none if empty.

    All versions so far have the same fields, and a newer one starts with them.
    """
    if not assignment:
        return []
    reader = ByteReader(assignment)
    version = reader.number(_INT16)
    found = ASSIGNMENT(reader, version, False)
    return [(each["topic"], partition) for each in found["topics"] for partition in each["partitions"]]
