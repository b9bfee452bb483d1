"""`__transaction_state` as a consumer of the running cluster reads it: the same as a copy of all its leaders' logs.

The cleaner works on while it is read. Before it removes a record it has a later one of the same id; that one lies below
the high watermark taken when everything before was read. So reading goes on, from one high watermark to the next, until
a stretch comes whole: then no id has lost all its records to a reader who came too late.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from txnlog.errors import ClusterError
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.live.answers import NO_ANSWER, Ends, Topic
from txnlog.live.cluster import LiveCluster

LOG = logging.getLogger("txnlog")
MESSAGES_AT_ONCE = 1_000
POLL_S = 0.5
ROUNDS = 10
# Half a gigabyte of them.
RECORDS_AT_ONCE = 1_000_000


class Consumed(NamedTuple):
    """One record of `__transaction_state`; its timestamp and coordinator epoch are those of its batch."""

    offset: int
    timestamp_ms: int
    leader_epoch: int
    key: bytes | None
    value: bytes | None


@dataclass
class PartitionLog:
    """A partition as far as it was read: from `start` to `position`. `gap_to` bounds its gaps from above."""

    start: int
    position: int
    records: list[Consumed] = field(default_factory=list)
    gap_to: int | None = None
    is_whole: bool = True

    def take(self, record: Consumed) -> None:
        """The next record."""
        self.reach(record.offset)
        self.records.append(record)
        self.position = record.offset + 1

    def reach(self, offset: int) -> None:
        """Everything before this offset was read."""
        if offset > self.position:
            self.position = self.gap_to = offset
            self.is_whole = False


@dataclass(frozen=True, slots=True)
class CoordinatorLogs:
    """The partitions that were read, why others were not, and when, ms since 1970. `topic_id` is the topic's."""

    topic_id: str
    logs: dict[int, PartitionLog]
    unread: dict[int, str]
    started_ms: int
    ended_ms: int

    @property
    def partitions(self) -> int:
        """How many partitions the topic has."""
        return len(self.logs) + len(self.unread)


def coordinator_logs(live: LiveCluster) -> CoordinatorLogs:
    """Every partition of `__transaction_state`. `ClusterError` where none can be read."""
    started_ms, topic = _now_ms(), described(live)
    unread: dict[int, str] = {}
    ends = _ends(live, _with_leader(topic, unread), unread)
    logs = _read(live, topic, {each: ends[each].log_start_offset for each in ends}, ends, unread)
    _check_read(live, logs, unread)
    return CoordinatorLogs(topic.topic_id, logs, unread, started_ms, _now_ms())


def logs_in_turn(live: LiveCluster, topic: Topic, known: Mapping[int, int]) -> Iterator[CoordinatorLogs]:
    """Every partition of `__transaction_state`, some at a time, each from the last one of the `known` offsets on.

    `known` has how many offsets of a partition are known. `ClusterError` at the end where some cannot be read.
    """
    started_ms = _now_ms()
    unread: dict[int, str] = {}
    ends, read = _ends(live, _with_leader(topic, unread), unread), 0
    for some in _in_turn({each: (_start(known.get(each, 0), end), end) for each, end in ends.items()}):
        logs = _read(live, topic, {each: start for each, (start, _) in some.items()},
                     {each: end for each, (_, end) in some.items()}, unread)  # fmt: skip
        read += len(logs)
        yield CoordinatorLogs(topic.topic_id, logs, {}, started_ms, _now_ms())
    _check_read(live, range(read), unread)
    if unread:
        names = ", ".join(map(str, sorted(unread)))
        raise ClusterError(
            f"{live.bootstrap}: partitions {names} of {TRANSACTION_STATE} could not be read. What the others have is"
            " kept: run it again"
        )


def _start(known: int, end: Ends) -> int:
    """The last known offset, if the log still has it: its record shows that it is the same log."""
    return known - 1 if end.log_start_offset < known <= end.high_watermark else end.log_start_offset


def _in_turn(places: Mapping[int, tuple[int, Ends]]) -> Iterator[dict[int, tuple[int, Ends]]]:
    """Partitions with about as many records as fit into memory."""
    some: dict[int, tuple[int, Ends]] = {}
    records = 0
    for partition, (start, end) in sorted(places.items()):
        some[partition] = start, end
        records += end.high_watermark - start
        if records >= RECORDS_AT_ONCE:
            yield some
            some, records = {}, 0
    if some:
        yield some


