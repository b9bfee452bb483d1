"""What the splits of a text add up to, put together: several tasks read a long text, and one row says what it is.

A task knows only its own split. So two checks wait until pieces are put together: whether the first batch of a piece
starts where the last one of the piece before ends, and whether its offset follows.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from txnlog.dump.dump_file import AN_INDEX, FileKind
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.sources.summary import SegmentSummary
from txnlog.sources.text_entries import OUT_OF_PLACE

ANOTHER_SEGMENT = "it has the starting offset of another segment"
WITH_ENTRIES = frozenset({FileKind.PRODUCER_SNAPSHOT.value, FileKind.TRANSACTION_INDEX.value})


@dataclass(slots=True)
class FirstBatch:
    """The first valid batch of a piece."""

    position: int
    last_offset: int
    magic: int


@dataclass(slots=True)
class Piece:
    """What was printed of one file, as far as one split of a text has it.

    `text`, `start` and `index` are its place: the text, the byte at which the split starts, and how many pieces of
    that come before. `is_continued`: it begins in a split before. `failure` says why the split could not be read on.
    `problem` says why its end is not the end of what the tool printed. What else there is of a segment says
    `txnlog.sources.text_summary`; of other files, `entry_problem` says why their entries cannot be used, and
    `is_of_a_log` that its lines are those of a log.
    """

    text: str
    start: int
    index: int
    is_continued: bool = False
    failure: str | None = None
    size: int = 0
    problem: str | None = None
    entry_problem: str | None = None
    is_of_a_log: bool = False
    summary: SegmentSummary = field(default_factory=SegmentSummary)
    skipped: int = 0
    first_position: int | None = None
    end_position: int = 0
    first_batch: FirstBatch | None = None
    has_batches: bool = False
    has_records_alone: bool = False
    starting_offsets: int = 0
    are_records_printed: bool = False
    first_without_records: int | None = None
    is_out_of_place: bool = False

    @property
    def place(self) -> tuple[str, int, int]:
        """Sorts pieces by their order in the dump."""
        return self.text, self.start, self.index

    def to_json(self) -> str:
        """All of it, for another process."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Piece:
        """What `to_json` has written."""
        fields = json.loads(text)
        first = fields["first_batch"] and FirstBatch(**fields["first_batch"])
        return cls(**fields | {"summary": SegmentSummary(**fields["summary"]), "first_batch": first})

    def distrust(self, problem: str) -> None:
        """Nothing of this text proves that something is not in the log."""
        self.summary.note(problem)
        self.summary.damage_up_to(NOTHING_FOLLOWS)

    def saw(self, *, batches: bool, records_alone: bool) -> None:
        """It has lines of batches, or of records without those: no release prints both."""
        was_of_two = self.has_batches and self.has_records_alone
        self.has_batches |= batches
        self.has_records_alone |= records_alone
        if self.has_batches and self.has_records_alone and not was_of_two:
            self.distrust("lines of two releases")

    def then(self, other: Piece, base_offset: int) -> None:
        """Add the piece that follows, of a segment that starts at `base_offset`."""
        # No line shows that a piece continues another one: it is out of place only if no batch came before.
        self.is_out_of_place |= not self.summary.batches and other.is_out_of_place
        self._meet_positions(other)
        self.saw(batches=other.has_batches, records_alone=other.has_records_alone)
        if self.starting_offsets and other.starting_offsets:
            self.distrust(ANOTHER_SEGMENT)
        self._meet_offsets(other, base_offset)
        self.summary.follow(other.summary)
        self.size += other.size
        self.problem = self.problem or other.problem
        self.skipped += other.skipped
        self.starting_offsets += other.starting_offsets
        self.are_records_printed |= other.are_records_printed
        if self.first_without_records is None:
            self.first_without_records = other.first_without_records

    def _meet_positions(self, other: Piece) -> None:
        if other.first_position is None:
            return
        if other.first_position != self.end_position:
            self.is_out_of_place |= not self.summary.batches
            self.distrust(not_where_expected(other.first_position))
        self.end_position = other.end_position

    def _meet_offsets(self, other: Piece, base_offset: int) -> None:
        first, offset = other.first_batch, other.summary.first_offset
        if first is None or offset is None:
            return
        if self.summary.last_offset is not None:
            expected = max(self.summary.last_offset + 1, base_offset)
            if offset < expected:
                self.summary.note_disorder(first.position, offset, expected)
                self.summary.damage_up_to(max(first.last_offset, expected) + 1)
            elif offset > expected and first.magic == 2:
                self.summary.gap_up_to(offset)
        self.summary.damage_ends(offset)


def not_where_expected(position: int) -> str:
    """The problem of a batch at this position."""
    return f"byte {position}: the previous batch does not end there: lines are missing, or forged by a payload"


def put_together(known: dict[str, Any], pieces: list[Piece]) -> tuple[dict[str, Any], bool]:
    """The columns of `DumpFileRow` that only reading tells, of all pieces of a file that was printed, in their order.

    `known` has the others. And whether it begins in the middle of a log: then what was printed before it may lack its
    end.
    """
    return _segment(known, pieces) if known["kind"] == FileKind.SEGMENT.value else _other_file(known, pieces)


def _segment(known: dict[str, Any], pieces: list[Piece]) -> tuple[dict[str, Any], bool]:
    whole = Piece(*pieces[0].place)
    for piece in pieces:
        whole.then(piece, known["base_offset"] or 0)
    summary = whole.summary
    if whole.problem:
        whole.distrust(whole.problem)
    if whole.skipped and not summary.batches:
        whole.distrust("it contains no line of a batch")
    if whole.are_records_printed and whole.first_without_records is not None:
        whole.distrust(f"byte {whole.first_without_records}: the records of a batch are missing")
    if known["topic"] == TRANSACTION_STATE and not whole.are_records_printed and (summary.batches or whole.skipped):
        whole.distrust("the records of the coordinator are not printed: --transaction-log-decoder prints them")
    summary.damage_ends(NOTHING_FOLLOWS)
    if summary.partition_leader_epoch == -1:
        summary.partition_leader_epoch = None
    skipped = min(whole.skipped, whole.size)
    summary.bytes_damaged = min(summary.bytes_damaged, whole.size - skipped)
    summary.bytes_parsed = whole.size - skipped - summary.bytes_damaged
    return summary.columns() | {"bytes_skipped": skipped, "size_in_bytes": whole.size}, whole.is_out_of_place


def _other_file(known: dict[str, Any], pieces: list[Piece]) -> tuple[dict[str, Any], bool]:
    size = sum(piece.size for piece in pieces)
    problem = next((piece.entry_problem for piece in pieces if piece.entry_problem), None)
    # Parts begin at batches: what begins in another is that of a log.
    if any(piece.is_of_a_log for piece in pieces) or (len(pieces) > 1 and problem is None):
        return {
            "kind": FileKind.SEGMENT.value,
            "size_in_bytes": size,
            "bytes_damaged": size,
            "damaged_to": NOTHING_FOLLOWS,
            "problem": OUT_OF_PLACE,
        }, True
    if known["kind"] not in WITH_ENTRIES:
        return {"size_in_bytes": size, "bytes_skipped": size, "problem": AN_INDEX}, False
    return {
        "size_in_bytes": size,
        "bytes_parsed": 0 if problem else size,
        "bytes_damaged": size if problem else 0,
        "batches": pieces[0].summary.batches if problem is None else None,
        "problem": problem,
    }, False
