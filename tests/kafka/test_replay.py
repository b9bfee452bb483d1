"""Generated logs through Kafka's `ProducerStateManager` and through our replay: there must be no difference.

`LOGS=100000 make test-kafka ARGS="-k replay"` compares more.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.kafka.generated_logs import Log, different_logs, write_log
from tests.kafka.judge import NEWEST, OLDEST, judged
from txnlog.detection.copy_times import copy_times
from txnlog.detection.impact import held_back
from txnlog.detection.partition_copies import believed, partition_copies, ranked_copies, with_earliest
from txnlog.detection.producer_states import producer_states
from txnlog.detection.replay import open_transactions
from txnlog.keys import LOG_DIR
from txnlog.sources import reading
from txnlog.sources.rows import ReplayRow
from txnlog.spark.materialize import materialized
from txnlog.spark.schema import spark_schema

pytestmark = pytest.mark.kafka
COUNT = int(os.environ.get("LOGS", "10000"))
TOPIC = "generated"
Answer = dict[str, Any]


@pytest.fixture(scope="module")
def logs() -> list[Log]:
    return different_logs(COUNT)


@dataclass(frozen=True)
class Dumps:
    """Log directories with the same logs. `ours` and `kafkas` say who wrote the bytes; the rest is Kafka's.

    `full` has all segments; `snapshots` also what a broker writes at each roll; `cut` has lost its first segments.
    """

    ours: Path
    kafkas: Path
    snapshots: Path
    cut: Path


@pytest.fixture(scope="module")
def dumps(logs: list[Log], tmp_path_factory: pytest.TempPathFactory) -> Dumps:
    root = tmp_path_factory.mktemp("generated")
    made = Dumps(*(root / name for name in ("ours", "kafkas", "snapshots", "cut")))
    lines = []
    for number, log in enumerate(logs):
        folder = made.ours / f"{TOPIC}-{number}"
        write_log(log, folder)
        lines += [content | {"file": f"{folder.name}/{name}"} for name, content in log.text()]
    assert list(judged(NEWEST, "Write", "logs", made.kafkas, lines=lines)) == []
    shutil.copytree(made.kafkas, made.snapshots)
    return made


def answers(release: str, dump: Path, mode: str = "") -> dict[int, Answer]:
    """What Kafka says of each partition."""
    said = [json.loads(line) for line in judged(release, "Replay", dump, *([mode] if mode else []))]
    return {answer["partition"]: answer for answer in said}


@dataclass(frozen=True)
class Replayed:
    """What our replay says of each partition, in the words of `judge/Replay.java`."""

    open: dict[int, list[list[Any]]]
    producers: dict[int, list[list[Any]]]
    stable_and_end: dict[int, tuple[int, int]]

    def answer(self, partition: int) -> Answer:
        stable, end = self.stable_and_end[partition]
        return {
            "open": sorted(self.open.get(partition, [])),
            "producers": sorted(self.producers.get(partition, [])),
            "last_stable_offset": stable,
            "log_end_offset": end,
        }


def replayed(spark: SparkSession, dump: Path) -> Replayed:
    """Our replay of all partitions of a dump, by the way that the job takes."""
    snapshots = reading.producer_snapshots(spark, str(dump))
    files = materialized(reading.dump_files(spark, str(dump)))
    unstated = ("CAST(NULL AS bigint) AS copy_started", "CAST(NULL AS bigint) AS copy_ended")
    times = copy_times(files, files.select(*LOG_DIR).distinct().selectExpr("*", *unstated), None, 0)
    ranked = ranked_copies(partition_copies(files, reading.checkpoints(spark, str(dump))))
    copies = materialized(believed(with_earliest(ranked, times)))
    runs = reading.evidence(spark, str(dump)).where("fact <> 'file'").select(*spark_schema(ReplayRow).names).persist()
    found = materialized(open_transactions(runs, snapshots, copies)).withColumn("last_activity", F.lit(0))
    stuck = held_back(found, runs, copies).select("partition", "last_stable_offset")
    ends = copies.join(stuck, "partition", "left").select(
        "partition", F.coalesce("last_stable_offset", "log_end_offset"), "log_end_offset"
    )
    try:
        return Replayed(
            _by_partition(found.select("partition", "producer_id", "start_offset", "producer_epoch")),
            _by_partition(producer_states(runs, snapshots, copies, found).drop("cluster", "topic")),
            {row[0]: (row[1], row[2]) for row in ends.collect()},
        )
    finally:
        runs.unpersist()


def _by_partition(frame: DataFrame) -> dict[int, list[list[Any]]]:
    found: dict[int, list[list[Any]]] = {}
    columns = [name for name in frame.columns if name != "partition"]
    for row in frame.select("partition", *columns).collect():
        found.setdefault(row[0], []).append([-1 if value is None else value for value in row[1:]])
    return found


def assert_same(logs: list[Log], theirs: dict[int, Answer], ours: Replayed) -> None:
    """Fails with the shortest logs of which the answers differ."""
    found = []
    for partition, answer in theirs.items():
        if "refused" in answer:
            continue
        expected = {name: answer[name] for name in ours.answer(partition)}
        expected = {name: sorted(value) if isinstance(value, list) else value for name, value in expected.items()}
        got = ours.answer(partition)
        if got != expected:
            found.append(f"{partition}\n{logs[partition]}\nKafka: {expected}\nours: {got}")
    assert not found, f"{len(found)} differ\n\n" + "\n\n".join(sorted(found, key=len)[:3])


def assert_few_refused(theirs: dict[int, Answer]) -> None:
    """Kafka refuses a log that holds an idempotent batch in an open transaction; the cleaner's holes can make one."""
    refused = [answer["refused"] for answer in theirs.values() if "refused" in answer]
    assert all("Expected transactional write" in each for each in refused), set(refused)
    assert len(refused) < len(theirs) / 50


