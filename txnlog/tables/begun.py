"""Tables whose creation was killed before its commit."""

from __future__ import annotations

import shutil
from pathlib import Path


def remove_begun_log(table: Path) -> None:
    """Remove the log of a table, by its folder, that has no commit: only the only writer may do so.

    Delta takes such a folder for a table that is there: `CREATE TABLE IF NOT EXISTS` would create nothing, and the next
    append a table without checks. Where there is any file but Delta's temporary ones and checksums, nothing is removed.
    """
    log = table / "_delta_log"
    if log.is_dir() and all(_is_left_over(each) for each in log.rglob("*") if not each.is_dir()):
        shutil.rmtree(log)


def _is_left_over(file: Path) -> bool:
    return file.name.startswith(".") or file.suffix == ".crc"
