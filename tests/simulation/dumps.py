"""Dumps of a simulated cluster: what the copies of its brokers hold, as words of `tests.logs_in_words`.

Logs are rolled, each roll with a snapshot (`ProducerStateManager.takeSnapshot`); retention removes whole segments; the
cleaner leaves the last record of each id below where it came to (`LogCleaner`), and may remove a segment while it is
copied. A copy may lack files, a replica may lag, and the coordinators may be copied before or after the rest.
"""

from __future__ import annotations

import random
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile

from tests.detection_cases import Case
from tests.simulation.cluster import PARTITIONS, Cluster
from tests.simulation.events import MINUTE, Event, Fate, Record, Transaction, open_events
from txnlog.format.coordinator import TRANSACTION_STATE

# How much later than one broker another one is copied.
APART_MS = (0, 0, 30_000, 5 * MINUTE, 60 * MINUTE, -60 * MINUTE)
# A transaction hangs that is open for so long.
HANGS_MS = 30 * MINUTE


@dataclass(frozen=True)
class Copy:
    """A broker's copy of a log: until when it was taken (true time), its words, what it holds, and whether it lags."""

    until: int
    words: str
    holds: frozenset[Event | Record]
    lags: bool = False


@dataclass(frozen=True)
class Dump:
    """A dump: until when the last log was copied (true time), its copies by name, and where the logs started then.

    What retention had removed by then is nobody's to lose: no verdict decides it any more. `recorded` are the records
    that dumps before it hold.
    """

    cluster: Cluster
    name: str
    logs_to: int
    is_compacted: bool
    case: Case
    copies: dict[str, Copy]
    recorded: frozenset[Record]
    starts: dict[tuple[str, str], int]

    @property
    def coordinator_to(self) -> int:
        """Until when the coordinators were copied."""
        ends = (copy.until for name, copy in self.copies.items() if name.startswith(TRANSACTION_STATE))
        return max(ends, default=self.logs_to)

    @property
    def is_apart(self) -> bool:
        """Whether it is judged in tables of its own, beside the cluster's."""
        return self.case.id != f"seed {self.cluster.seed}"

    @property
    def is_smaller(self) -> bool:
        """Whether it lacks copies that another one of the same moment has."""
        return self.case.id.endswith("smaller")

    def end(self, place: str, topic_id: str | None = None) -> int:
        """Until when a partition was copied, or one of a topic that is gone, which a replica may still have."""
        ends = {copy.until for name, copy in self.copies.items() if _log(name) == place}
        of_topic = {end for end in ends if topic_id in (None, self.cluster.topic_id(place, end))}
        return max(of_topic, default=self.logs_to)

    @property
    def now(self) -> int:
        """The end of the dump."""
        return max(self.logs_to, self.coordinator_to)

    def open(self, place: str, until: int | None = None) -> dict[int, list[Event]]:
        """The open data of each producer id by the end of the copy, or at another time."""
        end = self.end(place) if until is None else until
        left = self.cluster.log(place, end)[self._start(place, end) :]
        return open_events(event for event in left if event.time < end)

    def written_from(
        self, place: str, producer_id: int, start_offset: int, topic_id: str | None = None, removed: bool = False
    ) -> list[Event]:
        """What is left of a producer id's data from an offset to the marker that follows, or to the end of the copy.

        `removed`: with what retention has removed of it.
        """
        end = self.end(place, topic_id)
        first = start_offset if removed else max(start_offset, self._start(place, end))
        log = [event for event in self.cluster.log(place, end)[first:] if event.time < end]
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
        here = {each for copy in self.copies.values() for each in copy.holds} | self.recorded
        return any(
            each.owner is owner and (each.name == "commit" if isinstance(each, Event) else each.is_decision)
            for each in here
        )

    def _start(self, place: str, now: int) -> int:
        return self.starts.get((place, self.cluster.topic_id(place, now)), 0)

    def smaller(self, left: Container[str]) -> Dump:
        """The same moment with these copies alone, in tables of its own."""
        copies = {name: copy for name, copy in self.copies.items() if name in left}
        logs = {name: copy.words for name, copy in copies.items()}
        case = replace(self.case, id=f"{self.case.id} smaller", logs=logs)
        return replace(self.alone("smaller"), logs_to=_logs_to(copies, self.logs_to), copies=copies, case=case)

    def alone(self, called: str = "alone") -> Dump:
        """The same dump in tables of its own, which have no earlier one."""
        case = replace(self.case, id=f"{self.case.id} {called}")
        return replace(self, name=f"{self.name} {called}", case=case, recorded=frozenset())


