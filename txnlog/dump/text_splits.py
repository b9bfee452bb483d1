"""Splits of a text, as several tasks can read it: cut between sections, and long ones before lines of batches."""

from __future__ import annotations

import codecs
import mmap
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from txnlog.dump.address import is_address
from txnlog.dump.decoded import SMALL_READ, Decoded
from txnlog.dump.opener import regular_file
from txnlog.dump_log.dump_text import BATCH, HEADING, find

LONGEST_PATH = 8 << 10
# The path of a heading that has none.
NO_PATH = "?"
# Files larger than that are split, at lines that start a batch.
SPLIT_SIZE = 64 << 20
_FOLLOWED_BY_HEADING = b"\n" + HEADING
_STARTS_OF_BATCHES = b"\n" + BATCH


@dataclass(frozen=True, slots=True)
class Split:
    """The bytes of a text that one task reads: from `start` up to `end` (None: to the end of the text).

    `is_continued` says that it starts within a section, whose path is `heading` (None for one without a path).
    `is_cut` says that it ends within one. `printed_before` is how often what is printed in this split was so before.
    """

    start: int = 0
    end: int | None = None
    heading: str | None = None
    is_continued: bool = False
    is_cut: bool = False
    printed_before: tuple[tuple[str, int], ...] = ()


WHOLE = Split()


def may_be_split(path: str, size: int) -> bool:
    """Whether a text of so many bytes may have several splits.

    To find where they start is to read all of it, which costs too much from an object store.
    """
    return size > SPLIT_SIZE and not is_address(path)


def splits(path: str, size: int) -> list[Split]:
    """How a text may be read by several tasks: by sections, and long ones by batches."""
    if not may_be_split(path, size):
        return [WHOLE]
    with regular_file(path) as file:
        if Decoded(file).is_changed:
            return [WHOLE]
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            # What was put together of several texts may have marks in the middle, which are left out line by line.
            return [WHOLE] if find(content, codecs.BOM_UTF8) >= 0 else list(_splits(content))


def _splits(content: mmap.mmap) -> Iterator[Split]:
    counts: Counter[str] = Counter()
    mine: list[str] = []
    begun = Split()

    def until(end: int) -> Split:
        names = {*mine, printed_name(begun.heading)}
        return replace(
            begun, end=end, printed_before=tuple((name, before[name]) for name in sorted(names) if name in before)
        )

    before: Counter[str] = Counter()
    for start, end, path in _sections_of(content):
        mine.append(printed_name(path))
        counts[printed_name(path)] += 1
        while end - begun.start > SPLIT_SIZE + SPLIT_SIZE // 2:
            line = content.find(_STARTS_OF_BATCHES, max(begun.start + SPLIT_SIZE, start) - 1, end)
            if line < 0:
                break
            yield replace(until(line + 1), is_cut=True)
            begun, mine, before = Split(line + 1, heading=path, is_continued=True), [], Counter(counts)
        if end - begun.start >= SPLIT_SIZE:
            yield until(end)
            begun, mine, before = Split(end), [], Counter(counts)
    if begun.start < len(content):
        yield until(len(content))


def printed_name(path: str | None) -> str:
    """The end of a path, by which what was printed of the file is named: `orders-0/00000000000000000000.log`."""
    return "/".join(re.split(r"[/\\]", path or "")[-2:])


def _sections_of(content: mmap.mmap) -> Iterator[tuple[int, int, str | None]]:
    """Start, end and path of each section; no path for lines before the first heading."""
    start = 0
    while start < len(content):
        end = find_heading(content, start, len(content)) + 1 or len(content)
        line = content[start : start + LONGEST_PATH].partition(b"\n")[0]
        yield start, end, (path_of(line) or NO_PATH) if line.startswith(HEADING) else None
        start = end


def find_heading(content: bytes | mmap.mmap, start: int, end: int) -> int:
    """The line break before the next heading; -1 if there is none. Its first letter is seldom there, as in `find`."""
    while (letter := content.find(HEADING[:1], start + 1, end)) >= 0:
        found = content.find(_FOLLOWED_BY_HEADING, letter - 1, min(letter + SMALL_READ, end))
        if found >= 0:
            return found
        start = letter + SMALL_READ - len(_FOLLOWED_BY_HEADING)
    return -1


def path_of(line: bytes) -> str:
    """The path in a heading."""
    return line.removeprefix(HEADING).rstrip(b"\r\n").decode("utf-8", "backslashreplace")
