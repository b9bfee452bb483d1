"""Real brokers. Each is ended when its cluster's fixture is, whatever becomes of the test."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from abort_lines import Transaction, abort_lines, transaction_of
from abort_record import Record
from aborts import AbortRun
from make import start
from programs import jars
from pyspark.sql import SparkSession
from recipe import Recipe

from tests.kafka.answers import Answer, answers
from tests.kafka.trials import PADDING_MS, RELEASES, TRIALS, WAIT_SECONDS
from txnlog.config import detect_options
from txnlog.job.main import run
from txnlog.report.table_rows import rows
from txnlog.tables.layout import OPEN_TRANSACTIONS, Root

DUMP = "dump-1"


@dataclass
class RunInThisSession(AbortRun):
    """An abort run whose detection is that of the Spark session of the tests."""

    spark: SparkSession
    root: Root

    def detect(self, dump: str) -> None:
        """As `txnlog detect --padding --bootstrap-server`."""
        options = {
            "dump": str(self.scratch / dump),
            "tables": self.root.text,
            "padding": PADDING_MS,
            "bootstrap_server": self.cluster.bootstrap,
        }
        run(self.spark, detect_options(options))


@dataclass(frozen=True)
class Judged:
    """A dump of a cluster that still lives, and the verdicts on it."""

    abort_run: RunInThisSession
    script: str
    verdicts: list[dict[str, Any]]
    answers: list[Answer]

    @property
    def name(self) -> str:
        """The recipe's."""
        return self.abort_run.recipe.name

    @property
    def dump(self) -> Path:
        """Its folder."""
        return self.abort_run.scratch / DUMP


@dataclass(frozen=True)
class Aborted:
    """What the abort list did to the cluster."""

    listed: set[Transaction]
    record: Record
    root: Root


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A cluster is looked at before transactions are aborted in it, whichever tests are asked for."""

    def turn(item: pytest.Item) -> tuple[int, bool]:
        recipe = item.callspec.params.get("judged") if hasattr(item, "callspec") else None
        return TRIALS.index(recipe) if recipe in TRIALS else -1, "aborted" in getattr(item, "fixturenames", ())

    items.sort(key=turn)


@pytest.fixture(scope="session", autouse=True)
def ended_on_sigterm() -> Iterator[None]:
    """Whoever ends the tests ends their brokers, too: fixtures are torn down after an interrupt only."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session")
def kafka_jars() -> None:
    """The jars of all releases, fetched side by side the first time."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(jars, RELEASES))


@pytest.fixture(scope="session")
def dumps(
    request: pytest.FixtureRequest, spark: SparkSession, kafka_jars: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Future[RunInThisSession]]]:
    """A dump of each trial that is wanted, made in the background one after the other: most of it is waiting."""
    wanted = [item.callspec.params.get("judged") for item in request.session.items if hasattr(item, "callspec")]
    pool, clusters = ThreadPoolExecutor(max_workers=1), ExitStack()

    def dumped(recipe: Recipe, scratch: Path) -> RunInThisSession:
        lab = start(clusters.enter_context(recipe.cluster(scratch / "cluster")))
        recipe.dump(lab, recipe.sample(scratch / DUMP), WAIT_SECONDS)
        abort_run = RunInThisSession(recipe, lab, scratch, Record(scratch), spark, Root(str(scratch / "tables")))
        # At once: a broker that is away for longer has no partitions any more, and Kafka 4 drops what was pending.
        abort_run.answering_again()
        return abort_run

    with clusters:
        yield {
            recipe.name: pool.submit(dumped, recipe, tmp_path_factory.mktemp(recipe.name))
            for recipe in TRIALS
            if recipe in wanted
        }
        # No cluster may begin once they are being ended.
        pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="session", params=TRIALS, ids=lambda recipe: recipe.name)
def judged(request: pytest.FixtureRequest, dumps: Mapping[str, Future[RunInThisSession]]) -> Iterator[Judged]:
    """Everything that the release can show, dumped and judged. The brokers run until the last test of it."""
    abort_run = dumps[request.param.name].result()
    script = abort_run.detected(DUMP)
    said = answers(abort_run.scratch, abort_run.root.text)
    yield Judged(abort_run, script, rows(abort_run.root, OPEN_TRANSACTIONS), said)
    abort_run.cluster.end()


@pytest.fixture(scope="session")
def aborted(judged: Judged) -> Aborted:
    """The cluster after each line of the abort list, and after a second dump."""
    listed = {transaction_of(line) for line in abort_lines(judged.script)}
    judged.abort_run.act_on(judged.script)
    return Aborted(listed, judged.abort_run.record, judged.abort_run.root)
