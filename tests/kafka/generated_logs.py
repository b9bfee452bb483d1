"""Logs as no one would write them by hand: many producers, fences, markers out of place, holes, rolls, both versions.

A log is a string of bytes that hypothesis draws; each three turn into what a producer, a coordinator or the cleaner
does next. Kafka's replay takes them all: whatever a broker would refuse from a client, it takes from its own disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import writer
from tests.writer import CODECS, CONTROL, LOG_APPEND_TIME, TRANSACTIONAL

PRODUCERS = 4
DETAILS = 12
FIRST_PRODUCER_ID = 1000
LARGEST_SEQUENCE = 2**31 - 1
# Three bytes a step. Drawn as one value, which is ten times as fast as a list of numbers.
LOGS = st.binary(min_size=3 * 8, max_size=3 * 48)


@dataclass(frozen=True)
class Entry:
    """A batch in terms of its fields. `kind`: data, COMMIT, ABORT or LEADER_CHANGE; `kept`: offsets left in it."""

    kind: str
    base_offset: int
    last_offset: int
    timestamp: int
    leader_epoch: int
    kept: tuple[int, ...] = ()
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    coordinator_epoch: int = 0
    codec: str = "none"
    is_transactional: bool = False
    is_log_append_time: bool = False
    is_emptied: bool = False

    def content(self) -> bytes:
        """As `tests.writer` writes it."""
        if self.is_emptied:
            return self._batch([], attributes=self._attributes(), base_timestamp=-1)
        if self.kind == "LEADER_CHANGE":
            # By LeaderChangeMessage: version 0, leader 0, no voters, no voters that granted, no tags.
            value = bytes.fromhex("000000000000010100")
            return self._batch([writer.record(value, b"\0\0\0\2")], attributes=CONTROL)
        if self.kind == "data":
            records = [
                writer.record(b"value-%d" % offset, offset_delta=offset - self.base_offset) for offset in self.kept
            ]
            return self._batch(records, codec=self.codec, attributes=self._attributes())
        return writer.marker(
            self.base_offset,
            self.producer_id,
            self.producer_epoch,
            {"ABORT": writer.ABORT, "COMMIT": writer.COMMIT}[self.kind],
            self.coordinator_epoch,
            base_timestamp=self.timestamp,
            max_timestamp=self.timestamp,
            partition_leader_epoch=self.leader_epoch,
        )

    def _attributes(self) -> int:
        is_marker = self.kind not in ("data", "LEADER_CHANGE")
        flags = (
            (self.is_transactional, TRANSACTIONAL),
            (self.is_log_append_time, LOG_APPEND_TIME),
            (is_marker, CONTROL),
        )
        return sum(flag for holds, flag in flags if holds)

    def _batch(self, records: list[bytes], base_timestamp: int | None = None, **how: Any) -> bytes:
        return writer.batch(
            self.base_offset,
            records,
            last_offset_delta=self.last_offset - self.base_offset,
            base_timestamp=self.timestamp if base_timestamp is None else base_timestamp,
            max_timestamp=self.timestamp,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            partition_leader_epoch=self.leader_epoch,
            **how,
        )

    def __str__(self) -> str:
        whose = "" if self.producer_id < 0 else f" of {self.producer_id} at epoch {self.producer_epoch}"
        kind = (
            "idempotent" if self.kind == "data" and self.producer_id >= 0 and not self.is_transactional else self.kind
        )
        left = " emptied" if self.is_emptied else f" kept {list(self.kept)}" if self.kind == "data" else ""
        return f"{self.base_offset}..{self.last_offset} {kind}{whose}{left}"


@dataclass
class Producer:
    """What a producer and its coordinator know of one another."""

    producer_id: int
    epoch: int = 0
    sequence: int = 0
    is_open: bool = False
    last_marker: Entry | None = None


@dataclass
class Log:
    """Segments of entries, by the base offset in their names."""

    segments: dict[int, list[Entry]] = field(default_factory=lambda: {0: []})
    next_offset: int = 0
    leader_epoch: int = 0
    coordinator_epoch: int = 3
    clock: int = writer.NOW
    producers: list[Producer] = field(
        default_factory=lambda: [Producer(FIRST_PRODUCER_ID + number) for number in range(PRODUCERS)]
    )

    @property
    def last_segment(self) -> list[Entry]:
        """The entries of the segment that is appended to."""
        return self.segments[max(self.segments)]

    @property
    def is_plain(self) -> bool:
        """Whether nothing in it is compressed: then it has only one spelling in bytes."""
        return all(entry.codec == "none" for entries in self.segments.values() for entry in entries)

    def append(self, entry: Entry) -> Entry:
        """Add an entry at its end."""
        self.last_segment.append(entry)
        self.next_offset = entry.last_offset + 1
        self.clock += 7
        return entry

    def data(self, producer: Producer | None, epoch: int, detail: int, *, is_transactional: bool) -> Entry:
        """A batch of one to three records; the detail says how many, with which codec and whose clock."""
        first, count = self.next_offset, detail % 3 + 1
        entry = Entry(
            kind="data",
            base_offset=first,
            last_offset=first + count - 1,
            timestamp=self.clock,
            leader_epoch=self.leader_epoch,
            kept=tuple(range(first, first + count)),
            codec=CODECS[detail - 7] if detail > 6 else "none",
            is_log_append_time=detail == 5,
            is_transactional=is_transactional,
        )
        if producer is not None:
            sequence, producer.sequence = producer.sequence, (producer.sequence + count) % (LARGEST_SEQUENCE + 1)
            entry = replace(entry, producer_id=producer.producer_id, producer_epoch=epoch, base_sequence=sequence)
            producer.is_open |= is_transactional
        return self.append(entry)

    def marker(self, producer: Producer, kind: str, epoch: int, coordinator_epoch: int | None = None) -> None:
        """A marker, whether or not there is anything to end."""
        offset = self.next_offset
        if epoch != producer.epoch:
            producer.sequence = 0
        coordinator = self.coordinator_epoch if coordinator_epoch is None else coordinator_epoch
        fields = (kind, offset, offset, self.clock, self.leader_epoch, (), producer.producer_id, epoch)
        producer.last_marker = self.append(Entry(*fields, coordinator_epoch=coordinator, is_transactional=True))
        producer.is_open = False

    def text(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each segment as `judge/Write.java` takes it."""
        for base, entries in self.segments.items():
            yield f"{base:020}.log", {"batches": [asdict(entry) for entry in entries]}

    def __str__(self) -> str:
        lines = [f"segment {base}: " + "; ".join(map(str, self.segments[base])) for base in sorted(self.segments)]
        return "\n".join(lines)


