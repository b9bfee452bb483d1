"""The brokers of these tests are seen by nobody else, and none outlives its test."""

from __future__ import annotations

import contextlib
import socket
import sys
from pathlib import Path

import pytest
from brokers import HOST
from cluster import Cluster

from tests.kafka.trials import RELEASES

pytestmark = pytest.mark.kafka


class SomethingFailedError(Exception):
    """Stands for whatever ends a test in the middle."""


def accepts(host: str, port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=5):
        return True
    return False


def use_and_fail(cluster: Cluster, ports: list[int]) -> None:
    with cluster:
        cluster.start(*cluster.nodes)
        assert all(accepts(HOST, port) for port in ports)
        if sys.platform == "linux":  # where all of 127.0.0.0/8 is this machine: a broker of every address answers
            assert not any(accepts("127.0.0.2", port) for port in ports)
        cluster.pause(2)
        raise SomethingFailedError


def test_brokers_listen_on_loopback_only_and_end_with_a_test_that_fails(kafka_jars: None, tmp_path: Path) -> None:
    cluster = Cluster(RELEASES[-1], tmp_path / "cluster", node_count=2)
    ports = [cluster.controller_port, *(node.port for node in cluster.nodes.values())]
    with pytest.raises(SomethingFailedError):
        use_and_fail(cluster, ports)
    assert not any(cluster.is_up(node_id) for node_id in cluster.nodes)
    assert not any(accepts(HOST, port) for port in ports)
