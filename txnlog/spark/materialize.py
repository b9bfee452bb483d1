"""Small results without their history, so that what uses them several times does not plan them several times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from txnlog.spark.session import is_small


class Materialized:
    """A result that was computed: its rows in the driver, and from there as a local relation."""

    def __init__(self, spark: SparkSession, rows: pa.Table, schema: StructType) -> None:
        self.rows = rows
        self._spark, self._schema = spark, schema

    def with_column(self, name: str, values: Sequence[Any]) -> Materialized:
        """The same rows with these values in one of their columns, one a row."""
        place = self.rows.schema.get_field_index(name)
        field = self.rows.schema.field(place)
        rows = self.rows.set_column(place, field, pa.array(values, field.type))
        return Materialized(self._spark, rows, self._schema)

    @cached_property
    def frame(self) -> DataFrame:
        """The rows without their history."""
        return frame_of(self._spark, self.rows.to_batches(), self.rows.schema, self._schema)


def materialized(frame: DataFrame) -> DataFrame:
    """The same rows as a local relation: computed once, through the driver, as Arrow.

    For results that are small by nature (copies of partitions, open transactions). Unlike `persist` and checkpoints
    it works on classic Spark, on Spark Connect and on Databricks serverless compute alike.
    """
    (only,) = materialized_together(frame)
    return only.frame


def materialized_together(*frames: DataFrame) -> list[Materialized]:
    """As `materialized`, several frames by one query: each takes time to plan and to start, however little it computes.

    Each frame is one column of structures of a union, which is null in the rows of the others.
    """
    # Arrow refuses a null struct whose fields say that they are never null.
    schemas = [nullable(frame.schema) for frame in frames]
    columns = [f"_{number}" for number in range(len(frames))]
    structs = [frame.selectExpr(f"struct(*) AS {name}") for frame, name in zip(frames, columns, strict=True)]
    union = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), structs)
    wanted = StructType([StructField(name, schema) for name, schema in zip(columns, schemas, strict=True)])
    table = union.to(wanted).toArrow()
    return [
        Materialized(frames[0].sparkSession, _rows(table.column(name)), schema)
        for name, schema in zip(columns, schemas, strict=True)
    ]


def _rows(column: pa.ChunkedArray) -> pa.Table:
    pieces = [pa.RecordBatch.from_struct_array(chunk.drop_null()) for chunk in column.chunks]
    return pa.Table.from_batches(pieces, pa.schema(list(column.type)))


def local_frame(spark: SparkSession, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> DataFrame:
    """A few rows of the driver, through Arrow: from Python's own rows Spark would start workers to read them."""
    return frame_of(spark, [pa.RecordBatch.from_pylist([dict(row) for row in rows], schema)], schema)


def frame_of(
    spark: SparkSession, batches: Iterable[pa.RecordBatch], schema: pa.Schema, spark_schema: StructType | None = None
) -> DataFrame:
    """Arrow batches of the driver, be it none, as a local relation; with Spark's own schema if it says more.

    In a session for few rows it is one partition, and known as such: what is computed of it needs no exchange.
    """
    # Spark drops all rows after an empty piece, and PySpark takes no column that has no piece at all.
    pieces = [batch for batch in batches if batch.num_rows] or [pa.RecordBatch.from_pylist([], schema)]
    rows = pa.Table.from_batches(pieces, schema)
    # Spark Connect does not look for a schema in a table without rows.
    frame = spark.createDataFrame(rows, spark_schema or from_arrow_schema(schema))
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
