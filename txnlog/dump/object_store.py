"""Objects of S3, Google Cloud Storage, Azure and HDFS through pyarrow's file systems, in few and large requests.

Credentials are taken where the store's own library looks for them: from the environment, a profile, the machine's role.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import fs

from txnlog.dump.address import Address
from txnlog.dump.local import LocalSegment
from txnlog.errors import StoreError

# What one request asks for: at 100 MB/s a third of a second, next to which the time of a request itself is little.
BLOCK = 32 << 20
# Only the beginning is read of most texts, and of all files that are none.
FIRST_BLOCK = 256 << 10
LONGEST_REASON = 300


class Stored(NamedTuple):
    """An object below a folder: how it is opened, its path relative to the folder, its size in bytes."""

    uri: str
    relative: str
    size: int


def objects(root: Address) -> list[Stored]:
    """All objects below a folder, by one recursive listing. `StoreError` where there are none or they cannot be had."""
    with _requests(root):
        store, base = _store(root.store)
        folder = _path(base, root.key)
        infos = store.get_file_info(fs.FileSelector(folder, recursive=True))
    files = [info for info in infos if info.is_file]
    if not files:
        raise StoreError(f"{root}: there is no such folder, or nothing is in it")
    start = len(folder.rstrip("/")) + 1
    return [_stored(root, info.path[start:], info.size) for info in files]


def _stored(root: Address, relative: str, size: int) -> Stored:
    return Stored(Address(root.store, f"{root.key}/{relative}".lstrip("/")).uri, relative, size)


class StoredSegment(LocalSegment):
    """An object, fetched block by block as it is read into a file without a name, which is mapped.

    Each byte is asked for at most once, whatever looks back; disk space is bounded by the object, memory by a block.
    """

    def __init__(self, place: Address) -> None:
        self._object = _Object(place)
        self.size = self._object.size
        self._descriptor = _scratch(place, self.size)
        self._path = str(place)
        self._start = 0
        self._window = memoryview(b"")
        self._missing = set(range(-(-self.size // BLOCK)))

    def _provide(self, start: int, end: int) -> None:
        for block in range(start // BLOCK, -(-end // BLOCK)):
            if block in self._missing:
                self._fetch(block * BLOCK)
                self._missing.remove(block)

    def _fetch(self, start: int) -> None:
        left = self._object.content(start, min(BLOCK, self.size - start))
        while left:
            # A disk that is nearly full takes a part before it refuses the rest.
            with _room_for(self._object.place):
                written = os.pwrite(self._descriptor, left, start)
            left, start = left[written:], start + written

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        super().__exit__(kind)
        if kind is None:
            self._object.check()


class StoredStream(io.RawIOBase):
    """An object from its start on: one request at a time, one block in memory."""

    def __init__(self, place: Address) -> None:
        self._object = _Object(place)
        self._position = self._start = 0
        self._block = memoryview(b"")
        self._next = FIRST_BLOCK

    def readable(self) -> bool:
        """It is read only."""
        return True

    def seekable(self) -> bool:
        """Formats are recognized by the first bytes, which are then read again."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte. Counted from the start only."""
        if whence != os.SEEK_SET:
            raise io.UnsupportedOperation("only from the start")
        self._position = offset
        return offset

    def tell(self) -> int:
        """The byte that is read next."""
        return self._position

    def readinto(self, buffer: Any) -> int:
        """What is left of the block, at most as much as the buffer holds; 0 at the end."""
        target = memoryview(buffer).cast("B")
        if not self._start <= self._position < self._start + len(self._block):
            self._fetch()
        at = self._position - self._start
        piece = self._block[at : at + len(target)]
        target[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)

    def _fetch(self) -> None:
        self._start = self._position
        length = max(min(self._next, self._object.size - self._start), 0)
        if length == 0:
            self._object.check()
        self._block = self._object.content(self._start, length)
        self._next = min(8 * self._next, BLOCK)


class _Object:
    """An object that is open: one request tells its size, and each piece of its content takes one more."""

    def __init__(self, place: Address) -> None:
        self.place = place
        self._file = _opened(place)
        self.size: int = self._file.size()
        self._pieces = 0

    def content(self, start: int, length: int) -> memoryview:
        """The `length` bytes from `start` on."""
        if length == 0:
            return memoryview(b"")
        self._pieces += 1
        with _requests(self.place):
            self._file.seek(start)
            return memoryview(self._file.read_buffer(length)).cast("B")

    def check(self) -> None:
        """`StoreError` if another object has taken its place between two pieces.

        pyarrow does not tell: where the other one is shorter it fills the rest of a piece with what was in memory.
        """
        if self._pieces < 2:
            return
        now = _opened(self.place)
        if (now.size(), now.metadata()) != (self.size, self._file.metadata()):
            raise StoreError(f"{self.place}: changed while it was read: take a dump first, then read it")


def start_of(place: Address, length: int) -> bytes:
    """The first bytes of an object; one byte more than `length` where there are more. `StoreError`."""
    opened = _Object(place)
    return bytes(opened.content(0, min(length + 1, opened.size)))


def _opened(place: Address) -> Any:
    with _requests(place):
        store, base = _store(place.store)
        return store.open_input_file(_path(base, place.key))


@cache
def _store(store: str) -> tuple[Any, str]:
    """The file system, once a process: it keeps its connections. And the path of its root."""
    root, mark, query = store.partition("?")
    opened: tuple[Any, str] = fs.FileSystem.from_uri(f"{root}/{mark}{query}")
    return opened


def _path(base: str, key: str) -> str:
    return f"{base.rstrip('/')}/{key}".rstrip("/") or "/"


@contextmanager
def _requests(place: Address) -> Iterator[None]:
    """What fails for good, after the library's own retries, becomes one line that names the place."""
    try:
        yield
    except FileNotFoundError as error:
        raise StoreError(f"{place}: there is no such object or folder") from error
    except (OSError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())[:LONGEST_REASON]
        raise StoreError(f"{place}: {reason}") from error


def _scratch(place: Address, size: int) -> int:
    """The descriptor of a file without a name, which goes with its last descriptor, however the process ends."""
    with _room_for(place), tempfile.TemporaryFile(dir=_scratch_folder()) as file:
        file.truncate(size)
        return os.dup(file.fileno())


def _scratch_folder() -> str:
    """Where Spark lets its workers write, else where Python does."""
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
    return folder if folder and Path(folder).is_dir() else tempfile.gettempdir()


@contextmanager
def _room_for(place: Address) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{place}: cannot be kept in {_scratch_folder()} while it is read: {error.strerror}: name a larger disk"
            " with spark.local.dir or TMPDIR"
        ) from error
