"""The SQL statements that create tables, and that bring those of an older txnlog up to date."""

from __future__ import annotations

from collections.abc import Collection

from txnlog.tables.layout import CHECK, Root, Table, columns_of, literal, quoted


def creation(root: Root, table: Table) -> list[str]:
    """The SQL statements that create a table that is not there yet.

    A check as a property of a new table costs no commit of its own, of which each takes longer than the table. Of a
    catalog only the statement is documented.
    """
    checks = {} if root.is_schema else {f"{CHECK}{check}": condition for check, condition in table.checks.items()}
    wanted = {**table.properties, **checks}
    properties = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in wanted.items())
    name = root.sql_name(table)
    columns = ", ".join(
        f"{quoted(field.name)} {field.wire.ddl}{'' if field.nullable else ' NOT NULL'} COMMENT {literal(field.meaning)}"
        for field in columns_of(table)
    )
    create = (
        f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING DELTA PARTITIONED BY (cluster)"
        f" COMMENT {literal(table.comment)}"
        f" TBLPROPERTIES ({properties})"
    )
    return [create, *(check_creation(root, table, check) for check in table.checks if not checks)]


def check_creation(root: Root, table: Table, check: str) -> str:
    """The SQL statement that adds one of the table's checks."""
    return f"ALTER TABLE {root.sql_name(table)} ADD CONSTRAINT {check} CHECK ({table.checks[check]})"


def column_addition(root: Root, table: Table, missing: Collection[str]) -> str:
    """The SQL statement that adds columns to a table of an older txnlog."""
    additions = ", ".join(
        f"{quoted(field.name)} {field.wire.ddl} COMMENT {literal(field.meaning)}"
        for field in columns_of(table)
        if field.name in missing
    )
    return f"ALTER TABLE {root.sql_name(table)} ADD COLUMNS ({additions})"
