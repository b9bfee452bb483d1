"""A position in the key or value of a coordinator's record: numbers, strings and lengths, never beyond its end."""

from __future__ import annotations

import struct

from txnlog.errors import FormatError
from txnlog.format.record import unsigned_varint


class ByteReader:
    """A position in a key or value that never runs past its end."""

    def __init__(self, content: bytes, position: int = 0) -> None:
        self.content = content
        self.position = position

    def numbers(self, layout: struct.Struct) -> tuple[int, ...]:
        """The numbers of a layout, which is without padding."""
        if self.position + layout.size > len(self.content):
            raise FormatError("a coordinator record ends too early", self.position)
        self.position += layout.size
        return layout.unpack_from(self.content, self.position - layout.size)

    def number(self, layout: struct.Struct) -> int:
        """One number."""
        return self.numbers(layout)[0]

    def length(self) -> int:
        """A compact length: the number on disk is one more; None is -1."""
        number, self.position = unsigned_varint(self.content, self.position)
        return number - 1

    def tag(self) -> int:
        """A variable-length number: of a tag, or how many there are."""
        number, self.position = unsigned_varint(self.content, self.position)
        return number

    def skip(self, length: int) -> int:
        """Where the next bytes start, which are passed over."""
        start = self.position
        if length < 0 or start + length > len(self.content):
            raise FormatError(f"a coordinator record claims {length} bytes more than it has", start)
        self.position += length
        return start

    def text(self, length: int) -> str:
        """A string of so many bytes."""
        start = self.skip(length)
        try:
            return self.content[start : self.position].decode()
        except UnicodeDecodeError as error:
            raise FormatError("a name in a coordinator record is not UTF-8", start + error.start) from error

    def must_end(self) -> None:
        """FormatError if bytes are left."""
        if self.position != len(self.content):
            raise FormatError("a coordinator record is longer than its fields", self.position)

    def items(self, count: int, smallest: int) -> range:
        """As many steps as an array claims, once it is clear that the bytes for them are there."""
        if not 0 <= count * smallest <= len(self.content) - self.position:
            raise FormatError(f"an array claims {count} items", self.position)
        return range(count)
