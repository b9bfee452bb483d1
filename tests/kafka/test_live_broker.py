"""One broker, asked as Kafka's own tools ask it: with TLS and a password, and of transactions as they come and go."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from brokers import HOST, free_port
from cluster import Cluster
from confluent_kafka import Producer

from tests.kafka.trials import RELEASES
from txnlog.errors import ClusterError
from txnlog.format.coordinator import transactional_id_of_key
from txnlog.live.answers import Topic
from txnlog.live.client_properties import client_settings
from txnlog.live.cluster import LiveCluster
from txnlog.live.coordinators import coordinator_logs
from txnlog.live.verifications import verifications

pytestmark = pytest.mark.kafka
PASSWORD = 'correct "horse" battery'
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="{}"{};'


class Guarded(NamedTuple):
    """A broker with a listener that wants TLS and a password, and the certificate that it shows."""

    cluster: Cluster
    bootstrap: str
    certificate: Path


def quoted(password: str) -> str:
    """A password as it stands in `sasl.jaas.config` in a file of properties, which takes a backslash for itself."""
    return password.replace('"', '\\\\"')


def certificate(folder: Path) -> tuple[Path, Path]:
    """The broker's certificate, and the same with its key."""
    shown, key, both = folder / "ca.pem", folder / "key.pem", folder / "broker.pem"
    names = ("-subj", "/CN=broker", "-addext", f"subjectAltName=IP:{HOST}")
    command = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names)
    subprocess.run([*command, "-keyout", key, "-out", shown], check=True, capture_output=True)
    both.write_text(key.read_text() + shown.read_text())
    return shown, both


@pytest.fixture(scope="module")
def guarded(kafka_jars: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder, port = tmp_path_factory.mktemp("login"), free_port()
    shown, both = certificate(folder)
    with Cluster(RELEASES[-1], folder / "cluster") as cluster:
        plain = f"PLAINTEXT://{HOST}:{cluster.nodes[1].port},SASL_SSL://{HOST}:{port}"
        protocols = "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT"
        settings = {
            "listeners": f"{plain},CONTROLLER://{HOST}:{cluster.controller_port}",
            "advertised.listeners": plain,
            "listener.security.protocol.map": protocols,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(both),
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": JAAS.format("unused", f' user_alice="{quoted(PASSWORD)}"'),
        }
        cluster.reconfigure(1, settings)
        yield Guarded(cluster, f"{HOST}:{port}", shown)


def asked(guarded: Guarded, folder: Path, password: str, *others: str) -> str:
    """The cluster's id, by a file of properties."""
    lines = (
        "security.protocol=SASL_SSL",
        "sasl.mechanism=PLAIN",
        f"sasl.jaas.config={JAAS.format(quoted(password), '')}",
        f"ssl.truststore.location={guarded.certificate}",
        "ssl.truststore.type=PEM",
        *others,
    )
    file = folder / "client.properties"
    file.write_text("".join(f"{line}\n" for line in lines))
    return LiveCluster(guarded.bootstrap, client_settings(file), 10).cluster_id()


def test_with_the_right_properties_the_cluster_answers(guarded: Guarded, tmp_path: Path) -> None:
    assert asked(guarded, tmp_path, PASSWORD) == guarded.cluster.cluster_id


def test_a_wrong_password_is_refused_and_never_printed(guarded: Guarded, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"the brokers refuse the login: .*(?i:authentication failed)") as raised:
        asked(guarded, tmp_path, "a wrong guess")
    assert "a wrong guess" not in str(raised.value)


def test_a_certificate_that_nobody_vouches_for_is_refused(guarded: Guarded) -> None:
    with pytest.raises(ClusterError, match=r"(?i)certificate verify failed"):
        LiveCluster(guarded.bootstrap, {"security.protocol": "SSL"}, 4).cluster_id()
    with pytest.raises(ClusterError, match="no answer about the cluster's id"):
        LiveCluster(guarded.cluster.bootstrap, {"security.protocol": "SSL"}, 4).cluster_id()


@pytest.mark.parametrize("protocol", [{}, {"security.protocol": "SSL"}])
def test_brokers_that_ask_for_a_login_are_said_to_end_the_connection(
    guarded: Guarded, protocol: dict[str, str]
) -> None:
    trusted = {"ssl.ca.location": str(guarded.certificate)} if protocol else {}
    with pytest.raises(ClusterError) as raised:
        LiveCluster(guarded.bootstrap, protocol | trusted, 4).cluster_id()
    assert "SASL" in str(raised.value), raised.value


TOPIC = "come-and-go"


def opened(cluster: Cluster, transactional_id: str) -> Producer:
    """A producer with one record in an open transaction."""
    settings = {"bootstrap.servers": cluster.bootstrap, "transactional.id": transactional_id, "log_level": 0}
    producer = Producer({**settings, "transaction.timeout.ms": 10_000})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(TOPIC, b"value", partition=0)
    assert producer.flush(30) == 0
    return producer


def await_answer(said: Callable[[], list[str]], *expected: str) -> None:
    """A coordinator answers its producer before the markers are in the partitions."""
    deadline = time.monotonic() + 60
    while said() != [*expected] and time.monotonic() < deadline:
        time.sleep(0.2)
    assert said() == [*expected]


def test_a_candidate_goes_through_every_status_as_its_transaction_does(guarded: Guarded) -> None:
    cluster = guarded.cluster
    live = LiveCluster(cluster.bootstrap, {}, 10)
    cluster.create_topic(TOPIC, [[1]], {})
    topic = live.topics([TOPIC])[TOPIC]
    assert isinstance(topic, Topic)
    common = {"cluster": "c", "topic": TOPIC, "partition": 0, "topic_id": topic.topic_id, "as_of": datetime.now(UTC)}
    candidates: list[dict[str, Any]] = [common | {"producer_id": each, "start_offset": each} for each in (0, 1)]

    def said() -> list[str]:
        return [row.status for row in verifications(candidates, live, cluster.cluster_id)]

    assert said() == ["UNKNOWN", "UNKNOWN"]
    first, second = opened(cluster, "first"), opened(cluster, "second")
    assert said() == ["STILL_STUCK", "BLOCKED_BY_EARLIER"]
    first.commit_transaction(30)
    await_answer(said, "RESOLVED", "STILL_STUCK")
    second.abort_transaction(30)
    await_answer(said, "RESOLVED", "RESOLVED")
    cluster.admin.delete_topics([TOPIC])[TOPIC].result()
    await_answer(said, "GONE", "GONE")
    cluster.create_topic(TOPIC, [[1]], {})
    assert said() == ["GONE", "GONE"]
    consumed = [record for log in coordinator_logs(live).logs.values() for record in log.records]
    assert {transactional_id_of_key(record.key) for record in consumed} == {"first", "second"}
