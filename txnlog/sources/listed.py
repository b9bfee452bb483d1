"""What is known of a file of a dump before it is read, and of one that cannot be: columns of `DumpFileRow`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from txnlog.dump.dump_file import METADATA_TOPIC, DumpFile, FileKind
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.format.group_messages import CONSUMER_OFFSETS
from txnlog.format.structure import fields
from txnlog.sources.arrow import place_of
from txnlog.sources.rows import DumpFileRow
from txnlog.times import EARLIEST_MS, LATEST_MS

# Topics whose every batch is written by a broker (coordinators), so that its time is a broker's.
WRITTEN_BY_BROKERS = frozenset({TRANSACTION_STATE, CONSUMER_OFFSETS})
NAMES = tuple(field.name for field in fields(DumpFileRow))
_NULLS: dict[str, Any] = dict.fromkeys(NAMES)


def listed_row(file: DumpFile) -> dict[str, Any]:
    """The columns that are known without reading; the others are null."""
    listed = {
        "kind": file.kind.value,
        "size_in_bytes": file.size,
        "modified": _instant(file.modified_ms),
        "complete_at": None if file.complete_ms is None else _instant(file.complete_ms),
        "bytes_missing": file.bytes_missing,
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


def unread_row(file: DumpFile, why: str) -> dict[str, Any]:
    """The row of a file that need not be read."""
    return listed_row(file) | {"bytes_skipped": file.size, "problem": why}


def skipped_row(file: DumpFile) -> dict[str, Any]:
    """The row of a file that is not read as the listing says why."""
    # A folder that cannot be opened, or a link, hides a log; what lies in it is unknown up to any offset.
    hidden = file.kind is FileKind.SEGMENT and file.topic not in (None, METADATA_TOPIC)
    return unread_row(file, file.skipped or "") | {"damaged_to": NOTHING_FOLLOWS if hidden else None}


def damaged(file: DumpFile, problem: str) -> dict[str, Any]:
    """The columns of a file that cannot be read at all."""
    lost = NOTHING_FOLLOWS if file.kind is FileKind.SEGMENT else None
    return {"bytes_damaged": file.size, "problem": problem, "damaged_to": lost}
