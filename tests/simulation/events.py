"""What is written in a simulated cluster: transactions, and events and records in the order of their logs.

Times are ms of true time since the start; what a clock says is written into words of `tests.logs_in_words`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field

MINUTE = 60_000


class Fate(enum.Enum):
    """What became of the data, as far as any application was told."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    ORPHAN = "of no transaction that could end it"
    UNDECIDED = "of a transaction that is not decided"


@dataclass(eq=False)
class Transaction:
    """One transaction of an id: which partitions it added, how it was decided and when (true time)."""

    transactional_id: str
    producer_id: int
    partitions: tuple[str, ...]
    start: int
    decided: int | None = None
    commits: bool = False
    forgotten_at: int | None = None

    def is_forgotten(self, now: int) -> bool:
        """Whether its coordinator had lost its records by then."""
        return self.forgotten_at is not None and self.forgotten_at <= now

    def fate(self, now: int) -> Fate:
        """What became of its data by then."""
        if self.is_forgotten(now) and self.decided is None:
            return Fate.ORPHAN
        if self.decided is None or self.decided > now:
            return Fate.UNDECIDED
        return Fate.COMMITTED if self.commits else Fate.ABORTED


@dataclass(eq=False)
class Event:
    """A batch or marker in a partition.

    `said` is what its clock says; `owner` is None for data of no transaction and an administrator's marker; `sent` is
    when its coordinator sent a marker.
    """

    time: int
    name: str
    producer_id: int
    epoch: int
    said: str
    owner: Transaction | None = None
    others: str = ""
    crc: int = 0
    sent: int = 0

    def word(self, offset: int, leader: int, coordinator: int) -> str:
        """The word at an offset, of the leader epoch of its partition and, of a marker, of its coordinator's."""
        by = "" if self.name == "data" else f", by={coordinator}"
        given = f"of={self.producer_id}, epoch={self.epoch}, leader={leader}, crc={self.crc}{by}{self.others}"
        return f"{self.name}({offset}, {given})@{self.said}"


@dataclass(eq=False)
class Record:
    """A record of a coordinator: when it was appended, whose it is, and what it says."""

    time: int
    transactional_id: str
    state: str
    of: str
    others: str
    said: str
    owner: Transaction | None = None

    @property
    def is_decision(self) -> bool:
        """Whether it says how a transaction ends."""
        return self.state.startswith("prepare")

    def words(self, leader: int) -> str:
        """The words of it, written in that leader epoch."""
        places = f"[{','.join(self.owner.partitions)}]" if self.owner else ""
        return f"{self.of} {self.state}(coordinator={leader}{self.others})@{self.said}{places}"


@dataclass
class UncleanElection:
    """A coordinator's new leader lacks what was written from an offset on."""

    time: int
    first_lost: int
    lost: list[Record]


@dataclass
class Id:
    """A transactional id and its producer: how far its clock is off, whether it writes event time instead.

    `version` is that of the transactions of its client, `recorded` that in the id's last record.
    """

    name: str
    producer_id: int
    version: int
    recorded: int = 0
    epoch: int = 0
    clock: int = 0
    writes_event_time: bool = False
    two_phase: bool = False
    # Its last request to commit (True) and to abort: the epoch, and when that transaction had ended.
    requests: dict[bool, tuple[int, int]] = field(default_factory=dict)


def open_events(events: Iterable[Event]) -> dict[int, list[Event]]:
    """The data after the last marker of each producer id."""
    found: dict[int, list[Event]] = {}
    for event in events:
        if event.name == "data":
            found.setdefault(event.producer_id, []).append(event)
        else:
            found.pop(event.producer_id, None)
    return found


def minutes(time: int) -> str:
    """Ms as `minutes:seconds` of the words."""
    return f"{time // MINUTE}:{time % MINUTE // 1000:02}.{time % 1000:03}"
