"""Each file of a dump as one row of `DumpFileRow`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.dump.listing import unreadable
from txnlog.dump.opener import opened_segment
from txnlog.errors import StoreError
from txnlog.format.control_batches import Controls
from txnlog.format.scan import Run
from txnlog.sources.arrow import record_batches
from txnlog.sources.listed import NAMES, WRITTEN_BY_BROKERS, damaged, listed_row, skipped_row
from txnlog.sources.rows import DumpFileRow
from txnlog.sources.small_files import small_file
from txnlog.sources.summary import SegmentSummary, summed_up
from txnlog.sources.text_files import TextReading, text_rows


def dump_file_rows(files: list[DumpFile]) -> Iterator[pa.RecordBatch]:
    """Rows of `DumpFileRow`, whatever happens to a file."""
    rows = (row for file in files for row in _file_rows(file))
    yield from record_batches(DumpFileRow, (tuple(row[name] for name in NAMES) for row in rows))


def _file_rows(file: DumpFile) -> list[dict[str, Any]]:
    """One row, or of a text one for each file that was printed."""
    if file.skipped:
        return [skipped_row(file)]
    if file.kind is FileKind.SEGMENT:
        segment = SegmentReading(file)
        for _ in segment.runs():
            pass
        return [segment.row]
    if file.kind is FileKind.DUMP_TEXT:
        text = TextReading(file)
        for _ in text.found():
            pass
        return text_rows(text.pieces)
    try:
        return [listed_row(file) | small_file(file).columns]
    except StoreError as error:
        return [listed_row(file) | damaged(file, unreadable(error))]


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
            read = damaged(file, unreadable(error))
        self.row = listed_row(file) | read
