"""Logs of a coordinator partition that went another way, with the same leader epochs: nothing joins them.

A cluster that was restored from a backup gives out its leader epochs once more. Each case is a cluster of one dump, as
a run over many takes no longer than one over a few.
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
from txnlog.report.table_rows import rows, text_literal
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_RECORDS, Root, Table

ID = "payments-1"
NUMBER = coordinator_partition(ID)
Records = Sequence[tuple[int, bytes]]


def ongoing(*seconds: int) -> Records:
    """When each is written, and an Ongoing record of a transaction that starts then."""
    return [
        (at, coordinator_record(TransactionState(7, 0, 60_000, "Ongoing", [("orders", 0)], NOW + at, NOW + at), ID))
        for at in seconds
    ]


def tombstone(at: int) -> Records:
    return [(at, coordinator_record(None, ID))]


def of_a_newer_kafka(at: int) -> Records:
    return [(at, record(struct.pack(">h", 0), coordinator_key(ID, version=1)))]


def log(
    dump: Path,
    records: Records,
    first: int = 0,
    epoch: int = 0,
    broker: int = 1,
    cluster: str = "c",
    high_watermark: int | None = None,
) -> Path:
    """A copy of these records, from offset `first` on; all are below the high watermark, if none is given."""
    root = dump / cluster
    place, end = root / f"broker-{broker}" / f"__transaction_state-{NUMBER}", first + len(records)
    content = b"".join(
        batch(first + number, [content], max_timestamp=NOW + at, partition_leader_epoch=epoch)
        for number, (at, content) in enumerate(records)
    )
    put(place / f"{first:020}.log", content)
    put(place / "partition.metadata", f"version: 0\ntopic_id: {'A' * 22}\n")
    put(
        root / f"broker-{broker}" / "replication-offset-checkpoint",
        checkpoint([("__transaction_state", NUMBER, end if high_watermark is None else high_watermark)]),
    )
    times = 'started = "2027-01-01T00:00:00Z"\nended = "2027-01-01T00:00:00Z"\n'
    put(root / "dump.toml", f'cluster = "{cluster}"\n{times}')
    return dump


def archived(spark: SparkSession, dump: Path, tables: Path) -> dict[str, int]:
    """How many records were new, by cluster."""
    return archive_dump(lambda _: spark, DetectOptions(str(dump), str(tables)), lambda _: None)


def kept(tables: Path, cluster: str, table: Table = COORDINATOR_RECORDS) -> list[dict[str, Any]]:
    return rows(Root(str(tables)), table, f"cluster = {text_literal(cluster)}")


def ranges(tables: Path, cluster: str) -> list[tuple[int, int]]:
    return sorted((row["from_offset"], row["to_offset"]) for row in kept(tables, cluster, COORDINATOR_RANGES))


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of an archive of two dumps, one after the other."""
    place = tmp_path_factory.mktemp("logs")
    for cluster, others in {"agreeing": ongoing(3, 4, 5), "differing": ongoing(3, 400, 500)}.items():
        log(place / "old", ongoing(0, 1, 2, 3, 4), cluster=cluster)
        # A disk from before a restored backup.
        log(place / "old", others, first=3, broker=2, cluster=cluster)
    log(place / "old", ongoing(0, 1, 2, 300), cluster="unacknowledged", high_watermark=3)
    log(place / "old", ongoing(0, 1, 2, 3, 4), broker=2, cluster="unacknowledged")
    log(place / "new", ongoing(0, 1, 2, 3, 4, 5), cluster="unacknowledged")
    log(place / "old", [*ongoing(0), *of_a_newer_kafka(1), *ongoing(2, 3)], cluster="newer")
    for cluster, at in {"same tombstone": 3, "other tombstone": 300}.items():
        log(place / "old", [*ongoing(0, 1, 2), *tombstone(3)], cluster=cluster)
        log(place / "new", [*tombstone(at), *ongoing(500)], first=3, cluster=cluster)
    for dump in ("old", "new"):
        archived(spark, place / dump, place / "tables")
    return place / "tables"


@pytest.mark.parametrize(("cluster", "found"), [("agreeing", [(0, 6)]), ("differing", [(0, 0)])])
def test_copies_with_other_records_at_the_same_offsets_are_not_kept(
    cluster: str, found: list[tuple[int, int]], tables: Path
) -> None:
    assert ranges(tables, cluster) == found
    assert len(kept(tables, cluster)) == found[0][1]


@pytest.mark.parametrize(
    ("cluster", "found"), [("same tombstone", [(0, 5)]), ("other tombstone", [(0, 0), (0, 4)])], ids=["same", "other"]
)
def test_tombstones_of_two_logs_at_one_offset_are_told_apart_by_their_time(
    cluster: str, found: list[tuple[int, int]], tables: Path
) -> None:
    assert ranges(tables, cluster) == found


def test_what_was_never_acknowledged_contradicts_nothing_for_ever(tables: Path) -> None:
    """What a broker has above its high watermark another leader may have replaced."""
    assert ranges(tables, "unacknowledged") == [(0, 6)]


def test_what_is_below_a_record_of_a_newer_kafka_is_not_kept(tables: Path) -> None:
    """Kafka skips it; what it says of the transactions before it is not known."""
    assert (ranges(tables, "newer"), len(kept(tables, "newer"))) == ([(2, 4)], 2)


def test_what_a_killed_archive_left_of_a_log_that_was_lost_is_not_kept(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It wrote its records, and was killed before their range. The new log has the old leader epoch, or a later one."""
    lost, tables = tmp_path / "lost", tmp_path / "tables"
    epochs, times = {"same epoch": 0, "later epoch": 1}, (0, 1, 2, 5)
    for cluster, epoch in epochs.items():
        log(tmp_path / "old", ongoing(0, 1, 2, 300, 400), cluster=cluster)
        log(tmp_path / "new", ongoing(*times), epoch=epoch, cluster=cluster)
    log(tmp_path / "new", ongoing(0, 100), cluster="contradicting")
    log(tmp_path / "new", ongoing(0, 101), broker=2, cluster="contradicting")
    assert archived(spark, tmp_path / "old", lost) == dict.fromkeys(epochs, 5)
    as_if_killed(lost, commits(lost) - 1, tables)
    assert [(len(kept(tables, cluster)), ranges(tables, cluster)) for cluster in epochs] == [(5, [])] * 2
    assert archived(spark, tmp_path / "new", tables) == dict.fromkeys(epochs, 4) | {"contradicting": 0}
    for cluster, epoch in epochs.items():
        found = {row["offset"]: (row["coordinator_epoch"], row["append_timestamp"]) for row in kept(tables, cluster)}
        written = {offset: (of, int(time.timestamp() * 1000) - NOW) for offset, (of, time) in found.items()}
        assert written == {offset: (epoch, at) for offset, at in enumerate(times)}
        assert (len(kept(tables, cluster)), ranges(tables, cluster)) == (4, [(0, 4)])
    assert f"different records at the same offsets: __transaction_state-{NUMBER} of contradicting" in caplog.text
