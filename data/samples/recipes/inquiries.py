"""What a Kafka cluster answers to the requests that show transactions and change nothing."""

from typing import NamedTuple

from connection import Connection, ProtocolError, retrying
from wire import NO_TAGS, Reader, array, compact_array, compact_string, i8, i32, string

METADATA, FIND_COORDINATOR = 3, 10
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


class Inquirer:
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
