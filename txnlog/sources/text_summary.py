"""What a text adds up to, file by file that was printed: is it whole, is it in order, and can its lines be trusted?

Payloads, keys and names of headers may hold line breaks and so forge lines. A forged line breaks the order: positions
follow from one another with the sizes, and each batch has as many lines of records as it counts. Where they do not,
the whole text counts as damaged. A text has no end mark: one that ends cleanly counts as whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.dump.text_stream import Section
from txnlog.dump_log import dump_text
from txnlog.dump_log.batch_labels import TextBatches
from txnlog.dump_log.line_layouts import Flags, Lines
from txnlog.dump_log.text_batches import batches
from txnlog.errors import FormatError
from txnlog.sources.joined_splits import (
    ANOTHER_SEGMENT,
    WITH_ENTRIES,
    FirstBatch,
    Piece,
    not_where_expected,
)
from txnlog.sources.summary import add_offsets
from txnlog.sources.text_chunks import chunks
from txnlog.sources.text_entries import OutOfPlaceError, entry_batches, is_of_a_log


class Printed(NamedTuple):
    """Some batches of a segment that was printed, and the lines in which they stand."""

    lines: Lines
    batches: TextBatches


class _Segment:
    """Sums up the text of one segment, or of a split of it, in a piece."""

    def __init__(self, printed: DumpFile, piece: Piece, written_by_brokers: bool) -> None:
        self._piece = piece
        self._summary = piece.summary
        self._written_by_brokers = written_by_brokers
        self._base_offset = printed.base_offset or 0

    def add(self, lines: Lines, found: TextBatches) -> None:
        """Add the lines of some batches, and what was found in them."""
        self._account(lines, found)
        if dump_text.stopped_early(lines.content):
            self._piece.distrust("the tool stopped before the end of the file")
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
                self._summary.note(f"byte {part.numbers['position'][0]}: {end - start} batches are not valid")
                self._summary.damage_is_open = True

    def _check_lines(self, lines: Lines, found: TextBatches) -> None:
        """Whether each line that looks like one of the tool's is one, and stands where it may."""
        begun = lines.start_with(dump_text.BATCH) | lines.start_with(dump_text.MESSAGE)
        if not found.are_records_alone and begun.sum() != len(found):
            self._piece.distrust("a line of a batch is incomplete")
        if not found.is_sound:
            self._piece.distrust("records of one batch contradict each other")
        records = np.flatnonzero(lines.start_with(dump_text.RECORD))
        if len(records) and (not len(found) or records[0] < found.lines[0]):
            self._piece.distrust("records without their batch")
            self._piece.is_out_of_place |= not self._summary.batches
        if len(found):
            self._piece.saw(batches=not found.are_records_alone, records_alone=found.are_records_alone)

    def _check_headings(self, lines: Lines) -> None:
        """Whether what was printed of another file has slipped in."""
        if dump_text.has_swallowed_heading(lines.content):
            self._piece.distrust("a line was cut short and contains a heading")
        may_be_first = _is_first_line(lines).any()
        for offset in dump_text.starting_offsets(lines.content) if may_be_first else ():
            self._piece.starting_offsets += 1
            if self._piece.starting_offsets > 1 or offset != self._base_offset:
                self._piece.distrust(ANOTHER_SEGMENT)

    def _check_positions(self, found: TextBatches) -> None:
        positions, sizes = found.numbers["position"], found.numbers["size_in_bytes"]
        if found.are_records_alone:
            # Sizes are not printed, and a batch whose records are gone is not either: that leaves a gap in the offsets.
            wrong = np.flatnonzero(np.diff(positions) <= 0) + 1
            self._piece.is_out_of_place |= not self._summary.batches and bool(positions[0] > 0)
            self._check_base_offsets(found)
        else:
            if self._piece.first_position is None:
                # It is checked when the pieces are put together.
                self._piece.first_position = self._piece.end_position = int(positions[0])
            expected = np.concatenate(([self._piece.end_position], positions[:-1] + sizes[:-1]))
            wrong = np.flatnonzero(positions != expected)
            self._piece.is_out_of_place |= not self._summary.batches and len(wrong) > 0 and bool(wrong[0] == 0)
            self._piece.end_position = int(positions[-1] + sizes[-1])
        if len(wrong):
            self._piece.distrust(not_where_expected(int(positions[wrong[0]])))

    def _check_base_offsets(self, found: TextBatches) -> None:
        """A batch without a line of its own starts at its first record's offset if that follows on the one before."""
        before = self._base_offset if self._summary.last_offset is None else self._summary.last_offset + 1
        first = found.numbers["base_offset"]
        follows = first == np.concatenate(([before], found.numbers["last_offset"][:-1] + 1))
        modern = found.numbers["magic"] == 2
        holes = found.numbers["last_offset"] - first + 1 != found.numbers["record_count"]
        if (modern & (holes | ~follows)).any():
            last = int(found.numbers["last_offset"][modern & (holes | ~follows)].max())
            self._summary.note(
                "base offsets are not printed where offsets are missing: print it without --deep-iteration"
            )
            self._summary.damage_up_to(last + 1)

    def _check_records(self, found: TextBatches) -> None:
        adds_up = found.add_up()
        if not adds_up.all():
            index = int(np.flatnonzero(~adds_up)[0])
            printed, counted = found.records_printed[index], found.numbers["record_count"][index]
            self._piece.distrust(
                f"byte {found.numbers['position'][index]}: {printed} lines of records in a batch of {counted}"
            )
        self._piece.are_records_printed |= found.are_records_alone or bool((found.records_printed > 0).any())
        # An empty line may be a control record among payloads, and nothing at the end of a text.
        is_blank = (found.records_printed < 0) & found.flags["is_control"]
        lacking = np.flatnonzero(
            (found.records_printed <= 0)
            & ~is_blank
            & (found.numbers["record_count"] != 0)
            & (found.numbers["magic"] == 2)
        )
        is_odd = found.flags["is_transactional"] & ~found.flags["is_control"] & (found.numbers["producer_id"] >= 0)
        if (is_odd & (found.numbers["base_sequence"] == -1)).any():
            self._piece.distrust("a transactional batch has no sequence number and is not a control batch")
        if len(lacking) and not found.are_records_alone and self._piece.first_without_records is None:
            self._piece.first_without_records = int(found.numbers["position"][lacking[0]])

    def _add_valid(self, part: TextBatches) -> None:
        numbers = part.numbers
        if self._piece.first_batch is None:
            first = (int(numbers[name][0]) for name in ("position", "last_offset", "magic"))
            self._piece.first_batch = FirstBatch(*first)
        add_offsets(
            self._summary,
            numbers["position"],
            numbers["base_offset"],
            numbers["last_offset"],
            numbers["magic"],
            numbers["partition_leader_epoch"],
            self._base_offset,
        )
        by_broker = part.flags["is_control"] | part.flags["is_log_append_time"] | self._written_by_brokers
        self._summary.add_broker_times(numbers["max_timestamp"][by_broker])
        for index in np.flatnonzero(part.is_unreadable).tolist():
            self._summary.note_unreadable(numbers["position"][index], int(numbers["last_offset"][index]))

    def _account(self, lines: Lines, found: TextBatches) -> None:
        sizes = lines.ends - lines.starts + 1
        known = lines.start_with(dump_text.RECORD) | (lines.starts == lines.ends)
        known |= _is_first_line(lines)
        if found.are_records_alone:
            known |= lines.start_with(dump_text.MESSAGE)
        known[found.lines] = True
        damaged = np.zeros(len(lines), np.bool_)
        damaged[found.lines[~found.flags["crc_valid"]]] = True
        self._summary.bytes_damaged += int(sizes[damaged].sum())
        self._piece.skipped += int(sizes[~known].sum())


