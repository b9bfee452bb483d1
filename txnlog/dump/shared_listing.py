"""One listing of a dump for all who read it: a file with what was found, for processes of the machine that listed it.

Spark plans each data source in a Python process of its own, which gets nothing but the source's options.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from txnlog.dump.inventory import Inventory


@contextmanager
def shared_listing(found: Inventory) -> Iterator[str]:
    """The path of a file that `listed` reads, as long as it is needed. No one else may write to it."""
    handle, path = tempfile.mkstemp(prefix="txnlog-listing-")
    try:
        with os.fdopen(handle, "wb") as file:
            pickle.dump(found, file)
        yield path
    finally:
        with suppress(OSError):
            Path(path).unlink()


def listed(path: str | None) -> Inventory | None:
    """What was found; None where there is no such file, as on another machine, or it is another user's."""
    if path is None:
        return None
    try:
        with Path(path).open("rb") as file:
            # Another user's file could be anything.
            if os.fstat(file.fileno()).st_uid != os.getuid():
                return None
            found: Inventory = pickle.load(file)
    except OSError:
        return None
    return found
