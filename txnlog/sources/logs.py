"""Which files of a log are read, and how far back: a broker that starts needs its newest snapshot and what follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from txnlog.dump.inventory import DumpFile, FileKind
from txnlog.dump.opener import small_content
from txnlog.errors import FormatError, StoreError
from txnlog.format.checkpoint import LOG_STARTS, offset_checkpoints
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.format.snapshot import NO_TRANSACTION
from txnlog.sources.coordinator import states_of_run
from txnlog.sources.evidence import EvidenceRows, batches_of_run, batches_of_text, evidence_of_states
from txnlog.sources.files import (
    LARGEST_TEXT,
    WRITTEN_BY_BROKERS,
    SegmentReading,
    entries_of_snapshot,
    file_rows,
    text_pieces,
    unread_row,
)
from txnlog.sources.groups import EARLIEST
from txnlog.sources.runs import Sums
from txnlog.sources.text import text_states
from txnlog.sources.text_batches import TextBatches

# Of the segments that one task reads; a larger one is read by one task as well.
BYTES_AT_ONCE = 256 << 20
NOT_NEEDED = "not needed: the producer snapshot at offset {} has what it left open (--full reads it)"


@dataclass(frozen=True, slots=True)
class LogFiles:
    """Files that are read together: all of one log, some of its segments, or a file of no log.

    `snapshots` are those of the log that the files are of, whether they are among them or not; `newest_segment` is
    where its last segment starts, and `log_start` its log start offset by the checkpoint. `from_snapshot`: no more is
    read than what follows the newest valid snapshot, and what is open in it. `is_part`: this is a part of a text, whose
    rows are put together of all its parts (`txnlog.sources.files.text_rows`).
    """

    files: tuple[DumpFile, ...]
    snapshots: tuple[DumpFile, ...] = ()
    newest_segment: int = 0
    log_start: int | None = None
    from_snapshot: bool = False
    is_part: bool = False

    @property
    def weight(self) -> int:
        """About how many bytes are read."""
        unread = _segments(self.files)[:-1] if self.from_snapshot else []
        return sum(file.size for file in self.files) - sum(file.size for file in unread)

    @property
    def is_text(self) -> bool:
        """Whether it is what `kafka-dump-log.sh` printed."""
        return any(file.is_text for file in self.files)


def logs(files: Iterable[DumpFile], from_snapshots: bool) -> Iterator[LogFiles]:
    """The files of a dump in groups that can be read beside one another."""
    of_log: dict[tuple[str, str, int | None], list[DumpFile]] = {}
    starts: dict[str, dict[tuple[str, int], int]] = {}
    for file in files:
        if file.kind is FileKind.OFFSET_CHECKPOINT and file.file.endswith(LOG_STARTS) and not file.skipped:
            starts[file.log_dir] = _log_starts(file)
        if file.topic is None or file.is_text:
            yield LogFiles((file,))
        else:
            of_log.setdefault((file.log_dir, file.topic, file.partition), []).append(file)
    for (log_dir, topic, partition), of_one in of_log.items():
        snapshots = tuple(file for file in of_one if file.kind is FileKind.PRODUCER_SNAPSHOT and not file.skipped)
        newest = max((_base(segment) for segment in _segments(of_one)), default=0)
        log = LogFiles(tuple(of_one), snapshots, newest, starts.get(log_dir, {}).get((topic, partition or 0)))
        # Of a coordinator every record counts.
        if from_snapshots and snapshots and len(_segments(of_one)) > 1 and topic != TRANSACTION_STATE:
            yield replace(log, from_snapshot=True)
        else:
            yield from _in_pieces(log)


def _in_pieces(log: LogFiles) -> Iterator[LogFiles]:
    """The log in pieces of bounded size: neighbouring segments, and all other files."""
    piece: list[DumpFile] = []
    for segment in _segments(log.files):
        if piece and sum(file.size for file in (*piece, segment)) > BYTES_AT_ONCE:
            yield replace(log, files=tuple(piece))
            piece = []
        piece.append(segment)
    if piece:
        yield replace(log, files=tuple(piece))
    rest = tuple(file for file in log.files if not _is_segment(file))
    if rest:
        yield LogFiles(rest)


def _segments(files: Iterable[DumpFile]) -> list[DumpFile]:
    return sorted(filter(_is_segment, files), key=_base)


def _is_segment(file: DumpFile) -> bool:
    return file.kind is FileKind.SEGMENT and not file.skipped


def _log_starts(file: DumpFile) -> dict[tuple[str, int], int]:
    """Log start offsets by topic and partition; none where the checkpoint is damaged, which its row says."""
    try:
        lines = offset_checkpoints(small_content(file.path, LARGEST_TEXT).decode())
    except (FormatError, OSError, StoreError, UnicodeDecodeError):
        return {}
    return {(topic, partition): offset for topic, partition, offset in lines}


def evidence(groups: Iterable[LogFiles]) -> Iterator[pa.RecordBatch]:
    """Rows of `EvidenceRow` of groups of files."""
    found = EvidenceRows()
    for group in groups:
        for states in _add(found, group):
            yield evidence_of_states(states)
        if found.is_full:
            yield from found.batches()
    yield from found.batches()


def _add(found: EvidenceRows, group: LogFiles) -> Iterator[pa.RecordBatch]:
    """Add what is in some files; rows of `TransactionStateRow` are too many to be kept and are yielded."""
    segments = _segments(group.files)
    of_texts = _TextSums()
    for file in group.files:
        if group.is_part:
            for known, piece in text_pieces(file, of_texts.add):
                found.add_piece(known, piece)
        elif not _is_segment(file):
            for row in file_rows(file, of_texts.add):
                found.add_file(row)
        if of_texts.have_coordinators:
            yield from text_states(file, lambda printed: True)
    of_texts.hand_on(found)
    if segments:
        yield from _add_segments(found, segments, _Start.of(group, segments))


def _add_segments(found: EvidenceRows, segments: list[DumpFile], start: _Start) -> Iterator[pa.RecordBatch]:
    if segments[0].topic != TRANSACTION_STATE:
        _add_log(found, segments, start)
        return
    for segment in segments:
        yield from _add_coordinator(found, segment, start.anchors)


def _add_coordinator(found: EvidenceRows, segment: DumpFile, anchors: tuple[int, ...]) -> Iterator[pa.RecordBatch]:
    # Without a coordinator hardly anything can be told: a store that refuses it is no damage of the dump.
    sums, reading = Sums(anchors), SegmentReading(segment, is_needed=True)
    for run, control in reading.runs():
        sums.add(batches_of_run(run, control, written_by_brokers=True))
        yield from states_of_run(segment, run)
    found.add_file(reading.row)
    found.add_sums(segment, sums)


def _add_log(found: EvidenceRows, segments: list[DumpFile], start: _Start) -> None:
    """The rows of segments in their order, of which those before the start are read only where time is lacking."""
    first = next((index for index in reversed(range(len(segments))) if _base(segments[index]) <= start.offset), 0)
    read = [(segment, _read(found, segment, start.anchors)) for segment in segments[first:]]
    while first > 0 and _lacks_time([sums for _, sums in read]):
        first -= 1
        read.insert(0, (segments[first], _read(found, segments[first], start.anchors)))
    for segment in segments[:first]:
        found.add_file(unread_row(segment, NOT_NEEDED.format(start.snapshot)))
    for segment, sums in read:
        found.add_sums(segment, sums)


def _base(segment: DumpFile) -> int:
    return segment.base_offset or 0


@dataclass(frozen=True, slots=True)
class _Start:
    """Where the reading of a log starts, by which snapshot, and what is open in the log's snapshots."""

    offset: int
    snapshot: int | None
    anchors: tuple[int, ...]

    @classmethod
    def of(cls, group: LogFiles, segments: list[DumpFile]) -> _Start:
        opened = _opened(group)
        log_start = set() if group.log_start is None else {group.log_start}
        anchors = tuple(sorted(log_start.union(*opened.values())))
        usable = min(opened, default=None)
        if not group.from_snapshot or usable is None or not _base(segments[0]) <= usable <= group.newest_segment:
            return cls(0, None, anchors)
        return cls(min([usable, *(start for starts in opened.values() for start in starts)]), usable, anchors)


