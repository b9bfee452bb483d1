"""Broker processes on 127.0.0.1: format, start, stop, pause, and Kafka's own tools against them."""

import base64
import contextlib
import random
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from clock import Clock
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from programs import java_command

HOST = "127.0.0.1"
# Each is tried once. They lie below those that outgoing connections are given: a broker that starts again has its back.
UNTRIED_PORTS = iter(random.sample(range(20_000, 30_000), 10_000))
CONTROLLER_NODE = 1
SETTINGS = {
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.retry.backoff.ms": "200",
    "default.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.enable": "false",
    "log.flush.start.offset.checkpoint.interval.ms": "1000",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "offsets.topic.num.partitions": "5",
    "offsets.topic.replication.factor": "1",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.replication.factor": "1",
    # A transaction past its timeout is left alone: otherwise no sample could hold one.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "3600000",
    "transaction.max.timeout.ms": "10000",
}


def free_port() -> int:
    """A port that nothing listens on just now, and that was not given out before."""
    for port in UNTRIED_PORTS:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return port
    raise RuntimeError("no port is free")


def new_cluster_id() -> str:
    """As `kafka-storage random-uuid` makes it: no leading dash, or a command line takes it for an option."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


@dataclass
class Node:
    """One broker; node 1 is the controller too."""

    node_id: int
    port: int
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def log_dir(self) -> Path:
        """The broker's only log directory."""
        return self.folder / "data"


@dataclass
class Brokers:
    """Brokers under one folder, of one cluster. As a context manager it ends every broker that it started."""

    release: str
    folder: Path
    node_count: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    storage_options: Sequence[str] = ()
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.cluster_id = new_cluster_id()
        self.controller_port = free_port()
        self.nodes = {
            node_id: Node(node_id, free_port(), self.folder / f"node-{node_id}")
            for node_id in range(1, self.node_count + 1)
        }

    def __enter__(self) -> Self:
        shutil.rmtree(self.folder, ignore_errors=True)
        for node in self.nodes.values():
            self._format(node)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """End every broker that still runs, paused ones too."""
        for node in self.nodes.values():
            if node.process is not None and node.process.poll() is None:
                node.process.send_signal(signal.SIGCONT)
                node.process.kill()
                node.process.wait()

    @property
    def bootstrap(self) -> str:
        """Where clients start."""
        return f"{HOST}:{self.nodes[CONTROLLER_NODE].port}"

    @cached_property  # its futures fail once the client itself is gone
    def admin(self) -> AdminClient:
        """An ordinary client's administration."""
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def _properties(self, node: Node) -> dict[str, str]:
        listeners = f"PLAINTEXT://{HOST}:{node.port}"
        is_controller = node.node_id == CONTROLLER_NODE
        return {
            **SETTINGS,
            **self.settings,
            "node.id": str(node.node_id),
            "process.roles": "broker,controller" if is_controller else "broker",
            "listeners": listeners + (f",CONTROLLER://{HOST}:{self.controller_port}" if is_controller else ""),
            "advertised.listeners": listeners,
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"{CONTROLLER_NODE}@{HOST}:{self.controller_port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(node.log_dir),
        }

    def _configure(self, node: Node, settings: Mapping[str, str]) -> Path:
        path = node.folder / "server.properties"
        properties = self._properties(node) | dict(settings)
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        return path

    def _format(self, node: Node) -> None:
        node.folder.mkdir(parents=True)
        configuration = self._configure(node, {})
        arguments = (
            "format",
            "--cluster-id",
            self.cluster_id,
            "--config",
            str(configuration),
            *self.storage_options,
        )
        self.tool("kafka.tools.StorageTool", *arguments)

    def reconfigure(self, node_id: int, settings: Mapping[str, str]) -> None:
        """Restart a broker with settings besides the cluster's."""
        self.stop(node_id)
        self._configure(self.nodes[node_id], settings)
        self.start(node_id)

    def is_up(self, node_id: int) -> bool:
        """Whether the broker has been started and still runs."""
        process = self.nodes[node_id].process
        return process is not None and process.poll() is None

    def start(self, *node_ids: int, seconds: float = 90) -> None:
        """Start brokers and wait until the cluster lists them and they can be connected to.

        `TimeoutError` where that takes longer, as it may with many logs to recover.
        """
        for node_id in node_ids:
            node = self.nodes[node_id]
            command = java_command(self.release, "kafka.Kafka", str(node.folder / "server.properties"), heap="384m")
            with (node.folder / "broker.log").open("ab") as log:
                node.process = subprocess.Popen(
                    command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self.clock.environment
                )
        self._wait_for(set(node_ids), seconds)

    def _wait_for(self, node_ids: set[int], seconds: float) -> None:
        admin, deadline = self.admin, time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                # A broker is listed a moment before it listens.
                if node_ids <= set(admin.list_topics(timeout=2).brokers) and all(map(self._listens, node_ids)):
                    return
            except KafkaException:
                pass  # still starting
            time.sleep(0.3)
        raise TimeoutError(f"brokers {sorted(node_ids)} did not come up; see broker.log under {self.folder}")

    def _listens(self, node_id: int) -> bool:
        with contextlib.suppress(OSError), socket.create_connection((HOST, self.nodes[node_id].port), timeout=2):
            return True
        return False

    def stop(self, node_id: int) -> None:
        """A clean shutdown: leadership is given up first, producer snapshots are written at the log ends."""
        process = self.nodes[node_id].process
        if process is not None:
            process.terminate()
            process.wait(timeout=60)

    def pause(self, node_id: int) -> None:
        """Stop a broker from answering, while the controller still believes in it."""
        process = self.nodes[node_id].process
        if process is not None:
            process.send_signal(signal.SIGSTOP)

    def resume(self, node_id: int) -> None:
        """Let a paused broker go on."""
        process = self.nodes[node_id].process
        if process is not None:
            process.send_signal(signal.SIGCONT)

    def bring_back(self) -> None:
        """Let paused brokers go on; start all of them again if none is up."""
        for node_id in self.nodes:
            self.resume(node_id)
        if not any(self.is_up(node_id) for node_id in self.nodes):
            self.start(*self.nodes)

    def tool(self, main_class: str, *arguments: str) -> str:
        """What one of Kafka's programs prints."""
        command = java_command(self.release, main_class, *arguments)
        finished = subprocess.run(
            command, capture_output=True, text=True, timeout=180, check=False, env=self.clock.environment
        )
        if finished.returncode:
            raise RuntimeError(f"{main_class} {' '.join(arguments)}\n{finished.stdout}{finished.stderr}")
        return finished.stdout
