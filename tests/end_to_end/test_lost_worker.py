"""A worker of a standalone cluster that dies in the middle of a job: the result is the same."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.end_to_end.processes import contents, start
from tests.end_to_end.spark_cluster import SETTINGS, Cluster, spark_cluster
from tests.small_dumps import Hanging, small_dump
from txnlog.config import detect_options
from txnlog.job.main import run
from txnlog.spark.jars import delta_jars
from txnlog.spark.session import LOCAL

pytestmark = pytest.mark.faults


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with spark_cluster(tmp_path) as started:
        yield started


def settings(master: str) -> dict[str, str | int | bool]:
    return {
        **LOCAL,
        **SETTINGS,
        "spark.master": master,
        "spark.jars": ",".join(map(str, delta_jars())),
        "spark.sql.shuffle.partitions": 4,
    }


def test_a_worker_that_dies_changes_nothing(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> None:
    transactions = [Hanging(f"topic-{number:02}", f"shop-{number}") for number in range(12)]
    dump = small_dump(tmp_path / "dump", transactions)
    options = {"dump": str(dump), "tables": str(tmp_path / "tables")}
    process = start(settings=settings(cluster.master), jobs=[options])
    assert process.stdout is not None
    for line in process.stdout:
        if line == "0 replay and judge\n":
            break
    # Partitions of the dump are read, and kept on the executors, from here on.
    time.sleep(3)
    assert cluster.executors() == [1, 1]
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
