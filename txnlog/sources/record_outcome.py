"""Reads the copies of a log in a dump for one record: what became of it, by each of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from txnlog.dump.dump_file import DumpFile, FileKind, Inventory
from txnlog.errors import OptionError
from txnlog.format.checkpoint import LOG_STARTS
from txnlog.sources.batch_columns import batches_of_run, batches_of_text
from txnlog.sources.files import SegmentReading
from txnlog.sources.listed import WRITTEN_BY_BROKERS
from txnlog.sources.logs import base_of, log_starts, segments_of
from txnlog.sources.outcome import Outcome, RecordOutcome, judged
from txnlog.sources.record_search import Search
from txnlog.sources.text import printed_files
from txnlog.sources.text_files import TextReading, text_rows
from txnlog.sources.text_summary import Printed


class Place(NamedTuple):
    """The partition of a log."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def record_outcomes(
    dump: Inventory, place: Place, offset: int, cluster: str | None = None
) -> tuple[str, list[RecordOutcome]]:
    """The cluster, and what became of the record at `offset` by each copy of its log in the dump.

    Segments are read from the one with the offset on to the marker, output of `kafka-dump-log.sh` is read whole.
    `OptionError` where no copy has the partition, or several clusters have.
    """
    found: dict[str, list[RecordOutcome]] = {}
    for files in _copies(dump, place, cluster):
        start = _log_start(dump, files[0], place)
        if start is not None and offset < start:
            outcome: RecordOutcome | None = _before(files[0], start)
        else:
            outcome = (_of_text if files[0].is_text else _of_segments)(files, place, offset)
        if outcome is not None:
            found.setdefault(files[0].cluster, []).append(outcome)
    if not found:
        named = "" if cluster is None else f" of cluster {cluster}"
        raise OptionError(f"the dump has no log of {place}{named}: `txnlog check` prints what it has")
    if len(found) > 1:
        names = ", ".join(sorted(found))
        raise OptionError(f"the dump has {place} of several clusters: add --cluster, one of {names}")
    return next(iter(found.items()))


def _copies(dump: Inventory, place: Place, cluster: str | None) -> list[list[DumpFile]]:
    """The files of each copy. Which logs a text has is not known before it is read."""
    copies: dict[tuple[str, str, bool], list[DumpFile]] = {}
    for file in dump.files:
        is_of_it = file.skipped is None if file.is_text else (file.topic, file.partition) == place
        if is_of_it and cluster in (None, file.cluster):
            copies.setdefault((file.cluster, file.log_dir, file.is_text), []).append(file)
    return list(copies.values())


def _log_start(dump: Inventory, copy: DumpFile, place: Place) -> int | None:
    """The log start offset by the checkpoint, below which no consumer reads, whatever is still in the segments."""
    for file in dump.files:
        is_checkpoint = file.kind is FileKind.OFFSET_CHECKPOINT and file.file.endswith(LOG_STARTS) and not file.skipped
        if is_checkpoint and file.log_dir == copy.log_dir and not copy.is_text:
            return log_starts(file).get(place)
    return None


def _before(copy: DumpFile, start: int) -> RecordOutcome:
    reason = f"the log starts at offset {start}, by {LOG_STARTS}"
    return RecordOutcome(copy.broker, copy.log_dir, copy.is_text, Outcome.BEFORE_START, reason)


def _of_segments(files: list[DumpFile], _: Place, offset: int) -> RecordOutcome | None:
    segments = segments_of(files)
    hidden = [file for file in files if file.kind is FileKind.SEGMENT and file.skipped]
    if not segments and not hidden:
        return None
    first = max((index for index, file in enumerate(segments) if base_of(file) <= offset), default=0)
    search, damage = Search(offset), _said_of(hidden, segments[first : first + 1], offset)
    for file in segments[first:]:
        search.begin(file, base_of(file))
        reading = SegmentReading(file)
        for run, found in reading.runs():
            search.add(file, batches_of_run(run, found, file.topic in WRITTEN_BY_BROKERS))
            if search.is_done:
                return judged(files, search, damage if search.batch is None else [])
        if (reading.row["damaged_to"] or 0) > offset:
            damage.append(f"{file.file}: {reading.row['problem']}")
        if file.bytes_missing:
            damage.append(f"{file.file}: listing.tsv has {file.bytes_missing} more bytes of the log")
    return judged(files, search, damage)


def _said_of(hidden: list[DumpFile], first: list[DumpFile], offset: int) -> list[str]:
    """Why segments cannot be read that may have the record, or what follows it; the `first` is where reading starts."""
    start = base_of(first[0]) if first else 0
    return [f"{file.file}: {file.skipped}" for file in hidden if offset < start or base_of(file) >= start]


def _of_text(files: list[DumpFile], place: Place, offset: int) -> RecordOutcome | None:
    search, damage = Search(offset), list[str]()
    for text in sorted(files, key=_first_printed):
        for row in _added(search, text, place):
            if (row["damaged_to"] or 0) > offset:
                damage.append(f"{row['file']}: {row['problem']}")
    if search.start is None and not damage:
        return None
    if damage:
        # A line may be forged by whoever wrote a record.
        return RecordOutcome(files[0].broker, files[0].log_dir, True, Outcome.UNKNOWN, damage[0])
    return judged(files, search, [])


def _added(search: Search, text: DumpFile, place: Place) -> list[dict[str, Any]]:
    """Add what a text has of a log; its rows of `DumpFileRow`."""
    reading, name = TextReading(text), ""
    for printed, found in reading.found():
        if (printed.topic, printed.partition) != place or not isinstance(found, Printed):
            continue
        batches = batches_of_text(found.batches, printed.topic in WRITTEN_BY_BROKERS)
        if printed.file != name and len(batches.base_offset):
            base = batches.base_offset[0] if printed.base_offset is None else printed.base_offset
            search.begin(printed, int(base))
            name = printed.file
        search.add(printed, batches)
    return [row for row in text_rows(reading.pieces) if (row["topic"], row["partition"]) == place]


def _first_printed(text: DumpFile) -> tuple[int, str]:
    return next((printed.base_offset or 0 for printed, _ in printed_files(text)), 0), text.file
