"""What `detect --full` writes of all logs of the samples, against their truth and the commands' answers."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.end_to_end.processes import as_if_killed, contents, in_order
from tests.executions import is_compiled, last_execution
from tests.pages import ROOT
from tests.small_dumps import DAY, FIRST_PRODUCER_ID, small_dump
from tests.writer import NOW
from txnlog.config import detect_options
from txnlog.dump.inventory import inventory
from txnlog.job import few_rows
from txnlog.job.main import run
from txnlog.report.partition_findings import Recorded
from txnlog.report.table_rows import rows
from txnlog.sources.log_copy import Place
from txnlog.sources.partition_transactions import transactions
from txnlog.tables.layout import (
    COORDINATOR_RECORDS,
    FINDINGS,
    OPEN_TRANSACTIONS,
    PARTITION_TRANSACTIONS,
    Root,
    columns_of,
)
from txnlog.times import epoch_ms

SAMPLES = ROOT / "data/samples"
TRUTHS = {path.parent.name: json.loads(path.read_text()) for path in sorted(SAMPLES.glob("*/truth.json"))}
INSTANTS = ("first_timestamp", "last_timestamp", "marker_timestamp")
Row = dict[str, Any]


def detected(spark: SparkSession, dump: Path, tables: Path, full: bool = True) -> list[Row]:
    """What the table has after a run."""
    run(spark, detect_options({"dump": str(dump), "tables": str(tables), "full": full}))
    return listed(tables)


def listed(tables: Path) -> list[Row]:
    """The rows of the table, times in ms as the logs have them."""
    found = rows(Root(str(tables)), PARTITION_TRANSACTIONS, order="topic, partition, producer_id, first_offset")
    return [row | {name: row[name] and epoch_ms(row[name]) for name in INSTANTS} for row in found]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    tables = tmp_path_factory.mktemp("samples")
    detected(spark, SAMPLES, tables)
    return tables


def test_of_their_columns_nothing_is_kept_that_files_could_be_skipped_by(tables: Path) -> None:
    found = pa.table(DeltaTable(str(tables / PARTITION_TRANSACTIONS.name)).get_add_actions(flatten=True))
    assert pc.sum(found.column("num_records")).as_py() == len(listed(tables))
    assert [name for name in found.column_names if name.startswith(("min", "max", "null"))] == []


def test_the_shop_has_each_transaction_that_its_coordinators_ended(tables: Path) -> None:
    """kafka-dump-log lists 637 partitions in PrepareCommit records, 30 in PrepareAbort. A payment's marker is lost."""
    found = Counter(
        (row["outcome"], row["recorded_outcome"], row["matched_by"])
        for row in listed(tables)
        if row["cluster"] == "shop"
    )
    assert found == {("COMMIT", "COMMIT", "TIME"): 636, ("ABORT", "ABORT", "TIME"): 30, ("OPEN", None, None): 5}


def test_what_is_open_has_the_id_of_its_verdict(tables: Path) -> None:
    root, of_shop = Root(str(tables)), "cluster = 'shop'"
    judged = {
        (row["producer_id"], row["topic"], row["start_offset"]): row["transactional_id"]
        for row in rows(root, OPEN_TRANSACTIONS, of_shop)
    }
    found = {
        (row["producer_id"], row["topic"], row["first_offset"]): row["transactional_id"]
        for row in rows(root, PARTITION_TRANSACTIONS, f"{of_shop} AND outcome = 'OPEN'")
    }
    assert found == judged
    assert "payments-us-1" in found.values()
    (lost,) = rows(root, FINDINGS, of_shop)
    assert lost["transactional_id"] == "payments-us-1"


def test_the_times_of_the_evidence_are_those_of_the_logs(tables: Path) -> None:
    root = Root(str(tables))
    of_markers = {
        (row["cluster"], row["topic"], row["partition"], row["marker_offset"]): row["marker_timestamp"]
        for row in rows(root, PARTITION_TRANSACTIONS, "marker_offset IS NOT NULL")
    }
    of_records = {
        (row["cluster"], row["coordinator_partition"], row["offset"]): row["append_timestamp"]
        - timedelta(milliseconds=row["update_lag_ms"])
        for row in rows(root, COORDINATOR_RECORDS, "NOT is_tombstone")
    }
    seen = Counter[str]()
    for row in rows(root, OPEN_TRANSACTIONS):
        place = (row["cluster"], row["topic"], row["partition"], row["last_marker_offset"])
        if place in of_markers:
            seen["marker"] += 1
            assert row["last_marker_timestamp"] == of_markers[place]
        record = (row["cluster"], row["coordinator_partition"], row["evidence_offset"])
        if record in of_records:
            seen["record"] += 1
            assert row["evidence_timestamp"] == of_records[record]
    assert min(seen["marker"], seen["record"]) > 10


