"""Dumps of a simulated cluster: what the copies of its brokers hold, as words of `tests.logs_in_words`.

Logs are rolled, each roll with a snapshot (`ProducerStateManager.takeSnapshot`); retention removes whole segments; the
cleaner leaves the last record of each id below where it came to (`LogCleaner`), and may remove a segment while it is
copied. A copy may lack files, a replica may lag, and the coordinators may be copied before or after the rest.
"""

from __future__ import annotations

import random
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from tests.detection_cases import Case
from tests.simulation.cluster import MINUTE, PARTITIONS, Cluster, Event, Fate, Record, Transaction, open_events
from txnlog.format.coordinator import TRANSACTION_STATE


@dataclass(frozen=True)
class Dump:
    """A dump: until when its copies were taken (true time), where the logs started then, and the words of the copies.

    What retention had removed by then is nobody's to lose: no verdict decides it any more. `copied` and `recorded` are
    what it or a dump before it holds.
    """

    cluster: Cluster
    name: str
    logs_to: int
    coordinator_to: int
    is_compacted: bool
    case: Case
    copied: frozenset[Event]
    recorded: frozenset[Record]
    starts: dict[str, int]

    @property
    def now(self) -> int:
        """The end of the dump."""
        return max(self.logs_to, self.coordinator_to)

    def open(self, place: str, until: int | None = None) -> dict[int, list[Event]]:
        """The open data of each producer id by the end of the copy, or at another time."""
        end = self.logs_to if until is None else until
        left = self.cluster.logs[place][self.starts[place] :]
        return open_events(event for event in left if event.time < end)

    def written_from(self, place: str, producer_id: int, start_offset: int, removed: bool = False) -> list[Event]:
        """What is left of a producer id's data from an offset to the marker that follows, or to the end of the copy.

        `removed`: with what retention has removed of it.
        """
        first = start_offset if removed else max(start_offset, self.starts[place])
        log = [event for event in self.cluster.logs[place][first:] if event.time < self.logs_to]
        own = [event for event in log if event.producer_id == producer_id]
        return list(takewhile(lambda event: event.name == "data", own))

    def fate(self, event: Event) -> Fate:
        """What has become of a batch by the end of the dump, as far as anything in it can tell.

        Of a commit that its coordinator lost in an unclean election, its COMMIT markers are the only trace, and its
        records in earlier dumps.
        """
        owner = event.owner
        if owner is None or (owner.is_forgotten(self.now) and not self._has_trace(owner)):
            return Fate.ORPHAN
        return owner.fate(self.now)

    def _has_trace(self, owner: Transaction) -> bool:
        markers = (each.owner for each in self.copied if each.name == "commit")
        decided = (each.owner for each in self.recorded if each.state.startswith("prepare"))
        return any(each is owner for each in (*markers, *decided))


