"""Each file of a dump as one row of `DumpFileRow`, and the rows of its small files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from txnlog.dump.inventory import METADATA_TOPIC, DumpFile, FileKind
from txnlog.dump.listing import unreadable
from txnlog.dump.opener import opened_segment, small_content
from txnlog.errors import FormatError, StoreError
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.format.checkpoint import leader_epochs, offset_checkpoints, properties
from txnlog.format.control_batches import Controls
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.format.scan import Run
from txnlog.format.snapshot import NO_TRANSACTION, SnapshotHeader, snapshot_entries
from txnlog.format.structure import fields, native, packed
from txnlog.format.transaction_index import aborted_transactions
from txnlog.sources.arrow import place_of, record_batch, record_batches
from txnlog.sources.rows import AbortedTransactionRow, CheckpointRow, DumpFileRow, ProducerSnapshotRow
from txnlog.sources.summary import SegmentSummary, summed_up
from txnlog.sources.text import printed_files
from txnlog.sources.text_batches import TextBatches
from txnlog.sources.text_pieces import Piece, put_together
from txnlog.sources.text_summary import piece_of_text
from txnlog.times import EARLIEST_MS, LATEST_MS

# Topics whose every batch is written by a broker (coordinators), so that its time is a broker's.
WRITTEN_BY_BROKERS = frozenset({TRANSACTION_STATE, "__consumer_offsets"})
# These are read whole. A million producers of one partition make a snapshot of 46 MB, and a broker with a hundred
# thousand partitions of long names checkpoints of 25 MB, which as text take ten times as much memory.
LARGEST_OF_ENTRIES = 256 << 20
LARGEST_TEXT = 32 << 20
CUT_BY_HEADING = "the section after it begins in the middle of a log, perhaps of this one"
BEHIND_OTHERS = (
    "other topics' logs were printed into the same file before it: print coordinators into a file of their own"
)

_NAMES = tuple(field.name for field in fields(DumpFileRow))
_NULLS: dict[str, Any] = dict.fromkeys(_NAMES)


def dump_file_rows(files: list[DumpFile]) -> Iterator[pa.RecordBatch]:
    """Rows of `DumpFileRow`, whatever happens to a file."""
    rows = (row for file in files for row in file_rows(file, lambda printed, found: None))
    yield from record_batches(DumpFileRow, (tuple(row[name] for name in _NAMES) for row in rows))


def file_rows(file: DumpFile, also_printed: Callable[[DumpFile, TextBatches], None]) -> Iterator[dict[str, Any]]:
    """One row of `DumpFileRow`, or of a text one for each file that was printed.

    `also_printed` is shown the batches of each segment in a text.
    """
    if file.kind is FileKind.SEGMENT and not file.skipped:
        reading = SegmentReading(file)
        for _ in reading.runs():
            pass
        yield reading.row
        return
    if file.kind is not FileKind.DUMP_TEXT or file.skipped:
        yield _known(file) | _read(file)
        return
    yield from text_rows(text_pieces(file, also_printed))


PieceOfText = tuple[dict[str, Any], Piece]


def text_pieces(file: DumpFile, also_printed: Callable[[DumpFile, TextBatches], None]) -> Iterator[PieceOfText]:
    """What a text, or a part of one, says of each file that was printed, with what is known of that without reading."""
    count = itertools.count()
    is_continued = file.part.is_continued
    try:
        for printed, section in printed_files(file):
            piece = Piece(file.file, file.part.start, next(count), is_continued)
            is_continued = False
            written_by_brokers = printed.topic in WRITTEN_BY_BROKERS
            piece_of_text(printed, section, piece, written_by_brokers, partial(also_printed, printed))
            yield _known(printed), piece
    except (OSError, StoreError) as error:
        yield _known(file), Piece(file.file, file.part.start, next(count), failure=unreadable(error), size=file.size)


def text_rows(pieces: Iterable[PieceOfText]) -> list[dict[str, Any]]:
    """The rows of `DumpFileRow` of one text, by all its pieces in their order."""
    printed: list[tuple[dict[str, Any], list[Piece]]] = []
    failed: list[PieceOfText] = []
    for known, piece in pieces:
        if piece.failure is not None:
            failed.append((known, piece))
        elif piece.is_continued and printed and printed[-1][0]["file"] == known["file"]:
            printed[-1][1].append(piece)
        else:
            printed.append((known, [piece]))
    rows: list[dict[str, Any]] = []
    follows_others = False
    for known, of_one in printed:
        read, is_out_of_place = put_together(known, of_one)
        if known["topic"] == TRANSACTION_STATE and follows_others:
            # Who may write to a topic may forge the lines of another, and those of coordinators cost the most.
            read |= {"problem": BEHIND_OTHERS, "damaged_to": NOTHING_FOLLOWS}
        follows_others |= known["topic"] != TRANSACTION_STATE and known["kind"] == FileKind.SEGMENT.value
        if is_out_of_place:
            # A heading that was forged within a log hides the rest of it: of which one, nobody can say.
            rows = [row | {"problem": CUT_BY_HEADING, "damaged_to": NOTHING_FOLLOWS} for row in rows]
        rows.append(known | read)
    if failed:
        known, size = failed[0][0], sum(piece.size for _, piece in failed)
        hidden = NOTHING_FOLLOWS if known["topic"] else None
        lost = {"size_in_bytes": size, "bytes_damaged": size, "damaged_to": hidden, "problem": failed[0][1].failure}
        rows.append(known | lost)
    return rows


def rows_of_pieces(pieces: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of `DumpFileRow` of long texts, by rows of `EvidenceRow` that have pieces of them."""
    found = [({name: row[name] for name in _NAMES}, Piece.from_json(row["piece"])) for row in pieces]
    found.sort(key=lambda each: each[1].place)
    return [row for _, of_text in itertools.groupby(found, lambda each: each[1].text) for row in text_rows(of_text)]


