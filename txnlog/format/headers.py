"""The headers of many batches as columns, which is how numbers of one kind are fast to work with."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from txnlog.format import batch as wire
from txnlog.format.batch import MAGIC_POSITION, RecordBatchHeader
from txnlog.format.structure import gathered, numpy_dtype

WIRE = numpy_dtype(RecordBatchHeader)
NAMES = WIRE.names or ()
_ROW_OF = {name: row for row, name in enumerate(NAMES)}

Integers = npt.NDArray[np.int64]
Places = npt.NDArray[np.int64]


class Headers:
    """Headers of batches (n), older messages in the same shape; `headers["producer_id"]` is one number (n) of each.

    The names are those of `RecordBatchHeader`; all numbers are of 64 bits, in `table` (fields, n).
    """

    def __init__(self, table: Integers) -> None:
        self.table = table

    @classmethod
    def of(cls, rows: Iterable[RecordBatchHeader]) -> Self:
        """Columns of some headers."""
        return cls(np.array([*rows], np.int64).reshape(-1, len(NAMES)).T.copy())

    @classmethod
    def at(cls, window: memoryview, starts: Places) -> Self:
        """The headers of the batches and messages that start at these places of a window, which are whole."""
        modern = np.frombuffer(window, np.uint8)[starts + MAGIC_POSITION] > 1
        found = cls(np.zeros((len(NAMES), len(starts)), np.int64))
        if modern.any():
            # Of the others anything is read, and written over.
            packed = gathered(window, starts if modern.all() else np.where(modern, starts, starts[modern][0]), WIRE)
            for name in NAMES:
                found[name][:] = packed[name]
        found["magic"][~modern] = 0
        found.put_messages(window, starts)
        return found

    def put_messages(self, window: memoryview, starts: Places) -> None:
        """Put in the messages of magic 0 and 1 among them, of which nothing but the magic is there."""
        for index in np.flatnonzero(self["magic"] >> 1 == 0).tolist():
            self.table[:, index] = wire.legacy_header(window[starts[index] :])

    def __len__(self) -> int:
        return len(self.table[0])

    def __getitem__(self, name: str) -> Integers:
        column: Integers = self.table[_ROW_OF[name]]
        return column

    @cached_property
    def is_control(self) -> npt.NDArray[np.bool_]:
        """Which are those of control batches."""
        flags: npt.NDArray[np.bool_] = (self["attributes"] & wire.CONTROL != 0) & (self["magic"] == 2)
        return flags

    def chosen(self, which: slice | npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Headers:
        """Some of them."""
        return Headers(self.table[:, which])

    def row(self, index: int) -> RecordBatchHeader:
        """One of them."""
        return RecordBatchHeader(*self.table[:, index].tolist())
