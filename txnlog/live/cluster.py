"""A running cluster, through librdkafka's administration client, which only asks."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as NoAnswerError
from dataclasses import dataclass, field
from typing import Any

from txnlog.errors import ClusterError, OptionError, SetupError

try:
    from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition, Uuid

    # confluent_kafka.admin does not declare the names that it takes from its own modules as exported.
    from confluent_kafka.admin import AdminClient, ConfigResource, ListOffsetsResultInfo, OffsetSpec  # type: ignore[attr-defined]
except ImportError as absent:
    raise SetupError("the package confluent-kafka is missing: pip install 'txnlog[kafka]'") from absent

# `Topic.LEGAL_CHARS` of Kafka: no cluster has a topic of another name.
LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
# Number of clients that ask, one after the other, until one gets an answer.
CLIENTS = 6
# confluent_kafka declares no types for these.
EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
# Beyond what librdkafka itself waits for; and the shortest wait that it knows.
GRACE_S, MINIMUM_S = 2.0, 0.1
NO_SUCH_TOPIC = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)
NO_SUCH_PARTITION = (*NO_SUCH_TOPIC, KafkaError._UNKNOWN_PARTITION)

NO_ANSWER = "no answer"
_URL_SAFE = str.maketrans("+/", "-_")

Place = tuple[str, int]
# Asks about keys through a client, with a timeout in seconds.
Asking = Callable[[AdminClient, float, list[str]], Mapping[str, Future[Any]]]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of the cluster; `leaders` has the broker that leads each partition, None where none does."""

    topic_id: str
    leaders: dict[int, int | None]


@dataclass(frozen=True, slots=True)
class Ends:
    """Offsets of a partition: log start, high watermark (where read_uncommitted consumers end), last stable offset."""

    log_start_offset: int
    high_watermark: int
    last_stable_offset: int


