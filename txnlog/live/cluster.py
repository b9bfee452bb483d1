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
from txnlog.live.addresses import check_names
from txnlog.live.answers import (
    NO_ANSWER,
    NO_SUCH_PARTITION,
    NO_SUCH_TOPIC,
    Ends,
    Topic,
    code_of,
    ends_of,
    is_answered,
    offset_of,
    topic_of,
)
from txnlog.live.patience import Patience, of_request

try:
    from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition

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
# Of the time for all answers: the rest must do for what is asked after it.
HALF = 0.5
# How often somebody looks whether the brokers have refused the login.
MOMENT_S = 0.2
SAYS_NOTHING = "the brokers end the connection"
ASKS_LOGIN = "if they ask for SASL or TLS, name security.protocol in the file of --command-config"
ASKS_ANOTHER = "they may ask for SASL or TLS, which security.protocol={protocol} does not give"
Place = tuple[str, int]
# Asks about keys through a client, with a timeout in seconds.
Asking = Callable[[AdminClient, float, list[str]], Mapping[str, Future[Any]]]


@dataclass
class LiveCluster:
    """A running cluster. `settings` are librdkafka's; `timeout_s` is how long each answer may take.

    `bounds_all`: so long may all of them together take, from now on.
    """

    bootstrap: str
    settings: Mapping[str, str] = field(repr=False)
    timeout_s: float
    bounds_all: bool = False
    _patience: Patience = field(init=False, repr=False)
    _complaint: str | None = field(default=None, init=False, repr=False)
    _is_refused: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        self._patience = Patience(self.timeout_s, self.bounds_all)
        check_names(self.bootstrap)

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
        admin, seconds = self._client(), self._patience.left(HALF)
        bounds = [self._offsets(admin, places, spec, seconds) for spec in (EARLIEST, LATEST)]
        start, end = (self._awaited(asked, seconds) for asked in bounds)
        known = {place: leader for place, leader in places.items() if isinstance(start[place], int)}
        seconds = self._patience.left(HALF)
        committed = self._awaited(self._offsets(admin, known, LATEST, seconds, IsolationLevel.READ_COMMITTED), seconds)
        return {place: ends_of(start[place], end[place], committed.get(place)) for place in places}

    def broker_settings(self, brokers: Collection[int]) -> dict[int, dict[str, str] | str]:
        """The configuration of each broker, or why it is unknown: each broker must be asked itself."""
        admin, seconds = self._client(), self._patience.left()
        asked = {}
        for broker in brokers:
            resource = ConfigResource(ConfigResource.Type.BROKER, str(broker))
            asked[broker] = admin.describe_configs([resource], request_timeout=of_request(seconds))[resource]
        answers = self._awaited(asked, seconds)
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
        if self._is_refused:
            raise ClusterError(f"{self.bootstrap}: the brokers refuse the login: {trouble}")
        raise ClusterError(f"{self.bootstrap}: no answer about {what} within {self.timeout_s:g} s: {trouble}")

    def _answers(self, keys: Iterable[str], ask: Asking, share: float = 1.0) -> dict[str, Future[Any]]:
        """A future for each key, which has its answer if any broker gave one in time.

        A client keeps to one broker for what any broker could say, and that one may be down. So after each part of
        the time another client asks for what is missing, and whichever answer comes first counts.
        """
        begin, seconds = time.monotonic(), self._patience.left(share)
        found, asked = dict[str, Future[Any]](), list[tuple[str, Future[Any]]]()
        # A client that is garbage collected ends its open requests.
        clients = []
        for part in range(1, CLIENTS + 1):
            missing = [key for key in keys if key not in found]
            if not missing or self._is_refused:
                break
            clients.append(self._client())
            asked += ask(clients[-1], of_request(begin + seconds - time.monotonic()), missing).items()
            open_questions = [future for key, future in asked if key in missing]
            self._wait(open_questions, begin + seconds * part / CLIENTS, clients)
            found |= {key: future for key, future in asked if is_answered(future)}
        return dict(reversed(asked)) | found

    def _wait(self, questions: list[Future[Any]], until: float, clients: list[AdminClient]) -> None:
        """Until all are answered, or it is too late, or the brokers have refused the login."""
        while True:
            rest = until - time.monotonic()
            still_open = wait(questions, max(0.0, min(rest, MOMENT_S))).not_done
            for client in clients:
                # What is wrong with a connection is told to who polls.
                client.poll(0)
            if not still_open or rest <= MOMENT_S or self._is_refused:
                return

    def _described(self, names: list[str]) -> dict[str, Topic | str | None]:
        answers = self._answers(
            names,
            lambda admin, seconds, rest: admin.describe_topics(TopicCollection(rest), request_timeout=seconds),
            HALF,
        )
        return {name: self._topic(future) for name, future in answers.items()}

    def _topic(self, future: Future[Any]) -> Topic | str | None:
        try:
            found = future.result(0)
        except (KafkaException, NoAnswerError) as error:
            return None if code_of(error) in NO_SUCH_TOPIC else self._said(error)
        return topic_of(found)

    def _offsets(
        self,
        admin: AdminClient,
        places: Mapping[Place, int],
        spec: OffsetSpec,
        seconds: float,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[Place, Future[Any]]:
        """One request to each partition's leader: a leader that is down must not delay the others' answers."""
        asked = dict[Place, Future[Any]]()
        for leader in sorted(set(places.values())):
            specs = {TopicPartition(*place): spec for place, of in places.items() if of == leader}
            answers = admin.list_offsets(specs, isolation_level=isolation, request_timeout=of_request(seconds))
            asked |= {(one.topic, one.partition): answer for one, answer in answers.items()}
        return asked

    def _awaited(self, asked: Mapping[Any, Future[Any]], seconds: float) -> dict[Any, Any]:
        """Each answer, a reason for one that did not come, None for a partition that is not there."""
        deadline, found = time.monotonic() + seconds, dict[Any, Any]()
        for key, future in asked.items():
            try:
                answer = future.result(max(0.0, deadline - time.monotonic()))
            except (KafkaException, NoAnswerError) as error:
                found[key] = None if code_of(error) in NO_SUCH_PARTITION else self._said(error)
            else:
                found[key] = offset_of(answer) if isinstance(answer, ListOffsetsResultInfo) else answer
        return found

    def _complains(self, error: KafkaError) -> None:
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            # The message before it says more. Without one the brokers were there, and ended the connection.
            protocol = self.settings.get("security.protocol")
            asks = ASKS_LOGIN if protocol is None else ASKS_ANOTHER.format(protocol=protocol)
            self._complaint = self._complaint or f"{SAYS_NOTHING}: {asks}"
        else:
            self._complaint = self._without_secrets(error.str())
        self._is_refused |= error.code() == KafkaError._AUTHENTICATION

    def _said(self, error: BaseException) -> str:
        if isinstance(error, NoAnswerError) or code_of(error) == KafkaError._TIMED_OUT:
            return NO_ANSWER
        cause = error.args[0] if error.args else error
        return self._without_secrets(cause.str() if isinstance(cause, KafkaError) else str(cause))

    def _without_secrets(self, text: str) -> str:
        for key, value in self.settings.items():
            if value and any(word in key for word in ("password", "secret", "pem")):
                text = text.replace(value, "***")
        return text
