"""Lines of bash that run Kafka's own tools, or a producer. They take the brokers from BOOTSTRAP_SERVER."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from txnlog.report.abort_candidates import option, word

SERVER = '--bootstrap-server "$BOOTSTRAP_SERVER"'
TRANSACTIONS = f"kafka-transactions.sh {SERVER}"
# The id's next producer sets its own timeout; a broker refuses one above its transaction.max.timeout.ms.
INIT_TRANSACTIONS = (
    "import sys; from confluent_kafka import Producer; Producer({"
    '"bootstrap.servers": sys.argv[1], "transactional.id": sys.argv[2], "transaction.timeout.ms": 1000'
    "}).init_transactions(60)"
)


def describe(transactional_id: str) -> str:
    """What the coordinator has of an id."""
    return f"{TRANSACTIONS} describe {_words('--transactional-id', transactional_id)}"


def describe_producers(row: Mapping[str, Any]) -> str:
    """What the leader has of the producers of a row's partition."""
    return f"{TRANSACTIONS} describe-producers {_words('--topic', row['topic'])} --partition {row['partition']}"


def force_terminate(transactional_id: str) -> str:
    """The end of whatever the id has open: of Kafka 4.1 and newer."""
    return f"{TRANSACTIONS} forceTerminateTransaction {_words('--transactionalId', transactional_id)}"


def init_transactions(transactional_id: str) -> str:
    """The same by a new producer, with tools of any version."""
    return f'python3 -c {word(INIT_TRANSACTIONS)} "$BOOTSTRAP_SERVER" {word(transactional_id)}'


def topic_layout(topic: str) -> str:
    """Leader and replicas of each partition of a topic."""
    return f"kafka-topics.sh {SERVER} --describe {_words('--topic', topic)}"


def preferred_election(topic: str, partition: int) -> str:
    """The election of the preferred replica; nothing happens where it leads."""
    election = f"kafka-leader-election.sh {SERVER} --election-type preferred"
    return f"{election} {_words('--topic', topic)} --partition {partition}"


def read_uncommitted(topic: str, partition: int, offset: int, count: int) -> str:
    """So many records from an offset on, whether or not their transactions have ended."""
    place = f"{_words('--topic', topic)} --partition {partition} --offset {offset}"
    shown = "--property print.offset=true --property print.key=true"
    ends = f"--max-messages {count} --timeout-ms 30000"
    return f"kafka-console-consumer.sh {SERVER} --isolation-level read_uncommitted {place} {ends} {shown}"


def _words(name: str, value: str) -> str:
    return " ".join(map(word, option(name, value)))
