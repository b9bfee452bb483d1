"""`txnlog record`: one answer of all copies, whose the record is as far as tables tell, and where consumers stop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import report_tables
from tests.tables_by_hand import Row, at, put, written
from tests.terminal import seen
from tests.writer import ABORT, checkpoint, data, marker, segment
from txnlog.cli import main
from txnlog.dump.inventory import inventory
from txnlog.report.record_answer import RecordAnswer, answered
from txnlog.report.record_output import MEANINGS
from txnlog.sources.log_copy import Place
from txnlog.sources.outcome import Outcome
from txnlog.sources.record_outcome import record_outcomes
from txnlog.tables.layout import TRANSACTIONS, Root
from txnlog.times import epoch_ms

ORDERS = Place("orders", 0)
AT = epoch_ms(at(5))
EVENING = "2026-11-21T22:00"
# What two leaders wrote.
FIFTH, SIXTH = {"partition_leader_epoch": 5}, {"partition_leader_epoch": 6}
ID = "it's\n\x1b[2J"


def dump_of(folder: Path, *copies: bytes) -> Path:
    for broker, content in enumerate(copies, 1):
        segment(folder / "dump" / f"broker-{broker}", "orders-0", content)
    return folder / "dump"


def answer_of(dump: Path, offset: int = 0, root: Root | None = None) -> RecordAnswer:
    cluster, copies = record_outcomes(inventory(dump, "c"), ORDERS, offset)
    return answered(cluster, ORDERS, offset, copies, root)


def transaction(**values: Any) -> Row:
    return {
        "cluster": "c", "transactional_id": ID, "topic_id": "t", "producer_id": 1000, "start_timestamp": at(3),
        "decided_at": at(4), "completed_at": at(6), "outcome": "COMMIT", "end_epoch": 1, "ended_by": "CLIENT",
        "partitions": [{"topic": "orders", "partition": 0, "listed_at": at(3)}],
    } | values  # fmt: skip


def tables(folder: Path, transactions: list[Row], **rows: list[Row]) -> Root:
    ids = [{"cluster": "c", "producer_id": 1000, "transactional_id": ID}]
    root = written(folder / "tables", {"transactional_ids": ids} | rows)
    put(root, TRANSACTIONS, transactions)
    return root


@pytest.mark.parametrize(
    ("copies", "offset", "expected"),
    [
        ([data(0), data(0) + marker(1)], 0, "COMMITTED"),
        ([data(0) + marker(1), b""], 0, "COMMITTED"),
        ([data(0), b""], 0, "OPEN"),
        ([data(0), data(0) + b"?" * 80], 0, "UNKNOWN"),
        ([b"", b"?" * 80], 0, "UNKNOWN"),
        ([data(0) + marker(1, kind=ABORT), data(0) + marker(1)], 0, "CONTRADICTED"),
        # Another batch at the same offset: one of the copies was truncated, and written anew.
        ([data(0) + marker(1), data(0, 1001) + marker(1, 1001)], 0, "CONTRADICTED"),
        ([data(0, **FIFTH), data(0, **SIXTH)], 0, "CONTRADICTED"),
        # The later leader does not have the marker, nor the record.
        ([data(0, **FIFTH) + marker(1, **FIFTH), data(0, **FIFTH) + data(1, 1001, **SIXTH)], 0, "CONTRADICTED"),
        ([data(0, **FIFTH) + data(1, **FIFTH) + marker(2), data(0, **SIXTH)], 1, "CONTRADICTED"),
        # The earlier one lags.
        ([data(0, **FIFTH) + data(1, **SIXTH) + marker(2, **SIXTH), data(0, **FIFTH)], 1, "COMMITTED"),
        ([data(0, **FIFTH) + marker(1, **SIXTH), data(0, **FIFTH)], 0, "COMMITTED"),
        # It goes on without the marker.
        ([data(0) + marker(1), data(0) + data(1) + data(2)], 0, "CONTRADICTED"),
        # Each broker cleans for itself: what one lacks the other one has still.
        ([data(0) + data(1) + marker(2), data(0) + marker(2)], 1, "CLEANED"),
        ([data(0) + marker(9, kind=ABORT), data(0)], 0, "UNKNOWN"),
    ],
)
def test_all_copies_give_one_answer(copies: list[bytes], offset: int, expected: str, tmp_path: Path) -> None:
    assert answer_of(dump_of(tmp_path, *copies), offset).outcome == expected


def test_a_copy_of_an_earlier_topic_of_that_name_is_another_log(tmp_path: Path) -> None:
    dump = dump_of(tmp_path, data(0) + marker(1), data(0) + marker(1))
    for broker, topic_id in enumerate(("AAAAAAAAAAAAAAAAAAAAAA", "BBBBBBBBBBBBBBBBBBBBBA"), 1):
        (dump / f"broker-{broker}/orders-0/partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    assert answer_of(dump).outcome == "CONTRADICTED"


def test_the_checkpoint_of_leader_epochs_counts_too(tmp_path: Path) -> None:
    """A new leader that has written nothing yet."""
    dump = dump_of(tmp_path, data(0, **FIFTH) + marker(1, **FIFTH), data(0, **FIFTH))
    assert answer_of(dump).outcome == "COMMITTED"
    (dump / "broker-2/orders-0/leader-epoch-checkpoint").write_text("0\n2\n5 0\n6 1\n")
    assert answer_of(dump).outcome == "CONTRADICTED"
    # Written after the segment was copied.
    (dump / "broker-2/orders-0/leader-epoch-checkpoint").write_text("0\n2\n5 0\n6 4\n")
    assert answer_of(dump).outcome == "COMMITTED"


def test_where_one_broker_deleted_it_no_consumer_gets_it(tmp_path: Path) -> None:
    dump = dump_of(tmp_path, data(0) + marker(1), data(0) + marker(1))
    (dump / "broker-2/log-start-offset-checkpoint").write_text(checkpoint([("orders", 0, 2)]))
    assert answer_of(dump).outcome == "BEFORE_START"


def test_each_outcome_has_its_meaning() -> None:
    assert set(MEANINGS) == {*Outcome}


@pytest.mark.parametrize(
    ("transactions", "expected"),
    [
        # Each transaction of version 2 has an epoch of its own.
        ([transaction(client_transaction_version=2, decided_at=at(50), completed_at=at(60))], "EPOCH"),
        ([transaction()], "TIME"),
        ([transaction(), transaction(start_timestamp=at(13), decided_at=at(14), completed_at=at(16))], "TIME"),
        ([transaction(), transaction(start_timestamp=at(2))], None),
        ([transaction(decided_at=at(14), completed_at=at(16))], None),
        ([transaction(completed_at=None)], None),
        ([transaction(client_transaction_version=2, end_epoch=2)], None),
        ([transaction(outcome="ABORT")], None),
        ([transaction(producer_id=1001)], None),
        ([transaction(cluster="d")], None),
        ([transaction(partitions=[{"topic": "orders", "partition": 1, "listed_at": at(3)}])], None),
        ([], None),
    ],
)
def test_its_transaction_is_the_only_one_that_fits(
    transactions: list[Row], expected: str | None, tmp_path: Path
) -> None:
    dump = dump_of(tmp_path, data(0) + marker(1, producer_epoch=1, max_timestamp=AT))
    known = answer_of(dump, 0, tables(tmp_path, transactions)).known
    assert known is not None
    assert (known.matched_by, list(known.transactional_ids)) == (expected, [ID])
    assert (known.transaction is not None) == (expected is not None)
    if known.transaction is not None:
        assert known.transaction["start_timestamp"] == at(3)


@pytest.mark.parametrize(
    ("written_at", "epoch", "older"),
    [
        (AT - 1, 0, False),
        # By the producer's clock it was written long before the start; a minute says nothing.
        (AT - 3_600_000, 0, True),
        (AT - 30_000, 0, False),
        (-1, 0, False),
        # Of version 2: each transaction has an epoch of its own, and this one is not the batch's.
        (AT - 1, 1, True),
    ],
)
def test_a_record_of_before_the_transaction_is_not_called_a_part_of_it(
    written_at: int, epoch: int, older: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own marker was lost, or it came late: the next marker of its producer ends it as well."""
    dump = dump_of(tmp_path, data(0, max_timestamp=written_at) + marker(1, producer_epoch=1, max_timestamp=AT))
    root = tables(tmp_path, [transaction(producer_epoch=epoch)])
    known = answer_of(dump, 0, root).known
    assert known is not None
    assert known.transaction is not None
    assert known.is_older == older
    (dump / "dump.toml").write_text('cluster = "c"\n')
    arguments = ["record", str(dump), "--topic", "orders", "--partition", "0", "--offset", "0", "--tables", root.text]
    assert main(arguments) == 0
    said = seen(capsys.readouterr().out)
    assert any(line.startswith("  the record is older than that transaction") for line in said) == older
    assert any(line.startswith("  its transaction: began") for line in said) != older


