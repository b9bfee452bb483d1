"""The records of `__consumer_offsets` in the order of the log, as what they are to a coordinator that loads them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from txnlog.dump.dump_file import DumpFile
from txnlog.format.control import ControlType
from txnlog.format.control_batches import Controls
from txnlog.format.keyed_records import KeyedRecords
from txnlog.format.scan import Run

# Bytes of a segment that are added at once.
BYTES_AT_ONCE = 2 << 20


class Kept(NamedTuple):
    """A record, or a marker without a value."""

    offset: int
    file: DumpFile
    position: int
    value: bytes | None


class Event(NamedTuple):
    """A batch of a transaction in the order of the log: its records, or how it ended."""

    batch: int
    producer_id: int
    records: list[tuple[bytes, Kept]]
    is_commit: bool | None = None
    at: Kept | None = None


def parts_of(run: Run) -> Iterator[tuple[int, int]]:
    """The batches of a run, from one to before another, a few MiB at a time."""
    limits = np.arange(run.start, run.end, BYTES_AT_ONCE)[1:]
    yield from itertools.pairwise([0, *np.searchsorted(run.positions, limits).tolist(), len(run.positions)])


def kept_of(
    file: DumpFile, run: Run, found: KeyedRecords, which: npt.NDArray[np.intp]
) -> Iterator[tuple[int, bytes, Kept]]:
    """Some of the records, each with the index of its batch."""
    columns = (found.batches, found.offsets, found.key_at, found.key_length, found.value_at, found.value_length)
    positions, window = run.positions[found.batches[which]].tolist(), run.window
    rows = zip(*(column[which].tolist() for column in columns), positions, strict=True)
    for index, offset, key_at, key_length, value_at, value_length, position in rows:
        value = None if value_length < 0 else bytes(window[value_at : value_at + value_length])
        yield index, bytes(window[key_at : key_at + key_length]), Kept(offset, file, position, value)


def events_of(run: Run, rows: Iterable[tuple[int, bytes, Kept]]) -> Iterator[Event]:
    """Records of transactions as events; the rows are those of `kept_of`."""
    producer_ids = run.headers["producer_id"]
    for index, key, kept in rows:
        yield Event(index, int(producer_ids[index]), [(key, kept)])


def markers_of(file: DumpFile, run: Run, control: Controls, first: int, end: int) -> list[Event]:
    """The markers among the batches from `first` to before `end` of a run, in its order."""
    some = slice(*np.searchsorted(control.usual, [first, end]).tolist())
    is_commit_of_usual = (control.types[some] == ControlType.COMMIT.value).tolist()
    commits = dict(zip(control.usual[some].tolist(), is_commit_of_usual, strict=True))
    for index, record in control.others.items():
        if first <= index < end and record.control_type in (ControlType.COMMIT.name, ControlType.ABORT.name):
            commits[index] = record.control_type == ControlType.COMMIT.name
    offsets, producer_ids = run.headers["base_offset"], run.headers["producer_id"]
    return [
        Event(
            index,
            int(producer_ids[index]),
            [],
            is_commit,
            Kept(int(offsets[index]), file, int(run.positions[index]), None),
        )
        for index, is_commit in sorted(commits.items())
        if producer_ids[index] >= 0
    ]
