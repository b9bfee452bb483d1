"""The one place that opens files of a dump: of this machine, or of an object store.

A path that `inventory` gives out opens here, in whatever process: it is a local path or the address of an object.
"""

from __future__ import annotations

import os
from typing import BinaryIO, cast

from txnlog.dump.address import address, is_address
from txnlog.dump.local import LocalSegment, descriptor, local_path
from txnlog.dump.object_store import StoredSegment, StoredStream, start_of
from txnlog.errors import FormatError


def dump_root(text: str) -> str:
    """Where a dump is, checked as far as can be without a request: a folder that is there, or an address.

    `DumpError` says what is wrong with it.
    """
    return address(text).uri if is_address(text) else str(local_path(text))


def shown(path: str) -> str:
    """A path for people: an address without its settings."""
    return str(address(path)) if is_address(path) else path


def opened_segment(path: str) -> LocalSegment:
    """A file to be read at any position, in bounded memory. `OSError` as by `open`; `StoreError`."""
    return StoredSegment(address(path)) if is_address(path) else LocalSegment(path)


def regular_file(path: str) -> BinaryIO:
    """A file to be read from its start on. `OSError` as by `open`; `StoreError`, then and while it is read."""
    if is_address(path):
        return cast(BinaryIO, StoredStream(address(path)))
    return cast(BinaryIO, os.fdopen(descriptor(path), "rb", buffering=0))


def small_content(path: str, largest: int) -> bytes:
    """The whole content of a file that is known to be small.

    `FormatError` if it is larger, `OSError` as by `open`, `StoreError`.
    """
    if is_address(path):
        content = start_of(address(path), largest)
        if len(content) > largest:
            raise FormatError(f"too many bytes: {largest} are read")
        return content
    with LocalSegment(path) as file:
        if file.size > largest:
            raise FormatError(f"{file.size} bytes are too many: {largest} are read")
        return bytes(file.view(0, file.size))
