"""Spark and Arrow schemas of the structures that are declared once, as annotated `NamedTuple`s."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from txnlog.format.structure import GROUP_MEMBERS, Wire, fields

_SPARK_TYPES: dict[str, DataType] = {
    "tinyint": ByteType(),
    "smallint": ShortType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "boolean": BooleanType(),
    "string": StringType(),
    "timestamp": TimestampType(),
    "array<string>": ArrayType(StringType(), containsNull=False),
    "array<struct<topic:string,partition:int>>": ArrayType(
        StructType([StructField("topic", StringType(), False), StructField("partition", IntegerType(), False)]),
        containsNull=False,
    ),
    "array<struct<epoch:int,start_offset:bigint>>": ArrayType(
        StructType([StructField("epoch", IntegerType(), False), StructField("start_offset", LongType(), False)]),
        containsNull=False,
    ),
    "array<struct<topic:string,partition:int,listed_at:timestamp>>": ArrayType(
        StructType(
            [
                StructField("topic", StringType(), False),
                StructField("partition", IntegerType(), False),
                StructField("listed_at", TimestampType()),
            ]
        ),
        containsNull=False,
    ),
    GROUP_MEMBERS.ddl: ArrayType(
        StructType(
            [
                StructField("member_id", StringType(), False),
                StructField("client_id", StringType()),
                StructField("client_host", StringType()),
                StructField(
                    "partitions",
                    ArrayType(
                        StructType(
                            [
                                StructField("topic", StringType()),
                                StructField("topic_id", StringType()),
                                StructField("partition", IntegerType(), False),
                            ]
                        ),
                        containsNull=False,
                    ),
                    False,
                ),
            ]
        ),
        containsNull=False,
    ),
    "array<int>": ArrayType(IntegerType(), containsNull=False),
    "map<string,double>": MapType(StringType(), DoubleType(), valueContainsNull=False),
}

# Until Spark 4.1 times are in UTC anyhow, and there is no such argument.
_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}


def spark_schema(structure: type) -> StructType:
    """The schema of a declared structure, its meanings as column comments."""
    return StructType(
        [
            StructField(field.name, _spark_type(field.wire), field.nullable, {"comment": field.meaning})
            for field in fields(structure)
        ]
    )


def _spark_type(wire: Wire) -> DataType:
    return _SPARK_TYPES[wire.ddl] if wire.structure is None else spark_schema(wire.structure)


@functools.cache
def arrow_schema(structure: type) -> pa.Schema:
    """The Arrow schema that a Python data source of this structure has to yield, to the letter."""
    return to_arrow_schema(spark_schema(structure), **_IN_UTC)