@dataclass
class Disks:
    """What does not change from one dump to the next: where logs were rolled, and how far each was cleaned so far."""

    dice: random.Random
    rolls: dict[str, set[int]] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTITIONS, 0))
    cleaned: dict[tuple[int, int], int] = field(default_factory=dict)
    copied: set[Event] = field(default_factory=set)
    recorded: set[Record] = field(default_factory=set)

    def dump(self, cluster: Cluster, name: str, logs_to: int, coordinator_to: int) -> Dump:
        """A dump of that time."""
        self.copied = set()
        logs = {f"{TRANSACTION_STATE}-{n}@2": words for n, words in self._coordinators(cluster, coordinator_to, 2)}
        seen_to = coordinator_to
        if self._one_in(3):
            followed_to = logs_to - self.dice.choice([0, 5_000, 30_000])
            seen_to = max(seen_to, followed_to)
            followed = self._coordinators(cluster, followed_to, 3)
            logs |= {f"{TRANSACTION_STATE}-{n}@3": words for n, words in followed}
        for place in PARTITIONS:
            if not self._one_in(25):
                logs |= self._partition(cluster, place, logs_to)
        # Each copy takes a moment: what it has is of any time within.
        copied = {
            broker: ((end - self.dice.choice([0, 20_000])) / MINUTE, (end + self.dice.choice([0, 20_000])) / MINUTE)
            for broker, end in (("1", logs_to), ("2", coordinator_to), ("3", logs_to))
        }
        stated = None if self._one_in(3) else len(cluster.coordinators)
        modified = max(logs_to, coordinator_to) / MINUTE
        case = Case(
            f"seed {cluster.seed}", None, None, logs=logs, copied=copied, coordinators=stated, modified=modified
        )
        is_compacted, known = any(self.cleaned.values()), (frozenset(self.copied), frozenset(self.recorded))
        return Dump(cluster, name, logs_to, seen_to, is_compacted, case, *known, dict(self.starts))

    def coordinators_alone(self, cluster: Cluster, until: int) -> Case:
        """What `txnlog archive` is given: the coordinators' logs of a time."""
        logs = {f"{TRANSACTION_STATE}-{n}@2": words for n, words in self._coordinators(cluster, until, 2)}
        times = {"2": (until / MINUTE, until / MINUTE)}
        count, modified = len(cluster.coordinators), until / MINUTE
        return Case(f"seed {cluster.seed}", None, None, logs=logs, copied=times, coordinators=count, modified=modified)

    def _one_in(self, count: int) -> bool:
        return self.dice.randrange(count) == 0

    def _coordinators(self, cluster: Cluster, until: int, broker: int) -> Iterator[tuple[int, str]]:
        """The copies of a broker, which has cleaned them for itself."""
        cleans = self._one_in(3)
        for number in range(len(cluster.coordinators)):
            records, election = cluster.coordinator_log(number, until), cluster.unclean_elections.get(number)
            before = self.cleaned.get((broker, number), 0)
            if election and until > election.time:
                before = min(before, election.first_lost)
            self.cleaned[broker, number] = (
                self.dice.randint(before, len(records)) if cleans and before < len(records) else before
            )
            cleaned_to = self.cleaned[broker, number]
            # The cleaner merges segments while they are copied: one that it has removed is in no copy.
            vanished = range(*sorted(self.dice.choices(range(cleaned_to + 1), k=2))) if self._one_in(6) else range(0)
            if len(cluster.coordinators) == 1 or not self._one_in(10):
                there = list(left(records, cleaned_to, vanished))
                self.recorded.update(record for _, record in there)
                words = [
                    f"skip({offset}) {record.words(cluster.coordinator_epoch(number, record))}"
                    for offset, record in there
                ]
                words += [f"cleaned_to({cleaned_to})"] if cleaned_to else []
                # Half of the copies that lack no segment have a listing that says so.
                words += [f"listed@{until // MINUTE}"] if not vanished and until % 2 == 0 else []
                yield number, " ".join([*words, f"high_watermark({len(records)})", "topic(t)"])

    def _partition(self, cluster: Cluster, place: str, until: int) -> dict[str, str]:
        """The copies of a partition by their names: that of its leader, and perhaps one of a follower."""
        log = cluster.logs[place]
        rolls = self.rolls.setdefault(place, {n for n in range(1, len(log)) if self._one_in(5)})
        here = sum(event.time < until for event in log)
        if self._one_in(6):
            self.starts[place] = max([each for each in rolls if self.starts[place] <= each <= here] or [0])
        words = self._words(cluster, place, self.starts[place], here, rolls)
        # Listed before it was copied, and nothing has come since.
        is_listed = here > self.starts[place] and words and self._one_in(2)
        listed = f" listed@{cluster.clock(place, log[here - 1].time)}" if is_listed else ""
        found = {f"{place}@1": words + listed}
        if self._one_in(6):
            # In sync: it has what was written half a minute ago (replica.lag.time.max.ms).
            followed_to = until - self.dice.choice([0, 5_000, 30_000])
            lag = sum(event.time < followed_to for event in log)
            found[f"{place}@3"] = self._words(cluster, place, min(self.starts[place], lag), lag, rolls)
        return {name: words for name, words in found.items() if words}

    def _words(self, cluster: Cluster, place: str, start: int, end: int, rolls: set[int]) -> str:
        log = cluster.logs[place]
        bases = sorted({start, *(each for each in rolls if start <= each <= end)})
        lost = self.dice.choice(bases) if self._one_in(25) else None
        segments, snapshots = [], []
        for base, following in zip(bases, [*bases[1:], end], strict=True):
            if base != lost:
                segments.append(f"segment({base})")
                self.copied |= set(log[base:following])
                segments += [
                    log[at].word(at, cluster.leader_epoch(place, log[at].time)) for at in range(base, following)
                ]
            if base:
                snapshots += [f"snapshot({base})", *_snapshot(log, base)]
        if not segments:
            return ""
        told = [] if start == 0 else [f"log_start({start})"]
        told.append("no_checkpoint" if self._one_in(10) else f"high_watermark({end})")
        if not self._one_in(5):
            told.append(f"epochs({start}, {max(start, self._last_epoch_from(cluster, place, end))})")
        return " ".join([*segments, *snapshots, *told])

    def _last_epoch_from(self, cluster: Cluster, place: str, end: int) -> int:
        log = cluster.logs[place][:end]
        last = cluster.leader_epoch(place, log[-1].time) if log else 1
        return sum(cluster.leader_epoch(place, event.time) < last for event in log)


