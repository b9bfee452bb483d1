"""Of the archive the records of an open transaction's ids are read, and little else."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.coordinator_writer import coordinator_record
from tests.executions import IN_FULL, Scan, last_execution, scans
from tests.tables_by_hand import Row, at, put
from tests.unit.job.test_other_logs import ID, archived, log
from tests.writer import NOW
from txnlog.format.coordinator import TransactionState
from txnlog.job import stored_archive
from txnlog.job.stored_archive import StoredArchive
from txnlog.spark.materialize import frame_of, local_frame, materialized_together
from txnlog.spark.schema import arrow_schema
from txnlog.spark.session import with_settings
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_RECORDS, Root
from txnlog.tables.store import Store
from txnlog.times import LATEST_MS

DAYS, PARTITIONS = range(3), range(4)
IDS = {partition: [f"payments-{partition}{number}" for number in range(3)] for partition in PARTITIONS}
HANGING, ITS_PRODUCER = "payments-21", 21
# By day, what else its records name: the producer id before, and the next one.
BEFORE, NEXT = {0: 5021}, {2: 1021}


def rows_of(day: int, partition: int) -> list[Row]:
    """The records of a day in a partition, in the order in which they are kept."""
    return [
        {
            "cluster": "c",
            "coordinator_partition": partition,
            "topic_id": "one",
            "transactional_id": name,
            "offset": 100 * day + 10 * number + turn,
            "producer_id": int(name[-2:]),
            "previous_producer_id": BEFORE.get(day) if name == HANGING else None,
            "next_producer_id": NEXT.get(day) if name == HANGING else None,
            "file": "f",
            "as_of": at(day),
        }
        for (number, name), turn in product(enumerate(IDS[partition]), range(2))
    ]


@pytest.fixture
def archive(spark: SparkSession, tmp_path: Path) -> StoredArchive:
    """An archive of three days, a file for each day and partition."""
    root = Root(str(tmp_path))
    for day, partition in product(DAYS, PARTITIONS):
        put(root, COORDINATOR_RECORDS, rows_of(day, partition))
    of_all = {"cluster": "c", "topic_id": "one", "leader_epochs": [{"epoch": 0, "start_offset": 0}], "to_offset": 6}
    put(root, COORDINATOR_RANGES, [of_all | {"coordinator_partition": partition} for partition in PARTITIONS])
    return StoredArchive(Store(spark, root), ["c"])


def records(archive: StoredArchive, spark: SparkSession, producer_id: int) -> DataFrame:
    """What the archive has of the ids that own a producer id, of which the dump shows nothing."""
    schema = pa.schema([("cluster", pa.string()), ("producer_id", pa.int64())])
    (opened,) = materialized_together(local_frame(spark, [{"cluster": "c", "producer_id": producer_id}], schema))
    return archive.records(opened, frame_of(spark, [], arrow_schema(COORDINATOR_RECORDS.row)))


@pytest.mark.parametrize("most_literals", [stored_archive.MOST_LITERALS, 0], ids=["few", "many"])
def test_all_records_of_the_ids_that_own_it_are_there_however_many_they_are(
    archive: StoredArchive, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, most_literals: int
) -> None:
    monkeypatch.setattr(stored_archive, "MOST_LITERALS", most_literals)
    of_id = {(HANGING, row["offset"]) for day in DAYS for row in rows_of(day, 2) if row["transactional_id"] == HANGING}
    for producer_id in (ITS_PRODUCER, *BEFORE.values(), *NEXT.values()):
        found = records(archive, spark, producer_id).toArrow().to_pylist()
        assert {(row["transactional_id"], row["offset"]) for row in found} == of_id
        assert len(found) == len(of_id) == len(DAYS) * 2
    assert records(archive, spark, 999).count() == 0


def test_only_the_files_of_its_partition_are_read_and_of_others_the_ids(
    archive: StoredArchive, spark: SparkSession
) -> None:
    with with_settings(spark, IN_FULL):
        before = last_execution(spark)
        records(archive, spark, ITS_PRODUCER).toArrow()
        of_files = scans(spark, before, COORDINATOR_RECORDS)
    names = frozenset({"cluster", "transactional_id"})
    producers = {"producer_id", "previous_producer_id", "next_producer_id"}
    assert sorted(of_files, key=lambda each: len(each[1]))[:2] == [
        Scan(len(DAYS) * len(PARTITIONS), names | {"coordinator_partition"}),
        Scan(len(DAYS), names | producers),
    ]
    assert [files for files, _ in of_files[2:]] == [len(DAYS)]


def test_both_times_of_a_record_are_those_of_its_log(spark: SparkSession, tmp_path: Path) -> None:
    """When it was updated and appended, s; the archive has the second, and how much earlier the first one was."""
    beyond = (LATEST_MS - NOW) // 1000 + 1
    times = [(0, 0), (1, 3), (9, 4), (10, beyond), (beyond, 12)]
    records_of_log = [
        (
            appended * 1000,
            coordinator_record(TransactionState(7, 0, 60_000, "Empty", None, NOW + 1000 * updated, -1), ID),
        )
        for updated, appended in times
    ]
    tombstone = coordinator_record(None, ID)
    archived(spark, log(tmp_path / "dump", [*records_of_log, (13_000, tombstone)]), tmp_path / "tables")
    archive = StoredArchive(Store(spark, Root(str(tmp_path / "tables"))), ["c"])
    found = records(archive, spark, 7).orderBy("offset").toArrow().to_pylist()
    told = [
        [
            None if row[name] is None else (row[name] - NOW) / 1000
            for name in ("last_update_timestamp", "append_timestamp")
        ]
        for row in found
    ]
    # Of an appending time that no calendar has nothing is kept, and the other one is in its place.
    assert told == [[0, 0], [1, 3], [9, 4], [10, 10], [None, 12], [None, 13]]