def test_kafka_writes_the_bytes_that_the_tests_write(logs: list[Log], dumps: Dumps) -> None:
    plain = [number for number, log in enumerate(logs) if log.is_plain]
    assert len(plain) > COUNT / 20
    for number in plain:
        for segment in (dumps.ours / f"{TOPIC}-{number}").iterdir():
            theirs = dumps.kafkas / segment.parent.name / segment.name
            assert segment.read_bytes() == theirs.read_bytes(), f"{segment.name} of\n{logs[number]}"


@pytest.fixture(scope="module")
def kafkas_answers(dumps: Dumps) -> dict[int, Answer]:
    """Of the newest release, which leaves its producer snapshots beside the segments."""
    return answers(NEWEST, dumps.snapshots, "take")


def test_every_log_leaves_what_it_leaves_in_kafka(
    spark: SparkSession, logs: list[Log], dumps: Dumps, kafkas_answers: dict[int, Answer]
) -> None:
    assert_few_refused(kafkas_answers)
    assert sum(bool(answer.get("open")) for answer in kafkas_answers.values()) > COUNT / 3
    assert_same(logs, kafkas_answers, replayed(spark, dumps.ours))


def test_the_oldest_release_sees_the_same(dumps: Dumps, kafkas_answers: dict[int, Answer]) -> None:
    theirs = answers(OLDEST, dumps.kafkas)
    assert_few_refused(theirs)
    for partition, answer in kafkas_answers.items():
        # The two word a refusal differently.
        assert theirs[partition] == answer or ("refused" in theirs[partition] and "refused" in answer), partition


def test_with_snapshots_it_is_the_same(
    spark: SparkSession, logs: list[Log], dumps: Dumps, kafkas_answers: dict[int, Answer]
) -> None:
    assert len(list(dumps.snapshots.glob("*/*.snapshot"))) > COUNT / 3
    assert_same(logs, kafkas_answers, replayed(spark, dumps.snapshots))


def cut(dumps: Dumps) -> int:
    """Delete what retention deletes, all segments but the last two; how many logs that leaves a snapshot."""
    shutil.copytree(dumps.snapshots, dumps.cut)
    seeded = 0
    for folder in dumps.cut.iterdir():
        segments = sorted(folder.glob("*.log"))
        for old in segments[:-2]:
            old.unlink()
            old.with_suffix(".snapshot").unlink(missing_ok=True)
        first = segments[-2:][0].with_suffix(".snapshot")
        # A broker that starts takes no snapshot that stands at the log start.
        first.unlink(missing_ok=True)
        seeded += any(folder.glob("*.snapshot")) and len(segments) > 2
    return seeded


def test_a_log_that_lost_its_start_is_continued_from_its_snapshot(
    spark: SparkSession, logs: list[Log], dumps: Dumps
) -> None:
    assert cut(dumps) > COUNT / 20
    theirs, ours = answers(NEWEST, dumps.cut, "load"), replayed(spark, dumps.cut)
    assert_same(logs, theirs, ours)
    open_in_kafka = [(start, answer) for answer in theirs.values() for _, start, _ in answer.get("open", [])]
    assert any(start < answer["last_stable_offset"] for start, answer in open_in_kafka)
