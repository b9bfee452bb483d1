"""What a real cleaner takes from `__transaction_state`, archives give back: hangs and lost commits far older than that.

`archives.dumps` of the recipes copies what there is; tests/archives has one of these for the tests without brokers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import archives
import pytest
from lab import Lab
from pyspark.sql import SparkSession

from tests.archived_sample import Verdicts, truth, unproved, verdicts
from tests.kafka.trials import RELEASES
from txnlog.cli import main
from txnlog.config import DetectOptions
from txnlog.errors import HistoryError
from txnlog.job.archiving import archive_cluster
from txnlog.live.cluster import LiveCluster
from txnlog.report.table_rows import rows
from txnlog.tables.layout import TRANSACTIONS, Root

pytestmark = pytest.mark.kafka
PATIENCE_S = 30


@dataclass(frozen=True)
class Trial:
    """Dumps of coordinators in their order, and of everything at the end; the tables of what was archived alive."""

    archives: list[Path]
    dump: Path
    alive: Path
    ended: int


def archived_alive(spark: SparkSession, lab: Lab, tables: Path) -> None:
    live = LiveCluster(lab.cluster.bootstrap, {}, PATIENCE_S)
    archive_cluster(lambda _: spark, DetectOptions("", str(tables), archives.NAME), archives.NAME, live, lambda _: None)


@pytest.fixture(scope="module", params=RELEASES[:2])
def trial(
    request: pytest.FixtureRequest, spark: SparkSession, dumps: object, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trial]:
    """`dumps` is asked for only because those of other tests can be made meanwhile."""
    scratch = tmp_path_factory.mktemp("history")
    with archives.three_brokers(request.param, scratch / "cluster") as cluster:
        lab, traffic = archives.begin(cluster)
        alive, made = scratch / "tables-alive", list[Path]()
        for dump in archives.dumps(lab, traffic, scratch):
            made.append(dump)
            # Once with a copy, and once through a consumer: what either shows is joined to what follows.
            if len(made) == 1:
                archived_alive(spark, lab, alive)
        yield Trial(made[:-1], made[-1], alive, traffic.done)


def judged(spark: SparkSession, tables: Path, trial: Trial, *numbers: int) -> Verdicts:
    return verdicts(spark, tables, trial.dump, *(trial.archives[number] for number in numbers))


def test_without_archives_nothing_so_old_is_proved(spark: SparkSession, trial: Trial, tmp_path: Path) -> None:
    assert judged(spark, tmp_path / "tables", trial) == unproved(trial.dump)


def test_with_archives_that_share_records_all_of_it_is(spark: SparkSession, trial: Trial, tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    assert judged(spark, tables, trial, 0, 1, 2) == truth(trial.dump)
    assert main(["history", "--tables", str(tables)]) == 0
    busy = [row for row in rows(Root(str(tables)), TRANSACTIONS) if row["transactional_id"].startswith("busy-")]
    # Not those of the last seconds: the high watermark in the dump is some seconds old.
    assert 0.9 * trial.ended <= len(busy) <= trial.ended
    assert {row["ended_by"] for row in busy if row["outcome"]} == {"CLIENT"}
    assert {row["outcome"] for row in busy} >= {"COMMIT", "ABORT"}


def test_what_a_consumer_read_of_the_running_cluster_counts_as_a_copy_does(spark: SparkSession, trial: Trial) -> None:
    assert judged(spark, trial.alive, trial, 1, 2) == truth(trial.dump)


def test_across_a_hole_nothing_is_proved(spark: SparkSession, trial: Trial, tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    assert judged(spark, tables, trial, 0, 2) == unproved(trial.dump)
    assert main(["history", "--tables", str(tables)]) == HistoryError.exit_code
