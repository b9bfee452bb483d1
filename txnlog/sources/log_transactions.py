"""The transactions of one copy of a log, from its batches in their order: a run of data, and what ended it.

A run is all data of a producer id between two control batches of it (`ProducerAppendInfo.appendEndTxnMarker`). Where
the copy lacks offsets, a run may be of two transactions: what is after the last gap is of the later one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.lib.recfunctions import repack_fields

from txnlog.dump.dump_file import DumpFile
from txnlog.sources.batch_order import BatchOrder
from txnlog.sources.producer_batches import (
    EARLIEST,
    LATEST,
    NO_MARKER,
    Batches,
    Numbers,
    order_of,
    starts_of,
    within_years,
)

# A place in the files of a log, as one number that grows along it: which file, and which byte of it.
POSITION_BITS = 40


class Sum(NamedTuple):
    """A number of a run's data: how two are joined, what that of no data is, what it is of some batches."""

    join: np.ufunc
    of_none: int
    of: Callable[[Batches], Numbers]


def _first_times(batches: Batches) -> Numbers:
    """When the first record of a batch was written: with LogAppendTime the broker's clock says it of all of them."""
    is_time = within_years(batches.first_time) & ~batches.is_log_append_time
    times = np.where(is_time, batches.first_time, batches.max_timestamp)
    return np.where(within_years(times), times, LATEST)


def _last_times(batches: Batches) -> Numbers:
    return np.where(within_years(batches.max_timestamp), batches.max_timestamp, EARLIEST)


def _removed(batches: Batches) -> Numbers:
    """How many records of a batch the log cleaner has taken, as far as their number is known."""
    return np.where(batches.records < 0, 0, batches.last_offset - batches.base_offset + 1 - batches.records)


SUMS = {
    "first_offset": Sum(np.minimum, LATEST, lambda batches: batches.base_offset),
    "last_offset": Sum(np.maximum, -1, lambda batches: batches.last_offset),
    "place": Sum(np.minimum, LATEST, lambda batches: batches.position),
    "lowest_producer_epoch": Sum(np.minimum, LATEST, lambda batches: batches.producer_epoch),
    "first_timestamp": Sum(np.minimum, LATEST, _first_times),
    "last_timestamp": Sum(np.maximum, EARLIEST, _last_times),
    "batches": Sum(np.add, 0, lambda batches: np.ones_like(batches.base_offset)),
    "records": Sum(np.add, 0, lambda batches: np.maximum(batches.records, 0)),
    "uncounted": Sum(np.add, 0, lambda batches: batches.records < 0),
    "removed": Sum(np.add, 0, _removed),
    "size_in_bytes": Sum(np.add, 0, lambda batches: batches.size_in_bytes),
    "create_times": Sum(np.add, 0, lambda batches: ~batches.is_log_append_time),
}
# What is known of the control batch that ends a run; -1 without one.
ENDS = {
    "marker": lambda batches: batches.marker,
    "marker_offset": lambda batches: batches.base_offset,
    "marker_place": lambda batches: batches.position,
    "marker_epoch": lambda batches: batches.producer_epoch,
    "coordinator_epoch": lambda batches: batches.coordinator_epoch,
    "marker_timestamp": lambda batches: batches.max_timestamp,
}
# Of the last gap before a run's end, or up to where the log has been read: of any, and of those that the log cleaner
# did not leave. `after`: where the run's data begins that follows it, `LATEST` for none.
GAPS = "gap", "lost"
_OF_GAPS = [f"{gap}_{name}" for gap in GAPS for name in ("start", "end", "after")]
# The control batch of the producer id before the run, and the last gap before that.
_PREVIOUS = {name: f"previous_{name}" for name in ("marker", "marker_offset", "marker_epoch", "gap_end")}
RUN = np.dtype(
    [(name, np.int64) for name in ("producer_id", "is_ended", "producer_epoch", *SUMS, *ENDS, *_OF_GAPS)]
    + [(name, np.int64) for name in _PREVIOUS.values()]
)
_MARKED = ["producer_id", *_PREVIOUS]
MARKED = np.dtype([(name, np.int64) for name in _MARKED])
NO_GAP, UNKNOWN_GAP = -1, -2


