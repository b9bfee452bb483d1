"""Verdicts by the text of `kafka-dump-log.sh`: weaker than by the files themselves, never stronger."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.detection_cases import Case, Found, facts
from tests.logs_in_words import MINUTE, START
from txnlog.config import Thresholds
from txnlog.detection.copy_times import copy_times
from txnlog.detection.verdicts import with_verdicts
from txnlog.format.coordinator import TRANSACTION_STATE

COORDINATOR_AGAIN = f"kafka-dump-log.sh --transaction-log-decoder --files {TRANSACTION_STATE}-0/*.log"
PARTITION_AGAIN = "kafka-dump-log.sh --deep-iteration --files orders-0/*.log"
COMMITTED = "empty@50 ongoing@99[orders-0] prepare_commit@101 complete@101"

VERDICTS = [
    Case("text: whole, as far as a text can be", "text data(0)@100", "empty@50", want=("NEVER_ADDED ABORT MEDIUM", "")),
    Case("text: of the coordinator alone", "data(0)@100 abort(1, of=9)@150", "text empty@50 id(shop, of=8) empty@200", want=("NEVER_ADDED ABORT MEDIUM", "")),
    Case("text: of all that there is", "text data(0)@100 abort(1, of=9)@999", "text empty@50", want=("NEVER_ADDED ABORT MEDIUM", "")),
    Case("text: of a coordinator that knows nobody", "abort(0, of=9)@60 data(1)@100 abort(2, of=9)@150",
         "text id(shop, of=8) empty@50 empty(epoch=1)@200", want=("COORDINATOR_UNKNOWN ABORT MEDIUM", "")),
    Case("text: committed data is kept", "text data(0)@100", COMMITTED, want=("MARKER_LOST_COMMIT KEEP MEDIUM", "")),
    Case("text: young", "text data(0)@995", "empty@50", want=("TOO_YOUNG WAIT MEDIUM", "")),
    Case("text: cut short", "text data(0)@100 damage(end)", "empty@50",
         want=("CORRUPT_INPUT UNDETERMINED LOW", PARTITION_AGAIN)),
    Case("text: of the id's coordinator, cut short", "data(0)@100", "text empty@50 damage(end)",
         want=("CORRUPT_INPUT UNDETERMINED LOW", COORDINATOR_AGAIN)),
    Case("text: of a coordinator, a record is not decoded", "data(0)@100", "text empty@50 unreadable@60",
         want=("CORRUPT_INPUT UNDETERMINED LOW", COORDINATOR_AGAIN)),
    Case("text: after a marker of which it does not say what it is", "text data(0)@100 unprinted(1)@101 data(2)@102",
         "empty@50 ongoing@99[orders-0] prepare_abort@101 complete@101",
         want=("NOT_PRINTED UNDETERMINED LOW", PARTITION_AGAIN)),
    Case("text: after a marker of which it does not say what it is, and of no transaction",
         "text data(0)@100 unprinted(1)@101 data(2)@102", "empty@50", want=("NOT_PRINTED UNDETERMINED LOW", "offset 1")),
    Case("text: committed data after such a marker is kept", "text unprinted(0)@90 data(1)@100", COMMITTED,
         want=("MARKER_LOST_COMMIT KEEP MEDIUM", "")),
    Case("text: such a marker elsewhere ended the epoch, and no COMMIT that follows it did", "data(0)@100",
         "skip(5) id(shop, of=8) empty@200 cleaned_to(5)",
         logs={"payments-0@1": "text data(0)@60 unprinted(1)@61 commit(2, epoch=1)@150"},
         want=("HISTORY_COMPACTED UNDETERMINED LOW", "")),
    Case("text: such a marker of another producer says nothing", "text data(0)@100 unprinted(1, of=8)@101", "empty@50",
         want=("NEVER_ADDED ABORT MEDIUM", "")),
    Case("text: ongoing by its last update, which is later than its start", "data(0)@100 abort(1, of=9)@150",
         "text empty@50 ongoing@99[orders-0] id(shop, of=8) empty@200",
         want=("STUCK_ONGOING FENCE MEDIUM", "")),
    Case("text: ongoing, and updated within its timeout", "data(0)@100", "text empty@50 ongoing@99[orders-0] ongoing@999",
         want=("ONGOING WAIT MEDIUM", "")),
    Case("text: beside the raw segments, which it repeats", "data(0)@100 listed@101", "empty@50",
         logs={"orders-0@2": "text data(0)@100"}, want=("NEVER_ADDED ABORT HIGH", "")),
    Case("text: beside raw segments that end before it", "data(0)@100", "empty@50",
         logs={"orders-0@2": "text data(0)@100 commit(1)@101"}, want=("COVERAGE_GAP UNDETERMINED LOW", "at least 2")),
    Case("text: beside raw segments of an earlier leader", "data(0)@100", "empty@50",
         logs={"orders-0@2": "text data(0, leader=2)@100"},
         want=("COVERAGE_GAP UNDETERMINED LOW", "later leader epoch than its raw segments")),
    Case("text: beside raw segments of a later leader", "data(0, leader=3)@100 listed@101", "empty@50",
         logs={"orders-0@2": "text data(0, leader=2)@100"}, want=("NEVER_ADDED ABORT HIGH", "")),
]  # fmt: skip
CLOSED = [
    Case("text: a marker ends a transaction whichever it is", "text data(0)@100 unprinted(1)@101"),
    Case("text: at whatever epoch", "text data(0)@100 unprinted(1, epoch=1)@101"),
]
COMPACTED = Case("text: history compacted", "data(0)@100", "text skip(5) id(shop, of=8) empty@200 cleaned_to(5)")
COMPACTED_RAW = Case("raw: history compacted", "data(0)@100", "skip(5) id(shop, of=8) empty@200 cleaned_to(5)")
CASES = [*VERDICTS, *CLOSED, COMPACTED, COMPACTED_RAW]


@pytest.mark.parametrize("case", VERDICTS, ids=lambda case: case.id)
def test_the_verdict_by_a_text(case: Case, found: Found) -> None:
    row = found.only(case)
    verdict, says = case.want
    assert f"{row['cause']} {row['action']} {row['confidence']}" == verdict
    assert says in row["reason"]
    assert row["reason"].endswith(" (by kafka-dump-log output)") == (row["is_text"] or row["coordinator_is_text"])


@pytest.mark.parametrize("case", CLOSED, ids=lambda case: case.id)
def test_what_a_marker_has_ended_is_not_open(case: Case, found: Found) -> None:
    assert found.of(case) == []


def test_raw_segments_are_chosen_and_it_is_said_why(found: Found) -> None:
    case = next(case for case in VERDICTS if case.id == "text: beside the raw segments, which it repeats")
    (copy,) = [copy for copy in found.copies[case.id] if copy["topic"] == "orders"]
    assert (copy["broker"], copy["chosen_because"]) == ("1", "raw segments, which have more than kafka-dump-log output")


def test_a_text_without_previous_producer_ids_cannot_be_accepted_for_compacted_history(found: Found) -> None:
    decided = ("cause", "action", "reason", "lacking", "also_lacking", "wanted_cause", "late", "confidence", "accepted")
    judged = found.detection.transactions.drop(*decided)
    accepting = judged.transform(with_verdicts, Thresholds(accept_compacted_history=True))
    rows = accepting.where("cluster LIKE '%history compacted'").collect()
    assert {row["cluster"]: row["accepted"] for row in rows} == {COMPACTED.id: False, COMPACTED_RAW.id: True}


def test_when_a_text_was_written_says_nothing_of_the_copy(spark: SparkSession) -> None:
    cases = [
        Case("a text", "text data(0)@100 commit(1)@101", None, copied={"1": (None, None)}, modified=5000),
        Case("raw", "metadata@10 data(0)@100 commit(1)@101", None, copied={"1": (None, None)}, modified=5000),
    ]
    given = facts(spark, cases)
    times = {row["cluster"]: row for row in copy_times(given.dump_files, given.log_dirs, None, 0).collect()}
    assert times["a text"]["as_of"] == START + 101 * MINUTE
    assert times["a text"]["as_of_source"] == "latest broker timestamp"
    assert times["raw"]["as_of"] == START + 5000 * MINUTE
