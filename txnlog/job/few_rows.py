"""Which settings of a local Spark suit a dump: those for few rows or those for many."""

from __future__ import annotations

from collections.abc import Iterable

from txnlog.dump.dump_file import COORDINATOR_TOPICS, DumpFile, FileKind, Inventory

# Up to here to plan takes longer than to compute.
FEW_BYTES = 8 << 20
# Batches are summed up where they are read: many bytes of them are few rows, unless their producer ids are many.
MOST_BYTES, MOST_FILES = 8 << 30, 2_000
# With `--full` each transaction is a row. From here on compiled plans gain more than it takes to compile them, with
# 200-byte batches and seven a transaction.
MANY_BYTES_IN_FULL = 16 << 20
# What a compressed text may have more than its file.
COMPRESSED, EXPANSION = (".gz", ".zst"), 32
ROW_BY_ROW = frozenset({FileKind.PRODUCER_SNAPSHOT, FileKind.TRANSACTION_INDEX})


def is_few_rows(dump: Inventory) -> bool:
    """Whether Spark gets few rows of it: all but the sums over its batches are read in a moment."""
    rows = (file for file in dump.files if _is_row_by_row(file))
    return len(dump.files) <= MOST_FILES and _size(dump.files) <= MOST_BYTES and _size(rows) <= FEW_BYTES


def has_many_transactions(dump: Inventory) -> bool:
    """Whether its logs may have so many transactions that a row of each is worth a compiled plan."""
    return _size(dump.files) >= MANY_BYTES_IN_FULL


def _is_row_by_row(file: DumpFile) -> bool:
    return file.is_text or file.topic in COORDINATOR_TOPICS or file.kind in ROW_BY_ROW


def _size(files: Iterable[DumpFile]) -> int:
    return sum(file.size * (EXPANSION if file.file.endswith(COMPRESSED) else 1) for file in files)
