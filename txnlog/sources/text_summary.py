"""What a text adds up to, file by file that was printed: is it whole, is it in order, and can its lines be trusted?

Payloads, keys and names of headers may hold line breaks and so forge lines. A forged line breaks the order: positions
follow from one another with the sizes, and each batch has as many lines of records as it counts. Where they do not,
nothing of the text is believed. A text has no end mark: one that ends cleanly counts as whole.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from txnlog.errors import FormatError
from txnlog.format import dump_text
from txnlog.format.coordinator import TOPIC as TRANSACTION_STATE
from txnlog.format.labelled import Flags, Lines
from txnlog.sources.inventory import AN_INDEX, DumpFile, FileKind
from txnlog.sources.summary import NOTHING_FOLLOWS, SegmentSummary, add_offsets
from txnlog.sources.text import OUT_OF_PLACE, entry_batches, is_of_a_log
from txnlog.sources.text_batches import TextBatches, batches, chunks
from txnlog.sources.text_stream import Section


class _Text:
    """The sums over the text of one segment."""

    def __init__(self, printed: DumpFile, written_by_brokers: bool) -> None:
        self.summary = SegmentSummary()
        self.skipped = 0
        self._printed = printed
        self._written_by_brokers = written_by_brokers
        self._base_offset = printed.base_offset or 0
        self._expected_position = 0
        self._records_are_printed = False
        self._first_without_records: int | None = None
        self._kinds_of_chunks: set[bool] = set()
        self._starting_offsets = 0
        self.is_out_of_place = False

    def distrust(self, problem: str) -> None:
        """Nothing of this text proves that something is not in the log."""
        self.summary.note(problem)
        self.summary.damage_up_to(NOTHING_FOLLOWS)

    def add(self, lines: Lines, found: TextBatches) -> None:
        """Add the lines of some batches, and what was found in them."""
        self._account(lines, found)
        if dump_text.stopped_early(lines.content):
            self.distrust("the tool stopped before the end of the file")
        self._check_lines(lines, found)
        self._check_headings(lines)
        if not len(found):
            return
        self._check_positions(found)
        self._check_records(found)
        valid = found.flags["crc_valid"]
        for start, end in _runs(valid):
            part = found.chosen((np.arange(len(found)) >= start) & (np.arange(len(found)) < end))
            if valid[start]:
                self._add_valid(part)
            else:
                self.summary.note(f"byte {part.numbers['position'][0]}: {end - start} batches are not valid")
                self.summary.damage_is_open = True

    def end(self, section: Section) -> None:
        """All lines are added."""
        summary = self.summary
        if section.problem:
            self.distrust(section.problem)
        if self.skipped and not summary.batches:
            self.distrust("none of its lines is that of a batch")
        if self._records_are_printed and self._first_without_records is not None:
            self.distrust(f"byte {self._first_without_records}: the records of a batch are missing")
        if (
            self._printed.topic == TRANSACTION_STATE
            and not self._records_are_printed
            and (summary.batches or self.skipped)
        ):
            self.distrust("the records of the coordinator are not printed: --transaction-log-decoder prints them")
        if summary.damage_is_open:
            summary.damage_up_to(NOTHING_FOLLOWS)
        if summary.partition_leader_epoch == -1:
            summary.partition_leader_epoch = None

    def _check_lines(self, lines: Lines, found: TextBatches) -> None:
        """Whether each line that looks like one of the tool's is one, and stands where it may."""
        begun = lines.start_with(dump_text.BATCH) | lines.start_with(dump_text.MESSAGE)
        if not found.are_records_alone and begun.sum() != len(found):
            self.distrust("a line of a batch is not whole")
        if not found.is_sound:
            self.distrust("records of one batch contradict one another")
        records = np.flatnonzero(lines.start_with(dump_text.RECORD))
        if len(records) and (not len(found) or records[0] < found.lines[0]):
            self.distrust("records without their batch")
            self.is_out_of_place |= not self.summary.batches
        if len(found):
            self._kinds_of_chunks.add(found.are_records_alone)
            if len(self._kinds_of_chunks) > 1:
                self.distrust("lines of two releases")

    def _check_headings(self, lines: Lines) -> None:
        """Whether what was printed of another file has slipped in."""
        if dump_text.has_swallowed_heading(lines.content):
            self.distrust("a line was cut short, and a heading stands in it")
        may_be_first = _is_first_line(lines).any()
        for offset in dump_text.starting_offsets(lines.content) if may_be_first else ():
            self._starting_offsets += 1
            if self._starting_offsets > 1 or offset != self._base_offset:
                self.distrust("it has the starting offset of another segment")

    def _check_positions(self, found: TextBatches) -> None:
        positions, sizes = found.numbers["position"], found.numbers["size_in_bytes"]
        if found.are_records_alone:
            # Sizes are not printed, and a batch whose records are gone is not either: that leaves a gap in the offsets.
            wrong = np.flatnonzero(np.diff(positions) <= 0) + 1
            self.is_out_of_place |= not self.summary.batches and bool(positions[0] > 0)
            self._check_base_offsets(found)
        else:
            expected = np.concatenate(([self._expected_position], positions[:-1] + sizes[:-1]))
            wrong = np.flatnonzero(positions != expected)
            self.is_out_of_place |= not self.summary.batches and len(wrong) > 0 and wrong[0] == 0
            self._expected_position = int(positions[-1] + sizes[-1])
        if len(wrong):
            place = int(positions[wrong[0]])
            self.distrust(
                f"byte {place}: the batch before does not end there: lines are missing, or forged by a payload"
            )

    def _check_base_offsets(self, found: TextBatches) -> None:
        """A batch without a line of its own starts at its first record's offset if that follows on the one before."""
        before = self._base_offset if self.summary.last_offset is None else self.summary.last_offset + 1
        first = found.numbers["base_offset"]
        follows = first == np.concatenate(([before], found.numbers["last_offset"][:-1] + 1))
        modern = found.numbers["magic"] == 2
        holes = found.numbers["last_offset"] - first + 1 != found.numbers["record_count"]
        if (modern & (holes | ~follows)).any():
            last = int(found.numbers["last_offset"][modern & (holes | ~follows)].max())
            self.summary.note(
                "base offsets are not printed where offsets are missing: print it without --deep-iteration"
            )
            self.summary.damage_up_to(last + 1)

    def _check_records(self, found: TextBatches) -> None:
        adds_up = found.add_up()
        if not adds_up.all():
            index = int(np.flatnonzero(~adds_up)[0])
            printed, counted = found.records_printed[index], found.numbers["record_count"][index]
            self.distrust(
                f"byte {found.numbers['position'][index]}: {printed} lines of records in a batch of {counted}"
            )
        self._records_are_printed |= found.are_records_alone or bool((found.records_printed > 0).any())
        # An empty line may stand for a control record among payloads, and for nothing at the end of a text.
        is_blank = (found.records_printed < 0) & found.flags["is_control"]
        lacking = np.flatnonzero(
            (found.records_printed <= 0)
            & ~is_blank
            & (found.numbers["record_count"] != 0)
            & (found.numbers["magic"] == 2)
        )
        is_odd = found.flags["is_transactional"] & ~found.flags["is_control"] & (found.numbers["producer_id"] >= 0)
        if (is_odd & (found.numbers["base_sequence"] == -1)).any():
            self.distrust("a batch of a transaction without a sequence number is no control batch")
        if len(lacking) and not found.are_records_alone and self._first_without_records is None:
            self._first_without_records = int(found.numbers["position"][lacking[0]])

    def _add_valid(self, part: TextBatches) -> None:
        numbers = part.numbers
        add_offsets(
            self.summary,
            numbers["position"],
            numbers["base_offset"],
            numbers["last_offset"],
            numbers["magic"],
            numbers["partition_leader_epoch"],
            self._base_offset,
        )
        by_broker = part.flags["is_control"] | part.flags["is_log_append_time"] | self._written_by_brokers
        self.summary.stamped(numbers["max_timestamp"][by_broker])
        for index in np.flatnonzero(part.is_unreadable).tolist():
            self.summary.note_unreadable(numbers["position"][index], int(numbers["last_offset"][index]))

    def _account(self, lines: Lines, found: TextBatches) -> None:
        sizes = lines.ends - lines.starts + 1
        known = lines.start_with(dump_text.RECORD) | (lines.starts == lines.ends)
        known |= _is_first_line(lines)
        if found.are_records_alone:
            known |= lines.start_with(dump_text.MESSAGE)
        known[found.lines] = True
        damaged = np.zeros(len(lines), np.bool_)
        damaged[found.lines[~found.flags["crc_valid"]]] = True
        self.summary.bytes_damaged += int(sizes[damaged].sum())
        self.skipped += int(sizes[~known].sum())


