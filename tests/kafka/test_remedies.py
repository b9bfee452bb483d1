"""The commands that `txnlog remedies` prints do on real brokers what it says of them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from lab import Lab
from make import start
from programs import java_command
from recipes import RECIPES

from txnlog.report import kafka_tools

pytestmark = pytest.mark.kafka
# A name that looks like an option, and one with what a shell takes apart.
IDS = ("-rf", "it's $HOME")
MAIN = {
    "kafka-transactions.sh": dict.fromkeys(("3.5.2", "4.3.0"), "org.apache.kafka.tools.TransactionsCommand"),
    "kafka-topics.sh": {"3.5.2": "kafka.admin.TopicCommand", "4.3.0": "org.apache.kafka.tools.TopicCommand"},
    "kafka-leader-election.sh": {
        "3.5.2": "kafka.admin.LeaderElectionCommand",
        "4.3.0": "org.apache.kafka.tools.LeaderElectionCommand",
    },
    "kafka-console-consumer.sh": {
        "3.5.2": "kafka.tools.ConsoleConsumer",
        "4.3.0": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    },
}


@dataclass
class Brokers:
    """A broker of a release, and a folder for the tools."""

    lab: Lab
    release: str
    folder: Path

    def bash(self, line: str, tools: str | None = None) -> str:
        """What a line says, with the tools of a release on the path: those of the broker's where none is named."""
        tools_folder = self.folder / f"bin of {tools or self.release}"
        tools_folder.mkdir(exist_ok=True)
        for name, main in MAIN.items():
            command = shlex.join(java_command(tools or self.release, main[tools or self.release]))
            (tools_folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            (tools_folder / name).chmod(0o755)
        path = f"{tools_folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "BOOTSTRAP_SERVER": self.lab.cluster.bootstrap}
        done = subprocess.run(
            ["bash", "-c", line], env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def opened(self, transactional_id: str, topic: str) -> None:
        """Begin a transaction of the id in a new topic."""
        self.lab.topic(topic, [1])
        self.lab.producer(transactional_id).begin(topic, 0, "one", "two")
        assert self.lab.open_now(topic, 0)


@pytest.fixture(scope="module", params=["3.5.2", "4.3.0"])
def brokers(
    request: pytest.FixtureRequest, kafka_jars: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Brokers]:
    original = next(each for each in RECIPES if each.name == f"kafka-{request.param}")
    folder = tmp_path_factory.mktemp("remedies")
    with replace(original, before=(), after=(), last=(), node_count=1).cluster(folder / "cluster") as cluster:
        lab = start(cluster)
        # The default: the tool asks for a timeout of a minute.
        cluster.reconfigure(1, {"transaction.max.timeout.ms": "900000"})
        yield Brokers(lab, request.param, folder)


@pytest.mark.parametrize("transactional_id", IDS)
def test_the_tool_of_kafka_4_1_ends_what_an_id_has_open_on_older_brokers_too(
    brokers: Brokers, transactional_id: str
) -> None:
    topic = f"terminated-{IDS.index(transactional_id)}"
    brokers.opened(transactional_id, topic)
    said = brokers.bash(kafka_tools.describe(transactional_id))
    assert "Ongoing" in said
    assert f"{topic}-0" in said
    brokers.bash(kafka_tools.force_terminate(transactional_id), tools="4.3.0")
    assert not brokers.lab.open_now(topic, 0)


@pytest.mark.parametrize("transactional_id", IDS)
def test_a_new_producer_of_the_id_ends_what_it_has_open(brokers: Brokers, transactional_id: str) -> None:
    topic = f"fenced-{IDS.index(transactional_id)}"
    brokers.opened(transactional_id, topic)
    brokers.bash(kafka_tools.init_transactions(transactional_id))
    assert not brokers.lab.open_now(topic, 0)


def test_what_is_open_is_read_uncommitted_from_its_offset_on(brokers: Brokers) -> None:
    brokers.opened("reader", "-read")
    said = brokers.bash(kafka_tools.read_uncommitted("-read", 0, 0, 2))
    # Newer releases say before it that they will call an option another name.
    assert [line.split("\t") for line in said.splitlines()[-2:]] == [
        ["Offset:0", "null", "one"],
        ["Offset:1", "null", "two"],
    ]


def test_the_coordinator_is_found_and_an_election_where_the_preferred_replica_leads_changes_nothing(
    brokers: Brokers,
) -> None:
    brokers.opened("moved", "moves")
    assert "Leader: 1" in brokers.bash(kafka_tools.topic_layout("__transaction_state"))
    said = brokers.bash(kafka_tools.preferred_election("__transaction_state", 0))
    assert said == "Valid replica already elected for partitions __transaction_state-0\n"
