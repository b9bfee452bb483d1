"""Texts as streams of whole lines, section by section, in bounded memory: compressed or not, in any of the encodings.

A section is what the tool printed of one file, from one line `Dumping …` to the next.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from txnlog.dump.decoded import BLOCK, Decoded, blocks
from txnlog.dump.opener import regular_file
from txnlog.dump.text_splits import LONGEST_PATH, NO_PATH, Split, find_heading, path_of
from txnlog.dump_log.dump_text import HEADING, find, is_dump_text
from txnlog.errors import FormatError

# The lines of the tool have some hundred bytes; what is longer is a payload, of which the start will do.
LONGEST_LINE = 1 << 20
HEAD = 256 << 10


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
        stream, head = Decoded(file), b""
        while len(head) < HEAD and (block := stream.read(HEAD)):
            head += block
        if stream.problem and not head:
            raise FormatError(stream.problem)
        return is_dump_text(head)


def sections(path: str, split: Split) -> Iterator[Section]:
    """The sections of a text, or of a split of it. What is not read of a section is left out quickly."""
    with regular_file(path) as file:
        text = _Text(Decoded(file, split.start), split)
        while (heading := text.next_section()) is not None:
            section = Section(text, heading or split.heading, text.section_start)
            yield section
            for _ in section:
                pass


class _Text:
    """A cursor over whole lines that stops at each heading. What is read and not yet taken starts at `_at`."""

    def __init__(self, stream: Decoded, split: Split) -> None:
        self._stream = stream
        self._blocks = blocks(stream, None if split.end is None else split.end - split.start)
        self._read, self._at = b"", 0
        self._is_over = False
        self._is_begun = False
        self.heading_is_cut = False
        self.position = self.section_start = split.start

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
            return path_of(line[:LONGEST_PATH]) or NO_PATH
        if self._left() and not self._is_begun:
            self._is_begun = True
            return ""
        return None

    def head(self) -> bytes:
        """What follows the cursor, up to the next heading."""
        while self._left() < HEAD and self._fill():
            pass
        if self._is_at_heading():
            return b""
        end = find_heading(self._read, self._at, self._at + HEAD)
        return self._read[self._at : end if end >= 0 else self._at + HEAD]

    def lines(self) -> bytes | None:
        """The next lines of this section; None when it is over."""
        while True:
            if self._is_at_heading():
                return None
            if (heading := find_heading(self._read, self._at, len(self._read))) >= 0:
                return self._take(heading + 1 - self._at)
            # What follows the last line break may yet become a heading.
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
            # Of another text that was appended to the first.
            self._read = self._read.replace(b"\n" + codecs.BOM_UTF8, b"\n").removeprefix(codecs.BOM_UTF8)
        return True
