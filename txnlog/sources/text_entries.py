"""Entries of producer snapshots and transaction indexes that `kafka-dump-log.sh` printed, as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.dump.text_stream import Section
from txnlog.dump_log import dump_text
from txnlog.dump_log.entry_columns import aborted_columns, snapshot_columns
from txnlog.dump_log.line_layouts import Labelled, Lines
from txnlog.errors import FormatError
from txnlog.format.snapshot import ProducerSnapshotEntry, SnapshotHeader
from txnlog.format.structure import packed
from txnlog.format.transaction_index import AbortedTransaction
from txnlog.sources.arrow import place_of, record_batch
from txnlog.sources.rows import AbortedTransactionRow, ProducerSnapshotRow
from txnlog.sources.text import printed_files

OUT_OF_PLACE = "lines of a log whose heading is missing or forged"


class OutOfPlaceError(FormatError):
    """Lines of a log stand where those of another file should."""


def entries(section: Section, start: bytes) -> Iterator[Labelled]:
    """The entries of a producer snapshot or a transaction index. `FormatError` for lines that look like one."""
    for piece in section:
        lines = Lines(piece)
        if is_of_a_log(lines):
            raise OutOfPlaceError(OUT_OF_PLACE)
        wanted = np.flatnonzero(lines.start_with(start))
        found = list(lines.labelled(wanted))
        if sum(len(group.rows) for group in found) != len(wanted):
            raise FormatError("a line is not that of an entry")
        yield from found
    if section.problem:
        raise FormatError(section.problem)


def is_of_a_log(lines: Lines) -> bool:
    """Whether some of the lines are those of batches or records."""
    if any(bool(lines.start_with(mark).any()) for mark in (dump_text.BATCH, dump_text.RECORD)):
        return True
    return bool(lines.start_with(dump_text.MESSAGE).any()) and dump_text.has_messages(lines.content)


def text_snapshots(file: DumpFile, is_wanted: Callable[[DumpFile], bool]) -> Iterator[pa.RecordBatch]:
    """Rows of `ProducerSnapshotRow`; none for a snapshot that is damaged, which its `DumpFileRow` says."""
    yield from _of_entries(file, FileKind.PRODUCER_SNAPSHOT, is_wanted)


def text_aborted(file: DumpFile, is_wanted: Callable[[DumpFile], bool]) -> Iterator[pa.RecordBatch]:
    """Rows of `AbortedTransactionRow`; none for an index that is damaged, which its `DumpFileRow` says."""
    yield from _of_entries(file, FileKind.TRANSACTION_INDEX, is_wanted)


def _of_entries(file: DumpFile, kind: FileKind, is_wanted: Callable[[DumpFile], bool]) -> Iterator[pa.RecordBatch]:
    for printed, section in printed_files(file):
        if printed.kind is kind and printed.base_offset is not None and is_wanted(printed):
            try:
                yield from [*entry_batches(printed, section)]
            except FormatError:
                continue


def entry_batches(printed: DumpFile, section: Section) -> Iterator[pa.RecordBatch]:
    """The entries of a printed producer snapshot or transaction index as rows. `FormatError` if it is not whole."""
    is_snapshot = printed.kind is FileKind.PRODUCER_SNAPSHOT
    structure = ProducerSnapshotRow if is_snapshot else AbortedTransactionRow
    place = place_of(printed, structure) | ({"snapshot_offset": printed.base_offset} if is_snapshot else {})
    size = packed(ProducerSnapshotEntry if is_snapshot else AbortedTransaction).size
    before, first = 0, packed(SnapshotHeader).size if is_snapshot else 0
    for group in entries(section, dump_text.ENTRY if is_snapshot else dump_text.ABORTED):
        columns = snapshot_columns(group) if is_snapshot else aborted_columns(group)
        columns["position"] = first + (before + np.arange(len(group.rows))) * size
        before += len(group.rows)
        try:
            yield record_batch(structure, place, columns)
        except (pa.ArrowInvalid, OverflowError) as error:
            raise FormatError(f"a number of an entry is too large: {error}") from error
