"""What `txnlog prune` removes, what it never does, and that a pruned archive proves no more than it did before."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.archived_dumps import NEVER, PROVED, UNPROVED, Judged, at, dump, history
from tests.end_to_end.processes import commits
from tests.report_tables import file, night, transaction
from tests.small_dumps import DAY
from tests.tables_by_hand import Row, filled
from txnlog.cli import main
from txnlog.detection.whole_ranges import WholeRange
from txnlog.errors import MissingTableError, TableError
from txnlog.job.pruning import Kept, without_old_rows
from txnlog.job.stored_archive import StoredArchive, stored_ranges
from txnlog.report.table_rows import rows
from txnlog.spark.materialize import local_frame
from txnlog.spark.schema import arrow_schema
from txnlog.tables.layout import (
    COORDINATOR_RANGES,
    COORDINATOR_RECORDS,
    RUNS,
    TABLES,
    TRANSACTIONS,
    Root,
    Table,
)
from txnlog.tables.store import Store

pytestmark = pytest.mark.processes
DELETED = re.compile(r'"deletionTimestamp":\d+')
# The last record of the coordinator in a dump of minute 37.
LAST = 36.5
MINUTES = 60_000


def prune_history(judged: Judged, before_minute: float) -> dict[tuple[str, str], int]:
    """Prune what coordinators wrote before a minute, after a dump of minute 37."""
    store = Store(judged.spark, Root(str(judged.folder / "tables")))
    return without_old_rows(store, Kept(10_000 * DAY, int((LAST - before_minute) * MINUTES)))


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dumps of the coordinator that overlap are archived: together they show it whole from minute 2 on."""
    judged = Judged(spark, tmp_path_factory.mktemp("archived"))
    for times in ((24, 2), (37, 23)):
        judged.archive(dump(judged.folder / f"dump-{times[0]}", history(), *times, of_coordinator_alone=True))
    return judged.folder / "tables"


@pytest.fixture
def judged(spark: SparkSession, tables: Path, tmp_path: Path) -> Judged:
    """With tables of its own."""
    shutil.copytree(tables, tmp_path / "tables")
    return Judged(spark, tmp_path)


@pytest.mark.parametrize(
    ("before", "want"),
    [
        pytest.param(2.75, PROVED, id="before the transactions of both"),
        pytest.param(8, PROVED | {NEVER: UNPROVED[NEVER]}, id="but for the one before the data of one of them"),
        pytest.param(11, UNPROVED, id="within the time that they need"),
        pytest.param(36, UNPROVED, id="but for the last record"),
    ],
)
def test_what_is_left_of_the_archive_is_whole_and_proves_no_more(
    judged: Judged, before: float, want: dict[int, str]
) -> None:
    (whole,) = judged.rows(COORDINATOR_RANGES)
    removed = prune_history(judged, before)
    (left,) = judged.rows(COORDINATOR_RANGES)
    records = judged.rows(COORDINATOR_RECORDS)
    assert sorted(row["offset"] for row in records) == list(range(left["from_offset"], left["to_offset"]))
    assert removed["c", "coordinator_records"] == left["from_offset"] - whole["from_offset"] > 0
    since = datetime.fromtimestamp(at(before) / 1000, UTC).replace(tzinfo=None)
    assert left["written_from"] == min(row["append_timestamp"] for row in records) >= since
    assert left["leader_epochs"] == whole["leader_epochs"]
    assert min(row["completed_at"] or row["start_timestamp"] for row in judged.rows(TRANSACTIONS)) >= since
    before_again = commits(judged.folder / "tables")
    assert not prune_history(judged, before)
    assert commits(judged.folder / "tables") == before_again
    assert judged.detect(dump(judged.folder / "dump-50", history(), 50, 36)) == want


def test_what_was_pruned_is_not_archived_again_by_an_old_dump(judged: Judged, tables: Path) -> None:
    prune_history(judged, 20)
    versions = judged.versions()
    assert judged.archive(tables.parent / "dump-24") == 0
    assert judged.versions() == versions


def test_records_that_an_unclean_election_lost_contradict_what_follows_even_if_pruned(
    spark: SparkSession, tmp_path: Path
) -> None:
    judged = Judged(spark, tmp_path)
    log = history()
    judged.archive(dump(tmp_path / "dump-24", log, 24, 2, of_coordinator_alone=True))
    # The new leader had lost what was written from minute 5 on; its records from then on are whole.
    log.elected = (5, 1)
    judged.archive(dump(tmp_path / "dump-37", log, 37, 4, of_coordinator_alone=True))
    prune_history(judged, 5.2)
    assert len(judged.rows(COORDINATOR_RANGES)) == 2
    assert judged.detect(dump(tmp_path / "dump-50", log, 50, 4))[NEVER].endswith("UNDETERMINED")


