"""What a segment adds up to: every byte accounted for, and the offsets below which something is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from txnlog.format import batch as wire
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.format.checksum import Segment
from txnlog.format.control_batches import UNREADABLE, Controls, controls
from txnlog.format.scan import Kind, Run, Stretch, scan
from txnlog.sources.segments import Numbers, stretch_problem

PROBLEMS_NAMED = 5


@dataclass(slots=True)
class SegmentSummary:
    """The sums over one segment; offsets are null (None) while there is no batch."""

    bytes_parsed: int = 0
    bytes_tail: int = 0
    bytes_damaged: int = 0
    batches: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    partition_leader_epoch: int | None = None
    broker_timestamp: int | None = None
    damaged_to: int | None = None
    gap_to: int | None = None
    tail_producer_id: int | None = None
    problems: list[str] = field(default_factory=list)
    problems_not_named: int = 0
    damage_is_open: bool = False

    def columns(self) -> dict[str, Any]:
        """The columns of `DumpFileRow` that are sums."""
        names = (
            "bytes_parsed", "bytes_tail", "bytes_damaged", "batches", "first_offset", "last_offset",
            "partition_leader_epoch", "broker_timestamp", "damaged_to", "gap_to", "tail_producer_id",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names} | {"problem": self.problem()}

    def problem(self) -> str | None:
        """All problems in one text; the first few by name."""
        rest = [f"and {self.problems_not_named} more"] if self.problems_not_named else []
        return "; ".join(self.problems + rest) or None

    def note(self, problem: str) -> None:
        """Add a problem to the text."""
        if len(self.problems) < PROBLEMS_NAMED:
            self.problems.append(problem)
        else:
            self.problems_not_named += 1

    def note_unreadable(self, position: int, last_offset: int) -> None:
        """Add a control batch of which it is unknown what it ends."""
        self.note(f"byte {position}: a control batch without a readable control record")
        self.damage_up_to(last_offset + 1)

    def add_broker_times(self, times: Numbers) -> None:
        """Add times by a broker's clock."""
        if len(times):
            self.broker_timestamp = max(int(times.max()), self.broker_timestamp or 0)

    def note_disorder(self, position: int, offset: int, expected: int) -> None:
        """Add a batch whose base offset is too small."""
        self.note(f"byte {position}: base offset {offset} where {expected} or more is expected")

    def damage_up_to(self, offset: int) -> None:
        """All damage so far lies below this offset."""
        self.damaged_to = max(offset, self.damaged_to or 0)

    def damage_ends(self, offset: int) -> None:
        """If it was not known how far damage reaches: not beyond this offset, at which a valid batch starts."""
        if self.damage_is_open:
            self.damage_up_to(offset)
            self.damage_is_open = False

    def gap_up_to(self, offset: int) -> None:
        """Offsets are missing, the last of them before this one."""
        self.gap_to = max(offset, self.gap_to or 0)

    def follow(self, other: SegmentSummary) -> None:
        """Add the sums over what follows, without comparing the offsets where the two meet."""
        for name in ("bytes_parsed", "bytes_tail", "bytes_damaged", "batches", "problems_not_named"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("last_offset", "partition_leader_epoch", "broker_timestamp", "damaged_to", "gap_to"):
            known = [value for value in (getattr(self, name), getattr(other, name)) if value is not None]
            setattr(self, name, max(known, default=None))
        self.first_offset = other.first_offset if self.first_offset is None else self.first_offset
        for problem in other.problems:
            self.note(problem)
        self.damage_is_open |= other.damage_is_open


def summed_up(
    summary: SegmentSummary, segment: Segment, base_offset: int, written_by_brokers: bool
) -> Iterator[tuple[Run, Controls]]:
    """Sum up a segment of which the name says `base_offset`. `written_by_brokers`: all its times are a broker's.

    Yields each run of valid batches and what its control batches hold; the summary is complete after the last one.
    """
    for piece in scan(segment):
        if isinstance(piece, Run):
            found = controls(piece, np.flatnonzero(piece.headers.is_control))
            _add_run(summary, piece, base_offset)
            _add_broker_time(summary, piece, written_by_brokers)
            if written_by_brokers:
                _add_holes(summary, piece)
            _add_control(summary, piece, found)
            yield piece, found
        else:
            _add_stretch(summary, piece)
    summary.damage_ends(NOTHING_FOLLOWS)


def _add_run(summary: SegmentSummary, run: Run, base_offset: int) -> None:
    first = run.headers["base_offset"]
    last = first + run.headers["last_offset_delta"]
    epochs = run.headers["partition_leader_epoch"]
    add_offsets(summary, run.positions, first, last, run.headers["magic"], epochs, base_offset)
    summary.bytes_parsed += run.end - run.start


def add_offsets(
    summary: SegmentSummary,
    positions: Numbers,
    first: Numbers,
    last: Numbers,
    magic: Numbers,
    leader_epochs: Numbers,
    base_offset: int,
) -> None:
    """Add valid batches that follow one another: their first and last offsets, in a segment named `base_offset`."""
    following = np.concatenate(([first[0] if summary.last_offset is None else summary.last_offset + 1], last[:-1] + 1))
    expected = np.maximum(following, base_offset)
    disorder = first < expected
    for index in np.flatnonzero(disorder)[:PROBLEMS_NAMED].tolist():
        summary.note_disorder(int(positions[index]), int(first[index]), int(expected[index]))
    if disorder.any():
        summary.damage_up_to(int(max(last[disorder].max(), expected[disorder].max())) + 1)
    gaps = (first > expected) & (magic == 2)
    if gaps.any():
        summary.gap_up_to(int(first[gaps].max()))
    summary.damage_ends(int(first[0]))
    summary.batches += len(first)
    summary.first_offset = int(first[0]) if summary.first_offset is None else summary.first_offset
    summary.last_offset = int(max(last.max(), summary.last_offset or 0))
    summary.partition_leader_epoch = max(int(leader_epochs.max()), summary.partition_leader_epoch or -1)


def _add_broker_time(summary: SegmentSummary, run: Run, written_by_brokers: bool) -> None:
    headers = run.headers
    by_broker = headers.is_control | (headers["attributes"] & wire.LOG_APPEND_TIME != 0) | written_by_brokers
    summary.add_broker_times(headers["max_timestamp"][by_broker])


def _add_holes(summary: SegmentSummary, run: Run) -> None:
    """Add batches that lack some of their records: the cleaner writes what is left of a batch (`LogCleaner`)."""
    headers = run.headers
    has_holes = headers["record_count"] <= headers["last_offset_delta"]
    if has_holes.any():
        last = (headers["base_offset"] + headers["last_offset_delta"])[has_holes]
        summary.gap_up_to(int(last.max()) + 1)


def _add_control(summary: SegmentSummary, run: Run, found: Controls) -> None:
    for index, record in found.others.items():
        if record.control_type == UNREADABLE:
            header = run.headers.row(index)
            summary.note_unreadable(run.positions[index], header.base_offset + header.last_offset_delta)


# Offset and length come first in a batch, and not both are 0.
ZEROS_OF_A_BATCH = 12


def _add_stretch(summary: SegmentSummary, stretch: Stretch) -> None:
    length = stretch.end - stretch.start
    if stretch.kind is not Kind.ZEROS:
        summary.note(stretch_problem(stretch))
    if stretch.kind in (Kind.ZEROS, Kind.CUT_SHORT):
        summary.bytes_tail += length
        # The first bytes of an offset are zeros as well: a few of them may be all that there is of another batch.
        if stretch.kind is Kind.CUT_SHORT or length < ZEROS_OF_A_BATCH:
            _add_tail(summary, stretch)
        return
    summary.bytes_damaged += length
    summary.damage_is_open = True


def _add_tail(summary: SegmentSummary, stretch: Stretch) -> None:
    """Add a batch that is cut short. Only a whole header tells its producer id."""
    if stretch.header is None:
        summary.damage_up_to(NOTHING_FOLLOWS)
    else:
        summary.tail_producer_id = stretch.header.producer_id