def log_of(steps: bytes) -> Log:
    """The log that these steps leave: an action, whose, and a detail of it."""
    log = Log()
    for action, whose, detail in zip(steps[::3], steps[1::3], steps[2::3], strict=False):
        ACTIONS[action % len(ACTIONS)](log, log.producers[whose % PRODUCERS], detail % DETAILS)
    if not log.segments[0]:
        log.data(None, -1, 0, is_transactional=False)
    return log


def different_logs(count: int) -> list[Log]:
    """So many logs, no two of which are the same."""
    found: dict[str, Log] = {}

    @settings(max_examples=count + count // 10, database=None, suppress_health_check=list(HealthCheck))
    @given(LOGS)
    def collect(steps: bytes) -> None:
        if len(found) < count:
            log = log_of(steps)
            found.setdefault(str(log), log)

    collect()
    assert len(found) == count
    return list(found.values())


def write_log(log: Log, folder: Path) -> None:
    """Its segments, as files of a folder."""
    folder.mkdir(parents=True)
    for base, entries in log.segments.items():
        (folder / f"{base:020}.log").write_bytes(b"".join(entry.content() for entry in entries))


def _transactional(log: Log, producer: Producer, detail: int) -> None:
    log.data(producer, producer.epoch, detail, is_transactional=True)


def _commit(log: Log, producer: Producer, detail: int) -> None:
    log.marker(producer, "COMMIT", producer.epoch)


def _abort(log: Log, producer: Producer, detail: int) -> None:
    log.marker(producer, "ABORT", producer.epoch)


def _fence(log: Log, producer: Producer, detail: int) -> None:
    log.marker(producer, "ABORT", producer.epoch + 1)
    producer.epoch += 1


def _end_at_next_epoch(log: Log, producer: Producer, detail: int) -> None:
    """Transaction version 2: each marker is at the next epoch; 4.0 could skip one."""
    epoch = producer.epoch + (2 if detail == 0 else 1)
    log.marker(producer, "ABORT" if detail % 2 else "COMMIT", epoch)
    producer.epoch = epoch


def _again(log: Log, producer: Producer, detail: int) -> None:
    """A marker that a coordinator sends twice."""
    if producer.last_marker is not None:
        log.marker(producer, producer.last_marker.kind, producer.last_marker.producer_epoch)


def _late(log: Log, producer: Producer, detail: int) -> None:
    """A write of before the last fence."""
    log.data(producer, max(producer.epoch - 1, 0), detail, is_transactional=True)


def _idempotent(log: Log, producer: Producer, detail: int) -> None:
    if not producer.is_open:
        log.data(producer, producer.epoch, detail, is_transactional=False)


def _plain(log: Log, producer: Producer, detail: int) -> None:
    log.data(None, -1, detail, is_transactional=False)


def _leader_change(log: Log, producer: Producer, detail: int) -> None:
    """A new leader; raft logs write that down as a control batch."""
    log.leader_epoch += 1
    if detail % 2:
        offset = log.next_offset
        log.append(Entry("LEADER_CHANGE", offset, offset, log.clock, log.leader_epoch))


def _coordinator_change(log: Log, producer: Producer, detail: int) -> None:
    log.coordinator_epoch += 1


def _stale_marker(log: Log, producer: Producer, detail: int) -> None:
    """By an old coordinator, or of an old epoch: a replica takes either."""
    if detail % 2:
        log.marker(producer, "ABORT", producer.epoch, coordinator_epoch=0)
    else:
        log.marker(producer, "COMMIT", max(producer.epoch - 1, 0))


def _roll(log: Log, producer: Producer, detail: int) -> None:
    if log.last_segment:
        log.segments[log.next_offset] = []


def _last_of(log: Log, wanted: Callable[[Entry], bool]) -> tuple[list[Entry], int] | None:
    for base in sorted(log.segments, reverse=True):
        entries = log.segments[base]
        for index in range(len(entries) - 1, -1, -1):
            if wanted(entries[index]):
                return entries, index
    return None


def _hole(log: Log, producer: Producer, detail: int) -> None:
    """The cleaner drops a batch, takes all or some of its records, or the record of a marker."""
    kinds = (("COMMIT", "ABORT"), ("data",))[detail % 2]
    found = _last_of(log, lambda entry: entry.kind in kinds and entry.producer_id == producer.producer_id)
    if found is None:
        return
    entries, index = found
    entry = entries[index]
    if detail < 4:
        # A whole data batch only: without its marker an idempotent batch may follow, which Kafka then refuses.
        if entry.kind == "data":
            del entries[index]
    elif entry.kind == "data" and detail < 8 and len(entry.kept) > 1:
        entries[index] = replace(entry, kept=entry.kept[detail % 4 - 2 :])
    elif entry.kind == "data":
        entries[index] = replace(entry, is_emptied=True, codec="none", kept=(), is_log_append_time=False)
    else:
        entries[index] = replace(entry, is_emptied=True)
        producer.is_open = True


def _near_the_largest(log: Log, producer: Producer, detail: int) -> None:
    """Sequence numbers start again at 0, epochs end at 32767."""
    producer.sequence = LARGEST_SEQUENCE - detail % 3
    if detail == 11:
        producer.epoch = min(producer.epoch + 32_000, 32_600)


ACTIONS = (
    *(_transactional,) * 5,
    _commit,
    _commit,
    _abort,
    _fence,
    _end_at_next_epoch,
    _end_at_next_epoch,
    _again,
    _late,
    _idempotent,
    _plain,
    _leader_change,
    _coordinator_change,
    _stale_marker,
    _roll,
    _hole,
    _near_the_largest,
)
