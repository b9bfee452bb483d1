"""Evidence of a dump: each of its files is read once, with the files that it is to be read with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.format.group_messages import CONSUMER_OFFSETS
from txnlog.sources.batch_columns import batches_of_run, batches_of_text
from txnlog.sources.coordinator_states import state_batches, states_of_run
from txnlog.sources.evidence_rows import FACT_OF_KIND, GROUP_RECORDS, STATES, EvidenceRows, evidence_of
from txnlog.sources.file_groups import LogFiles, base_of, is_segment, segments_of
from txnlog.sources.files import SegmentReading
from txnlog.sources.group_events import parts_of
from txnlog.sources.group_log import GroupLog
from txnlog.sources.listed import WRITTEN_BY_BROKERS, listed_row, skipped_row, unread_row
from txnlog.sources.producer_batches import EARLIEST
from txnlog.sources.reading_start import OpenIn, ReadingStart
from txnlog.sources.replay_sums import Sums
from txnlog.sources.small_files import small_file
from txnlog.sources.text import states_of
from txnlog.sources.text_files import TextReading, text_rows
from txnlog.sources.text_summary import Printed

NOT_NEEDED = "not needed: the producer snapshot at offset {} has what it left open (--full reads it)"


def evidence(groups: Iterable[LogFiles]) -> Iterator[pa.RecordBatch]:
    """Rows of `EvidenceRow` of groups of files."""
    found = EvidenceRows()
    for group in groups:
        yield from _add(found, group)
        if found.is_full:
            yield from found.batches()
    yield from found.batches()


def _add(found: EvidenceRows, group: LogFiles) -> Iterator[pa.RecordBatch]:
    """Add what is in some files; rows of single records and entries are too many to be kept and are yielded."""
    segments, starts = segments_of(group.files), OpenIn()
    for file in group.files:
        if file.skipped:
            found.add_file(skipped_row(file))
        elif file.kind is FileKind.DUMP_TEXT:
            yield from _add_text(found, file, group.is_split)
        elif not is_segment(file):
            yield from _add_small_file(found, file, starts)
    if segments:
        yield from _add_segments(found, segments, ReadingStart.of(group, segments, starts))


def _add_segments(found: EvidenceRows, segments: list[DumpFile], start: ReadingStart) -> Iterator[pa.RecordBatch]:
    if segments[0].topic == TRANSACTION_STATE:
        for segment in segments:
            yield from _add_coordinator(found, segment, start.named_offsets)
    elif segments[0].topic == CONSUMER_OFFSETS:
        yield from _add_groups(found, segments, start.named_offsets)
    else:
        _add_log(found, segments, start)


def _add_small_file(found: EvidenceRows, file: DumpFile, starts: OpenIn) -> Iterator[pa.RecordBatch]:
    read = small_file(file)
    found.add_file(listed_row(file) | read.columns)
    if file.kind is FileKind.PRODUCER_SNAPSHOT:
        starts.add(file, read.entries)
    if read.entries is not None and read.entries.num_rows:
        yield evidence_of(FACT_OF_KIND[file.kind], read.entries)


def _add_text(found: EvidenceRows, file: DumpFile, is_split: bool) -> Iterator[pa.RecordBatch]:
    text, sums = TextReading(file), dict[str, tuple[DumpFile, Sums]]()
    for printed, read in text.found():
        if isinstance(read, Printed):
            _, of_file = sums.setdefault(printed.file, (printed, Sums()))
            of_file.add(batches_of_text(read.batches, printed.topic in WRITTEN_BY_BROKERS))
        yield from _rows_of_text(printed, read)
    if is_split:
        for known, piece in text.pieces:
            found.add_piece(known, piece)
    else:
        for row in text_rows(text.pieces):
            found.add_file(row)
    for printed, of_file in sums.values():
        found.add_sums(printed, of_file)


def _rows_of_text(printed: DumpFile, read: Printed | pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if not isinstance(read, Printed):
        yield evidence_of(FACT_OF_KIND[printed.kind], read)
    elif printed.topic == TRANSACTION_STATE:
        for states in state_batches(states_of(printed, read.lines, read.batches)):
            yield evidence_of(STATES, states)


def _add_coordinator(
    found: EvidenceRows, segment: DumpFile, named_offsets: tuple[int, ...]
) -> Iterator[pa.RecordBatch]:
    # Hardly any verdict is possible without coordinators: if a store refuses one, the run fails.
    sums, reading, unread = Sums(named_offsets), SegmentReading(segment, is_needed=True), list[pa.RecordBatch]()
    for run, control in reading.runs():
        sums.add(batches_of_run(run, control, written_by_brokers=True))
        for states in states_of_run(segment, run):
            is_unread = pc.or_(states.column("problem").is_valid(), states.column("transactional_id").is_null())
            if is_unread.true_count:
                unread.append(states.select(["offset", "problem"]).filter(is_unread))
            yield evidence_of(STATES, states)
    found.add_file(reading.row | {"problem": "; ".join(_problems(reading.row["problem"], unread)) or None})
    found.add_sums(segment, sums)


def _problems(known: str | None, unread: list[pa.RecordBatch]) -> Iterator[str]:
    """What is said of a coordinator's segment: also how many records are not decoded, and why the first one is not."""
    if known is not None:
        yield known
    if unread:
        (first, *_), count = unread[0].to_pylist(), sum(some.num_rows for some in unread)
        why = first["problem"] or "its key has a version that is not known"
        yield f"records not decoded: {count}, the first at offset {first['offset']}: {why}"


