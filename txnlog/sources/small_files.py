"""Small files of a dump, each parsed once: its columns of `DumpFileRow`, and its entries as rows of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.dump.listing import unreadable
from txnlog.dump.opener import small_content
from txnlog.errors import FormatError, StoreError
from txnlog.format.checkpoint import leader_epochs, offset_checkpoints, properties
from txnlog.format.snapshot import NO_TRANSACTION, SnapshotHeader, snapshot_entries
from txnlog.format.structure import native, packed
from txnlog.format.transaction_index import aborted_transactions
from txnlog.sources.arrow import place_of, record_batch
from txnlog.sources.listed import damaged
from txnlog.sources.rows import AbortedTransactionRow, CheckpointRow, ProducerSnapshotRow

# These are read whole. A million producers of one partition make a snapshot of 46 MB, and a broker with a hundred
# thousand partitions of long names checkpoints of 25 MB, which as text take ten times as much memory.
LARGEST_OF_ENTRIES = 256 << 20
LARGEST_TEXT = 32 << 20
# The kinds whose entries are rows of their own.
ENTRY_ROWS: dict[FileKind, type] = {
    FileKind.PRODUCER_SNAPSHOT: ProducerSnapshotRow,
    FileKind.TRANSACTION_INDEX: AbortedTransactionRow,
    FileKind.OFFSET_CHECKPOINT: CheckpointRow,
}


class SmallFile(NamedTuple):
    """What reading a file tells: columns of `DumpFileRow`; its entries if it is whole and of a kind that has them."""

    columns: dict[str, Any]
    entries: pa.RecordBatch | None = None


def small_file(file: DumpFile) -> SmallFile:
    """Read a small file. One that is damaged says so; `StoreError` if a store does not give entries that are needed."""
    try:
        content = small_content(file.path, LARGEST_OF_ENTRIES if file.kind in _OF_ENTRIES else LARGEST_TEXT)
        found = _PARSERS[file.kind](file, content)
    except UnicodeDecodeError as error:
        return SmallFile(damaged(file, f"byte {error.start}: not UTF-8"))
    except FormatError as error:
        return SmallFile(damaged(file, str(error)))
    except (OSError, StoreError) as error:
        if isinstance(error, StoreError) and file.kind in ENTRY_ROWS:
            raise
        return SmallFile(damaged(file, unreadable(error)))
    size = {"bytes_parsed": len(content), "size_in_bytes": len(content)}
    return found._replace(columns=size | found.columns)


def entry_rows(file: DumpFile) -> Iterator[pa.RecordBatch]:
    """The entries of a file as rows (`ENTRY_ROWS`); none where it is damaged, which its `DumpFileRow` says."""
    entries = small_file(file).entries
    if entries is not None and entries.num_rows:
        yield entries


_OF_ENTRIES = frozenset({FileKind.PRODUCER_SNAPSHOT, FileKind.TRANSACTION_INDEX})


def _snapshot(file: DumpFile, content: bytes) -> SmallFile:
    found = snapshot_entries(content)
    columns, first = _native(found), native(found["current_txn_first_offset"])
    columns |= {
        "position": packed(SnapshotHeader).size + np.arange(len(found)) * found.itemsize,
        "current_txn_first_offset": pa.array(first, mask=first == NO_TRANSACTION),
    }
    place = place_of(file, ProducerSnapshotRow) | {"snapshot_offset": file.base_offset}
    return SmallFile({"batches": len(found)}, record_batch(ProducerSnapshotRow, place, columns))


def _transaction_index(file: DumpFile, content: bytes) -> SmallFile:
    found = aborted_transactions(content)
    columns = _native(found) | {"position": np.arange(len(found)) * found.itemsize}
    entries = record_batch(AbortedTransactionRow, place_of(file, AbortedTransactionRow), columns)
    return SmallFile({"batches": len(found)}, entries)


def _native(entries: npt.NDArray[np.void]) -> dict[str, Any]:
    """Entries as columns in this machine's byte order, which Arrow asks for."""
    return {name: native(entries[name]) for name in entries.dtype.names or ()}


def _offset_checkpoint(file: DumpFile, content: bytes) -> SmallFile:
    lines = offset_checkpoints(content.decode())
    names = ("topic", "partition", "checkpoint_offset")
    columns = dict(zip(names, zip(*lines, strict=True) if lines else ((), (), ()), strict=True))
    place = {name: value for name, value in place_of(file, CheckpointRow).items() if name not in names}
    place["checkpoint"] = file.file.rpartition("/")[2]
    return SmallFile({"batches": len(lines)}, record_batch(CheckpointRow, place, columns))


def _leader_epochs(file: DumpFile, content: bytes) -> SmallFile:
    """The last epoch, and where the first and the last one start."""
    found = leader_epochs(content.decode())
    if not found:
        return SmallFile({"batches": 0})
    return SmallFile(
        {
            "batches": len(found),
            "first_offset": found[0].start_offset,
            "last_offset": found[-1].start_offset,
            "partition_leader_epoch": found[-1].epoch,
        }
    )


def _partition_metadata(file: DumpFile, content: bytes) -> SmallFile:
    return SmallFile({"batches": 1, "topic_id": properties(content.decode()).get("topic_id")})


_PARSERS: dict[FileKind, Callable[[DumpFile, bytes], SmallFile]] = {
    FileKind.PRODUCER_SNAPSHOT: _snapshot,
    FileKind.TRANSACTION_INDEX: _transaction_index,
    FileKind.OFFSET_CHECKPOINT: _offset_checkpoint,
    FileKind.LEADER_EPOCH_CHECKPOINT: _leader_epochs,
    FileKind.PARTITION_METADATA: _partition_metadata,
    FileKind.META_PROPERTIES: lambda file, content: SmallFile({"batches": len(properties(content.decode()))}),
    FileKind.MANIFEST: lambda file, content: SmallFile({"batches": 1}),
    FileKind.LISTING: lambda file, content: SmallFile({"batches": content.count(b"\t") // 2}),
}
