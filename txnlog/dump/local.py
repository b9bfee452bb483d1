"""Files of this machine: which folders are taken, and segments mapped in windows."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from txnlog.errors import DumpError

# What is mapped at least, so that many small looks at one place cost one system call.
SMALLEST_WINDOW = 1 << 20


def local_path(text: str) -> Path:
    """The folder that a path or a `file:` URI names. `DumpError` for other schemes and for what is not a folder."""
    scheme = urlsplit(text).scheme if ":/" in text else ""
    if scheme not in ("", "file"):
        raise DumpError(
            f"{text}: dumps are read from local paths and from file:, s3:, s3a:, gs:, abfss: and hdfs: addresses, not"
            f" from {scheme}:"
        )
    path = Path(unquote(urlsplit(text).path) if scheme else text)
    if any("\ud800" <= character <= "\udfff" for character in str(path)):
        raise DumpError(f"{text}: Spark takes UTF-8 only: give the folder another name; those below it may be any")
    if not path.exists():
        raise DumpError(f"{text}: there is no such folder")
    if not path.is_dir():
        raise DumpError(f"{text}: a dump is a folder, this is a file")
    return path


class LocalSegment:
    """A local file, mapped in windows: memory stays bounded however long the file is.

    A window stays mapped as long as a view of it is in use.
    """

    def __init__(self, path: str) -> None:
        self._descriptor = descriptor(path)
        self._path = path
        self.size = os.fstat(self._descriptor).st_size
        self._start = 0
        self._window = memoryview(b"")

    def view(self, position: int, length: int) -> memoryview:
        """The bytes from `position` on: `length` of them, or fewer at the end of the file."""
        end = min(position + length, self.size)
        if not self._start <= position <= end <= self._start + len(self._window):
            self._map(position, end)
        return self._window[position - self._start : max(end, position) - self._start]

    def _map(self, position: int, end: int) -> None:
        start = position - position % mmap.ALLOCATIONGRANULARITY
        end = max(end, min(start + SMALLEST_WINDOW, self.size))
        if end <= start:
            self._start, self._window = position, memoryview(b"")
            return
        self._provide(start, end)
        mapped = mmap.mmap(self._descriptor, end - start, prot=mmap.PROT_READ, offset=start)
        self._start, self._window = start, memoryview(mapped)

    def _provide(self, start: int, end: int) -> None:
        """See to it that the bytes from `start` to `end` can be mapped."""
        # Reading a mapped page beyond the end of its file ends the process.
        if os.fstat(self._descriptor).st_size < end:
            raise DumpError(f"{self._path}: became shorter while it was read: take a dump first, then read it")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._window = memoryview(b"")
        os.close(self._descriptor)


def descriptor(path: str) -> int:
    """An open descriptor of a regular file. `OSError` as by `open`, `DumpError` for what is none."""
    # A pipe that took the place of a file since the dump was listed must not block.
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise DumpError(f"{path}: is no longer a regular file")
    return opened
