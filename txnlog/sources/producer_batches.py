"""The batches of a piece of a log by producer id: its last marker, what follows that, what a broker keeps of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from txnlog.format.control import ControlType
from txnlog.times import EARLIEST_MS, LATEST_MS

Numbers = npt.NDArray[Any]

EARLIEST, LATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
# No time, and no number of records.
NONE = EARLIEST
NO_MARKER = -1
COMMIT = ControlType.COMMIT.value


class Batches(NamedTuple):
    """Some batches of a log, valid and in their order; arrays of one length.

    `records` is -1 if their number is unknown. `first_time` is `NONE` where there is none. `marker` is an
    index into names of markers, `NO_MARKER` for data. `leader_epoch` and `crc` are -1 if unknown. `is_event`
    marks the batches of transactions; `has_broker_timestamp` those whose `max_timestamp` a broker set.
    """

    position: Numbers
    base_offset: Numbers
    last_offset: Numbers
    producer_id: Numbers
    producer_epoch: Numbers
    first_time: Numbers
    max_timestamp: Numbers
    is_log_append_time: Numbers
    records: Numbers
    size_in_bytes: Numbers
    leader_epoch: Numbers
    crc: Numbers
    marker: Numbers
    coordinator_epoch: Numbers
    last_sequence: Numbers
    is_control: Numbers
    is_event: Numbers
    has_broker_timestamp: Numbers


class Totals(NamedTuple):
    """Totals of all batches up to a place: records (at least one a batch), bytes, the latest broker timestamp.

    `last_data_offset` is that of the last batch that is no control batch, -1 where there is none.
    """

    records: int = 0
    size_in_bytes: int = 0
    latest_broker_timestamp: int = EARLIEST
    last_data_offset: int = -1


class Grouped(NamedTuple):
    """Batches by producer id. All but `around` are indexes of batches, or numbers, in the order of ids.

    `ended`: the last marker of each producer id; `commits`: how many COMMITs of those had data before them here.
    `open_data`: the data after that. `shown`: for each, the `first` and `last` of its batches that count, its last
    `data`, where its epoch last `changed`, and the last marker that names a coordinator (`marked`), -1 for none.
    `emptied`: those with markers that the cleaner has emptied.
    """

    ended: Numbers
    commits: Numbers
    open_data: Numbers
    shown: dict[str, Numbers]
    emptied: Numbers
    around: Around


class Around(NamedTuple):
    """What lies before each batch, and brokers' times before and after it; one longer than the batches.

    `data` is the last offset before it that is of no control batch, -1 where there is none.
    """

    records: Numbers
    sizes: Numbers
    before: Numbers
    after: Numbers
    data: Numbers

    @classmethod
    def of(cls, batches: Batches, before: Totals) -> Around:
        """Of these batches, with what lies before them."""
        known = np.where(batches.records < 0, 1, batches.records)
        within = batches.has_broker_timestamp & within_years(batches.max_timestamp)
        latest = np.where(within, batches.max_timestamp, EARLIEST)
        earliest = np.where(within, batches.max_timestamp, LATEST)
        return cls(
            np.cumsum(np.concatenate(([before.records], known)), dtype=np.int64),
            np.cumsum(np.concatenate(([before.size_in_bytes], batches.size_in_bytes)), dtype=np.int64),
            np.maximum.accumulate(np.concatenate(([before.latest_broker_timestamp], latest))),
            # At n: the earliest of the batches from n on.
            np.minimum.accumulate(np.concatenate((earliest, [LATEST]))[::-1])[::-1],
            np.maximum.accumulate(
                np.concatenate(([before.last_data_offset], np.where(batches.is_control, -1, batches.last_offset)))
            ),
        )

    @property
    def totals(self) -> Totals:
        """Those up to the end of the batches."""
        return Totals(int(self.records[-1]), int(self.sizes[-1]), int(self.before[-1]), int(self.data[-1]))

    @property
    def earliest(self) -> int:
        """The earliest time of a broker among the batches."""
        return int(self.after[0])


def grouped(batches: Batches, before: Totals) -> Grouped:
    """Group batches that follow others."""
    ended, commits, open_data = _events(batches)
    is_ones = batches.producer_id >= 0
    is_emptied = is_ones & batches.is_control & (batches.marker == NO_MARKER) & (batches.records == 0)
    return Grouped(
        ended,
        commits,
        open_data,
        _shown(batches, np.flatnonzero(is_ones & (~batches.is_control | (batches.marker > NO_MARKER)))),
        np.unique(batches.producer_id[is_emptied]),
        Around.of(batches, before),
    )


def _events(batches: Batches) -> tuple[Numbers, Numbers, Numbers]:
    """By producer id: its last marker, how many of its COMMITs closed data here, and the data after the marker."""
    events = np.flatnonzero(batches.is_event)
    if not len(events):
        return events, events, events
    # Stable: the batches of one producer id stay in their order.
    events = events[order_of(batches.producer_id[events])]
    starts = starts_of(batches.producer_id[events])
    place = np.arange(len(events))
    marker = batches.marker[events]
    follows_data = np.append([False], marker[:-1] == NO_MARKER)
    follows_data[starts] = False
    commits = np.add.reduceat(((marker == COMMIT) & follows_data).astype(np.int64), starts)
    last_marker = np.maximum.reduceat(np.where(marker > NO_MARKER, place, -1), starts)
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(events))))
    return events[last_marker[last_marker >= 0]], commits[last_marker >= 0], events[place > last_marker[group]]


def _shown(batches: Batches, chosen: Numbers) -> dict[str, Numbers]:
    """What the chosen batches show of each of their producer ids."""
    chosen = chosen[order_of(batches.producer_id[chosen])]
    ids, epochs = batches.producer_id[chosen], batches.producer_epoch[chosen]
    starts = starts_of(ids)
    last = np.append(starts[1:], len(chosen))[: len(starts)] - 1
    changes = np.concatenate((np.zeros(min(1, len(chosen)), np.bool_), epochs[1:] != epochs[:-1]))
    changes[starts] = False
    is_marked = (batches.marker[chosen] > NO_MARKER) & (batches.coordinator_epoch[chosen] >= 0)
    return {
        "producer_id": ids[starts],
        "first": chosen[starts],
        "last": chosen[last],
        "data": _reduced(np.maximum, np.where(batches.is_control[chosen], -1, chosen), starts),
        "changed": _reduced(np.maximum, np.where(changes, chosen, -1), starts),
        "marked": _reduced(np.maximum, np.where(is_marked, chosen, -1), starts),
    }


def _reduced(by: np.ufunc, column: Numbers, starts: Numbers) -> Numbers:
    """One number for each group."""
    reduced: Numbers = by.reduceat(column, starts) if len(starts) else column
    return reduced


def order_of(ids: Numbers) -> Numbers:
    """What puts numbers in order, equal ones in the order in which they stand."""
    if not len(ids):
        return np.zeros(0, np.intp)
    lowest = ids.min()
    # Numbers of 16 bits are sorted by their digits, six times as fast.
    narrow = (ids - lowest).astype(np.uint16) if ids.max() - lowest < 1 << 16 else ids
    return np.argsort(narrow, kind="stable")


def within_years(times: Numbers) -> Numbers:
    """Which times (ms) lie in the years 1970 to 9999: all others are no times (`txnlog.times.within_calendar`)."""
    is_time: Numbers = (times >= EARLIEST_MS) & (times <= LATEST_MS)
    return is_time


def starts_of(sorted_ids: Numbers) -> Numbers:
    """Where each group of equal numbers starts."""
    return np.flatnonzero(np.concatenate(([True], sorted_ids[1:] != sorted_ids[:-1]))[: len(sorted_ids)])