def piece_of_text(
    printed: DumpFile, section: Section, piece: Piece, written_by_brokers: bool
) -> Iterator[Printed | pa.RecordBatch]:
    """Sum up in `piece` what a text, or a split of one, says of one file that was printed.

    Yields the batches of a segment, some at a time; of a producer snapshot or a transaction index its entries as rows.
    """
    if printed.kind is FileKind.SEGMENT:
        segment = _Segment(printed, piece, written_by_brokers)
        for chunk in chunks(section):
            found = batches(*chunk)
            segment.add(chunk.lines, found)
            yield Printed(chunk.lines, found)
    elif printed.kind.value in WITH_ENTRIES:
        yield from _entries(printed, section, piece)
    elif any([is_of_a_log(Lines(lines)) for lines in section]):  # noqa: C419 - each section is read to its end
        piece.is_of_a_log = True
    piece.size, piece.problem = section.size, section.problem


def _entries(printed: DumpFile, section: Section, piece: Piece) -> list[pa.RecordBatch]:
    try:
        found = [*entry_batches(printed, section)]
    except FormatError as error:
        for _ in section:
            pass
        piece.is_of_a_log = isinstance(error, OutOfPlaceError)
        piece.entry_problem = error.reason
        return []
    piece.summary.batches = sum(map(len, found))
    # A snapshot is of the offset in its name.
    return found if printed.base_offset is not None else []


def _is_first_line(lines: Lines) -> Flags:
    """Which lines may be those with the starting offset."""
    return lines.start_with(b"Starting") | lines.start_with(b"Log ")


def _runs(flags: Flags) -> list[tuple[int, int]]:
    """Start and end of each stretch of equal flags."""
    edges = [0, *(np.flatnonzero(np.diff(flags)) + 1).tolist(), len(flags)]
    return list(pairwise(edges))