@pytest.mark.parametrize(("seconds", "torn"), [(6, True), (120, False)])
def test_a_marker_that_says_otherwise_than_the_coordinator_is_torn(
    seconds: int, torn: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless another transaction may be meant."""
    dump = dump_of(tmp_path, data(0, max_timestamp=AT - 1) + marker(1, producer_epoch=1, max_timestamp=AT))
    other = transaction(outcome="ABORT", start_timestamp=at(seconds), decided_at=at(seconds + 1), completed_at=None)
    near = transaction(outcome="ABORT")
    root = tables(tmp_path, [near] if torn else [near, other | {"completed_at": at(seconds + 2)}, transaction()])
    known = answer_of(dump, 0, root).known
    assert known is not None
    assert (known.torn is not None, known.torn_by) == ((True, "TIME") if torn else (False, None))
    (dump / "dump.toml").write_text('cluster = "c"\n')
    arguments = ["record", str(dump), "--topic", "orders", "--partition", "0", "--offset", "0", "--tables", root.text]
    assert main(arguments) == 0
    said = seen(capsys.readouterr().out)
    assert (
        any(line.startswith("  its coordinator decided ABORT: the marker here says otherwise") for line in said) == torn
    )


def dumps(*as_of: int, **values: Any) -> list[Row]:
    place = {"cluster": "c", "topic": "orders", "partition": 0, "kind": "segment", "copy_chosen": True}
    return [place | {"as_of": at(each)} | values for each in as_of]


def open_from(start: int, as_of: int, producer: int = 1000, **values: Any) -> Row:
    place = {"cluster": "c", "topic": "orders", "partition": 0, "producer_id": producer, "start_offset": start}
    return place | {"as_of": at(as_of), "cause": "STUCK_ONGOING", "action": "FENCE"} | values


@pytest.mark.parametrize(
    ("opened", "as_of", "own", "stops_at"),
    [
        ([open_from(3, 9)], [9], 3, 3),
        ([open_from(1, 9, 1001), open_from(3, 9)], [9], 3, 1),
        # By a later dump nothing is open there any more.
        ([open_from(3, 8)], [8, 9], None, None),
        ([open_from(4, 9)], [9], None, None),
        (
            [open_from(3, 9, topic="others"), open_from(3, 9, partition=1), open_from(3, 9, cluster="d")],
            [9],
            None,
            None,
        ),
        ([], [], None, None),
    ],
)
def test_consumers_stop_where_the_latest_dump_has_the_first_open_transaction(
    opened: list[Row], as_of: list[int], own: int | None, stops_at: int | None, tmp_path: Path
) -> None:
    dump = dump_of(tmp_path, data(1, 1001) + marker(2, 1001) + data(3))
    root = tables(tmp_path, [], dump_files=dumps(*as_of), open_transactions=opened)
    known = answer_of(dump, 3, root).known
    assert known is not None
    assert known.stops_at == stops_at
    assert (known.open_transaction or {}).get("start_offset") == own


def test_the_text_says_all_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written_data = data(0, count=2, max_timestamp=AT - 1)
    whole = written_data + marker(2, producer_epoch=1, coordinator_epoch=4, max_timestamp=AT)
    dump = dump_of(tmp_path, written_data, whole)
    root = tables(tmp_path, [transaction()], dump_files=dumps(9), open_transactions=[open_from(0, 9, 1001)])
    arguments = ["record", str(dump), "--cluster", "c", "--topic", "orders", "--partition", "0", "--offset", "1"]
    segment(dump / "broker-2", "orders-0", whole)
    (dump / "dump.toml").write_text('cluster = "c"\n')
    assert main([*arguments, "--tables", root.text]) == 0
    its_transaction = (
        f"  its transaction: began {EVENING}:03.000Z, decided {EVENING}:04.000Z, completed {EVENING}:06.000Z"
        " (coordinator's clock), ended by CLIENT; found by the marker's time, if clocks agree"
    )
    assert capsys.readouterr().out.splitlines() == [
        "orders-0 in cluster c, offset 1: COMMITTED",
        "  a COMMIT marker ends it: read_committed consumers get it, once they get so far",
        f"  by the dump of {EVENING}:09.000Z they stop at offset 0, where a transaction is open",
        f"    txnlog explain --tables {root.text} --topic orders --partition 0",
        "Its batch",
        "  offsets 0 to 1, 2 records, producer id 1000, epoch 0, 2026-11-21T22:00:04.999Z (producer's clock)",
        f"    broker-2/orders-0/{0:020}.log, byte 0",
        "What ended its transaction",
        "  COMMIT at offset 2, producer epoch 1, coordinator epoch 4, 2026-11-21T22:00:05.000Z (broker's clock)",
        f"    broker-2/orders-0/{0:020}.log, byte {len(written_data)}",
        "Its producer",
        "  transactional id it's\\n\\x1b[2J",
        its_transaction,
        "Copies",
        "  broker-1: OPEN: no marker follows up to the end of the copy, offset 2",
        "  broker-2: COMMITTED: the next marker of its producer id is COMMIT",
    ]
    assert main([*arguments, "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["outcome"], printed["copies"][1]["ended_by"]["base_offset"]) == ("COMMITTED", 2)
    assert printed["copies"][1]["batch"]["max_timestamp"] == f"{EVENING}:04.999Z"


def test_of_copies_that_contradict_each_other_the_batch_of_each_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = dump_of(tmp_path, data(0, **FIFTH, max_timestamp=AT), data(0, 1001, **SIXTH, max_timestamp=-1))
    arguments = ["record", str(dump), "--topic", "orders", "--partition", "0", "--offset", "0"]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("CONTRADICTED")
    assert [line.split(", ", 2)[2] for line in lines if "producer id" in line] == [
        f"producer id 1000, epoch 0, {EVENING}:05.000Z (producer's clock)",
        "producer id 1001, epoch 0, without a time",
    ]
    assert main([*arguments, "--format", "json"]) == 0
    times = [copy["batch"]["max_timestamp"] for copy in json.loads(capsys.readouterr().out)["copies"]]
    assert times == [f"{EVENING}:05.000Z", None]


def test_without_tables_it_says_what_they_would_tell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = dump_of(tmp_path, data(0) + marker(1))
    assert main(["record", str(dump), "--topic", "orders", "--partition", "0", "--offset", "0"]) == 0
    assert "  add --tables, with the tables of txnlog detect, for the transactional id" in seen(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--partition", "7"], "the dump has no log of orders-7: `txnlog check` prints what it has"),
        (["--offset", "-1"], "--offset: -1 is below 0"),
        (["--offset", str(2**63)], "--offset: 9223372036854775808 is above 9223372036854775807"),
        (["--partition", "-1"], "--partition: -1 is below 0"),
        (["--cluster", "nope"], "the dump has no log of orders-0 of cluster nope"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = dump_of(tmp_path, data(0))
    usual = ["record", str(dump), "--topic", "orders", "--partition", "0", "--offset", "0"]
    assert main([*usual, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_tables_of_another_cluster_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else it would say that nobody knows the producer id."""
    dump, root = dump_of(tmp_path, data(0)), report_tables.written(tmp_path / "tables", [], [report_tables.night()])
    report_tables.write(tmp_path / "tables", TRANSACTIONS, [])
    usual = ["record", str(dump), "--topic", "orders", "--partition", "0", "--offset", "0", "--tables"]
    assert main([*usual, root.text]) == 2
    assert f"--tables: {root.text} has nothing of" in capsys.readouterr().err
    assert main([*usual, str(tmp_path / "absent")]) == 4
    assert "there is no table" in capsys.readouterr().err
