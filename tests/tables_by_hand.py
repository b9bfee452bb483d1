"""Delta tables of a few rows, written without Spark: what a command reads, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from txnlog.spark.schema import arrow_schema
from txnlog.tables.layout import (
    ABORT_CANDIDATES,
    COORDINATOR_STATES,
    DUMP_FILES,
    OPEN_TRANSACTIONS,
    PRODUCER_STATES,
    RUNS,
    TRANSACTIONAL_IDS,
    Root,
    Table,
    columns_of,
)

Row = dict[str, Any]
READ = (COORDINATOR_STATES, PRODUCER_STATES, TRANSACTIONAL_IDS, OPEN_TRANSACTIONS, ABORT_CANDIDATES, DUMP_FILES, RUNS)
NOTHING = {"string": "", "boolean": False, "timestamp": datetime(1970, 1, 1, tzinfo=UTC)}


def at(second: float) -> datetime:
    """An instant of the evening of the dumps."""
    return datetime(2026, 11, 21, 22, tzinfo=UTC) + timedelta(seconds=second)


def filled(table: Table, told: Row) -> Row:
    """A row of a table: what is told, null where it may be, and something of its type elsewhere."""
    names = {field.name for field in columns_of(table)}
    assert set(told) <= names, set(told) - names
    return {
        field.name: told.get(field.name, None if field.nullable else nothing_of(field.wire.ddl))
        for field in columns_of(table)
    }


def written(folder: Path, rows: dict[str, list[Row]]) -> Root:
    """The tables that the reading commands know, with these rows by the table's name."""
    root = Root(str(folder))
    for table in READ:
        put(root, table, rows.get(table.name, []))
    return root


def nothing_of(ddl: str) -> object:
    """A value of a column's type that says nothing."""
    return NOTHING.get(ddl, [] if "<" in ddl else 0)


def put(root: Root, table: Table, rows: list[Row]) -> None:
    """Write one table with these rows, or add them to it, in a file of their own."""
    found = [filled(table, row) for row in rows]
    write_deltalake(root.path_of(table), pa.Table.from_pylist(found, arrow_schema(table.row)), mode="append")