@dataclass
class Disks:
    """What does not change from one dump to the next: where logs were rolled, and how far each was cleaned so far.

    Partitions by their names and the ids of their topics. `compacts`: whether the cleaner takes anything away.
    """

    dice: random.Random
    compacts: bool = True
    rolls: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    starts: dict[tuple[str, str], int] = field(default_factory=dict)
    cleaned: dict[tuple[int, int], int] = field(default_factory=dict)
    recorded: set[Record] = field(default_factory=set)

    def dump(self, cluster: Cluster, name: str, logs_to: int, coordinator_to: int) -> Dump:
        """A dump of that time."""
        recorded = frozenset(self.recorded)
        copies = dict(self._coordinators(cluster, coordinator_to, 2))
        if self._one_in(3):
            lag = self.dice.choice([0, 5_000, 30_000])
            of_follower = self._coordinators(cluster, logs_to - lag, 3)
            copies |= {name: replace(copy, lags=lag > 0) for name, copy in of_follower}
        # Each broker was copied when its turn came.
        ends = {"1": logs_to, "2": coordinator_to, "3": logs_to, "4": logs_to + self.dice.choice(APART_MS)}
        for place in PARTITIONS:
            if not self._one_in(25):
                copies |= self._partition(cluster, place, self.dice.choice(["1", "1", "4"]), ends)
        copied = {broker: self._copied(end) for broker, end in ends.items()}
        stated = None if self._one_in(3) else len(cluster.coordinators)
        logs_to = _logs_to(copies, logs_to)
        modified = max(logs_to, coordinator_to) / MINUTE
        logs = {each: copy.words for each, copy in copies.items()}
        case = Case(self.called(cluster), None, None, logs=logs, copied=copied, coordinators=stated, modified=modified)
        is_compacted = self.compacts and any(self.cleaned.values())
        return Dump(cluster, name, logs_to, is_compacted, case, copies, recorded, dict(self.starts))

    def _copied(self, until: int) -> tuple[float, float | None]:
        """From when to when a copy was taken that has what was there in between; where no end is stated, it is any."""
        if self._one_in(8):
            return (until - self.dice.choice([0, 20_000, 25 * MINUTE])) / MINUTE, None
        return (until - self.dice.choice([0, 20_000])) / MINUTE, (until + self.dice.choice([0, 20_000])) / MINUTE

    def coordinators_alone(self, cluster: Cluster, until: int) -> Case:
        """What `txnlog archive` is given: the coordinators' logs of a time."""
        logs = {name: copy.words for name, copy in self._coordinators(cluster, until, 2)}
        times = {"2": (until / MINUTE, until / MINUTE)}
        count, modified = len(cluster.coordinators), until / MINUTE
        return Case(self.called(cluster), None, None, logs=logs, copied=times, coordinators=count, modified=modified)

    def called(self, cluster: Cluster) -> str:
        """The name of the cluster."""
        return f"seed {cluster.seed}" if self.compacts else f"seed {cluster.seed} never compacted"

    def _one_in(self, count: int) -> bool:
        return self.dice.randrange(count) == 0

    def _coordinators(self, cluster: Cluster, until: int, broker: int) -> Iterator[tuple[str, Copy]]:
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
                there = list(left(records, cleaned_to, vanished) if self.compacts else enumerate(records))
                self.recorded.update(record for _, record in there)
                words = [
                    f"skip({offset}) {record.words(cluster.coordinator_epoch(number, record.time))}"
                    for offset, record in there
                ]
                words += [f"cleaned_to({cleaned_to})"] if cleaned_to and self.compacts else []
                # Half of the copies that lack no segment have a listing that says so.
                words += [f"listed@{until // MINUTE}"] if not vanished and until % 2 == 0 else []
                line = " ".join([*words, f"high_watermark({len(records)})", "topic(t)"])
                yield f"{TRANSACTION_STATE}-{number}@{broker}", Copy(until, line, frozenset(r for _, r in there))

    def _partition(self, cluster: Cluster, place: str, leader: str, ends: Mapping[str, int]) -> dict[str, Copy]:
        """The copies of a partition by their names: that of its leader, and perhaps one of a follower."""
        until = ends[leader]
        log, topic = cluster.log(place, until), (place, cluster.topic_id(place, until))
        rolls = self.rolls.setdefault(topic, {n for n in range(1, len(log)) if self._one_in(5)})
        here, start = sum(event.time < until for event in log), self.starts.get(topic, 0)
        if self._one_in(6):
            self.starts[topic] = start = max([each for each in rolls if start <= each <= here] or [0])
        copy = self._copy(cluster, place, until, until)
        # Listed before it was copied, and nothing has come since.
        is_listed = here > start and copy.words and self._one_in(2)
        listed = f" listed@{cluster.clock(place, log[here - 1].time)}" if is_listed else ""
        found = {f"{place}@{leader}": replace(copy, words=copy.words + listed)}
        if self._one_in(6):
            # In sync: it has what was written half a minute ago (replica.lag.time.max.ms).
            copied = min(until, ends["3"] - self.dice.choice([0, 5_000, 30_000]))
            found[f"{place}@3"] = self._copy(cluster, place, until, copied)
        elif topic[1] == "second" and cluster.has_topic_ids and self._one_in(3):
            # Its broker was away when the topic was deleted, and deletes the old one only when it is back.
            found[f"{place}@3"] = self._copy(cluster, place, cluster.made_anew[place], cluster.made_anew[place])
        return {name: copy for name, copy in found.items() if copy.words}

    def _copy(self, cluster: Cluster, place: str, now: int, until: int) -> Copy:
        """A copy of the log that there is `now`, with what was written to it by `until`."""
        log, topic = cluster.log(place, now), (place, cluster.topic_id(place, now))
        end = sum(event.time < until for event in log)
        start, rolls = min(self.starts.get(topic, 0), end), self.rolls.get(topic, set())
        bases = sorted({start, *(each for each in rolls if start <= each <= end)})
        lost = self.dice.choice(bases) if self._one_in(25) else None
        segments, snapshots, holds = [], [], set[Event]()
        for base, following in zip(bases, [*bases[1:], end], strict=True):
            if base != lost:
                segments.append(f"segment({base})")
                holds |= set(log[base:following])
                segments += [_word(cluster, place, log, at) for at in range(base, following)]
            if base:
                snapshots += [f"snapshot({base})", *_snapshot(cluster, log, base)]
        if not segments:
            return Copy(until, "", frozenset())
        told = [] if start == 0 else [f"log_start({start})"]
        told.append("no_checkpoint" if self._one_in(10) else f"high_watermark({end})")
        if not self._one_in(5):
            told.append(f"epochs({start}, {max(start, _last_epoch_from(cluster, place, log[:end]))})")
        told += [f"topic({topic[1]})"] if cluster.has_topic_ids else []
        return Copy(until, " ".join([*segments, *snapshots, *told]), frozenset(holds))