@pytest.mark.parametrize("sample", TRUTHS)
def test_what_is_open_is_what_the_recipe_left_open(tables: Path, sample: str) -> None:
    truth, names = TRUTHS[sample], ("topic", "partition", "producer_id")
    of_cluster = f"cluster = '{truth['cluster']}'"
    # What records were deleted of, only a producer snapshot still has; no consumer reads it any more.
    is_gone = "(opened_file LIKE '%.snapshot' OR start_offset < log_start_offset)"
    gone = rows(Root(str(tables)), OPEN_TRANSACTIONS, f"{of_cluster} AND {is_gone}")
    left, removed = (
        {(*(row[name] for name in names), row["start_offset"]) for row in found}
        for found in (truth["open_transactions"], gone)
    )
    mine = [row for row in listed(tables) if row["cluster"] == truth["cluster"]]
    found = {(*(row[name] for name in names), row["first_offset"]): row["outcome"] for row in mine}
    assert len(removed) <= 2
    assert {found[key] for key in left - removed} <= {"OPEN", "UNKNOWN"}
    assert {key for key, outcome in found.items() if outcome == "OPEN"} <= left - removed


@pytest.mark.parametrize("cluster", ["shop", "sample-3.5.2", "sample-4.3.0"])
def test_each_partition_has_what_the_command_says_of_it(tables: Path, cluster: str) -> None:
    dump = inventory(SAMPLES)
    found: dict[Place, list[Row]] = {}
    for row in listed(tables):
        if row["cluster"] == cluster:
            found.setdefault(Place(row["topic"], row["partition"]), []).append(row)
    assert len(found) >= 10
    for place, of_place in found.items():
        (copy,) = transactions(dump, place, cluster, of_place[0]["log_dir"])
        of_log = [row for some in copy.rows for row in some.to_pylist()]
        said = Recorded(Root(str(tables)), cluster, place).joined(of_log)
        names = [each.name for each in columns_of(PARTITION_TRANSACTIONS) if each.name in said[0]]
        assert len(names) > 30
        assert in_any_order(of_place, names) == in_any_order(said, names), place
        odd = sorted((row["producer_id"], row["marker_offset"] or -1, each) for row in said for each in row["findings"])
        there = f"topic = '{place.topic}' AND partition = {place.partition} AND cluster = '{cluster}'"
        assert (
            sorted(
                (row["producer_id"], row["marker_offset"] or -1, row["finding"])
                for row in rows(Root(str(tables)), FINDINGS, there)
            )
            == odd
        ), place


def test_the_payment_whose_marker_was_lost_is_found_with_its_evidence(tables: Path) -> None:
    (found,) = rows(Root(str(tables)), FINDINGS, "cluster = 'shop'")
    told = (found["finding"], found["topic"], found["partition"], found["first_offset"])
    assert told == ("MARKER_LOST", "payments", 1, 20)
    assert found["reason"].startswith("COMMITTED at 2026-11-28T11:05:02.561Z")
    assert (found["file"], found["outcome"]) == ("shop/broker-2/payments-1/00000000000000000000.log", "OPEN")
    with (SAMPLES / found["file"]).open("rb") as log:
        log.seek(found["position"])
        assert int.from_bytes(log.read(8)) == 20


def in_any_order(found: list[Row], names: list[str]) -> list[str]:
    return sorted(str([row[name] for name in names]) for row in found)


@pytest.mark.processes
def test_the_latest_dump_that_is_read_in_full_is_listed(spark: SparkSession, tmp_path: Path) -> None:
    older = small_dump(tmp_path / "older")
    newer = small_dump(tmp_path / "newer", copied=NOW + DAY, ended=[FIRST_PRODUCER_ID])
    first = detected(spark, older, tmp_path / "tables")
    assert {row["outcome"] for row in first if row["producer_id"] == FIRST_PRODUCER_ID} == {"OPEN"}
    assert detected(spark, newer, tmp_path / "tables", full=False) == first
    # A later dump that was not read in full has no transactions to show.
    assert detected(spark, older, tmp_path / "tables") == first
    second = detected(spark, newer, tmp_path / "tables")
    assert {row["outcome"] for row in second if row["producer_id"] == FIRST_PRODUCER_ID} == {"ABORT"}
    assert detected(spark, older, tmp_path / "tables") == second
    assert detected(spark, newer, tmp_path / "tables") == second


@pytest.mark.processes
def test_a_rerun_completes_what_a_killed_run_began(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump, whole = small_dump(tmp_path / "dump"), tmp_path / "whole"
    # The first as of a dump with many transactions: the plans for them are compiled.
    with monkeypatch.context() as patched:
        patched.setattr(few_rows, "MANY_BYTES_IN_FULL", 0)
        before = last_execution(spark)
        detected(spark, dump, whole)
        assert is_compiled(spark, before)
    assert not is_compiled(spark, last_execution(spark) - 1)
    last = [commit.parent.parent.name for commit in in_order(whole)[-2:]]
    assert last == ["findings", "runs"]
    as_if_killed(whole, len(in_order(whole)) - 1, tmp_path / "killed")
    detected(spark, dump, tmp_path / "killed")
    assert contents(tmp_path / "killed") == contents(whole)
