"""What is odd about transactions in partitions, by Spark, is what `txnlog partition` says of each: on generated ones."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.tables_by_hand import Row, put
from tests.unit.detection.test_matches import IN_ORDERS, ORDERS, transactions
from txnlog.detection.findings import findings
from txnlog.detection.matches import with_recorded
from txnlog.job.latest_dump import TIMES
from txnlog.report.partition_findings import CLOCK_SKEW_MS, Recorded
from txnlog.sources.transaction_rows import PartitionTransactionRow
from txnlog.spark.materialize import local_frame
from txnlog.spark.schema import arrow_schema
from txnlog.tables.changes import instant, rows_of_table
from txnlog.tables.layout import (
    FINDINGS,
    OPEN_TRANSACTIONS,
    PARTITION_TRANSACTIONS,
    TRANSACTIONAL_IDS,
    TRANSACTIONS,
    Root,
    columns_of,
)
from txnlog.times import epoch_ms

PRODUCERS = 600
KINDS = ("LATE_WRITE", "MARKER_LOST", "MARKER_TWICE", "MARKER_WITHOUT_DATA", "NEVER_WRITTEN", "TORN_OUTCOME")


def log_of(producer_id: int, known: list[Row], chance: random.Random) -> Iterator[Row]:
    """Transactions in the partition: most end when the coordinator says, some have no data, some data is late."""
    ends = [(epoch_ms(row["decided_at"] or row["start_timestamp"]), row["outcome"]) for row in known]
    before: Row = {"marker_offset": None, "marker_epoch": None, "outcome": None}
    for number, (time, outcome) in enumerate(ends + chance.sample(ends, min(1, len(ends)))):
        has_data, written = chance.random() < 0.6, time - chance.choice([10, 3_000, 200_000])
        data = {
            "producer_epoch": 1, "lowest_producer_epoch": chance.randint(0, 1), "first_offset": 4 * number,
            "last_offset": 4 * number, "first_timestamp": written, "is_log_append_time": chance.random() < 0.5,
            "file": "log", "position": 9 * number,
        }  # fmt: skip
        row = dict.fromkeys(arrow_schema(PartitionTransactionRow).names) | IN_ORDERS | {
            "broker": "1", "log_dir": "broker-1", "producer_id": producer_id, "is_whole": chance.random() < 0.9,
            "outcome": outcome if outcome != "CONTRADICTED" and chance.random() < 0.8 else "COMMIT", "batches": 0,
            "size_in_bytes": 0, "marker_epoch": 1, "marker_offset": 4 * number + 1, "marker_timestamp": time,
            "marker_file": "log", "marker_position": 9 * number + 4, "previous_marker_type": before["outcome"],
            "previous_marker_offset": before["marker_offset"], "previous_marker_epoch": before["marker_epoch"],
        } | (data if has_data else {})  # fmt: skip
        before = row
        yield row


@pytest.fixture(scope="module")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Row], list[Row]]:
    """What the command says of each row, and the rows of findings."""
    chance, root = random.Random(22), Root(str(tmp_path_factory.mktemp("tables")))
    known = {producer_id: [*transactions(producer_id, chance)] for producer_id in range(PRODUCERS)}
    rows = [row for producer_id, of_id in known.items() for row in log_of(producer_id, of_id, chance)]
    put(root, TRANSACTIONS, [row for of_id in known.values() for row in of_id])
    put(root, TRANSACTIONAL_IDS, [])
    put(root, OPEN_TRANSACTIONS, [])
    said = Recorded(root, "c", ORDERS).joined(rows)
    matched = local_frame(spark, rows, arrow_schema(PartitionTransactionRow)).transform(
        with_recorded, spark.table(root.sql_name(TRANSACTIONS)), CLOCK_SKEW_MS
    )
    values = {name: instant(name) for name in TIMES[PARTITION_TRANSACTIONS.name]}
    dated = matched.selectExpr("*", "0L AS as_of", "marker_timestamp - first_timestamp AS duration_ms")
    listed = rows_of_table(PARTITION_TRANSACTIONS, dated, values)
    told = findings(listed, spark.table(root.sql_name(OPEN_TRANSACTIONS)), CLOCK_SKEW_MS)
    return said, told.select([each.name for each in columns_of(FINDINGS)]).toArrow().to_pylist()


def test_each_is_what_the_command_finds(found: tuple[list[Row], list[Row]]) -> None:
    said = {(row["producer_id"], row["marker_offset"], finding) for row in found[0] for finding in row["findings"]}
    often = Counter(finding for _, _, finding in said)
    assert min(often[kind] for kind in KINDS) > 10, often
    told = [(row["producer_id"], row["marker_offset"], row["finding"]) for row in found[1]]
    assert Counter(told) == Counter(said)


def test_each_says_why_and_names_the_byte(found: tuple[list[Row], list[Row]]) -> None:
    of_row = {(row["producer_id"], row["marker_offset"]): row for row in found[0]}
    for row in found[1]:
        listed = of_row[row["producer_id"], row["marker_offset"]]
        is_of_data = row["finding"] in ("LATE_WRITE", "MARKER_LOST")
        place = (
            (listed["file"], listed["position"]) if is_of_data else (listed["marker_file"], listed["marker_position"])
        )
        assert (row["file"], row["position"]) == place
        assert row["reason"]
    reasons = {row["finding"]: row["reason"] for row in sorted(found[1], key=lambda row: str(row["reason"]))}
    assert reasons["TORN_OUTCOME"].startswith("the marker is COMMIT, and the coordinator decided ABORT")