def _opened(group: LogFiles) -> dict[int, list[int]]:
    """Where the transactions start that are open in the newest valid snapshots, by their offset.

    A snapshot behind the start of the newest segment may be of a longer log than this: the next older one counts, too.
    """
    opened: dict[int, list[int]] = {}
    for file in sorted(group.snapshots, key=_base, reverse=True):
        entries = entries_of_snapshot(file)
        if entries is not None:
            first = entries["current_txn_first_offset"]
            opened[_base(file)] = first[first != NO_TRANSACTION].tolist()
            if _base(file) <= group.newest_segment:
                break
    return opened


def _read(rows: EvidenceRows, segment: DumpFile, anchors: tuple[int, ...]) -> Sums:
    sums, reading = Sums(anchors), SegmentReading(segment)
    for run, found in reading.runs():
        sums.add(batches_of_run(run, found, segment.topic in WRITTEN_BY_BROKERS))
    rows.add_file(reading.row)
    return sums


def _lacks_time(read: list[Sums]) -> bool:
    """Whether something is open with no time by a broker's clock before it: an earlier segment may have one."""
    ended: set[int] = set()
    for index in reversed(range(len(read))):
        has_time = any(sums.stamp_latest > EARLIEST for sums in read[:index])
        runs = read[index].runs()
        lacking = runs["producer_id"][runs["stamp_before_start"] == EARLIEST].tolist()
        if not has_time and not ended.issuperset(lacking):
            return True
        ended.update(read[index].markers()["producer_id"].tolist())
    return False


class _TextSums:
    """What the batches of a text, or of a part of one, add up to: for each file that was printed."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[DumpFile, Sums]] = {}

    def add(self, printed: DumpFile, found: TextBatches) -> None:
        """Add batches that were printed of a file."""
        _, sums = self._found.setdefault(printed.file, (printed, Sums()))
        sums.add(batches_of_text(found, printed.topic in WRITTEN_BY_BROKERS))

    @property
    def have_coordinators(self) -> bool:
        """Whether logs of coordinators are among them."""
        return any(printed.topic == TRANSACTION_STATE for printed, _ in self._found.values())

    def hand_on(self, rows: EvidenceRows) -> None:
        """Add the rows of all that was printed."""
        for printed, sums in self._found.values():
            rows.add_sums(printed, sums)
