"""A worker of a standalone cluster that dies in the middle of a job: the result is the same."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pyspark
import pytest
from cluster import free_port
from pyspark.sql import SparkSession

from tests.end_to_end.processes import contents, start
from tests.small_dumps import Hanging, small_dump
from txnlog.config import detect_options
from txnlog.jars import delta_jars
from txnlog.job import run
from txnlog.session import LOCAL

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
ENVIRONMENT = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_DAEMON_MEMORY": "256m",
    "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC",
}
PATIENCE = 300.0
pytestmark = pytest.mark.faults


class Cluster(NamedTuple):
    """A master's address and two workers, each in a group of processes with its executors."""

    master: str
    workers: list[subprocess.Popen[bytes]]
    folders: list[Path]


@contextmanager
def daemon(name: str, *arguments: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon of Spark's; it and all that it started are ended at the end."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                str(SPARK_CLASS),
                f"org.apache.spark.deploy.{name}",
                "--host",
                "127.0.0.1",
                "--webui-port",
                "0",
                *arguments,
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **ENVIRONMENT},
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(text: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while text not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.1)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    port, logs = free_port(), [tmp_path / f"{name}.log" for name in ("master", "worker-0", "worker-1")]
    master, folders = f"spark://127.0.0.1:{port}", [tmp_path / "work-0", tmp_path / "work-1"]
    with ExitStack() as daemons:
        daemons.enter_context(daemon("master.Master", "--port", str(port), log=logs[0]))
        wait_for("New state: ALIVE", logs[0])
        workers = [
            daemons.enter_context(
                daemon("worker.Worker", "--cores", "1", "--memory", "1g", "--work-dir", str(folder), master, log=log)
            )
            for folder, log in zip(folders, logs[1:], strict=True)
        ]
        for log in logs[1:]:
            wait_for("Successfully registered with master", log)
        yield Cluster(master, workers, folders)


def settings(master: str) -> dict[str, str | int | bool]:
    return {
        **LOCAL,
        "spark.master": master,
        "spark.jars": ",".join(map(str, delta_jars())),
        "spark.sql.shuffle.partitions": 4,
        "spark.executor.memory": "512m",
        "spark.driver.memory": "768m",
        # The job begins when both are there.
        "spark.cores.max": 2,
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
    }


def test_a_worker_that_dies_changes_nothing(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    transactions = [Hanging(f"topic-{number:02}", f"shop-{number}") for number in range(12)]
    dump = small_dump(tmp_path / "dump", transactions)
    options = {"dump": str(dump), "tables": str(tmp_path / "tables")}
    process = start(settings=settings(cluster.master), jobs=[options])
    assert process.stdout is not None
    for line in process.stdout:
        if line == "0 read and replay\n":
            break
    # Partitions of the dump are read, and kept on the executors, from here on.
    time.sleep(3)
    assert [len(list(folder.glob("app-*/*"))) for folder in cluster.folders] == [1, 1]
    os.killpg(cluster.workers[0].pid, signal.SIGKILL)
    assert process.poll() is None
    printed, errors = process.communicate(timeout=900)
    assert process.returncode == 0, errors[-3000:]
    assert printed.endswith("0 done\n")
    assert "Lost executor" in errors
    run(spark, detect_options({"dump": str(dump), "tables": str(tmp_path / "undisturbed")}))
    found = contents(tmp_path / "tables")
    assert found == contents(tmp_path / "undisturbed")
    assert len(found["abort_candidates"]) == len(transactions)