def _check_read(live: LiveCluster, read: Sized, unread: Mapping[int, str]) -> None:
    reasons = ", ".join(f"{partition}: {reason}" for partition, reason in sorted(unread.items()))
    if not read:
        raise ClusterError(f"{live.bootstrap}: no partition of {TRANSACTION_STATE} can be read: {reasons}")
    if unread:
        LOG.warning("partitions of %s that could not be read: %s", TRANSACTION_STATE, reasons)


def _now_ms() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)


def described(live: LiveCluster) -> Topic:
    """`__transaction_state` of the cluster. `ClusterError` where there is none."""
    found = live.topics([TRANSACTION_STATE])[TRANSACTION_STATE]
    if isinstance(found, Topic):
        return found
    raise ClusterError(
        f"{live.bootstrap} has no {TRANSACTION_STATE}"
        if found is None
        else f"{live.bootstrap}: {TRANSACTION_STATE}: {found}"
    )


def _with_leader(topic: Topic, unread: dict[int, str]) -> dict[int, int]:
    """The partitions that have a leader; the others are added to `unread`."""
    unread |= {partition: "no leader" for partition, leader in topic.leaders.items() if leader is None}
    return {partition: leader for partition, leader in topic.leaders.items() if leader is not None}


def _read(
    live: LiveCluster, topic: Topic, starts: Mapping[int, int], ends: Mapping[int, Ends], unread: dict[int, str]
) -> dict[int, PartitionLog]:
    """The logs that were read from their `starts` to their end; the reasons of the others are added to `unread`."""
    leaders = _with_leader(topic, {})
    logs = {partition: PartitionLog(start, start) for partition, start in starts.items()}
    consumer = Consumer(live.client_settings(**_SETTINGS))
    try:
        for _ in range(ROUNDS):
            for partition in ends:
                logs[partition].is_whole = True
            _read_to(consumer, live.timeout_s, {each: (logs[each], ends[each].high_watermark) for each in ends}, unread)
            moving = {each: leaders[each] for each in ends if each not in unread and not logs[each].is_whole}
            if not moving:
                return {partition: log for partition, log in logs.items() if partition not in unread}
            ends = _ends(live, moving, unread)
    finally:
        consumer.close()
    raise ClusterError(
        f"{live.bootstrap}: {TRANSACTION_STATE} is cleaned faster than it can be read: copy its files instead"
    )


_SETTINGS = {
    # Asked for by the client; no group is joined and no offset is committed.
    "group.id": "txnlog",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_uncommitted",
}


def _ends(live: LiveCluster, leaders: Mapping[int, int], unread: dict[int, str]) -> dict[int, Ends]:
    found = live.ends({(TRANSACTION_STATE, partition): leader for partition, leader in leaders.items()})
    unread |= {one: str(end or "it has gone") for (_, one), end in found.items() if not isinstance(end, Ends)}
    return {partition: end for (_, partition), end in found.items() if isinstance(end, Ends)}


def _read_to(
    consumer: Consumer, patience_s: float, targets: Mapping[int, tuple[PartitionLog, int]], unread: dict[int, str]
) -> None:
    """Read each log to its target; logs that deliver nothing more are `unread`."""
    left = {one: target for one, target in targets.items() if target[0].position < target[1]}
    consumer.assign([TopicPartition(TRANSACTION_STATE, one, log.position) for one, (log, _) in left.items()])
    heard = time.monotonic()
    while left and time.monotonic() - heard < patience_s:
        for message in consumer.consume(MESSAGES_AT_ONCE, POLL_S):
            partition = message.partition()
            if partition not in left:
                continue
            heard = time.monotonic()
            log, end = left[partition]
            trouble = _taken(log, end, message)
            if trouble is not None:
                unread[partition] = trouble
            if trouble is not None or log.position >= end:
                del left[partition]
    unread |= dict.fromkeys(left, NO_ANSWER)


def _taken(log: PartitionLog, end: int, message: Message) -> str | None:
    """Add a message to the log if it is before the end. Returns what is wrong with the partition, if anything."""
    error, offset = message.error(), message.offset() or 0
    if error is not None:
        if error.code() != KafkaError._PARTITION_EOF:
            return str(error.str())
        if offset < end:
            return f"it ends at offset {offset}, and ended at {end} before"
        log.reach(end)
    elif offset >= end:
        log.reach(end)
    else:
        _, timestamp = message.timestamp()
        epoch = message.leader_epoch()
        log.take(Consumed(offset, timestamp, -1 if epoch is None else epoch, message.key(), message.value()))
    return None
