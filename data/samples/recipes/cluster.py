"""A real Kafka cluster on 127.0.0.1: its topics, leaders and offsets, by ordinary clients and by raw requests."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future

from brokers import CONTROLLER_NODE, HOST, Brokers
from confluent_kafka import ElectionType, IsolationLevel, KafkaError, KafkaException, TopicPartition

# confluent_kafka.admin does not declare the names that it takes from its own modules as exported.
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
)
from programs import TRANSACTIONS_COMMAND
from protocol import Client

PATIENCE_OF_A_REQUEST_S = 15
ATTEMPTS = 8


class Cluster(Brokers):
    """Brokers and what is asked of them."""

    @property
    def client(self) -> Client:
        """A raw client of this cluster."""
        return Client(HOST, self.nodes[CONTROLLER_NODE].port)

    def create_topic(self, name: str, replicas: Sequence[Sequence[int]], settings: Mapping[str, str]) -> None:
        """One partition for each list of brokers, the first of which leads it."""
        assignment = [list(nodes) for nodes in replicas]
        topic = NewTopic(name, num_partitions=len(assignment), replica_assignment=assignment, config=dict(settings))
        self._by_controller(lambda admin: admin.create_topics([topic], request_timeout=PATIENCE_OF_A_REQUEST_S)[name])
        while len([one for one in self.client.leaders(name).values() if one]) < len(assignment):
            time.sleep(0.1)

    def configure_topic(self, name: str, key: str, value: str) -> None:
        """Change one of a topic's settings."""
        change = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=[change])
        self._by_controller(
            lambda admin: admin.incremental_alter_configs([resource], request_timeout=PATIENCE_OF_A_REQUEST_S)[resource]
        )

    def _by_controller(self, ask: Callable[[AdminClient], Future[object]]) -> None:
        """Ask until it is done. A client takes any broker for the controller and keeps to it: a paused one, too."""
        for attempt in range(ATTEMPTS):
            client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0}) if attempt else self.admin
            try:
                ask(client).result()
            except KafkaException as error:
                code = error.args[0].code()
                if attempt and code == KafkaError.TOPIC_ALREADY_EXISTS:
                    return
                if code not in (KafkaError._TIMED_OUT, KafkaError.REQUEST_TIMED_OUT) or attempt + 1 == ATTEMPTS:
                    raise
            else:
                return

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """DeleteRecords: move the log start offset up."""
        asked = TopicPartition(topic, partition, before)
        next(iter(self.admin.delete_records([asked]).values())).result()

    def elect_uncleanly(self, topic: str, partition: int) -> None:
        """Make a replica outside the in-sync set the leader."""
        self.admin.elect_leaders(ElectionType.UNCLEAN, [TopicPartition(topic, partition)]).result()

    def in_sync(self, topic: str, partition: int, seen_by: int = CONTROLLER_NODE) -> set[int]:
        """The brokers with an in-sync replica, by what one of the brokers has learned so far."""
        described = Client(HOST, self.nodes[seen_by].port).partitions(topic)
        return set(described[partition].in_sync) if partition in described else set()

    def last_stable_offset(self, topic: str, partition: int) -> int:
        """The LSO: ListOffsets of the latest offset with READ_COMMITTED."""
        asked = {TopicPartition(topic, partition): OffsetSpec.latest()}  # type: ignore[no-untyped-call]
        answers = self.admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED)
        return int(next(iter(answers.values())).result().offset)

    def transactions(self, *arguments: str) -> str:
        """`kafka-transactions.sh --bootstrap-server ... <arguments>`."""
        return self.tool(TRANSACTIONS_COMMAND, "--bootstrap-server", self.bootstrap, *arguments)
