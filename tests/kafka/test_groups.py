"""Consumer groups of real clients: all figures as `kafka-consumer-groups.sh` has them, and who is blocked."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster import Cluster
from confluent_kafka import Consumer, Producer, TopicPartition
from dump import Sample
from lab import TRANSACTION_MAX_TIMEOUT_MS, Lab, wait_until
from make import start
from programs import java_command
from pyspark.sql import SparkSession

from tests.kafka.test_group_records import assert_as_printed, printed
from tests.writer import Bytes
from txnlog.config import detect_options
from txnlog.format.batch import HEADER_SIZE, LENGTH_END
from txnlog.format.group_records import type_of_key
from txnlog.format.record import Record, records
from txnlog.format.scan import Run, scan
from txnlog.job.main import run
from txnlog.report.table_rows import rows
from txnlog.sources.group_rows import ASSIGNMENT, CLASSIC_GROUP, COMMIT, CONSUMER_GROUP, MEMBER
from txnlog.tables.layout import BLOCKED_GROUPS, GROUP_POSITIONS, Root

pytestmark = pytest.mark.kafka
TOOLS = {"3.5.2": "kafka.admin.ConsumerGroupCommand"}
NEWER_TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
# Clients in Java, as most applications are; the others here are librdkafka's.
CONSUMERS = {"3.5.2": "kafka.tools.ConsoleConsumer"}
NEWER_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
PROTOCOLS = {"3.5.2": ["classic"], "4.3.0": ["classic", "consumer"]}
ISOLATION = ["read_committed", "read_uncommitted"]
PATIENCE_S = 60
RECORDS = 5
MANIFEST = 'cluster = "groups"\ntransaction_max_timeout = "10s"\ntransaction_state_partitions = 5\n'
Key = tuple[str, str, int]


@dataclass(frozen=True)
class Trial:
    """A broker's groups: what its own tool says of them, and what txnlog does."""

    release: str
    dump: Path
    described: dict[Key, dict[str, str]]
    states: dict[str, list[str]]
    members: Counter[tuple[str, ...]]
    positions: dict[Key, dict[str, Any]]
    blocked: list[dict[str, Any]]


def consumer(cluster: Cluster, group: str, isolation: str, protocol: str = "classic") -> Consumer:
    settings = {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": group,
        "client.id": f"client-of-{group}",
        "isolation.level": isolation,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
    }
    return Consumer(settings | ({"group.protocol": "consumer"} if protocol == "consumer" else {}))


def read_all(reader: Consumer, count: int) -> None:
    """Read so many records of both topics and commit what was read."""
    reader.subscribe(["orders", "calm"])
    deadline, found = time.monotonic() + PATIENCE_S, 0
    while found < count:
        assert time.monotonic() < deadline, f"{found} of {count} records"
        message = reader.poll(1)
        found += message is not None and message.error() is None
    reader.commit(asynchronous=False)


def write(cluster: Cluster) -> None:
    settings = {"bootstrap.servers": cluster.bootstrap, "transactional.id": "writer", "log_level": 0}
    producer = Producer(settings | {"transaction.timeout.ms": TRANSACTION_MAX_TIMEOUT_MS})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for number in range(RECORDS):
        for topic in ("orders", "calm"):
            producer.produce(topic, f"record {number}", partition=0)
    producer.commit_transaction(PATIENCE_S)


@contextmanager
def java_consumer(
    cluster: Cluster, group: str, isolation: str, protocol: str, count: int, output: Path
) -> Iterator[None]:
    """A client in Java that has read so many records of both topics, and goes on."""
    command = java_command(
        cluster.release, CONSUMERS.get(cluster.release, NEWER_CONSUMER), "--bootstrap-server", cluster.bootstrap,
        "--include", "orders|calm", "--from-beginning", "--group", group, "--isolation-level", isolation,
        "--consumer-property", "auto.commit.interval.ms=100", "--consumer-property", f"client.id=client-of-{group}",
        *(["--consumer-property", "group.protocol=consumer"] if protocol == "consumer" else []),
    )  # fmt: skip
    with output.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: len(output.read_bytes().splitlines()) >= count, f"{count} records")
        yield
    finally:
        process.terminate()
        process.wait()


def lines(cluster: Cluster, release: str, *arguments: str) -> list[list[str]]:
    """The words of each line that the tool prints of all groups; it puts a heading above each group."""
    asked = ("--bootstrap-server", cluster.bootstrap, "--describe", "--all-groups", *arguments)
    return [line.split() for line in cluster.tool(TOOLS.get(release, NEWER_TOOL), *asked).splitlines()]


