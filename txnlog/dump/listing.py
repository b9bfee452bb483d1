"""What lies in each folder of a dump: read folder by folder from a disk, by one listing from an object store."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from txnlog.dump.address import address, is_address
from txnlog.dump.object_store import Stored, objects
from txnlog.errors import DumpError

LINK, NO_FILE = "a symbolic link is not followed", "not a regular file"
# They know when a file was put there, which may be long after the log was copied.
WITHOUT_FILE_TIMES = ("/Volumes/", "/dbfs/")
UNKNOWN_TIME = 0


class Entry(NamedTuple):
    """A file in a folder; `modified_ms` is 0 if unknown.

    `trouble` says why it cannot be read; `is_special` that this is because it is a link, a pipe, a socket or a device.
    """

    path: str
    name: str
    size: int
    modified_ms: int
    trouble: str | None = None
    is_special: bool = False


class Folder(NamedTuple):
    """A folder: its path relative to the dump, its files, and the names of all that is in it."""

    path: str
    relative: str
    files: list[Entry]
    names: list[str]
    trouble: str | None = None


def folders(root: str) -> Iterator[Folder]:
    """All folders of a dump, itself included. `DumpError` where it cannot be listed at all."""
    return _of_store(root) if is_address(root) else _of_disk(root, root, "")


def _of_disk(root: str, path: str, relative: str) -> Iterator[Folder]:
    try:
        entries = list(os.scandir(path))
    except OSError as error:
        if relative == "":
            raise DumpError(f"{root}: {error.strerror}") from error
        yield Folder(path, relative, [], [], unreadable(error))
        return
    files = [_entry(entry) for entry in entries if not entry.is_dir(follow_symlinks=False)]
    yield Folder(path, relative, files, [entry.name for entry in entries])
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _of_disk(root, entry.path, f"{relative}/{entry.name}" if relative else entry.name)


def _entry(entry: os.DirEntry[str]) -> Entry:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError as error:
        return Entry(entry.path, entry.name, 0, UNKNOWN_TIME, unreadable(error))
    modified_ms = UNKNOWN_TIME if entry.path.startswith(WITHOUT_FILE_TIMES) else status.st_mtime_ns // 1_000_000
    if stat.S_ISREG(status.st_mode):
        return Entry(entry.path, entry.name, status.st_size, modified_ms)
    trouble = LINK if stat.S_ISLNK(status.st_mode) else NO_FILE
    return Entry(entry.path, entry.name, status.st_size, modified_ms, trouble, is_special=True)


def unreadable(error: Exception) -> str:
    """Why a file or a folder cannot be read, in words."""
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"


def _of_store(root: str) -> Iterator[Folder]:
    of_folder: dict[str, list[Stored]] = defaultdict(list)
    for stored in objects(address(root)):
        of_folder[stored.relative.rpartition("/")[0]].append(stored)
    for relative, found in of_folder.items():
        files = [Entry(each.uri, each.relative.rpartition("/")[2], each.size, UNKNOWN_TIME) for each in found]
        yield Folder(root, relative, files, [file.name for file in files])
