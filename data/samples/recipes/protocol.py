"""A Kafka client reduced to the requests that make and show transactions.

Ordinary clients refuse to misbehave. Here every field is the caller's: which producer id and epoch a batch
carries, whether its partition was ever added to the transaction, and when it arrives.
"""

from connection import retrying
from inquiries import Inquirer
from wire import (
    NO_TAGS,
    Producer,
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

PRODUCE, INIT_PRODUCER_ID = 0, 22
ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, TXN_OFFSET_COMMIT = 24, 25, 26, 28


class Client(Inquirer):
    """Sends each request to the broker that has to answer it. Nothing is remembered between requests."""

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
