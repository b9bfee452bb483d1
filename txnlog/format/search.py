"""Finding the next batch behind damage, with certainty and in bounded work."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from txnlog.format import batch as wire
from txnlog.format.batch import HEADER_SIZE, LENGTH_POSITION, MAGIC_POSITION
from txnlog.format.checksum import Segment, crc_of_range, valid_length_at

WINDOW = 1 << 20
# A payload can hold bytes that are themselves a valid batch. Where the damaged batch's own checksum still names its
# true end, that end wins over such a find; this far behind the first find it is looked for.
LOOK_AHEAD = 1 << 20
# Checksum work of all searches in one segment, as a multiple of its size: bytes made to look like a batch at every
# position would otherwise cost the square of the size.
BUDGET = 8


class Search:
    """Searches in one segment, which share one budget."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._budget = BUDGET * segment.size + LOOK_AHEAD

    def next_batch(self, damaged: int) -> int | None:
        """Where the next valid batch of magic 2 starts behind the damage at byte `damaged`; None if nowhere."""
        expected = self._expected_crc(damaged)
        checked, crc = damaged + wire.CHECKED_FROM, 0
        first: int | None = None
        for place in self._valid_places(damaged + 1):
            if expected is None:
                return place
            if place > checked:
                self._budget -= place - checked
                checked, crc = place, crc_of_range(self._segment, checked, place, crc=crc)
                if crc == expected:
                    return place
            first = place if first is None else first
            if place - first > LOOK_AHEAD:
                break
        return first

    def _expected_crc(self, damaged: int) -> int | None:
        view = self._segment.view(damaged, HEADER_SIZE)
        if len(view) < HEADER_SIZE or view[MAGIC_POSITION] != 2:
            return None
        return int.from_bytes(view[wire.CRC_POSITION : wire.CHECKED_FROM], "big")

    def _valid_places(self, start: int) -> Iterator[int]:
        for place in self._plausible_places(start):
            length = int.from_bytes(self._segment.view(place + LENGTH_POSITION, 4), "big")
            if place + wire.LENGTH_END + length > self._segment.size:
                continue
            self._budget -= length
            if self._budget < 0:
                return
            if valid_length_at(self._segment, place) is not None:
                yield place

    def _plausible_places(self, start: int) -> Iterator[int]:
        """Where a header could stand, by the bytes that can take few values only. Cheap: one pass of numpy."""
        while start + HEADER_SIZE <= self._segment.size:
            window = np.frombuffer(self._segment.view(start, WINDOW + HEADER_SIZE), np.uint8)
            count = len(window) - HEADER_SIZE + 1
            plausible = window[MAGIC_POSITION : MAGIC_POSITION + count] == 2
            plausible &= window[wire.CHECKED_FROM : wire.CHECKED_FROM + count] == 0
            for position_of_sign in (0, LENGTH_POSITION, 22, 23, 57):
                plausible &= window[position_of_sign : position_of_sign + count] < 0x80
            for place in np.flatnonzero(plausible[:WINDOW]):
                yield start + int(place)
            start += WINDOW
