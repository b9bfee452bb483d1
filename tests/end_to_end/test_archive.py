"""What earlier dumps showed of `__transaction_state` is history once compaction has removed it, and nothing else is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest
from delta import DeltaTable
from pyspark.sql import SparkSession

from tests.archived_dumps import (
    BUSY,
    LOST,
    MINUTE,
    NEVER,
    PROVED,
    SLOW,
    START,
    UNPROVED,
    Coordinator,
    Dumped,
    Judged,
    dumps_of,
    history,
    side_by_side,
)
from tests.executions import IN_FULL, Scan, last_execution, scans
from txnlog.cli import main
from txnlog.errors import HistoryError, TableError
from txnlog.spark.session import with_settings
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_RECORDS, OPEN_TRANSACTIONS, TRANSACTIONS, Root

pytestmark = pytest.mark.processes


def with_a_slow_id() -> Coordinator:
    """Under way in two dumps, and rolled back by its timeout before the third."""
    log = history()
    log.add(20, "slow", SLOW, "Ongoing", [("orders", 0)], began=20)
    log.add(26, "slow", SLOW, "Ongoing", [("orders", 0), ("payments", 0)], began=20)
    log.add(38, "slow", SLOW, "PrepareAbort", [("orders", 0), ("payments", 0)], began=20, epoch=1)
    log.add(39, "slow", SLOW, "CompleteAbort", [], began=20, epoch=1)
    log.records.sort(key=lambda record: record[0])
    return log


def elected() -> Coordinator:
    """The new leader had lost what was written from minute 20 on, and wrote other records at these offsets."""
    log = history()
    log.elected = (20, 1)
    return log


def restored() -> Coordinator:
    """From minute 20 on other records are at the same offsets, in the same leader epoch. The last COMMIT of the busy
    id, which the dump has, is explained.
    """
    log = history()
    log.records = [record for record in log.records if record[0] < 20]
    for minute in range(20, 60):
        log.transaction(minute + (0.7 if minute < 40 else 0.5), "busy", BUSY, [("payments", 0)])
    return log


def that_forgot() -> Coordinator:
    """What was written from minute 26 on is lost: other records are there, in the same leader epoch."""
    log = history()
    log.records = [record for record in log.records if record[0] < 26]
    for minute in range(26, 60):
        log.transaction(minute + 0.5, "busy", BUSY, [("payments", 0)])
    return log


def begun_once_more() -> Coordinator:
    """Made anew at minute 25, with controllers of a backup: they give out the id's producer id once more."""
    log = Coordinator()
    log.add(25, "busy", BUSY, "Empty", None)
    for minute in range(25, 60):
        if minute == 26:
            log.add(26, "lost", LOST, "Empty", None)
        log.transaction(minute + 0.5, "busy", BUSY, [("payments", 0)])
    return log


def with_idle_ids_alone(busy_again: float) -> Coordinator:
    """The ids of the data do nothing more; the busy one has another transaction."""
    log = history()
    log.transaction(busy_again, "busy", BUSY, [("payments", 0)])
    return log


def with_ids_that_went_on() -> Coordinator:
    """Each had one more transaction, in another partition, of which no archive is."""
    log = history()
    for name, producer_id in (("lost", LOST), ("never", NEVER)):
        log.transaction(30, name, producer_id, [("refunds", 0)])
    log.records.sort(key=lambda record: record[0])
    return log


VANISHED = "__transaction_state-0/00000000000000000100.log\t1\t1\n"

UNEXPLAINED = PROVED | {NEVER: UNPROVED[NEVER]}
# Of before the log lost its end there is a COMMIT: what was committed is kept.
KEPT = UNEXPLAINED

