"""`describe-producers` shows what a broker keeps: what is idle for longer it has forgotten, unless it is open."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from tests.tables_by_hand import at, written
from txnlog.errors import OptionError
from txnlog.report import producers
from txnlog.tables.layout import DUMP_FILES, PRODUCER_STATES, TRANSACTIONAL_IDS, Root

# `TransactionsCommand.DescribeProducersCommand`.
KAFKAS = ["ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp",
          "CurrentTransactionStartOffset"]  # fmt: skip
DAY = 86_400


def producer(producer_id: int, **values: Any) -> dict[str, Any]:
    return {
        "cluster": "c", "topic": "it's", "partition": 0, "producer_id": producer_id, "producer_epoch": 1,
        "coordinator_epoch": 4, "last_sequence": 8, "last_timestamp": at(DAY - 1), "broker": "1", "as_of": at(DAY),
    } | values  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    found = [
        producer(1),
        producer(2, last_timestamp=at(0)),
        producer(3, last_timestamp=at(0.001)),
        producer(4, last_timestamp=at(0), current_txn_start_offset=42),
        producer(5, last_timestamp=None),
        producer(6, last_timestamp=None, current_txn_start_offset=0),
        producer(1, cluster="other"),
        producer(9, partition=1),
    ]
    owners = [{"cluster": "c", "producer_id": 1, "transactional_id": each} for each in ("b", "a")]
    empty = {"cluster": "c", "topic": "empty", "partition": 0, "kind": "segment", "file": "f"}
    return written(
        tmp_path_factory.mktemp("tables"),
        {PRODUCER_STATES.name: found, TRANSACTIONAL_IDS.name: owners, DUMP_FILES.name: [empty]},
    )


def test_a_producer_is_forgotten_after_a_day_unless_something_is_open(root: Root) -> None:
    found = producers.producers(root, "it's", 0, "c")
    assert [row["producer_id"] for row in found] == [1, 3, 4, 6]
    older = producers.producers(root, "it's", 0, "c", expiration_ms=7 * DAY * 1000)
    assert [row["producer_id"] for row in older] == [1, 2, 3, 4, 6]


def test_the_table_begins_with_the_columns_of_kafkas_own_tool(root: Root) -> None:
    header, first, *_ = producers.rendered(producers.producers(root, "it's", 0, "c"), "table").splitlines()
    assert header.split()[: len(KAFKAS)] == KAFKAS
    assert first.split()[:8] == ["1", "1", "4", "8", "1795384799000", "None", "a,", "b"]


def test_a_start_offset_of_zero_is_one(root: Root) -> None:
    lines = producers.rendered(producers.producers(root, "it's", 0, "c"), "table").splitlines()
    assert [line.split()[4:6] for line in lines[3:]] == [["1795298400000", "42"], ["-1", "0"]]


def test_json_and_csv_have_every_column_and_whose_the_producer_id_is(root: Root) -> None:
    found = producers.producers(root, "it's", 0, "c")
    row = json.loads(producers.rendered(found, "json"))[0]
    assert list(row) == next(csv.reader(io.StringIO(producers.rendered(found, "csv"))))
    assert row["transactional_ids"] == ["a", "b"]


def test_a_partition_without_producers_is_empty_and_one_that_no_dump_has_is_an_error(root: Root) -> None:
    assert producers.producers(root, "empty", 0) == []
    with pytest.raises(OptionError, match="no dump in the tables has empty-1: check --topic, --partition"):
        producers.producers(root, "empty", 1)


def test_without_a_cluster_all_that_have_the_partition_are_shown(root: Root) -> None:
    found = producers.producers(root, "it's", 0)
    assert {row["cluster"] for row in found} == {"c", "other"}
    assert producers.rendered(found, "table").startswith("Cluster ")
