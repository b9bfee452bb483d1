"""Which copy of a partition is believed (item 15), and how whole it is. Numbers are items of docs/semantics.md."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detection_cases import Case, Found
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.format.coordinator import TRANSACTION_STATE


def copies(says: str, first: str, second: str, broker: str, because: str, opens: int) -> Case:
    """Two copies of orders-0, on brokers 1 and 2: which is believed, why, and how many transactions it has open."""
    return Case(f"copies: {says}", first, logs={"orders-0@2": second}, want=(broker, because, opens))


CHOICES = [
    copies(
        "the higher leader epoch beats the longer log",
        "data(0) plain(1) plain(2)",
        "data(0) commit(1, leader=2)",
        "2", "highest last leader epoch", 0,
    ),
    copies(
        "the longer log counts where the epochs are equal",
        "data(0)",
        "data(0) commit(1)",
        "2", "highest log end offset", 0,
    ),
    copies(
        "the marker of a shorter copy does not count",
        "data(0) plain(1) plain(2)",
        "data(0) commit(1)",
        "1", "highest log end offset", 1,
    ),
    copies(
        "the data of a shorter copy does not count",
        "commit(0) plain(1) plain(2)",
        "commit(0) data(1)",
        "1", "highest log end offset", 0,
    ),
    copies("equal copies, one of them", "data(0)", "data(0)", "1", "as long as the others, first by broker name", 1),
    copies(
        "the sound one of two equally long copies",
        "data(0) commit(1, damaged)",
        "data(0) commit(1)",
        "2", "as long as the others, first by broker name", 0,
    ),
    copies("a copy without batches knows no epoch", "data(0)", "segment(0)", "1", "highest last leader epoch", 1),
    Case("copies: the only one", "data(0)", want=("1", "the only copy", 1)),
]  # fmt: skip

WHOLENESS = [
    Case("wholeness: a log without gaps", "plain(0) segment(1) plain(1)", want={"gap_to": None, "damaged_to": None}),
    Case("wholeness: a gap within a segment", "plain(0) plain(5)", want={"gap_to": 5, "log_end_offset": 6}),
    Case("wholeness: a missing segment", "plain(0) segment(5) plain(5)", want={"gap_to": 5}),
    Case("wholeness: the highest of two gaps", "plain(0) plain(5) segment(9) plain(9)", want={"gap_to": 9}),
    Case("wholeness: a segment that starts above its name", "segment(3) plain(5)", want={"gap_to": 5}),
    Case("wholeness: retention took the first segments", "segment(3) plain(3)", want={"gap_to": None}),
    Case("wholeness: damage in the newest segment", "plain(0) damage(end)", want={"damaged_to": NOTHING_FOLLOWS}),
    Case("wholeness: what follows bounds it", "plain(0) damage(end) segment(1) plain(1)", want={"damaged_to": 1}),
    Case("wholeness: overlapping segments", "plain(0..4) segment(3) plain(3..6)", want={"damaged_to": 7}),
    Case("wholeness: a tail", "plain(0) tail(9)", want={"tail_producer_id": 9, "damaged_to": None}),
    Case(
        "wholeness: a tail is damage where a segment follows",
        "plain(0) tail(9) segment(1) plain(1)",
        want={"tail_producer_id": None, "damaged_to": 1},
    ),
    Case("wholeness: checkpoints", "plain(0) high_watermark(9) cleaned_to(8)", want={"high_watermark": 9, "cleaned_to": 8}),
    Case("wholeness: no checkpoints", "plain(0) no_checkpoint", want={"high_watermark": None, "cleaned_to": None}),
    Case("wholeness: 66: the log starts at its first segment", "segment(3) plain(3)", want={"log_start_offset": 3}),
    Case("wholeness: 66: records below the log start are deleted", "plain(0..9) log_start(7)", want={"log_start_offset": 7}),
    Case("wholeness: 66: a log start checkpoint of before the first segment is stale", "segment(3) plain(3) log_start(1)",
         want={"log_start_offset": 3}),
    Case("wholeness: 68: an empty segment", "segment(5)", want={"log_end_offset": 5, "log_start_offset": 5}),
    Case(
        "wholeness: a snapshot at the log's end is of this log",
        "plain(0) snapshot(1)",
        want={"snapshot_offset": 1, "snapshot_above_end": None},
    ),
    Case(
        "wholeness: a snapshot above the log's end is of a longer one",
        "plain(0) snapshot(0) snapshot(2)",
        want={"snapshot_offset": 0, "snapshot_above_end": 2},
    ),
    Case(
        "wholeness: another copy is longer",
        "data(0, leader=2)",
        logs={"orders-0@2": "data(0) plain(1)"},
        want={"copies": 2, "log_end_offset": 1, "longest_log_end_offset": 2},
    ),
]  # fmt: skip

COORDINATORS = [
    Case(
        "coordinators: the copy of the later leader says what is current",
        "data(0)@100",
        "empty@50 ongoing@100[orders-0]",
        logs={f"{TRANSACTION_STATE}-0@2": "empty(coordinator=2)@50"},
        want="Empty",
    ),
    Case(
        "coordinators: the longer copy says what is current",
        "data(0)@100",
        "empty@50",
        logs={f"{TRANSACTION_STATE}-0@2": "empty@50 ongoing@100[orders-0]"},
        want="Ongoing",
    ),
]
CASES = [*CHOICES, *WHOLENESS, *COORDINATORS]


def orders(found: Found, case: Case) -> dict[str, Any]:
    (copy,) = (row for row in found.copies[case.id] if row["topic"] == "orders")
    return copy


@pytest.mark.parametrize("case", CHOICES, ids=lambda case: case.id)
def test_the_copy_that_is_believed(case: Case, found: Found) -> None:
    copy = orders(found, case)
    assert (copy["broker"], copy["chosen_because"], len(found.of(case))) == case.want


@pytest.mark.parametrize("case", WHOLENESS, ids=lambda case: case.id)
def test_how_whole_a_copy_is(case: Case, found: Found) -> None:
    copy = orders(found, case)
    assert {name: copy[name] for name in case.want} == case.want


@pytest.mark.parametrize("case", COORDINATORS, ids=lambda case: case.id)
def test_copies_of_a_coordinator_are_chosen_alike(case: Case, found: Found) -> None:
    assert found.only(case)["current"]["state"] == case.want
