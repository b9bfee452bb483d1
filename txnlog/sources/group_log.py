"""What is left of a piece of a log of `__consumer_offsets`: the last record of each key, as coordinators load it.

A transaction's commits count from its COMMIT marker on. Of two commits of one key the one with the larger offset in the
log wins, wherever the markers are; a tombstone removes what counted before it, and nothing that counts later
(`GroupMetadataManager.doLoadGroupsAndOffsets`, `OffsetMetadataManager.replay`). So pieces can be read beside one
another: the end of a transaction that another piece has is looked up when the pieces are put together.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from txnlog.dump.dump_file import DumpFile
from txnlog.errors import FormatError
from txnlog.format import batch as wire
from txnlog.format.batch import HEADER_SIZE, LENGTH_END
from txnlog.format.compression import decompressed
from txnlog.format.control_batches import Controls
from txnlog.format.group_records import type_of_key, unknown
from txnlog.format.keyed_records import KeyedRecords, keyed_records
from txnlog.format.record import records
from txnlog.format.scan import Run
from txnlog.sources.arrow import place_of, record_batches
from txnlog.sources.group_events import Event, Kept, events_of, kept_of, markers_of
from txnlog.sources.group_rows import COMMITTED, FINAL, MARKER, NULLS, PENDING, WANTED, GroupRecordRow, row_of

# Bytes of keys and values that are kept before they are handed on as rows.
BYTES_KEPT = 4 << 20
UNREADABLE = "records that cannot be read"


class GroupLog:
    """Runs of segments that follow one another, reduced to what they leave; `batches` hands that on."""

    def __init__(self) -> None:
        self._not_decoded: Counter[tuple[str, str]] = Counter()
        self._clear()

    def _clear(self) -> None:
        self._final: dict[bytes, Kept] = {}
        self._committed: dict[bytes, tuple[Kept, int, int]] = {}
        self._pending: dict[int, dict[bytes, Kept]] = {}
        self._markers: dict[int, tuple[Kept, bool]] = {}
        self._size = 0

    @property
    def is_full(self) -> bool:
        """Whether there is enough to hand on."""
        return self._size >= BYTES_KEPT

    def problem(self, file: DumpFile) -> str | None:
        """The records of a file that were not decoded, by what they are; complete after `batches`."""
        found = [f"{count} {what}" for (name, what), count in sorted(self._not_decoded.items()) if name == file.file]
        return f"not decoded: {', '.join(found)}" if found else None

    def add(self, file: DumpFile, run: Run, control: Controls, first: int = 0, last: int | None = None) -> None:
        """Add the batches from `first` up to `last` of a run, and what the control batches of the run hold."""
        headers, end = run.headers, len(run.headers) if last is None else last
        found = keyed_records(run, first + np.flatnonzero(~headers.is_control[first:last]))
        types = _int16_at(found, found.key_at)
        self._count(file, found, types)
        found = found.chosen(np.isin(types, WANTED))
        of_transactions = (headers["attributes"] & wire.TRANSACTIONAL != 0) & (headers["producer_id"] >= 0)
        is_pending = of_transactions[found.batches]
        final = found.chosen(~is_pending)
        for _, key, kept in kept_of(file, run, final, final.last_of_keys()):
            self._finish(key, kept)
        pending = found.chosen(is_pending)
        events = [*events_of(run, kept_of(file, run, pending, np.arange(len(pending.offsets))))]
        for index in found.left.tolist():
            one_by_one = list(self._one_by_one(file, run, index))
            if of_transactions[index]:
                events.append(Event(index, int(headers["producer_id"][index]), one_by_one))
            else:
                for key, kept in one_by_one:
                    self._finish(key, kept)
        events.sort(key=lambda each: each.batch)
        markers = markers_of(file, run, control, first, end)
        for event in heapq.merge(events, markers, key=lambda each: each.batch):
            self._follow(event)

    def _finish(self, key: bytes, kept: Kept) -> None:
        before = self._final.get(key)
        if before is not None and before.offset > kept.offset:
            return
        self._final[key] = kept
        self._size += len(key) + len(kept.value or b"")
        committed = self._committed.get(key)
        if committed is not None and not _counts(committed, kept):
            del self._committed[key]

    def _follow(self, event: Event) -> None:
        """Add the records of a transaction, or end it."""
        if event.at is None:
            pending = self._pending.setdefault(event.producer_id, {})
            for key, kept in event.records:
                pending[key] = kept
                self._size += len(key) + len(kept.value or b"")
            return
        is_commit = bool(event.is_commit)
        self._markers.setdefault(event.producer_id, (event.at, is_commit))
        ended = self._pending.pop(event.producer_id, {})
        for key, kept in ended.items() if is_commit else ():
            found, before = (kept, event.at.offset, event.producer_id), self._committed.get(key)
            final = self._final.get(key)
            is_later = before is None or before[0].offset < kept.offset
            if kept.value is not None and is_later and (final is None or _counts(found, final)):
                self._committed[key] = found

    def _one_by_one(self, file: DumpFile, run: Run, index: int) -> Iterator[tuple[bytes, Kept]]:
        header, start = run.headers.row(index), int(run.positions[index]) - run.start
        payload = bytes(run.window[start + HEADER_SIZE : start + LENGTH_END + header.batch_length])
        try:
            of_batch = list(records(decompressed(payload, header.attributes & wire.CODEC_MASK), header.record_count))
        except FormatError:
            self._not_decoded[file.file, UNREADABLE] += max(header.record_count, 1)
            return
        for each in of_batch:
            name = _name(each.key, each.value)
            if name is not None:
                self._not_decoded[file.file, name] += 1
            if each.key is not None and name != UNREADABLE and type_of_key(each.key) in WANTED:
                offset = header.base_offset + each.offset_delta
                yield each.key, Kept(offset, file, int(run.positions[index]), each.value)

    def _count(self, file: DumpFile, found: KeyedRecords, types: npt.NDArray[Any]) -> None:
        """Count what is of an unknown type or version."""
        versions = np.where(found.value_length >= 2, _int16_at(found, found.value_at), np.int16(0))
        kinds, counts = np.unique(types.astype(np.int64) << 16 | versions.view(np.uint16), return_counts=True)
        for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True):
            name = unknown(*(part.to_bytes(2, "big") for part in ((kind >> 16) & 0xFFFF, kind & 0xFFFF)))
            if name is not None:
                self._not_decoded[file.file, name] += count

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Rows of `GroupRecordRow` of all that there is so far; then there is nothing."""
        yield from record_batches(GroupRecordRow, (tuple(row[name] for name in NULLS) for row in self._rows()))
        self._clear()

    def _rows(self) -> Iterator[dict[str, Any]]:
        for key, kept in self._final.items():
            yield from self._row(key, kept, {"fate": FINAL, "applied_at": kept.offset})
        for key, (kept, applied_at, producer_id) in self._committed.items():
            yield from self._row(key, kept, {"fate": COMMITTED, "applied_at": applied_at, "producer_id": producer_id})
        for producer_id, pending in self._pending.items():
            for key, kept in pending.items():
                yield from self._row(key, kept, {"fate": PENDING, "producer_id": producer_id})
        for producer_id, (at, is_commit) in self._markers.items():
            fate = {"fate": MARKER, "producer_id": producer_id, "applied_at": at.offset, "is_commit": is_commit}
            yield NULLS | _place(at) | fate | {"is_tombstone": False}

    def _row(self, key: bytes, kept: Kept, fate: dict[str, Any]) -> Iterator[dict[str, Any]]:
        try:
            yield NULLS | _place(kept) | fate | row_of(key, kept.value)
        except FormatError:
            self._not_decoded[kept.file.file, UNREADABLE] += 1


def _counts(committed: tuple[Kept, int, int], final: Kept) -> bool:
    """Whether a commit of a transaction counts beside the last other record of its key."""
    kept, applied_at, _ = committed
    return applied_at > final.offset if final.value is None else kept.offset > final.offset


def _place(kept: Kept) -> dict[str, Any]:
    return place_of(kept.file, GroupRecordRow) | {
        "topic": None,
        "partition": None,
        "position": kept.position,
        "offset": kept.offset,
    }


def _name(key: bytes | None, value: bytes | None) -> str | None:
    """What a record is that is not known."""
    try:
        return unknown(key or b"", value)
    except FormatError:
        return UNREADABLE


def _int16_at(found: KeyedRecords, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int16]:
    last = max(len(found.content) - 1, 0)
    high, low = (found.content[np.minimum(places + each, last)].astype(np.uint16) for each in (0, 1))
    numbers: npt.NDArray[np.int16] = (high << 8 | low).astype(np.uint16).view(np.int16)
    return numbers