@dataclass(kw_only=True)
class LogTransactions(BatchOrder):
    """What the batches so far have of transactions, in the order of producer ids.

    `open_runs` (`RUN`) have not ended; `last_marked` (`MARKED`) is the last control batch of each producer id.
    `last_gap`: start and end of the last gap of each kind. `files`: those with batches, as places count them.
    """

    open_runs: Numbers = field(default_factory=lambda: np.zeros(0, RUN))
    last_marked: Numbers = field(default_factory=lambda: np.zeros(0, MARKED))
    last_gap: dict[str, tuple[int, int]] = field(default_factory=lambda: dict.fromkeys(GAPS, (NO_GAP, NO_GAP)))
    files: list[str] = field(default_factory=list)

    def add(self, file: DumpFile, batches: Batches) -> Numbers:
        """Add the batches that follow in a file: the runs that end in them."""
        if not len(batches.base_offset):
            return np.zeros(0, RUN)
        around = self._around(file, batches)
        self.passed(file, batches)
        is_chosen = (batches.producer_id >= 0) & (batches.is_event | batches.is_control)
        chosen = np.flatnonzero(is_chosen)
        chosen = chosen[order_of(batches.producer_id[chosen])]
        if not len(chosen):
            return np.zeros(0, RUN)
        if file.file not in self.files[-1:]:
            self.files.append(file.file)
        found = _at(batches, chosen)
        placed = found._replace(position=found.position + (len(self.files) - 1 << POSITION_BITS))
        return self._continued(_runs(placed, {name: of[chosen] for name, of in around.items()}, self.last_gap))

    def unended(self) -> Numbers:
        """The runs that no control batch has ended so far."""
        runs = self.open_runs.copy()
        for gap, (start, end) in self.last_gap.items():
            runs[f"{gap}_after"][runs[f"{gap}_end"] != end] = LATEST
            runs[f"{gap}_start"], runs[f"{gap}_end"] = start, end
        return runs

    def _around(self, file: DumpFile, batches: Batches) -> dict[str, Numbers]:
        """Start and end of the last gap of each kind before each of the batches."""
        expected = self.expected(batches)
        is_missing, is_cleaned = self.missing(file, batches)
        found = {}
        for gap, is_one in zip(GAPS, (is_missing, is_missing & ~is_cleaned), strict=True):
            last = np.maximum.accumulate(np.where(is_one, np.arange(len(is_one)), -1))
            start, end = self.last_gap[gap]
            found[f"{gap}_start"] = np.where(last < 0, start, expected[last])
            found[f"{gap}_end"] = np.where(last < 0, end, batches.base_offset[last])
            self.last_gap[gap] = int(found[f"{gap}_start"][-1]), int(found[f"{gap}_end"][-1])
        return found

    def _continued(self, runs: Numbers) -> Numbers:
        """Join the runs that follow to those before them: those that have ended."""
        firsts = starts_of(runs["producer_id"])
        of_open = _places(self.open_runs, runs[firsts])
        is_of_open = of_open >= 0
        goes_on, begins = firsts[is_of_open], firsts[~is_of_open]
        runs[goes_on] = _joined(self.open_runs[of_open[is_of_open]], runs[goes_on])
        self._set_previous(runs, begins)
        others = np.delete(self.open_runs, of_open[is_of_open])
        self.open_runs = _in_order(others, runs[runs["is_ended"] == 0])
        ended: Numbers = runs[runs["is_ended"] == 1]
        if len(ended):
            lasts = np.append(starts_of(ended["producer_id"])[1:], len(ended)) - 1
            marked = repack_fields(ended[lasts][_MARKED])
            replaced = _places(self.last_marked, marked)
            self.last_marked = _in_order(np.delete(self.last_marked, replaced[replaced >= 0]), marked)
        return ended

    def _set_previous(self, runs: Numbers, at: Numbers) -> None:
        """What came before the first runs of some producer ids."""
        places = _places(self.last_marked, runs[at])
        is_known = places >= 0
        for name, previous in _PREVIOUS.items():
            runs[previous][at[is_known]] = self.last_marked[name][places[is_known]]
            runs[previous][at[~is_known]] = NO_MARKER
        # Before the first offset of a log nothing can be missing.
        runs["previous_gap_end"][at[~is_known]] = NO_GAP if self.start == 0 else UNKNOWN_GAP


