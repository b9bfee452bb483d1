"""What a real cleaner takes from `__transaction_state`, archives give back: hangs and lost commits far older than that.

The coordinators' log keeps its last `LAG_S` seconds whole (`min.compaction.lag.ms`), and an archive is made more often
than that: so they share records. With one of them left out there is a hole.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
import scenarios
from cluster import Cluster
from dump import Sample
from lab import TRANSACTION_MAX_TIMEOUT_MS, Lab, RawProducer
from make import start
from pyspark.sql import SparkSession

from tests.kafka.trials import RELEASES
from txnlog.cli import main
from txnlog.config import DetectOptions
from txnlog.errors import HistoryError
from txnlog.job.archiving import archive_cluster, archive_dump
from txnlog.job.main import run
from txnlog.live.cluster import LiveCluster
from txnlog.report.table_rows import rows
from txnlog.tables.layout import OPEN_TRANSACTIONS, TRANSACTIONS, Root

pytestmark = pytest.mark.kafka
COORDINATORS, CLUSTER = 2, "history"
LAG_S, EVERY_S = 16, 11
SETTINGS = {
    "transaction.state.log.num.partitions": str(COORDINATORS),
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "200",
    "transaction.partition.verification.enable": "false",
}
OF_THE_LOG = {"segment.ms": "2000", "min.compaction.lag.ms": f"{LAG_S}000", "min.cleanable.dirty.ratio": "0.01"}
BUSY_IDS = 20
PATIENCE_S = 30
MANIFEST = """cluster = "{cluster}"
transaction_state_partitions = {partitions}
{copies}"""
COPY = """
[copies.broker-{broker}]
started = "{started}"
ended = "{ended}"
"""


@dataclass
class Traffic:
    """Transactions of some ids, one after the other, so that coordinators write all the time."""

    lab: Lab
    ids: list[RawProducer]
    done: int = 0

    def go_on(self, until: Callable[[], bool]) -> None:
        while not until():
            raw = self.ids[self.done % len(self.ids)]
            raw.begin("busy", 0, "busy")
            raw.end(commit=self.done % 3 > 0)
            self.done += 1

    def for_seconds(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self.go_on(lambda: time.monotonic() > end)


@dataclass(frozen=True)
class Trial:
    """Dumps of coordinators in their order, and of everything at the end; the tables of what was archived alive."""

    archives: list[Path]
    dump: Path
    alive: Path
    ended: int


def instant(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


def copied(lab: Lab, folder: Path, *brokers: int, of_coordinators_alone: bool = False) -> Path:
    sample = Sample(CLUSTER, folder, COORDINATORS, padding_ms=0)
    for broker in brokers:
        sample.copy(
            lab, broker, lambda path: of_coordinators_alone and path.is_dir() and not path.name.startswith("__t")
        )
    copies = "".join(
        COPY.format(broker=broker, started=instant(started), ended=instant(ended))
        for broker, (started, ended) in sample.copied.items()
    )
    (folder / "dump.toml").write_text(MANIFEST.format(cluster=CLUSTER, partitions=COORDINATORS, copies=copies))
    return folder


def archived_alive(spark: SparkSession, lab: Lab, tables: Path) -> None:
    live = LiveCluster(lab.cluster.bootstrap, {}, PATIENCE_S)
    archive_cluster(lambda _: spark, DetectOptions("", str(tables), CLUSTER), CLUSTER, live, lambda _: None)


def never_added(lab: Lab) -> None:
    """Data that no coordinator was told of."""
    topic = lab.topic("never-added", [1], settings={"message.timestamp.type": "LogAppendTime"})
    lab.producer("never-added-id", bumps=1).write(topic, 0, "nobody was told")


@pytest.fixture(scope="module", params=RELEASES[:2])
def trial(
    request: pytest.FixtureRequest, spark: SparkSession, dumps: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trial]:
    """`dumps` is asked for only because those of other tests can be made meanwhile."""
    scratch = tmp_path_factory.mktemp("history")
    with Cluster(request.param, scratch / "cluster", node_count=3, settings=SETTINGS) as cluster:
        lab = start(cluster)
        for key, value in OF_THE_LOG.items():
            cluster.configure_topic("__transaction_state", key, value)
        lab.topic("busy", [1])
        traffic = Traffic(lab, [lab.producer(f"busy-{number}") for number in range(BUSY_IDS)])
        never_added(lab)
        scenarios.lost_markers(lab)
        # Once with a copy, and once through a consumer: what either shows is joined to what follows.
        alive = scratch / "tables-alive"
        archives = [copied(lab, scratch / "archive-0", 1, of_coordinators_alone=True)]
        archived_alive(spark, lab, alive)
        for number in (1, 2):
            traffic.for_seconds(EVERY_S)
            archives.append(copied(lab, scratch / f"archive-{number}", 1, of_coordinators_alone=True))
        traffic.for_seconds(EVERY_S)
        dump = copied(lab, scratch / "dump", 1, 2, 3)
        yield Trial(archives, dump, alive, traffic.done)


def judged(spark: SparkSession, tables: Path, trial: Trial, *archives: int) -> dict[str, str]:
    """The verdicts on the last dump, by topic, after some of the archives."""
    for number in archives:
        archive_dump(lambda _: spark, DetectOptions(str(trial.archives[number]), str(tables)), lambda _: None)
    run(
        spark,
        DetectOptions(str(trial.dump), str(tables), max_transaction_timeout=TRANSACTION_MAX_TIMEOUT_MS, padding=0),
    )
    found = rows(Root(str(tables)), OPEN_TRANSACTIONS)
    return {row["topic"]: f"{row['cause']} {row['action']}" for row in found}


PROVED = {
    "never-added": "NEVER_ADDED ABORT",
    "lost-commit": "MARKER_LOST_COMMIT KEEP",
    "lost-abort": "MARKER_LOST_ABORT ABORT",
}
UNPROVED = dict.fromkeys(PROVED, "HISTORY_COMPACTED UNDETERMINED")


def test_without_archives_nothing_so_old_is_proved(spark: SparkSession, trial: Trial, tmp_path: Path) -> None:
    assert judged(spark, tmp_path / "tables", trial) == UNPROVED


def test_with_archives_that_share_records_all_of_it_is(spark: SparkSession, trial: Trial, tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    assert judged(spark, tables, trial, 0, 1, 2) == PROVED
    assert main(["history", "--tables", str(tables)]) == 0
    busy = [row for row in rows(Root(str(tables)), TRANSACTIONS) if row["transactional_id"].startswith("busy-")]
    # Not those of the last seconds: the high watermark in the dump is some seconds old.
    assert 0.9 * trial.ended <= len(busy) <= trial.ended
    assert {row["ended_by"] for row in busy if row["outcome"]} == {"CLIENT"}
    assert {row["outcome"] for row in busy} >= {"COMMIT", "ABORT"}


def test_what_a_consumer_read_of_the_running_cluster_counts_as_a_copy_does(spark: SparkSession, trial: Trial) -> None:
    assert judged(spark, trial.alive, trial, 1, 2) == PROVED


def test_across_a_hole_nothing_is_proved(spark: SparkSession, trial: Trial, tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    assert judged(spark, tables, trial, 0, 2) == UNPROVED
    assert main(["history", "--tables", str(tables)]) == HistoryError.exit_code
