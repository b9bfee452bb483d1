"""Dumps that were not taken in one moment, or lack something: docs/development/torn-dumps.md, row by row."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.detection_cases import Case, Found
from txnlog.format.coordinator import TRANSACTION_STATE

PAGE = Path(__file__).parents[3] / "docs/development/torn-dumps.md"
NOTHING = "nothing is open"
ONGOING = "empty@50 ongoing@99[orders-0]"
COMMITTED, ABORTED = (f"{ONGOING} prepare_{kind}@300 complete@300" for kind in ("commit", "abort"))
FIRST, LATER = (200.0, 210.0), (1000.0, 1010.0)


def torn(says: str, orders: str, coordinator: str, want: str, coordinator_first: bool) -> Case:
    """The coordinator on a broker of its own; one of the two brokers was copied hours before the other."""
    first, second = ("2", "1") if coordinator_first else ("1", "2")
    logs, copied = {f"{TRANSACTION_STATE}-0@2": coordinator}, {first: FIRST, second: LATER}
    return Case(says, orders, None, logs=logs, copied=copied, want=want)


def coordinator_first(says: str, orders: str, coordinator: str, want: str) -> Case:
    return torn(f"coordinator first: {says}", orders, coordinator, want, coordinator_first=True)


def partition_first(says: str, orders: str, coordinator: str, want: str) -> Case:
    return torn(f"partition first: {says}", orders, coordinator, want, coordinator_first=False)


CASES = [
    coordinator_first("the transaction started in between", "data(0)@300", "empty@50", "SKEW UNDETERMINED"),
    coordinator_first("a producer that was unknown then wrote in between", "data(0)@300", "", "SKEW UNDETERMINED"),
    coordinator_first("it started and was committed in between", "data(0)@300 commit(1)@301", "empty@50", NOTHING),
    coordinator_first("it was committed in between", "data(0)@100 commit(1)@300", ONGOING, NOTHING),
    coordinator_first("it was aborted in between", "data(0)@100 abort(1)@300", ONGOING, NOTHING),
    coordinator_first("it was committed and the next one started in between", "data(0)@190 commit(1)@300 data(2)@301",
                      "empty@50 ongoing@190[orders-0]", "ONGOING WAIT"),
    coordinator_first("it was past its timeout, and it is unknown who wrote in between", "data(0)@100 data(1)@301",
                      ONGOING, "ONGOING WAIT"),
    coordinator_first("it was past its timeout and nothing was written since", "data(0)@100 abort(1, of=8)@150",
                      ONGOING, "STUCK_ONGOING FENCE"),
    coordinator_first("it was past its timeout, and only the producer's clock says that nothing was written since",
                      "data(0)@100", ONGOING, "ONGOING WAIT"),
    coordinator_first("it was being committed then, and the next one started in between",
                      "data(0)@190 commit(1)@300 data(2)@301",
                      "empty@50 ongoing@190[orders-0] prepare_commit@199:50", "PENDING WAIT"),
    coordinator_first("it hung before either was copied", "data(0)@100 abort(1, of=8)@150", "empty@50",
                      "NEVER_ADDED ABORT"),
    coordinator_first("it hung before by its producer's clock, which may have written event time", "data(0)@100",
                      "empty@50", "SKEW UNDETERMINED"),
    coordinator_first("it hung before, but only by the producer's clock", "data(0)@none", "empty@50",
                      "SKEW UNDETERMINED"),
    partition_first("the transaction started in between", "", f"{ONGOING.replace('99', '299')}", NOTHING),
    partition_first("it was committed in between", "data(0)@100", COMMITTED, "SKEW UNDETERMINED"),
    partition_first("it was aborted in between", "data(0)@100", ABORTED, "SKEW UNDETERMINED"),
    partition_first("it was committed and the next one started in between", "data(0)@100",
                    f"{COMMITTED} ongoing@999[orders-0]", "ONGOING WAIT"),
    partition_first("it was committed and the next one is in another partition", "data(0)@100",
                    f"{COMMITTED} ongoing@999[payments-0]", "SKEW UNDETERMINED"),
    partition_first("it was committed and its id expired in between", "data(0)@100", f"{COMMITTED} tombstone@900",
                    "SKEW UNDETERMINED"),
    partition_first("it was committed and its id was initialised again in between", "data(0)@100", f"{COMMITTED} empty(epoch=1)@400",
                    "SKEW UNDETERMINED"),
    partition_first("it was committed just before", "data(0)@100",
                    f"{ONGOING} prepare_commit@199:59 complete@199:59", "SKEW UNDETERMINED"),
    partition_first("it was aborted just before", "data(0)@100",
                    f"{ONGOING} prepare_abort@199:59 complete@199:59", "SKEW UNDETERMINED"),
    partition_first("it was committed well before, without a marker", "data(0)@100",
                    f"{ONGOING} prepare_commit@101 complete@101", "MARKER_LOST_COMMIT KEEP"),
    partition_first("it was aborted well before, without a marker", "data(0)@100",
                    f"{ONGOING} prepare_abort@101 complete@101", "MARKER_LOST_ABORT ABORT"),
    partition_first("it is open still", "data(0)@100", ONGOING, "STUCK_ONGOING FENCE"),
    partition_first("its producer was fenced in between", "data(0)@100", "empty@50 empty(epoch=1)@300",
                    "EPOCH_MISMATCH ABORT"),
    Case("coordinators missing: all of them", "data(0)@100", None, want="COVERAGE_GAP UNDETERMINED"),
    Case("coordinators missing: one of two, and no coordinator knows the producer id", "data(0)@100", "id(shop, of=99) empty@10",
         coordinators=2, want="COVERAGE_GAP UNDETERMINED"),
    Case("coordinators missing: that of an id which an earlier dump named", "data(0)@100", "id(shop, of=99) empty@10",
         coordinators=2, remembered="app", want="COVERAGE_GAP UNDETERMINED"),
    Case("coordinators missing: none, and no coordinator knows the producer id", "abort(0, of=9)@60 data(1)@100", "id(shop, of=99) empty@10",
         want="COORDINATOR_UNKNOWN ABORT"),
    Case("coordinators missing: the start of the one that has the id", "data(0)@100", "segment(50) empty(epoch=2)@500",
         want="HISTORY_COMPACTED UNDETERMINED"),
    Case("coordinators missing: the end of the one that has the id", "data(0)@100", "empty@50 high_watermark(9)",
         want="COVERAGE_GAP UNDETERMINED"),
    Case("followers: the leader's copy has the marker", "data(0)@100", "empty@50",
         logs={"orders-0@2": "data(0)@100 commit(1)@101"}, want=NOTHING),
    Case("followers: the leader's copy has the marker, in a later leader epoch", "data(0)@100 plain(1..5)@101", "empty@50",
         logs={"orders-0@2": "data(0)@100 commit(1, leader=3)@101"}, want=NOTHING),
    Case("followers: only the follower's copy is there, and it ends before the high watermark",
         "data(0)@100 high_watermark(2)", "empty@50", want="COVERAGE_GAP UNDETERMINED"),
    Case("followers: both copies end alike", "data(0)@100", "empty@50", logs={"orders-0@2": "data(0)@100"},
         want="NEVER_ADDED ABORT"),
    Case("followers: the coordinator's follower lacks the commit", "data(0)@100", ONGOING,
         logs={f"{TRANSACTION_STATE}-0@2": f"{ONGOING} prepare_commit@101 complete@101"}, want="MARKER_LOST_COMMIT KEEP"),
    Case("clocks: the producer's is hours slow", "abort(0, of=8)@990 data(1)@100", "empty@50", want="TOO_YOUNG WAIT"),
    Case("clocks: the producer's is days fast", "abort(0, of=8)@100 data(1)@9000 abort(2, of=8)@101", "empty@50",
         want="NEVER_ADDED ABORT"),
    Case("clocks: the producer's is days fast, and no broker timestamp follows", "abort(0, of=8)@100 data(1)@9000",
         "empty@50", want="SKEW UNDETERMINED"),
    torn("clocks: the coordinator was copied when the data was written, within the clocks' difference",
         "data(0)@200:04", "empty@50", "SKEW UNDETERMINED", coordinator_first=True),
    Case("another time: a snapshot of a longer log", "data(0)@100 snapshot(9, open=0)", "empty@50",
         want="COVERAGE_GAP UNDETERMINED"),
    Case("another time: a snapshot that does not show what the log shows", "data(0)@100 snapshot(1)", "empty@50",
         want="COVERAGE_GAP UNDETERMINED"),
    Case("another time: the end of an older copy with the files of a newer one", "data(0)@100 plain(5)@200", "empty@50",
         want="COVERAGE_GAP UNDETERMINED"),
    Case("shorter than listed: the partition", "data(0)@100 missing(78)", "empty@50", want="COVERAGE_GAP UNDETERMINED"),
    Case("shorter than listed: another copy of the partition", "data(0)@100", "empty@50",
         logs={"orders-0@2": "data(0)@100 missing(78)"}, want="COVERAGE_GAP UNDETERMINED"),
    Case("shorter than listed: the coordinator that has the id", "data(0)@100", "empty@50 missing(90)",
         want="COVERAGE_GAP UNDETERMINED"),
    Case("shorter than listed: a coordinator, and none knows the producer id", "abort(0, of=9)@60 data(1)@100",
         "id(shop, of=99) empty@10 missing(90)", want="COVERAGE_GAP UNDETERMINED"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_verdict_on_a_torn_dump(case: Case, found: Found) -> None:
    rows = [row for row in found.of(case) if row["producer_id"] == 7]
    assert [f"{row['cause']} {row['action']}" for row in rows] == ([] if case.want == NOTHING else [case.want])


def test_the_documentation_has_each_case_and_its_verdict() -> None:
    lines = [line.strip("|").split("|") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    documented = {cells[0].strip(): cells[1].strip().replace("`", "") for cells in lines[2:]}
    assert documented == {case.id: str(case.want) for case in CASES}


def test_a_producer_id_of_another_cluster_is_another_producer(found: Found) -> None:
    """Most of the clusters here have a producer 7, whose id is `app`."""
    names = {case.id: {row["transactional_id"] for row in found.of(case)} for case in CASES}
    assert names["coordinators missing: none, and no coordinator knows the producer id"] == {None}
    assert names["followers: both copies end alike"] == {"app"}
