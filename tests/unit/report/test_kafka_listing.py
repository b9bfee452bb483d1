"""`list` and `describe` have the columns of `kafka-transactions.sh` and ours, without the errors of that tool."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.tables_by_hand import at, written
from txnlog.errors import OptionError
from txnlog.report import kafka_listing
from txnlog.tables.layout import COORDINATOR_STATES, OPEN_TRANSACTIONS, Root

# `TransactionsCommand.ListTransactionsCommand` and `DescribeTransactionsCommand`.
LIST = ["TransactionalId", "Coordinator", "ProducerId", "TransactionState"]
DESCRIBE = ["CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState",
            "TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs",
            "TopicPartitions"]  # fmt: skip
HOSTILE = "a\n\x1b[2J\u202e'; DROP TABLE x; --"


def state(transactional_id: str, name: str = "Ongoing", **values: Any) -> dict[str, Any]:
    began = None if name == "Empty" else at(0)
    return {
        "cluster": "c", "transactional_id": transactional_id, "state": name, "broker": "2", "producer_id": 7,
        "producer_epoch": 3, "timeout_ms": 60_000, "start_timestamp": began, "last_update_timestamp": at(1),
        "as_of": at(100), "offset": 5, "file": "f", "is_certain": True,
    } | values  # fmt: skip


def listed_partitions(*names: str) -> list[dict[str, Any]]:
    return [{"topic": name, "partition": 0} for name in names]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    found = [
        state("idle", "Empty"),
        state("running", topic_partitions=listed_partitions("orders")),
        state("younger", start_timestamp=at(99)),
        state("ending", "PrepareCommit", topic_partitions=listed_partitions("done", "owed"), offset=9),
        state("ended", "CompleteCommit", topic_partitions=[]),
        state("aborted", "CompleteAbort", topic_partitions=[]),
        state("idle", "Ongoing", cluster="other"),
        state(HOSTILE, "Empty", cluster="hostile"),
    ]
    owing = {"cluster": "c", "transactional_id": "ending", "pending_partitions": ["owed-0"]}
    verdicts = [owing | {"evidence_file": "f", "evidence_offset": 9},
                owing | {"evidence_file": "f", "evidence_offset": 8, "pending_partitions": ["long-ago-0"]}]  # fmt: skip
    return written(
        tmp_path_factory.mktemp("tables"), {COORDINATOR_STATES.name: found, OPEN_TRANSACTIONS.name: verdicts}
    )


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [row["transactional_id"] for row in found]


def test_the_tables_begin_with_the_columns_of_kafkas_own_tool(root: Root) -> None:
    assert kafka_listing.rendered_list([], "table").split()[: len(LIST)] == LIST
    assert kafka_listing.rendered_description([], "table").split()[: len(DESCRIBE)] == DESCRIBE


def test_only_a_transaction_that_is_under_way_has_a_duration_and_it_counts_to_the_dump(root: Root) -> None:
    durations = {row["transactional_id"]: row["duration_ms"] for row in kafka_listing.states(root, "c")}
    assert durations == {"idle": None, "running": 100_000, "younger": 1_000, "ending": 100_000, "ended": None,
                         "aborted": None}  # fmt: skip


@pytest.mark.parametrize(
    ("filters", "want"),
    [
        ({}, ["aborted", "ended", "ending", "idle", "running", "younger"]),
        ({"wanted": ["Empty", "Ongoing"]}, ["idle", "running", "younger"]),
        ({"longer_than_ms": 0}, ["ending", "running", "younger"]),
        ({"longer_than_ms": 1_000}, ["ending", "running"]),
        ({"longer_than_ms": -5}, ["aborted", "ended", "ending", "idle", "running", "younger"]),
        ({"pattern": "end"}, []),
        ({"pattern": "end.*"}, ["ended", "ending"]),
        ({"wanted": ["PrepareCommit"], "pattern": "end.*", "longer_than_ms": 5}, ["ending"]),
    ],
    ids=str,
)
def test_what_the_filters_let_by(root: Root, filters: dict[str, Any], want: list[str]) -> None:
    assert ids(kafka_listing.listed(kafka_listing.states(root, "c"), **filters)) == want


def test_a_pattern_that_is_none_is_named(root: Root) -> None:
    with pytest.raises(OptionError, match=r"--transactional-id-pattern: '\(' is no regular expression"):
        kafka_listing.listed([], pattern="(")


def test_a_description_shows_what_is_still_owed_as_the_live_coordinator_does(root: Root) -> None:
    assert [kafka_listing.topic_partitions(row) for row in kafka_listing.described(root, "ending")] == ["owed-0"]
    assert [kafka_listing.topic_partitions(row) for row in kafka_listing.described(root, "running")] == ["orders-0"]


def test_a_description_prints_ms_and_none_as_kafkas_tool_does(root: Root) -> None:
    _, running = kafka_listing.rendered_description(kafka_listing.described(root, "running"), "table").splitlines()
    assert running.split()[:9] == ["2", "running", "7", "3", "Ongoing", "60000", "1795298400000", "100000", "orders-0"]
    _, ended = kafka_listing.rendered_description(kafka_listing.described(root, "ended"), "table").splitlines()
    assert ended.split()[4:8] == ["CompleteCommit", "60000", "1795298400000", "None"]


def test_rows_of_several_clusters_name_theirs_and_one_can_be_chosen(root: Root) -> None:
    both = kafka_listing.described(root, "idle")
    assert [row["cluster"] for row in both] == ["c", "other"]
    assert kafka_listing.rendered_description(both, "table").startswith("Cluster ")
    assert not kafka_listing.rendered_description(kafka_listing.described(root, "idle", "c"), "table").startswith("Clu")


def test_a_cluster_that_is_not_there_is_an_error(root: Root) -> None:
    with pytest.raises(OptionError, match="--cluster: nowhere is not in the tables"):
        kafka_listing.states(root, "nowhere")


def test_an_id_that_nobody_knows_is_an_error_that_says_where_to_look(root: Root) -> None:
    with pytest.raises(OptionError, match="no coordinator in the tables knows 'nobody': `txnlog list` has"):
        kafka_listing.described(root, "nobody")


def test_an_id_that_is_no_text_is_an_error_and_one_with_quotes_is_only_an_id(root: Root) -> None:
    with pytest.raises(OptionError, match=r"'\\udce9' is not UTF-8"):
        kafka_listing.described(root, "\udce9")
    with pytest.raises(OptionError, match="no coordinator"):
        kafka_listing.described(root, "' OR 'a' = 'a")


def test_a_hostile_id_is_one_plain_line_in_a_table_and_itself_in_json_and_csv(root: Root) -> None:
    found = kafka_listing.described(root, HOSTILE)
    for table in (kafka_listing.rendered_list(found, "table"), kafka_listing.rendered_description(found, "table")):
        assert len(table.splitlines()) == 2
        assert all(line.isprintable() for line in table.splitlines())
    assert ids(json.loads(kafka_listing.rendered_list(found, "json"))) == [HOSTILE]
    [row] = csv.DictReader(io.StringIO(kafka_listing.rendered_description(found, "csv"), newline=""))
    assert row["transactional_id"] == HOSTILE


def test_json_and_csv_have_every_column_of_the_table_and_the_duration(root: Root) -> None:
    found = kafka_listing.described(root, "running")
    [row] = json.loads(kafka_listing.rendered_description(found, "json"))
    header, line = csv.reader(io.StringIO(kafka_listing.rendered_description(found, "csv"), newline=""))
    assert list(row) == header
    assert row["topic_partitions"] == [{"topic": "orders", "partition": 0}]
    assert json.loads(line[header.index("topic_partitions")]) == row["topic_partitions"]
    assert row["start_timestamp"] == "2026-11-21T22:00:00.000Z"


def test_tables_of_an_older_txnlog_are_named(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="there is no table coordinator_states in it: run `txnlog detect` first"):
        kafka_listing.states(Root(str(tmp_path)))
