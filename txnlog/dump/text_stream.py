"""Texts as streams of whole lines, section by section, in bounded memory: compressed or not, in any of the encodings.

A section is what the tool printed of one file, from one line `Dumping …` to the next.
"""

from __future__ import annotations

import codecs
import gzip
import mmap
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

import pyarrow as pa

from txnlog.dump.address import is_address
from txnlog.dump.opener import regular_file
from txnlog.dump_log.dump_text import HEADING, find, is_dump_text
from txnlog.errors import FormatError

# Smaller ones are slower, larger ones take more memory.
BLOCK = 4 << 20
# The lines of the tool have some hundred bytes; what is longer is a payload, of which the start will do.
LONGEST_LINE = 1 << 20
HEAD = 256 << 10
LONGEST_PATH = 8 << 10
SMALL_READ = 4 << 10
# The path of a heading that has none.
NO_PATH = "?"
# Files larger than that are split, at lines that start a batch.
SPLIT = 64 << 20
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_BYTE_ORDER_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_FOLLOWED_BY_HEADING = b"\n" + HEADING
_STARTS_OF_BATCHES = b"\nbaseOffset: "


@dataclass(frozen=True, slots=True)
class Part:
    """The bytes of a text that one task reads: from `start` up to `end` (None: to the end of the text).

    `is_continued` says that it starts within a section, whose path is `heading` (None for one without a path).
    `is_cut` says that it ends within one. `printed_before` is how often what is printed in this part was so before.
    """

    start: int = 0
    end: int | None = None
    heading: str | None = None
    is_continued: bool = False
    is_cut: bool = False
    printed_before: tuple[tuple[str, int], ...] = ()


WHOLE = Part()


class Section:
    """One section. Iterate over it for its lines, in pieces of bounded size that end with a line break.

    `position` is the byte of the (decompressed) text at which it starts. When all is read, `size` is how many bytes it
    has, and `problem` says why its end is not the end of what the tool printed.
    """

    def __init__(self, text: _Text, heading: str | None, position: int) -> None:
        self.heading = heading
        self.position = position
        self.size = 0
        self.problem: str | None = None
        self._text = text

    @property
    def head(self) -> bytes:
        """The beginning of its lines, as far as it has been read, before the section itself is."""
        return self._text.head()

    def __iter__(self) -> Iterator[bytes]:
        while (lines := self._text.lines()) is not None:
            self.size += len(lines)
            if not lines.endswith(b"\n"):
                self.problem = "it ends in the middle of a line"
            yield lines
        self.problem = self._text.problem or self.problem or self._cut_heading()

    def _cut_heading(self) -> str | None:
        return "it ends in the middle of a heading" if self._text.heading_is_cut else None


def looks_like_dump_text(path: str) -> bool:
    """Whether the file begins like the output of `kafka-dump-log.sh`. `OSError` as by `open`.

    One that is compressed and cannot be decompressed may be anything: `FormatError`.
    """
    with regular_file(path) as file:
        stream, head = _Decoded(file), b""
        while len(head) < HEAD and (block := stream.read(HEAD)):
            head += block
        if stream.problem and not head:
            raise FormatError(stream.problem)
        return is_dump_text(head)


def sections(path: str, part: Part) -> Iterator[Section]:
    """The sections of a text, or of a part of it. What is not read of a section is left out quickly."""
    with regular_file(path) as file:
        text = _Text(_Decoded(file, part.start), part)
        while (heading := text.next_section()) is not None:
            section = Section(text, heading or part.heading, text.section_start)
            yield section
            for _ in section:
                pass


def may_be_split(path: str, size: int) -> bool:
    """Whether a text of so many bytes may have several parts.

    To find where they start is to read all of it, which costs too much from an object store.
    """
    return size > SPLIT and not is_address(path)


def parts(path: str, size: int) -> list[Part]:
    """How a text may be read by several tasks: by sections, and long ones by batches."""
    if not may_be_split(path, size):
        return [WHOLE]
    with regular_file(path) as file:
        if _Decoded(file).is_changed:
            return [WHOLE]
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            # What was put together of several texts may have marks in the middle, which are left out line by line.
            return [WHOLE] if find(content, codecs.BOM_UTF8) >= 0 else list(_parts(content))


