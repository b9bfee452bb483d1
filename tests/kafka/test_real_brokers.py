"""The main job on dumps of brokers that live on: Kafka's own search and its own aborts are the judges."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from abort_lines import Transaction
from lab import TRANSACTION_MAX_TIMEOUT_MS

from tests.kafka.answers import Answer, Row
from tests.kafka.conftest import Aborted, Judged
from tests.kafka.trials import CAUSES, DIFFERENCES, KAFKA, TXNLOG
from txnlog.report.table_rows import rows
from txnlog.tables.layout import ABORT_CANDIDATES

pytestmark = pytest.mark.kafka
COMPARED = ("start_offset", "producer_epoch", "transactional_id", "late", "cause", "action")
Key = tuple[str, int, int]


def facts(transactions: list[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
    return {
        (each["topic"], each["partition"], each["producer_id"]): {name: each[name] for name in COMPARED}
        for each in transactions
    }


def transaction(row: dict[str, Any]) -> Transaction:
    return Transaction(row["topic"], row["partition"], row["start_offset"])


def offered_by_kafka(judged: Judged) -> set[Transaction]:
    """The rows that `find-hanging` printed: topic, partition, producer id, two epochs, start offset, two times."""
    lines = (judged.dump / "find-hanging.txt").read_text().splitlines()
    fields = [[field.strip() for field in line.split("\t")] for line in lines if "\t" in line]
    return {Transaction(row[0], int(row[1]), int(row[5])) for row in fields if row[0] != "Topic"}


def test_each_open_transaction_gets_the_verdict_that_its_making_implies(judged: Judged) -> None:
    truth = json.loads((judged.dump / "truth.json").read_text())
    assert facts(judged.verdicts) == facts(truth["open_transactions"])


def test_every_cause_that_the_release_can_produce_is_there(judged: Judged) -> None:
    assert {row["cause"] for row in judged.verdicts} == CAUSES[judged.name]


def test_find_hanging_of_the_live_cluster_differs_only_where_a_reason_is_named(judged: Judged) -> None:
    offered = offered_by_kafka(judged)
    by_kafka_only, by_txnlog_only = set(), set()
    for row in judged.verdicts:
        if transaction(row) in offered and row["action"] != "ABORT":
            by_kafka_only.add((row["topic"], KAFKA, row["cause"]))
        if transaction(row) not in offered and row["action"] != "WAIT":
            by_txnlog_only.add((row["topic"], TXNLOG, row["cause"]))
    assert offered <= {transaction(row) for row in judged.verdicts}
    assert by_kafka_only | by_txnlog_only == {one[:3] for one in DIFFERENCES[judged.name]}


UNDER_WAY = ("Ongoing", "PrepareCommit", "PrepareAbort")
# What differs: the dump is taken later, and txnlog counts no duration once a transaction has ended.
DURATION = "TransactionDurationMs"


def unchanged(answer: Answer) -> list[tuple[Row, Row]]:
    """Kafka's rows and ours of what has not been written to between the question and the dump."""
    key = "ProducerId" if answer.arguments[0] == "describe-producers" else "TransactionalId"
    asked = datetime.fromtimestamp(answer.asked / 1000, UTC).isoformat(timespec="milliseconds")
    ours = {row[key]: row for row in answer.ours if row.get("LastUpdate", "") < asked}
    kafkas = {row[key]: row for row in answer.kafkas if key in row}
    changed = {row[key] for row in answer.ours} - set(ours)
    assert set(kafkas) - changed == set(ours), answer.arguments
    return [(kafkas[name], row) for name, row in ours.items()]


@pytest.mark.parametrize("command", ["list", "describe", "describe-producers"])
def test_it_answers_as_the_live_tool_did_column_for_column(judged: Judged, command: str) -> None:
    pairs = [pair for answer in judged.answers if answer.arguments[0] == command for pair in unchanged(answer)]
    assert len(pairs) >= 4
    for kafkas, ours in pairs:
        assert {name: ours[name] for name in kafkas if name != DURATION} == {
            name: value for name, value in kafkas.items() if name != DURATION
        }
    states = {ours["TransactionState"] for _, ours in pairs if command != "describe-producers"}
    assert command == "describe-producers" or states >= {"Empty", "Ongoing", "CompleteCommit", "CompleteAbort"}


def test_a_duration_is_counted_while_a_transaction_is_under_way_and_not_after_it(judged: Judged) -> None:
    described = [answer for answer in judged.answers if answer.arguments[0] == "describe"]
    pairs = [pair for answer in described for pair in unchanged(answer)]
    for kafkas, ours in pairs:
        if ours["TransactionState"] in UNDER_WAY:
            assert int(ours[DURATION]) >= int(kafkas[DURATION]) > 0
        else:
            assert ours[DURATION] == "None"
    assert any(kafkas[DURATION] != "None" for kafkas, ours in pairs if ours[DURATION] == "None")


def test_each_line_of_the_abort_list_moves_its_partition_and_nothing_else(aborted: Aborted) -> None:
    assert aborted.record.failures == [], "\n".join(aborted.record.lines)
    of_each_line = ("is not any more", "stands at", "read_committed skips", "RESOLVED")
    for words in of_each_line:
        claims = [line for line in aborted.record.lines if line.startswith("passed: ") and words in line]
        assert len(claims) >= len(aborted.listed) > 0, words


def test_the_next_dump_resolves_every_row_of_the_abort_list(aborted: Aborted) -> None:
    resolved = {transaction(row) for row in rows(aborted.root, ABORT_CANDIDATES, "status = 'RESOLVED'")}
    assert resolved == aborted.listed


def test_what_is_to_be_fenced_ends_when_its_id_is_initialised_anew(judged: Judged, aborted: Aborted) -> None:
    to_fence = [row for row in judged.verdicts if row["action"] == "FENCE"]
    assert to_fence
    client = judged.abort_run.cluster.client
    for transactional_id in {row["transactional_id"] for row in to_fence}:
        client.init_producer_id(transactional_id, TRANSACTION_MAX_TIMEOUT_MS)
    still_open = [
        one for one in map(transaction, to_fence) if one.start_offset in judged.abort_run.open_starts(one.place)
    ]
    assert still_open == []
