"""What a producer id wrote after its last marker in a file, as one row: its columns, declared once.

Each says what it is of one batch, and how two that follow one another are joined: the batches of a piece of a file,
and then the pieces. Over the files of a log Spark joins them in the same way (`txnlog.detection.replay`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from txnlog.sources.producer_batches import EARLIEST, LATEST, NONE, Around, Batches, Numbers, starts_of, within_years


class Column(NamedTuple):
    """A column: its numpy type, how two are joined (`FIRST` and `LAST`: one of them counts), what it is of batches.

    `null` is the number that means null in `ReplayRow`.
    """

    kind: str
    join: str | np.ufunc
    of: Callable[[Batches, Around, Numbers], Any]
    null: int | None = None


def _first_time(batches: Batches, _: Around, at: Numbers) -> Numbers:
    """When the first record was written, as far as that is a time: else the largest time of its batch."""
    times = batches.first_time[at]
    return np.where(within_years(times), times, batches.max_timestamp[at])


FIRST, LAST = "first", "last"
# Those of `ReplayRow` and three more: `sequence` is the number of the first batch, `known_to` up to which piece of the
# file `broker_timestamp_after` is known, and `lacks_records` whether a text does not say how many records there are.
COLUMNS = {
    "producer_id": Column("i8", FIRST, lambda batches, _, at: batches.producer_id[at]),
    "sequence": Column("i8", FIRST, lambda batches, _, at: at),
    "start_offset": Column("i8", FIRST, lambda batches, _, at: batches.base_offset[at]),
    "position": Column("i8", FIRST, lambda batches, _, at: batches.position[at]),
    "first_timestamp": Column("i8", FIRST, _first_time, NONE),
    "first_leader_epoch": Column("i4", FIRST, lambda batches, _, at: batches.leader_epoch[at], -1),
    "first_crc": Column("i8", FIRST, lambda batches, _, at: batches.crc[at], -1),
    "broker_timestamp_before_start": Column("i8", FIRST, lambda _, around, at: around.before[at], EARLIEST),
    "records_before": Column("i8", FIRST, lambda _, around, at: around.records[at]),
    "bytes_before": Column("i8", FIRST, lambda _, around, at: around.sizes[at]),
    "last_data_offset_before": Column("i8", FIRST, lambda _, around, at: around.data[at], -1),
    "last_batch_offset": Column("i8", LAST, lambda batches, _, at: batches.base_offset[at]),
    "last_timestamp": Column("i8", LAST, lambda batches, _, at: batches.max_timestamp[at]),
    "producer_epoch": Column("i2", LAST, lambda batches, _, at: batches.producer_epoch[at]),
    "is_log_append_time": Column("?", LAST, lambda batches, _, at: batches.is_log_append_time[at]),
    "broker_timestamp_before": Column("i8", LAST, lambda _, around, at: around.before[at], EARLIEST),
    "broker_timestamp_after": Column("i8", LAST, lambda _, around, at: around.after[at + 1], LATEST),
    "known_to": Column("i8", LAST, lambda batches, _, at: np.zeros(len(at))),
    "lowest_producer_epoch": Column("i2", np.minimum, lambda batches, _, at: batches.producer_epoch[at]),
    "batches": Column("i8", np.add, lambda batches, _, at: np.ones(len(at), np.int64)),
    "records": Column("i8", np.add, lambda batches, _, at: np.maximum(batches.records[at], 0).astype(np.int64)),
    "lacks_records": Column("?", np.logical_or, lambda batches, _, at: batches.records[at] < 0),
    "size_in_bytes": Column("i8", np.add, lambda batches, _, at: batches.size_in_bytes[at].astype(np.int64)),
}
OPEN_DATA = np.dtype([(name, column.kind) for name, column in COLUMNS.items()])


def open_data_of(batches: Batches, chosen: Numbers, around: Around, before: int, piece: int) -> Numbers:
    """A row for each producer id of the `chosen` batches (indexes), which are in the order of their ids.

    `before` batches of the file come before these; what follows them is known up to the end of `piece`.
    """
    rows = _joined(batches.producer_id[chosen], lambda name, places: COLUMNS[name].of(batches, around, chosen[places]))
    rows["sequence"] += before
    rows["known_to"] = piece
    return rows


def joined(rows: Numbers) -> Numbers:
    """One row for each producer id of rows in the order of their ids; those of one id are in the log's order."""
    return _joined(rows["producer_id"], lambda name, places: rows[name][places])


def _joined(ids: Numbers, values: Callable[[str, Any], Numbers]) -> Numbers:
    """One row for each id; `values` gives those of a column at some places."""
    starts = starts_of(ids)
    found = np.zeros(len(starts), OPEN_DATA)
    if not len(ids):
        return found
    places = {FIRST: starts, LAST: np.append(starts[1:], len(ids)) - 1}
    for name, column in COLUMNS.items():
        if isinstance(column.join, str):
            found[name] = values(name, places[column.join])
        else:
            found[name] = column.join.reduceat(values(name, slice(None)), starts)
    return found