def text_summary(
    printed: DumpFile, section: Section, written_by_brokers: bool, also: Callable[[TextBatches], None]
) -> tuple[dict[str, Any], bool]:
    """The columns of `DumpFileRow` that only reading tells, for one file that was printed.

    And whether it begins in the middle of a log: then what was printed before it may lack its end. `also` is shown the
    batches of a segment, piece by piece.
    """
    if printed.kind is FileKind.SEGMENT:
        return _of_segment(printed, section, written_by_brokers, also)
    if printed.kind in (FileKind.PRODUCER_SNAPSHOT, FileKind.TRANSACTION_INDEX):
        return _of_entries(printed, section)
    is_out_of_place = False
    for piece in section:
        is_out_of_place |= is_of_a_log(Lines(piece))
    if is_out_of_place:
        return _out_of_place(section), True
    return {
        "size_in_bytes": section.size,
        "bytes_skipped": section.size,
        "problem": AN_INDEX,
    }, False


def _of_segment(
    printed: DumpFile, section: Section, written_by_brokers: bool, also: Callable[[TextBatches], None]
) -> tuple[dict[str, Any], bool]:
    text = _Text(printed, written_by_brokers)
    for chunk in chunks(section):
        found = batches(chunk)
        text.add(chunk.lines, found)
        also(found)
    text.end(section)
    summary, skipped = text.summary, min(text.skipped, section.size)
    summary.bytes_damaged = min(summary.bytes_damaged, section.size - skipped)
    summary.bytes_parsed = section.size - skipped - summary.bytes_damaged
    return summary.columns() | {"bytes_skipped": skipped, "size_in_bytes": section.size}, text.is_out_of_place


