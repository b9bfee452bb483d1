"""Lines of labels and values, `baseOffset: 0 lastOffset: 2 isvalid: true`, as columns: what Kafka's tools print.

Lines of one layout have their labels in common and differ in their values. So the labels are compared and cut out with
numpy, all lines at once, and what is left is a table of values that Arrow's reader of separated values converts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

LINE_FEED, SPACE, CARRIAGE_RETURN, COLON = b"\n \r:"
# A release has one layout, and its lines differ in the label of the time at most. What has more is no such text.
LAYOUTS_OF_ONE_LENGTH = 8
PADDING = bytes(8)
# All of 18 digits fit an int64; those of 19 are taken as well where the whole column does.
A_NUMBER = r"^-?[0-9]{1,18}$"

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Lines:
    """The lines of a text: `starts` and `ends` (without the line break) count bytes of `content`.

    What follows the last line break counts as a line, too, unless it is empty.
    """

    def __init__(self, content: bytes) -> None:
        if b"\r\n" in content:
            content = content.replace(b"\r\n", b"\n")
        self.content = content
        padded = content + PADDING
        self._bytes = np.frombuffer(padded, np.uint8)
        # Any eight bytes as one number: to compare a label is to compare two numbers.
        self._eights = np.ndarray((len(padded) - 7,), "<u8", padded, 0, (1,))
        breaks = np.flatnonzero(self._bytes[: len(content)] == LINE_FEED)
        unfinished = len(content) > 0 and content[-1] != LINE_FEED
        self.ends: Integers = np.append(breaks, len(content)) if unfinished else breaks
        self.starts: Integers = np.concatenate(([0], self.ends[:-1] + 1)) if len(self.ends) else self.ends

    def __len__(self) -> int:
        return len(self.starts)

    def start_with(self, text: bytes) -> Flags:
        """Which lines start with a text of up to eight bytes."""
        return self._are(self.starts, text)

    def line(self, index: int) -> bytes:
        """One line, without its line break."""
        return self.content[self.starts[index] : self.ends[index]]

    def _are(self, places: Integers, text: bytes) -> Flags:
        """At which places the text stands, by its first eight bytes."""
        head = text[:8]
        expected = np.uint64(int.from_bytes(head, "little"))
        found = self._eights[places]
        if len(head) < 8:
            found &= np.uint64((1 << 8 * len(head)) - 1)
        same: Flags = found == expected
        return same

    def labelled(self, wanted: Integers, numbers: Collection[str], skip: int = 0) -> Iterator[Labelled]:
        """The wanted lines (indexes) that are pairs of labels and values, grouped by their labels.

        `numbers` are the labels of whole numbers. The first `skip` bytes of each line are left out.
        """
        starts, ends = self.starts[wanted] + skip, self.ends[wanted]
        # A line may end in a space, where what comes next is not printed.
        ends = ends - ((ends > starts) & (self._bytes[ends - 1] == SPACE))
        breaks = np.flatnonzero(self._bytes == SPACE)
        first, behind = np.searchsorted(breaks, starts), np.searchsorted(breaks, ends)
        pieces = behind - first + 1
        for count in np.unique(pieces).tolist():
            if count % 2 or count < 2:
                continue
            chosen = np.flatnonzero(pieces == count)
            spaces = breaks[first[chosen][:, None] + np.arange(count - 1)]
            # Where each piece starts, and the place behind the last.
            bounds = np.concatenate((starts[chosen][:, None], spaces + 1, ends[chosen][:, None] + 1), axis=1)
            yield from self._of_one_length(wanted[chosen], bounds, numbers)

    def _of_one_length(self, rows: Integers, bounds: Integers, numbers: Collection[str]) -> Iterator[Labelled]:
        for _ in range(LAYOUTS_OF_ONE_LENGTH):
            if not len(rows):
                return
            labels = [self.content[start:end] for start, end in zip(bounds[0, :-1:2], bounds[0, 1::2] - 1, strict=True)]
            same = self._have_labels(bounds, labels)
            if all(label.endswith(b":") for label in labels):
                names = [label[:-1].decode("utf-8", "replace") for label in labels]
                yield from self._values(rows[same], bounds[same], names, numbers)
            same[0] = True
            rows, bounds = rows[~same], bounds[~same]

    def _have_labels(self, bounds: Integers, labels: list[bytes]) -> Flags:
        same = np.ones(len(bounds), np.bool_)
        for index, label in enumerate(labels):
            places = bounds[:, 2 * index]
            same &= bounds[:, 2 * index + 1] - places == len(label) + 1
            for offset in range(0, len(label), 8):
                # A label of another length may stand at the very end, with less than that behind it.
                same &= self._are(np.minimum(places + offset, len(self.content)), label[offset:])
        return same

    def _values(
        self, rows: Integers, bounds: Integers, names: list[str], numbers: Collection[str]
    ) -> Iterator[Labelled]:
        """The values without their labels, as a table; rows with a number that is none are left out."""
        start, end = int(bounds[0, 0]), int(bounds[-1, -1])
        lengths = np.zeros((len(bounds), bounds.shape[1]), np.int64)
        lengths[:, :-1] = np.diff(bounds, axis=1)
        # Between two of these lines there may be others.
        lengths[:-1, -1] = bounds[1:, 0] - bounds[:-1, -1]
        wanted = np.tile(np.array([False, True] * len(names) + [False]), len(bounds))
        mask = np.repeat(wanted, lengths.ravel())
        content = self._bytes[start:end].copy()
        content[bounds[:, -1] - 1 - start] = LINE_FEED
        text = content[mask]
        try:
            table = _table(text, names, {name: pa.int64() for name in names if name in numbers})
        except pa.ArrowInvalid:
            table = _table(text, names, {})
            good = _good_rows(table, numbers)
            rows, table = rows[good], table.filter(pa.array(good))
            columns = [
                column.cast(pa.int64()) if name in numbers else column
                for name, column in zip(table.column_names, table.columns, strict=True)
            ]
            table = pa.table(columns, names=table.column_names)
        if len(rows):
            yield Labelled(rows, {name: table[name].combine_chunks() for name in table.column_names})


class Labelled(NamedTuple):
    """Lines with the same labels: the index of each, and the values by their labels."""

    rows: Integers
    columns: dict[str, Any]


def _table(text: npt.NDArray[np.uint8], names: list[str], types: dict[str, pa.DataType]) -> pa.Table:
    once = [name if name not in names[:index] else f"{name} {index}" for index, name in enumerate(names)]
    kinds = {name: types.get(name, pa.string()) for name in once}
    return csv.read_csv(
        pa.py_buffer(text),
        csv.ReadOptions(column_names=once, use_threads=False, block_size=len(text) + 1),
        csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False),
        csv.ConvertOptions(column_types=kinds, null_values=[], check_utf8=False),
    )


def _good_rows(table: pa.Table, numbers: Collection[str]) -> Flags:
    good = np.ones(len(table), np.bool_)
    for name in table.column_names:
        if name in numbers:
            good &= pc.match_substring_regex(table[name], A_NUMBER).to_numpy(zero_copy_only=False)
    return good
