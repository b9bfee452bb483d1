"""Reads the copies of a log in a dump for one record: what became of it, by each of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from txnlog.dump.dump_file import DumpFile, FileKind, Inventory
from txnlog.errors import OptionError
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.format.checkpoint import HIGH_WATERMARKS, LOG_STARTS
from txnlog.sources.batch_columns import batches_of_run, batches_of_text
from txnlog.sources.files import SegmentReading
from txnlog.sources.listed import WRITTEN_BY_BROKERS
from txnlog.sources.logs import base_of, checkpointed, segments_of
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
        outcome = (_of_text if files[0].is_text else _of_segments)(dump, files, place, offset)
        if outcome is not None:
            start = _checkpointed(dump, files[0], place, LOG_STARTS)
            found.setdefault(files[0].cluster, []).append(_not_below(outcome, offset, start))
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


def _checkpointed(dump: Inventory, copy: DumpFile, place: Place, name: str) -> int | None:
    """The offset of a partition by a checkpoint of the copy's log directory."""
    for file in dump.files:
        is_it = file.kind is FileKind.OFFSET_CHECKPOINT and file.file.endswith(name) and not file.skipped
        if is_it and file.log_dir == copy.log_dir:
            return checkpointed(file).get(place)
    return None


def _not_below(found: RecordOutcome, offset: int, start: int | None) -> RecordOutcome:
    """Below the log start offset no consumer reads, whatever is still in the segments."""
    if start is None or offset >= start:
        return found
    reason = f"the log starts at offset {start}, by {LOG_STARTS}"
    return found._replace(outcome=Outcome.BEFORE_START, reason=reason, is_below_log_start=True)


def _of_segments(dump: Inventory, files: list[DumpFile], place: Place, offset: int) -> RecordOutcome | None:
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
                return judged(files, search, damage)
        if (reading.row["damaged_to"] or 0) > offset:
            damage.append(f"{file.file}: {reading.row['problem']}")
        if file.bytes_missing:
            damage.append(f"{file.file}: listing.tsv has {file.bytes_missing} more bytes of the log")
    known_to = max([*map(base_of, files), _checkpointed(dump, files[0], place, HIGH_WATERMARKS) or 0])
    if known_to > search.end and known_to > offset:
        damage.append(f"the copy ends at offset {search.end}, but its log reached offset {known_to}")
    return judged(files, search, damage)


def _said_of(hidden: list[DumpFile], first: list[DumpFile], offset: int) -> list[str]:
    """Why segments cannot be read that may have the record, or what follows it; the `first` is where reading starts."""
    start = base_of(first[0]) if first else 0
    return [f"{file.file}: {file.skipped}" for file in hidden if offset < start or base_of(file) >= start]


def _of_text(_: Inventory, files: list[DumpFile], place: Place, offset: int) -> RecordOutcome | None:
    search, damage, cut = Search(offset), list[str](), list[str]()
    for text in _in_order(files, place, cut):
        for row in _added(search, text, place):
            if (row["damaged_to"] or 0) > offset:
                damage.append(f"{row['file']}: {row['problem']}")
    if search.start is None and not damage:
        return None
    if damage:
        # A line may be forged by whoever wrote a record.
        return RecordOutcome(files[0].broker, files[0].log_dir, True, Outcome.UNKNOWN, damage[0])
    return judged(files, search, cut)


def _in_order(files: list[DumpFile], place: Place, cut: list[str]) -> list[DumpFile]:
    """The texts that have the log, by where it begins in each. `cut`: why others end before they were printed whole."""
    begins: dict[str, int] = {}
    for text in files:
        start, problem = _first_printed(text, place)
        if start is not None:
            begins[text.file] = start
        elif problem is not None:
            cut.append(f"{text.file}: {problem}")
    return sorted((text for text in files if text.file in begins), key=lambda text: (begins[text.file], text.file))


def _first_printed(text: DumpFile, place: Place) -> tuple[int | None, str | None]:
    """Where the first section begins that a text has of a log; of one that has none, why it ends too early."""
    last = None
    for printed, section in printed_files(text):
        if (printed.topic, printed.partition) == place and printed.kind is FileKind.SEGMENT:
            return base_of(printed), None
        last = section
    return None, None if last is None else last.problem


def _added(search: Search, text: DumpFile, place: Place) -> list[dict[str, Any]]:
    """Add what a text has of a log; its rows of `DumpFileRow`, and those of others that may hide more of it."""
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
    rows = text_rows(reading.pieces)
    return [row for row in rows if (row["topic"], row["partition"]) == place or row["damaged_to"] == NOTHING_FOLLOWS]
