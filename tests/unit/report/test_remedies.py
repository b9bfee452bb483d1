"""Each open transaction has a remedy: committed data is never aborted, and each command is one that can be typed."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.report_tables import NIGHT, night, transaction, written
from tests.tables_by_hand import put
from txnlog.cli import main
from txnlog.commands.parser import parser
from txnlog.detection.causes import Action, Cause
from txnlog.detection.proofs import PROOFS
from txnlog.report.advice import ADVICE
from txnlog.report.remedy import Remedy, by_id, remedy
from txnlog.tables.layout import COORDINATOR_STATES, OPEN_TRANSACTIONS, Root, columns_of

HOSTILE = "it's $(reboot)\n-rf"
STATE = {
    "cluster": "payments", "transactional_id": "orders-writer", "coordinator_partition": 7, "broker": "3",
    "state": "Ongoing", "producer_id": 7, "producer_epoch": 2, "timeout_ms": 3_600_000, "start_timestamp": NIGHT,
    "topic_partitions": [{"topic": "orders", "partition": 0}], "as_of": NIGHT, "file": "", "offset": 0, "position": 0,
    "coordinator_epoch": 1, "is_certain": True,
}  # fmt: skip
WITH_CAUSE = {Action.ABORT: "NEVER_ADDED", Action.KEEP: "MARKER_LOST_COMMIT", Action.FENCE: "STUCK_ONGOING",
              Action.MOVE_COORDINATOR: "STUCK_PREPARE", Action.WAIT: "TOO_YOUNG",
              Action.UNDETERMINED: "SKEW"}  # fmt: skip


def of(action: Action, state: dict[str, Any] | None = None, **values: Any) -> Remedy:
    row = transaction(action=action, cause=WITH_CAUSE[action], coordinator_partition=7, pending_partitions=None)
    return remedy(row | values, by_id([state] if state else []), "/data/txnlog")


def commands(found: Remedy) -> list[str]:
    return [command for step in found.steps for command in step.commands]


@pytest.mark.parametrize("action", Action)
def test_every_action_has_steps_and_what_txnlog_is_to_do_can_be_typed(action: Action) -> None:
    found = of(action)
    assert found.steps
    for command in commands(found):
        words = shlex.split(command.partition(" >")[0])
        assert words[0] != "txnlog" or vars(parser().parse_args(words[1:]))


@pytest.mark.parametrize("action", [action for action in Action if action is not Action.ABORT])
def test_only_an_abort_leads_to_an_abort(action: Action) -> None:
    assert not [command for command in commands(of(action)) if "abort" in command]
    assert any(command.startswith("txnlog abort-list ") for command in commands(of(Action.ABORT)))


@pytest.mark.parametrize("action", Action)
def test_names_are_words_of_bash(action: Action) -> None:
    found = of(action, topic=HOSTILE, transactional_id=HOSTILE, cluster=HOSTILE)
    for command in commands(found):
        assert command.isprintable()
        assert "$(reboot)" not in command.replace(r"$'it\'s $(reboot)\x0a-rf'", "")


def test_an_option_is_no_name() -> None:
    fence = of(Action.FENCE, transactional_id="-rf")
    assert any(command.endswith(" forceTerminateTransaction --transactionalId=-rf") for command in commands(fence))
    assert any(command.endswith(' "$BOOTSTRAP_SERVER" -rf') for command in commands(fence))


def test_a_fence_says_what_the_coordinator_must_still_show() -> None:
    first = of(Action.FENCE, state=STATE).steps[0]
    assert "It must still show ProducerId=7 ProducerEpoch=2 TransactionState=Ongoing " in first.says


def test_a_coordinator_is_named_with_its_broker_and_the_partitions_that_wait_for_a_marker() -> None:
    found = of(Action.MOVE_COORDINATOR, state=STATE, pending_partitions=["orders-0", "stock-4"])
    assert "leads __transaction_state-7, in the dump broker 3." in found.steps[0].says
    assert "(orders-0, stock-4)" in found.steps[0].says
    assert any(
        command.endswith("--election-type preferred --topic __transaction_state --partition 7")
        for command in commands(found)
    )


def test_kept_data_is_read_from_its_first_record_that_is_left_to_the_log_end() -> None:
    found = of(Action.KEEP, start_offset=42, log_start_offset=45, log_end_offset=92, held_back_records=40)
    assert "from offset 45 to 91" in found.steps[0].says
    assert "--offset 45 --max-messages 40 " in commands(found)[0]
    assert "stay blocked at offset 42" in found.steps[-1].says
    assert "An abort would discard" not in found.says
    assert "an abort would discard 3 records (210 bytes)" in found.says


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.name)
def test_what_is_undetermined_says_how_to_prove_it(proof: Any) -> None:
    found = of(Action.UNDETERMINED, cause=proof.cause, lacking=proof.name, wanted_cause="NEVER_ADDED")
    assert found.steps[0].says.startswith(f"NEVER_ADDED is not proved. To prove it: {proof.supplied_by}.")
    command = " describe-producers " if proof.cause is Cause.CLEANER_ARTEFACT else "txnlog check "
    assert command in commands(found)[0]


def test_a_wait_ends_when_it_is_late_or_when_its_coordinator_ends_it() -> None:
    assert of(Action.WAIT).steps[0].says.startswith("Wait until 2026-11-21T00:20:00.000Z.")
    assert of(Action.WAIT, state=STATE).steps[0].says.startswith("Wait until 2026-11-21T03:00:00.000Z.")
    assert "not known" in of(Action.WAIT, last_activity=None).steps[0].says
    assert "has no timeout" in of(Action.WAIT, cause="TWO_PHASE_COMMIT", state=STATE).steps[0].says


def test_what_must_end_first_is_said() -> None:
    assert "until the transaction at offset 30 has ended, too" in of(Action.ABORT, last_stable_offset=30).says
    assert "has ended, too" not in of(Action.ABORT).says


def test_an_action_of_a_newer_txnlog_has_no_steps() -> None:
    row = transaction(action="REWIND", cause="NEVER_ADDED")
    assert remedy(row, {}, "t") == Remedy("This txnlog does not know REWIND: use the one that wrote the tables.", ())


@pytest.fixture
def root(tmp_path: Path) -> Root:
    rows = [
        transaction("young", action="WAIT", cause="TOO_YOUNG", late=False, held_back_records=900),
        transaction("small", held_back_records=1),
        transaction("large", held_back_records=9),
        transaction("fence", action="FENCE", cause="STUCK_ONGOING", held_back_records=5),
        transaction("kept", action="KEEP", cause="MARKER_LOST_COMMIT", held_back_records=2),
        transaction("elsewhere", cluster="other"),
    ]
    found = written(tmp_path / "tables", rows, [night(), night(cluster="other")])
    put(found, COORDINATOR_STATES, [STATE])
    return found


def printed(capsys: pytest.CaptureFixture[str], root: Root, *more: str) -> str:
    assert main(["remedies", "--tables", root.text, *more]) == 0
    return capsys.readouterr().out


def test_committed_data_comes_first_then_most_records_held_back_and_what_is_young_last(
    root: Root, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(capsys, root, "--cluster", "payments").splitlines()
    assert lines[0] == "Cluster payments as of 2026-11-21T02:00:00.000Z: 1 KEEP, 2 ABORT, 1 FENCE, 1 WAIT"
    assert [line for line in lines if line[:1].isdecimal()] == [
        "1. KEEP: kept-0 from offset 42",
        "2. ABORT: large-0 from offset 42",
        "3. FENCE: fence-0 from offset 42",
        "4. ABORT: small-0 from offset 42",
        "5. WAIT: young-0 from offset 42",
    ]
    assert lines.count("  The steps are those of 2.") == 1


def test_the_remedies_are_of_one_cluster(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["remedies", "--tables", root.text]) == 2
    assert "several clusters: add --cluster, one of other, payments" in capsys.readouterr().err
    assert main(["remedies", "--tables", root.text, "--cluster", "nope"]) == 2
    assert "--cluster: nope is not in the tables; they have other, payments" in capsys.readouterr().err


def test_a_topic_and_an_action_select(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    of_payments = ("--cluster", "payments", "--format", "json")
    found = json.loads(printed(capsys, root, *of_payments, "--action", "ABORT"))
    assert [each["transaction"]["topic"] for each in found] == ["large", "small"]
    assert found[0]["remedy"]["steps"][0]["commands"][0].startswith("txnlog verify ")
    assert json.loads(printed(capsys, root, *of_payments, "--action", "ABORT", "--topic", "kept")) == []
    assert printed(capsys, root, "--cluster", "other", "--topic", "none") == "Nothing is open.\n"


def test_a_spreadsheet_has_the_columns_of_the_table(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    [row] = csv.DictReader(
        io.StringIO(printed(capsys, root, "--cluster", "payments", "--action", "FENCE", "--format", "csv"))
    )
    assert list(row) == [field.name for field in columns_of(OPEN_TRANSACTIONS)]
    assert "forceTerminateTransaction --transactionalId fence-writer" in row["remedy"]


def test_the_readme_says_of_each_action_what_the_report_says() -> None:
    readme = (Path(__file__).parents[3] / "README.md").read_text("utf-8")
    for action, words in ADVICE.items():
        [line] = [line for line in readme.splitlines() if line.startswith(f"| `{action}` |")]
        plain = line.replace("`", "").replace("**", "").replace("](#verify)", "").replace("](#abort)", "")
        assert plain.replace("[", "") == f"| {action} | {words} |"
