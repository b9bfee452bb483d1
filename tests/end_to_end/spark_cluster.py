"""A standalone Spark of one master and two workers on 127.0.0.1, from the installed pyspark."""

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
from brokers import free_port

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
ENVIRONMENT = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_DAEMON_MEMORY": "256m",
    "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC",
}
PATIENCE = 300.0
# What a job asks of the cluster: one core of each worker, and it begins when both are there.
SETTINGS: dict[str, str | int | bool] = {
    "spark.executor.memory": "512m",
    "spark.driver.memory": "768m",
    "spark.cores.max": 2,
    # 200 by default, of which each stage would write all.
    "spark.sql.shuffle.partitions": 4,
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
}


class Cluster(NamedTuple):
    """A master's address and two workers, each in a group of processes with its executors."""

    master: str
    workers: list[subprocess.Popen[bytes]]
    folders: list[Path]

    def executors(self) -> list[int]:
        """How many executors each worker has started."""
        return [len(list(folder.glob("app-*/*"))) for folder in self.folders]


@contextmanager
def daemon(name: str, *arguments: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon of Spark's; it and all that it started are ended at the end."""
    command = [str(SPARK_CLASS), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", "--webui-port", "0"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, *arguments],
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


@contextmanager
def spark_cluster(folder: Path) -> Iterator[Cluster]:
    """The cluster; what it writes goes into the folder."""
    port, logs = free_port(), [folder / f"{name}.log" for name in ("master", "worker-0", "worker-1")]
    master, folders = f"spark://127.0.0.1:{port}", [folder / "work-0", folder / "work-1"]
    with ExitStack() as daemons:
        daemons.enter_context(daemon("master.Master", "--port", str(port), log=logs[0]))
        wait_for("New state: ALIVE", logs[0])
        workers = [
            daemons.enter_context(
                daemon("worker.Worker", "--cores", "1", "--memory", "1g", "--work-dir", str(work), master, log=log)
            )
            for work, log in zip(folders, logs[1:], strict=True)
        ]
        for log in logs[1:]:
            wait_for("Successfully registered with master", log)
        yield Cluster(master, workers, folders)
