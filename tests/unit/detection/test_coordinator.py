"""What the coordinators know. Numbers are items of docs/semantics.md."""

from __future__ import annotations

from typing import Any

import pytest

from tests.detection_cases import Case, Found
from tests.logs_in_words import MINUTE, START, instant
from txnlog.format.coordinator import TRANSACTION_STATE

COMPLETE = "empty@50 ongoing@99[orders-0] prepare_commit@101 complete@101"
TWO_IDS = "id(app) empty@50 id(shop) empty@60"

KNOWN = [
    Case("31: the highest offset is current", "data(0)@100", COMPLETE, want={"current.state": "CompleteCommit"}),
    Case(
        "31: it is current although its time went back",
        "data(0)@100",
        "empty@50 ongoing@99[orders-0] prepare_abort@101 complete@40",
        want={"current.state": "CompleteAbort", "current.last_update_timestamp": instant("40")},
    ),
    Case("37: a tombstone is current", "data(0)@100", "empty@50 tombstone@90", want={"current.is_tombstone": True}),
    Case(
        "31: an id that comes back after its tombstone",
        "data(0)@100",
        "empty@50 tombstone@60 empty@90",
        want={"current.is_tombstone": False, "current.offset": 2},
    ),
    Case(
        "31: records of other ids between",
        "data(0)@100",
        "id(app) empty@50 id(shop, of=8) empty@60 id(app) ongoing@99[orders-0] id(shop, of=8) empty@200",
        want={"current.state": "Ongoing", "transactional_id": "app", "owners": 1},
    ),
    # 34: a producer id before and after
    Case(
        "34: the id by the producer id before",
        "data(0)@100",
        "id(app, of=9) empty(previous=7)@50",
        want={"transactional_id": "app", "current.producer_id": 9},
    ),
    Case(
        "34: the id by the producer id that comes next",
        "data(0)@100",
        "id(app, of=5) ongoing@99[payments-0] prepare_commit(next=7)@101",
        want={"transactional_id": "app", "current.producer_id": 5},
    ),
    Case(
        "34: the id by a producer id that history alone names",
        "data(0)@100",
        "id(app) empty@50 id(app, of=9) empty@200",
        want={"transactional_id": "app", "current.producer_id": 9},
    ),
    Case(
        "43: two ids of one producer id are both named",
        "data(0)@100",
        TWO_IDS,
        want={"owners": 2, "transactional_ids": ["app", "shop"]},
    ),
    Case("42: no coordinator knows it", "data(0)@100", want={"transactional_id": None, "missing_coordinators": []}),
    Case(
        "42: no coordinator knows it and partitions are missing",
        "data(0)@100",
        coordinators=4,
        logs={f"{TRANSACTION_STATE}-2@1": ""},
        want={"transactional_id": None, "missing_coordinators": [1, 3]},
    ),
    Case(
        "37: an earlier run remembers the id",
        "abort(0, of=9)@60 data(1)@100",
        "id(shop, of=8) empty@50",
        remembered="app",
        want={"transactional_id": None, "remembered_id": "app", "cause": "COORDINATOR_UNKNOWN"},
    ),
    # 33: which transaction listed the partition
    Case(
        "33: the list grows over several records",
        "data(0)@100",
        "empty@50 ongoing@98[payments-0] ongoing@99[payments-0,orders-0] prepare_commit@101 complete@101",
        want={"listing.prepared.state": "PrepareCommit", "listing.prepared.offset": 3, "commits_in_group": 1},
    ),
    Case(
        "33: the last transaction that listed it",
        "data(0)@100",
        "empty@50 ongoing@60[orders-0] prepare_abort@61 complete@61 ongoing@99[orders-0] prepare_commit@101"
        " complete@102 ongoing@110[payments-0] prepare_abort@111 complete@111",
        want={"listing.prepared.state": "PrepareCommit", "listing.prepared.ended_timestamp": instant("102")},
    ),
    Case(
        "33: none listed it",
        "data(0)@100",
        "empty@50 ongoing@60[payments-0,orders-1] prepare_abort@61 complete@61",
        want={"listing": None},
    ),
    Case(
        "33: another producer id of the id listed it",
        "data(0)@100",
        "id(app, of=6) empty@50 ongoing@60[orders-0] prepare_abort@61 complete@61 empty(of=7)@70",
        want={"transactional_id": "app", "listing": None},
    ),
    Case(
        "71: a transaction ended when the record that says so was written",
        "data(0)@100",
        "empty@50 ongoing@99[orders-0] prepare_commit@101 complete(written=130)@101",
        want={"listing.prepared.ended_timestamp": instant("130")},
    ),
    Case(
        "64: a group ends within seconds of one another",
        "data(0)@100",
        "empty@50 ongoing@60[orders-0] prepare_commit@61 complete@61 ongoing@61:01[orders-0] prepare_commit@61:10"
        " complete@61:11 ongoing@61:12[orders-0] prepare_commit@61:21 complete@61:21",
        want={"commits_in_group": 3, "group_from": instant("61")},
    ),
    Case(
        "64: after a pause a new group starts",
        "data(0)@100",
        "empty@50 ongoing@60[orders-0] prepare_commit@61 complete@61 ongoing@61:01[orders-0] prepare_commit@61:10.001"
        " complete@61:11",
        want={"commits_in_group": 1},
    ),
    Case(
        "64: with another epoch a new group starts",
        "data(0)@100",
        "empty@50 ongoing@60[orders-0] prepare_commit@61 complete@61 ongoing(epoch=1)@61:01[orders-0]"
        " prepare_commit@61:02 complete@61:02",
        want={"commits_in_group": 1},
    ),
    # 32: what a Prepare* still waits for
    Case(
        "32: a marker since Prepare is not owed any more",
        "data(0)@100",
        "empty@50 ongoing@99[orders-0,payments-0,refunds-1] prepare_commit@101",
        logs={"payments-0@1": "data(0)@100 commit(1)@101"},
        want={"pending_partitions": ["orders-0", "refunds-1"]},
    ),
    Case(
        "32: the marker of an earlier transaction does not count",
        "data(0)@100",
        "empty@50 ongoing@99[orders-0,payments-0] prepare_commit@101",
        logs={"payments-0@1": "data(0)@60 commit(1)@61 data(2)@100"},
        want={"pending_partitions": ["orders-0", "payments-0"]},
    ),
    Case(
        "32: a marker of a lower epoch does not count",
        "data(0, epoch=1)@100",
        "empty(epoch=1)@50 ongoing@99[orders-0,payments-0] prepare_commit@101",
        logs={"payments-0@1": "data(0)@60 commit(1)@101 data(2, epoch=1)@101"},
        want={"pending_partitions": ["orders-0", "payments-0"]},
    ),
    Case(
        "32: the marker of another producer does not count",
        "data(0)@100",
        "empty@50 ongoing@99[orders-0,payments-0] prepare_commit@101",
        logs={"payments-0@1": "data(0)@100 commit(1, of=8)@101"},
        want={"pending_partitions": ["orders-0", "payments-0"]},
    ),
    Case("32: nothing is owed once it is complete", "data(0)@100", COMPLETE, want={"pending_partitions": None}),
    # 36 and 38: timeouts
    Case("38: the cluster's maximum counts", "data(0)@100", "empty@50", want={"late_after_ms": 20 * MINUTE}),
    Case(
        "38: the id's own timeout counts if it is larger",
        "data(0)@100",
        "id(app, timeout=60) empty@50",
        want={"late_after_ms": 65 * MINUTE},
    ),
    Case(
        "36: the timeout of two-phase commit is no number to wait for",
        "data(0)@100",
        "id(app, timeout=none) empty@50 ongoing@99[orders-0]",
        want={"late_after_ms": 20 * MINUTE, "is_two_phase": True, "late": False},
    ),
    Case("44: since when the producer id exists", "data(0)@100", "empty@50 empty@60", want={"known_since": instant("50")}),
    Case(
        "44: also where records are missing, as a producer id starts at epoch 0",
        "data(0)@100",
        "id(shop, of=8) empty@10 skip(9) id(app) empty@60",
        want={"known_since": instant("60")},
    ),
    Case(
        "44: it is not known where records are missing and its epoch is a later one",
        "data(0)@100",
        "id(shop, of=8) empty@10 skip(9) id(app) empty(epoch=1)@60",
        want={"known_since": None},
    ),
    Case(
        "44: by when it had been given out: the start of the first transaction that is left",
        "data(0)@100",
        "skip(9) prepare_commit(began=90)@120[orders-0] ongoing@130[orders-0]",
        want={"known_since": None, "given_out_by": instant("90")},
    ),
    Case(
        "44: the start of a transaction of the producer id before it says nothing",
        "data(0)@100",
        "id(app, of=5) skip(9) prepare_commit(began=90, next=7)@120[payments-0]",
        want={"given_out_by": instant("120")},
    ),
    Case(
        "44: nor does it where the first record of the producer id ends that transaction",
        "data(0)@100",
        "skip(9) id(app, version=2) complete_commit(began=60, previous=6)@90",
        want={"given_out_by": instant("90")},
    ),
]  # fmt: skip


