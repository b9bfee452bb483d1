"""Partitions that must show nothing: one function per case."""

from collections.abc import Mapping

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka import Producer as OrdinaryProducer
from lab import Lab

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def _ordinary(lab: Lab, settings: Mapping[str, str | int | bool]) -> OrdinaryProducer:
    return OrdinaryProducer({"bootstrap.servers": lab.cluster.bootstrap, "log_level": 0, "linger.ms": 50, **settings})


def ordinary_transactions(lab: Lab) -> None:
    """Transactions of an ordinary client, with every codec and with consumed offsets."""
    topic = lab.topic("orders", [1], [2])
    group = Consumer({"bootstrap.servers": lab.cluster.bootstrap, "group.id": "order-reader", "log_level": 0})
    for codec in CODECS:
        settings: dict[str, str | int | bool] = {
            "transactional.id": f"orders-{codec}",
            "transaction.timeout.ms": 9_000,
            "compression.type": codec,
        }
        producer = _ordinary(lab, settings)
        producer.init_transactions()
        for commit in (True, False, True):
            producer.begin_transaction()
            for partition in (0, 1):
                for number in range(4):
                    producer.produce(topic, f"{codec} order {number} " + "=" * 60, partition=partition)
            if commit:
                offsets = [TopicPartition(topic, 0, 17)]
                producer.send_offsets_to_transaction(offsets, group.consumer_group_metadata())
                producer.commit_transaction()
            else:
                producer.flush()
                producer.abort_transaction()
    group.close()
    for partition in (0, 1):
        lab.note_closed(topic, partition, "Commits and aborts of an ordinary client, with every codec.")


def plain_batches(lab: Lab) -> None:
    """Batches without a producer id, and idempotent ones outside a transaction."""
    for topic, idempotent in (("plain", False), ("idempotent", True)):
        lab.topic(topic, [1])
        producer = _ordinary(lab, {"enable.idempotence": idempotent, "compression.type": "gzip"})
        for number in range(6):
            producer.produce(topic, f"{topic} {number}", partition=0)
        producer.flush()
    lab.note_closed("plain", 0, "Batches without a producer id.")
    lab.note_closed("idempotent", 0, "Batches with a producer id, none of them transactional.")


def fenced(lab: Lab) -> None:
    """InitProducerId in the middle of a transaction: the marker carries the next epoch."""
    topic = lab.topic("fenced", [2])
    raw = lab.producer("fenced-id", bumps=2)
    raw.begin(topic, 0, "cut short by the producer's successor")
    raw.initialise()
    lab.note_closed(topic, 0, "InitProducerId during a transaction: the ABORT marker is one epoch above the data.")


def empty(lab: Lab) -> None:
    """A partition that was added to transactions and got only their markers."""
    topic = lab.topic("empty", [1])
    raw = lab.producer("empty-id")
    for commit in (True, False, False):
        raw.add(topic, 0)
        raw.end(commit)
    lab.note_closed(topic, 0, "Three transactions without data: markers that end nothing.")


def healed(lab: Lab) -> None:
    """A late write, closed by the ABORT marker of the same producer id's next transaction here."""
    topic = lab.topic("healed", [2])
    raw = lab.producer("healed-id", first_sequence=11)
    raw.begin(topic, 0, "committed")
    raw.end(commit=True)
    raw.write(topic, 0, "late")
    raw.begin(topic, 0, "the next transaction")
    raw.end(commit=False)
    lab.note_closed(topic, 0, "A late write, closed by the ABORT marker of the next transaction of its producer id.")


def absorbed(lab: Lab) -> None:
    """A batch of an aborted transaction arrives after the marker and is committed with the next one."""
    topic = lab.topic("absorbed", [1])
    raw = lab.producer("absorbed-id")
    raw.add(topic, 0)
    raw.end(commit=False)
    raw.write(topic, 0, "belongs to the aborted transaction")
    raw.begin(topic, 0, "belongs to the next one")
    raw.end(commit=True)
    story = "ABORT marker, then a late batch of that transaction, then the next one's data and COMMIT: absorbed."
    lab.note_closed(topic, 0, story)
