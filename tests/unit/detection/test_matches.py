"""Whose the transactions of partitions are, by Spark, is what `txnlog partition` says of each: on generated ones."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.tables_by_hand import Row, at, put
from txnlog.detection.matches import with_recorded
from txnlog.report.partition_findings import CLOCK_SKEW_MS, Recorded
from txnlog.sources.log_copy import Place
from txnlog.sources.transaction_rows import PartitionTransactionRow
from txnlog.spark.materialize import local_frame
from txnlog.spark.schema import arrow_schema
from txnlog.tables.layout import TRANSACTIONAL_IDS, TRANSACTIONS, Root
from txnlog.times import epoch_ms

ORDERS = Place("orders", 0)
IN_ORDERS = {"cluster": "c", "topic": "orders", "partition": 0}
PRODUCERS = 1_500
NAMES = ("matched_by", "recorded_outcome", "transactional_id", "start_timestamp", "decided_at", "completed_at")


def transactions(producer_id: int, chance: random.Random) -> Iterator[Row]:
    """Some transactions of a producer id, one after the other, some of them seconds apart and some minutes."""
    version, time = chance.choice([None, 1, 2]), 0.0
    for number in range(chance.randint(0, 4)):
        # Of an id no two start at once.
        start, decided = time, time + chance.choice([0, 0, 0.5, 3, 100])
        completed = decided + chance.choice([0, 0, 0.5, 3, 100])
        time = max(completed + chance.choice([0, 0, 0.5, 3, 100]), start + 0.5)
        times: Row = {"start_timestamp": at(start), "decided_at": at(decided), "completed_at": at(completed)}
        if chance.random() < 0.2:
            times[chance.choice(["decided_at", "completed_at"])] = None
        places = [{"topic": "orders", "partition": int(chance.random() < 0.1), "listed_at": at(start)}]
        yield {
            "cluster": "c", "transactional_id": f"id-{producer_id}", "producer_id": producer_id,
            "outcome": chance.choice(["COMMIT", "ABORT", "ABORT", "CONTRADICTED"]),
            "end_epoch": number if chance.random() < 0.3 else 1, "client_transaction_version": version,
            "partitions": places, **times,
        }  # fmt: skip


def rows_of(producer_id: int, known: list[Row], chance: random.Random) -> Iterator[Row]:
    """Transactions of that producer id in the partition: their markers near those times, or elsewhere."""
    times = [epoch_ms(row["decided_at"] or row["start_timestamp"]) for row in known] or [epoch_ms(at(0))]
    markers = sorted(chance.choice(times) + chance.choice([0, 0, 0, 1, -1, 500, 70_000, -59_000]) for _ in range(3))
    for number, marker in enumerate(markers):
        outcome = chance.choice(["COMMIT", "ABORT", "UNKNOWN"])
        yield dict.fromkeys(arrow_schema(PartitionTransactionRow).names) | IN_ORDERS | {
            "broker": "1", "log_dir": "broker-1", "producer_id": producer_id, "producer_epoch": 1, "outcome": outcome,
            "is_whole": True, "first_offset": 4 * number, "marker_offset": 4 * number + 1, "batches": 1,
            "size_in_bytes": 70, "marker_epoch": 1, "marker_timestamp": marker,
        }  # fmt: skip


def test_each_is_of_the_transaction_that_the_command_finds(spark: SparkSession, tmp_path: Path) -> None:
    chance, root = random.Random(21), Root(str(tmp_path))
    known = {producer_id: [*transactions(producer_id, chance)] for producer_id in range(PRODUCERS)}
    rows = [row for producer_id, of_id in known.items() for row in rows_of(producer_id, of_id, chance)]
    put(root, TRANSACTIONS, [row for of_id in known.values() for row in of_id])
    put(root, TRANSACTIONAL_IDS, [])
    said = Recorded(root, "c", ORDERS).joined(rows)
    frame = local_frame(spark, rows, arrow_schema(PartitionTransactionRow))
    found = frame.transform(with_recorded, spark.table(root.sql_name(TRANSACTIONS)), CLOCK_SKEW_MS)
    told = {key_of(row): row for row in found.toArrow().to_pylist()}
    assert len(told) == len(rows) == found.count()
    ways = Counter[Any](row["matched_by"] for row in said)
    assert min(ways[each] for each in ("EPOCH", "TIME", None)) > 40, ways
    for row in said:
        names = [name for name in NAMES if name in row]
        assert {name: told[key_of(row)][name] for name in names} == {name: row[name] for name in names}, row


def key_of(row: Row) -> tuple[int, int]:
    return row["producer_id"], row["marker_offset"]


def test_without_records_nothing_is_matched(spark: SparkSession, tmp_path: Path) -> None:
    put(Root(str(tmp_path)), TRANSACTIONS, [])
    rows = [*rows_of(7, [], random.Random(1))]
    frame = local_frame(spark, rows, arrow_schema(PartitionTransactionRow))
    known = spark.table(Root(str(tmp_path)).sql_name(TRANSACTIONS))
    found = frame.transform(with_recorded, known, 0).select(*NAMES).collect()
    assert [*map(tuple, found)] == [(None,) * len(NAMES)] * len(rows)
