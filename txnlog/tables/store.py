"""Reading and writing the Delta tables through Spark SQL: the same on classic Spark, Spark Connect and Databricks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, DataFrameWriter, Row, SparkSession

import txnlog
from txnlog.errors import TableError
from txnlog.spark.materialize import Materialized, materialized_together
from txnlog.spark.session import is_small
from txnlog.spark.spark_errors import SPARK_ERRORS, cause_of, condition_of
from txnlog.tables.begun import remove_begun_log
from txnlog.tables.changes import DELETE, OPERATION, of_table
from txnlog.tables.creation import check_creation, column_addition, creation
from txnlog.tables.layout import CHECK, COORDINATOR_RANGES, RUNS, TABLES, Root, Table, columns_of, literal
from txnlog.tables.retries import with_retries

TABLE_NAMES = tuple(table.name for table in TABLES)
# What Delta says of a folder without a table in it, and Spark of one that is not there, or of a table in a catalog.
_NOT_THERE = (
    "DELTA_MISSING_DELTA_TABLE", "DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST", "PATH_NOT_FOUND",
    "TABLE_OR_VIEW_NOT_FOUND",
)  # fmt: skip
_ALREADY_DONE = ("already exists", "DELTA_CONSTRAINT_ALREADY_EXISTS")


class Store:
    """The tables below one root."""

    def __init__(self, spark: SparkSession, root: Root) -> None:
        self.spark = spark
        self.root = root
        self._is_only_writer = False
        self._empty: set[str] = set()
        self._creation: list[Future[None]] = []

    def ensure(self, is_only_writer: bool = False) -> None:
        """Create what is missing, columns of a newer version included; refuse other schemas (`TableError`).

        `is_only_writer`: no other job writes before this one has. What it creates is then taken to be empty, and may
        not be there before `await_tables`.
        """
        self._is_only_writer = is_only_writer
        # Each is a handful of round trips that wait for one another; the tables do not.
        with ThreadPoolExecutor(len(TABLES)) as pool:
            # All are checked before any is changed: tables that are refused stay as they were.
            changes = dict(zip(TABLE_NAMES, pool.map(self._changes, TABLES), strict=True))
        beside = ThreadPoolExecutor(len(TABLES))
        self._creation = [beside.submit(self._carry_out, table, changes[table.name]) for table in TABLES]
        beside.shutdown(wait=False)
        if not self._empty.issuperset(name for name, statements in changes.items() if statements):
            self.await_tables()

    def await_tables(self) -> None:
        """Wait until all tables are there. `TableError` where one could not be created."""
        for creation_of_one in self._creation:
            creation_of_one.result()

    def await_quietly(self) -> None:
        """Wait until no table is being created any more, whatever becomes of it."""
        wait(self._creation)

    @property
    def has_new_tables(self) -> bool:
        """Whether there are tables that this store has created and not written to, as the only writer."""
        return bool(self._empty)

    def is_new(self, table: Table) -> bool:
        """Whether this store has created the table and not written to it, as the only writer."""
        return table.name in self._empty

    def is_there(self) -> bool:
        """Whether there are tables of a run or of an archive."""
        return any(self._columns(table) is not None for table in (RUNS, COORDINATOR_RANGES))

    def read(self, table: Table, clusters: list[str] | None) -> DataFrame:
        """The rows of some clusters, or of all."""
        if self.is_new(table):
            # So Spark knows while it plans that there are none, and leaves out what would be done with them.
            columns = ", ".join(f"CAST(NULL AS {each.wire.ddl}) AS {each.name}" for each in columns_of(table))
            return self.spark.sql(f"SELECT {columns} WHERE false")
        found = self.spark.table(self.root.sql_name(table))
        return found if clusters is None else found.where(of_clusters(clusters))

    def append(self, table: Table, rows: DataFrame) -> None:
        """Add rows."""
        self._save(table, of_table(table, rows).write.format("delta").mode("append"))

    def overwrite(self, table: Table, rows: DataFrame, clusters: list[str], where: str = "true") -> None:
        """Put these rows in the place of all rows of some clusters of which a condition in SQL holds, as it must for
        them, too.
        """
        if self.is_new(table):
            self.append(table, rows)
            return
        writer = of_table(table, rows).write.format("delta").mode("overwrite")
        self._save(table, writer.option("replaceWhere", f"{of_clusters(clusters)} AND ({where})"))

    def merge(self, table: Table, changes: DataFrame | Materialized, clusters: list[str], among: str = "true") -> None:
        """Carry out changes, if there are any: rows of the table and an `OPERATION` each; each key occurs once.

        `among` holds for each row (of `target`) that any of them can be for: files without such rows are not read.

        The clusters are literals in the condition, so that jobs for different clusters do not conflict.
        """
        if self.is_new(table):
            # A merge takes five times as long.
            rows = changes.frame if isinstance(changes, Materialized) else changes
            self.append(table, rows.where(f"{OPERATION} <> '{DELETE}'"))
            return
        names = [field.name for field in columns_of(table)]
        assignments = ", ".join(f"target.`{name}` = source.`{name}`" for name in names)
        columns, values = (
            ", ".join(f"`{name}`" for name in names),
            ", ".join(f"source.`{name}`" for name in names),
        )
        sql = (
            f"{self._merge(table, clusters, among)}"
            f" WHEN MATCHED AND source.{OPERATION} = '{DELETE}' THEN DELETE"
            f" WHEN MATCHED THEN UPDATE SET {assignments}"
            f" WHEN NOT MATCHED AND source.{OPERATION} <> '{DELETE}' THEN INSERT ({columns}) VALUES ({values})"
        )
        self._run_with(table, sql, changes)

    def run(self, table: Table, statement: str) -> list[Row]:
        """What an SQL statement about a table answers, in which `{table}` stands for its name."""
        answer: list[Row] = []
        sql = statement.format(table=self.root.sql_name(table))
        self._run(table, lambda: answer.extend(self.spark.sql(sql).collect()))
        return answer

    def _run_with(self, table: Table, sql: str, changes: DataFrame | Materialized) -> None:
        """Run a MERGE. It reads the changes twice, so few of them are computed before, and of none nothing is made."""
        if is_small(self.spark) and not isinstance(changes, Materialized):
            (changes,) = materialized_together(changes)
        if isinstance(changes, Materialized):
            if not changes.rows.num_rows:
                return
            changes = changes.frame
        self._run(table, lambda: self.spark.sql(sql, changes=changes))

    def _merge(self, table: Table, clusters: list[str], among: str) -> str:
        on = " AND ".join([f"target.{of_clusters(clusters)}", among, *(f"target.{k} = source.{k}" for k in table.key)])
        # Names of clusters and places may have braces, which PySpark takes for the names of frames.
        target, on = (text.replace("{", "{{").replace("}", "}}") for text in (self.root.sql_name(table), on))
        return f"MERGE INTO {target} AS target USING {{changes}} AS source ON {on}"

    def _save(self, table: Table, writer: DataFrameWriter) -> None:
        if self.root.is_schema:
            self._run(table, lambda: writer.saveAsTable(self.root.sql_name(table)))
        else:
            self._run(table, lambda: writer.save(self.root.path_of(table)))

    def _run(self, table: Table, action: Callable[[], object]) -> None:
        try:
            with_retries(action)
            self._empty.discard(table.name)
        except SPARK_ERRORS as error:
            raise TableError(f"{self.root.sql_name(table)} cannot be written: {cause_of(error)}") from error

    def _changes(self, table: Table) -> list[str]:
        """The statements that make the table what this version of txnlog writes."""
        columns = self._columns(table)
        if columns is None:
            if self._is_only_writer:
                self._empty.add(table.name)
            return creation(self.root, table)
        missing = self._missing(table, columns)
        additions = [column_addition(self.root, table, missing)] if missing else []
        # A job that was killed may have created the table and not its checks.
        unchecked = sorted(table.checks.keys() - self._checks(table))
        return additions + [check_creation(self.root, table, check) for check in unchecked]

    def _carry_out(self, table: Table, statements: list[str]) -> None:
        for statement in statements:
            try:
                with_retries(partial(self.spark.sql, statement))
            except SPARK_ERRORS as error:
                # Another job may have been first.
                if not any(words in str(error) for words in _ALREADY_DONE):
                    raise TableError(f"{self.root.sql_name(table)} cannot be written: {cause_of(error)}") from error

    def _checks(self, table: Table) -> set[str]:
        """Names of all checks of the table."""
        if not table.checks:
            return set()
        properties = self.spark.sql(f"SHOW TBLPROPERTIES {self.root.sql_name(table)}").collect()
        keys = (row["key"] for row in properties)
        return {key.removeprefix(CHECK) for key in keys if key.startswith(CHECK)}

    def _columns(self, table: Table) -> dict[str, str] | None:
        """Names and types of the table as it stands; None where there is none."""
        name = self.root.sql_name(table)
        # Who keeps others out of a folder can see for himself: Spark says what is missing in a page of exceptions.
        if self._is_only_writer:
            remove_begun_log(Path(self.root.path_of(table)))
            if not Path(self.root.path_of(table), "_delta_log").is_dir():
                return None
        try:
            if not self.spark.catalog.tableExists(name):
                return None
            schema = self.spark.table(name).schema
        except SPARK_ERRORS as error:
            if condition_of(error) in _NOT_THERE:
                return None
            raise TableError(f"{name}: {cause_of(error)}") from error
        return {field.name: field.dataType.simpleString() for field in schema.fields}

    def _missing(self, table: Table, found: dict[str, str]) -> list[str]:
        """The columns that an older txnlog did not write; `TableError` for a schema that cannot become ours."""
        expected = {field.name: field for field in columns_of(table)}
        missing = [name for name in expected if name not in found]
        troubles = [
            *(f"it has {name}, which a newer version may write" for name in found if name not in expected),
            *(
                f"{name} is {kind} and not {expected[name].wire.ddl}"
                for name, kind in found.items()
                if name in expected and kind != expected[name].wire.ddl
            ),
            *(f"it lacks {name}, which is never null" for name in missing if not expected[name].nullable),
        ]
        if troubles:
            raise TableError(
                f"{self.root.sql_name(table)} has another schema than txnlog {txnlog.__version__} writes:"
                f" {', '.join(troubles)}; upgrade txnlog, or write to a new place: nothing was changed"
            )
        return missing


def of_clusters(clusters: Iterable[str]) -> str:
    """The rows of some clusters, as SQL: of a condition Delta makes a text again, in which ${a name} is a variable."""
    return f"cluster IN ({', '.join(map(literal, clusters))})"