def _add_groups(
    found: EvidenceRows, segments: list[DumpFile], named_offsets: tuple[int, ...]
) -> Iterator[pa.RecordBatch]:
    groups, read = GroupLog(), []
    for segment in segments:
        sums, reading = Sums(named_offsets), SegmentReading(segment)
        for run, control in reading.runs():
            sums.add(batches_of_run(run, control, written_by_brokers=True))
            for first, last in parts_of(run):
                groups.add(segment, run, control, first, last)
                if groups.is_full:
                    yield from _evidence_of_groups(groups)
        read.append((segment, sums, reading.row))
    yield from _evidence_of_groups(groups)
    for segment, sums, row in read:
        problems = filter(None, (row["problem"], groups.problem(segment)))
        found.add_file(row | {"problem": "; ".join(problems) or None})
        found.add_sums(segment, sums)


def _evidence_of_groups(groups: GroupLog) -> Iterator[pa.RecordBatch]:
    return (evidence_of(GROUP_RECORDS, rows) for rows in groups.batches())


def _add_log(found: EvidenceRows, segments: list[DumpFile], start: ReadingStart) -> None:
    """The rows of segments in their order, of which those before the start are read only where time is lacking."""
    first = next((index for index in reversed(range(len(segments))) if base_of(segments[index]) <= start.offset), 0)
    read = [(segment, _read(found, segment, start.named_offsets)) for segment in segments[first:]]
    while first > 0 and _lacks_time([sums for _, sums in read]):
        first -= 1
        read.insert(0, (segments[first], _read(found, segments[first], start.named_offsets)))
    for segment in segments[:first]:
        found.add_file(unread_row(segment, NOT_NEEDED.format(start.snapshot)))
    for segment, sums in read:
        found.add_sums(segment, sums)


def _read(rows: EvidenceRows, segment: DumpFile, named_offsets: tuple[int, ...]) -> Sums:
    sums, reading = Sums(named_offsets), SegmentReading(segment)
    for run, found in reading.runs():
        sums.add(batches_of_run(run, found, segment.topic in WRITTEN_BY_BROKERS))
    rows.add_file(reading.row)
    return sums


def _lacks_time(read: list[Sums]) -> bool:
    """Whether something is open with no time by a broker's clock before it: an earlier segment may have one."""
    ended: set[int] = set()
    for index in reversed(range(len(read))):
        has_time = any(sums.latest_broker_timestamp > EARLIEST for sums in read[:index])
        open_data = read[index].open_data()
        lacking = open_data["producer_id"][open_data["broker_timestamp_before_start"] == EARLIEST].tolist()
        if not has_time and not ended.issuperset(lacking):
            return True
        ended.update(read[index].markers()["producer_id"].tolist())
    return False
