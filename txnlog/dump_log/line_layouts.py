"""Lines of labels and values, `baseOffset: 0 lastOffset: 2 isvalid: true`, as columns: what Kafka's tools print.

Lines of one layout differ in their digits only. So all lines are taken apart at once: without its digits a line is its
layout, of which there are few, and what is left without everything else are the numbers, in their order.

Compiled code does that several times faster, line by line, once so much text is read that compiling it pays. It is used
where both ways must come to the same: where each line has one of few layouts that tools print.

It knows no label: those of batches are in `batch_labels`, those of snapshots and indexes in `entry_columns`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from txnlog.format.twins import Twin

LINE_FEED = 10
DIGITS = b"0123456789-"
NO_NUMBERS = bytes(set(range(256)) - set(DIGITS + b" \n"))
# A release has a handful: of booleans, codecs and times. What has more is no such text.
LARGEST_NUMBER_OF_LAYOUTS = 1_000
NUMBERS_IN_A_VALUE = re.compile(rb"-?\d+")
# How Java and Scala print an optional number.
AN_OPTIONAL = re.compile(r"OptionalLong\[-?\d+]|Some\(-?\d+\)")
A_NUMBER = re.compile(rb"-?\d{1,19}")
# Such as true, lz4, [], OptionalLong.empty and OptionalLong[7].
A_WORD = re.compile(rb"[A-Za-z.\[\]()]+\d{0,9}|(OptionalLong\[|Some\()-?\d{1,18}[\])]")
# It takes a second or two to import numba and to compile, in which the other way reads so many bytes.
WORTH_COMPILING = 16 << 20
MOST_LAYOUTS_AT_ONCE = 16
LARGEST, SMALLEST = 2**63 - 1, -(2**63)
EXTREMES = re.compile(rb"(?<![\d-])%d(?!\d)|%d(?!\d)" % (LARGEST, SMALLEST))

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Labelled(NamedTuple):
    """Lines of one layout: their indexes, the numbers after each label, and the words, which are the same in all."""

    rows: Integers
    numbers: dict[str, Integers]
    words: dict[str, str]


class Layout(NamedTuple):
    """The labels of a line in their order, each with its word (None: a number), and how many numbers it has."""

    labels: tuple[str, ...]
    words: tuple[str | None, ...]
    counts: tuple[int, ...]


_twin = Twin("txnlog.dump_log.compiled_text", "with_layout", WORTH_COMPILING)


class Lines:
    """The lines of a text: `starts` and `ends` (without the line break) count bytes of `content`.

    What follows the last line break counts as a line, too, unless it is empty.
    """

    def __init__(self, content: bytes) -> None:
        if b"\r" in content:
            content = content.replace(b"\r\n", b"\n")
        self.content = content
        self._bytes = np.frombuffer(content, np.uint8)
        breaks = np.flatnonzero(self._bytes == LINE_FEED)
        unfinished = len(content) > 0 and content[-1] != LINE_FEED
        self.ends: Integers = np.append(breaks, len(content)) if unfinished else breaks
        self.starts: Integers = np.concatenate(([0], self.ends[:-1] + 1)) if len(self.ends) else self.ends

    def __len__(self) -> int:
        return len(self.starts)

    def start_with(self, text: bytes) -> Flags:
        """Which lines start with the first two bytes of a text."""
        same: Flags = self._first_two == int.from_bytes(text[:2])
        return same

    @cached_property
    def _first_two(self) -> npt.NDArray[np.uint16]:
        """The first two bytes of each line as one number, 0 for a shorter line."""
        has_two = self.ends > self.starts + 1
        starts = np.where(has_two, self.starts, 0)
        pairs = self._bytes[starts].astype(np.uint16) << 8
        pairs |= self._bytes[np.minimum(starts + 1, len(self._bytes) - 1)]
        return np.where(has_two, pairs, 0)

    def line(self, index: int) -> bytes:
        """One line, without its line break."""
        return self.content[self.starts[index] : self.ends[index]]

    def labelled(self, wanted: Integers, skip: int = 0) -> Iterator[Labelled]:
        """The wanted lines (indexes, ascending) that are pairs of labels and values, by their layouts.

        The first `skip` bytes of each line are left out.
        """
        found = self._compiled(wanted, skip)
        if found is not None:
            yield from found
        elif len(wanted):
            text = self._only(wanted, skip)
            found = _by_layout(text, wanted, lambda index: self.line(int(wanted[index]))[skip:])
            if found is None:
                # Some line has more or fewer numbers than its layout, and is no such line: once more without it.
                sound = [(line, row) for line, row in zip(text.split(b"\n"), wanted, strict=True) if _is_sound(line)]
                lines, rows = [line for line, _ in sound], np.array([row for _, row in sound], np.int64)
                found = _by_layout(b"\n".join(lines), rows, lines.__getitem__)
            yield from found or ()

    def _compiled(self, wanted: Integers, skip: int) -> list[Labelled] | None:
        """By compiled code, or None where it may not pay, or may differ: a line that is not sound, layouts alike."""
        starts, ends = self.starts[wanted] + skip, self.ends[wanted]
        with_layout = _twin.after(int((ends - starts).sum()))
        if with_layout is None:
            return None
        found: dict[bytes, Labelled] = {}
        while len(wanted):
            line = self.content[starts[0] : ends[0]]
            texts, skeleton = NUMBERS_IN_A_VALUE.split(line), line.translate(None, DIGITS)
            has_numbers = len(texts) > 1 and b"".join(texts) == skeleton
            layout = _layout(line) if has_numbers and _is_sound(line) else None
            if layout is None or skeleton in found or len(found) == MOST_LAYOUTS_AT_ONCE:
                return None
            chosen, numbers = with_layout(self._bytes, starts, ends, texts)
            found[skeleton] = _of_one(layout, wanted[chosen], numbers.__getitem__)
            wanted, starts, ends = (np.delete(each, chosen) for each in (wanted, starts, ends))
        return [*found.values()]

    def _only(self, wanted: Integers, skip: int) -> bytes:
        """The wanted lines with a line break between each two, as an empty line at the end counts, too."""
        text = self._with_breaks(wanted, skip)
        return text[:-1] if self.ends[wanted[-1]] < len(self.content) else text

    def _with_breaks(self, wanted: Integers, skip: int) -> bytes:
        if len(wanted) == len(self) and not skip:
            return self.content
        bounds = np.empty(2 * len(wanted) + 2, np.int64)
        bounds[0], bounds[-1] = 0, len(self.content)
        bounds[1:-1:2], bounds[2:-1:2] = (
            self.starts[wanted] + skip,
            np.minimum(self.ends[wanted] + 1, len(self.content)),
        )
        flags = np.zeros(len(bounds) - 1, np.bool_)
        flags[1::2] = True
        return self._bytes[np.repeat(flags, np.diff(bounds))].tobytes()


def _by_layout(text: bytes, rows: Integers, line_of: Callable[[int], bytes]) -> list[Labelled] | None:
    """The lines by their layouts; None if their numbers do not add up."""
    if not len(rows):
        return []
    skeletons = text.translate(None, DIGITS).split(b"\n")
    codes = {skeleton: code for code, skeleton in enumerate(dict.fromkeys(skeletons))}
    of_line = np.fromiter(map(codes.__getitem__, skeletons), np.int64, len(skeletons))
    first = np.full(len(codes), -1, np.int64)
    first[of_line[::-1]] = np.arange(len(skeletons))[::-1]
    examples = [line_of(index) for index in first.tolist()]
    layouts = [_layout(line) if code < LARGEST_NUMBER_OF_LAYOUTS else None for code, line in enumerate(examples)]
    per_layout = np.array([_count(line) for line in examples], np.int64)
    numbers = _numbers(text)
    offsets = np.concatenate(([0], np.cumsum(per_layout[of_line])))
    if numbers is None or offsets[-1] != len(numbers):
        return None
    return [
        _of_one(layout, rows[chosen], _places(numbers, offsets[:-1][chosen]))
        for code, layout in enumerate(layouts)
        if layout is not None and len(chosen := np.flatnonzero(of_line == code))
    ]


def _places(numbers: Integers, offsets: Integers) -> Callable[[int], Integers]:
    return lambda place: numbers[offsets + place]


def _of_one(layout: Layout, rows: Integers, numbers_at: Callable[[int], Integers]) -> Labelled:
    places = np.concatenate(([0], np.cumsum(layout.counts)))
    return Labelled(
        rows,
        {
            label: numbers_at(place)
            for label, place, word in zip(layout.labels, places.tolist(), layout.words, strict=False)
            if word is None or AN_OPTIONAL.fullmatch(word)
        },
        {label: word for label, word in zip(layout.labels, layout.words, strict=True) if word is not None},
    )


def _count(line: bytes) -> int:
    return len(NUMBERS_IN_A_VALUE.findall(line))


def _layout(line: bytes) -> Layout | None:
    """The layout of a line; None if it is not pairs of labels and values."""
    pieces = line.rstrip(b" ").split(b" ")
    labels, values = pieces[::2], pieces[1::2]
    if len(labels) != len(values) or not all(label.endswith(b":") and not _count(label) for label in labels):
        return None
    return Layout(
        tuple(label[:-1].decode("utf-8", "replace") for label in labels),
        tuple(None if NUMBERS_IN_A_VALUE.fullmatch(value) else value.decode("utf-8", "replace") for value in values),
        tuple(_count(value) for value in values),
    )


def _numbers(text: bytes) -> Integers | None:
    """All numbers in their order; None if one does not fit 64 bits, or is none."""
    digits = text.translate(None, NO_NUMBERS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            numbers: Integers = np.fromstring(digits, np.int64, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
    # What is too large comes out as the largest.
    extremes = int(((numbers == LARGEST) | (numbers == SMALLEST)).sum())
    if extremes and extremes != len(EXTREMES.findall(digits)):
        return None
    return numbers


def _is_sound(line: bytes) -> bool:
    """Whether what looks like a number in a line is one, and nothing else holds digits."""
    layout = _layout(line)
    if layout is None:
        return False
    values = line.rstrip(b" ").split(b" ")[1::2]
    return all(
        A_NUMBER.fullmatch(value) and SMALLEST <= int(value) <= LARGEST if word is None else A_WORD.fullmatch(value)
        for word, value in zip(layout.words, values, strict=True)
    )
