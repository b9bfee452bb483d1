"""What a running cluster is asked right before an abort, and by `detect`: real brokers, one of them down."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from abort_lines import abort_lines, transaction_of
from partition_ends import all_ends
from pyspark.sql import Row, SparkSession

from tests.archived_dumps import OF_THE_FIRST
from tests.end_to_end.processes import as_if_killed, contents, in_order
from tests.kafka.conftest import Aborted, Judged
from tests.kafka.trials import PADDING_MS
from txnlog.cli import main
from txnlog.config import DetectOptions, detect_options
from txnlog.dump.inventory import inventory
from txnlog.errors import ClusterError
from txnlog.job.archiving import archive_cluster
from txnlog.job.facts import facts_of
from txnlog.job.main import run
from txnlog.live import coordinators
from txnlog.live.answers import Topic
from txnlog.live.cluster import LiveCluster
from txnlog.live.coordinator_facts import BROKER
from txnlog.live.coordinators import CoordinatorLogs, coordinator_logs, logs_in_turn
from txnlog.live.settings import ClusterSettings, cluster_settings, with_live_settings
from txnlog.live.verifications import verifications
from txnlog.report.table_rows import rows
from txnlog.sources.reading import evidence
from txnlog.tables.layout import (
    ABORT_CANDIDATES,
    COORDINATOR_RANGES,
    COORDINATOR_RECORDS,
    OPEN_TRANSACTIONS,
    RUNS,
    TABLES,
    VERIFICATIONS,
    Root,
)

pytestmark = pytest.mark.kafka
OPTIONS = detect_options({"dump": "d", "tables": "t"})
PAUSED = 2
STUCK, BLOCKED = "STILL_STUCK", "BLOCKED_BY_EARLIER"
Key = tuple[str, int, int]


def key(row: dict[str, Any]) -> Key:
    return row["topic"], row["partition"], row["start_offset"]


def live(judged: Judged, timeout_s: float = 15) -> LiveCluster:
    return LiveCluster(judged.abort_run.cluster.bootstrap, {}, timeout_s)


def candidates(judged: Judged) -> list[dict[str, Any]]:
    return [row for row in judged.verdicts if row["action"] == "ABORT" and row["late"] is not False]


def verified(judged: Judged, capsys: pytest.CaptureFixture[str], timeout: str = "15s") -> dict[Key, dict[str, Any]]:
    """What `txnlog verify` prints."""
    arguments = ["--tables", judged.abort_run.root.text, "--bootstrap-server", judged.abort_run.cluster.bootstrap]
    capsys.readouterr()
    assert main(["verify", *arguments, "--timeout", timeout, "--format", "json"]) == 0
    return {key(row): row for row in json.loads(capsys.readouterr().out)}


def listed(judged: Judged, capsys: pytest.CaptureFixture[str], within: str) -> set[Key]:
    capsys.readouterr()
    assert main(["abort-list", "--tables", judged.abort_run.root.text, "--verified-within", within]) == 0
    lines = abort_lines(capsys.readouterr().out)
    return {(one.topic, one.partition, one.start_offset) for one in map(transaction_of, lines)}


@contextmanager
def paused(judged: Judged) -> Iterator[None]:
    judged.abort_run.cluster.pause(PAUSED)
    try:
        yield
    finally:
        judged.abort_run.cluster.resume(PAUSED)


def test_each_candidate_holds_its_partition_back_or_stands_behind_one_that_does(
    judged: Judged, capsys: pytest.CaptureFixture[str]
) -> None:
    found = verified(judged, capsys)
    assert found.keys() == {key(row) for row in candidates(judged)}
    for (topic, partition, start), row in found.items():
        first = min(judged.abort_run.open_starts((topic, partition)))
        assert row["status"] == (STUCK if start == first else BLOCKED), row
        assert row["last_stable_offset"] == judged.abort_run.cluster.last_stable_offset(topic, partition)
    assert {row["status"] for row in found.values()} >= {STUCK}
    assert listed(judged, capsys, "10m") == {one for one, row in found.items() if row["status"] == STUCK}
    assert listed(judged, capsys, "1ms") == set()


def test_verify_changes_nothing_in_the_cluster(judged: Judged, capsys: pytest.CaptureFixture[str]) -> None:
    before = all_ends(judged.abort_run.cluster)
    verified(judged, capsys)
    assert all_ends(judged.abort_run.cluster) == before


def test_a_broker_that_is_down_leaves_unknown_only_what_it_leads(
    judged: Judged, capsys: pytest.CaptureFixture[str]
) -> None:
    if judged.abort_run.cluster.node_count == 1:
        with (
            paused_only_broker(judged),
            pytest.raises(ClusterError, match="no answer about the cluster's id within 2 s"),
        ):
            live(judged, 2).cluster_id()
        return
    with paused(judged):
        found = verified(judged, capsys, "4s")
    by_leader = {leader: {row["status"] for row in found.values() if row["leader"] == leader} for leader in (1, PAUSED)}
    assert by_leader[PAUSED] == {"UNKNOWN"}
    assert by_leader[1] >= {STUCK}
    assert by_leader[1] <= {STUCK, BLOCKED}
    reasons = {row["reason"] for row in found.values() if row["leader"] == PAUSED}
    assert reasons == {"broker 2, which leads the partition: no answer"}
    assert not {one for one, row in found.items() if row["leader"] == PAUSED} & listed(judged, capsys, "10m")


@contextmanager
def paused_only_broker(judged: Judged) -> Iterator[None]:
    judged.abort_run.cluster.pause(1)
    try:
        yield
    finally:
        judged.abort_run.cluster.resume(1)


def test_the_verdicts_of_another_cluster_are_refused(
    judged: Judged, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert {row["cluster_id"] for row in rows(judged.abort_run.root, RUNS)} == {judged.abort_run.cluster.cluster_id}
    samples = Path(__file__).parents[2] / "data" / "samples"
    dump = inventory(samples / "kafka-4.3.0-stopped")
    with pytest.raises(ClusterError, match="the running cluster's id is"):
        with_live_settings(OPTIONS, dump, cluster_settings(live(judged), OPTIONS))


def test_detect_asks_the_brokers_for_what_the_dump_does_not_say(judged: Judged) -> None:
    cluster = judged.abort_run.cluster
    partitions = int(cluster.settings["transaction.state.log.num.partitions"])
    said = cluster_settings(live(judged), OPTIONS)
    assert said == ClusterSettings(cluster.cluster_id, 10_000, partitions)
    given = replace(OPTIONS, max_transaction_timeout=5)
    assert cluster_settings(live(judged), given) == ClusterSettings(cluster.cluster_id, None, partitions)
    (first, *_) = rows(judged.abort_run.root, RUNS, order="started_at")
    used = json.loads(first["options"])
    assert (used["max_transaction_timeout"], used["coordinator_partitions"]) == (10_000, partitions)
    dump = inventory(judged.dump)
    silent = replace(
        dump,
        log_dirs=tuple(
            replace(each, transaction_max_timeout_ms=None, transaction_state_partitions=None) for each in dump.log_dirs
        ),
    )
    options = with_live_settings(detect_options({"dump": str(judged.dump), "tables": "t"}), silent, said)
    assert (options.max_transaction_timeout, options.coordinator_partitions) == (10_000, partitions)


def test_a_consumer_gets_what_the_files_of_the_coordinators_have(judged: Judged, spark: SparkSession) -> None:
    options = detect_options({"dump": str(judged.dump), "tables": "t"})
    found, dump = coordinator_logs(live(judged)), inventory(judged.dump)
    partitions = int(judged.abort_run.cluster.settings["transaction.state.log.num.partitions"])
    assert (set(found.logs), found.unread) == (set(range(partitions)), {})
    options, read = replace(options, coordinator_partitions=partitions), evidence(spark, dump)
    rows_of = [
        {
            (row["coordinator_partition"], row["offset"]): row
            for row in map(Row.asDict, facts.transaction_states.collect())
        }
        for facts in (facts_of(read, options, dump), facts_of(read, options, dump, coordinators=found))
    ]
    copied, both = rows_of
    consumed = {place: row for place, row in both.items() if row["broker"] == BROKER}
    assert copied
    # What was pending at the dump has ended since.
    assert copied.keys() <= consumed.keys()
    place_columns = ("broker", "log_dir", "file", "position")
    for place, row in copied.items():
        assert without(consumed[place], place_columns) == without(row, place_columns)


def without(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def test_a_dump_without_coordinators_is_judged_by_the_running_ones(
    judged: Judged, spark: SparkSession, tmp_path: Path
) -> None:
    dump = tmp_path / "dump"
    shutil.copytree(judged.dump, dump, ignore=shutil.ignore_patterns("__transaction_state-*"))
    given = {"dump": str(dump), "padding": PADDING_MS, "bootstrap_server": judged.abort_run.cluster.bootstrap}
    causes = {}
    for name, extra in (("without", {}), ("with", {"live_coordinators": True})):
        run(spark, detect_options({**given, **extra, "tables": str(tmp_path / name)}))
        causes[name] = verdicts(rows(Root(str(tmp_path / name)), OPEN_TRANSACTIONS))
    expected = verdicts(judged.verdicts)
    # A COMMIT in another partition says without any coordinator that the data of its epoch was committed. Only records
    # tell that the transaction did not list this partition.
    witnessed = {place for place, cause in causes["without"].items() if cause == "MARKER_LOST_COMMIT"}
    assert {expected[place] for place in witnessed} <= {"MARKER_LOST_COMMIT", "EPOCH_MISMATCH"}
    assert set(without(causes["without"], tuple(witnessed)).values()) <= {"COVERAGE_GAP", "TOO_YOUNG", "UNKNOWN"}
    # What was pending has ended since, after the copy: it was seconds old then, and that is all there is to say.
    ended = {place for place, cause in expected.items() if cause == "PENDING"}
    assert {causes["with"][place] for place in ended} <= {"TOO_YOUNG"}
    assert without(causes["with"], tuple(ended)) == without(expected, tuple(ended))


def test_an_archive_of_the_running_cluster_that_was_killed_goes_on_where_its_ranges_end(
    judged: Judged, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known_ends: list[Mapping[int, int]] = []

    def noted(live: LiveCluster, topic: Topic, known: Mapping[int, int]) -> Iterator[CoordinatorLogs]:
        known_ends.append(known)
        return logs_in_turn(live, topic, known)

    monkeypatch.setattr(coordinators, "logs_in_turn", noted)
    # Each partition is kept before the next one is read.
    monkeypatch.setattr(coordinators, "RECORDS_AT_ONCE", 1)

    def archived(tables: Path) -> int:
        options = DetectOptions("", str(tables), "alive")
        return archive_cluster(lambda _: spark, options, "alive", live(judged), lambda _: None)["alive"]

    whole, tables = tmp_path / "whole", tmp_path / "tables"
    new = archived(whole)
    of_parts = [each.parts[-3] for each in in_order(whole)][len(TABLES) :]
    # The first part, and of the second one what proves nothing without its range.
    kept = of_parts.index(COORDINATOR_RANGES.name) + 2
    assert of_parts[kept - 1] == COORDINATOR_RECORDS.name
    as_if_killed(whole, len(TABLES) + kept, tables)
    (there,) = rows(Root(str(tables)), COORDINATOR_RANGES)
    assert archived(tables) == new - (there["to_offset"] - there["from_offset"]) < new
    assert {one: end for one, end in known_ends[-1].items() if end} == {
        there["coordinator_partition"]: there["to_offset"]
    }
    assert contents(tables, OF_THE_FIRST) == contents(whole, OF_THE_FIRST)


def verdicts(found: list[dict[str, Any]]) -> dict[Any, Any]:
    return {(row["topic"], row["partition"], row["producer_id"]): row["cause"] for row in found}


def test_what_was_aborted_is_resolved(judged: Judged, aborted: Aborted) -> None:
    found = verifications(candidates(judged), live(judged), judged.abort_run.cluster.cluster_id)
    still = {row.status for row in found if (row.topic, row.partition, row.start_offset) in aborted.listed}
    assert still == {"RESOLVED"}
    assert rows(judged.abort_run.root, VERIFICATIONS)


def test_a_topic_that_is_deleted_or_created_anew_is_gone(judged: Judged, aborted: Aborted) -> None:
    cluster = judged.abort_run.cluster
    of_topic = [row for row in candidates(judged) if row["topic"] == "never-added"]
    assert of_topic

    def said() -> set[tuple[str, str]]:
        found = verifications(of_topic, live(judged), cluster.cluster_id)
        return {(row.status, row.reason) for row in found}

    cluster.admin.delete_topics(["never-added"])["never-added"].result()
    assert said() == {("GONE", "the cluster has no such topic")}
    cluster.create_topic("never-added", [[1], [1]], {})
    assert said() == {("GONE", "the topic was deleted and recreated: its id has changed")}
    assert rows(judged.abort_run.root, ABORT_CANDIDATES)
