"""`explain` tells who wrote a transaction, what happened in order, why it is open, and what the action costs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.tables_by_hand import at, put, written
from tests.terminal import seen
from txnlog.detection.causes import Action, Cause
from txnlog.detection.rules import RULES
from txnlog.errors import OptionError
from txnlog.report.advice import COSTS
from txnlog.report.explanation_output import rendered
from txnlog.report.explanations import Explanations, explained, explained_id
from txnlog.tables.layout import (
    ABORT_CANDIDATES,
    BLOCKED_GROUPS,
    COORDINATOR_STATES,
    DUMP_FILES,
    OPEN_TRANSACTIONS,
    RUNS,
    Root,
)

HOSTILE = "a\n\x1b[2Jb"


def opened(**values: Any) -> dict[str, Any]:
    return {
        "cluster": "c", "topic": "orders", "partition": 0, "producer_id": 7, "producer_epoch": 3, "start_offset": 42,
        "transactional_id": "payments", "coordinator_partition": 17, "cause": "LATE_WRITE_AFTER_END",
        "action": "ABORT", "confidence": "HIGH", "reason": "after its marker", "as_of": at(100), "broker": "2",
        "start_timestamp": at(20), "last_timestamp": at(30), "timestamps_trusted": True, "batches": 2, "records": 1,
        "bytes": 165, "opened_file": "log", "opened_position": 9, "last_stable_offset": 42, "held_back_offsets": 5,
        "held_back_records": 4, "held_back_bytes": 300, "last_marker_type": "COMMIT", "last_marker_offset": 41,
        "last_marker_epoch": 3, "last_marker_file": "log", "last_marker_position": 1,
        "evidence_state": "CompleteCommit", "evidence_offset": 4, "evidence_file": "state-log", "evidence_position": 6,
    } | values  # fmt: skip


STATE = {
    "cluster": "c", "transactional_id": "payments", "coordinator_partition": 17, "broker": "1", "state": "Empty",
    "producer_id": 7, "producer_epoch": 4, "last_update_timestamp": at(50), "offset": 5, "file": "state-log",
    "position": 8, "as_of": at(100),
}  # fmt: skip


def copied(topic: str, second: float = 100) -> dict[str, Any]:
    return {"cluster": "c", "topic": topic, "partition": 0, "kind": "segment", "copy_chosen": True,
            "file": topic, "as_of": at(second)}  # fmt: skip


def blocked(group: str, topic: str, start_offset: int) -> dict[str, Any]:
    return {"cluster": "c", "group_id": group, "topic": "orders", "partition": 0, "blocking_topic": topic,
            "blocking_partition": 0, "start_offset": start_offset}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    open_transactions = [
        opened(),
        opened(as_of=at(60), cause="TOO_YOUNG", action="WAIT"),
        opened(producer_id=8, start_offset=44, action="KEEP", cause="MARKER_LOST_COMMIT", transactional_id=None,
               timestamps_trusted=False, last_marker_offset=None, evidence_file=None),
        opened(topic="ended", as_of=at(60)),
        opened(topic="__consumer_offsets", transactional_id="reads"),
        opened(topic="lacking", cause="SKEW", action="UNDETERMINED", lacking="is_proven_late",
               also_lacking=["history_is_whole"],
               wanted_cause="NEVER_ADDED"),
        opened(topic="damaged", cause="CORRUPT_INPUT", action="UNDETERMINED", lacking="coordinator_is_not_damaged",
               also_lacking=["coordinator_is_certain", "history_is_whole"], transactional_id="b",
               wanted_cause="NEVER_ADDED"),
        opened(topic="named", transactional_id=HOSTILE, reason=HOSTILE),
        opened(topic="timed", transactional_id="timed", last_marker_timestamp=at(25), evidence_timestamp=at(60)),
    ]  # fmt: skip
    resolved = {name: opened()[name] for name in ABORT_CANDIDATES.key} | {
        "status": "RESOLVED", "resolution": "no longer open", "resolved_at": at(80),
    }  # fmt: skip
    tables = written(
        tmp_path_factory.mktemp("tables"),
        {
            OPEN_TRANSACTIONS.name: open_transactions,
            COORDINATOR_STATES.name: [STATE],
            ABORT_CANDIDATES.name: [resolved],
            RUNS.name: [{"cluster": "d"}, {"cluster": "c"}],
            DUMP_FILES.name: [
                copied("orders", 60),
                copied("orders"),
                copied("ended"),
                copied("__consumer_offsets"),
                copied("named"),
                copied("timed"),
                copied("lacking"),
                copied("damaged"),
            ],
        },
    )
    groups = [blocked(f"group-{number:02}", "orders", 42) for number in range(12)]
    groups += [blocked("behind", "orders", 44), blocked("pending", "__consumer_offsets", 42)]
    put(tables, BLOCKED_GROUPS, groups)
    return tables


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_a_story_of_its_own_and_what_prevents_it(cause: Cause) -> None:
    assert all(words.endswith(".") for words in (cause.says, cause.explanation, cause.prevention))
    assert [each for each in Cause if each.explanation == cause.explanation] == [cause]


@pytest.mark.parametrize("action", Action)
def test_every_action_says_what_becomes_of_the_records(action: Action) -> None:
    said = COSTS[action].format(records="RECORDS", bytes="BYTES", batches="BATCHES")
    assert "RECORDS" in said
    assert "BYTES" in said


@pytest.mark.parametrize("cause", [each for each in Cause if each.action is Action.ABORT])
def test_each_cause_of_an_abort_names_a_release_or_says_that_there_is_none(cause: Cause) -> None:
    assert any(words in cause.prevention for words in ("Kafka 3.6 and later", "No release up to Kafka 4.3"))


def test_events_stand_in_the_order_of_their_times_with_their_evidence(root: Root) -> None:
    [explanation] = explained(root, "orders", 0, producer_id=7).of_transactions
    found = [(event.time, event.what.partition(":")[0], event.offset, event.file, event.position)
            for event in explanation.events]  # fmt: skip
    assert found == [
        (None, "COMMIT marker of epoch 3", 41, "log", 1),
        ("2026-11-21T22:00:20.000Z", "its first batch opened the transaction", 42, "log", 9),
        ("2026-11-21T22:00:30.000Z", "its last batch; 2 batches, 1 record, 165 bytes in all, and no marker after them",
         None, None, None),
        (None, "the coordinator's record CompleteCommit, on which the verdict rests", 4, "state-log", 6),
        ("2026-11-21T22:00:50.000Z", "the coordinator's last record of the id", 5, "state-log", 8),
        ("2026-11-21T22:01:00.000Z", "the partition was copied from broker 2 with the transaction open", None, None,
         None),
        ("2026-11-21T22:01:20.000Z", "resolved as a candidate", None, None, None),
        ("2026-11-21T22:01:40.000Z", "the partition was copied from broker 2 with the transaction open", None, None,
         None),
    ]  # fmt: skip


def test_markers_and_records_have_the_times_of_their_own_clocks(root: Root) -> None:
    [explanation] = explained(root, "timed", 0, producer_id=7).of_transactions
    found = {event.what.partition(" ")[0]: (event.time, event.clock) for event in explanation.events}
    assert found["COMMIT"] == ("2026-11-21T22:00:25.000Z", "broker's clock")
    rests_on = [event for event in explanation.events if "on which the verdict rests" in event.what]
    assert [(each.time, each.clock) for each in rests_on] == [("2026-11-21T22:01:00.000Z", "coordinator's clock")]
    assert [event.time for event in explanation.events] == sorted(str(event.time) for event in explanation.events)


def test_a_story_says_whose_it_is_why_it_hangs_what_it_costs_and_what_it_holds_back(root: Root) -> None:
    [explanation] = explained(root, "orders", 0, producer_id=7).of_transactions
    assert "producer id 7 at epoch 3 of the transactional id payments, partition 17" in explanation.who
    assert "(broker 1) is now at producer id 7 at epoch 4, Empty" in explanation.who
    assert explanation.why.startswith(
        "LATE_WRITE_AFTER_END (HIGH confidence): after its marker. The producer's transaction"
    )
    assert "The abort discards 1 record (165 bytes) in 2 batches" in explanation.remedy.says
    assert f"txnlog abort-list --tables {root.text} --cluster c > aborts.sh" in explanation.remedy.steps[0].commands
    assert "blocked at offset 42; 5 offsets, 4 records, 300 bytes are held back" in explanation.held_back


@pytest.mark.parametrize(
    ("topic", "producer_id", "says"),
    [
        ("orders", 7, "consumer groups stand there, if they read with read_committed: group-00, group-01, "),
        ("orders", 7, ", group-09 and 2 more (txnlog groups --blocked)"),
        (
            "orders",
            8,
            "consumer groups stand there, if they read with read_committed: behind (txnlog groups --blocked)",
        ),
        (
            "__consumer_offsets",
            7,
            "commits of these consumer groups are pending in it: pending (txnlog groups --blocked)",
        ),
    ],
)
def test_a_story_names_the_consumer_groups_that_it_blocks(root: Root, topic: str, producer_id: int, says: str) -> None:
    [explanation] = explained(root, topic, 0, producer_id).of_transactions
    assert says in explanation.held_back


def test_what_discards_data_says_what_it_rests_on(root: Root) -> None:
    [explanation] = explained(root, "orders", 0, producer_id=7).of_transactions
    needs = next(rule.needs for rule in RULES if rule.cause is Cause.LATE_WRITE_AFTER_END)
    assert explanation.rests_on == [f"{proof.meaning} ({proof.rests_on})" for proof in needs]
    assert len(needs) > 15
    [kept] = explained(root, "orders", 0, producer_id=8).of_transactions
    assert kept.rests_on == []


def test_what_is_undetermined_says_which_proof_is_lacking_and_what_would_supply_it(root: Root) -> None:
    [explanation] = explained(root, "lacking", 0).of_transactions
    lacking, further = explanation.rests_on
    assert further.startswith("Not proved, which NEVER_ADDED needs: The coordinator's records reach back")
    assert further.endswith("To supply it: keep what coordinators say (txnlog archive); raise min.compaction.lag.ms of"
                            " __transaction_state.")  # fmt: skip
    assert lacking.startswith("Not proved, which NEVER_ADDED needs: Its last batch was in the log for longer than")
    assert explanation.remedy.steps[0].says == (
        "NEVER_ADDED is not proved. To prove it: list the folder on the broker before the copy (listing.tsv), or dump"
        " again later. Besides, it lacks 1 more proof, which txnlog explain names. Then see what the new dump lacks,"
        " and judge it:"
    )
    printed = rendered(Explanations([explanation], []), "table")
    assert "Proofs\n  Not proved, which NEVER_ADDED needs: " in printed


def test_a_missing_proof_that_another_one_implies_is_not_said(root: Root) -> None:
    [explanation] = explained(root, "damaged", 0).of_transactions
    damage, history = explanation.rests_on
    assert "No damage in the copy of the id's coordinator partition" in damage
    assert "The coordinator's records reach back" in history
    assert "it lacks 1 more proof" in explanation.remedy.steps[0].says


def test_committed_data_is_not_aborted_and_the_one_before_it_is_named(root: Root) -> None:
    [explanation] = explained(root, "orders", 0, producer_id=8).of_transactions
    assert "abort-list" not in str(explanation.remedy.steps)
    assert "never abort" in explanation.remedy.says
    assert "unknown to every coordinator in the tables" in explanation.who
    assert "the transaction that starts there must end first" in explanation.held_back
    assert "(a broker's clock contradicts that time)" in explanation.events[0].what


def test_without_a_producer_id_all_that_are_open_in_the_latest_dump_are_told(root: Root) -> None:
    found = explained(root, "orders", 0)
    assert [explanation.transaction["producer_id"] for explanation in found.of_transactions] == [7, 8]
    assert [each["transaction"]["producer_id"] for each in json.loads(rendered(found, "json"))] == [7, 8]
    assert rendered(found, "table").count("What to do: ") == 2


def test_what_the_latest_dump_no_longer_shows_is_not_told(root: Root) -> None:
    found = explained(root, "ended", 0)
    assert rendered(found, "table") == "no such transaction is open there as of 2026-11-21T22:01:40.000Z (c)\n"
    assert json.loads(rendered(found, "json")) == []
    with pytest.raises(OptionError, match="no dump in the tables has orders-1"):
        explained(root, "orders", 1)


def test_all_that_an_id_has_open_is_told(root: Root) -> None:
    found = explained_id(root, "payments")
    assert [(each.transaction["topic"], each.transaction["producer_id"]) for each in found.of_transactions] == [
        ("lacking", 7),
        ("orders", 7),
    ]
    assert [each.transaction["topic"] for each in found.only("action", "ABORT").of_transactions] == ["orders"]
    assert explained_id(root, HOSTILE, "c").of_transactions[0].transaction["topic"] == "named"
    with pytest.raises(OptionError, match="no dump in the tables has an open transaction of nobody"):
        explained_id(root, "nobody")
    with pytest.raises(OptionError, match="--cluster: nope is not in the tables"):
        explained_id(root, "payments", "nope")


def test_a_cluster_that_is_none_is_said_with_those_that_there_are(root: Root) -> None:
    with pytest.raises(OptionError, match="--cluster: nope is not in the tables; they have c, d"):
        explained(root, "orders", 0, cluster="nope")
    with pytest.raises(OptionError, match="no dump in the tables has orders-0"):
        explained(root, "orders", 0, cluster="d")


@pytest.mark.parametrize("width", [None, 40, 80, 200])
def test_names_are_plain_and_lines_fit(root: Root, width: int | None) -> None:
    found = explained(root, "named", 0)
    text = rendered(found, "table", width)
    lines = text.splitlines() if width is None else seen(text)
    assert all(line.isprintable() for line in lines)
    assert "a\\n\\x1b[2Jb" in "".join(line.strip() for line in lines)
    # A command is copied: it stays one line.
    commands = {command for each in found.of_transactions for step in each.remedy.steps for command in step.commands}
    assert width is None or max(len(line) for line in lines if line.strip() not in commands) <= width
    assert commands <= {line.strip() for line in lines}
    assert json.loads(rendered(explained(root, "named", 0), "json"))[0]["transaction"]["transactional_id"] == HOSTILE