def _parts(content: mmap.mmap) -> Iterator[Part]:
    counts: Counter[str] = Counter()
    mine: list[str] = []
    begun = Part()

    def until(end: int) -> Part:
        names = {*mine, printed_name(begun.heading)}
        return replace(
            begun, end=end, printed_before=tuple((name, before[name]) for name in sorted(names) if name in before)
        )

    before: Counter[str] = Counter()
    for start, end, path in _sections_of(content):
        mine.append(printed_name(path))
        counts[printed_name(path)] += 1
        while end - begun.start > SPLIT + SPLIT // 2:
            line = content.find(_STARTS_OF_BATCHES, max(begun.start + SPLIT, start) - 1, end)
            if line < 0:
                break
            yield replace(until(line + 1), is_cut=True)
            begun, mine, before = Part(line + 1, heading=path, is_continued=True), [], Counter(counts)
        if end - begun.start >= SPLIT:
            yield until(end)
            begun, mine, before = Part(end), [], Counter(counts)
    if begun.start < len(content):
        yield until(len(content))


def printed_name(path: str | None) -> str:
    """The end of a path, by which what was printed of the file is named: `orders-0/00000000000000000000.log`."""
    return "/".join(re.split(r"[/\\]", path or "")[-2:])


def _sections_of(content: mmap.mmap) -> Iterator[tuple[int, int, str | None]]:
    """Start, end and path of each section; no path for lines before the first heading."""
    start = 0
    while start < len(content):
        end = _find_heading(content, start, len(content)) + 1 or len(content)
        line = content[start : start + LONGEST_PATH].partition(b"\n")[0]
        yield start, end, (_path(line) or NO_PATH) if line.startswith(HEADING) else None
        start = end


def _find_heading(content: bytes | mmap.mmap, start: int, end: int) -> int:
    """The line break before the next heading; -1 if there is none. Its first letter is seldom there, as in `find`."""
    while (letter := content.find(HEADING[:1], start + 1, end)) >= 0:
        found = content.find(_FOLLOWED_BY_HEADING, letter - 1, min(letter + SMALL_READ, end))
        if found >= 0:
            return found
        start = letter + SMALL_READ - len(_FOLLOWED_BY_HEADING)
    return -1


class _Decoded:
    """The bytes of a text as UTF-8, whatever it is compressed with. `problem` says why it ended too early."""

    def __init__(self, file: BinaryIO, start: int = 0) -> None:
        head = file.read(4)
        self.problem: str | None = None
        self._decoder: codecs.IncrementalDecoder | None = None
        name = next((name for magic, name in _COMPRESSIONS.items() if head.startswith(magic)), None)
        self.is_changed = name is not None
        self._mark = b""
        if name is not None:
            file.seek(0)
            self._next: Callable[[int], bytes] = _gunzipped(file) if name == "gzip" else _unzstd(file)
            head = self._read(4)
            self._mark = head
        else:
            file.seek(start)
            self._next = file.read
        encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if head.startswith(mark)), None)
        if encoding is not None:
            self.is_changed = True
            self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._is_at_start = start == 0

    def read(self, size: int) -> bytes:
        """Up to `size` bytes or characters; none at the end."""
        content = self._mark + self._read(size)
        self._mark = b""
        if self._decoder is not None and content:
            # A lone byte decodes to nothing, which must not look like the end.
            content = self._decoder.decode(content).encode("utf-8", "surrogatepass") or b"\0"
        elif self._decoder is not None and self._decoder.getstate()[0]:
            self.problem = self.problem or "it ends in the middle of a character"
        if self._is_at_start:
            self._is_at_start = False
            content = content.removeprefix(codecs.BOM_UTF8)
        return content

    def _read(self, size: int) -> bytes:
        if self.problem is not None:
            return b""
        try:
            return self._next(size)
        except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
            self.problem = f"it cannot be decompressed to its end: {error}"
            return b""


def _gunzipped(file: BinaryIO) -> Callable[[int], bytes]:
    # It hands out what is whole before it says that something is missing.
    return gzip.GzipFile(fileobj=file, mode="rb").read1


