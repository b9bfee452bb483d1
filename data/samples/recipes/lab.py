"""What the cases share: a cluster, a producer without manners, and notes of what is true."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from clock import Clock
from cluster import Cluster
from inquiries import OpenTransaction
from protocol import Client
from wire import Producer, transactional_batch

TRANSACTION_MAX_TIMEOUT_MS = 10_000
NOT_INITIALISED = Producer(-1, -1)


class Written(NamedTuple):
    """A batch that was appended, and when by its producer's clock."""

    topic: str
    partition: int
    producer: Producer
    base_offset: int
    appended_at: int


class Hanging(NamedTuple):
    """One open transaction: what is known about it, before the dump's time is."""

    first: Written
    last_appended_at: int
    transactional_id: str | None
    timeout_ms: int
    cause: str
    action: str
    story: str


class Closed(NamedTuple):
    """A partition that has no open transaction."""

    topic: str
    partition: int
    story: str


@dataclass
class RawProducer:
    """A transactional producer of which every step can be left out, repeated or done too late."""

    client: Client
    transactional_id: str
    timeout_ms: int = TRANSACTION_MAX_TIMEOUT_MS
    first_sequence: int = 0
    transaction_version: int = 1
    producer: Producer = NOT_INITIALISED
    clock: Clock = field(default_factory=Clock)
    _sequences: dict[tuple[str, int, Producer], int] = field(default_factory=dict)

    def initialise(self, times: int = 1) -> "RawProducer":
        """InitProducerId; every further time bumps the epoch."""
        for _ in range(times):
            self.producer = self.client.init_producer_id(self.transactional_id, self.timeout_ms)
        return self

    def as_of_epoch(self, producer: Producer) -> "RawProducer":
        """The same program as it was before its epoch was bumped: the zombie."""
        return RawProducer(self.client, self.transactional_id, self.timeout_ms, producer=producer, clock=self.clock)

    def add(self, topic: str, partition: int) -> None:
        """AddPartitionsToTxn, without any data."""
        self.client.add_partition(self.transactional_id, self.producer, topic, partition)

    def batch(self, topic: str, partition: int, values: Sequence[str], timestamps: Sequence[int]) -> bytes:
        """The next batch of this producer for the partition."""
        place = (topic, partition, self.producer)
        known = any(one[:2] == place[:2] for one in self._sequences)
        sequence = self._sequences.get(place, 0 if known else self.first_sequence)
        self._sequences[place] = sequence + len(values)
        return transactional_batch(self.producer, sequence, [value.encode() for value in values], timestamps)

    def write(
        self,
        topic: str,
        partition: int,
        *values: str,
        timestamps: Sequence[int] | None = None,
        adds: bool = False,
    ) -> Written:
        """Produce only: the coordinator hears nothing of it, unless the request `adds` (version 2)."""
        now = self.clock.time_ms
        batch = self.batch(topic, partition, values, timestamps or [now + n for n in range(-len(values) + 1, 1)])
        produce = self.client.produce_and_add if adds else self.client.produce
        offset = produce(self.transactional_id, topic, partition, batch)
        return Written(topic, partition, self.producer, offset, now)

    def begin(self, topic: str, partition: int, *values: str) -> Written:
        """As a well-behaved client: version 1 adds the partition itself, version 2 has its leader do it."""
        if self.transaction_version == 1:
            self.add(topic, partition)
        return self.write(topic, partition, *values, adds=self.transaction_version == 2)

    def send_end(self, commit: bool) -> None:
        """EndTxn; version 2 goes on at the epoch that the answer names."""
        if self.transaction_version == 1:
            self.client.end(self.transactional_id, self.producer, commit)
        else:
            self.producer = self.client.end_and_bump(self.transactional_id, self.producer, commit)

    def end(self, commit: bool) -> None:
        """EndTxn, and wait until the coordinator has written Complete*."""
        self.send_end(commit)
        self.wait_for("CompleteCommit" if commit else "CompleteAbort")

    def wait_for(self, state: str) -> None:
        """Wait until the coordinator says so."""
        wait_until(
            lambda: self.client.transaction(self.transactional_id).state == state,
            f"{self.transactional_id} {state}",
        )


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Ask until it is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.1)


@dataclass
class Lab:
    """A running cluster and what has been done to it so far."""

    cluster: Cluster
    hanging: list[Hanging] = field(default_factory=list)
    closed: list[Closed] = field(default_factory=list)

    def topic(self, name: str, *replicas: Sequence[int], settings: Mapping[str, str] | None = None) -> str:
        """One partition for each list of nodes; a smaller cluster takes the nodes it has."""
        nodes = [list(dict.fromkeys(min(one, self.cluster.node_count) for one in listed)) for listed in replicas]
        self.cluster.create_topic(name, nodes, settings or {})
        return name

    def producer(
        self, transactional_id: str, bumps: int = 0, first_sequence: int = 0, transaction_version: int = 1
    ) -> RawProducer:
        """An initialised producer; each bump raises its first epoch by one."""
        raw = RawProducer(
            self.cluster.client,
            transactional_id,
            first_sequence=first_sequence,
            transaction_version=transaction_version,
            clock=self.cluster.clock,
        )
        return raw.initialise(times=1 + bumps)

    def note_open(
        self,
        raw: RawProducer,
        first: Written,
        cause: str,
        action: str,
        story: str,
        *,
        last: Written | None = None,
        nameless: bool = False,
    ) -> None:
        """`last`: of several batches. `nameless`: nothing in the dump leads to a transactional id."""
        last_appended_at = (last or first).appended_at
        transactional_id = None if nameless else raw.transactional_id
        self.hanging.append(Hanging(first, last_appended_at, transactional_id, raw.timeout_ms, cause, action, story))

    def expect(self, topic: str, partition: int, cause: str, action: str) -> None:
        """Another verdict on what is open in a partition than was noted: by how it is dumped."""
        self.hanging = [
            one._replace(cause=cause, action=action)
            if (one.first.topic, one.first.partition) == (topic, partition)
            else one
            for one in self.hanging
        ]

    def note_closed(self, topic: str, partition: int, story: str) -> None:
        """Note a partition without an open transaction."""
        self.closed.append(Closed(topic, partition, story))

    def open_now(self, topic: str, partition: int) -> list[OpenTransaction]:
        """The open transactions that the partition's leader shows."""
        return self.cluster.client.open_transactions(topic, partition)

    def _partitions(self) -> list[tuple[str, int]]:
        topics = self.cluster.admin.list_topics(timeout=10).topics
        return [
            (name, one) for name, topic in topics.items() for one in topic.partitions if name != "__transaction_state"
        ]

    def confirm(self, *ended: str) -> None:
        """A recipe that went wrong makes no sample: brokers must show exactly what was noted as open.

        `ended` names topics in which they have ended since.
        """
        noted = {place: set[OpenTransaction]() for place in self._partitions()}
        for one in self.hanging:
            first = one.first
            if first.topic not in ended:
                noted[first.topic, first.partition].add(OpenTransaction(*first.producer, first.base_offset))
        for (topic, partition), expected_here in noted.items():
            shown = set(self.open_now(topic, partition))
            if shown != expected_here:
                raise AssertionError(f"{topic}-{partition}: noted {expected_here}, the broker shows {shown}")
