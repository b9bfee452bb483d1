"""A Kafka client reduced to the requests that make and show transactions.

Ordinary clients refuse to misbehave. Here every field is the caller's: which producer id and epoch a batch
carries, whether its partition was ever added to the transaction, and when it arrives.
"""

from typing import NamedTuple

from connection import Connection, ProtocolError, retrying
from wire import (
    NO_TAGS,
    Producer,
    Reader,
    array,
    compact_array,
    compact_string,
    i8,
    i16,
    i32,
    i64,
    string,
    unsigned_varint,
)

PRODUCE, METADATA, FIND_COORDINATOR, INIT_PRODUCER_ID = 0, 3, 10, 22
ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, TXN_OFFSET_COMMIT = 24, 25, 26, 28
DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS = 61, 65


class OpenTransaction(NamedTuple):
    """What a partition's leader says about an open transaction."""

    producer_id: int
    producer_epoch: int
    start_offset: int


class CoordinatorState(NamedTuple):
    """What the transaction coordinator says about a transactional id."""

    state: str
    timeout_ms: int
    start_timestamp: int
    producer_id: int
    producer_epoch: int
    partitions: frozenset[tuple[str, int]]


class Described(NamedTuple):
    """A partition: the address of its leader, None where there is none, and the brokers in its in-sync set."""

    leader: tuple[str, int] | None
    in_sync: frozenset[int]


