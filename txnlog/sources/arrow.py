"""Columns to Arrow batches of a declared structure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import pyarrow as pa

from txnlog.dump.dump_file import DumpFile
from txnlog.spark.schema import arrow_schema

ROWS_PER_BATCH = 32_768


def place_of(file: DumpFile, structure: type) -> dict[str, Any]:
    """The columns that say where a row comes from, as far as the structure has them."""
    place = {
        "cluster": file.cluster,
        "broker": file.broker,
        "log_dir": file.log_dir,
        "topic": file.topic,
        "partition": file.partition,
        "coordinator_partition": file.partition,
        "file": file.file,
    }
    return {name: place[name] for name in arrow_schema(structure).names if name in place}


def record_batch(structure: type, constants: Mapping[str, Any], columns: Mapping[str, Any]) -> pa.RecordBatch:
    """One Arrow batch: `columns` are arrays of one length, `constants` the same value in every row."""
    schema = arrow_schema(structure)
    rows = len(next(iter(columns.values())))
    arrays = [
        pa.repeat(pa.scalar(constants[field.name], field.type), rows)
        if field.name in constants
        else _array(columns[field.name], field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def record_batches(structure: type, rows: Iterable[tuple[Any, ...]]) -> Iterator[pa.RecordBatch]:
    """Arrow batches of rows that are tuples in the structure's order; no more of them are kept than one batch has."""
    names, left = arrow_schema(structure).names, iter(rows)
    while some := list(islice(left, ROWS_PER_BATCH)):
        yield record_batch(structure, {}, dict(zip(names, zip(*some, strict=True), strict=True)))


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    return values.cast(kind) if isinstance(values, pa.Array) else pa.array(values, kind)