@dataclass(frozen=True)
class Series:
    """What is read of a cluster, one after the other: dumps, and before each what the archive is given.

    `others` are read at the same time as each dump, in tables of their own: the dump with fewer copies, and without
    what the dump before it said.
    """

    dumps: list[Dump]
    archived: list[list[Case]]
    others: list[list[Dump]]

    def judged_with(self, number: int) -> list[Dump]:
        """The dump of this number, after what is known in part only."""
        return [*self.others[number], self.dumps[number]]

    def in_order(self) -> list[Dump]:
        """All that are judged, each before those that are larger or fresher."""
        return [dump for number in range(len(self.dumps)) for dump in self.judged_with(number)]


def dumps_of(seed: int, archives: int = 0, compacts: bool = True) -> Series:
    """A cluster of this seed and one or two dumps of it, before each of them `archives` copies for the archive.

    All is the same but what the cleaner takes away, which is nothing where it never `compacts`.
    """
    cluster, dice = Cluster(seed), random.Random(-seed - 1)
    cluster.play(2000 * MINUTE)
    ends = _ends(cluster, dice)
    times = [logs_to for logs_to, _ in ends]
    if dice.random() < 0.25:
        # A topic is deleted and made again, before the dumps or between them.
        when = dice.choice([(1, times[0]), (times[0], times[-1])])
        cluster.made_anew[dice.choice(PARTITIONS)] = dice.randint(*when)
    for _ in range(dice.randint(0, 1)):
        cluster.abort_by_hand(dice.randint(1, times[-1]))
    disks, before, series = Disks(dice, compacts), 1, Series([], [], [])
    for number, (logs_to, coordinator_to) in enumerate(ends):
        moments = sorted(dice.randint(min(before, coordinator_to), coordinator_to) for _ in range(archives))
        series.archived.append([disks.coordinators_alone(cluster, moment) for moment in moments])
        series.dumps.append(disks.dump(cluster, f"{disks.called(cluster)} dump {number}", logs_to, coordinator_to))
        is_first = not number and not archives
        series.others.append(list(_others(series.dumps[-1], is_first, random.Random(f"{seed} {number}"))))
        before = coordinator_to
    if archives and dice.random() < 0.3:
        # The archive goes on before the last dump is judged.
        later = before + dice.choice([30_000, 5 * MINUTE, 60 * MINUTE])
        series.archived[-1].append(disks.coordinators_alone(cluster, later))
    return series


