"""Messages as Kafka declares them (`message/*.json`): fields by version, flexible versions, tagged fields (KIP-482)."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from txnlog.errors import FormatError
from txnlog.format.byte_reader import ByteReader

# Reads a field: from the reader, of a version, which may be flexible.
Kind = Callable[[ByteReader, int, bool], Any]
EVERY = 1 << 15
UUID_SIZE = 16

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")


class Part(NamedTuple):
    """A field of a message: there from version `since` to `until`."""

    name: str
    kind: Kind
    since: int = 0
    until: int = EVERY


class Tagged(NamedTuple):
    """A tagged field of a flexible version, and its value where it is not written."""

    name: str
    kind: Kind
    default: Any


class Structure:
    """Fields one after the other; in a flexible version tagged ones follow."""

    def __init__(self, *parts: Part, tagged: Mapping[int, Tagged] | None = None) -> None:
        self.parts = parts
        self.tagged = tagged or {}

    def __call__(self, reader: ByteReader, version: int, flexible: bool) -> dict[str, Any]:
        """The fields of the version by name; those with unknown tags are skipped."""
        found = {
            part.name: part.kind(reader, version, flexible)
            for part in self.parts
            if part.since <= version <= part.until
        }
        return found | self._tags(reader, version) if flexible else found

    def _tags(self, reader: ByteReader, version: int) -> dict[str, Any]:
        found = {each.name: each.default for each in self.tagged.values()}
        for _ in reader.items(reader.tag(), 2):
            tag, size = reader.tag(), reader.tag()
            if tag not in self.tagged:
                reader.skip(size)
                continue
            start, known = reader.position, self.tagged[tag]
            found[known.name] = known.kind(reader, version, True)
            if reader.position - start != size:
                raise FormatError(f"tag {tag} ({known.name}) has {size} bytes", start)
        return found


class Message(NamedTuple):
    """A structure with a name and versions, flexible from one of them on."""

    name: str
    structure: Structure
    versions: range
    flexible_from: int = EVERY


def read(message: Message, content: bytes) -> dict[str, Any]:
    """The fields of a message that starts with its version. FormatError for other versions, and for what is no such."""
    reader = ByteReader(content)
    version = reader.number(_INT16)
    if version not in message.versions:
        raise FormatError(f"{message.name} of version {version}")
    found = message.structure(reader, version, version >= message.flexible_from)
    reader.must_end()
    return found


def number(code: str) -> Kind:
    """A number, by its code in `struct`."""
    layout = struct.Struct(f">{code}")
    return lambda reader, version, flexible: reader.number(layout)


def text(reader: ByteReader, version: int, flexible: bool) -> str:
    """A string."""
    return reader.text(_length(reader, _INT16, flexible))


def nullable_text(reader: ByteReader, version: int, flexible: bool) -> str | None:
    """A string, or null."""
    length = _length(reader, _INT16, flexible)
    return None if length < 0 else reader.text(length)


def blob(reader: ByteReader, version: int, flexible: bool) -> bytes:
    """Bytes."""
    start = reader.skip(_length(reader, _INT32, flexible))
    return reader.content[start : reader.position]


def nullable_blob(reader: ByteReader, version: int, flexible: bool) -> bytes | None:
    """Bytes, or null."""
    length = _length(reader, _INT32, flexible)
    if length < 0:
        return None
    start = reader.skip(length)
    return reader.content[start : reader.position]


def uuid(reader: ByteReader, version: int, flexible: bool) -> str:
    """An id as Kafka prints it (`Uuid.toString`): base64 for URLs, without padding."""
    start = reader.skip(UUID_SIZE)
    return base64.urlsafe_b64encode(reader.content[start : reader.position]).decode().rstrip("=")


def list_of(kind: Kind) -> Kind:
    """An array, which is not null."""

    def items(reader: ByteReader, version: int, flexible: bool) -> list[Any]:
        count = _length(reader, _INT32, flexible)
        return [kind(reader, version, flexible) for _ in reader.items(count, 1)]

    return items


def nullable_list_of(kind: Kind) -> Kind:
    """An array, or null."""

    def items(reader: ByteReader, version: int, flexible: bool) -> list[Any] | None:
        count = _length(reader, _INT32, flexible)
        return None if count < 0 else [kind(reader, version, flexible) for _ in reader.items(count, 1)]

    return items


def nullable_structure(structure: Structure) -> Kind:
    """A structure in a tagged field after a number that is 0 where there is none (KIP-893)."""

    def one(reader: ByteReader, version: int, flexible: bool) -> dict[str, Any] | None:
        return structure(reader, version, flexible) if reader.tag() else None

    return one


def _length(reader: ByteReader, layout: struct.Struct, flexible: bool) -> int:
    return reader.length() if flexible else reader.number(layout)
