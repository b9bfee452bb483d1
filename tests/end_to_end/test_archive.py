"""What earlier dumps showed of `__transaction_state` is history once compaction has removed it, and nothing else is."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from delta import DeltaTable
from pyspark.sql import SparkSession

from tests.archived_dumps import BUSY, LOST, MINUTE, NEVER, PROVED, SLOW, START, UNPROVED, Judged, dump, history
from txnlog.cli import main
from txnlog.errors import HistoryError, TableError
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_RECORDS, OPEN_TRANSACTIONS, TRANSACTIONS, Root


@pytest.fixture
def judged(spark: SparkSession, tmp_path: Path) -> Judged:
    return Judged(spark, tmp_path)


def test_without_an_archive_what_was_compacted_proves_nothing(judged: Judged) -> None:
    assert judged.after(history(), (50, 48)) == UNPROVED


def test_dumps_that_overlap_prove_what_no_dump_has_any_more(judged: Judged) -> None:
    assert judged.archive(dump(judged.folder / "dump-24", history(), 24, 2, of_coordinator_alone=True)) > 0
    judged.detect(dump(judged.folder / "dump-37", history(), 37, 23))
    assert judged.after(history(), (50, 36)) == PROVED
    (kept,) = judged.rows(COORDINATOR_RANGES)
    records = judged.rows(COORDINATOR_RECORDS)
    assert sorted(row["offset"] for row in records) == list(range(kept["from_offset"], kept["to_offset"]))
    of_lost = [row for row in judged.rows(OPEN_TRANSACTIONS) if row["producer_id"] == LOST]
    assert "of the dump of" in max(of_lost, key=lambda row: row["as_of"])["evidence_file"]
    # The same dump again, and an older one.
    before = judged.versions()
    judged.detect(judged.folder / "dump-50")
    assert judged.archive(judged.folder / "dump-24") == 0
    assert judged.versions() == before
    assert main(["history", "--tables", str(judged.folder / "tables")]) == 0


def test_a_transaction_is_one_row_however_many_dumps_show_it(judged: Judged) -> None:
    log = history()
    # Under way in two dumps, and rolled back by its timeout before the third.
    log.add(20, "slow", SLOW, "Ongoing", [("orders", 0)], began=20)
    log.add(26, "slow", SLOW, "Ongoing", [("orders", 0), ("payments", 0)], began=20)
    log.add(38, "slow", SLOW, "PrepareAbort", [("orders", 0), ("payments", 0)], began=20, epoch=1)
    log.add(39, "slow", SLOW, "CompleteAbort", [], began=20, epoch=1)
    log.records.sort(key=lambda record: record[0])
    times = (24, 2), (37, 23), (50, 36)
    dumps = [dump(judged.folder / f"dump-{each[0]}", log, *each, of_coordinator_alone=True) for each in times]
    for each in dumps:
        judged.archive(each)
    rows = judged.rows(TRANSACTIONS)
    records = judged.rows(COORDINATOR_RECORDS)
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
    # Dumps in another order tell the same.
    other = Judged(judged.spark, judged.folder / "other")
    for number in (2, 0, 1):
        other.archive(dumps[number])
    assert told(other) == told(judged)


def told(judged: Judged) -> list[str]:
    """Rows of `transactions`, and of the ranges, as texts in order, but for which dump was the first."""
    rows = [row | {"as_of": None} for table in (TRANSACTIONS, COORDINATOR_RANGES) for row in judged.rows(table)]
    return sorted(map(str, rows))


def minute_of(instant: datetime) -> float:
    return (instant.replace(tzinfo=UTC).timestamp() * 1000 - START) / MINUTE


def test_with_a_dump_left_out_nothing_before_it_is_proved(judged: Judged) -> None:
    assert judged.after(history(), (24, 2), (50, 36))[NEVER] == UNPROVED[NEVER]
    assert len(judged.rows(COORDINATOR_RANGES)) == 2
    assert main(["history", "--tables", str(judged.folder / "tables")]) == HistoryError.exit_code


def test_an_unclean_election_in_between_voids_what_came_before(judged: Judged) -> None:
    log = history()
    judged.archive(dump(judged.folder / "dump-24", log, 24, 2))
    # The new leader had lost what was written from minute 20 on, and wrote other records at these offsets.
    log.elected = (20, 1)
    assert judged.after(log, (50, 16))[NEVER] == UNPROVED[NEVER]


def test_a_cluster_that_was_restored_gives_out_its_epochs_once_more(judged: Judged) -> None:
    judged.archive(dump(judged.folder / "dump-24", history(), 24, 2))
    restored = history()
    # From minute 20 on other records are at the same offsets, in the same leader epoch. The last COMMIT of the busy id,
    # which the dump has, is explained.
    restored.records = [record for record in restored.records if record[0] < 20]
    for minute in range(20, 60):
        restored.transaction(minute + (0.7 if minute < 40 else 0.5), "busy", BUSY, [("payments", 0)])
    ranges = judged.rows(COORDINATOR_RANGES)
    assert judged.after(restored, (50, 16))[NEVER] == UNPROVED[NEVER]
    assert judged.rows(COORDINATOR_RANGES) == ranges


def test_an_archive_of_which_rows_were_removed_is_refused(judged: Judged) -> None:
    judged.archive(dump(judged.folder / "dump-24", history(), 24, 2))
    table = DeltaTable.forName(judged.spark, Root(str(judged.folder / "tables")).sql_name(COORDINATOR_RECORDS))
    (before,) = table.history(1).collect()
    table.delete("offset >= 20 AND offset < 40")
    with pytest.raises(TableError, match="20 records fewer than coordinator_ranges says"):
        judged.after(history(), (50, 16))
    table.restoreToVersion(before["version"])
    assert judged.detect(judged.folder / "dump-50")[NEVER] == PROVED[NEVER]


def test_a_recreated_topic_is_another_log(judged: Judged) -> None:
    assert judged.after(history(), (24, 2), (50, 23), topic_id="B" * 22)[NEVER] == UNPROVED[NEVER]


def test_what_the_archive_had_before_the_copy_was_made_is_missing_in_it(judged: Judged) -> None:
    stale = dump(judged.folder / "stale", history(), 50, 0, coordinator_minute=9)
    assert judged.detect(stale)[LOST] == "HISTORY_COMPACTED UNDETERMINED"
    judged.archive(dump(judged.folder / "dump-24", history(), 24, 0, of_coordinator_alone=True))
    assert judged.detect(stale)[LOST] == "CORRUPT_INPUT UNDETERMINED"