def _ends(cluster: Cluster, dice: random.Random) -> list[tuple[int, int]]:
    """Until when each dump's partitions and coordinators are copied."""
    # Half of them in the middle of something.
    busy = [event.time + dice.randint(1, 100) for log in cluster.logs.values() for event in log] or [400 * MINUTE]
    times = [dice.choice([dice.choice(busy), dice.choice([1000, 700, 400]) * MINUTE])]
    slow = [
        (each.start, each.decided)
        for each in cluster.transactions
        if each.decided is not None and each.decided - each.start > HANGS_MS
    ]
    hung = dice.choice(slow) if slow and dice.random() < 0.5 else None
    if hung:
        times = [hung[1] + dice.choice([1, 5, 60]) * MINUTE]
    if dice.random() < 0.4:
        times.append(times[0] + dice.choice([5, 60, 400]) * MINUTE)
    ends = [(time, time + dice.choice([30_000, 30_000, 5 * MINUTE, -5 * MINUTE, -200 * MINUTE])) for time in times]
    if hung:
        # The coordinators were copied when a transaction hung that had ended when the partitions were copied.
        start, ended = hung
        ends[0] = times[0], dice.randint(start + HANGS_MS, ended)
    return ends


def _others(dump: Dump, is_first: bool, dice: random.Random) -> Iterator[Dump]:
    """The same dump as it is judged if less is known; with the first copies of a cluster there is nothing else to know.

    Which ones there are does not depend on what the cleaner took away.
    """
    names = list(dump.copies)
    if dice.random() < 0.4:
        # Without a broker, a log, or one copy of a log.
        brokers, logs = sorted({name.partition("@")[2] for name in names}), sorted(map(_log, names))
        lost = dice.choice([dice.choice(brokers), dice.choice(logs), dice.choice(names)])
        smaller = dump.smaller([name for name in names if lost not in (name, _log(name), name.partition("@")[2])])
        # No dump says that its only copy of a coordinator's log is that of a follower which lagged: docs/verdicts.md.
        caught_up = {_log(name) for name, copy in smaller.copies.items() if not copy.lags}
        if all(_log(name) in caught_up for name in smaller.copies):
            yield smaller
    if not is_first and dice.random() < 0.5:
        yield dump.alone()


def _logs_to(copies: Mapping[str, Copy], otherwise: int) -> int:
    """Until when the last partition was copied."""
    return max([copy.until for name, copy in copies.items() if _log(name) in PARTITIONS], default=otherwise)


def _log(name: str) -> str:
    return name.partition("@")[0]


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


def _word(cluster: Cluster, place: str, log: list[Event], offset: int) -> str:
    event = log[offset]
    return event.word(offset, cluster.leader_epoch(place, event.time), cluster.epoch_of_marker(event))


def _last_epoch_from(cluster: Cluster, place: str, log: list[Event]) -> int:
    last = cluster.leader_epoch(place, log[-1].time) if log else 1
    return sum(cluster.leader_epoch(place, event.time) < last for event in log)


def _snapshot(cluster: Cluster, log: list[Event], base: int) -> Iterator[str]:
    last_of = {event.producer_id: event for event in log[:base]}
    for producer_id, last in last_of.items():
        if last.name != "data":
            given = f"ended, of={producer_id}, epoch={last.epoch}, by={cluster.epoch_of_marker(last)}"
            yield f"snapshot({base}, {given})@{last.said}"
    for producer_id, events in open_events(log[:base]).items():
        given = f"open={log.index(events[0])}, of={producer_id}, epoch={events[-1].epoch}"
        yield f"snapshot({base}, {given})@{events[-1].said}"
