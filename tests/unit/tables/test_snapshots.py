"""Tables that show the latest dump only: what it has is renewed, what it has not stays."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.tables_by_hand import at, put
from txnlog.job.latest_dump import later_copies, renew
from txnlog.report.table_rows import rows
from txnlog.spark.schema import spark_schema
from txnlog.tables.layout import DUMP_FILES, PRODUCER_STATES, RUNS, Root
from txnlog.tables.state_rows import ProducerStateRow
from txnlog.tables.store import Store

FOUND = (
    "cluster string, topic string, partition int, producer_id bigint, producer_epoch smallint, coordinator_epoch int,"
    " last_sequence int, last_timestamp bigint, current_txn_start_offset bigint, broker string, as_of bigint"
)
PLACES = "cluster string, topic string, partition int"


def found(topic: str, *producer_ids: int, as_of: int = 2, cluster: str = "c") -> list[tuple[Any, ...]]:
    return [(cluster, topic, 0, each, 0, -1, 4, 1, None, "1", as_of) for each in producer_ids]


def stored(root: Root) -> set[tuple[str, str, int]]:
    return {(row["cluster"], row["topic"], row["producer_id"]) for row in rows(root, PRODUCER_STATES)}


def renewed(store: Store, spark: SparkSession, new: list[tuple[Any, ...]], *topics: str) -> None:
    places = spark.createDataFrame([("c", topic, 0) for topic in topics], PLACES)
    renew(store, PRODUCER_STATES, ["c"], spark.createDataFrame(new, FOUND), places)


@pytest.fixture(scope="module")
def store(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Two topics of a cluster, and one of another cluster."""
    store = Store(spark, Root(str(tmp_path_factory.mktemp("tables"))))
    store.ensure()
    before = spark.createDataFrame(
        [
            (*each[:7], datetime.fromtimestamp(each[7], UTC), each[8], each[9], datetime.fromtimestamp(each[10], UTC))
            for each in (*found("kept", 1), *found("renewed", 1, 2), *found("renewed", 3, cluster="other"))
        ],
        spark_schema(ProducerStateRow),
    )
    store.append(PRODUCER_STATES, before)
    return store


def test_only_what_the_dump_has_is_renewed(spark: SparkSession, store: Store) -> None:
    renewed(store, spark, found("renewed", 2, 9), "renewed")
    expected = {("c", "kept", 1), ("c", "renewed", 2), ("c", "renewed", 9), ("other", "renewed", 3)}
    assert stored(store.root) == expected
    renewed(store, spark, [], "renewed", "kept")
    assert stored(store.root) == {("other", "renewed", 3)}


@pytest.mark.parametrize(("are_full", "latest"), [(True, 1), (False, 2)])
def test_what_was_not_read_in_full_is_later_only_where_that_does_not_matter(
    are_full: bool, latest: int, spark: SparkSession, tmp_path: Path
) -> None:
    root, of_dump = Root(str(tmp_path)), {"cluster": "c", "topic": "orders", "kind": "segment", "copy_chosen": True}
    options = {1: '{"dump": "/d", "full": true}', 2: '{"dump": "/d", "full": false}', 3: '{"full": true}'}
    runs = [
        {"cluster": "c" if hour < 3 else "other", "options": told, "as_of_from": at(hour), "as_of_to": at(hour)}
        for hour, told in options.items()
    ]
    put(root, RUNS, runs)
    put(root, DUMP_FILES, [of_dump | {"file": str(hour), "as_of": at(hour)} for hour in (1, 2)])
    (row,) = later_copies(Store(spark, root), ["c"], "true", are_full).toArrow().to_pylist()
    assert row["later_as_of"] == at(latest)
