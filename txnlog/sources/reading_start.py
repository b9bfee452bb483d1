"""From where on a log is read: from its newest valid producer snapshot, as a broker that starts reads it.

What is open in that snapshot started before it, and is read from there (`ProducerStateManager.truncateAndReload`).
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from txnlog.dump.dump_file import DumpFile
from txnlog.sources.file_groups import LogFiles, base_of
from txnlog.sources.small_files import small_file


class OpenIn:
    """Where the transactions start that are open in producer snapshots; each is parsed once."""

    def __init__(self) -> None:
        self._found: dict[str, list[int] | None] = {}

    def add(self, file: DumpFile, entries: pa.RecordBatch | None) -> None:
        """Add a snapshot that has been read; it has no entries where it is damaged."""
        self._found[file.file] = None if entries is None else _starts(entries)

    def of(self, file: DumpFile) -> list[int] | None:
        """Those of a snapshot; None if it is damaged, which its `DumpFileRow` says."""
        if file.file not in self._found:
            self.add(file, small_file(file).entries)
        return self._found[file.file]


def _starts(entries: pa.RecordBatch) -> list[int]:
    starts: list[int] = entries["current_txn_first_offset"].drop_null().to_pylist()
    return starts


@dataclass(frozen=True, slots=True)
class ReadingStart:
    """Where the reading of a log starts, by which snapshot, and what is open in the log's snapshots."""

    offset: int
    snapshot: int | None
    named_offsets: tuple[int, ...]

    @classmethod
    def of(cls, group: LogFiles, segments: list[DumpFile], open_in: OpenIn) -> ReadingStart:
        """That of some segments of a log; offset 0 where all of them are to be read."""
        opened = _open_in_newest(group, open_in)
        log_start = set() if group.log_start is None else {group.log_start}
        named_offsets = tuple(sorted(log_start.union(*opened.values())))
        usable = min(opened, default=None)
        if not group.from_snapshot or usable is None or not base_of(segments[0]) <= usable <= group.newest_segment:
            return cls(0, None, named_offsets)
        return cls(min([usable, *(start for starts in opened.values() for start in starts)]), usable, named_offsets)


def _open_in_newest(group: LogFiles, open_in: OpenIn) -> dict[int, list[int]]:
    """Where the transactions start that are open in the newest valid snapshots, by their offset.

    A snapshot after the start of the newest segment may be of a longer log than this: the next older one counts, too.
    """
    opened: dict[int, list[int]] = {}
    for file in sorted(group.snapshots, key=base_of, reverse=True):
        starts = open_in.of(file)
        if starts is not None:
            opened[base_of(file)] = starts
            if base_of(file) <= group.newest_segment:
                break
    return opened
