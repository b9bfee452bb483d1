"""One producer id with most of the batches, one partition with most of the bytes: the same verdicts, few shuffles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.coordinator_writer import coordinator_record
from tests.writer import ABORT, NOW, batch, copied_at, data, marker, put, segment
from txnlog.config import DetectOptions, Thresholds
from txnlog.detection.pipeline import detect
from txnlog.dump.inventory import inventory
from txnlog.format.coordinator import TransactionState
from txnlog.job.facts import facts_of
from txnlog.sources import dump_source
from txnlog.sources.reading import evidence
from txnlog.spark.materialize import Materialized, materialized_together
from txnlog.spark.session import IS_SMALL, with_settings

MANIFEST = """cluster = "{}"
transaction_state_partitions = 1
started = "2023-11-14T23:13:20Z"
ended = "2023-11-14T23:13:21Z"
"""
# What the manifest states, in ms.
AS_OF = 1_700_003_600_000
BUSY, LATE, NEVER, ONGOING = 1000, 2000, 3000, 4000
BATCHES = 80_000
BEHIND = 6
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
Verdict = tuple[Any, ...]


def written(log_dir: Path, partition: str, batches: list[bytes]) -> None:
    segment(log_dir, partition, b"".join(batches))


def states(producer_id: int, name: str, *steps: tuple[str, list[tuple[str, int]] | None]) -> list[bytes]:
    return [
        coordinator_record(
            TransactionState(producer_id, 0, 60_000, step, listed, NOW - 1, -1 if listed is None else NOW - 2), name
        )
        for step, listed in steps
    ]


def dump(root: Path, cluster: str, of_busy: list[bytes]) -> None:
    """A partition with a late write, one with data that was never added, one with data of a transaction under way.

    `of_busy` are more batches of the first one.
    """
    put(root / "dump.toml", MANIFEST.format(cluster))
    log_dir = root / "broker-1"
    orders = ("orders", 0)
    records = [
        *states(
            BUSY, "busy", ("Empty", None), ("Ongoing", [orders]), ("PrepareCommit", [orders]), ("CompleteCommit", [])
        ),
        *states(
            LATE, "late", ("Empty", None), ("Ongoing", [orders]), ("PrepareCommit", [orders]), ("CompleteCommit", [])
        ),
        *states(NEVER, "never", ("Empty", None)),
        *states(ONGOING, "ongoing", ("Empty", None), ("Ongoing", [("payments", 0)])),
    ]
    coordinator = [batch(offset, [record], max_timestamp=NOW - 1) for offset, record in enumerate(records)]
    written(log_dir, "__transaction_state-0", coordinator)
    first = [data(0, BUSY), marker(1, BUSY), data(2, LATE), marker(3, LATE), data(4, LATE), marker(5, BUSY, kind=ABORT)]
    written(log_dir, "orders-0", [*first, *of_busy])
    # A COMMIT would need its record.
    written(log_dir, "orders-1", [data(0, NEVER), data(1, BUSY), marker(2, BUSY, kind=ABORT)])
    written(log_dir, "payments-0", [data(0, ONGOING), marker(1, BUSY, kind=ABORT)])
    ends = {
        "__transaction_state-0": len(records),
        "orders-0": BEHIND + len(of_busy),
        "orders-1": 3,
    }
    lines = "".join(f"{name.rpartition('-')[0]} {name.rpartition('-')[2]} {end}\n" for name, end in ends.items())
    put(log_dir / "replication-offset-checkpoint", f"0\n{len(ends)}\n{lines}")
    copied_at(log_dir, AS_OF)


def short_transactions() -> list[bytes]:
    return [
        marker(offset, BUSY, kind=ABORT, max_timestamp=NOW + 1)
        if (offset - BEHIND) % 2
        else data(offset, BUSY, max_timestamp=NOW + 1)
        for offset in range(BEHIND, BEHIND + BATCHES)
    ]


class Found(NamedTuple):
    """Verdicts by cluster, rows that Spark gets of the first partition's batches, and the shuffles of each step."""

    verdicts: dict[str, set[Verdict]]
    rows: dict[str, int]
    shuffles: list[int]


@pytest.fixture(scope="module")
def adaptive(spark: SparkSession) -> Iterator[SparkSession]:
    """The session of the tests with what a platform's has and it has not."""
    usual = {
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.shuffle.partitions": "8",
        THRESHOLD: "10485760",
        IS_SMALL: "false",
    }
    with with_settings(spark, usual):
        yield spark


def shuffles(frame: DataFrame) -> int:
    """How many exchanges its plan has before anything is computed: Spark knows that what was materialized is small."""
    plan = frame.select("*")._jdf.queryExecution().executedPlan().toString()
    return len(re.findall(r"(?<![A-Za-z])Exchange ", plan))


def several_tasks(read: Callable[[], DataFrame]) -> DataFrame:
    """What one task reads is in one place: it is dealt out as that of a large dump."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dump_source, "FILES_PER_TASK", 1)
        return read()


@pytest.fixture(scope="module")
def found(adaptive: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Found:
    root = tmp_path_factory.mktemp("skew")
    dump(root / "even", "even", [])
    dump(root / "skewed", "skewed", short_transactions())
    listed = inventory(root)
    read = several_tasks(lambda: evidence(adaptive, listed, full=True))
    facts = facts_of(read, DetectOptions(dump=str(root), tables=""), listed)
    counted: list[int] = []

    def materialize(*frames: DataFrame) -> list[Materialized]:
        counted.extend(map(shuffles, frames))
        return materialized_together(*frames)

    verdicts: dict[str, set[Verdict]] = {"even": set(), "skewed": set()}
    dealt = replace(facts, batches=lambda wanted: several_tasks(lambda: facts.batches(wanted)))
    detection = detect(dealt, Thresholds(), materialize)
    for row in detection.transactions.collect():
        names = ("topic", "partition", "producer_id", "start_offset", "cause", "action", "confidence", "batches")
        verdicts[row["cluster"]].add(tuple(row[name] for name in names))
    rows = facts.replay_sums.where("topic = 'orders' AND partition = 0").groupBy("cluster").count().collect()
    return Found(verdicts, {row["cluster"]: row["count"] for row in rows}, counted)


def test_skew_changes_no_verdict(found: Found) -> None:
    assert found.verdicts["skewed"] == found.verdicts["even"]
    assert {(each[2], each[4]) for each in found.verdicts["even"]} == {
        (LATE, "LATE_WRITE_AFTER_END"),
        (NEVER, "NEVER_ADDED"),
        (ONGOING, "STUCK_ONGOING"),
    }


def test_of_many_batches_of_a_producer_id_spark_gets_as_many_rows_as_of_few(found: Found) -> None:
    assert found.rows["skewed"] == found.rows["even"]


def test_the_plan_has_no_shuffle_but_those_that_the_page_explains(found: Found) -> None:
    page = (Path(__file__).parents[2] / "docs/development/query-plan.md").read_text("utf-8")
    explained = [int(count) for count in re.findall(r"^\| \d+ \|[^|]+\| (\d+) \|", page, re.MULTILINE)]
    # What reads a kind of file that this dump does not have is left out of the plan.
    assert len(explained) == len(found.shuffles)
    assert all(0 < mine <= most for mine, most in zip(found.shuffles, explained, strict=True))
    assert sum(found.shuffles) >= sum(explained) - 2
