"""Rows of the Delta tables: without a JVM, through delta-rs; of those in a catalog through Spark."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from txnlog.errors import MissingTableError, OptionError, TableError
from txnlog.report.output import printable
from txnlog.tables import catalog
from txnlog.tables.layout import URI, Root, Table, missing

if TYPE_CHECKING:
    from deltalake import DeltaTable

LOG = logging.getLogger(__name__)


def rows(
    root: Root, table: Table, where: str = "true", order: str = "1", limit: int | None = None
) -> list[dict[str, Any]]:
    """The rows of a table as dictionaries; `where` and `order` are SQL. `TableError` where it cannot be read."""
    last = "" if limit is None else f" LIMIT {limit}"
    return answer(root, f"SELECT * FROM found WHERE {where} ORDER BY {order}{last}", found=table)


def answer(root: Root, query: str, **tables: Table) -> list[dict[str, Any]]:
    """The rows of a query in SQL as dictionaries; it knows each table by its keyword. `TableError` as in `rows`."""
    return list(streamed(root, query, **tables))


def streamed(root: Root, query: str, **tables: Table) -> Iterator[dict[str, Any]]:
    """As `answer`, but one row after the other: of tables in a folder not all rows are in memory.

    What is spelled differently in a catalog, the query takes from its `dialect`.
    """
    names = ", ".join(each.name for each in tables.values())
    LOG.info("read %s of %s: %s", names, printable(root.text), printable(query))
    if root.is_schema:
        yield from catalog.streamed(catalog.session_of(root), root, query, tables)
    else:
        yield from _of_files(root, query, tables)


def _of_files(root: Root, query: str, tables: Mapping[str, Table]) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    from deltalake import QueryBuilder
    from deltalake.exceptions import DeltaError

    builder = QueryBuilder()
    for name, table in tables.items():
        builder = builder.register(name, _opened(root, table))
    try:
        for batch in builder.execute(query):
            yield from pa.record_batch(batch).to_pylist()
    except (DeltaError, OSError) as error:
        raise _unreadable(root, [*tables.values()], error) from error


def _opened(root: Root, table: Table) -> DeltaTable:
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    path = root.path_of(table)
    if not URI.fullmatch(path) and not Path(path, "_delta_log").is_dir():
        raise missing(root, table)
    try:
        return DeltaTable(path)
    except TableNotFoundError as error:
        raise missing(root, table) from error
    except (DeltaError, OSError) as error:
        raise _unreadable(root, [table], error) from error


def _unreadable(root: Root, tables: list[Table], error: Exception) -> TableError:
    return TableError(f"{', '.join(map(root.path_of, tables))} cannot be read: {str(error).splitlines()[0]}")


def rows_if_there(root: Root, table: Table, where: str = "true", order: str = "1") -> list[dict[str, Any]]:
    """As `rows`; none where the table was never written."""
    try:
        return rows(root, table, where, order)
    except MissingTableError:
        return []


def check_cluster(cluster: str | None, found: Iterable[Mapping[str, Any]]) -> None:
    """`OptionError`, with the names that there are, if none of the rows is of the cluster."""
    known = sorted({row["cluster"] for row in found})
    if cluster is not None and cluster not in known:
        raise OptionError(f"--cluster: {cluster} is not in the tables; they have {', '.join(known)}")


def only_cluster(cluster: str | None, found: Iterable[Mapping[str, Any]]) -> str | None:
    """The cluster that is named, or the only one of the rows; `OptionError` where there are several to choose from."""
    found = list(found)
    check_cluster(cluster, found)
    clusters = sorted({row["cluster"] for row in found})
    if cluster is None and len(clusters) > 1:
        raise OptionError(f"the tables have several clusters: add --cluster, one of {', '.join(clusters)}")
    return cluster or (clusters[0] if clusters else None)


def text_literal(text: str) -> str:
    """A string as an SQL literal, for delta-rs and Spark alike. `OptionError` if it is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise OptionError(f"{text!r} is not UTF-8: no name in a table is that") from error
    # To Spark a backslash is special, too, and a dollar before a brace begins a variable.
    whole = re.sub(r"['\\$]", lambda each: f"' || chr({ord(each[0])}) || '", text)
    return f"('{whole}')" if whole != text else f"'{text}'"
