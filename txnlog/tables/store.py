"""Reading and writing the Delta tables through Spark SQL: the same on classic Spark, Spark Connect and Databricks."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from txnlog.errors import TableError
from txnlog.schema import spark_schema
from txnlog.tables.changes import DELETE, OPERATION
from txnlog.tables.layout import TABLES, Root, Table, columns_of, creation

ATTEMPTS = 8
_CONCURRENT = (
    "DELTA_CONCURRENT",
    "ConcurrentModification",
    "ConcurrentAppend",
    "ConcurrentDelete",
    "MetadataChanged",
)
_ALREADY_DONE = ("already exists", "DELTA_CONSTRAINT_ALREADY_EXISTS")


class Store:
    """The tables below one root."""

    def __init__(self, spark: SparkSession, root: Root) -> None:
        self._spark = spark
        self._root = root

    def ensure(self) -> None:
        """Create what is missing; refuse a table that is not txnlog's or of another schema (`TableError`)."""
        # Each is a handful of round trips that wait for one another; the tables do not.
        with ThreadPoolExecutor(len(TABLES)) as pool:
            list(pool.map(self._ensure, TABLES))

    def read(self, table: Table, clusters: list[str]) -> DataFrame:
        """The rows of some clusters."""
        return self._spark.sql(f"SELECT * FROM {self._root.sql_name(table)}").where(F.col("cluster").isin(clusters))

    def append(self, table: Table, rows: DataFrame) -> None:
        """Add rows."""
        ordered = rows.select([field.name for field in columns_of(table)]).to(spark_schema(table.row))
        sql = f"INSERT INTO {self._root.sql_name(table)} SELECT * FROM {{rows}}"
        _with_retries(lambda: self._spark.sql(sql, rows=ordered))

    def merge(self, table: Table, changes: DataFrame, clusters: list[str]) -> None:
        """Carry out changes: rows of the table and an `OPERATION` each; a key stands in them once.

        The clusters stand in the condition as literals, so that jobs for different clusters do not collide.
        """
        names = [field.name for field in columns_of(table)]
        literals = ", ".join("'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'" for name in clusters)
        on = " AND ".join([f"target.cluster IN ({literals})", *(f"target.{k} = source.{k}" for k in table.key)])
        assignments = ", ".join(f"target.`{name}` = source.`{name}`" for name in names)
        columns, values = (
            ", ".join(f"`{name}`" for name in names),
            ", ".join(f"source.`{name}`" for name in names),
        )
        sql = (
            f"MERGE INTO {self._root.sql_name(table)} AS target USING {{changes}} AS source ON {on}"
            f" WHEN MATCHED AND source.{OPERATION} = '{DELETE}' THEN DELETE"
            f" WHEN MATCHED THEN UPDATE SET {assignments}"
            f" WHEN NOT MATCHED AND source.{OPERATION} <> '{DELETE}' THEN INSERT ({columns}) VALUES ({values})"
        )
        _with_retries(lambda: self._spark.sql(sql, changes=changes))

    def _ensure(self, table: Table) -> None:
        columns = self._columns(table)
        if columns is None:
            self._create(table)
        else:
            self._check(table, columns)

    def _create(self, table: Table) -> None:
        for statement in creation(self._root, table):
            try:
                _with_retries(partial(self._spark.sql, statement))
            except PySparkException as error:
                # Another job may have been first.
                if not any(words in str(error) for words in _ALREADY_DONE):
                    raise TableError(f"{self._root.sql_name(table)} cannot be created: {_first_line(error)}") from error

    def _columns(self, table: Table) -> list[tuple[str, str]] | None:
        """Names and types of the table as it stands; None where there is none."""
        try:
            schema = self._spark.sql(f"SELECT * FROM {self._root.sql_name(table)}").schema
        except AnalysisException as error:
            if any(
                words in str(error) for words in ("NOT_FOUND", "doesn't exist", "NOT_EXIST", "is not a Delta table")
            ):
                return None
            raise TableError(f"{self._root.sql_name(table)}: {_first_line(error)}") from error
        return [(field.name, field.dataType.simpleString()) for field in schema.fields]

    def _check(self, table: Table, found: list[tuple[str, str]]) -> None:
        expected = [(field.name, field.wire.ddl) for field in columns_of(table)]
        if found != expected:
            different = sorted({name for name, _ in set(expected) ^ set(found)})
            raise TableError(
                f"{self._root.sql_name(table)} has another schema than this version of txnlog writes: "
                f"{', '.join(different) or 'the order of its columns'} differ; write to a new place or upgrade it"
            )


def _with_retries(action: Callable[[], object]) -> None:
    """Run a write again when another job's commit came in between."""
    for attempt in range(ATTEMPTS):
        try:
            action()
            return
        except PySparkException as error:
            if attempt == ATTEMPTS - 1 or not any(words in str(error) for words in _CONCURRENT):
                raise
            time.sleep(random.uniform(0.1, 0.5) * 2**attempt)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
