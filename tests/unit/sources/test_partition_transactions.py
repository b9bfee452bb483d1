"""The transactions of a log as rows say of each record what `txnlog record` says of it alone, however they are read."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.kafka.generated_logs import LOGS, Log, log_of
from tests.unit.sources.test_record_outcome import PARTLY_CLEANED, TEXTS, emptied, emptied_marker, listed
from tests.writer import ABORT, NOW, batch, checkpoint, data, marker, put, record, segment
from txnlog.dump.inventory import inventory
from txnlog.sources import reading
from txnlog.sources.batch_columns import batches_of_run
from txnlog.sources.files import SegmentReading
from txnlog.sources.log_copy import Place
from txnlog.sources.log_transactions import LogTransactions
from txnlog.sources.outcome import Outcome, RecordOutcome
from txnlog.sources.partition_transactions import transactions
from txnlog.sources.producer_batches import Batches
from txnlog.sources.record_outcome import record_outcomes

ORDERS = Place("orders", 0)
LOG = "broker-1/orders-0/00000000000000000000.log"
OUTCOMES = {Outcome.COMMITTED: "COMMIT", Outcome.ABORTED: "ABORT", Outcome.OPEN: "OPEN", Outcome.UNKNOWN: "UNKNOWN"}
Row = dict[str, Any]


def rows(dump: Path) -> list[Row]:
    """The rows of the only copy."""
    (found,) = transactions(inventory(dump), ORDERS)
    return [row for some in found.rows for row in some.to_pylist()]


def of_log(dump: Path, *batches: bytes, base_offset: int = 0) -> list[Row]:
    segment(dump / "broker-1", "orders-0", b"".join(batches), base_offset)
    return rows(dump)


def said(found: list[Row], one: RecordOutcome) -> str:
    """What the rows say of the batch of a record."""
    assert one.batch is not None
    (row,) = [
        row
        for row in found
        if row["producer_id"] == one.batch.producer_id
        and row["first_offset"] is not None
        and row["first_offset"] <= one.batch.base_offset <= row["last_offset"]
    ]
    begins = row["outcome_from"]
    return str(row["outcome"]) if begins is not None and begins <= one.batch.base_offset else "UNKNOWN"


def compared(dump: Path, end: int) -> Iterator[tuple[RecordOutcome, str, str]]:
    """Each record of a transaction by itself, what became of it, and what the rows say of it."""
    listing, found = inventory(dump), rows(dump)
    for offset in range(end):
        _, (one,) = record_outcomes(listing, ORDERS, offset)
        batch = one.batch
        if batch is None or not batch.is_transactional or batch.is_control or one.outcome not in OUTCOMES:
            continue
        if batch.records == batch.last_offset - batch.base_offset + 1:
            yield one, OUTCOMES[one.outcome], said(found, one)


@pytest.mark.parametrize(
    "batches",
    [
        [data(0), marker(1)],
        [data(0), data(1, 1001), marker(2, 1001), data(3, 1001), marker(4, kind=ABORT)],
        [data(0), marker(1), data(2), marker(3, kind=ABORT), data(4)],
        [data(0, count=5), marker(5)],
        [data(0), marker(9), data(10), marker(20, kind=ABORT), data(21)],
        [data(0), data(9), marker(10, kind=ABORT), data(11), data(20)],
        [data(0), emptied_marker(1), data(2), marker(3)],
        [emptied(0), data(1), marker(2)],
        [PARTLY_CLEANED, data(3), marker(4)],
        [data(0), b"?" * 80, data(2), marker(3), data(4), b"?" * 80],
        [data(0), b"?" * 80, data(2), data(9), marker(10, kind=ABORT)],
        [data(0), b"?" * 80],
        [b"?" * 80, data(1), marker(2)],
        [data(0), data(1)[:70]],
    ],
)
def test_rows_and_single_records_agree(batches: list[bytes], tmp_path: Path) -> None:
    segment(tmp_path / "broker-1", "orders-0", b"".join(batches))
    found = [*compared(tmp_path, 30)]
    assert found
    assert [(one, expected) for one, expected, got in found if expected != got] == []


@given(LOGS, st.randoms(use_true_random=False))
def test_they_agree_on_generated_logs_from_which_batches_were_lost(
    tmp_path_factory: pytest.TempPathFactory, steps: bytes, chance: random.Random
) -> None:
    log, dump = log_of(steps), tmp_path_factory.mktemp("dump")
    for base, entries in log.segments.items():
        kept = [entry.content() for entry in entries if chance.random() < 0.95]
        # Bytes that are no batch, at one place of some segments.
        if chance.random() < 0.1:
            kept.insert(chance.randint(0, len(kept)), b"?" * 80)
        segment(dump / "broker-1", "orders-0", b"".join(kept), base)
    differing = [(one, expected, got) for one, expected, got in compared(dump, log.next_offset) if expected != got]
    shutil.rmtree(dump)
    assert differing == []


@given(LOGS, st.randoms(use_true_random=False))
def test_with_an_index_they_say_no_more_than_a_single_record_whatever_was_lost(
    tmp_path_factory: pytest.TempPathFactory, steps: bytes, chance: random.Random
) -> None:
    log, dump = log_of(steps), tmp_path_factory.mktemp("dump")
    entries = [each for each in aborted_of(log) if chance.random() < 0.8]
    stale = 1000 + chance.randrange(4), chance.randrange(log.next_offset), log.next_offset + 9
    # One of a log that was truncated since.
    if chance.random() < 0.3 and all(each[0] != stale[0] or each[2] < stale[1] for each in entries):
        entries.append(stale)
    listed(dump, *entries)
    for base, batches in log.segments.items():
        kept = [batch.content() for batch in batches if chance.random() < 0.9]
        if chance.random() < 0.2:
            kept.insert(chance.randint(0, len(kept)), b"?" * 80)
        segment(dump / "broker-1", "orders-0", b"".join(kept), base)
    found = [*compared(dump, log.next_offset)]
    shutil.rmtree(dump)
    assert [(one, expected, got) for one, expected, got in found if got not in (expected, "UNKNOWN")] == []


def aborted_of(log: Log) -> Iterator[tuple[int, int, int]]:
    """What a broker lists: producer id, first offset, and offset of the marker."""
    begun: dict[int, int] = {}
    for base in sorted(log.segments):
        for entry in log.segments[base]:
            if entry.kind == "data" and entry.is_transactional:
                begun.setdefault(entry.producer_id, entry.base_offset)
            elif entry.kind in ("COMMIT", "ABORT") and not entry.is_emptied:
                first = begun.pop(entry.producer_id, None)
                if entry.kind == "ABORT" and first is not None:
                    yield entry.producer_id, first, entry.base_offset


@given(LOGS, st.randoms(use_true_random=False))
def test_it_does_not_matter_in_how_many_pieces_a_log_is_read(
    tmp_path_factory: pytest.TempPathFactory, steps: bytes, chance: random.Random
) -> None:
    log, dump = log_of(steps), tmp_path_factory.mktemp("dump")
    for base, entries in log.segments.items():
        kept = [entry.content() for entry in entries if chance.random() < 0.9]
        segment(dump / "broker-1", "orders-0", b"".join(kept), base)
    whole, in_pieces = LogTransactions(), LogTransactions()
    of_whole, of_pieces = [], []
    for file in inventory(dump).files:
        for order in (whole, in_pieces):
            order.begin(file, file.base_offset or 0)
        for run, found in SegmentReading(file).runs():
            batches = batches_of_run(run, found, False)
            of_whole += whole.add(file, batches).tolist()
            for piece in pieces(batches, chance):
                of_pieces += in_pieces.add(file, piece).tolist()
    shutil.rmtree(dump)
    assert sorted(of_pieces) == sorted(of_whole)
    assert in_pieces.unended().tolist() == whole.unended().tolist()


def pieces(batches: Batches, chance: random.Random) -> Iterator[Batches]:
    number = len(batches.base_offset)
    cuts = [0, *sorted(chance.randint(0, number) for _ in range(5)), number]
    for start, end in pairwise(cuts):
        yield Batches._make(column[np.arange(start, end)] for column in batches)


def test_a_row_has_what_the_data_and_the_marker_say(tmp_path: Path) -> None:
    batches = (
        data(0, max_timestamp=NOW + 5),
        batch(1, [record()]),
        data(2, count=3, max_timestamp=NOW + 9),
        marker(5, producer_epoch=1, kind=ABORT, coordinator_epoch=7, max_timestamp=NOW + 20),
        data(6, producer_epoch=1),
    )
    ended, unended = of_log(tmp_path, *batches)
    size = len(data(0)) + len(data(2, count=3))
    assert ended == {
        "cluster": ended["cluster"], "broker": "broker-1", "log_dir": "broker-1", "topic": "orders", "partition": 0,
        "producer_id": 1000, "producer_epoch": 0, "lowest_producer_epoch": 0, "outcome": "ABORT", "outcome_from": 0,
        "is_whole": True, "first_offset": 0, "last_offset": 4, "batches": 2, "records": 4, "size_in_bytes": size,
        "first_timestamp": NOW, "last_timestamp": NOW + 9, "is_log_append_time": False, "marker_offset": 5,
        "marker_epoch": 1, "coordinator_epoch": 7, "marker_timestamp": NOW + 20, "previous_marker_type": None,
        "previous_marker_offset": None, "previous_marker_epoch": None, "reason": None,
        "file": LOG, "position": 0, "marker_file": LOG, "marker_position": sum(map(len, batches[:3])),
    }  # fmt: skip
    assert (unended["outcome"], unended["marker_offset"], unended["first_offset"]) == ("OPEN", None, 6)
    previous = [unended[f"previous_marker_{name}"] for name in ("type", "offset", "epoch")]
    assert previous == ["ABORT", 5, 1]
    assert unended["is_whole"]


def test_data_and_marker_are_each_named_by_their_file_and_byte(tmp_path: Path) -> None:
    segment(tmp_path / "broker-1", "orders-0", data(0, 1001) + data(1), 0)
    segment(tmp_path / "broker-1", "orders-0", data(2, 1001) + data(3), 2)
    second = segment(tmp_path / "broker-1", "orders-0", data(4) + marker(5), 4)
    ended, unended = rows(tmp_path)
    assert (ended["file"], ended["position"]) == (LOG, len(data(0, 1001)))
    assert (ended["marker_file"], ended["marker_position"]) == (f"broker-1/orders-0/{second.name}", len(data(4)))
    assert (unended["file"], unended["position"], unended["marker_file"]) == (LOG, 0, None)


@pytest.mark.parametrize(
    ("batches", "base_offset", "is_whole"),
    [
        ([data(5), marker(6)], 5, [False]),
        ([data(5), marker(6), data(7), marker(8)], 5, [False, True]),
        ([data(0), marker(1), data(2), marker(5)], 0, [True, False]),
        ([marker(0), data(3), marker(4)], 0, [True, False]),
        ([PARTLY_CLEANED, marker(3)], 0, [False]),
    ],
)
def test_only_a_transaction_of_which_nothing_can_be_missing_is_whole(
    batches: list[bytes], base_offset: int, is_whole: list[bool], tmp_path: Path
) -> None:
    assert [row["is_whole"] for row in of_log(tmp_path, *batches, base_offset=base_offset)] == is_whole


def test_before_a_gap_the_data_may_be_of_another_transaction(tmp_path: Path) -> None:
    (row,) = of_log(tmp_path, data(0), data(9), marker(10, kind=ABORT))
    assert (row["outcome"], row["outcome_from"]) == ("ABORT", 9)
    assert row["reason"] == (
        "the log cleaner removed offsets 1 to 8, perhaps a COMMIT marker: data before that may be of another one"
    )
    # The index tells.
    listed(tmp_path, (1000, 0, 10))
    (row,) = rows(tmp_path)
    assert (row["outcome"], row["outcome_from"]) == ("ABORT", 0)


def test_a_marker_after_a_gap_proves_nothing_of_all_data_before_it(tmp_path: Path) -> None:
    (row,) = of_log(tmp_path, data(0), marker(9, kind=ABORT))
    assert (row["outcome"], row["outcome_from"], row["marker_offset"]) == ("UNKNOWN", None, 9)
    assert row["reason"] == "the log cleaner removed offsets 1 to 8, perhaps a COMMIT marker"


@pytest.mark.parametrize(
    ("batches", "expected", "marker_offset"),
    [
        ([data(0), marker(9, kind=ABORT)], "ABORT", 9),
        ([data(0), b"?" * 80, data(12), marker(13)], "UNKNOWN", 13),
        ([data(0), b"?" * 80, marker(13)], "ABORT", 9),
        ([data(0)], "ABORT", 9),
        ([data(0), marker(9)], "UNKNOWN", 9),
        ([data(0), *(data(offset, 1001) for offset in range(1, 11))], "UNKNOWN", None),
        ([data(0), marker(1, kind=ABORT)], "UNKNOWN", 1),
    ],
)
def test_the_transaction_index_is_evidence_too(
    batches: list[bytes], expected: str, marker_offset: int | None, tmp_path: Path
) -> None:
    listed(tmp_path, (999, 0, 4), (1000, 0, 9), (1002, 0, 3))
    row = next(row for row in of_log(tmp_path, *batches) if row["producer_id"] == 1000)
    told = row["outcome"] if row["outcome_from"] == 0 else "UNKNOWN"
    assert (told, row["marker_offset"]) == (expected, marker_offset)
    if expected == "ABORT":
        assert row["reason"] is None or "transaction index" in row["reason"]


def test_an_entry_is_of_what_lies_from_its_first_offset_on(tmp_path: Path) -> None:
    listed(tmp_path, (1000, 2, 3), (1000, 4, 9))
    batches = (data(0), marker(1), data(2), marker(3, kind=ABORT), data(4), data(5), marker(9, kind=ABORT))
    assert [(row["outcome"], row["outcome_from"]) for row in of_log(tmp_path, *batches)] == [
        ("COMMIT", 0),
        ("ABORT", 2),
        ("ABORT", 4),
    ]
    # What was lost was not of it.
    listed(tmp_path, (1000, 12, 14))
    lost, _ = of_log(tmp_path, data(0), b"?" * 80, data(15, 1001))
    assert (lost["producer_id"], lost["outcome"]) == (1000, "UNKNOWN")


@pytest.mark.parametrize(
    ("entry", "outcome", "outcome_from"),
    [
        # Its marker lies beyond the end of the copy; before its first offset another one may have ended.
        ((1000, 2, 9), "ABORT", 2),
        # The log has something else there.
        ((1000, 0, 1), "UNKNOWN", None),
        ((1001, 1, 9), "OPEN", 0),
    ],
)
def test_an_entry_of_what_is_open(
    entry: tuple[int, int, int], outcome: str, outcome_from: int | None, tmp_path: Path
) -> None:
    listed(tmp_path, entry)
    row = next(row for row in of_log(tmp_path, data(0), data(1, 1001), data(2)) if row["producer_id"] == 1000)
    assert (row["outcome"], row["outcome_from"]) == (outcome, outcome_from)


def test_what_lies_below_the_log_start_offset_is_left_out(tmp_path: Path) -> None:
    put(tmp_path / "broker-1/log-start-offset-checkpoint", checkpoint([("orders", 0, 2)]))
    (row,) = of_log(tmp_path, data(0), marker(1), data(2), marker(3))
    assert row["first_offset"] == 2


def test_batches_out_of_order_prove_nothing_from_there_on(tmp_path: Path) -> None:
    segment(tmp_path / "broker-1", "orders-0", data(0) + marker(1), 0)
    segment(tmp_path / "broker-1", "orders-0", data(7) + data(3) + marker(8), 2)
    first, second = rows(tmp_path)
    assert (first["outcome"], second["outcome"]) == ("COMMIT", "UNKNOWN")
    assert "not in order" in second["reason"]


@pytest.mark.parametrize("text", ["deep.txt", "shallow.txt"])
def test_printed_output_has_the_same_transactions(text: str, tmp_path: Path) -> None:
    shutil.copy(TEXTS / "4.3.0" / text, put(tmp_path / "text/broker-1/x.txt"))
    segment(tmp_path / "raw/broker-1", "orders-0", (TEXTS / "4.3.0/segment").read_bytes())
    printed, raw = rows(tmp_path / "text"), rows(tmp_path / "raw")
    assert len(raw) > 2
    names = ("producer_id", "first_offset", "last_offset", "marker_offset", "batches", "previous_marker_offset")
    assert [[row[name] for name in names] for row in printed] == [[row[name] for name in names] for row in raw]
    if text == "deep.txt":
        assert [row["outcome"] for row in printed] == [row["outcome"] for row in raw]
    else:
        assert {row["outcome"] for row in printed} <= {"OPEN", "UNKNOWN"}


def test_printed_output_with_a_forged_line_tells_nothing(tmp_path: Path) -> None:
    text = (TEXTS / "4.3.0/deep.txt").read_text()
    forged = text[text.rindex("baseOffset") :].replace("baseOffset: ", "baseOffset: 9")
    put(tmp_path / "broker-1/x.txt", text + forged.replace("lastOffset: ", "lastOffset: 9"))
    found = rows(tmp_path)
    assert {row["outcome"] for row in found} == {"UNKNOWN"}
    assert all("forged by a payload" in row["reason"] for row in found)


def test_a_frame_has_the_rows_of_each_copy(spark: SparkSession, tmp_path: Path) -> None:
    segment(tmp_path / "broker-1", "orders-0", data(0) + marker(1))
    segment(tmp_path / "broker-2", "orders-0", data(0))
    segment(tmp_path / "broker-2", "orders-1", data(0, 1001))
    text = (TEXTS / "4.3.0/deep.txt").read_text()
    heading, _, lines = text.partition("\n")
    payments = heading.replace("orders-0", "payments-3")
    assert payments != heading
    put(tmp_path / "broker-3/x.txt", f"{text}{payments}\n{lines}")
    read = reading.partition_transactions(spark, str(tmp_path))
    told = {
        (row["log_dir"], row["topic"], row["partition"], row["producer_id"], row["marker_offset"], row["outcome"])
        for row in read.collect()
    }
    assert {row for row in told if row[0] != "broker-3"} == {
        ("broker-1", "orders", 0, 1000, 1, "COMMIT"),
        ("broker-2", "orders", 0, 1000, None, "OPEN"),
        ("broker-2", "orders", 1, 1001, None, "OPEN"),
    }
    of_orders, of_payments = (
        {row[3:] for row in told if row[:3] == ("broker-3", *place)} for place in (("orders", 0), ("payments", 3))
    )
    assert len(of_orders) > 2
    assert of_orders == of_payments
    chosen = reading.partition_transactions(spark, str(tmp_path), partitions="orders-1, payments-*")
    assert {(row["topic"], row["partition"]) for row in chosen.collect()} == {("orders", 1), ("payments", 3)}
    reading.register(spark)
    loaded = spark.read.format("txnlog_partition_transactions").option("path", str(tmp_path)).load()
    assert loaded.schema == read.schema
    assert sorted(map(str, loaded.collect())) == sorted(map(str, read.collect()))
