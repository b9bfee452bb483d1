"""A small Kafka cluster that is played through from a seed, and knows the fate of each batch.

It follows the protocol (KIP-98, KIP-360, KIP-664, KIP-890, KIP-939), not the detection. Ids write transactions into
partitions; their coordinator writes a record for each step and then the markers. What goes wrong in real clusters goes
wrong here: markers are lost, come late or twice; a request to end a transaction comes late and ends the next one of its
producer when that is half written; data comes after the end of its transaction, without being added to one, or from a
fenced producer; transactions stay Ongoing or in Prepare*, for good or until another broker becomes the coordinator; an
administrator aborts; epochs run out, clients are upgraded, ids expire, logs lose their end in an unclean election,
topics are made anew. Each broker and each producer has a clock of its own. Times are ms of true time since the start;
what a clock says is written into words of `tests.logs_in_words`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tests.coordinator_writer import coordinator_partition
from tests.simulation.events import MINUTE, Event, Id, Record, Transaction, UncleanElection, minutes, open_events

PARTITIONS = ("orders-0", "payments-0", "refunds-0")
TIMEOUT_MS = 1 * MINUTE
EXPIRATION_MS = 300 * MINUTE
# A request that was sent again arrives a second time within this time.
LATE_REQUEST_MS = 4 * MINUTE
# A marker that is not lost is written within this time.
LATE_MARKER_MS = 5 * MINUTE
# The last epoch of a producer id that a transaction may use (`TransactionMetadata.isEpochExhausted`).
LAST_EPOCH = 32766
# Brokers' clocks are this far from true time at most: two of them differ by less than the clock skew of 5 s.
BROKER_CLOCK_MS = 2_000
# How far a clock is ahead that jumps: beyond each dump, so that it is told by what follows.
AHEAD_MS = 3 * 24 * 60 * MINUTE
# Which states of an id can come before a record (`TransactionMetadata.isValidTransition`).
MAY_FOLLOW = {
    "empty": ("tombstone", "empty", "complete"),
    "ongoing": ("empty", "complete"),
    "prepare": ("ongoing",),
    "complete": ("prepare",),
    "tombstone": ("empty", "complete"),
}


@dataclass
class Cluster:
    """The logs of a cluster that was played through, in the order of true time.

    `logs` are those of the partitions, `coordinators` those of the partitions of `__transaction_state`. `made_anew`:
    when the topic of a partition was deleted and made again.
    """

    seed: int
    logs: dict[str, list[Event]] = field(default_factory=lambda: {name: [] for name in PARTITIONS})
    coordinators: list[list[Record]] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    elections: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in PARTITIONS})
    unclean_elections: dict[int, UncleanElection] = field(default_factory=dict)
    made_anew: dict[str, int] = field(default_factory=dict)
    producer_ids: int = 7
    crcs: int = 0

    def __post_init__(self) -> None:
        self.dice, self.dice_of_upgrades = random.Random(self.seed), random.Random(f"upgrades {self.seed}")
        self.clocks = {
            name: self.dice.randint(-BROKER_CLOCK_MS, BROKER_CLOCK_MS) for name in (*PARTITIONS, "coordinator")
        }
        self.log_append = {name: self.chance(0.2) for name in PARTITIONS}
        # Some time in which a partition's clock was far ahead: from when, for how long.
        self.jumps = {
            name: (self.dice.randint(0, 1000) * MINUTE, self.dice.choice([1, 30]) * MINUTE)
            for name in PARTITIONS
            if self.chance(0.06)
        }
        self.has_topic_ids = self.chance(0.7)
        self.coordinators = [[] for _ in range(self.dice.choice([1, 1, 3]))]
        # When another broker becomes the coordinator, which has the whole log.
        self.failovers = [
            sorted(self.dice.randint(1, 2000) * MINUTE for _ in range(self.dice.choice([0, 0, 1, 4])))
            for _ in self.coordinators
        ]
        # The transaction version of the brokers, and whether they raise the epoch twice to fence with that (4.0).
        self.version = self.dice.choice([0, 2, 2, 2])
        self.fences_twice = self.chance(0.3)

    def chance(self, probability: float) -> bool:
        return self.dice.random() < probability

    def play(self, until: int) -> None:
        """Play all ids through; each on its own, as nothing but the logs joins them."""
        for number in range(self.dice.randint(1, 3)):
            who = Id(f"id-{number}", self._new_producer_id(), self.dice.choice([0, self.version]))
            who.clock = self.dice.choice([0, 0, 0, -90_000, 1_000, 10_000, 90_000])
            who.writes_event_time = self.chance(0.15)
            who.two_phase = self.chance(0.05)
            who.epoch = LAST_EPOCH - 1 if self.chance(0.1) else 0
            self._play_id(who, self.dice.randint(1, 600) * MINUTE, until)
        self._sort()
        self.logs = {place: list(self._taken(log)) for place, log in self.logs.items()}
        self._elect_uncleanly(until)

    def topic_id(self, place: str, now: int) -> str:
        """The id of the topic that a partition is of at a time."""
        return "second" if now > self.made_anew.get(place, now) else "first"

    def log(self, place: str, now: int) -> list[Event]:
        """All that is ever written to a partition of the topic that there is at a time."""
        topic_id = self.topic_id(place, now)
        return [event for event in self.logs[place] if self.topic_id(place, event.time) == topic_id]

    def current(self, transactional_id: str, now: int) -> Transaction:
        """The transaction of an id that was begun last."""
        begun = [each for each in self.transactions if each.transactional_id == transactional_id and each.start < now]
        return begun[-1]

    def leader_epoch(self, place: str, time: int) -> int:
        """The leader epoch of a partition at a time."""
        since = self.made_anew.get(place, time)
        if time > since:
            return sum(since < each <= time for each in self.elections[place])
        return 1 + sum(each <= time for each in self.elections[place])

    def coordinator_log(self, number: int, until: int) -> list[Record]:
        """The records of a coordinator partition as it was at a time."""
        log, election = self.coordinators[number], self.unclean_elections.get(number)
        if election and until <= election.time:
            log = log[: election.first_lost] + election.lost
        return [record for record in log if record.time < until]

    def coordinator_epoch(self, number: int, time: int) -> int:
        """The leader epoch of a coordinator partition at a time."""
        election = self.unclean_elections.get(number)
        failovers = sum(each <= time for each in self.failovers[number])
        return failovers + int(election is not None and time > election.time)

    def epoch_of_marker(self, event: Event) -> int:
        """The epoch of the coordinator that sent a marker; an administrator's has none."""
        if event.owner is None:
            return 0
        number = coordinator_partition(event.owner.transactional_id, len(self.coordinators))
        return self.coordinator_epoch(number, event.sent)

    def _play_id(self, who: Id, now: int, until: int) -> None:
        self._record(now, who, "empty")
        for _ in range(self.dice.randint(1, 7)):
            pause = self.dice.choice([20, 200, 3_000, MINUTE, 40 * MINUTE, 700 * MINUTE])
            before, now = now, now + self.dice.randint(pause // 2 + 1, pause)
            if now - before > EXPIRATION_MS:
                # The coordinator forgets an id that is idle; it gets another producer id when it comes back.
                self._record(before + EXPIRATION_MS, who, "tombstone")
                if self.chance(0.2):
                    return
                who.recorded = 0
                self._init(now - 1, who, self._new_producer_id(), 0)
            elif who.version < self.version and self.chance(0.15):
                # Its client is upgraded, and so starts anew; or its brokers are. Java's clients raise the epoch then,
                # others do not (KAFKA-18227).
                if self.dice_of_upgrades.random() < 0.6:
                    self._start_anew(now - 1, who)
                who.version = self.version
            ended = self._transaction(who, now) if now < until else None
            if ended is None:
                return
            now = self._mishaps(who, ended)

    def _init(self, now: int, who: Id, producer_id: int, epoch: int) -> None:
        """InitProducerId: fences whoever wrote before."""
        who.producer_id, who.epoch = producer_id, epoch
        self._record(now, who, "empty")

    def _start_anew(self, now: int, who: Id) -> None:
        """InitProducerId of an id that is in use, with another producer id if the epochs of this one are used up."""
        is_exhausted = who.epoch >= LAST_EPOCH
        self._init(now, who, *((self._new_producer_id(), 0) if is_exhausted else (who.producer_id, who.epoch + 1)))

    def _mishaps(self, who: Id, now: int) -> int:
        """What producers do outside of transactions: late writes and writes to what was never added."""
        if self.chance(0.12) and who.version < 2:
            later = now + self.dice.choice([5, 500, 30_000, 10 * MINUTE])
            self._data(later, who, self.dice.choice(PARTITIONS), None)
        if self.chance(0.08) or who.epoch >= LAST_EPOCH:
            fenced = replace(who)
            self._start_anew(now + 30, who)
            if self.chance(0.6):
                self._data(now + self.dice.choice([40, 20_000, 5 * MINUTE]), fenced, self.dice.choice(PARTITIONS), None)
            return now + 31
        return now

    def _transaction(self, who: Id, now: int) -> int | None:
        """One transaction; when its client is done with it, None if its coordinator never gets there."""
        chosen = tuple(sorted(self.dice.sample(PARTITIONS, self.dice.randint(1, len(PARTITIONS)))))
        owner = self._begin(who, now, chosen)
        now += self.dice.choice([20, 100, 2_000, 30_000, 200 * MINUTE if who.two_phase else 50_000])
        late = self._late_request(who, now)
        ended = self._decide(who, owner, now, late)
        # Where its markers came only from another coordinator the client has long given up.
        if late is None or ended is None or ended > now + 2 * LATE_MARKER_MS:
            return ended
        return self._second_half(who, owner, ended)

    def _begin(self, who: Id, now: int, places: tuple[str, ...]) -> Transaction:
        not_added = self._not_added(who, now, places)
        if set(places) == not_added:
            # Of a transaction without any partition the coordinator knows nothing.
            self._start_anew(now - 1, who)
            not_added = set()
        owner = Transaction(who.name, who.producer_id, tuple(place for place in places if place not in not_added), now)
        self.transactions.append(owner)
        who.recorded = who.version
        self._record(now, who, "ongoing", f"began={self.clock('coordinator', now)}", owner)
        for place in places:
            # What is not added may be written before the coordinator knows of the transaction.
            earliest = -5 if place in not_added else 1
            for _ in range(self.dice.randint(1, 2)):
                self._data(now + self.dice.randint(earliest, 15), who, place, owner)
        return owner

    def _not_added(self, who: Id, now: int, places: tuple[str, ...]) -> set[str]:
        """Partitions that their leaders do not add to a transaction of version 2 before they write to them.

        Something of the producer id and epoch is open there (`UnifiedLog.maybeStartTransactionVerification`).
        """
        if who.version < 2:
            return set()
        found = set()
        for place in places:
            before = sorted((event for event in self.logs[place] if event.time < now), key=lambda each: each.time)
            last = open_events(before).get(who.producer_id, [])[-1:]
            found |= {place for event in last if event.epoch == who.epoch}
        return found

    def _decide(self, who: Id, owner: Transaction, now: int, late: bool | None = None) -> int | None:
        """Commit or abort it, by a request that came `late` or by its client's own, which may never come."""
        if late is None and self.chance(0.06):
            # Not even the coordinator ends it, unless another one takes over, which looks at the timeout again.
            taken_over = None if who.two_phase else self._taken_over(who, now + TIMEOUT_MS)
            return taken_over and self._carry_out(who, owner, taken_over + 10, False, is_fenced=True)
        if late is None and self.chance(0.1) and not who.two_phase:
            # A coordinator aborts after the timeout, or when a newer producer of the id starts, if it does it then.
            ends = [now, owner.start + TIMEOUT_MS + 10, now + 200 * MINUTE]
            return self._carry_out(who, owner, self.dice.choice(ends), False, is_fenced=True)
        return self._carry_out(who, owner, now, self.chance(0.8) if late is None else late)

    def _carry_out(
        self, who: Id, owner: Transaction, now: int, commits: bool, *, is_fenced: bool = False
    ) -> int | None:
        """What the coordinator does to commit or abort it; when that is done, None if never."""
        owner.commits, owner.decided = commits, now
        writer = self._writer_of_end(who, is_fenced)
        kind, began = "commit" if owner.commits else "abort", self.clock("coordinator", owner.start)
        is_used_up = writer.recorded == 2 and not is_fenced and writer.epoch > LAST_EPOCH
        following = self._new_producer_id() if is_used_up else None
        told = f"began={began}" + (f", next={following}" if following else "")
        self._record(now, writer, f"prepare_{kind}", told, owner)
        sent = now
        while (ended := self._end(writer, owner, sent)) is None:
            # Another coordinator writes all markers again.
            taken_over = self._taken_over(who, sent + LATE_MARKER_MS)
            if taken_over is None:
                return None
            sent = taken_over
        who.epoch, who.recorded = writer.epoch, writer.recorded
        told = f"began={began}, written={self.clock('coordinator', ended)}"
        if following:
            told += f", previous={who.producer_id}"
            who.producer_id, who.epoch = following, 0
        # A Complete* record carries the time of its preparation, its batch the time at which it was appended.
        self._record(now, who, f"complete_{kind}", told, appended=ended)
        if is_fenced:
            self._start_anew(ended + 1, who)
            return ended + 2
        who.requests[owner.commits] = (who.epoch, ended)
        return ended

    def _taken_over(self, who: Id, after: int) -> int | None:
        """When another broker becomes the coordinator of an id; None if none does, or is no better."""
        number = coordinator_partition(who.name, len(self.coordinators))
        times = [each for each in self.failovers[number] if each > after]
        return times[0] if times and self.chance(0.6) else None

    def _writer_of_end(self, who: Id, is_fenced: bool) -> Id:
        """At which epoch a transaction ends, and which version its records name from then on.

        Version 2 ends each transaction at the next epoch, and fencing does so in any version. A coordinator that fences
        does it in the version of the brokers, whatever its client's is.
        """
        version = self.version if is_fenced else who.version
        raises = int(is_fenced or version == 2) + int(is_fenced and version == 2 and self.fences_twice)
        return replace(who, recorded=version, epoch=min(who.epoch + raises, LAST_EPOCH + 1))

    def _late_request(self, who: Id, now: int) -> bool | None:
        """Whether an earlier request to commit (True) or to abort (False) comes only now and ends the next transaction.

        Its client had no answer and sent it again (KIP-890). In version 2 such a request has an epoch that has ended.
        """
        for commits, (epoch, ended) in who.requests.items():
            is_taken = who.version < 2 and epoch == who.epoch and now - ended <= LATE_REQUEST_MS
            if is_taken and self.chance(0.2 if commits else 0.5):
                return commits
        return None

    def _second_half(self, who: Id, first: Transaction, now: int) -> int | None:
        """What a client does whose transaction a late request has ended, half written; when it is done with it.

        It knows nothing of that and writes on. If it adds another partition, that begins one more transaction, which
        lists that partition alone, and its own request ends it. Else its request finds the state that is asked for
        and is granted without a record, or it is refused.
        """
        writer, rest = replace(who), None
        others = [place for place in PARTITIONS if place not in first.partitions]
        if others and self.chance(0.6):
            rest = self._begin(who, now + self.dice.randint(1, 50), (self.dice.choice(others),))
            ended = self._decide(who, rest, rest.start + self.dice.choice([50, 2_000, 40_000]))
            # It gives up if its coordinator does not end that in time.
            told = min(rest.decided or rest.start + 40_000, rest.start + TIMEOUT_MS + 10)
        else:
            told, commits = now + self.dice.choice([50, 2_000, 40_000]), self.chance(0.8)
            ended = told + 1
            if commits != first.commits:
                self._start_anew(told + 1, who)
                ended += 1
            elif commits:
                rest = Transaction(who.name, who.producer_id, first.partitions, now, told, commits)
        for place in self.dice.sample(first.partitions, self.dice.randint(1, len(first.partitions))):
            self._data(self.dice.randint(now + 1, told - 1), writer, place, rest)
        return ended

    def _end(self, who: Id, owner: Transaction, now: int) -> int | None:
        """Write the markers; when all were acknowledged. A leader that is not known loses its marker."""
        ended, is_stuck = now + 5, self.chance(0.05)
        for place in owner.partitions:
            came = now + self.dice.randint(1, 4)
            if self.chance(0.05):
                came = now + self.dice.choice([2_000, LATE_MARKER_MS])
            if self.chance(0.6 if is_stuck else 0.1):
                continue
            self._marker(came, who.producer_id, who.epoch, place, owner, now)
            if self.chance(0.08):
                came += self.dice.choice([1, 50, 1_500])
                self._marker(came, who.producer_id, who.epoch, place, owner, now)
            ended = max(ended, came + 1)
        return None if is_stuck else ended

    def abort_by_hand(self, now: int) -> None:
        """`kafka-transactions.sh abort` of what is open somewhere: a marker at the epoch of the data."""
        place = self.dice.choice(PARTITIONS)
        found = open_events(event for event in self.log(place, now) if event.time < now)
        if found:
            producer_id = self.dice.choice(sorted(found))
            self._marker(now, producer_id, found[producer_id][-1].epoch, place, None)
            self._sort()

    def _elect_uncleanly(self, until: int) -> None:
        """Leaders change; with some of the changes what the new leader did not have is lost."""
        for place in PARTITIONS:
            for _ in range(self.dice.choice([0, 0, 1, 2])):
                now = self.dice.randint(1, until)
                self.elections[place].append(now)
                lost = self.dice.choice([0, 0, 0, 10, 3_000])
                self.logs[place] = [each for each in self.logs[place] if not now - lost <= each.time < now]
        if self.chance(0.1):
            self._lose_records(self.dice.randrange(len(self.coordinators)))

    def _lose_records(self, number: int) -> None:
        """A coordinator loses whole transactions at once; what each id does next begins with a new one."""
        records = self.coordinators[number]
        starts = [i for i, record in enumerate(records) if i and record.state == "ongoing"]
        if not starts:
            return
        first = self.dice.choice(starts)
        last = self.dice.randint(first + 1, len(records))
        left: dict[str, str] = {}
        for record in records[:first] + records[last:]:
            state, before = record.state, left.get(record.transactional_id, "tombstone")
            if not before.startswith(MAY_FOLLOW[state.partition("_")[0]]):
                return
            left[record.transactional_id] = state
        election = UncleanElection(records[last - 1].time, first, records[first:last])
        self.unclean_elections[number] = election
        self.coordinators[number] = records[:first] + records[last:]
        for record in election.lost:
            if record.owner:
                record.owner.forgotten_at = election.time + 1

    def _data(self, time: int, who: Id, place: str, owner: Transaction | None) -> None:
        stamp = time + who.clock
        if who.writes_event_time:
            stamp = max(0, stamp + self.dice.choice([-600, -60, -5, 300]) * MINUTE)
        if self.log_append[place]:
            others = f", since={stamp / MINUTE:.3f}, appended"
            event = Event(time, "data", who.producer_id, who.epoch, self.clock(place, time), owner, others)
        else:
            event = Event(time, "data", who.producer_id, who.epoch, minutes(stamp), owner)
        self._append(place, event)

    def _marker(
        self, time: int, producer_id: int, epoch: int, place: str, owner: Transaction | None, sent: int = 0
    ) -> None:
        name = "commit" if owner and owner.commits else "abort"
        self._append(place, Event(time, name, producer_id, epoch, self.clock(place, time), owner, sent=sent))

    def _append(self, place: str, event: Event) -> None:
        self.crcs += 1
        self.logs[place].append(replace(event, crc=self.crcs))

    def _record(
        self, time: int, who: Id, state: str, told: str = "", owner: Transaction | None = None, appended: int = 0
    ) -> None:
        timeout = ", timeout=none" if who.two_phase else ""
        header = f"id({who.name}, of={who.producer_id}, epoch={who.epoch}, version={who.recorded}{timeout})"
        others = f", {told}" if told else ""
        number = coordinator_partition(who.name, len(self.coordinators))
        said = self.clock("coordinator", time)
        self.coordinators[number].append(Record(appended or time, who.name, state, header, others, said, owner))

    def clock(self, whose: str, time: int) -> str:
        """What a clock says at a time: that of the coordinators, or of the broker that leads a partition."""
        start, duration = self.jumps.get(whose, (0, 0))
        jumped = AHEAD_MS if 0 <= time - start < duration else 0
        return minutes(max(0, time + self.clocks[whose] + jumped))

    def _new_producer_id(self) -> int:
        self.producer_ids += 1
        return self.producer_ids - 1

    def _taken(self, log: list[Event]) -> Iterator[Event]:
        """What a leader takes: of a producer no data of an older epoch than it has, no marker of an older coordinator.

        (`ProducerAppendInfo.checkProducerEpoch`, `checkCoordinatorEpoch`.)
        """
        epochs: dict[int, int] = {}
        coordinators: dict[int, int] = {}
        for event in log:
            producer_id, by = event.producer_id, self.epoch_of_marker(event)
            if event.name == "data" and event.epoch < epochs.get(producer_id, 0):
                continue
            # An administrator's marker is of no coordinator.
            if event.name != "data" and event.owner is not None:
                if by < coordinators.get(producer_id, 0):
                    continue
                coordinators[producer_id] = by
            epochs[producer_id] = max(event.epoch, epochs.get(producer_id, 0))
            yield event

    def _sort(self) -> None:
        for log in self.logs.values():
            log.sort(key=lambda each: each.time)
        for records in self.coordinators:
            records.sort(key=lambda each: each.time)