def _of_entries(printed: DumpFile, section: Section) -> tuple[dict[str, Any], bool]:
    try:
        count = sum(len(each) for each in entry_batches(printed, section))
        problem = None
    except FormatError as error:
        for _ in section:
            pass
        count, problem = None, error.reason
    if problem == OUT_OF_PLACE:
        return _out_of_place(section), True
    return {
        "size_in_bytes": section.size,
        "bytes_parsed": 0 if problem else section.size,
        "bytes_damaged": section.size if problem else 0,
        "batches": count,
        "problem": problem,
    }, False


def _out_of_place(section: Section) -> dict[str, Any]:
    return {
        "kind": FileKind.SEGMENT.value,
        "size_in_bytes": section.size,
        "bytes_damaged": section.size,
        "damaged_to": NOTHING_FOLLOWS,
        "problem": OUT_OF_PLACE,
    }


def _is_first_line(lines: Lines) -> Flags:
    """Which lines may be those with the starting offset."""
    return lines.start_with(b"Starting") | lines.start_with(b"Log ")


def _runs(flags: Flags) -> list[tuple[int, int]]:
    """Start and end of each stretch of equal flags."""
    edges = [0, *(np.flatnonzero(np.diff(flags)) + 1).tolist(), len(flags)]
    return list(pairwise(edges))