def test_a_prune_while_a_job_reads_the_archive_stops_it_before_it_writes(judged: Judged, tmp_path: Path) -> None:
    archive = StoredArchive(Store(judged.spark, Root(str(tmp_path / "tables"))), ["c"])
    archive.check_is_there_still()
    # More than was read does not matter.
    judged.archive(dump(tmp_path / "dump-40", history(), 40, 36, of_coordinator_alone=True))
    archive.check_is_there_still()
    prune_history(judged, 20)
    with pytest.raises(TableError, match="prune removed records meanwhile"):
        archive.check_is_there_still()


def test_a_prune_between_ranges_and_records_is_no_removal_by_hand(
    judged: Judged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(judged.spark, Root(str(tmp_path / "tables")))

    def then_pruned(*arguments: Any) -> list[WholeRange]:
        monkeypatch.undo()
        found = stored_ranges(*arguments)
        prune_history(judged, 20)
        return found

    monkeypatch.setattr("txnlog.job.stored_archive.stored_ranges", then_pruned)
    with pytest.raises(TableError, match="prune removed records meanwhile"):
        StoredArchive(store, ["c"])


# ---- runs and what belongs to them

NEW = datetime(2024, 6, 1, 2, tzinfo=UTC)
OLD = NEW - timedelta(days=100)


def candidate(start: int, status: str, **values: object) -> Row:
    found = transaction(start=start, as_of=OLD)
    names = ("cluster", "topic", "partition", "producer_id", "start_offset")
    resolved = OLD if status == "RESOLVED" else None
    return {name: found[name] for name in names} | {
        "action": "ABORT", "cause": "NEVER_ADDED", "status": status, "resolved_at": resolved, "as_of": OLD,
    } | values  # fmt: skip


def verification(start: int) -> Row:
    return {
        "cluster": "payments", "topic": "orders", "partition": 0, "producer_id": 7, "start_offset": start,
        "verified_at": OLD, "status": "GONE", "as_of": OLD,
    }  # fmt: skip


def kept(table: str, **row: object) -> tuple[str, Row, bool]:
    return table, row, True


def gone(table: str, **row: object) -> tuple[str, Row, bool]:
    return table, row, False


# Partition 0 of `orders` was dumped in both nights, `lonely` in the old one alone. At offset 1 something is open in
# both nights, at 2 in the old one.
CASES: list[tuple[str, Row, bool]] = [
    gone("runs", **night(OLD)),
    kept("runs", **night(NEW)),
    # The latest run of a cluster that is no longer dumped.
    kept("runs", **night(OLD, cluster="other")),
    kept("open_transactions", **transaction(start=1, as_of=NEW)),
    kept("open_transactions", **transaction(start=1, as_of=OLD)),
    gone("open_transactions", **transaction(start=2, as_of=OLD)),
    kept("open_transactions", **transaction(start=3, as_of=OLD)),
    kept("open_transactions", **transaction(start=4, as_of=OLD, action="KEEP", cause="MARKER_LOST_COMMIT")),
    kept("open_transactions", **transaction(topic="lonely", start=5, as_of=OLD)),
    kept("open_transactions", **transaction(cluster="other", start=6, as_of=OLD)),
    kept("abort_candidates", **candidate(3, "OPEN")),
    gone("abort_candidates", **candidate(2, "RESOLVED")),
    kept("abort_candidates", **candidate(7, "RESOLVED", resolved_at=NEW)),
    kept("verifications", **verification(3)),
    gone("verifications", **verification(2)),
    gone("dump_files", **file("old", topic="orders", as_of=OLD)),
    gone("dump_files", **file("checkpoint", topic=None, partition=None, as_of=OLD)),
    kept("dump_files", **file("new", topic="orders", as_of=NEW)),
    kept("dump_files", **file("lonely", topic="lonely", as_of=OLD)),
    kept("dump_files", **file("other", cluster="other", topic="orders", as_of=OLD)),
    gone("producer_states", cluster="payments", topic="orders", partition=0, producer_id=1, as_of=OLD),
    kept("producer_states", cluster="payments", topic="orders", partition=0, producer_id=2, as_of=NEW),
    gone("partition_transactions", cluster="payments", topic="orders", partition=0, as_of=OLD, outcome="OPEN"),
    kept("partition_transactions", cluster="payments", topic="orders", partition=1, as_of=NEW, outcome="OPEN"),
    gone("findings", cluster="payments", topic="orders", partition=0, as_of=OLD, finding="LATE_WRITE"),
    kept("findings", cluster="payments", topic="orders", partition=1, as_of=NEW, finding="LATE_WRITE"),
]


@pytest.fixture(scope="module")
def by_hand(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Tables with these rows after a prune, and what that said."""
    folder = tmp_path_factory.mktemp("by-hand")
    store = Store(spark, Root(str(folder)))
    store.ensure()
    for table in (each for each in TABLES if any(each.name == name for name, _, _ in CASES)):
        add(store, table, [row for name, row, _ in CASES if name == table.name])
    for hour in range(3):
        add(store, RUNS, [night(NEW + timedelta(hours=hour))])
    return folder, pruned(folder)


def pruned(folder: Path) -> str:
    """What the command prints."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(["prune", "--tables", str(folder), "--keep", "90d"]) == 0
    return said.getvalue()


def add(store: Store, table: Table, found: list[Row]) -> None:
    """Append rows to a table that is there."""
    filled_rows = [filled(table, row) for row in found]
    store.append(table, local_frame(store.spark, filled_rows, arrow_schema(table.row)))


def keys(folder: Path) -> set[tuple[object, ...]]:
    tables = {table.name: table for table in TABLES}
    return {
        (name, *(row[key] for key in tables[name].key))
        for name in {each[0] for each in CASES}
        for row in rows(Root(str(folder)), tables[name])
    }


@pytest.mark.parametrize(
    ("name", "row", "is_kept"),
    CASES,
    ids=[f"{'kept' if kept else 'removed'}-{number}-{name}" for number, (name, _, kept) in enumerate(CASES)],
)
def test_what_is_old_is_removed_unless_something_rests_on_it(
    by_hand: tuple[Path, str], name: str, row: Row, is_kept: bool
) -> None:
    (table,) = (each for each in TABLES if each.name == name)
    key = (name, *(filled(table, row)[each] for each in table.key))
    assert (key in keys(by_hand[0])) is is_kept


def test_each_removed_row_is_counted_and_a_second_prune_finds_nothing(by_hand: tuple[Path, str]) -> None:
    folder, said = by_hand
    wanted = Counter((row["cluster"], name) for name, row, is_kept in CASES if not is_kept)
    lines = [
        f"{cluster}: {rows} row{'s' if rows > 1 else ''} of {name} removed"
        for (cluster, name), rows in sorted(wanted.items())
    ]
    *first, last = said.splitlines()
    assert first == lines
    # Of `runs` there were files of two clusters, and of one of them three more. Old rows that stay are put back in
    # files of their own.
    assert int(last.removesuffix(" small files compacted")) > 4
    before = commits(folder)
    assert pruned(folder) == "Nothing is old: no table was changed.\n"
    assert commits(folder) == before


def test_files_that_were_replaced_stay_for_a_week(spark: SparkSession, by_hand: tuple[Path, str]) -> None:
    folder = by_hand[0] / "runs"
    needed = {Path(each) for each in DeltaTable(str(folder)).file_uris()}
    replaced = set(folder.rglob("*.parquet")) - needed
    assert len(replaced) > 3
    long_ago = time.time() - 8 * 86_400
    for path in replaced:
        os.utime(path, (long_ago, long_ago))
    for log in (folder / "_delta_log").glob("*.json"):
        log.write_text(DELETED.sub(f'"deletionTimestamp":{int(long_ago * 1000)}', log.read_text()))
        (log.parent / f".{log.name}.crc").unlink(missing_ok=True)
    # What Delta has read of the log it does not read again.
    moved = folder.parent.rename(folder.parent.with_name("moved"))
    assert pruned(moved) == f"{len(replaced)} files deleted that no version of the last 7 days needs\n"
    assert len(set((moved / "runs").rglob("*.parquet"))) == len(needed)


def test_a_folder_without_tables_is_said_and_not_made(
    tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    for place, said in ((tmp_path / "absent", "there is no such folder"), (tmp_path, "there is no table in it")):
        assert main(["prune", "--tables", str(place), "--keep", "90d"]) == MissingTableError.exit_code
        assert said in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
