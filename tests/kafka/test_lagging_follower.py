"""Two brokers, of which one only follows and lags behind: what its copy lacks must not become a row."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from dump import Sample
from lab import Lab, RawProducer, wait_until
from make import start
from pyspark.sql import SparkSession

from tests.kafka.trials import RELEASES
from txnlog.config import detect_options
from txnlog.job.main import run
from txnlog.report.table_rows import rows
from txnlog.tables.layout import DUMP_FILES, OPEN_TRANSACTIONS, Root

pytestmark = pytest.mark.kafka
LEADER, FOLLOWER = 1, 2
OUTCOMES = {"committed": True, "aborted": False}
STATE_PARTITIONS = 5
TIMEOUT_MS = 1_000
# The leader waits this long for a follower before it goes on without.
SETTINGS = {
    "replica.lag.time.max.ms": "3000",
    "transaction.state.log.num.partitions": str(STATE_PARTITIONS),
}
# All clocks are one. Whatever is open is late at once: a row would not hide behind its youth.
THRESHOLDS = {"max_transaction_timeout": TIMEOUT_MS, "padding": 0, "clock_skew": 10}


@dataclass(frozen=True)
class Pair:
    """The copies of both brokers, and the tables that came of them."""

    dump: Path
    root: Root


def end_without_the_follower(lab: Lab) -> None:
    """Both replicas have the data; the follower stops answering, and only the leader gets the marker."""
    cluster, raws = lab.cluster, dict[str, RawProducer]()
    for topic in OUTCOMES:
        # A broker's time proves that it is late: nothing follows in the follower's copy that could.
        lab.topic(topic, [LEADER, FOLLOWER], settings={"message.timestamp.type": "LogAppendTime"})
        raws[topic] = RawProducer(cluster.client, f"{topic}-id", timeout_ms=TIMEOUT_MS).initialise()
        raws[topic].begin(topic, 0, "on both replicas")
    wait_until(lambda: all(cluster.in_sync(topic, 0) == {LEADER, FOLLOWER} for topic in OUTCOMES), "replicas in sync")
    wait_until(lambda: all(high_watermarks(lab).get(topic) == "1" for topic in OUTCOMES), "the follower's checkpoint")
    cluster.pause(FOLLOWER)
    for topic, commit in OUTCOMES.items():
        raws[topic].end(commit)
    wait_until(lambda: all(cluster.in_sync(topic, 0) == {LEADER} for topic in OUTCOMES), "replicas out of sync")


def high_watermarks(lab: Lab) -> dict[str, str]:
    """What the follower has checkpointed, by topic; the file is replaced each time."""
    checkpoint = lab.cluster.nodes[FOLLOWER].log_dir / "replication-offset-checkpoint"
    lines = checkpoint.read_text().splitlines()[2:] if checkpoint.exists() else []
    return {topic: offset for topic, partition, offset in map(str.split, lines) if partition == "0"}


def detected(spark: SparkSession, dump: Path, tables: Path) -> Root:
    run(spark, detect_options({"dump": str(dump), "tables": str(tables), **THRESHOLDS}))
    return Root(str(tables))


@pytest.fixture(scope="module", params=RELEASES)
def pair(
    request: pytest.FixtureRequest, spark: SparkSession, dumps: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    """`dumps` is asked for only because those of other tests can be made meanwhile."""
    scratch = tmp_path_factory.mktemp("pair")
    with Cluster(request.param, scratch / "cluster", node_count=2, settings=SETTINGS) as cluster:
        lab = start(cluster)
        end_without_the_follower(lab)
        sample = Sample("pair", scratch / "dump", STATE_PARTITIONS, padding_ms=0)
        for node_id in (LEADER, FOLLOWER):
            assert cluster.is_up(node_id)
            sample.copy(lab, node_id)
        sample.write_notes(lab, {}, "", ())
        yield Pair(sample.folder, detected(spark, sample.folder, scratch / "tables"))


def segments(pair: Pair, topic: str) -> dict[str, dict[str, Any]]:
    found = rows(pair.root, DUMP_FILES, f"topic = '{topic}' AND kind = 'segment'")
    return {row["log_dir"]: row for row in found}


@pytest.mark.parametrize("topic", OUTCOMES)
def test_the_copy_of_the_leader_is_chosen_which_alone_has_the_marker(pair: Pair, topic: str) -> None:
    copies = segments(pair, topic)
    assert {log_dir: row["last_offset"] for log_dir, row in copies.items()} == {"broker-1": 1, "broker-2": 0}
    assert {log_dir: row["copy_chosen"] for log_dir, row in copies.items()} == {"broker-1": True, "broker-2": False}
    # Whether the leader has entered an epoch of its own since, leader-epoch-checkpoint says.
    assert copies["broker-1"]["chosen_because"] in ("highest log end offset", "highest last leader epoch")


def test_no_row_comes_of_what_the_follower_lacks(pair: Pair) -> None:
    assert rows(pair.root, OPEN_TRANSACTIONS) == []


def test_without_the_leaders_copy_both_would_seem_to_have_lost_their_markers(
    pair: Pair, spark: SparkSession, tmp_path: Path
) -> None:
    shutil.copytree(pair.dump, tmp_path / "dump")
    for topic in OUTCOMES:
        shutil.rmtree(tmp_path / "dump" / f"broker-{LEADER}" / f"{topic}-0")
    found = rows(detected(spark, tmp_path / "dump", tmp_path / "tables"), OPEN_TRANSACTIONS)
    assert {(row["topic"], row["broker"], row["cause"], row["action"]) for row in found} == {
        ("aborted", str(FOLLOWER), "MARKER_LOST_ABORT", "ABORT"),
        ("committed", str(FOLLOWER), "MARKER_LOST_COMMIT", "KEEP"),
    }
