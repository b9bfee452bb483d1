"""What every job does first: list the dump, open the tables, and refuse what it cannot work with."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from txnlog.config import DetectOptions
from txnlog.dump.address import is_address
from txnlog.dump.dump_file import Inventory
from txnlog.dump.inventory import check_has_logs, inventory
from txnlog.dump.manifest import NAME as MANIFEST
from txnlog.dump.opener import dump_root
from txnlog.errors import DumpError, TableError
from txnlog.sources.text import check_partition
from txnlog.tables.layout import Root
from txnlog.tables.lock import only_writer
from txnlog.tables.store import Store


def listed(options: DetectOptions) -> Inventory:
    """The files of the dump, which lies elsewhere than the tables. `DumpError`, `TableError`."""
    _check_tables_are_elsewhere(options)
    dump = inventory(dump_root(options.dump), options.cluster, options.topic_partition)
    check_has_logs(dump, options.dump)
    for file in dump.files:
        if file.is_text:
            check_partition(file)
    return dump


def _check_tables_are_elsewhere(options: DetectOptions) -> None:
    """Within the dump the next run would take them for a part of it."""
    root, dump = Root(options.tables), dump_root(options.dump)
    if root.is_schema:
        return
    tables = root.base()
    if not is_address(dump):
        tables, dump = str(Path(tables).resolve()), str(Path(dump).resolve())
    if f"{tables}/".startswith(f"{dump.rstrip('/')}/"):
        raise TableError(
            f"{options.tables} lies in the dump {options.dump}: name a folder outside of it for the tables"
        )


def check_dated(options: DetectOptions, undated: Iterable[str]) -> None:
    """Dump-log output may hold no time by a broker's clock, and its own file time is not that of the copy."""
    for log_dir in undated:
        raise DumpError(
            f"{options.dump}: it is not known when {log_dir} was copied or printed: give the time with"
            f" --as-of, or as started in {MANIFEST}"
        )


def open_tables(store: Store, writing: ExitStack) -> None:
    """Create what is missing. Who has created tables keeps others out until it has written; in `writing` is how."""
    is_only_writer = writing.enter_context(only_writer(store.root))
    writing.callback(store.await_quietly)
    store.ensure(is_only_writer)
    if not store.has_new_tables:
        writing.close()