def states(cluster: Cluster, release: str) -> dict[str, list[str]]:
    """State and number of members of each group."""
    return {
        words[0]: words[-2:] for words in lines(cluster, release, "--state") if len(words) >= 4 and words[0] != "GROUP"
    }


def members(cluster: Cluster, release: str) -> Counter[tuple[str, ...]]:
    """How many partitions each member of a group has, by group, consumer id, host and client id."""
    found = (words[:5] for words in lines(cluster, release, "--members"))
    return Counter({tuple(words[:4]): int(words[4]) for words in found if len(words) == 5 and words[4].isdecimal()})


def described(cluster: Cluster, release: str) -> dict[Key, dict[str, str]]:
    """Where each group stands in each partition."""
    found, heading = {}, list[str]()
    for words in lines(cluster, release):
        if words[:3] == ["GROUP", "TOPIC", "PARTITION"]:
            heading = words
        elif heading and len(words) == len(heading):
            row = dict(zip(heading, words, strict=True))
            found[row["GROUP"], row["TOPIC"], int(row["PARTITION"])] = row
    return found


def pend(lab: Lab) -> None:
    """A group with a committed offset, and a commit whose transaction is open."""
    raw = lab.producer("pending-id")
    for offset, ends in ((2, True), (4, False)):
        raw.client.add_offsets(raw.transactional_id, raw.producer, "pending")
        raw.client.commit_offset(
            raw.transactional_id, raw.producer, "pending", topic="calm", partition=0, offset=offset
        )
        if ends:
            raw.end(commit=True)


@pytest.fixture(scope="module", params=PROTOCOLS)
def trial(
    request: pytest.FixtureRequest, spark: SparkSession, kafka_jars: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trial]:
    folder, release = tmp_path_factory.mktemp("groups"), str(request.param)
    settings = {"transaction.state.log.num.partitions": "5"}
    with ExitStack() as ends:
        lab = start(ends.enter_context(Cluster(release, folder / "cluster", settings=settings)))
        for topic in ("orders", "calm"):
            lab.topic(topic, [1])
        write(lab.cluster)
        # A client goes on before all markers are there.
        wait_until(lambda: lab.cluster.last_stable_offset("orders", 0) == RECORDS + 1, "COMMIT marker")
        # It stays open.
        lab.producer("stuck-id").begin("orders", 0, "open")
        for protocol in PROTOCOLS[release]:
            for isolation in ISOLATION:
                reader = consumer(lab.cluster, f"{protocol}-{isolation}", isolation, protocol)
                ends.callback(reader.close)
                count = 2 * RECORDS + (isolation == "read_uncommitted")
                read_all(reader, count)
                group = f"java-{protocol}-{isolation}"
                ends.enter_context(
                    java_consumer(lab.cluster, group, isolation, protocol, count, folder / f"{group}.txt")
                )
        behind = consumer(lab.cluster, "behind", "read_committed")
        read_all(behind, 1)
        behind.close()
        # As applications do that commit the offset after the last record: the COMMIT marker lies between that and the
        # last stable offset, to which clients move by themselves.
        by_hand = consumer(lab.cluster, "by-hand", "read_committed")
        by_hand.commit(offsets=[TopicPartition("orders", 0, RECORDS)], asynchronous=False)
        by_hand.close()
        pend(lab)
        shown = described(lab.cluster, release), states(lab.cluster, release), members(lab.cluster, release)
        yield Trial(release, folder / "dump", *shown, *judged(spark, lab, folder))


def judged(spark: SparkSession, lab: Lab, folder: Path) -> tuple[dict[Key, dict[str, Any]], list[dict[str, Any]]]:
    # Checkpoints of the high watermark are written every second.
    time.sleep(2)
    Sample("groups", folder / "dump", 5, 0).copy(lab, 1)
    (folder / "dump" / "dump.toml").write_text(MANIFEST)
    root = Root(str(folder / "tables"))
    run(spark, detect_options({"dump": str(folder / "dump"), "tables": root.text}))
    found = rows(root, GROUP_POSITIONS)
    return {(row["group_id"], row["topic"], row["partition"]): row for row in found}, rows(root, BLOCKED_GROUPS)


