"""A search through one copy of a log: for the batch of an offset, then for the marker that ends its transaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from txnlog.dump.dump_file import DumpFile
from txnlog.sources.batch_columns import MARKER_TYPES
from txnlog.sources.batch_order import BatchOrder, Gap, wrappers
from txnlog.sources.producer_batches import NO_MARKER, Batches

_NUMBERS = (
    "position", "base_offset", "last_offset", "records", "producer_id", "producer_epoch", "max_timestamp",
    "leader_epoch", "coordinator_epoch",
)  # fmt: skip


class Batch(NamedTuple):
    """A record batch, and where it lies. `max_timestamp` is in ms; numbers that are not known are -1.

    `marker` is COMMIT or ABORT, None for data and for a control batch that says neither.
    """

    file: str
    position: int
    base_offset: int
    last_offset: int
    records: int
    producer_id: int
    producer_epoch: int
    max_timestamp: int
    leader_epoch: int
    coordinator_epoch: int
    is_control: bool
    is_transactional: bool
    marker: str | None

    @classmethod
    def of(cls, file: DumpFile, batches: Batches, at: int) -> Batch:
        """The batch at an index."""
        marker = int(batches.marker[at])
        return cls(
            file=file.file,
            **{name: int(getattr(batches, name)[at]) for name in _NUMBERS},
            is_control=bool(batches.is_control[at]),
            is_transactional=bool(batches.is_event[at]),
            marker=None if marker == NO_MARKER else MARKER_TYPES[marker],
        )


@dataclass
class Search(BatchOrder):
    """What has been found of the record at `offset` in the batches so far, which are added in their order.

    `batch` has the record, `around` is the gap where no batch has it; `ended_by` is the next control batch of its
    producer id, and `gaps` are the first gap of each kind between the two, by `is_cleaned`.
    """

    offset: int
    batch: Batch | None = None
    around: Gap | None = None
    ended_by: Batch | None = None
    gaps: dict[bool, Gap] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        """Whether what follows cannot change what has been found."""
        if self.batch is None:
            return self.around is not None
        return self.ended_by is not None or not self.batch.is_transactional or self.batch.is_control

    def add(self, file: DumpFile, batches: Batches) -> None:
        """Add the batches that follow in a file."""
        if self.is_done or not len(batches.base_offset):
            return
        start = 0
        if self.batch is None:
            start = self._locate(file, batches)
        if self.batch is not None and not self.is_done:
            self._follow(file, batches, start)
        self.passed(file, batches)

    def _locate(self, file: DumpFile, batches: Batches) -> int:
        """Look for the batch; the index after it."""
        reached = np.flatnonzero(batches.last_offset >= self.offset)
        if not len(reached):
            return 0
        at = int(reached[0])
        gap = self.gap(file, batches, at)
        if wrappers(batches)[at] and gap.is_cleaned:
            self.batch = Batch.of(file, batches, at)._replace(base_offset=gap.start)
        elif batches.base_offset[at] > self.offset:
            self.around = gap
        else:
            self.batch = Batch.of(file, batches, at)
        return at + 1

    def _follow(self, file: DumpFile, batches: Batches, start: int) -> None:
        """Look for the marker among the batches from an index on."""
        assert self.batch is not None
        is_missing, _ = self.missing(file, batches)
        is_of_it = batches.is_control[start:] & (batches.producer_id[start:] == self.batch.producer_id)
        found = np.flatnonzero(is_of_it)
        stop = start + int(found[0]) + 1 if len(found) else len(is_missing)
        for at in (start + np.flatnonzero(is_missing[start:stop])).tolist():
            gap = self.gap(file, batches, at)
            self.gaps.setdefault(gap.is_cleaned, gap)
        if len(found):
            self.ended_by = Batch.of(file, batches, stop - 1)
