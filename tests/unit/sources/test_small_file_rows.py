"""Rows of snapshots, transaction indexes and checkpoints, and what is said of those that are damaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests import golden
from tests.file_rows import rows, values
from tests.writer import checkpoint, put
from txnlog.dump.dump_file import DumpFile
from txnlog.dump.inventory import inventory
from txnlog.sources.rows import CheckpointRow
from txnlog.sources.small_files import entry_rows
from txnlog.spark.schema import arrow_schema

CONTENTS = {
    "orders-0/00000000000000000006.snapshot": golden.SNAPSHOT,
    "orders-0/00000000000000000000.txnindex": golden.TRANSACTION_INDEX,
    "orders-0/leader-epoch-checkpoint": checkpoint([(0, 0), (3, 17)]).encode(),
    "replication-offset-checkpoint": checkpoint([("orders", 0, 6), ("a.b_c-d", 12, 7)]).encode(),
}


@pytest.mark.parametrize(("name", "entries"), [*zip(CONTENTS, [1, 5, 2, 2], strict=True)])
def test_a_small_file_is_parsed_and_its_entries_counted(tmp_path: Path, name: str, entries: int) -> None:
    put(tmp_path / name, CONTENTS[name])
    (row,) = rows(list(inventory(tmp_path).files))
    assert values(row, "batches", "bytes_parsed", "problem") == [entries, len(CONTENTS[name]), None]


DAMAGE = [
    pytest.param(golden.SNAPSHOT[:-1] + b"x", entry_rows, "00000000000000000006.snapshot", id="snapshot"),
    pytest.param(golden.TRANSACTION_INDEX + b"x", entry_rows, "00000000000000000000.txnindex", id="index"),
    pytest.param(b"0\n2\na 0 5\n", entry_rows, "replication-offset-checkpoint", id="checkpoint cut off"),
    pytest.param(b"0\n1\n\xff 0 5\n", entry_rows, "replication-offset-checkpoint", id="checkpoint not UTF-8"),
]


@pytest.mark.parametrize(("content", "read", "name"), DAMAGE)
def test_a_small_file_that_is_damaged_says_so_and_gives_no_rows(
    tmp_path: Path, content: bytes, read: Callable[[DumpFile], Iterator[pa.RecordBatch]], name: str
) -> None:
    path = put(tmp_path / "orders-0" / name, content)
    put(path.parent / "partition.metadata")
    (file,) = (each for each in inventory(tmp_path).files if each.file.endswith(name))
    (row,) = rows([file])
    assert values(row, "bytes_damaged", "batches") == [len(content), None]
    assert row["problem"].startswith(("byte ", "line "))
    assert list(read(file)) == []
    path.unlink()
    assert list(read(file)) == []


def test_a_topic_id_is_read_from_partition_metadata(tmp_path: Path) -> None:
    put(tmp_path / "orders-0" / "partition.metadata", "version: 0\ntopic_id: Ad8Nv_-ZQBqv3FLxmHXmAA\n")
    (row,) = rows(list(inventory(tmp_path).files))
    assert row["topic_id"] == "Ad8Nv_-ZQBqv3FLxmHXmAA"


def only(root: Path, name: str) -> DumpFile:
    put(root / name, CONTENTS[name])
    (file,) = inventory(root).files
    return file


def test_entries_of_a_snapshot_are_rows(tmp_path: Path) -> None:
    """Item 24: it holds the state before the offset in its name."""
    (found,) = entry_rows(only(tmp_path, "orders-0/00000000000000000006.snapshot"))
    (row,) = found.to_pylist()
    assert values(row, "snapshot_offset", "position", "producer_id", "producer_epoch") == [6, 10, 2007, 3]
    assert values(row, "last_sequence", "last_offset", "offset_delta") == [9, 5, 0]
    assert values(row, "timestamp", "coordinator_epoch", "current_txn_first_offset") == [1795254903595, 6, 3]


def test_entries_of_a_transaction_index_are_rows(tmp_path: Path) -> None:
    (found,) = entry_rows(only(tmp_path, "orders-0/00000000000000000000.txnindex"))
    row = found.to_pylist()[4]
    names = ("position", "producer_id", "first_offset", "last_offset", "last_stable_offset")
    assert values(row, *names) == [136, 1004, 65, 69, 70]


def test_lines_of_an_offset_checkpoint_are_rows(tmp_path: Path) -> None:
    (found,) = entry_rows(only(tmp_path, "replication-offset-checkpoint"))
    assert found.schema == arrow_schema(CheckpointRow)
    assert [values(row, "checkpoint", "topic", "partition", "checkpoint_offset") for row in found.to_pylist()] == [
        ["replication-offset-checkpoint", "orders", 0, 6],
        ["replication-offset-checkpoint", "a.b_c-d", 12, 7],
    ]