def coverage(says: str, coordinator: str, **want: Any) -> Case:
    return Case(f"coverage: {says}", "plain(0)", coordinator, want=want)


COVERAGE = [
    coverage("whole from its start", "empty@50", whole_from_offset=0, certain_from_offset=0, whole_from=0),
    coverage("an empty log is whole", "epochs(0, 0, last=0)", whole_from_offset=0, certain_from_offset=0, whole_from=0),
    coverage(
        "an empty log may be on a new disk if nothing says that it is the first one", "",
        whole_from_offset=0, certain_from_offset=0, whole_from=None,
    ),
    coverage(
        "whole after what was compacted", "empty@50 skip(9) empty@60 empty@70 cleaned_to(9)",
        whole_from_offset=9, certain_from_offset=0, whole_from=instant("60"),
    ),
    coverage(
        "whole after the cleaner's gap although times go back", "empty@50 skip(9) empty@60 empty@30 cleaned_to(9)",
        whole_from_offset=9, whole_from=instant("60"),
    ),
    coverage(
        "a gap above what was cleaned hides records", "empty@50 skip(9) empty@60 cleaned_to(8)",
        whole_from_offset=9, certain_from_offset=9, whole_from=instant("60"),
    ),
    coverage(
        "its first segments are missing", "segment(5) empty@60",
        whole_from_offset=5, certain_from_offset=5, whole_from=instant("60"),
    ),
    coverage(
        "whole after a record that could not be read", "empty@50 unreadable@55 empty@60",
        whole_from_offset=2, certain_from_offset=2, whole_from=instant("60"),
    ),
    coverage("nothing after damage", "empty@50 damage(1)", whole_from_offset=1, whole_from=None),
    coverage("damage at its end", "empty@50 damage(end)", whole_from_offset=None, certain_from_offset=None, whole_from=None),
    coverage("a batch cut short at its end", "empty@50 tail(-1)", whole_from_offset=None, whole_from=None),
    coverage("the high watermark lies above its end", "empty@50 high_watermark(2)", whole_from_offset=None),
    coverage(
        "when it was copied", "empty@50", coordinator_as_of=START + 1000 * MINUTE,
        coordinator_copy_from=START + 1000 * MINUTE, coordinator_copy_ended=START + 1000 * MINUTE + 3_000,
    ),
]  # fmt: skip
CASES = [*KNOWN, *COVERAGE]


@pytest.mark.parametrize("case", KNOWN, ids=lambda case: case.id)
def test_what_is_known_of_an_open_transaction(case: Case, found: Found) -> None:
    assert found.columns(case, case.want) == case.want


@pytest.mark.parametrize("case", COVERAGE, ids=lambda case: case.id)
def test_how_far_a_coordinator_is_believed(case: Case, found: Found) -> None:
    (row,) = found.coverage[case.id]
    assert {name: row[name] for name in case.want} == case.want