def _unzstd(file: BinaryIO) -> Callable[[int], bytes]:
    stream = pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")
    trouble: list[Exception] = []

    def read(size: int) -> bytes:
        # What one call asks for is lost if it comes upon the end of a stream that was cut.
        pieces: list[bytes] = []
        while not trouble and len(pieces) * SMALL_READ < size:
            try:
                pieces.append(bytes(stream.read(SMALL_READ)))
            except (OSError, pa.ArrowException) as error:
                trouble.append(error)
            if trouble or not pieces[-1]:
                break
        if trouble and not any(pieces):
            raise trouble[0]
        return b"".join(pieces)

    return read


def _blocks(stream: _Decoded, left: int | None) -> Iterator[bytes]:
    """The stream in blocks; `left` is how many bytes are wanted."""
    while left is None or left > 0:
        block = stream.read(BLOCK if left is None else min(BLOCK, left))
        if not block:
            return
        left = None if left is None else left - len(block)
        yield block


class _Text:
    """A cursor over whole lines that stops at each heading. What is read and not yet taken starts at `_at`."""

    def __init__(self, stream: _Decoded, part: Part) -> None:
        self._stream = stream
        self._blocks = _blocks(stream, None if part.end is None else part.end - part.start)
        self._read, self._at = b"", 0
        self._is_over = False
        self._is_begun = False
        self.heading_is_cut = False
        self.position = self.section_start = part.start

    @property
    def problem(self) -> str | None:
        """Why the text ends here, if it ends here and should not."""
        return self._stream.problem if self._is_over and not self._left() else None

    def next_section(self) -> str | None:
        """The path of the next heading, empty for lines before the first one; None at the end of the text."""
        self.section_start = self.position
        while self._left() < len(HEADING) and self._fill():
            pass
        if self._is_at_heading():
            self._is_begun = True
            while (end := self._read.find(b"\n", self._at)) < 0 and self._left() <= LONGEST_PATH and self._fill():
                pass
            self.heading_is_cut = end < 0
            line = self._take(end + 1 - self._at) if end >= 0 else self._take_long_line()
            return _path(line[:LONGEST_PATH]) or NO_PATH
        if self._left() and not self._is_begun:
            self._is_begun = True
            return ""
        return None

    def head(self) -> bytes:
        """What stands at the cursor, up to the next heading."""
        while self._left() < HEAD and self._fill():
            pass
        if self._is_at_heading():
            return b""
        end = _find_heading(self._read, self._at, self._at + HEAD)
        return self._read[self._at : end if end >= 0 else self._at + HEAD]

    def lines(self) -> bytes | None:
        """The next lines of this section; None when it is over."""
        while True:
            if self._is_at_heading():
                return None
            if (heading := _find_heading(self._read, self._at, len(self._read))) >= 0:
                return self._take(heading + 1 - self._at)
            # What stands behind the last line break may yet become a heading.
            last = self._read.rfind(b"\n", self._at)
            if last >= 0 and (self._left() >= BLOCK or self._is_over):
                return self._take(last + 1 - self._at)
            if last < 0 and self._left() > LONGEST_LINE:
                return self._take_long_line()
            if not self._fill():
                return self._take(self._left()) if self._left() else None

    def _left(self) -> int:
        return len(self._read) - self._at

    def _is_at_heading(self) -> bool:
        return self._read.startswith(HEADING, self._at)

    def _take(self, size: int) -> bytes:
        taken = self._read[self._at : self._at + size]
        self._at += size
        self.position += size
        return taken

    def _take_long_line(self) -> bytes:
        """The start of a line that is too long, or not ended, as a line of its own; its rest is dropped."""
        taken = self._read[self._at : self._at + LONGEST_LINE]
        while (end := self._read.find(b"\n", self._at)) < 0:
            self._take(self._left())
            if not self._fill():
                return taken
        self._take(end + 1 - self._at)
        return taken + b"\n"

    def _fill(self) -> bool:
        """Read on; whether there was more."""
        block = next(self._blocks, None)
        if block is None:
            self._is_over = True
            return False
        self._read, self._at = self._read[self._at :] + block, 0
        if find(self._read, codecs.BOM_UTF8) >= 0:
            # Of another text that was put behind the first.
            self._read = self._read.replace(b"\n" + codecs.BOM_UTF8, b"\n").removeprefix(codecs.BOM_UTF8)
        return True


def _path(line: bytes) -> str:
    return line.removeprefix(HEADING).rstrip(b"\r\n").decode("utf-8", "backslashreplace")
