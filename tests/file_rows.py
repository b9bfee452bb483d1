"""Rows of data sources without Spark; those of `txnlog_dump_files` are checked to account for every byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.writer import segment
from txnlog.dump import text_splits
from txnlog.dump.dump_file import DumpFile
from txnlog.dump.inventory import inventory
from txnlog.sources.data_sources import EvidenceSource
from txnlog.sources.dump_source import DumpSource, Task
from txnlog.sources.evidence_rows import FILE, PIECES
from txnlog.sources.files import dump_file_rows
from txnlog.sources.rows import DumpFileRow
from txnlog.sources.text_files import rows_of_pieces
from txnlog.spark.schema import arrow_schema

Row = dict[str, Any]
BYTES = ("bytes_parsed", "bytes_tail", "bytes_damaged", "bytes_skipped")


def rows(files: list[DumpFile]) -> list[Row]:
    found = list(dump_file_rows(files))
    assert all(each.schema == arrow_schema(DumpFileRow) for each in found)
    read = [row for each in found for row in each.to_pylist()]
    for row in read:
        assert sum(values(row, *BYTES)) == row["size_in_bytes"]
    return read


def rows_below(source: type[DumpSource], root: Path | str, **options: str) -> list[Row]:
    """The rows that a data source reads of a dump, in the order of its files."""
    opened = source({"path": str(root), **options})
    # The tasks, as Spark would deal them out.
    tasks = opened.reader(opened.schema()).partitions()
    files = [file for task in tasks if isinstance(task, Task) for file in task.files]
    return [row for file in files for each in opened.rows([file]) for row in each.to_pylist()]


def rows_in_splits(root: Path, split: int, **options: str) -> list[Row]:
    """The rows of files of a dump, of which texts are read in splits of about so many bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_splits, "SPLIT_SIZE", split)
        found = rows_below(EvidenceSource, root, **options)
    names = arrow_schema(DumpFileRow).names
    whole = [{name: row[name] for name in names} for row in found if row["fact"] == FILE]
    return whole + rows_of_pieces(row for row in found if row["fact"] == PIECES)


def row_of(root: Path, content: bytes, partition: str = "orders-0", base_offset: int = 0) -> Row:
    segment(root, partition, content, base_offset)
    (row,) = rows(list(inventory(root).files))
    return row


def values(row: Row, *names: str) -> list[Any]:
    return [row[name] for name in names]