# The dumps of a cluster in their order: the last one is judged, those before it are archived.
CASES: Mapping[str, Sequence[Dumped]] = {
    "not archived": dumps_of((50, 48)),
    "overlapping": dumps_of((24, 2), (37, 23), (50, 36)),
    "left out": dumps_of((24, 2), (50, 36)),
    "idle": dumps_of((24, 2), (50, 36), listed=""),
    "idle for a day": dumps_of((24, 2), (1462, 36), log=with_idle_ids_alone(1461.5), listed=""),
    "idle for longer": dumps_of((24, 2), (1465, 36), log=with_idle_ids_alone(1464.5), listed=""),
    "idle, swapped": dumps_of((24, 2), (50, 36), listed=VANISHED),
    "gone on": dumps_of((24, 2), (50, 36), log=with_ids_that_went_on(), listed=""),
    "idle, committed": dumps_of((24, 2), (50, 36), listed="", committed=30),
    "overlapping, committed": dumps_of((24, 2), (37, 23), (50, 36), committed=30),
    "elected": [*dumps_of((24, 2)), *dumps_of((50, 16), log=elected())],
    "restored": [*dumps_of((24, 2)), *dumps_of((50, 16), log=restored())],
    "elected, without topic id": [*dumps_of((24, 2)), *dumps_of((50, 0), log=elected(), topic_id=None)],
    "restored, without topic id": [*dumps_of((24, 2)), *dumps_of((50, 0), log=restored(), topic_id=None)],
    "contradicted before": [*dumps_of((40, 0), log=restored()), *dumps_of((24, 2)), *dumps_of((50, 0), log=restored())],
    "printed": dumps_of((24, 2), (50, 0), is_printed=True),
    "restored, printed": [*dumps_of((24, 2)), *dumps_of((50, 0), log=restored(), is_printed=True)],
    "restored, with another topic id": [*dumps_of((24, 2)), *dumps_of((50, 0), topic_id="B" * 22)],
    "given out again": [
        *dumps_of((24, 2)),
        *dumps_of((50, 0), log=begun_once_more(), topic_id="B" * 22, followed=27),
    ],
    "idle, but for what was lost": [
        *dumps_of((24, 2)),
        *dumps_of((37, 28), log=with_ids_that_went_on()),
        *dumps_of((50, 48), log=that_forgot(), listed=""),
    ],
    "recreated": dumps_of((24, 2), (50, 23), topic_id="B" * 22),
    "stale": dumps_of((50, 0), coordinator_minute=9),
    "staler than the archive": dumps_of((24, 0), (50, 0), coordinator_minute=9),
    "slow": dumps_of((24, 2), (37, 23), (50, 36), log=with_a_slow_id()),
    "in another order": dumps_of((50, 36), (24, 2), (37, 23), log=with_a_slow_id()),
}


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Judged, list[Scan]]:
    """The dumps of all clusters, archived and judged, and how the last run read the archive."""
    found = Judged(spark, tmp_path_factory.mktemp("archive"))
    *earlier, last = side_by_side(found.folder, CASES)
    for each in earlier:
        found.archive(each)
    with with_settings(spark, IN_FULL):
        before = last_execution(spark)
        found.detect(last)
        return found, scans(spark, before, COORDINATOR_RECORDS)


@pytest.fixture(scope="module")
def judged(run: tuple[Judged, list[Scan]]) -> Judged:
    return run[0]


def test_what_a_run_needs_of_the_archive_is_read_once(run: tuple[Judged, list[Scan]]) -> None:
    assert len([scan for scan in run[1] if "file" in scan.columns and scan.files]) == 1


def test_of_a_log_whose_records_contradict_one_another_no_more_is_kept(judged: Judged) -> None:
    found = judged.rows(COORDINATOR_RANGES, "contradicted before")
    assert sorted((row["from_offset"], row["to_offset"]) for row in found) == [(0, 0), (0, restored().end(40))]
    assert history_of(judged, "contradicted before") == HistoryError.exit_code


@pytest.mark.parametrize(
    ("name", "want"),
    [
        pytest.param("not archived", UNPROVED, id="without an archive what was compacted proves nothing"),
        pytest.param("overlapping", PROVED, id="dumps that overlap prove what no dump has any more"),
        pytest.param("left out", UNPROVED, id="with a dump left out nothing before it is proved"),
        pytest.param("idle", PROVED, id="but of an id that did nothing meanwhile, by a listing"),
        pytest.param("idle for a day", PROVED, id="within a day, as tombstones stay for one"),
        pytest.param("idle for longer", UNPROVED, id="and no longer"),
        pytest.param("idle, swapped", UNPROVED, id="nor where a listed segment is missing"),
        pytest.param("gone on", UNPROVED, id="nor of an id that did something"),
        pytest.param("idle, committed", UNEXPLAINED, id="nor of one with a commit that no record is of"),
        pytest.param("overlapping, committed", UNEXPLAINED, id="whether or not the records have a hole"),
        pytest.param("elected", UNPROVED, id="an unclean election in between voids what came before"),
        pytest.param("restored", KEPT, id="a cluster that was restored gives out its epochs once more"),
        pytest.param("elected, without topic id", KEPT, id="nor does a copy without a topic id escape it"),
        pytest.param("restored, without topic id", KEPT, id="nor one of a cluster that was restored"),
        pytest.param("contradicted before", KEPT, id="records that contradicted each other once are not forgotten"),
        pytest.param("restored, printed", KEPT, id="nor printed output of one, as it has the times of its records"),
        pytest.param("restored, with another topic id", KEPT, id="nor one with another topic id"),
        pytest.param("idle, but for what was lost", UNPROVED, id="nor is an id idle that the archive has more of"),
        pytest.param("recreated", UNPROVED, id="a recreated topic is another log"),
        pytest.param("stale", UNPROVED, id="a copy of the coordinator that is older than the data proves nothing"),
    ],
)
def test_a_verdict_rests_on_what_is_whole(judged: Judged, name: str, want: dict[int, str]) -> None:
    assert judged.verdicts(name) == want


