"""Logs of a coordinator partition that went another way, with the same leader epochs: nothing joins them.

A cluster that was restored from a backup gives out its leader epochs once more.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.coordinator_writer import coordinator_key, coordinator_partition, coordinator_record
from tests.end_to_end.processes import as_if_killed, commits
from tests.writer import NOW, batch, checkpoint, put, record
from txnlog.config import DetectOptions
from txnlog.format.coordinator import TransactionState
from txnlog.job.archiving import archive_dump
from txnlog.report.table_rows import rows
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_RECORDS, Root, Table

ID = "payments-1"
NUMBER = coordinator_partition(ID)


def ongoing(at: int) -> tuple[int, bytes]:
    """When it is written, and an Ongoing record of a transaction that starts then."""
    state = TransactionState(7, 0, 60_000, "Ongoing", [("orders", 0)], NOW + at, NOW + at)
    return at, coordinator_record(state, ID)


def tombstone(at: int) -> tuple[int, bytes]:
    return at, coordinator_record(None, ID)


def of_a_newer_kafka(at: int) -> tuple[int, bytes]:
    return at, record(struct.pack(">h", 0), coordinator_key(ID, version=1))


def log(root: Path, broker: int, records: Sequence[tuple[int, bytes]], first: int = 0, epoch: int = 0) -> Path:
    """A dump with a copy of these records, from offset `first` on."""
    place, end = root / f"broker-{broker}" / f"__transaction_state-{NUMBER}", first + len(records)
    content = b"".join(
        batch(first + number, [content], max_timestamp=NOW + at, partition_leader_epoch=epoch)
        for number, (at, content) in enumerate(records)
    )
    put(place / f"{first:020}.log", content)
    put(place / "partition.metadata", f"version: 0\ntopic_id: {'A' * 22}\n")
    put(root / f"broker-{broker}" / "replication-offset-checkpoint", checkpoint([("__transaction_state", NUMBER, end)]))
    put(root / "dump.toml", 'cluster = "c"\nstarted = "2027-01-01T00:00:00Z"\nended = "2027-01-01T00:00:00Z"\n')
    return root


def archived(spark: SparkSession, dump: Path, tables: Path) -> int:
    """How many records were new."""
    return archive_dump(lambda _: spark, DetectOptions(str(dump), str(tables)), lambda _: None)["c"]


def kept(tables: Path, table: Table = COORDINATOR_RECORDS) -> list[dict[str, Any]]:
    return rows(Root(str(tables)), table)


def ranges(tables: Path) -> list[tuple[int, int]]:
    return [(row["from_offset"], row["to_offset"]) for row in kept(tables, COORDINATOR_RANGES)]


@pytest.mark.parametrize(("others", "count"), [([3, 4, 5], 6), ([3, 400, 500], 0)])
def test_copies_with_other_records_at_the_same_offsets_are_not_kept(
    others: list[int], count: int, spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A disk from before a restored backup."""
    dump, tables = tmp_path / "dump", tmp_path / "tables"
    log(dump, 1, [ongoing(at) for at in (0, 1, 2, 3, 4)])
    log(dump, 2, [ongoing(at) for at in others], first=3)
    assert archived(spark, dump, tables) == count
    assert len(kept(tables)) == count
    assert ranges(tables) == ([(0, 6)] if count else [])
    is_said = f"different records at the same offsets: __transaction_state-{NUMBER} of c" in caplog.text
    assert is_said == (count == 0)


@pytest.mark.parametrize("epoch", [0, 1])
def test_what_a_killed_archive_left_of_a_log_that_was_lost_is_not_kept(
    epoch: int, spark: SparkSession, tmp_path: Path
) -> None:
    """It wrote its records, and was killed before their range."""
    lost, tables = tmp_path / "lost", tmp_path / "tables"
    assert archived(spark, log(tmp_path / "old", 1, [ongoing(at) for at in (0, 1, 2, 300, 400)]), lost) == 5
    as_if_killed(lost, commits(lost) - 1, tables)
    assert (len(kept(tables)), ranges(tables)) == (5, [])
    new = [ongoing(at) for at in (0, 1, 2, 5)]
    assert archived(spark, log(tmp_path / "new", 1, new, epoch=epoch), tables) == 4
    found = [(row["offset"], row["coordinator_epoch"], row["append_timestamp"]) for row in kept(tables)]
    assert sorted((*it[:2], int(it[2].timestamp() * 1000) - NOW) for it in found) == [
        (offset, epoch, at) for offset, at in enumerate((0, 1, 2, 5))
    ]
    assert ranges(tables) == [(0, 4)]


@pytest.mark.parametrize(("at", "found"), [(3, [(0, 5)]), (300, [(0, 4)])])
def test_tombstones_of_two_logs_at_one_offset_are_told_apart_by_their_time(
    at: int, found: list[tuple[int, int]], spark: SparkSession, tmp_path: Path
) -> None:
    tables = tmp_path / "tables"
    archived(spark, log(tmp_path / "old", 1, [*map(ongoing, (0, 1, 2)), tombstone(3)]), tables)
    archived(spark, log(tmp_path / "new", 1, [tombstone(at), ongoing(500)], first=3), tables)
    assert ranges(tables) == found


def test_what_is_below_a_record_of_a_newer_kafka_is_not_kept(spark: SparkSession, tmp_path: Path) -> None:
    """Kafka skips it; what it says of the transactions before it is not known."""
    tables = tmp_path / "tables"
    dump = log(tmp_path / "dump", 1, [ongoing(0), of_a_newer_kafka(1), ongoing(2), ongoing(3)])
    assert archived(spark, dump, tables) == 2
    assert (ranges(tables), len(kept(tables))) == ([(2, 4)], 2)
