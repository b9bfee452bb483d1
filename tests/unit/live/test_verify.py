"""What the offsets of a live partition say of a candidate, and whose candidates a cluster may be asked about."""

from __future__ import annotations

import re
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Uuid
from confluent_kafka.admin import ListOffsetsResultInfo  # type: ignore[attr-defined]

from tests.report_tables import night, transaction, written
from txnlog.cli import main
from txnlog.commands.verify import _summary
from txnlog.errors import ClusterError, OptionError
from txnlog.live.answers import Ends, Topic, as_kafka_writes, offset_of
from txnlog.live.verifications import Answer, Status, _of_topic, _with_ends, chosen_cluster, status_of

START = 100
PLACE = ("orders", 0)
NEXT = "Next: txnlog abort-list --tables t --cluster 'a b'"


def seen(log_start: int, high_watermark: int, stable: int) -> Answer:
    return Answer("id", 1, Ends(log_start, high_watermark, stable))


def status(found: Answer, topic_id: str | None = "id") -> Status:
    return status_of({"start_offset": START, "topic_id": topic_id}, found)[0]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(seen(0, 150, 100), "STILL_STUCK", id="the last stable offset stands at its start"),
        pytest.param(seen(100, 150, 100), "STILL_STUCK", id="the log starts with it"),
        pytest.param(seen(120, 150, 120), "STILL_STUCK", id="the log start has passed it and stands for it"),
        pytest.param(seen(0, 150, 99), "BLOCKED_BY_EARLIER", id="an earlier one stands in front"),
        pytest.param(seen(0, 90, 40), "BLOCKED_BY_EARLIER", id="an earlier one, and the log lost its end"),
        pytest.param(seen(0, 150, 101), "RESOLVED", id="the last stable offset has passed it by one"),
        pytest.param(seen(120, 150, 150), "RESOLVED", id="nothing is open after the log start"),
        pytest.param(seen(150, 150, 150), "GONE", id="the log was emptied past it"),
        pytest.param(seen(0, 100, 100), "UNKNOWN", id="the replicas have not come as far as its start"),
        pytest.param(seen(0, 40, 40), "UNKNOWN", id="the log ends before its start and nothing is held back"),
        pytest.param(Answer("id", 1, trouble="no answer"), "UNKNOWN", id="its leader does not answer"),
        pytest.param(Answer(is_gone=True, trouble="no topic"), "GONE", id="the topic was deleted"),
        pytest.param(Answer("other", 1, Ends(0, 150, 100)), "GONE", id="the topic was created anew"),
        pytest.param(Answer("other", trouble="no leader"), "GONE", id="created anew, and without a leader"),
    ],
)
def test_a_status_for_each_state_of_a_partition(found: Answer, expected: str) -> None:
    assert status(found) == expected


def test_a_dump_without_topic_ids_is_judged_by_its_offsets() -> None:
    assert status(Answer("other", 1, Ends(0, 150, 100)), topic_id=None) is Status.STILL_STUCK


@pytest.mark.parametrize(
    ("topic", "is_gone", "trouble"),
    [
        (None, True, "the cluster has no such topic"),
        ("not authorised", False, "the cluster does not describe the topic: not authorised"),
        (Topic("id", {1: 1}), True, "the topic has no such partition"),
        (Topic("id", {0: None}), False, "the partition has no leader"),
        (Topic("id", {0: 7}), False, None),
    ],
)
def test_a_partition_that_cannot_be_asked_says_why(topic: Any, is_gone: bool, trouble: str | None) -> None:
    found = _of_topic(topic, 0)
    assert (found.is_gone, found.trouble) == (is_gone, trouble)


def test_offsets_of_a_topic_that_is_created_anew_meanwhile_are_not_believed() -> None:
    before, ends = Answer("id", 1), {PLACE: Ends(0, 150, 100)}
    assert status(_with_ends(before, ends, {"orders": Topic("id", {0: 1})}, PLACE)) is Status.STILL_STUCK
    assert status(_with_ends(before, ends, {"orders": Topic("other", {0: 1})}, PLACE)) is Status.GONE
    assert status(_with_ends(before, ends, {"orders": None}, PLACE)) is Status.GONE
    assert status(_with_ends(before, ends, {"orders": "no answer"}, PLACE)) is Status.UNKNOWN


