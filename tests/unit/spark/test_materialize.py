"""Rows that pass through the driver all come out of it."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from tests.executions import last_execution
from txnlog.spark.materialize import frame_of, local_frame, materialized, materialized_together

SCHEMA = pa.schema([("number", pa.int64())])


def pieces(sizes: tuple[int, ...]) -> list[pa.RecordBatch]:
    first = [sum(sizes[:index]) for index in range(len(sizes))]
    return [
        pa.record_batch([pa.array(range(start, start + size), pa.int64())], SCHEMA)
        for start, size in zip(first, sizes, strict=True)
    ]


@pytest.mark.parametrize("sizes", [(), *product((0, 1, 2), repeat=3)])
def test_no_row_is_lost_after_an_empty_piece(spark: SparkSession, sizes: tuple[int, ...]) -> None:
    found = frame_of(spark, pieces(sizes), SCHEMA)
    assert [row.number for row in found.collect()] == list(range(sum(sizes)))


def test_rows_of_partitions_that_are_partly_empty_are_materialized(spark: SparkSession) -> None:
    frame = spark.range(0, 100, 1, 10).where("id % 30 = 29")
    assert [row.id for row in materialized(frame).collect()] == [29, 59, 89]
    assert materialized(frame.where("id < 0")).collect() == []


def test_what_sparks_schema_says_of_a_column_is_kept(spark: SparkSession) -> None:
    schema = StructType([StructField("number", LongType(), True, {"comment": "how many"})])
    assert materialized(spark.createDataFrame([(1,)], schema)).schema == schema
    assert frame_of(spark, pieces((1, 0, 1)), SCHEMA, schema).schema == schema


def test_rows_of_python_are_rows_of_spark(spark: SparkSession) -> None:
    assert [row.number for row in local_frame(spark, [{"number": 1}, {"number": None}], SCHEMA).collect()] == [1, None]
    assert local_frame(spark, [], SCHEMA).collect() == []


def test_of_few_rows_nothing_is_exchanged(spark: SparkSession) -> None:
    ones, twos = (frame_of(spark, pieces((2, 1)), SCHEMA) for _ in range(2))
    order = Window.partitionBy("number").orderBy("number")
    found = ones.join(twos, ["number"], "left").groupBy("number").agg(F.count("*").alias("count"))
    ranked = found.withColumn("rank", F.row_number().over(order))
    assert "Exchange" not in ranked._jdf.queryExecution().executedPlan().toString()
    assert sorted(tuple(row) for row in ranked.collect()) == [(0, 1, 1), (1, 1, 1), (2, 1, 1)]


def test_several_frames_are_materialized_by_one_query_each_with_its_own_rows(spark: SparkSession) -> None:
    numbers = spark.range(0, 9, 1, 3)
    nothing = numbers.selectExpr("struct(id AS one, CAST(NULL AS string) AS none) AS pair").where("pair.one > 9")
    before = last_execution(spark)
    first, second, third = materialized_together(
        numbers.where("id > 6"), nothing, numbers.selectExpr("id", "NULL AS n")
    )
    assert last_execution(spark) == before + 2
    assert (first.rows.to_pylist(), second.rows.to_pylist()) == ([{"id": 7}, {"id": 8}], [])
    assert sorted(row.id for row in first.frame.collect()) == [7, 8]
    assert (second.frame.collect(), second.frame.columns) == ([], ["pair"])
    assert sorted((row.id, row.n) for row in third.frame.collect()) == [(number, None) for number in range(9)]
