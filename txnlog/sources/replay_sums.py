"""What a segment adds up to for the replay: per producer id its last marker and what it wrote after it.

Replay needs only the data after each producer's last marker, how much of it there is, and what brokers'
clocks say around it. So one row a producer id says as much as all the batches do, and sums of segments can be summed
again: a log of millions of batches reaches Spark as a few rows. Of brokers' times only the latest before a place
and the earliest after it count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from txnlog.sources.open_data import OPEN_DATA, joined, open_data_of
from txnlog.sources.producer_batches import LATEST, Around, Batches, Numbers, Totals, grouped, starts_of
from txnlog.sources.producer_sums import PRODUCER, emptied, entries_of, in_order_of_ids, known_producers

# So many rows may wait to be summed up; beyond that, twice as many as there were producer ids the last time.
WAITING = 1 << 17
MARKER = np.dtype(
    [
        ("producer_id", "i8"),
        ("sequence", "i8"),
        ("start_offset", "i8"),
        ("position", "i8"),
        ("marker", "i1"),
        ("producer_epoch", "i2"),
        ("coordinator_epoch", "i4"),
        ("max_timestamp", "i8"),
        ("commits", "i8"),
    ]
)
NAMED_OFFSET = np.dtype(
    [
        ("start_offset", "i8"),
        ("records_before", "i8"),
        ("bytes_before", "i8"),
        ("broker_timestamp_before_start", "i8"),
        ("broker_timestamp_after", "i8"),
        ("known_to", "i8"),
    ]
)


class Sums:
    """The sums over one file. `named_offsets`: offsets for which it must be known what lies before them."""

    def __init__(self, named_offsets: Sequence[int] = ()) -> None:
        self.first_offset: int | None = None
        self.batches = 0
        self._totals = Totals()
        self._offsets_ahead = sorted(set(named_offsets), reverse=True)
        self._named_offsets: list[Numbers] = []
        self._open_data: list[Numbers] = []
        self._markers: list[Numbers] = []
        self._producers: list[Numbers] = []
        self._waiting, self._limit = 0, WAITING
        self._earliest_of_piece: list[int] = []

    def add(self, batches: Batches) -> None:
        """Add the batches that follow."""
        if not len(batches.base_offset):
            return
        if self.first_offset is None:
            self.first_offset = int(batches.base_offset[0])
        found, piece = grouped(batches, self._totals), len(self._earliest_of_piece)
        self._earliest_of_piece.append(found.around.earliest)
        self._pass_named_offsets(batches, found.around)
        for waiting, rows in (
            (self._markers, _markers(batches, found.ended, found.commits, self.batches)),
            (self._open_data, open_data_of(batches, found.open_data, found.around, self.batches, piece + 1)),
            (self._producers, emptied(found.emptied, self.batches)),
            (self._producers, entries_of(batches, found.shown, self.batches)),
        ):
            if len(rows):
                waiting.append(rows)
                self._waiting += len(rows)
        if self._waiting > self._limit:
            self._sum_up()
            self._limit = max(WAITING, 2 * self._waiting)
        self.batches += len(batches.base_offset)
        self._totals = found.around.totals

    @property
    def records(self) -> int:
        """How many there are, at least one a batch."""
        return self._totals.records

    @property
    def size_in_bytes(self) -> int:
        """Of all batches."""
        return self._totals.size_in_bytes

    @property
    def latest_broker_timestamp(self) -> int:
        """The latest time by a broker's clock."""
        return self._totals.latest_broker_timestamp

    @property
    def earliest_broker_timestamp(self) -> int:
        """The earliest time by a broker's clock."""
        return min(self._earliest_of_piece, default=LATEST)

    def open_data(self) -> Numbers:
        """One `OPEN_DATA` per producer id with data of a transaction after its last marker."""
        self._sum_up()
        return np.concatenate(self._open_data) if self._open_data else np.zeros(0, OPEN_DATA)

    def markers(self) -> Numbers:
        """The last `MARKER` of each producer id. `commits`: COMMITs that closed data which was added with them."""
        self._sum_up()
        return np.concatenate(self._markers) if self._markers else np.zeros(0, MARKER)

    def producers(self) -> Numbers:
        """One `PRODUCER` for each producer id: what a broker keeps of it."""
        self._sum_up()
        return np.concatenate(self._producers) if self._producers else np.zeros(0, PRODUCER)

    def named_offsets(self) -> Numbers:
        """One `NAMED_OFFSET` for each of the offsets that lie within the file."""
        found = np.concatenate(self._named_offsets) if self._named_offsets else np.zeros(0, NAMED_OFFSET)
        self._look_ahead(found)
        return found

    def _pass_named_offsets(self, batches: Batches, around: Around) -> None:
        last = int(batches.last_offset.max())
        passed = []
        while self._offsets_ahead and self._offsets_ahead[-1] <= last:
            passed.append(self._offsets_ahead.pop())
        if not passed:
            return
        rows = np.zeros(len(passed), NAMED_OFFSET)
        rows["start_offset"] = passed
        held = np.searchsorted(batches.last_offset, passed, "left")
        rows["records_before"], rows["bytes_before"] = around.records[held], around.sizes[held]
        rows["broker_timestamp_before_start"] = around.before[np.searchsorted(batches.base_offset, passed, "left")]
        rows["broker_timestamp_after"] = around.after[np.searchsorted(batches.base_offset, passed, "right")]
        rows["known_to"] = len(self._earliest_of_piece)
        self._named_offsets.append(rows)

    def _sum_up(self) -> None:
        """One row a producer id in place of all that wait."""
        if len(self._markers) > 1:
            markers = in_order_of_ids(np.concatenate(self._markers))
            starts = starts_of(markers["producer_id"])
            commits = np.add.reduceat(markers["commits"], starts) if len(markers) else markers["commits"]
            markers = markers[np.append(starts[1:], len(markers)) - 1]
            markers["commits"] = commits
            self._markers = [markers]
        if self._open_data:
            open_data = np.concatenate(self._open_data)
            self._look_ahead(open_data)
            self._open_data = [joined(in_order_of_ids(_still_open(open_data, self._markers)))]
        if len(self._producers) > 1:
            self._producers = [known_producers(np.concatenate(self._producers))]
        self._waiting = sum(map(len, (*self._markers, *self._open_data, *self._producers)))

    def _look_ahead(self, rows: Numbers) -> None:
        """Bring `broker_timestamp_after` up to the pieces that came later."""
        earliest = np.array([*self._earliest_of_piece, LATEST], np.int64)
        later = np.minimum.accumulate(earliest[::-1])[::-1]
        rows["broker_timestamp_after"] = np.minimum(rows["broker_timestamp_after"], later[rows["known_to"]])
        rows["known_to"] = len(self._earliest_of_piece)


def _markers(batches: Batches, chosen: Numbers, commits: Numbers, before: int) -> Numbers:
    rows = np.zeros(len(chosen), MARKER)
    rows["commits"] = commits
    rows["sequence"] = chosen + before
    for name in ("producer_id", "position", "marker", "producer_epoch", "coordinator_epoch"):
        rows[name] = getattr(batches, name)[chosen]
    rows["start_offset"] = batches.base_offset[chosen]
    rows["max_timestamp"] = batches.max_timestamp[chosen]
    return rows


def _still_open(open_data: Numbers, markers: list[Numbers]) -> Numbers:
    """The data that no later marker of its producer id has ended; the markers are in the order of their ids."""
    if not markers or not len(markers[0]):
        return open_data
    (known,) = markers
    places = np.searchsorted(known["producer_id"], open_data["producer_id"])
    places = np.minimum(places, len(known) - 1)
    ended = (known["producer_id"][places] == open_data["producer_id"]) & (
        known["sequence"][places] > open_data["sequence"]
    )
    is_open: Numbers = ~ended
    still: Numbers = open_data[is_open]
    return still
