"""A day of a shop: three of its transactions hang, and one that is committed loses its marker."""

from collections.abc import Callable
from functools import partial

from clock import DAY_MS, last_six_in_the_morning
from lab import Lab
from scenarios import lose_markers
from shop import HOUR_MS, MINUTE_MS, TOPICS, Shop, ordinary_events, raw_producer


def day(lab: Lab) -> None:
    """From six to six, one event after the other; the clock goes from one to the next."""
    for name, replicas in TOPICS.items():
        lab.topic(name, *replicas)
    shop, ends = Shop(lab), last_six_in_the_morning()
    events = ordinary_events(shop)
    for time_of_day, case in CASES.items():
        hours, minutes = map(int, time_of_day.split(":"))
        events.append((((hours - 6) * HOUR_MS + minutes * MINUTE_MS) % DAY_MS, partial(case, shop)))
    for moment, happens in sorted(events, key=lambda event: event[0]):
        lab.cluster.clock.move_to(ends - DAY_MS + moment)
        happens()
    lab.cluster.clock.move_to(ends)


def lost_commit(shop: Shop) -> None:
    """Brokers 3 and 2 are restarted while a payment is committed."""
    raw = shop.restarted("payments-us-1")
    first = raw.begin("payments", 1, '{"order": 5204, "state": "captured"}')
    lose_markers(shop.lab, [(raw, first, True)])


def late_write(shop: Shop) -> None:
    """Two batches of a finished transaction."""
    raw = shop.restarted("checkout-7")
    raw.begin("orders", 1, '{"order": 5201, "item": "SKU-118"}')
    raw.end(commit=True)
    first = raw.write("orders", 1, '{"order": 5201, "item": "SKU-204"}', '{"order": 5201, "item": "SKU-231"}')
    last = raw.write("orders", 1, '{"order": 5201, "item": "SKU-377"}')
    story = "Produce requests that were sent again arrived after the COMMIT marker of their transaction."
    shop.lab.note_open(raw, first, "LATE_WRITE_AFTER_END", "ABORT", story, last=last)


def never_added(shop: Shop) -> None:
    """Data in a partition that its client did not add to the transaction."""
    raw = shop.restarted("payments-eu-2")
    raw.begin("payments", 0, '{"order": 5202, "state": "authorised"}')
    raw.end(commit=True)
    first = raw.write("payments", 2, '{"order": 5203, "state": "authorised"}')
    story = "The client wrote to a partition that it had not added to a transaction, and stopped."
    shop.lab.note_open(raw, first, "NEVER_ADDED", "ABORT", story)


def stuck_ongoing(shop: Shop) -> None:
    """An instance ends within a transaction, and the coordinator leaves that alone."""
    raw = shop.restarted("stock-sync-2")
    first = raw.begin("inventory", 1, '{"shelf": 1, "moved": 12}')
    story = "Its program died; the coordinator looks for transactions past their timeout once an hour of real time."
    shop.lab.note_open(raw, first, "STUCK_ONGOING", "FENCE", story)


CASES: dict[str, Callable[[Shop], None]] = {
    "11:05": lost_commit,
    "17:52": late_write,
    "20:31": never_added,
    "02:40": stuck_ongoing,
}


def in_flight(lab: Lab) -> None:
    """A transaction that the dump finds open and in time."""
    raw = raw_producer(lab, "checkout-3")
    first = raw.begin("orders", 0, '{"order": 5205, "item": "SKU-150"}')
    lab.note_open(raw, first, "ONGOING", "WAIT", "Begun seconds before the dump.")


def all_else(lab: Lab) -> None:
    """Note the partitions in which nothing is open."""
    hanging = {(one.first.topic, one.first.partition) for one in lab.hanging}
    places = [(topic, partition) for topic, replicas in TOPICS.items() for partition in range(len(replicas))]
    for topic, partition in places:
        if (topic, partition) not in hanging:
            lab.note_closed(topic, partition, "The ordinary transactions of a day.")
