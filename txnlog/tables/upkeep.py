"""Keeping the files of the Delta tables few, and removing those that no version within Delta's retention needs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from txnlog.tables.layout import TABLES, Table
from txnlog.tables.store import Store

AT_ONCE = 4


class Upkeep(NamedTuple):
    """How many small files became one of the larger ones, and how many that had been replaced were deleted."""

    compacted: int
    deleted: int


def keep_up(store: Store, tables: tuple[Table, ...] = TABLES) -> Upkeep:
    """Compact and vacuum the tables. Where there is nothing to do, no commit is made.

    Delta keeps what was replaced for seven days (`delta.deletedFileRetentionDuration`), for whoever still reads it, and
    refuses to do with less: that check stays on.
    """
    # Most of it is waiting, and the tables do not wait for one another.
    with ThreadPoolExecutor(AT_ONCE) as pool:
        compacted = sum(pool.map(partial(_compacted, store), tables))
        return Upkeep(compacted, sum(pool.map(partial(_vacuumed, store), tables)))


def _compacted(store: Store, table: Table) -> int:
    (answer,) = store.run(table, "OPTIMIZE {table}")
    return int(answer["metrics"]["numFilesRemoved"])


def _vacuumed(store: Store, table: Table) -> int:
    # Some stores' tables are told of each vacuum by two commits, be there a file to delete or not.
    files = len(store.run(table, "VACUUM {table} DRY RUN"))
    if files:
        store.run(table, "VACUUM {table}")
    return files
