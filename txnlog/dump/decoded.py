"""The bytes of a text as UTF-8, compressed or not, in any of the encodings, in bounded memory."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

import pyarrow as pa

# Smaller ones are slower, larger ones take more memory.
BLOCK = 4 << 20
SMALL_READ = 4 << 10
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_BYTE_ORDER_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class Decoded:
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


def blocks(stream: Decoded, left: int | None) -> Iterator[bytes]:
    """The stream in blocks; `left` is how many bytes are wanted."""
    while left is None or left > 0:
        block = stream.read(BLOCK if left is None else min(BLOCK, left))
        if not block:
            return
        left = None if left is None else left - len(block)
        yield block
