"""Rows of `txnlog_dump_files` without Spark, each checked to account for every byte of its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.writer import segment
from txnlog.schema import arrow_schema
from txnlog.sources.files import dump_file_rows
from txnlog.sources.inventory import DumpFile, inventory
from txnlog.sources.rows import DumpFileRow

Row = dict[str, Any]
BYTES = ("bytes_parsed", "bytes_tail", "bytes_damaged", "bytes_skipped")


def rows(files: list[DumpFile]) -> list[Row]:
    found = list(dump_file_rows(files))
    assert all(each.schema == arrow_schema(DumpFileRow) for each in found)
    read = [row for each in found for row in each.to_pylist()]
    for row in read:
        assert sum(values(row, *BYTES)) == row["size_in_bytes"]
    return read


def row_of(root: Path, content: bytes, partition: str = "orders-0", base_offset: int = 0) -> Row:
    segment(root, partition, content, base_offset)
    (row,) = rows(list(inventory(root).files))
    return row


def values(row: Row, *names: str) -> list[Any]:
    return [row[name] for name in names]
