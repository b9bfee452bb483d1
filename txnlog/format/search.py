"""Finding the next batch after damage, with certainty and in bounded work."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from txnlog.format import batch as wire
from txnlog.format.batch import HEADER_SIZE, LENGTH_POSITION, MAGIC_POSITION
from txnlog.format.checksum import Segment, crc_of_range, valid_length_at
from txnlog.format.structure import numpy_dtype

WINDOW = 1 << 20
# The first window is small and each next one twice as large: most searches end after a batch or two.
FIRST_WINDOW = 4 << 10
# A payload can hold bytes that are themselves a valid batch. Where the damaged batch's own checksum still names its
# true end, that end wins over such a find; this far after the first find it is looked for.
LOOK_AHEAD = 1 << 20
# Checksum work of all finds in one segment, as a multiple of its size: bytes made to look like a batch at every
# position would otherwise cost the square of the size.
BUDGET = 8

_FIELDS: Mapping[str, Any] = numpy_dtype(wire.RecordBatchHeader).fields or {}
# Where a byte below 0x80 stands: the first of a number that is not negative, and the second of the attributes.
_NOT_NEGATIVE = (
    wire.CHECKED_FROM + 1,
    *(_FIELDS[name][1] for name, (least, _) in wire.PLAUSIBLE.items() if least >= 0 and name != "magic"),
)


class _Budget:
    """Bytes that may still be checked."""

    def __init__(self, size: int) -> None:
        self.left = size + LOOK_AHEAD


class Search:
    """Searches in one segment, which share two budgets: without the second the first find is taken unconfirmed."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._finding, self._confirming = _Budget(BUDGET * segment.size), _Budget(segment.size)

    def next_batch(self, damaged: int) -> int | None:
        """Where the next valid batch of magic 2 starts after the damage at byte `damaged`; None if nowhere."""
        first = next(self._valid_places(damaged + 1, self._finding), None)
        if first is None:
            return None
        end = self.true_end(damaged, first, first)
        if end is None:
            return first
        return end if end < self._segment.size else None

    def true_end(self, damaged: int, start: int, claimed: int) -> int | None:
        """Where the batch at `damaged` ends by its own checksum: at a valid batch or at the end of the segment.

        Looked for from `start` to a little after the end that is `claimed`; None if it matches nowhere.
        """
        expected = self._expected_crc(damaged)
        if expected is None or self._confirming.left < 0:
            return None
        checked, crc = damaged + wire.CHECKED_FROM, 0
        for place in itertools.chain(self._valid_places(start, self._confirming), [self._segment.size]):
            if place > claimed + LOOK_AHEAD or self._confirming.left < 0:
                return None
            if place > checked:
                self._confirming.left -= place - checked
                checked, crc = place, crc_of_range(self._segment, checked, place, crc=crc)
                if crc == expected:
                    return place
        return None

    def _expected_crc(self, damaged: int) -> int | None:
        view = self._segment.view(damaged, HEADER_SIZE)
        if len(view) < HEADER_SIZE or view[MAGIC_POSITION] != 2:
            return None
        return int.from_bytes(view[wire.CRC_POSITION : wire.CHECKED_FROM], "big")

    def _valid_places(self, start: int, budget: _Budget) -> Iterator[int]:
        for place in self._plausible_places(start):
            length = int.from_bytes(self._segment.view(place + LENGTH_POSITION, 4), "big")
            if place + wire.LENGTH_END + length > self._segment.size:
                continue
            budget.left -= length
            if budget.left < 0:
                return
            if valid_length_at(self._segment, place) is not None:
                yield place

    def _plausible_places(self, start: int) -> Iterator[int]:
        """Where a header could stand, by the bytes that can take few values only. Cheap: one pass of numpy."""
        size = FIRST_WINDOW
        while start + HEADER_SIZE <= self._segment.size:
            window = np.frombuffer(self._segment.view(start, size + HEADER_SIZE), np.uint8)
            count = len(window) - HEADER_SIZE + 1
            plausible = window[MAGIC_POSITION : MAGIC_POSITION + count] == 2
            plausible &= window[wire.CHECKED_FROM : wire.CHECKED_FROM + count] == 0
            for position in _NOT_NEGATIVE:
                plausible &= window[position : position + count] < 0x80
            for place in np.flatnonzero(plausible[:size]):
                yield start + int(place)
            start, size = start + size, min(2 * size, WINDOW)
