"""Delta tables in a catalog, which only a Spark that knows the catalog can read, and how its SQL differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from txnlog.errors import TableError
from txnlog.spark.session import running_session
from txnlog.tables.layout import Root, Table, columns_of, missing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Dialect(NamedTuple):
    """What delta-rs (DataFusion) and Spark spell differently, as texts to `format`.

    `each`: the elements of an array, a row for each. `elapsed_ms`: whole ms between two instants. `semi_join`: those of
    `many` that are in `few`. `pairs`: the elements of an array as `one`, each with the one before as `before`; an empty
    array is a row of two nulls.
    """

    each: str
    elapsed_ms: str
    semi_join: str
    pairs: str


# DataFusion casts an instant to its microseconds. Of a join it keeps the left side in memory, which is to be the small
# one. The shorter of two arrays that are unnested is filled up with nulls; that of the elements before is never empty.
OF_FILES = Dialect(
    each="unnest({array}) AS {name}",
    elapsed_ms="(CAST({end} AS BIGINT) - CAST({start} AS BIGINT)) / 1000",
    semi_join="{few} RIGHT SEMI JOIN {many} USING ({key})",
    pairs="unnest({array}) AS {one}, unnest(array_prepend(NULL, array_pop_back({array}))) AS {before}",
)
OF_CATALOG = Dialect(
    each="explode({array}) AS {name}",
    elapsed_ms="(unix_micros({end}) - unix_micros({start})) div 1000",
    semi_join="{many} LEFT SEMI JOIN {few} USING ({key})",
    pairs="inline_outer(transform({array}, (one, place) -> struct(one, get({array}, place - 1)))) AS ({one}, {before})",
)


def dialect(root: Root) -> Dialect:
    """That of what reads the tables."""
    return OF_CATALOG if root.is_schema else OF_FILES


def session_of(root: Root) -> SparkSession:
    """The Spark session that knows the catalog of some tables. `TableError` where none is there."""
    spark = running_session()
    if spark is None:
        raise TableError(
            f"{root.text} names a catalog and schema, which only a Spark that knows the catalog can read: run this in a"
            " notebook or a job of its platform, or name its Spark Connect with SPARK_REMOTE"
        )
    return spark


def streamed(spark: SparkSession, root: Root, query: str, tables: Mapping[str, Table]) -> Iterator[dict[str, Any]]:
    """The rows of a query in SQL as dictionaries, instants in UTC; it knows each table by its keyword. `TableError`.

    The session may read tables in a folder, too.
    """
    from txnlog.spark.spark_errors import SPARK_ERRORS, cause_of, condition_of, told_once

    named = ", ".join(f"{name} AS (SELECT * FROM {root.sql_name(table)})" for name, table in tables.items())
    # The query may begin with names of its own. A view would be one more name in somebody's session.
    following = f", {query.removeprefix('WITH ')}" if query.startswith("WITH ") else f" {query}"
    try:
        with told_once():
            found = spark.sql(f"WITH {named}{following}").toArrow()
    except SPARK_ERRORS as error:
        for table in tables.values():
            if condition_of(error) == "TABLE_OR_VIEW_NOT_FOUND" and f"`{table.name}`" in str(error):
                raise missing(root, table) from error
        raise TableError(f"{root.text} cannot be read: {cause_of(error)}") from error
    for batch in found.to_batches():
        yield from batch.to_pylist()


def append(root: Root, table: Table, rows: Sequence[tuple[object, ...]]) -> None:
    """Add rows, in the order of the table's columns. `TableError` where that cannot be."""
    from txnlog.spark.materialize import local_frame
    from txnlog.spark.schema import arrow_schema
    from txnlog.tables.store import Store

    spark, names = session_of(root), [each.name for each in columns_of(table)]
    found = [dict(zip(names, row, strict=True)) for row in rows]
    Store(spark, root).append(table, local_frame(spark, found, arrow_schema(table.row)))
