"""Ranges of offsets of `__transaction_state` of which every record was read, and how those of several dumps join.

Compaction takes records away, so what one dump shows whole is a short stretch at the end. Ranges of earlier dumps make
it longer, but only where both are of one log. Two logs are the same up to a record that both have, if its leader epoch
is the same (KIP-101, `LeaderEpochFileCache`). So two ranges join if they share offsets and agree on the leader epoch of
each; that they touch proves nothing. After an unclean leader election or a recreated topic nothing joins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple


class EpochStart(NamedTuple):
    """A leader epoch, and the first offset of a range that was written in it."""

    epoch: int
    start_offset: int


class SeenEpoch(NamedTuple):
    """Records of one leader epoch in a copy, whatever compaction left of them: the first and the last one."""

    epoch: int
    first_offset: int
    last_offset: int


@dataclass(frozen=True, slots=True)
class WholeRange:
    """Offsets of a coordinator partition, from `from_offset` to before `to_offset`, all of whose records were read.

    `written_from` and `written_to` are when the first and the last of them were written (ms). `epochs` are in the order
    of their offsets. The first one starts at `from_offset`, or before it if the records up to there were pruned: what
    is known of their epochs still contradicts other logs.
    """

    cluster: str
    coordinator_partition: int
    topic_id: str
    from_offset: int
    to_offset: int
    written_from: int
    written_to: int
    epochs: tuple[EpochStart, ...]

    @property
    def log(self) -> tuple[str, int, str]:
        """Which log it is of; a recreated topic is another one."""
        return self.cluster, self.coordinator_partition, self.topic_id

    @property
    def known_from(self) -> int:
        """The first offset whose leader epoch is known, pruned records included."""
        return self.epochs[0].start_offset

    @property
    def first_epoch(self) -> int:
        """The leader epoch of its first record."""
        return self.epoch_at(self.from_offset)

    @property
    def is_contradiction(self) -> bool:
        """Whether it has no offsets, and says no more than that records of its log contradicted one another."""
        return self.from_offset == self.to_offset

    @property
    def is_pruned(self) -> bool:
        """Whether records of its beginning were removed."""
        return self.known_from < self.from_offset

    def epoch_at(self, offset: int) -> int:
        """The leader epoch of the record at an offset of the range, or of one that was pruned."""
        return max(each.epoch for each in self.epochs if each.start_offset <= offset)


def contradiction(log: tuple[str, int, str]) -> WholeRange:
    """What is kept of a log of which records contradicted one another: nothing is certain of it any more.

    One of them may have been the end of a transaction that the log has lost; the other one may be all that is seen of
    it later.
    """
    return WholeRange(*log, 0, 0, 0, 0, (EpochStart(0, 0),))


def differs(one: WholeRange, other: WholeRange) -> bool:
    """Whether the two cannot be of one log that lost nothing: of two records the later one has the smaller epoch."""
    if one.is_contradiction or other.is_contradiction:
        return True
    pairs = ((one, other), (other, one))
    return any(contradicts(found, seen) for found, of in pairs for seen in _seen_epochs(of))


def contradicts(found: WholeRange, seen: SeenEpoch) -> bool:
    """Whether records of an epoch somewhere else show that the range, or what they are from, lost its end.

    Leader epochs never fall from one offset to the next. So the epoch is that of the range at each of its offsets, no
    later than those after it, and no earlier than those before.
    """
    is_later_before = seen.first_offset < found.known_from and seen.epoch > found.epochs[0].epoch
    is_earlier_after = seen.last_offset >= found.to_offset and seen.epoch < found.epochs[-1].epoch
    within = (each for each in (seen.first_offset, seen.last_offset) if found.known_from <= each < found.to_offset)
    return is_later_before or is_earlier_after or any(found.epoch_at(each) != seen.epoch for each in within)


def is_of_same_time(found: WholeRange, earliest: int | None, latest: int | None) -> bool:
    """Whether the range has records of between the first and the last one of another log (ms; null of an empty one).

    A topic that was made anew has no record from before that, unless a backup was restored into it.
    """
    return earliest is not None and latest is not None and found.written_from <= latest and earliest <= found.written_to


def _seen_epochs(found: WholeRange) -> Iterable[SeenEpoch]:
    ends = (*(each.start_offset for each in found.epochs[1:]), found.to_offset)
    return (SeenEpoch(each.epoch, each.start_offset, end - 1) for each, end in zip(found.epochs, ends, strict=True))


def records_of(ranges: Iterable[WholeRange]) -> int:
    """How many records the ranges have. Where two of them differ, an offset has a record in each leader epoch."""
    spans = (
        (each.log, seen.epoch, max(seen.first_offset, each.from_offset), seen.last_offset + 1)
        for each in ranges
        for seen in _seen_epochs(each)
    )
    found = 0
    for _, of_epoch in groupby(sorted(spans), key=lambda span: span[:2]):
        end = 0
        for *_, start, to in of_epoch:
            found += max(0, to - max(start, end))
            end = max(end, to)
    return found


def joined_ranges(ranges: Iterable[WholeRange]) -> list[WholeRange]:
    """The same offsets in as few ranges as can be proved to be of one log. What differs from any other stays apart."""
    found: list[WholeRange] = []
    for _, of_log in groupby(sorted(set(ranges), key=_in_order), key=lambda each: each.log):
        agreeing, differing = _sorted_out(list(of_log))
        joined_ones: list[WholeRange] = []
        for each in agreeing:
            if joined_ones and each.known_from < joined_ones[-1].to_offset:
                joined_ones[-1] = _join(joined_ones[-1], each)
            else:
                joined_ones.append(each)
        found += sorted(joined_ones + differing, key=_in_order)
    return found


def reaching_back(own: WholeRange, archived: Iterable[WholeRange]) -> WholeRange:
    """`own`, begun as early as the ranges of its log allow; itself where none joins it, or it differs from one."""
    agreeing, differing = _sorted_out([own, *(each for each in archived if each.log == own.log)])
    if own in differing:
        return own
    return next(each for each in joined_ranges(agreeing) if each.known_from <= own.from_offset < each.to_offset)


def _in_order(each: WholeRange) -> tuple[object, ...]:
    return each.log, each.known_from, -each.to_offset, each.epochs, each.from_offset


def _sorted_out(of_log: Sequence[WholeRange]) -> tuple[list[WholeRange], list[WholeRange]]:
    """Ranges that agree with all others of the same log, and those that differ from one."""
    differing = [each for each in of_log if any(differs(each, other) for other in of_log)]
    return [each for each in of_log if each not in differing], differing


def _join(first: WholeRange, second: WholeRange) -> WholeRange:
    """Two that agree, of which the second starts within the first."""
    whole = first
    if second.to_offset > first.to_offset:
        later = tuple(each for each in second.epochs if each.start_offset >= first.to_offset)
        whole = replace(first, to_offset=second.to_offset, written_to=second.written_to, epochs=first.epochs + later)
    # Whichever was pruned: the other one's records of these offsets may be those that are gone.
    pruned = [each for each in (first, second) if each.is_pruned]
    return _begun_with(whole, max(pruned, key=lambda each: each.from_offset)) if pruned else whole


def _begun_with(whole: WholeRange, pruned: WholeRange) -> WholeRange:
    return replace(whole, from_offset=pruned.from_offset, written_from=pruned.written_from)


def without_old_holes(ranges: Iterable[WholeRange], before: int) -> list[WholeRange]:
    """The same, but what was written before `before` (ms) leaves only its leader epochs, where a range follows it.

    That is so where the hole between the two can have only one leader epoch, that of both of its ends: then they
    contradict the same logs as before.
    """
    found: list[WholeRange] = []
    for _, of_log in groupby(sorted(ranges, key=_in_order), key=lambda each: each.log):
        agreeing, differing = _sorted_out(list(of_log))
        kept: list[WholeRange] = []
        for each in agreeing:
            last = kept[-1] if kept else None
            if last is not None and last.written_to < before and last.epochs[-1].epoch == each.epochs[0].epoch:
                kept[-1] = replace(each, epochs=last.epochs + each.epochs[1:])
            else:
                kept.append(each)
        found += sorted(kept + differing, key=_in_order)
    return found
