"""Where partitions of a live cluster end, and what a read_committed consumer is given of them."""

import time
from collections.abc import Sequence
from typing import NamedTuple

from abort_lines import Place
from cluster import Cluster
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition


class Ends(NamedTuple):
    """Where a partition starts, where it ends for read_committed consumers, and where for all others."""

    start: int
    stable: int
    log: int


class Reading(NamedTuple):
    """Offsets of the records that a read_committed consumer is given, and how far it comes."""

    offsets: Sequence[int]
    reached: int

    def __str__(self) -> str:
        return f"{len(self.offsets)} records up to {self.reached}"


def ends_of(cluster: Cluster, place: Place) -> Ends:
    """The ends of one partition."""
    consumer = _consumer(cluster, "read_uncommitted")
    log_start, log_end = consumer.get_watermark_offsets(TopicPartition(*place), timeout=30)
    consumer.close()
    return Ends(log_start, cluster.last_stable_offset(*place), log_end)


def ends_once_moved(cluster: Cluster, place: Place, before: Ends) -> Ends:
    """The ends of one partition once its last stable offset is another one, or as they are after ten seconds."""
    deadline = time.monotonic() + 10
    while (after := ends_of(cluster, place)).stable == before.stable and time.monotonic() < deadline:
        time.sleep(0.2)
    return after


def all_ends(cluster: Cluster) -> dict[Place, Ends]:
    """The ends of every partition of every topic."""
    topics = cluster.admin.list_topics(timeout=10).topics
    return {(name, one): ends_of(cluster, (name, one)) for name in sorted(topics) for one in topics[name].partitions}


def read_committed(cluster: Cluster, place: Place) -> Reading:
    """The partition from its beginning to where a read_committed consumer sees its end."""
    consumer, offsets = _consumer(cluster, "read_committed"), list[int]()
    consumer.assign([TopicPartition(*place, OFFSET_BEGINNING)])
    try:
        while (message := consumer.poll(30)) is not None:
            error, offset = message.error(), int(message.offset() or 0)
            if error is None:
                offsets.append(offset)
            elif error.code() == KafkaError._PARTITION_EOF:
                return Reading(offsets, offset)
            else:
                raise KafkaException(error)
    finally:
        consumer.close()
    raise TimeoutError(f"read_committed never came to the end of {place}")


def _consumer(cluster: Cluster, isolation: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "abort-run",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
