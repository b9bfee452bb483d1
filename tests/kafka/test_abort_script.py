"""The abort script against a broker on which producers went on between the dump and the script."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from abort_lines import Finished, bash
from brokers import HOST, free_port
from lab import TRANSACTION_MAX_TIMEOUT_MS, Lab, RawProducer
from make import start
from pyspark.sql import SparkSession
from recipe import Recipe
from recipes import RECIPES

from txnlog.cli import main
from txnlog.config import detect_options
from txnlog.job.main import run

pytestmark = pytest.mark.kafka
PADDING_MS = 1_000
WAIT_SECONDS = (TRANSACTION_MAX_TIMEOUT_MS + PADDING_MS) / 1000 + 1
# The script goes through them in this order: a name that looks like an option, and what has ended in the middle.
DASHED, SAME, OWNED, ENDED, RESUMED, LAST = "-rf", "as-in-the-dump", "begun-anew", "ended", "resumed", "the-last"
BEHIND = "behind-another"
TOPICS = (DASHED, SAME, OWNED, ENDED, RESUMED, LAST)
LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="{}"{};'


@dataclass
class Told:
    """What a run of the script said of each topic, at its end, and which topics were open then."""

    finished: Finished
    still_open: set[str]
    of: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = re.findall(r"^\d+\. abort --topic[ =](\S+) .*\n  ([^:\n]*)", self.finished.out, re.MULTILINE)
        self.of = dict(found)

    @property
    def summary(self) -> str:
        """Its last line but one or the last."""
        return next(line for line in self.finished.out.splitlines() if " tried: " in line)


@dataclass
class Acted:
    """A script, and its runs in the order of the fields."""

    script: str
    without_run: Told
    other_cluster: Told
    wrong_password: Told
    with_run: Told
    again: Told


def _late_write(lab: Lab, topic: str) -> RawProducer:
    """Data that reached its partition after the marker of its transaction."""
    raw = lab.producer(f"id of {topic}", bumps=1)
    raw.begin(topic, 0, "in time")
    raw.end(commit=True)
    story = "A batch of the epoch of a committed transaction arrived after its marker."
    lab.note_open(raw, raw.write(topic, 0, "late"), "LATE_WRITE_AFTER_END", "ABORT", story)
    return raw


def _sasl(lab: Lab) -> str:
    """A listener that wants a password, beside the one that does not: its address."""
    cluster, port = lab.cluster, free_port()
    listeners = f"PLAINTEXT://{HOST}:{cluster.nodes[1].port},SASL_PLAINTEXT://{HOST}:{port}"
    users = ' user_alice="right"'
    cluster.reconfigure(
        1,
        {
            "listeners": f"{listeners},CONTROLLER://{HOST}:{cluster.controller_port}",
            "advertised.listeners": listeners,
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
            ),
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": LOGIN.format("unused", users),
        },
    )
    return f"{HOST}:{port}"


def _client(folder: Path, password: str) -> str:
    """The file of properties of who logs in with a password."""
    file = folder / f"client of {password}.properties"
    login = LOGIN.format(password, "")
    file.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n")
    return str(file)


def _printed(*arguments: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(arguments) == 0
    return printed.getvalue()


def _verified_script(spark: SparkSession, recipe: Recipe, lab: Lab, folder: Path) -> str:
    """Dump, detect, verify, and the script."""
    recipe.dump(lab, recipe.sample(folder / "dump"), WAIT_SECONDS)
    tables = str(folder / "tables")
    run(spark, detect_options({"dump": str(folder / "dump"), "tables": tables, "padding": PADDING_MS}))
    _printed("verify", "--tables", tables, "--bootstrap-server", lab.cluster.bootstrap)
    return _printed("abort-list", "--tables", tables)


@pytest.fixture(scope="module", params=["3.5.2", "4.3.0"])
def acted(
    request: pytest.FixtureRequest, spark: SparkSession, kafka_jars: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Acted]:
    original = next(each for each in RECIPES if each.name == f"kafka-{request.param}")
    recipe = replace(original, before=(), after=(), last=(), node_count=1, padding_ms=PADDING_MS)
    folder = tmp_path_factory.mktemp("aborts")
    with recipe.cluster(folder / "cluster") as cluster:
        lab = start(cluster)
        guarded = _sasl(lab)
        for topic in (*TOPICS, BEHIND, "elsewhere"):
            lab.topic(topic, [1])
        producers = {topic: _late_write(lab, topic) for topic in TOPICS}
        never_ended = lab.producer("never-ended")
        first = never_ended.begin(BEHIND, 0, "the first")
        lab.note_open(never_ended, first, "STUCK_ONGOING", "FENCE", "A transaction that nobody ends.")
        _late_write(lab, BEHIND)
        script = _verified_script(spark, recipe, lab, folder)
        # Between the dump and the script.
        producers[OWNED].add("elsewhere", 0)
        producers[ENDED].add(ENDED, 0)
        producers[ENDED].end(commit=False)
        producers[RESUMED].write(RESUMED, 0, "later still")

        def told(text: str, **variables: str) -> Told:
            given = {"BOOTSTRAP_SERVER": cluster.bootstrap, "RUN": "1", **variables}
            finished = bash(text, folder, recipe.release, given)
            return Told(finished, {topic for topic in TOPICS if lab.open_now(topic, 0)})

        other = script.replace(f"CLUSTER_ID={cluster.cluster_id}", "CLUSTER_ID=another")
        yield Acted(
            script,
            told(script, RUN=""),
            told(other),
            told(script, BOOTSTRAP_SERVER=guarded, COMMAND_CONFIG=_client(folder, "wrong")),
            told(script, BOOTSTRAP_SERVER=guarded, COMMAND_CONFIG=_client(folder, "right")),
            told(script),
        )


MOVED = {OWNED: "SKIPPED", ENDED: "skipped", RESUMED: "SKIPPED"}
OPEN = set(TOPICS) - {ENDED}


def test_without_run_it_says_what_it_would_do(acted: Acted) -> None:
    told = acted.without_run
    assert told.of == MOVED | dict.fromkeys((DASHED, SAME, LAST), "would be aborted"), told.finished.out
    assert told.summary == "6 tried: 3 would be aborted, 1 had ended, 2 not as in the dump, 0 failed"
    assert told.still_open == OPEN


def test_it_stops_at_another_cluster_and_at_a_refused_password(acted: Acted) -> None:
    for told, said in ((acted.other_cluster, "this is another cluster"), (acted.wrong_password, "did not say its id")):
        assert said in told.finished.out
        assert (told.finished.code, told.of, told.still_open) == (2, {}, OPEN)


def test_only_what_is_as_in_the_dump_is_aborted(acted: Acted) -> None:
    told = acted.with_run
    assert told.of == MOVED | dict.fromkeys((DASHED, SAME, LAST), "aborted"), told.finished.out
    assert told.summary == "6 tried: 3 aborted, 1 had ended, 2 not as in the dump, 0 failed"
    assert (told.finished.code, told.still_open) == (1, {OWNED, RESUMED})
    now = [line for line in told.finished.out.splitlines() if line.startswith("    now: ")]
    assert len(now) == 2
    assert "TransactionState=Ongoing" in now[0]
    assert "TopicPartitions=elsewhere-0" in now[0]
    assert "LastSequence=2" in now[1]


def test_what_is_behind_another_is_said_with_what_it_waits_for(acted: Acted) -> None:
    assert f"\n# NOT IN THIS SCRIPT: {BEHIND}-0 from offset 3, LATE_WRITE_AFTER_END" in acted.script
    assert re.search(
        r"\n# waits for the transaction of producer id \d+ from offset 0: FENCE \(STUCK_ONGOING\): ", acted.script
    )


def test_a_second_run_finds_what_has_ended(acted: Acted) -> None:
    told = acted.again
    assert told.of == MOVED | dict.fromkeys((DASHED, SAME, LAST), "skipped"), told.finished.out
    assert told.summary == "6 tried: 0 aborted, 4 had ended, 2 not as in the dump, 0 failed"
    assert told.still_open == {OWNED, RESUMED}