class Client:
    """Sends each request to the broker that has to answer it. Nothing is remembered between requests."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port

    def _ask(self, address: tuple[str, int], api_key: int, version: int, body: bytes, flexible: bool = False) -> Reader:
        connection = Connection(*address)
        try:
            return connection.request(api_key, version, body, flexible)
        finally:
            connection.close()

    def leaders(self, topic: str) -> dict[int, tuple[str, int] | None]:
        """Address of each partition's leader; None where there is none."""
        return {partition: described.leader for partition, described in self.partitions(topic).items()}

    def partitions(self, topic: str) -> dict[int, Described]:
        """What the first broker knows of each partition: another one may be paused, and would not answer."""
        answer = self._ask((self._host, self._port), METADATA, 4, array([string(topic)]) + i8(0))
        answer.number("i")

        def broker() -> tuple[int, tuple[str, int]]:
            node, host, port = answer.number("i"), answer.string(), answer.number("i")
            answer.string()
            return node, (host, port)

        brokers = dict(answer.array(broker))
        answer.string()
        answer.number("i")

        def partition() -> tuple[int, Described]:
            answer.number("h")
            index, leader = answer.number("i"), answer.number("i")
            answer.array(lambda: answer.number("i"))
            in_sync = answer.array(lambda: answer.number("i"))
            return index, Described(brokers.get(leader), frozenset(in_sync))

        def described() -> list[tuple[int, Described]]:
            answer.number("h")
            answer.string()
            answer.number("b")
            return answer.array(partition)

        return dict(answer.array(described)[0])

    def _leader(self, topic: str, partition: int) -> tuple[str, int]:
        def ask() -> tuple[int, tuple[str, int]]:
            leader = self.leaders(topic).get(partition)
            return (0, leader) if leader else (5, ("", 0))

        return retrying(f"leader of {topic}-{partition}", ask)

    def coordinator(self, key: str, of_group: bool = False) -> tuple[str, int]:
        """Address of the coordinator of a transactional id, or of a group. Makes the internal topic exist."""

        def ask() -> tuple[int, tuple[str, int]]:
            body = string(key) + i8(0 if of_group else 1)
            answer = self._ask((self._host, self._port), FIND_COORDINATOR, 1, body)
            answer.number("i")
            code = answer.number("h")
            answer.string()
            answer.number("i")
            return code, (answer.string(), answer.number("i"))

        return retrying("FindCoordinator", ask)

    def init_producer_id(self, transactional_id: str | None, timeout_ms: int) -> Producer:
        """A producer id; for a transactional id its next epoch, which fences the one before."""
        address = (self._host, self._port) if transactional_id is None else self.coordinator(transactional_id)

        def ask() -> tuple[int, Producer]:
            answer = self._ask(address, INIT_PRODUCER_ID, 1, string(transactional_id) + i32(timeout_ms))
            answer.number("i")
            return answer.number("h"), Producer(answer.number("q"), answer.number("h"))

        return retrying("InitProducerId", ask)

    def init_two_phase(self, transactional_id: str) -> Producer:
        """InitProducerId of a participant in two-phase commit (KIP-939): a timeout of 2^31 - 1 ms."""
        no_producer = i64(-1) + i16(-1)
        body = compact_string(transactional_id) + i32(2**31 - 1) + no_producer + i8(1) + i8(0) + NO_TAGS

        def ask() -> tuple[int, Producer]:
            address = self.coordinator(transactional_id)
            answer = self._ask(address, INIT_PRODUCER_ID, 6, body, flexible=True)
            answer.number("i")
            return answer.number("h"), Producer(answer.number("q"), answer.number("h"))

        return retrying("InitProducerId", ask)

    def add_partition(self, transactional_id: str, producer: Producer, topic: str, partition: int) -> None:
        """AddPartitionsToTxn."""
        topics = array([string(topic) + array([i32(partition)])])
        body = string(transactional_id) + i64(producer.producer_id) + i16(producer.producer_epoch) + topics

        def ask() -> tuple[int, None]:
            answer = self._ask(self.coordinator(transactional_id), ADD_PARTITIONS_TO_TXN, 0, body)
            answer.number("i")
            answer.number("i")
            answer.string()
            answer.number("i")
            answer.number("i")
            return answer.number("h"), None

        retrying("AddPartitionsToTxn", ask)

    def add_offsets(self, transactional_id: str, producer: Producer, group: str) -> None:
        """AddOffsetsToTxn: adds the group's partition of __consumer_offsets."""
        body = string(transactional_id) + i64(producer.producer_id) + i16(producer.producer_epoch) + string(group)

        def ask() -> tuple[int, None]:
            answer = self._ask(self.coordinator(transactional_id), ADD_OFFSETS_TO_TXN, 0, body)
            answer.number("i")
            return answer.number("h"), None

        retrying("AddOffsetsToTxn", ask)

    def commit_offset(
        self,
        transactional_id: str,
        producer: Producer,
        group: str,
        *,
        topic: str,
        partition: int,
        offset: int,
    ) -> None:
        """TxnOffsetCommit of transaction version 1: it adds nothing to the transaction."""
        topics = array([string(topic) + array([i32(partition) + i64(offset) + i32(-1) + string(None)])])
        head = string(transactional_id) + string(group) + i64(producer.producer_id) + i16(producer.producer_epoch)

        def ask() -> tuple[int, None]:
            answer = self._ask(self.coordinator(group, of_group=True), TXN_OFFSET_COMMIT, 2, head + topics)
            answer.number("i")
            answer.number("i")
            answer.string()
            answer.number("i")
            answer.number("i")
            return answer.number("h"), None

        retrying("TxnOffsetCommit", ask)

    def end(self, transactional_id: str, producer: Producer, commit: bool) -> None:
        """EndTxn of transaction version 1: the epoch stays."""
        body = string(transactional_id) + i64(producer.producer_id) + i16(producer.producer_epoch) + i8(int(commit))

        def ask() -> tuple[int, None]:
            answer = self._ask(self.coordinator(transactional_id), END_TXN, 1, body)
            answer.number("i")
            return answer.number("h"), None

        retrying("EndTxn", ask)

    def end_and_bump(self, transactional_id: str, producer: Producer, commit: bool) -> Producer:
        """EndTxn of transaction version 2 (KIP-890): the answer carries the next transaction's epoch."""
        body = compact_string(transactional_id) + i64(producer.producer_id) + i16(producer.producer_epoch)

        def ask() -> tuple[int, Producer]:
            address = self.coordinator(transactional_id)
            answer = self._ask(address, END_TXN, 5, body + i8(int(commit)) + NO_TAGS, flexible=True)
            answer.number("i")
            return answer.number("h"), Producer(answer.number("q"), answer.number("h"))

        return retrying("EndTxn", ask)

    def produce(self, transactional_id: str, topic: str, partition: int, batch: bytes) -> int:
        """Append a batch, whatever the coordinator thinks of it; its base offset in the log."""
        data = array([string(topic) + array([i32(partition) + i32(len(batch)) + batch])])
        body = string(transactional_id) + i16(-1) + i32(10_000) + data

        def ask() -> tuple[int, int]:
            answer = self._ask(self._leader(topic, partition), PRODUCE, 7, body)
            answer.number("i")
            answer.string()
            answer.number("i")
            answer.number("i")
            return answer.number("h"), answer.number("q")

        return retrying("Produce", ask)

    def produce_and_add(self, transactional_id: str, topic: str, partition: int, batch: bytes) -> int:
        """Produce of transaction version 2: the broker itself adds the partition to the transaction."""
        data = i32(partition) + unsigned_varint(len(batch) + 1) + batch + NO_TAGS
        topics = compact_array([compact_string(topic) + compact_array([data]) + NO_TAGS])
        body = compact_string(transactional_id) + i16(-1) + i32(10_000) + topics + NO_TAGS

        def ask() -> tuple[int, int]:
            answer = self._ask(self._leader(topic, partition), PRODUCE, 12, body, flexible=True)
            answer.unsigned_varint()
            answer.compact_string()
            answer.unsigned_varint()
            answer.number("i")
            return answer.number("h"), answer.number("q")

        return retrying("Produce", ask)

    def open_transactions(self, topic: str, partition: int) -> list[OpenTransaction]:
        """DescribeProducers, reduced to those with an open transaction."""
        topics = compact_array([compact_string(topic) + compact_array([i32(partition)]) + NO_TAGS])
        address = self._leader(topic, partition)
        answer = self._ask(address, DESCRIBE_PRODUCERS, 0, topics + NO_TAGS, flexible=True)
        answer.number("i")
        answer.unsigned_varint()
        answer.compact_string()
        answer.unsigned_varint()
        answer.number("i")
        code = answer.number("h")
        answer.compact_string()
        if code:
            raise ProtocolError("DescribeProducers", code)

        def producer() -> OpenTransaction:
            producer_id, epoch = answer.number("q"), answer.number("i")
            for form in "iqi":
                answer.number(form)
            start = answer.number("q")
            answer.tags()
            return OpenTransaction(producer_id, epoch, start)

        return [one for one in answer.compact_array(producer) if one.start_offset >= 0]

    def transaction(self, transactional_id: str) -> CoordinatorState:
        """DescribeTransactions of one transactional id."""
        body = compact_array([compact_string(transactional_id)]) + NO_TAGS
        address = self.coordinator(transactional_id)
        answer = self._ask(address, DESCRIBE_TRANSACTIONS, 0, body, flexible=True)
        answer.number("i")
        answer.unsigned_varint()
        code = answer.number("h")
        if code:
            raise ProtocolError("DescribeTransactions", code)
        answer.compact_string()

        def topic() -> list[tuple[str, int]]:
            name = answer.compact_string()
            partitions = [(name, index) for index in answer.compact_array(lambda: answer.number("i"))]
            answer.tags()
            return partitions

        state, timeout, start = answer.compact_string(), answer.number("i"), answer.number("q")
        producer_id, epoch = answer.number("q"), answer.number("h")
        listed = frozenset(one for partitions in answer.compact_array(topic) for one in partitions)
        return CoordinatorState(state, timeout, start, producer_id, epoch, listed)
