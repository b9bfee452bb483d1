"""Lines of one layout as numbers, by compiled code. Imported by `txnlog.format.twins` only.

A layout is the texts between the numbers. A line has it if it is those texts, byte for byte, with a number in each gap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np
import numpy.typing as npt

from txnlog.format.twins import compiled

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
# Whatever they are, 64 bits hold them.
MOST_DIGITS = 18
MINUS, ZERO = b"-0"

_BYTES = numba.types.Array(numba.uint8, 1, "C", readonly=True)
_INTEGERS = numba.types.Array(numba.int64, 1, "C")
# An index that could be negative would cost a test for each byte.
_INDEX = numba.uintp
_ONE = _INDEX(1)
_inlined = numba.njit(inline="always")


def with_layout(content: Bytes, starts: Integers, ends: Integers, texts: Sequence[bytes]) -> tuple[Integers, Integers]:
    """Which lines, from `starts` to `ends`, have this layout: their indexes, and for each gap a row of numbers.

    A line with a number of more than 18 digits is none of them.
    """
    bounds = np.cumsum([0, *(len(text) for text in texts)])
    rows = np.empty(len(starts), np.int64)
    numbers = np.empty((len(texts) - 1, len(starts)), np.int64)
    text = np.frombuffer(b"".join(texts), np.uint8)
    count = _with_layout(content, starts, ends, text, bounds, rows, numbers)
    return rows[:count], numbers[:, :count]


@_inlined
def _is_same(content, at, text, first, size):  # type: ignore[no-untyped-def]
    different = np.uint8(0)
    # Without a way out of it, the loop takes many bytes at once.
    for place in range(size):
        different |= content[at + place] ^ text[first + place]
    return different == 0


@_inlined
def _after_digits(content, at, end):  # type: ignore[no-untyped-def]
    while at < end and np.uint8(content[at] - np.uint8(ZERO)) <= 9:
        at += _ONE
    return at


@_inlined
def _number(content, at, end):  # type: ignore[no-untyped-def]
    number = np.int64(0)
    while at < end:
        number = number * 10 + np.int64(content[at] - np.uint8(ZERO))
        at += _ONE
    return number


@compiled(numba.int64(_BYTES, _INTEGERS, _INTEGERS, _BYTES, _INTEGERS, _INTEGERS, numba.int64[:, ::1]))
def _with_layout(content, starts, ends, text, bounds, rows, numbers):  # type: ignore[no-untyped-def]
    """Fill `rows` and `numbers`; how many lines have the layout."""
    found, gaps = 0, len(bounds) - 2
    for row in range(len(starts)):
        at, end = _INDEX(starts[row]), _INDEX(ends[row])
        is_one = False
        for gap in range(gaps + 1):
            first = _INDEX(bounds[gap])
            size = _INDEX(bounds[gap + 1]) - first
            if at + size > end or not _is_same(content, at, text, first, size):
                break
            at += size
            if gap == gaps:
                is_one = at == end
                break
            is_negative = at < end and content[at] == MINUS
            at += _INDEX(is_negative)
            stop = _after_digits(content, at, min(end, at + _INDEX(MOST_DIGITS + 1)))
            if not 0 < stop - at <= MOST_DIGITS:
                break
            number = _number(content, at, stop)
            numbers[gap, found] = -number if is_negative else number
            at = stop
        if is_one:
            rows[found] = row
            found += 1
    return found
