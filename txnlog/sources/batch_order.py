"""The batches of one copy of a log in their order: where they begin and end, and which offsets none of them has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from txnlog.dump.dump_file import DumpFile
from txnlog.sources.producer_batches import Batches, Numbers


class Gap(NamedTuple):
    """Offsets from `start` to before `end` that no batch has.

    `is_cleaned`: the batches around it lie side by side in one file, as the log cleaner leaves them.
    """

    start: int
    end: int
    is_cleaned: bool

    def __str__(self) -> str:
        last = self.end - 1
        return f"offset {last}" if self.start == last else f"offsets {self.start} to {last}"


@dataclass(kw_only=True)
class BatchOrder:
    """What the batches so far, which come in their order, say of the copy.

    `start` is where they begin, `end` the offset after their last one, `leader_epoch` their latest, -1 if unknown.
    """

    start: int | None = None
    end: int = 0
    leader_epoch: int = -1
    is_in_order: bool = True
    _read_to: tuple[str, int] = ("", 0)

    def begin(self, file: DumpFile, base_offset: int) -> None:
        """A file of which all is read from its first byte on; its name says the base offset."""
        self.is_in_order &= base_offset >= self.end
        if self.start is None:
            self.start = self.end = base_offset
        if self.end == base_offset:
            self._read_to = (file.file, 0)

    def expected(self, batches: Batches) -> Numbers:
        """The offset at which each of the batches would begin if none before it were missing."""
        return np.concatenate(([self.end], batches.last_offset[:-1] + 1))

    def gap(self, file: DumpFile, batches: Batches, at: int) -> Gap:
        """What is missing before one of the batches that follow."""
        start = int(batches.last_offset[at - 1]) + 1 if at else self.end
        read_to = (file.file, int(batches.position[at - 1] + batches.size_in_bytes[at - 1])) if at else self._read_to
        is_cleaned = read_to == (file.file, int(batches.position[at]))
        return Gap(start, int(batches.base_offset[at]), is_cleaned)

    def missing(self, file: DumpFile, batches: Batches) -> tuple[Numbers, Numbers]:
        """Before which of the batches something is missing, and before which of them that `is_cleaned`."""
        is_after = batches.position[1:] == batches.position[:-1] + batches.size_in_bytes[:-1]
        is_cleaned = np.append([self._read_to == (file.file, int(batches.position[0]))], is_after)
        is_missing = (batches.base_offset > self.expected(batches)) & ~(is_cleaned & wrappers(batches))
        return is_missing, is_missing & is_cleaned

    def passed(self, file: DumpFile, batches: Batches) -> None:
        """The batches that follow in a file have been added."""
        self.is_in_order &= bool((batches.base_offset >= self.expected(batches)).all())
        self.leader_epoch = max(self.leader_epoch, int(batches.leader_epoch.max()))
        self.end = int(batches.last_offset[-1]) + 1
        self._read_to = (file.file, int(batches.position[-1] + batches.size_in_bytes[-1]))


def wrappers(batches: Batches) -> Numbers:
    """Which are compressed messages of magic 0 or 1: their offset is that of the last message in them."""
    is_one: Numbers = (batches.records < 0) & (batches.producer_id == -1) & (batches.leader_epoch == -1)
    return is_one
