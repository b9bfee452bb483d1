"""How many partitions `__transaction_state` has: stated, proved by the ids, or not known."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.coordinator_writer import coordinator_partition
from txnlog.config import detect_options
from txnlog.detection.partition_count import partition_counts, with_hash
from txnlog.dump.dump_file import LogDir
from txnlog.job.facts import log_dir_row

STATES = "cluster string, coordinator_partition int, transactional_id string, problem string"
# A character beyond the first 65 536, one below, and an id whose hash is the lowest int.
IDS = [
    "app",
    "shop-1",
    "rocket \N{ROCKET}",
    "Zürich",
    "polygenelubricants",
    *(f"orders-{number}" for number in range(40)),
]
# What `Utils.abs` of `String.hashCode` of a real Java is.
HASHES = {
    "": 0,
    "a": 97,
    "orders-none": 1813940960,
    "my-app-3_17-0": 435302718,
    "AaAaBB": 1952508096,
    "BBBBAa": 1952508096,
    "a\0b": 93315,
    "été": 227742,
    "tx-中文": 111392995,
    "\uffff\ufffe": 2097119,
    "\N{ROCKET}-payments": 1466666025,  # two units of UTF-16, as the next
    "\N{MUSICAL SYMBOL G CLEF}": 1772394,
    "polygenelubricants": 0,  # the lowest int has no absolute value
}


def counted(
    spark: SparkSession, real: int, stated: int | None, ids: list[str], extra: int = 0, named: int = 0
) -> dict[str, Any]:
    """The row of a cluster whose ids lie where `real` partitions put them; a checkpoint has partition `named`."""
    states = [("c", coordinator_partition(each, real) + extra, each, None) for each in ids]
    copies = [("c", "__transaction_state", number) for number in range(real)]
    clusters = spark.createDataFrame([("c", stated)], "cluster string, stated_count int")
    columns = "cluster string, topic string, partition int"
    frame, checkpoints = (
        spark.createDataFrame(rows, columns) for rows in (copies, [("c", "__transaction_state", named)])
    )
    return partition_counts(spark.createDataFrame(states, STATES), frame, checkpoints, clusters).collect()[0].asDict()


def test_an_id_is_hashed_as_java_does(spark: SparkSession) -> None:
    """Item 27."""
    ids = spark.createDataFrame([(each,) for each in HASHES], "transactional_id string")
    assert dict(with_hash(ids).select("transactional_id", "id_hash").collect()) == HASHES
    assert [coordinator_partition(each) for each in HASHES] == [each % 50 for each in HASHES.values()]


@pytest.mark.parametrize("real", [1, 5, 50, 100])
def test_the_ids_prove_it(spark: SparkSession, real: int) -> None:
    row = counted(spark, real, None, IDS)
    assert (row["partition_count"], row["possible_counts"]) == (real, [real])


def test_a_number_that_the_ids_allow_is_believed(spark: SparkSession) -> None:
    assert counted(spark, 50, 50, ["app"])["partition_count"] == 50


def test_a_number_that_a_checkpoint_exceeds_is_not_believed(spark: SparkSession) -> None:
    assert counted(spark, 1, 1, ["app"], named=1)["partition_count"] is None


def test_few_ids_prove_nothing(spark: SparkSession) -> None:
    assert counted(spark, 5, None, ["app"])["partition_count"] is None


def test_a_number_that_the_ids_contradict_is_not_believed_and_they_are_named(spark: SparkSession) -> None:
    row = counted(spark, 100, 50, IDS)
    assert row["partition_count"] is None
    assert row["possible_counts"] == [100]
    assert row["contradicting_ids"]


def test_the_number_is_not_guessed() -> None:
    log_dir = LogDir("broker-1", "c", "1", None, None, None)
    assert log_dir_row(log_dir, detect_options({"dump": "a", "tables": "b"}))["coordinator_partitions"] is None