@dataclass
class LiveCluster:
    """A running cluster. `settings` are librdkafka's; `timeout_s` is how long each answer may take."""

    bootstrap: str
    settings: Mapping[str, str] = field(repr=False)
    timeout_s: float
    _complaint: str | None = field(default=None, init=False, repr=False)

    def cluster_id(self) -> str:
        """The cluster's id. `ClusterError` where no broker answers."""
        found = self._asked("the cluster's id", lambda admin, seconds: admin.describe_cluster(request_timeout=seconds))
        return str(found.cluster_id)

    def brokers(self) -> list[int]:
        """Ids of the brokers that are in the cluster now."""
        found = self._asked("the brokers", lambda admin, seconds: admin.describe_cluster(request_timeout=seconds))
        return sorted(node.id for node in found.nodes)

    def topics(self, names: Iterable[str]) -> dict[str, Topic | str | None]:
        """Each topic: None if it does not exist, a reason if the cluster does not answer."""
        wanted = sorted(set(names))
        legal = [name for name in wanted if LEGAL_NAME.fullmatch(name)]
        found: dict[str, Topic | str | None] = dict.fromkeys(wanted, "Kafka allows no topic of this name")
        return found | self._described(legal)

    def ends(self, places: Mapping[Place, int]) -> dict[Place, Ends | str | None]:
        """The offsets of partitions, given with their leaders: None if one is gone, a reason if they are unknown.

        The last stable offset is asked last: the other offsets can only have grown since they were asked.
        """
        admin = self._client()
        bounds = [self._offsets(admin, places, spec) for spec in (EARLIEST, LATEST)]
        start, end = map(self._awaited, bounds)
        known = {place: leader for place, leader in places.items() if isinstance(start[place], int)}
        committed = self._awaited(self._offsets(admin, known, LATEST, IsolationLevel.READ_COMMITTED))
        return {place: _ends(start[place], end[place], committed.get(place)) for place in places}

    def broker_settings(self, brokers: Collection[int]) -> dict[int, dict[str, str] | str]:
        """The configuration of each broker, or why it is unknown: each broker must be asked itself."""
        admin = self._client()
        asked = {}
        for broker in brokers:
            resource = ConfigResource(ConfigResource.Type.BROKER, str(broker))
            asked[broker] = admin.describe_configs([resource], request_timeout=self.timeout_s)[resource]
        answers = self._awaited(asked)
        return {
            broker: answer if isinstance(answer, str) else {name: entry.value for name, entry in answer.items()}
            for broker, answer in answers.items()
        }

    def client_settings(self, **others: Any) -> dict[str, Any]:
        """All settings of a client of this cluster; its logs are kept off the terminal."""
        return {
            "client.id": "txnlog",
            **self.settings,
            "bootstrap.servers": self.bootstrap,
            "log_level": 0,
            "error_cb": self._complains,
            **others,
        }

    def _client(self) -> AdminClient:
        try:
            return AdminClient(self.client_settings())
        except (KafkaException, ValueError, TypeError) as error:
            raise OptionError(f"the client's settings: {self._said(error)}") from error

    def _asked(self, what: str, ask: Callable[[AdminClient, float], Future[Any]]) -> Any:
        (future,) = self._answers([what], lambda admin, seconds, _: {what: ask(admin, seconds)}).values()
        try:
            return future.result(0)
        except (KafkaException, NoAnswerError) as error:
            trouble = self._complaint or self._said(error)
        raise ClusterError(f"{self.bootstrap}: no answer about {what} within {self.timeout_s:g} s: {trouble}")

    def _answers(self, keys: Iterable[str], ask: Asking) -> dict[str, Future[Any]]:
        """A future for each key, which has its answer if any broker gave one in time.

        A client keeps to one broker for what any broker could say, and that one may be down. So after each part of
        the time another client asks for what is missing, and whichever answer comes first counts.
        """
        begin, found, asked = time.monotonic(), dict[str, Future[Any]](), list[tuple[str, Future[Any]]]()
        # A client that is garbage collected ends its open requests.
        clients = []
        for part in range(1, CLIENTS + 1):
            missing = [key for key in keys if key not in found]
            if not missing:
                break
            clients.append(self._client())
            rest = begin + self.timeout_s - time.monotonic()
            asked += ask(clients[-1], max(rest, MINIMUM_S), missing).items()
            until = begin + self.timeout_s * part / CLIENTS + (GRACE_S if part == CLIENTS else 0)
            open_questions = [future for key, future in asked if key in missing]
            wait(open_questions, max(0.0, until - time.monotonic()))
            found |= {key: future for key, future in asked if _answered(future)}
        for client in clients:
            # An error of the connection goes to all futures that wait.
            client.poll(0)
        return dict(reversed(asked)) | found

    def _described(self, names: list[str]) -> dict[str, Topic | str | None]:
        answers = self._answers(
            names, lambda admin, seconds, rest: admin.describe_topics(TopicCollection(rest), request_timeout=seconds)
        )
        return {name: self._topic(future) for name, future in answers.items()}

    def _topic(self, future: Future[Any]) -> Topic | str | None:
        try:
            found = future.result(0)
        except (KafkaException, NoAnswerError) as error:
            return None if _code(error) in NO_SUCH_TOPIC else self._said(error)
        leaders = {each.id: each.leader.id if each.leader is not None else None for each in found.partitions}
        return Topic(
            _as_kafka_writes(found.topic_id),
            {each: None if leader == -1 else leader for each, leader in leaders.items()},
        )

    def _offsets(
        self,
        admin: AdminClient,
        places: Mapping[Place, int],
        spec: OffsetSpec,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[Place, Future[Any]]:
        """One request to each partition's leader: a leader that is down must not delay the others' answers."""
        asked = dict[Place, Future[Any]]()
        for leader in sorted(set(places.values())):
            specs = {TopicPartition(*place): spec for place, of in places.items() if of == leader}
            answers = admin.list_offsets(specs, isolation_level=isolation, request_timeout=self.timeout_s)
            asked |= {(one.topic, one.partition): answer for one, answer in answers.items()}
        return asked

    def _awaited(self, asked: Mapping[Any, Future[Any]]) -> dict[Any, Any]:
        """Each answer, a reason for one that did not come, None for a partition that is not there."""
        deadline, found = time.monotonic() + self.timeout_s + GRACE_S, dict[Any, Any]()
        for key, future in asked.items():
            try:
                answer = future.result(max(0.0, deadline - time.monotonic()))
            except (KafkaException, NoAnswerError) as error:
                found[key] = None if _code(error) in NO_SUCH_PARTITION else self._said(error)
            else:
                found[key] = _offset(answer) if isinstance(answer, ListOffsetsResultInfo) else answer
        return found

    def _complains(self, error: KafkaError) -> None:
        # The message before "All brokers are down" says more.
        if error.code() != KafkaError._ALL_BROKERS_DOWN or self._complaint is None:
            self._complaint = self._without_secrets(error.str())

    def _said(self, error: BaseException) -> str:
        if isinstance(error, NoAnswerError) or _code(error) == KafkaError._TIMED_OUT:
            return NO_ANSWER
        cause = error.args[0] if error.args else error
        return self._without_secrets(cause.str() if isinstance(cause, KafkaError) else str(cause))

    def _without_secrets(self, text: str) -> str:
        for key, value in self.settings.items():
            if value and any(word in key for word in ("password", "secret", "pem")):
                text = text.replace(value, "***")
        return text


def _answered(future: Future[Any]) -> bool:
    """Whether a broker answered, even if the answer is that there is no such topic."""
    if not future.done():
        return False
    error = future.exception(0)
    return error is None or _code(error) in NO_SUCH_TOPIC


def _offset(answer: ListOffsetsResultInfo) -> int | str:
    """The offset; librdkafka gives -1 and no error where a leader did not answer in time."""
    return int(answer.offset) if answer.offset >= 0 else NO_ANSWER


def _as_kafka_writes(topic_id: Uuid) -> str:
    """The id as `partition.metadata` has it (`Uuid.toString` of Kafka): this client takes two other letters."""
    return str(topic_id).translate(_URL_SAFE).rstrip("=")


def _code(error: BaseException) -> int | None:
    cause = error.args[0] if error.args else None
    return cause.code() if isinstance(cause, KafkaError) else None


def _ends(start: Any, end: Any, stable: Any) -> Ends | str | None:
    answers = (start, end, stable)
    if all(isinstance(each, int) for each in answers):
        return Ends(start, end, stable)
    return next((each for each in answers if isinstance(each, str)), None)
