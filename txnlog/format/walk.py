"""From batch to batch through a window by their length fields, with the header and the checksum of each."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

import fastcrc
import numpy as np

from txnlog.format import batch as wire
from txnlog.format.batch import CHECKED_FROM, LENGTH_END, LENGTH_POSITION, MAGIC_POSITION
from txnlog.format.headers import NAMES, Headers, Integers, Places
from txnlog.format.twins import Twin

# Python takes about as long for so many batches as it takes to load the compiled walk.
ENOUGH = 1 << 19
# Bytes of a batch beyond which they take longer than the steps do.
SMALL = 1 << 12
# Batches of one compiled walk: their columns take about 100 bytes each.
AT_ONCE = 1 << 16

_INT32 = struct.Struct(">i")


class Steps(NamedTuple):
    """Batches that lie in a window whole, (n) each: starts and ends relative to it, headers, CRC-32C of their bytes.

    `crcs` mean nothing for messages of magic 0 and 1, whose checksum is another.
    """

    starts: Places
    ends: Places
    headers: Headers
    crcs: Integers


Walk = Callable[[memoryview], Steps]


class Walker:
    """Walks in Python until so many small batches have come by that its twin pays."""

    def __init__(self, enough: int = ENOUGH) -> None:
        self._twin = Twin("txnlog.format.compiled_walk", "walk", enough)
        # Those of the window before, if they were small.
        self._small_batches = 0

    def __call__(self, window: memoryview) -> Steps:
        """The batches from the start of a window on."""
        put = self._twin.after(self._small_batches)
        steps = walk_with(put)(window) if put and self._small_batches else walk_in_python(window)
        self._small_batches = len(steps.starts) if len(steps.starts) * SMALL > len(window) else 0
        return steps


def walk_in_python(window: memoryview) -> Steps:
    """The batches from the start of a window on."""
    starts, ends = _frames(window)
    crc_of, checked_from = fastcrc.crc32.iscsi, (starts + CHECKED_FROM).tolist()
    crcs = [crc_of(window[start:end]) for start, end in zip(checked_from, ends.tolist(), strict=True)]
    return Steps(starts, ends, Headers.at(window, starts), np.array(crcs, np.int64))


def _frames(window: memoryview) -> tuple[Places, Places]:
    """Starts and ends of batches, following the length fields as long as each lies in the window whole."""
    found: list[int] = []
    place, size, length_at, add = 0, len(window), _INT32.unpack_from, found.append
    # Runs once a batch, so this loop contains only what cannot be done for all of them at once.
    while place + MAGIC_POSITION < size:
        (length,) = length_at(window, place + LENGTH_POSITION)
        end = place + LENGTH_END + length
        if length < wire.SMALLEST_LEGACY_LENGTH or end > size:
            break
        add(place)
        place = end
    starts = np.array(found, np.int64)
    ends = np.append(starts[1:], place)[: len(starts)]
    magic = np.frombuffer(window, np.uint8)[starts + MAGIC_POSITION]
    too_short = np.flatnonzero((magic > 1) & (ends - starts < LENGTH_END + wire.SMALLEST_BATCH_LENGTH))
    whole = int(too_short[0]) if len(too_short) else len(starts)
    return starts[:whole], ends[:whole]


def walk_with(put: Callable[..., int]) -> Walk:
    """A walk by a function like `txnlog.format.compiled_walk.walk`."""

    def walk(window: memoryview) -> Steps:
        most = min(len(window) // (LENGTH_END + wire.SMALLEST_LEGACY_LENGTH) + 1, AT_ONCE)
        starts, crcs = np.empty(most + 1, np.int64), np.empty(most, np.int64)
        table = np.empty((len(NAMES), most), np.int64)
        count = put(np.frombuffer(window, np.uint8), starts, crcs, table)
        headers = Headers(table[:, :count])
        headers.put_messages(window, starts[:count])
        return Steps(starts[:count], starts[1 : count + 1], headers, crcs[:count])

    return walk