class SegmentReading:
    """A segment that is read from its start to its end; then `row` is its row of `DumpFileRow`.

    A segment that cannot be read is damaged. `is_needed`: an object store that does not give it raises StoreError.
    """

    def __init__(self, file: DumpFile, *, is_needed: bool = False) -> None:
        self._file = file
        self._is_needed = is_needed
        self.row: dict[str, Any] = {}

    def runs(self) -> Iterator[tuple[Run, Controls]]:
        """Each run of valid batches and what its control batches hold."""
        file, summary = self._file, SegmentSummary()
        try:
            with opened_segment(file.path) as segment:
                yield from summed_up(summary, segment, file.base_offset or 0, file.topic in WRITTEN_BY_BROKERS)
                read = summary.columns() | {"size_in_bytes": segment.size}
        except (OSError, StoreError) as error:
            if self._is_needed and isinstance(error, StoreError):
                raise
            read = _damaged(file, unreadable(error))
        self.row = _known(file) | read


def unread_row(file: DumpFile, why: str) -> dict[str, Any]:
    """The row of a file that nobody needs to read."""
    return _known(file) | {"bytes_skipped": file.size, "problem": why}


def _known(file: DumpFile) -> dict[str, Any]:
    """The columns that are known without reading; the others are null."""
    listed = {
        "kind": file.kind.value,
        "size_in_bytes": file.size,
        "modified": _instant(file.modified_ms),
        "complete_at": None if file.complete_ms is None else _instant(file.complete_ms),
        "base_offset": file.base_offset,
        "bytes_parsed": 0,
        "bytes_tail": 0,
        "bytes_damaged": 0,
        "bytes_skipped": 0,
        "is_text": file.is_text,
    }
    return _NULLS | place_of(file, DumpFileRow) | listed


def _instant(ms: int) -> datetime:
    return datetime.fromtimestamp(min(max(ms, EARLIEST_MS), LATEST_MS) / 1000, UTC)


def _read(file: DumpFile) -> dict[str, Any]:
    if file.skipped:
        # A folder that cannot be opened, or a link, hides a log; what lies in it is unknown up to any offset.
        hidden = file.kind is FileKind.SEGMENT and file.topic not in (None, METADATA_TOPIC)
        return {
            "bytes_skipped": file.size,
            "problem": file.skipped,
            "damaged_to": NOTHING_FOLLOWS if hidden else None,
        }
    try:
        return _small_file(file)
    except (OSError, StoreError) as error:
        return _damaged(file, unreadable(error))


def _damaged(file: DumpFile, problem: str) -> dict[str, Any]:
    lost = NOTHING_FOLLOWS if file.kind is FileKind.SEGMENT else None
    return {"bytes_damaged": file.size, "problem": problem, "damaged_to": lost}


def _small_file(file: DumpFile) -> dict[str, Any]:
    try:
        content = _content(file)
        columns = _PARSERS[file.kind](content)
    except UnicodeDecodeError as error:
        return _damaged(file, f"byte {error.start}: not UTF-8")
    except FormatError as error:
        return _damaged(file, str(error))
    return {"bytes_parsed": len(content), "size_in_bytes": len(content)} | columns


