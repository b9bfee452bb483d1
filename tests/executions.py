"""The SQL executions of a session, which Spark numbers, and what they read of Delta tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from txnlog.tables.layout import Table

# With this setting Spark describes queries in full, so that they name the tables and columns that they read.
IN_FULL = {"spark.sql.maxMetadataStringLength": 10_000}


class Scan(NamedTuple):
    """One read of a table by a query: how many files, by Spark's own metrics, and which columns."""

    files: int
    columns: frozenset[str]


def last_execution(spark: SparkSession) -> int:
    """The number of an SQL execution that is made for that: Spark counts them, nested ones too."""
    spark.range(1).count()
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    number: int = spark._jsparkSession.sharedState().statusStore().executionsList().last().executionId()
    return number


def scans(spark: SparkSession, after: int, table: Table) -> list[Scan]:
    """All reads of a table by the executions after that one, which were made `IN_FULL`."""
    store = spark._jsparkSession.sharedState().statusStore()
    return [
        scan
        for execution in range(after + 1, last_execution(spark))
        for scan in _scans(store, execution, f"/{table.name}]")
    ]


def is_compiled(spark: SparkSession, after: int) -> bool:
    """Whether Spark compiled a plan of any execution after that one."""
    store = spark._jsparkSession.sharedState().statusStore()
    graphs = (store.planGraph(execution) for execution in range(after + 1, last_execution(spark) + 1))
    return any(node.name().startswith("WholeStageCodegen") for graph in graphs for node in _list(graph.allNodes()))


def _scans(store: Any, execution: int, place: str) -> Iterator[Scan]:
    values = store.executionMetrics(execution)
    for node in _list(store.planGraph(execution).allNodes()):
        described = node.desc()
        if place not in described or "_delta_log" in described:
            continue
        metrics = {each.name(): _defined(values.get(each.accumulatorId())) for each in _list(node.metrics())}
        files = metrics.get("number of files read") or "0"
        columns = re.search(r"ReadSchema: struct<(.*)", described)
        names = re.findall(r"(?:^|,)(\w+):", columns[1]) if columns else ()
        yield Scan(int(files.replace(",", "")), frozenset(names))


def _list(found: Any) -> list[Any]:
    return [found.apply(number) for number in range(found.size())]


def _defined(option: Any) -> str | None:
    return str(option.get()) if option is not None and option.isDefined() else None
