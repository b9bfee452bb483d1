"""One writer at a time in a folder of tables."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from txnlog.errors import TableError
from txnlog.tables.layout import URI, Root


@contextmanager
def only_writer(root: Root) -> Iterator[bool]:
    """Wait until no other job of this machine writes to the folder, and keep others waiting meanwhile.

    False if there is no lock: for a URI or a schema, and on a file system without locks.

    On a local disk Delta commits by looking for the next version and then renaming a file to it: of two processes that
    do so at once, one can undo the commit of the other. Object stores and catalogs have their own ways. The lock is on
    the folder itself and ends with the process, however that ends.
    """
    folder = _opened(root)
    if folder is None:
        yield False
        return
    try:
        yield _lock(folder)
    finally:
        os.close(folder)


def _opened(root: Root) -> int | None:
    """The folder, made where it is missing; None for a URI or a schema. `TableError` where it cannot be written."""
    if root.is_schema or URI.fullmatch(root.text):
        return None
    path = root.base()
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise TableError(f"{path}: tables cannot be written there: {error.strerror}") from error
    if not os.access(path, os.W_OK):
        os.close(folder)
        raise TableError(f"{path}: tables cannot be written there: {os.strerror(errno.EACCES)}")
    return folder


def _lock(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
    except OSError:
        # Some network file systems have no locks: there, jobs must not overlap.
        return False
    return True