CANDIDATES = [{"cluster": "payments"}, {"cluster": "orders"}]
RUNS: list[dict[str, Any]] = [{"cluster": "payments", "cluster_id": "P"}, {"cluster": "orders", "cluster_id": None}]


def test_candidates_are_those_of_the_cluster_that_answers() -> None:
    assert chosen_cluster(CANDIDATES, RUNS, "P", None) == [{"cluster": "payments"}]
    assert chosen_cluster(CANDIDATES, RUNS, "P", "payments") == [{"cluster": "payments"}]
    assert chosen_cluster(CANDIDATES, RUNS, "X", "orders") == [{"cluster": "orders"}]
    assert chosen_cluster([], [], "X", None) == []


def test_candidates_of_another_cluster_are_refused() -> None:
    with pytest.raises(ClusterError, match="the dumps of payments are of P: another one"):
        chosen_cluster(CANDIDATES, RUNS, "X", "payments")
    # Only of a cluster whose dumps have no id may they be.
    with pytest.raises(ClusterError, match=r"name theirs with --cluster \(orders\)"):
        chosen_cluster(CANDIDATES, RUNS, "X", None)
    with pytest.raises(ClusterError, match=r"the dumps are of payments \(P\): ask the brokers of one of these"):
        chosen_cluster(CANDIDATES[:1], RUNS, "X", None)
    # Tables of an older txnlog do not know the id.
    with pytest.raises(ClusterError, match="no dump in the tables has it"):
        chosen_cluster(CANDIDATES, [{"cluster": "payments"}], "P", None)


def test_a_topic_id_is_written_as_kafka_writes_it() -> None:
    assert as_kafka_writes(Uuid(-1, -1)) == "_____________________w"
    assert as_kafka_writes(Uuid(-(2**40) - 7, 2**62 + 12345678901)) == "___-______lAAAAC39wcNQ"


def test_each_status_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs/live.md").read_text("utf-8")
    assert re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE) == list(Status)


def test_an_offset_that_a_leader_did_not_give_is_none() -> None:
    assert offset_of(ListOffsetsResultInfo(0, 1, 5)) == 0
    assert offset_of(ListOffsetsResultInfo(-1, -1, -1)) == "no answer"


@pytest.mark.parametrize(
    ("statuses", "topic", "said"),
    [
        (
            ["GONE", "STILL_STUCK", "GONE"],
            None,
            "2 GONE, 1 STILL_STUCK. Next: txnlog abort-list --tables t --cluster 'a b'",
        ),
        (
            ["BLOCKED_BY_EARLIER"],
            "-x",
            "1 BLOCKED_BY_EARLIER. Next: txnlog abort-list --tables t --cluster 'a b' --topic=-x",
        ),
        (["RESOLVED"], None, "1 RESOLVED."),
    ],
)
def test_the_last_line_has_the_numbers_and_the_next_command(statuses: list[str], topic: str | None, said: str) -> None:
    assert _summary(statuses, "t", "a b", topic) == said


def asked(root: str, address: str, *more: str) -> int:
    return main(["verify", "--tables", root, "--bootstrap-server", address, *more])


def test_a_cluster_that_no_dump_is_of_is_an_error_before_any_broker_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = written(tmp_path, [transaction()], [night()], candidates=[]).text
    assert asked(root, "127.0.0.1:1", "--cluster", "paymnets") == OptionError.exit_code
    assert "paymnets" in capsys.readouterr().err


def test_brokers_that_say_nothing_are_waited_for_no_longer_than_the_timeout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = written(tmp_path, [transaction()], [night()], candidates=[]).text
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = time.monotonic()
        code = asked(root, f"127.0.0.1:{silent.getsockname()[1]}", "--timeout", "2s")
        waited = time.monotonic() - began
    assert code == ClusterError.exit_code
    assert "no answer about the cluster's id within 2 s" in capsys.readouterr().err
    # A machine that is busy may be late, but not by half of the default.
    assert waited < 15
