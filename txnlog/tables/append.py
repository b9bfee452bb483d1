"""Adding rows to a Delta table beside jobs that write with Spark: without a JVM, but for one in a catalog."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from txnlog.errors import TableError
from txnlog.tables import catalog
from txnlog.tables.layout import URI, Root, Table, columns_of
from txnlog.tables.lock import only_writer

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable, Schema

# Delta's types by their names in Spark SQL.
_DELTA = {"int": "integer", "bigint": "long", "string": "string", "timestamp": "timestamp"}


def append(root: Root, table: Table, rows: Sequence[tuple[object, ...]]) -> None:
    """Add rows, in the order of the table's columns; in a folder the table is made where it is missing.

    An append collides with no other write, so that nothing has to be done again. `TableError` where it cannot be.
    """
    if root.is_schema:
        catalog.append(root, table, rows)
        return
    from deltalake import write_deltalake
    from deltalake.exceptions import DeltaError

    path = root.path_of(table)
    try:
        with only_writer(root):
            write_deltalake(_opened(path, table), _arrow(table, rows), mode="append")
    except (DeltaError, OSError) as error:
        raise TableError(f"{path} cannot be written: {str(error).splitlines()[0]}") from error


def _opened(path: str, table: Table) -> DeltaTable:
    from deltalake import DeltaTable

    if not URI.fullmatch(path):
        Path(path).mkdir(exist_ok=True)
    if DeltaTable.is_deltatable(path):
        return DeltaTable(path)
    made = DeltaTable.create(
        path,
        _delta_schema(table),
        partition_by=["cluster"],
        description=table.comment,
        configuration=dict(table.properties),
    )
    made.alter.add_constraint(table.checks)
    return made


def _delta_schema(table: Table) -> Schema:
    from deltalake import Field, Schema
    from deltalake.schema import PrimitiveType

    return Schema(
        [
            Field(
                each.name,
                PrimitiveType(_DELTA[each.wire.ddl]),
                nullable=each.nullable,
                metadata={"comment": each.meaning},
            )
            for each in columns_of(table)
        ]
    )


def _arrow(table: Table, rows: Sequence[tuple[object, ...]]) -> pa.Table:
    import pyarrow as pa

    schema = pa.schema(_delta_schema(table).to_arrow())
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=schema)