def _content(file: DumpFile) -> bytes:
    of_entries = file.kind in (FileKind.PRODUCER_SNAPSHOT, FileKind.TRANSACTION_INDEX)
    return small_content(file.path, LARGEST_OF_ENTRIES if of_entries else LARGEST_TEXT)


def _epochs(content: bytes) -> dict[str, Any]:
    """The last epoch, and where the first and the last one start."""
    found = leader_epochs(content.decode())
    if not found:
        return {"batches": 0}
    return {
        "batches": len(found),
        "first_offset": found[0].start_offset,
        "last_offset": found[-1].start_offset,
        "partition_leader_epoch": found[-1].epoch,
    }


_PARSERS: dict[FileKind, Callable[[bytes], dict[str, Any]]] = {
    FileKind.PRODUCER_SNAPSHOT: lambda content: {"batches": len(snapshot_entries(content))},
    FileKind.TRANSACTION_INDEX: lambda content: {"batches": len(aborted_transactions(content))},
    FileKind.LEADER_EPOCH_CHECKPOINT: _epochs,
    FileKind.OFFSET_CHECKPOINT: lambda content: {"batches": len(offset_checkpoints(content.decode()))},
    FileKind.PARTITION_METADATA: lambda content: {
        "batches": 1,
        "topic_id": properties(content.decode()).get("topic_id"),
    },
    FileKind.META_PROPERTIES: lambda content: {"batches": len(properties(content.decode()))},
    FileKind.MANIFEST: lambda content: {"batches": 1},
    FileKind.LISTING: lambda content: {"batches": content.count(b"\t") // 2},
}


def entries_of_snapshot(file: DumpFile) -> npt.NDArray[np.void] | None:
    """The entries of a producer snapshot; None if it is damaged, which its `DumpFileRow` says."""
    try:
        return snapshot_entries(_content(file))
    except (FormatError, OSError):
        return None


def producer_snapshot_rows(file: DumpFile) -> Iterator[pa.RecordBatch]:
    """Rows of `ProducerSnapshotRow`; none for a snapshot that is damaged, which its `DumpFileRow` says."""
    entries = entries_of_snapshot(file)
    if entries is None:
        return
    if len(entries):
        columns = _native(entries)
        first = columns["current_txn_first_offset"]
        yield record_batch(
            ProducerSnapshotRow,
            place_of(file, ProducerSnapshotRow) | {"snapshot_offset": file.base_offset},
            columns
            | {
                "position": packed(SnapshotHeader).size + np.arange(len(entries)) * entries.itemsize,
                "current_txn_first_offset": pa.array(first, mask=first == NO_TRANSACTION),
            },
        )


def aborted_transaction_rows(file: DumpFile) -> Iterator[pa.RecordBatch]:
    """Rows of `AbortedTransactionRow`; none for an index that is damaged, which its `DumpFileRow` says."""
    try:
        entries = aborted_transactions(_content(file))
    except (FormatError, OSError):
        return
    if len(entries):
        columns = _native(entries)
        columns["position"] = np.arange(len(entries)) * entries.itemsize
        yield record_batch(AbortedTransactionRow, place_of(file, AbortedTransactionRow), columns)


def checkpoint_rows(file: DumpFile) -> Iterator[pa.RecordBatch]:
    """Rows of `CheckpointRow`; none for a checkpoint that is damaged, which its `DumpFileRow` says."""
    try:
        lines = offset_checkpoints(_content(file).decode())
    except (FormatError, OSError, UnicodeDecodeError):
        return
    if lines:
        topic, partition, offset = zip(*lines, strict=True)
        name = file.file.rpartition("/")[2]
        place = {name: value for name, value in place_of(file, CheckpointRow).items() if name not in CHECKPOINT_COLUMNS}
        columns = {"topic": topic, "partition": partition, "checkpoint_offset": offset}
        yield record_batch(CheckpointRow, place | {"checkpoint": name}, columns)


CHECKPOINT_COLUMNS = frozenset({"topic", "partition", "checkpoint_offset"})


def _native(entries: npt.NDArray[np.void]) -> dict[str, npt.NDArray[Any]]:
    """Entries as columns in this machine's byte order, which Arrow asks for."""
    names = entries.dtype.names or ()
    return {name: native(entries[name]) for name in names}