def test_a_commit_of_before_the_producer_id_was_given_out_again_counts(judged: Judged) -> None:
    assert judged.verdicts("given out again")[LOST] == "HISTORY_COMPACTED UNDETERMINED"


def test_what_the_archive_had_before_the_copy_was_made_is_missing_in_it(judged: Judged) -> None:
    assert judged.verdicts("staler than the archive")[LOST] == "COVERAGE_GAP UNDETERMINED"


def test_one_range_grows_by_dumps_that_overlap_and_each_of_its_records_is_there(judged: Judged) -> None:
    (kept,) = judged.rows(COORDINATOR_RANGES, "overlapping")
    records = judged.rows(COORDINATOR_RECORDS, "overlapping")
    assert sorted(row["offset"] for row in records) == list(range(kept["from_offset"], kept["to_offset"]))
    (lost,) = (row for row in judged.rows(OPEN_TRANSACTIONS, "overlapping") if row["producer_id"] == LOST)
    assert "of the dump of" in lost["evidence_file"]
    assert history_of(judged, "overlapping") == 0


def test_a_dump_left_out_leaves_two_ranges_and_history_says_so(judged: Judged) -> None:
    assert len(judged.rows(COORDINATOR_RANGES, "left out")) == 2
    assert history_of(judged, "left out") == HistoryError.exit_code


def test_records_that_contradict_the_archive_change_nothing_in_it(judged: Judged) -> None:
    contradiction, kept = sorted(judged.rows(COORDINATOR_RANGES, "restored"), key=lambda row: row["to_offset"])
    assert (contradiction["from_offset"], contradiction["to_offset"]) == (0, 0)
    (wanted,) = (
        row for row in judged.rows(COORDINATOR_RANGES, "left out") if row["from_offset"] == kept["from_offset"]
    )
    assert kept | {"cluster": "left out"} == wanted


def history_of(judged: Judged, cluster: str) -> int:
    return main(["history", "--tables", str(judged.folder / "tables"), "--cluster", cluster])


def test_a_transaction_is_one_row_however_many_dumps_show_it(judged: Judged) -> None:
    rows = judged.rows(TRANSACTIONS, "slow")
    records = judged.rows(COORDINATOR_RECORDS, "slow")
    assert len(rows) == len(
        {(row["transactional_id"], row["start_timestamp"]) for row in records if row["state"] != "Empty"}
    )
    (slow,) = (row for row in rows if row["producer_id"] == SLOW)
    assert (slow["outcome"], slow["ended_by"], slow["producer_epoch"], slow["end_epoch"]) == ("ABORT", "TIMEOUT", 0, 1)
    assert [minute_of(slow[name]) for name in ("start_timestamp", "decided_at", "completed_at")] == [20, 38, 39]
    listed = [(each["topic"], minute_of(each["listed_at"])) for each in slow["partitions"]]
    assert listed == [("orders", 20), ("payments", 26)]
    (lost,) = (row for row in rows if row["producer_id"] == LOST)
    assert (lost["outcome"], lost["ended_by"], lost["state"]) == ("COMMIT", "CLIENT", "CompleteCommit")
    assert told(judged, "slow") == told(judged, "in another order")


def told(judged: Judged, cluster: str) -> list[str]:
    """Rows of `transactions`, and of the ranges, as texts in order, but for which dump was the first."""
    left_out = {"as_of": None, "cluster": None}
    return sorted(
        str(row | left_out) for table in (TRANSACTIONS, COORDINATOR_RANGES) for row in judged.rows(table, cluster)
    )


def minute_of(instant: datetime) -> float:
    return (instant.replace(tzinfo=UTC).timestamp() * 1000 - START) / MINUTE


def test_the_same_dumps_again_and_older_ones_change_nothing_in_the_archive(judged: Judged) -> None:
    before = judged.versions()
    judged.detect(judged.folder / "run-2")
    assert judged.archive(judged.folder / "run-0") == 0
    assert judged.versions() == before


def test_an_archive_of_which_rows_were_removed_is_refused(judged: Judged) -> None:
    table = DeltaTable.forName(judged.spark, Root(str(judged.folder / "tables")).sql_name(COORDINATOR_RECORDS))
    (before,) = table.history(1).collect()
    table.delete("cluster = 'overlapping' AND offset >= 20 AND offset < 40")
    with pytest.raises(TableError, match="20 records fewer than coordinator_ranges says"):
        judged.detect(judged.folder / "run-2")
    table.restoreToVersion(before["version"])
