"""The services of a shop, and what they do on an ordinary day."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from clock import DAY_MS
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka import Producer as OrdinaryProducer
from lab import Lab, RawProducer, wait_until

HOUR_MS, MINUTE_MS, SECOND_MS = 3_600_000, 60_000, 1_000
TIMEOUT_MS = 60_000
# Each recipe run draws the same numbers, so that offsets are the same.
SEED = 20
ORDERS_AN_HOUR_FROM_SIX = (3, 5, 7, 8, 8, 7, 9, 8, 7, 7, 8, 9, 10, 11, 10, 8, 5, 3, 2, 1, 1, 1, 1, 2)
FIRST_ORDER = 5001
TOPICS = {
    "orders": ([1, 2], [2, 3], [3, 1]),
    "payments": ([1, 3], [2, 3], [3, 1]),
    "inventory": ([2, 1], [3, 2]),
    "shipments": ([1, 3], [2, 1]),
}
CHECKOUT = tuple(f"checkout-{number}" for number in range(1, 9))
PAYMENTS = ("payments-eu-1", "payments-eu-2", "payments-us-1", "payments-us-2")
SHIPPING = ("shipping-1", "shipping-2")
STOCK = ("stock-sync-1", "stock-sync-2")
CODECS = {"checkout": "lz4", "payments": "zstd", "shipping": "gzip", "stock": "none"}
# Milliseconds since the day began, and what happens then.
Event = tuple[int, Callable[[], None]]


class Record(NamedTuple):
    """What a transaction writes."""

    topic: str
    partition: int
    key: str
    value: str


@dataclass
class Shop:
    """Each service has instances, each of which has a transactional id and a producer of its own."""

    lab: Lab
    chance: random.Random = field(default_factory=lambda: random.Random(SEED))
    producers: dict[str, OrdinaryProducer] = field(default_factory=dict)
    groups: dict[str, Consumer] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    read: dict[tuple[str, str, int], int] = field(default_factory=dict)

    def checkout(self, order: int) -> None:
        """An order with its items, and their reservation."""
        items = [f"SKU-{self.chance.randrange(100, 400)}" for _ in range(self.chance.randrange(1, 5))]
        lines = [Record("orders", order % 3, str(order), f'{{"order": {order}, "item": "{item}"}}') for item in items]
        taken = Record("inventory", order % 2, items[0], f'{{"order": {order}, "reserved": {len(items)}}}')
        self._transaction(CHECKOUT, [*lines, taken])

    def pay(self, order: int) -> None:
        """A payment of an order, if the payments can read on there."""
        paid = Record("payments", order % 3, str(order), f'{{"order": {order}, "state": "captured"}}')
        self._consume("orders", order % 3, PAYMENTS, paid)

    def ship(self, order: int) -> None:
        """A parcel for a payment, if the shipping can read on there."""
        parcel = Record("shipments", order % 2, str(order), f'{{"order": {order}, "carrier": "post"}}')
        self._consume("payments", order % 3, SHIPPING, parcel)

    def count(self, hour: int) -> None:
        """What the warehouse holds."""
        counted = [Record("inventory", shelf, "count", f'{{"shelf": {shelf}, "hour": {hour}}}') for shelf in (0, 1)]
        self._transaction(STOCK, counted)

    def _consume(self, topic: str, partition: int, service: Sequence[str], record: Record) -> None:
        """Write a record with the offset up to which the service has read. Open transactions let it see no more."""
        group = service[0].partition("-")[0]
        end = self.lab.cluster.last_stable_offset(topic, partition)
        if end > self.read.get((group, topic, partition), 0):
            self.read[group, topic, partition] = end
            self._transaction(service, [record], TopicPartition(topic, partition, end))

    def _transaction(
        self, service: Sequence[str], records: Sequence[Record], read: TopicPartition | None = None
    ) -> None:
        """One of an ordinary client, with the offset that it has read up to; one in twenty is aborted."""
        transactional_id = self.chance.choice([one for one in service if one not in self.gone])
        producer = self._producer(transactional_id)
        producer.begin_transaction()
        for topic, partition, key, value in records:
            producer.produce(topic, value, key, partition, timestamp=self.lab.cluster.clock.time_ms)
        if read is not None:
            reader = self._reader(transactional_id.partition("-")[0])
            producer.send_offsets_to_transaction([read], reader.consumer_group_metadata())
        producer.flush()
        outcome = "CompleteCommit" if self.chance.randrange(20) else "CompleteAbort"
        (producer.commit_transaction if outcome == "CompleteCommit" else producer.abort_transaction)()
        # Both return before the markers are written, and the clock must not be moved in between.
        state = self.lab.cluster.client.transaction
        wait_until(lambda: state(transactional_id).state == outcome, f"{transactional_id} {outcome}")

    def _producer(self, transactional_id: str) -> OrdinaryProducer:
        if transactional_id not in self.producers:
            settings = {
                "bootstrap.servers": self.lab.cluster.bootstrap,
                "log_level": 0,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": TIMEOUT_MS,
                "compression.type": CODECS[transactional_id.partition("-")[0]],
            }
            self.producers[transactional_id] = OrdinaryProducer(settings)
            self.producers[transactional_id].init_transactions()
        return self.producers[transactional_id]

    def _reader(self, group: str) -> Consumer:
        if group not in self.groups:
            settings = {"bootstrap.servers": self.lab.cluster.bootstrap, "group.id": group, "log_level": 0}
            self.groups[group] = Consumer(settings)
        return self.groups[group]

    def restarted(self, transactional_id: str) -> RawProducer:
        """An instance at its next epoch. From here on it does nothing ordinary."""
        self.gone.add(transactional_id)
        self.producers.pop(transactional_id, None)
        return raw_producer(self.lab, transactional_id)


def raw_producer(lab: Lab, transactional_id: str) -> RawProducer:
    """A producer without manners that has the timeout of the others."""
    raw = RawProducer(lab.cluster.client, transactional_id, TIMEOUT_MS, clock=lab.cluster.clock)
    return raw.initialise()


def ordinary_events(shop: Shop) -> list[Event]:
    """A count an hour, and one at the end of the day. To each order belong a payment within two minutes and a parcel
    within hours, if the day has so many.
    """
    chance = random.Random(SEED)
    orders = [hour for hour, number in enumerate(ORDERS_AN_HOUR_FROM_SIX) for _ in range(number)]
    ordered = sorted(hour * HOUR_MS + chance.randrange(HOUR_MS) for hour in orders)
    events: list[Event] = [(hour * HOUR_MS, partial(shop.count, hour)) for hour in range(24)]
    # The last one writes markers to all brokers just before the dump, whose as-of they confirm.
    events.append((DAY_MS - 2 * MINUTE_MS, partial(shop.count, 24)))
    for order, moment in enumerate(ordered, FIRST_ORDER):
        paid = moment + chance.randrange(5 * SECOND_MS, 2 * MINUTE_MS)
        sent = paid + chance.randrange(HOUR_MS // 2, 5 * HOUR_MS)
        steps = ((moment, shop.checkout), (paid, shop.pay), (sent, shop.ship))
        events += [(when, partial(step, order)) for when, step in steps]
    return [event for event in events if event[0] < DAY_MS]