def _at(batches: Batches, places: Numbers) -> Batches:
    return Batches._make(column[places] for column in batches)


def _runs(batches: Batches, around: dict[str, Numbers], last_gap: dict[str, tuple[int, int]]) -> Numbers:
    """The runs of batches in the order of producer ids; `around` is what `LogTransactions._around` says of each."""
    ids, is_end = batches.producer_id, batches.is_control
    starts = np.flatnonzero(np.concatenate(([True], (ids[1:] != ids[:-1]) | is_end[:-1])))
    lasts = np.append(starts[1:], len(ids)) - 1
    runs = np.zeros(len(starts), RUN)
    runs["producer_id"], runs["is_ended"] = ids[starts], is_end[lasts]
    for name, (join, of_none, of) in SUMS.items():
        runs[name] = join.reduceat(np.where(is_end, of_none, of(batches).astype(np.int64)), starts)
    last_data = np.maximum(lasts - runs["is_ended"], starts)
    runs["producer_epoch"] = np.where(runs["batches"] > 0, batches.producer_epoch[last_data], -1)
    for name, of in ENDS.items():
        runs[name] = np.where(is_end[lasts], of(batches)[lasts], -1)
    for gap, so_far in last_gap.items():
        for name, of_all in zip(("start", "end"), so_far, strict=True):
            runs[f"{gap}_{name}"] = np.where(is_end[lasts], around[f"{gap}_{name}"][lasts], of_all)
        is_after = ~is_end & (around[f"{gap}_end"] == np.repeat(runs[f"{gap}_end"], np.diff(starts, append=len(ids))))
        runs[f"{gap}_after"] = np.minimum.reduceat(np.where(is_after, batches.base_offset, LATEST), starts)
    for name, previous in _PREVIOUS.items():
        # That of the first run of a producer id is set later.
        runs[previous][1:] = runs[name][:-1]
    return runs


def _joined(before: Numbers, after: Numbers) -> Numbers:
    """Runs that go on: what is known of both parts of each."""
    runs = after.copy()
    for name, (join, _, _) in SUMS.items():
        runs[name] = join(before[name], after[name])
    for gap in GAPS:
        is_same, name = before[f"{gap}_end"] == after[f"{gap}_end"], f"{gap}_after"
        runs[name] = np.where(is_same, np.minimum(before[name], after[name]), after[name])
    runs["producer_epoch"] = np.where(after["batches"] > 0, after["producer_epoch"], before["producer_epoch"])
    for previous in _PREVIOUS.values():
        runs[previous] = before[previous]
    return runs


def _places(runs: Numbers, wanted: Numbers) -> Numbers:
    """Where the producer ids of some runs are among others, -1 for those that are not."""
    ids = runs["producer_id"]
    places = np.searchsorted(ids, wanted["producer_id"])
    found: Numbers = np.where(np.append(ids, -1)[places] == wanted["producer_id"], places, -1)
    return found


def _in_order(some: Numbers, others: Numbers) -> Numbers:
    runs = np.concatenate((some, others))
    in_order: Numbers = runs[order_of(runs["producer_id"])]
    return in_order