def test_each_record_of_the_brokers_log_is_decoded_as_kafkas_own_tool_prints_it(trial: Trial) -> None:
    seen = set()
    for segment in sorted(trial.dump.glob("broker-1/__consumer_offsets-*/*.log")):
        ours, theirs = list(data_records(segment)), list(printed(segment))
        assert len(ours) == len(theirs)
        for record, (key, payload) in zip(ours, theirs, strict=True):
            assert_as_printed(record, key, payload)
            seen.add(type_of_key(record.key))
    of_newer = {CONSUMER_GROUP, MEMBER, ASSIGNMENT} if "consumer" in PROTOCOLS[trial.release] else set()
    assert seen >= {COMMIT, CLASSIC_GROUP} | of_newer


def data_records(segment: Path) -> Iterator[Record]:
    """All records that are of no control batch, one after the other."""
    for run_of_batches in scan(Bytes(segment.read_bytes())):
        assert isinstance(run_of_batches, Run)
        for index in np.flatnonzero(~run_of_batches.headers.is_control).tolist():
            header, begin = run_of_batches.headers.row(index), int(run_of_batches.positions[index])
            begin -= run_of_batches.start
            payload = bytes(run_of_batches.window[begin + HEADER_SIZE : begin + LENGTH_END + header.batch_length])
            yield from records(payload, header.record_count)


def test_every_figure_is_that_of_kafkas_own_tool(trial: Trial) -> None:
    assert trial.described.keys() == trial.positions.keys()
    for key, shown in trial.described.items():
        row = trial.positions[key]
        ours = {
            "CURRENT-OFFSET": row["committed_offset"],
            "LOG-END-OFFSET": row["log_end_offset"],
            "LAG": row["lag"],
            "CONSUMER-ID": row["member_id"],
            "HOST": row["client_host"],
            "CLIENT-ID": row["client_id"],
        }
        assert {name: "-" if value is None else str(value) for name, value in ours.items()} == {
            name: shown[name] for name in ours
        }, key


def test_the_members_of_each_group_are_those_of_kafkas_own_tool(trial: Trial) -> None:
    numbers = {key[0]: row["members"] for key, row in trial.positions.items()}
    # A group that only committed offsets in a transaction has no record of itself.
    assert {group: str(number or 0) for group, number in numbers.items()} == {
        group: number for group, (_, number) in trial.states.items()
    }
    assigned = Counter(
        (row["group_id"], row["member_id"], row["client_host"], row["client_id"])
        for row in trial.positions.values()
        if row["member_id"] is not None
    )
    assert assigned == trial.members
    assert len(assigned) == 2 * len(ISOLATION) * len(PROTOCOLS[trial.release])


def test_the_protocol_and_the_members_are_known(trial: Trial) -> None:
    kinds = {key[0]: (row["protocol"], row["members"]) for key, row in trial.positions.items()}
    expected = {
        f"{client}{each}-{isolation}": (each.upper(), 1)
        for each in PROTOCOLS[trial.release]
        for isolation in ISOLATION
        for client in ("", "java-")
    }
    assert {group: kind for group, kind in kinds.items() if group in expected} == expected
    assert kinds["behind"] == ("CLASSIC", 0)


def test_groups_at_the_last_stable_offset_and_with_a_pending_commit_are_blocked(trial: Trial) -> None:
    blocked = {(row["group_id"], row["topic"]): row for row in trial.blocked}
    # A client moves past the marker with its next fetch: before or after it commits.
    moved = {RECORDS, RECORDS + 1}
    at_limit = {
        (f"{client}{each}-read_committed", "orders"): moved
        for each in PROTOCOLS[trial.release]
        for client in ("", "java-")
    }
    at_limit["by-hand", "orders"] = {RECORDS}
    assert blocked.keys() == at_limit.keys() | {("pending", "calm")}
    for key, committed in at_limit.items():
        row = blocked[key]
        assert (row["blocked_by"], row["transactional_id"]) == ("LAST_STABLE_OFFSET", "stuck-id")
        assert row["committed_offset"] in committed
        assert row["last_stable_offset"] == RECORDS + 1
        assert row["waiting_offsets"] == 1
        assert "isolation.level" in row["not_known"]
    pending = blocked["pending", "calm"]
    assert (pending["blocked_by"], pending["transactional_id"]) == ("UNSTABLE_OFFSET_COMMIT", "pending-id")
    assert (pending["committed_offset"], pending["pending_offset"]) == (2, 4)
