"""Logs written as lines of words; `tests.logs_as_rows` has the rows that a dump of them has.

`data(0) commit(1) data(2)` is a partition whose producer writes at offset 0, commits, and writes again. A word is
`name(what, key=value)@time[partitions]`; time is minutes, or minutes:seconds, since `START`, and stays until the next
word that has one. Words of partitions:

    data(0) data(0..4, of=8, epoch=1)    a transactional batch; of = producer id 7 and epoch = 0 unless told
    data(0, since=5, records=3, bytes=9) the minute of its first record; what compaction left of it; leader=2, crc=3
    idempotent(0) plain(0)               data that is not transactional; without a producer id
    commit(1) abort(1)                   a marker, `by=` its coordinator epoch
    control(1, type=LEADER_CHANGE)       another control batch; without a type one that has lost its record
    data(0, damaged) data(0, appended)   with a wrong checksum; with the broker's clock (LogAppendTime)
    snapshot(5) snapshot(5, open=2)      a producer snapshot at offset 5, and what it holds open; `damaged`
    snapshot(5, ended)                   it remembers a marker at this time, and nothing that is open
    index(2)                             the transaction index says that the transaction from offset 2 was aborted

Words of coordinators, in the order of their offsets (`skip(9)` goes on at offset 9, where compaction left a gap):

    id(app, of=7)                        whose records follow; also epoch, timeout in minutes, version
    empty ongoing@10[orders-0] prepare_commit@20 prepare_abort complete@21 tombstone@30
    ongoing(previous=6, next=9, epoch=1, written=25)   written: minutes, where its batch is later than it says
    prepare_commit(began=5)              when its transaction began, where no earlier record of it says so
    empty(coordinator=2) unreadable      the coordinator's epoch; a record with a problem

Words of both: `segment(5)` starts one, `hidden(5)` is one that could not be opened, `damage(5)` or `damage(end)` says
below which offset it lies, `tail(7)` ends the log in a batch of producer 7 that is cut short, `zeros(9)` in bytes that
are preallocated, `missing(9)` in a copy of which a listing has that many bytes more, `listed@10` says when a listing
had it as long as it is, `modified@10` when the segment or the snapshot that was named last was last written, in a copy
that keeps files' times, `high_watermark(5)` (the log's end unless told; `no_checkpoint`), `log_start(5)`,
`cleaned_to(5)`, `epochs(0, 9)` where the first and the last epoch of leader-epoch-checkpoint start (`last=6` is which
one that is), `metadata@10` when partition.metadata was written, in such a copy, and `topic(a)` the topic id in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

START = 1_767_225_600_000
MINUTE = 60_000
WORD = re.compile(r"(\w+)(?:\(([^)]*)\))?(?:@([-\w:.]+))?(?:\[([^\]]*)\])?")


@dataclass(frozen=True)
class Word:
    """One word: its name, its first argument, the others by name (a bare one is true), time and partitions."""

    name: str
    what: str
    given: dict[str, str]
    time: str | None
    listed: list[tuple[str, int]] | None

    def number(self, key: str, otherwise: int) -> int:
        return int(self.given.get(key, otherwise))


def words(line: str) -> Iterator[Word]:
    """The words of a line."""
    rest = re.sub(r",\s+", ",", line)
    for text in rest.split():
        match = WORD.fullmatch(text)
        assert match, f"{text!r} is not a word"
        name, arguments, time, listed = match.groups()
        first, *others = (arguments or "").split(",")
        what, named = ("", [first, *others]) if "=" in first else (first, others)
        given = dict((*each.split("="), "true")[:2] for each in named)
        yield Word(name, what, given, time, None if listed is None else partitions(listed))


def partitions(text: str) -> list[tuple[str, int]]:
    """Topic partitions from `orders-0,payments-3`."""
    return [(each.rpartition("-")[0], int(each.rpartition("-")[2])) for each in text.split(",") if each]


def instant(minutes: str) -> int:
    """Ms since 1970 from `10`, `10:03` or `10:03.250`; `none` is -1, what a producer without a clock sends."""
    if minutes == "none":
        return -1
    whole, _, seconds = minutes.partition(":")
    return START + int(float(whole) * MINUTE) + int(float(seconds or 0) * 1000)