@dataclass(frozen=True)
class Series:
    """What is read of a cluster, one after the other: dumps, and before each what the archive is given."""

    dumps: list[Dump]
    archived: list[list[Case]]


def dumps_of(seed: int, archives: int = 0) -> Series:
    """A cluster of this seed and one or two dumps of it, before each of them `archives` copies for the archive."""
    cluster, dice = Cluster(seed), random.Random(-seed - 1)
    cluster.play(2000 * MINUTE)
    # Half of them in the middle of something.
    busy = [event.time + dice.randint(1, 100) for log in cluster.logs.values() for event in log] or [400 * MINUTE]
    times = [dice.choice([dice.choice(busy), dice.choice([1000, 700, 400]) * MINUTE])]
    if dice.random() < 0.4:
        times.append(times[0] + dice.choice([5, 60, 400]) * MINUTE)
    ends = [(time, time + dice.choice([30_000, 30_000, 5 * MINUTE, -5 * MINUTE, -200 * MINUTE])) for time in times]
    for _ in range(dice.randint(0, 1)):
        cluster.abort_by_hand(dice.randint(1, times[-1]))
    disks, before, series = Disks(dice), 1, Series([], [])
    for number, (logs_to, coordinator_to) in enumerate(ends):
        moments = sorted(dice.randint(min(before, coordinator_to), coordinator_to) for _ in range(archives))
        series.archived.append([disks.coordinators_alone(cluster, moment) for moment in moments])
        series.dumps.append(disks.dump(cluster, f"seed {seed} dump {number}", logs_to, coordinator_to))
        before = coordinator_to
    return series


def left(records: list[Record], cleaned_to: int, vanished: Container[int] = ()) -> Iterator[tuple[int, Record]]:
    """What the cleaner has left of a coordinator's log, of which it compacted what lies below an offset.

    `vanished` are the offsets of a segment that the cleaner removed under the copy.
    """
    last_of = {record.transactional_id: offset for offset, record in enumerate(records[:cleaned_to])}
    for offset, record in enumerate(records):
        if offset in vanished:
            continue
        is_last = last_of.get(record.transactional_id) == offset
        # A tombstone goes as well, a day after it became the last of its key.
        if offset >= cleaned_to or (is_last and not (record.state == "tombstone" and offset + 3 < cleaned_to)):
            yield offset, record


def _snapshot(log: list[Event], base: int) -> Iterator[str]:
    last_of = {event.producer_id: event for event in log[:base]}
    for producer_id, last in last_of.items():
        if last.name != "data":
            yield f"snapshot({base}, ended, of={producer_id}, epoch={last.epoch})@{last.said}"
    for producer_id, events in open_events(log[:base]).items():
        given = f"open={log.index(events[0])}, of={producer_id}, epoch={events[-1].epoch}"
        yield f"snapshot({base}, {given})@{events[-1].said}"
