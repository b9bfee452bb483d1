"""One pass over the batches of a piece of a log in compiled code: numpy takes some fifty.

Imported only where there are enough of them (`txnlog.sources.groups`). Raises ImportError where numba is not installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from txnlog.format.control import ControlType
from txnlog.format.kept import compiled
from txnlog.times import LATEST_MS

LATEST = np.iinfo(np.int64).max
COMMIT = ControlType.COMMIT.value
# The columns of the table that `group` fills, one row for each producer id.
FIELDS = (
    "producer_id", "marker", "first", "last", "lowest_producer_epoch", "batches", "records", "lacks_records",
    "size_in_bytes", "records_before", "bytes_before", "stamp_before_start", "stamp_before", "stamp_after",
    "says_first", "says_last", "data", "changed", "marked", "is_emptied", "epoch", "commits",
)  # fmt: skip
(
    PRODUCER_ID, MARKER, FIRST, LAST, LOWEST_EPOCH, BATCHES, RECORDS, LACKS_RECORDS,
    SIZE, RECORDS_BEFORE, BYTES_BEFORE, STAMP_BEFORE_START, STAMP_BEFORE, STAMP_AFTER,
    SAYS_FIRST, SAYS_LAST, DATA, CHANGED, MARKED, IS_EMPTIED, EPOCH, COMMITS,
) = range(len(FIELDS))  # fmt: skip
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@njit(inline="always")
def _slot_of(slots: Any, table: Any, producer_id: int) -> Any:
    """Where a producer id stands in the hash table `slots`, of 2^n places, or would."""
    mask = np.uint64(len(slots) - 1)
    place = (np.uint64(producer_id) * _MULTIPLIER >> np.uint64(32)) & mask
    while slots[place] >= 0 and table[slots[place], PRODUCER_ID] != producer_id:
        place = (place + np.uint64(1)) & mask
    return place


@njit(inline="always")
def _add_data(table: Any, at: int, index: int, epoch: int, records: int, size: int, totals: Any) -> None:
    """Data of a transaction: the run behind the last marker of its producer id begins or goes on."""
    if table[at, FIRST] < 0:
        table[at, FIRST], table[at, LOWEST_EPOCH] = index, epoch
        table[at, RECORDS_BEFORE], table[at, BYTES_BEFORE] = totals[0], totals[1]
        table[at, STAMP_BEFORE_START] = totals[2]
        table[at, BATCHES] = table[at, RECORDS] = table[at, LACKS_RECORDS] = table[at, SIZE] = 0
    table[at, LAST], table[at, STAMP_BEFORE] = index, totals[2]
    table[at, LOWEST_EPOCH] = min(table[at, LOWEST_EPOCH], epoch)
    table[at, BATCHES] += 1
    table[at, RECORDS] += max(records, 0)
    table[at, LACKS_RECORDS] |= records < 0
    table[at, SIZE] += size


@njit(inline="always")
def _add_saying(table: Any, at: int, index: int, epoch: int, is_control: bool, is_marked: bool) -> None:
    """A batch that tells something of its producer id."""
    if table[at, SAYS_FIRST] < 0:
        table[at, SAYS_FIRST] = index
    elif table[at, EPOCH] != epoch:
        table[at, CHANGED] = index
    # Kept here, as to look it up by its batch takes longer than all the rest.
    table[at, SAYS_LAST], table[at, EPOCH] = index, epoch
    if not is_control:
        table[at, DATA] = index
    if is_marked:
        table[at, MARKED] = index


@njit(inline="always")
def _look_ahead(times: Any, is_stamped: Any, table: Any, count: int) -> Any:
    """Put in the earliest time behind the last batch of each run; the earliest of all."""
    ahead = np.empty(len(times) + 1, np.int64)
    ahead[len(times)] = LATEST
    for index in range(len(times) - 1, -1, -1):
        is_time = is_stamped[index] and 0 <= times[index] <= LATEST_MS
        ahead[index] = min(ahead[index + 1], times[index]) if is_time else ahead[index + 1]
    for at in range(count):
        if table[at, FIRST] >= 0:
            table[at, STAMP_AFTER] = ahead[table[at, LAST] + 1]
    return ahead[0]


@compiled(
    "i8(i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], i8[::1], b1[::1], b1[::1], b1[::1], i8[::1], i4[::1],"
    " i8[:, ::1])"
)
def group(
    producer_ids: Any,
    epochs: Any,
    times: Any,
    records: Any,
    sizes: Any,
    markers: Any,
    coordinator_epochs: Any,
    is_control: Any,
    is_event: Any,
    is_stamped: Any,
    totals: Any,
    slots: Any,
    table: Any,
) -> int:
    """Fill `table` (n, fields) with what the batches say of each producer id; how many of them there are.

    Where there is no such batch of it, its index is -1. `totals` are the records, the bytes and the latest time before
    these batches; then those up to their end, and the earliest time among them. `slots` are all -1.
    """
    count = 0
    for index in range(len(producer_ids)):
        producer_id, is_marker = producer_ids[index], markers[index] >= 0
        place = _slot_of(slots, table, producer_id)
        if slots[place] < 0:
            slots[place] = count
            table[count, :] = -1
            table[count, PRODUCER_ID], table[count, IS_EMPTIED], table[count, COMMITS] = producer_id, 0, 0
            count += 1
        at = slots[place]
        if is_event[index] and is_marker:
            table[at, COMMITS] += markers[index] == COMMIT and table[at, FIRST] >= 0
            table[at, MARKER], table[at, FIRST] = index, -1
        elif is_event[index]:
            _add_data(table, at, index, epochs[index], records[index], sizes[index], totals)
        if producer_id >= 0 and (is_marker or not is_control[index]):
            is_marked = is_marker and coordinator_epochs[index] >= 0
            _add_saying(table, at, index, epochs[index], is_control[index], is_marked)
        elif producer_id >= 0 and records[index] == 0:
            table[at, IS_EMPTIED] = 1
        totals[0] += 1 if records[index] < 0 else records[index]
        totals[1] += sizes[index]
        if is_stamped[index] and 0 <= times[index] <= LATEST_MS:
            totals[2] = max(totals[2], times[index])
    totals[3] = _look_ahead(times, is_stamped, table, count)
    return count
