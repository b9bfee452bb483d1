"""Which dumps get a Spark that is set up for few rows."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from random import Random

import cramjam
import pytest

from txnlog.dump.dump_file import Inventory
from txnlog.dump.inventory import inventory
from txnlog.job.few_rows import (
    FEW_BYTES,
    MANY_BYTES_IN_FULL,
    MOST_BYTES,
    MOST_FILES,
    has_many_transactions,
    is_few_rows,
)

SEGMENT = "00000000000000000000.log"


def sized(file: Path, size: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as empty:
        empty.truncate(size)


def dump_of(folder: Path, sizes: dict[str, int]) -> Inventory:
    for name, size in sizes.items():
        sized(folder / "broker-1" / name, size)
    return inventory(str(folder))


@pytest.mark.parametrize(
    ("sizes", "few_rows"),
    [
        ({f"orders-0/{SEGMENT}": MOST_BYTES}, True),
        ({f"orders-0/{SEGMENT}": MOST_BYTES + 1}, False),
        ({f"orders-0/{SEGMENT}": FEW_BYTES, f"__transaction_state-0/{SEGMENT}": FEW_BYTES}, True),
        ({f"__transaction_state-0/{SEGMENT}": FEW_BYTES + 1}, False),
        ({f"orders-{partition}/{SEGMENT}": FEW_BYTES for partition in range(3)}, True),
        ({f"orders-0/{offset:020}.snapshot": FEW_BYTES // 2 for offset in range(3)}, False),
        ({f"orders-0/{SEGMENT}": 9, "orders-0/00000000000000000000.index": FEW_BYTES}, True),
    ],
)
def test_what_reaches_spark_row_by_row_decides(tmp_path: Path, sizes: dict[str, int], few_rows: bool) -> None:
    assert is_few_rows(dump_of(tmp_path, sizes)) == few_rows


@pytest.mark.parametrize(("size", "has_many"), [(MANY_BYTES_IN_FULL - 1, False), (MANY_BYTES_IN_FULL, True)])
def test_in_full_each_transaction_is_a_row(tmp_path: Path, size: int, has_many: bool) -> None:
    dump = dump_of(tmp_path, {f"orders-0/{SEGMENT}": size})
    assert has_many_transactions(dump) == has_many
    assert is_few_rows(dump)


def test_many_files_are_many_rows(tmp_path: Path) -> None:
    dump = dump_of(tmp_path, {f"orders-0/{offset:020}.log": 0 for offset in range(MOST_FILES)})
    assert is_few_rows(dump)
    assert not is_few_rows(dump_of(tmp_path, {"orders-1/00000000000000000000.log": 0}))


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".zst", cramjam.zstd.compress)])
def test_a_compressed_text_may_be_many_times_as_long_as_its_file(
    tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    heading = b"Dumping /a/orders-0/00000000000000000000.log\nStarting offset: 0\n"
    file = tmp_path / "broker-1" / f"orders-0.txt{ending}"
    file.parent.mkdir()
    file.write_bytes(bytes(pack(heading)))
    assert is_few_rows(inventory(str(tmp_path)))
    file.write_bytes(bytes(pack(heading + Random(1).randbytes(FEW_BYTES // 16).hex().encode())))
    dump = inventory(str(tmp_path))
    assert file.stat().st_size < FEW_BYTES
    assert not is_few_rows(dump)
