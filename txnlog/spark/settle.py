"""Small results without their history, so that what uses them several times does not plan them several times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from txnlog.spark.session import is_small


def settled(frame: DataFrame) -> DataFrame:
    """The same rows as a local relation: computed once, through the driver, as Arrow.

    For results that are small by nature (copies of partitions, open transactions). Unlike `persist` and checkpoints
    it works on classic Spark, on Spark Connect and on Databricks serverless compute alike.
    """
    return _as_frame(frame.sparkSession, *_rows(frame))


def settled_unless_empty(frame: DataFrame) -> DataFrame | None:
    """As `settled`; None where there are no rows, which takes no query of its own."""
    rows, schema = _rows(frame)
    return _as_frame(frame.sparkSession, rows, schema) if rows.num_rows else None


def _rows(frame: DataFrame) -> tuple[pa.Table, StructType]:
    # Arrow refuses a null struct whose fields say that they are never null.
    schema = nullable(frame.schema)
    return frame.to(schema).toArrow(), schema


def _as_frame(spark: SparkSession, rows: pa.Table, schema: StructType) -> DataFrame:
    return frame_of(spark, rows.to_batches(), rows.schema, schema)


def local_frame(spark: SparkSession, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> DataFrame:
    """A few rows of the driver, through Arrow: from Python's own rows Spark would start workers to read them."""
    return frame_of(spark, [pa.RecordBatch.from_pylist([dict(row) for row in rows], schema)], schema)


def frame_of(
    spark: SparkSession, batches: Iterable[pa.RecordBatch], schema: pa.Schema, spark_schema: StructType | None = None
) -> DataFrame:
    """Arrow batches of the driver, be it none, as a local relation; with Spark's own schema if it says more.

    In a session for few rows it is one partition, and known as such: what is computed of it needs no exchange.
    """
    # Spark drops all rows behind an empty piece, and PySpark takes no column that has no piece at all.
    pieces = [batch for batch in batches if batch.num_rows] or [pa.RecordBatch.from_pylist([], schema)]
    rows = pa.Table.from_batches(pieces, schema)
    frame = spark.createDataFrame(rows, spark_schema) if spark_schema else spark.createDataFrame(rows)
    return frame.coalesce(1) if is_small(spark) else frame


def nullable(schema: StructType) -> StructType:
    """The same schema with every field and element nullable; comments are kept."""
    return StructType(
        [StructField(field.name, nullable_type(field.dataType), True, field.metadata) for field in schema.fields]
    )


def nullable_type(kind: DataType) -> DataType:
    """The same type, nullable at every depth."""
    if isinstance(kind, StructType):
        return nullable(kind)
    if isinstance(kind, ArrayType):
        return ArrayType(nullable_type(kind.elementType), True)
    if isinstance(kind, MapType):
        return MapType(kind.keyType, nullable_type(kind.valueType), True)
    return kind
