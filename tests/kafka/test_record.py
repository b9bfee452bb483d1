"""What became of each record is what a read_committed consumer of librdkafka sees of it, offset for offset."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from dump import Sample
from lab import Lab, wait_until
from make import start

from tests.kafka.trials import RELEASES
from txnlog.dump.inventory import inventory
from txnlog.sources.log_copy import Place
from txnlog.sources.outcome import Outcome
from txnlog.sources.partition_transactions import transactions
from txnlog.sources.record_outcome import record_outcomes
from txnlog.sources.record_search import Batch

pytestmark = pytest.mark.kafka
# What the cleaner may take: it does, and at once.
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "delete.retention.ms": "0",
    "min.cleanable.dirty.ratio": "0.01",
}
SETTINGS = {
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "200",
    # That of the clients.
    "transaction.max.timeout.ms": "60000",
}
PLACES = (Place("orders", 0), Place("orders", 1), Place("changelog", 0))
KEYS = 12
STEPS = 2_000


@dataclass
class Writers:
    """Producers that write one record at a time, in turns; which of them have a transaction open."""

    producers: list[Producer]
    plain: Producer
    chance: random.Random
    open_now: set[int] = field(default_factory=set)

    def step(self) -> None:
        number = self.chance.randrange(len(self.producers))
        producer = self.producers[number]
        if self.chance.random() < 0.1:
            self._write(self.plain)
        elif number not in self.open_now:
            producer.begin_transaction()
            self.open_now.add(number)
            self._write(producer)
        elif self.chance.random() < 0.6:
            self._write(producer)
        else:
            self.end(number, self.chance.random() < 0.6)

    def _write(self, producer: Producer) -> None:
        place = self.chance.choice(PLACES)
        producer.produce(place.topic, b"value", b"%d" % self.chance.randrange(KEYS), partition=place.partition)
        # One batch a record: of a batch of several the cleaner may take some.
        producer.flush()

    def end(self, number: int, commit: bool) -> None:
        producer = self.producers[number]
        if commit:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
        self.open_now.remove(number)


def consumed(bootstrap: str, place: Place) -> tuple[set[int], int]:
    """The offsets that a consumer gets, and where it stops."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "record",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(place.topic, place.partition, 0)])
    found = set()
    while True:
        message = consumer.poll(30)
        assert message is not None
        error = message.error()
        if error is None:
            found.add(int(message.offset() or 0))
            continue
        assert error.code() == KafkaError._PARTITION_EOF
        consumer.close()
        return found, int(message.offset() or 0)


@dataclass(frozen=True)
class Read:
    """A dump of a broker, and what a consumer gets of each partition."""

    dump: Path
    consumed: dict[Place, tuple[set[int], int]]


def is_cleaned(lab: Lab) -> bool:
    checkpoint = lab.cluster.nodes[1].log_dir / "cleaner-offset-checkpoint"
    return checkpoint.exists() and "changelog 0" in checkpoint.read_text()


@pytest.fixture(scope="module", params=RELEASES[:2])
def read(request: pytest.FixtureRequest, kafka_jars: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    folder = tmp_path_factory.mktemp("record")
    with Cluster(request.param, folder / "cluster", settings=SETTINGS) as cluster:
        lab = start(cluster)
        lab.topic("orders", [1], [1])
        lab.topic("changelog", [1], settings=COMPACTED)
        client = {"bootstrap.servers": cluster.bootstrap, "log_level": 0}
        producers = [Producer(client | {"transactional.id": f"writer-{number}"}) for number in range(5)]
        for producer in producers:
            producer.init_transactions()
        *busy, idle = producers
        writers = Writers(busy, Producer(client), random.Random())
        for _ in range(STEPS):
            writers.step()
        # All end, and one that never does: consumers stop there.
        for number in sorted(writers.open_now):
            writers.end(number, commit=True)
        idle.begin_transaction()
        for place in PLACES:
            idle.produce(place.topic, b"open", b"open", partition=place.partition)
        idle.flush()
        for _ in range(STEPS // 10):
            writers.step()
        wait_until(lambda: is_cleaned(lab), "the cleaner")
        seen = {place: consumed(cluster.bootstrap, place) for place in PLACES}
        sample = Sample("record", folder / "dump", 50, padding_ms=0)
        sample.copy(lab, 1)
        yield Read(folder / "dump", seen)


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_consumer_gets_what_is_said_to_be_committed_and_nothing_else(read: Read, place: Place) -> None:
    got, stops_at = read.consumed[place]
    dump, of = inventory(read.dump), dict[int, Outcome]()
    for offset in range(stops_at):
        _, (copy,) = record_outcomes(dump, place, offset)
        of[offset] = copy.outcome
    visible = {offset for offset, outcome in of.items() if outcome in (Outcome.COMMITTED, Outcome.NOT_TRANSACTIONAL)}
    hidden = {offset for offset, outcome in of.items() if outcome in (Outcome.ABORTED, Outcome.CONTROL_RECORD)}
    assert got
    assert visible <= got
    assert not hidden & got
    if place.topic == "orders":
        assert visible == got
        assert {*of.values()} >= {Outcome.COMMITTED, Outcome.ABORTED, Outcome.NOT_TRANSACTIONAL, Outcome.CONTROL_RECORD}
        assert visible | hidden == {*of}
    else:
        assert Outcome.CLEANED in of.values()
        # Nothing of it is open or beyond what is known of the log.
        assert {*of.values()} <= {*Outcome} - {Outcome.OPEN, Outcome.BEFORE_START, Outcome.BEYOND_END}
    _, (copy,) = record_outcomes(dump, place, stops_at)
    assert copy.outcome is Outcome.OPEN


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_the_transactions_of_the_log_have_what_a_consumer_gets(read: Read, place: Place) -> None:
    got, stops_at = read.consumed[place]
    dump = inventory(read.dump)
    (copy,) = transactions(dump, place)
    rows = [row for some in copy.rows for row in some.to_pylist()]
    assert {row["outcome"] for row in rows} >= {"COMMIT", "ABORT", "OPEN"}
    records, plain = Counter[str](), 0
    for offset in range(stops_at):
        _, (one,) = record_outcomes(dump, place, offset)
        plain += one.outcome is Outcome.NOT_TRANSACTIONAL and offset in got
        if one.outcome in (Outcome.COMMITTED, Outcome.ABORTED, Outcome.UNKNOWN) and one.batch is not None:
            told = outcome_in(rows, one.batch)
            assert {"COMMIT": Outcome.COMMITTED, "ABORT": Outcome.ABORTED}.get(told, Outcome.UNKNOWN) == one.outcome
            records[told] += 1
    if place.topic == "orders":
        # What no test of ours has counted.
        assert sum(
            row["records"] or 0 for row in rows if row["outcome"] == "COMMIT" and row["last_offset"] < stops_at
        ) == (len(got) - plain)
        assert all(row["is_whole"] for row in rows)
    assert records["COMMIT"] <= len(got) - plain
    assert next(row["first_offset"] for row in rows if row["outcome"] == "OPEN") == stops_at


def outcome_in(rows: list[dict[str, Any]], batch: Batch) -> str:
    """What the rows say of a batch."""
    (row,) = (
        row
        for row in rows
        if row["producer_id"] == batch.producer_id
        and row["first_offset"] is not None
        and row["first_offset"] <= batch.base_offset <= row["last_offset"]
    )
    is_proved = row["outcome_from"] is not None and row["outcome_from"] <= batch.base_offset
    return str(row["outcome"]) if is_proved else "UNKNOWN"
