"""Many structures of one layout that lie in one piece of memory, read field by field, all of them at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from txnlog.format.structure import gathered

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LONGEST_VARINT = 5


class Cursor:
    """A place in each of n structures, which moves on by a field at a time.

    `at` and `end` (n) are bytes of `content`, `end` the first that is no longer the structure's. `fine` (n) says of
    which everything so far was there and as expected; the others move no further, and what is read of them has no
    meaning.
    """

    def __init__(self, content: Bytes, at: Numbers, end: Numbers) -> None:
        self.content, self.at, self.end = content, at, end
        self.fine: Flags = np.ones(len(at), np.bool_)

    def part(self, indexes: npt.NDArray[np.intp]) -> Cursor:
        """A cursor of some of the structures; `rejoin` takes what became of it."""
        return Cursor(self.content, self.at[indexes], self.end[indexes])

    def rejoin(self, indexes: npt.NDArray[np.intp], part: Cursor) -> None:
        """Move on to where a `part` is."""
        self.at[indexes] = part.at
        self.fine[indexes] &= part.fine

    def expect(self, flags: Flags) -> None:
        """Those that are not so are not fine."""
        self.fine &= flags

    def narrow(self, lengths: Numbers) -> None:
        """What follows ends after so many bytes."""
        self.expect((lengths >= 0) & (self.at + lengths <= self.end))
        self.end = np.where(self.fine, self.at + lengths, self.end)

    def skip(self, lengths: Numbers | int) -> Numbers:
        """Move past so many bytes; where they start."""
        start = self.at
        self.expect((np.asarray(lengths) >= 0) & (start + lengths <= self.end))
        self.at = np.where(self.fine, start + lengths, start)
        return start

    def fields(self, layout: np.dtype[Any]) -> npt.NDArray[Any]:
        """One field, or a structure of them, of fixed width."""
        return values_at(self.content, self.skip(layout.itemsize), layout)

    def unsigned_varint(self) -> Numbers:
        """A variable-length integer without a sign."""
        number, size = self._varint()
        self.skip(size)
        return number

    def varint(self) -> Numbers:
        """A zig-zag variable-length integer."""
        number = self.unsigned_varint()
        return (number >> 1) ^ -(number & 1)

    def length(self, layout: np.dtype[Any], is_compact: Flags) -> Numbers:
        """The length of a text or an array: one more as a varint, or a number of fixed width; null is negative."""
        compact, size = self._varint()
        fixed = values_at(self.content, self.at, layout)
        self.skip(np.where(is_compact, size, layout.itemsize))
        return np.where(is_compact, compact - 1, fixed)

    def _varint(self) -> tuple[Numbers, Numbers]:
        """A variable-length integer and how many bytes it has: more than there are where it does not end."""
        number, size = np.zeros(len(self.at), np.int64), np.ones(len(self.at), np.int64)
        goes_on = np.arange(len(self.at))
        for place in range(LONGEST_VARINT):
            byte = values_at(self.content, self.at[goes_on] + place, np.dtype(np.uint8)).astype(np.int64)
            number[goes_on] |= (byte & 0x7F) << (7 * place)
            size[goes_on] = place + 1
            goes_on = goes_on[byte >= 0x80]
        size[goes_on] = len(self.content) + 1
        return number, size


def values_at(content: Bytes, places: Numbers, layout: np.dtype[Any]) -> npt.NDArray[Any]:
    """The values at some places; anything where the content ends too early."""
    last = len(content) - layout.itemsize
    if last < 0:
        return np.zeros(len(places), layout)
    return gathered(content.data, np.minimum(places, last), layout)


def spread(starts: Numbers, lengths: Numbers, step: int = 1) -> Numbers:
    """Of each array that starts there and has so many elements of `step` bytes, where each element is."""
    first = np.cumsum(lengths) - lengths
    places: Numbers = np.repeat(starts - step * first, lengths) + step * np.arange(lengths.sum())
    return places


def are_ascii(content: Bytes, starts: Numbers, lengths: Numbers) -> Flags:
    """Which texts have one byte for each character."""
    others = np.cumsum(np.concatenate(([0], content[spread(starts, lengths)] >= 0x80)), dtype=np.int64)
    ends = np.cumsum(lengths)
    flags: Flags = others[ends] == others[ends - lengths]
    return flags


def texts(content: Bytes, starts: Numbers, lengths: Numbers) -> pa.Array:
    """Texts as Arrow strings, once it is known that they are UTF-8."""
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    letters = content[spread(starts, lengths)]
    return pa.Array.from_buffers(pa.string(), len(starts), [None, pa.py_buffer(ends), pa.py_buffer(letters)])
