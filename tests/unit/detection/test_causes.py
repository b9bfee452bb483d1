"""Each cause of an open transaction and what to do about it (items 52 to 62 of docs/semantics.md)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.detection_cases import Case, Found
from txnlog.detection.causes import DISCARDING
from txnlog.format.coordinator import TRANSACTION_STATE

LISTED = "empty@50 ongoing@99[orders-0]"
# As of minute 1000; late after 20 minutes.
SAID = [
    Case(
        "written after the marker of its own transaction",
        "data(0)@100 abort(1)@101 data(2)@102",
        f"{LISTED} prepare_abort@101 complete@101",
        want="LATE_WRITE_AFTER_END ABORT HIGH",
    ),
    Case(
        "written after the marker of a transaction that never wrote here",
        "abort(0)@101 data(1)@102",
        f"{LISTED} prepare_abort@101 complete@101",
        want="LATE_WRITE_AFTER_END ABORT HIGH",
    ),
    Case(
        "written after its marker, the id has started anew at the same epoch",
        "data(0)@100 commit(1)@101 data(2)@102",
        f"{LISTED} prepare_commit@101 complete@101 empty@300",
        want="LATE_WRITE_AFTER_END ABORT HIGH",
    ),
    Case("no transaction ever listed the partition", "data(0)@100", "empty@50", want="NEVER_ADDED ABORT HIGH"),
    Case(
        "the id's transactions listed other partitions only",
        "data(0)@100",
        "empty@50 ongoing@99[payments-0,orders-1] prepare_commit@101 complete@102",
        want="NEVER_ADDED ABORT HIGH",
    ),
    Case(
        "never added, and its producer is busy elsewhere",
        "data(0)@100",
        "empty@50 ongoing@99[payments-0]",
        want="NEVER_ADDED ABORT MEDIUM",
    ),
    Case(
        "with transaction version 2 the marker before is of the epoch of the data",
        "data(0)@100 commit(1, epoch=1)@101 data(2, epoch=1)@102",
        "id(app, version=2) empty@50 ongoing@99[orders-0] prepare_commit(epoch=1)@101 complete@101",
        want="NEVER_ADDED ABORT HIGH",
    ),
    # Zombies; Prepare* and Complete* may be ahead by what ending a transaction adds.
    Case("the id has been started again at a higher epoch", "data(0)@100", "empty@50 empty(epoch=1)@200",
         want="EPOCH_MISMATCH ABORT HIGH"),
    Case("the id is at work at a higher epoch", "data(0)@100", "empty@50 ongoing(epoch=1)@990[payments-0]",
         want="EPOCH_MISMATCH ABORT MEDIUM"),
    Case("an end one epoch higher is its own", "data(0)@100",
         "empty@50 ongoing@99[payments-0] prepare_abort(epoch=1)@101 complete@101", want="NEVER_ADDED ABORT HIGH"),
    Case("an end two epochs higher is another's", "data(0)@100",
         "empty@50 ongoing@99[payments-0] prepare_abort(epoch=2)@101 complete@101", want="EPOCH_MISMATCH ABORT HIGH"),
    Case("with transaction version 2 an end two epochs higher is its own", "data(0)@100",
         "id(app, version=2) empty@50 ongoing@99[payments-0] prepare_abort(epoch=2)@101 complete@101",
         want="NEVER_ADDED ABORT HIGH"),
    Case("the id has another producer id now", "data(0)@100", "id(app) empty@50 id(app, of=9) empty(previous=7)@200",
         want="EPOCH_MISMATCH ABORT HIGH"),
    # Nobody knows it.
    Case("no coordinator knows the producer id", "abort(0, of=9)@60 data(1)@100", "id(shop, of=8) empty@50", want="COORDINATOR_UNKNOWN ABORT HIGH"),
    Case(
        "no coordinator of several knows the producer id",
        "abort(0, of=9)@60 data(1)@100",
        "id(shop, of=8) empty@50",
        coordinators=2,
        # As a partition that was never written to has it.
        logs={f"{TRANSACTION_STATE}-1@1": "epochs(0, 0, last=0)"},
        want="COORDINATOR_UNKNOWN ABORT HIGH",
    ),
    Case("the id has expired", "data(0)@100", "empty@50 tombstone@900", want="ID_EXPIRED ABORT HIGH"),
    # Markers that were never written.
    Case("aborted, and the marker was lost", "data(0)@100", f"{LISTED} prepare_abort@101 complete@101",
         want="MARKER_LOST_ABORT ABORT HIGH"),
    Case("timed out, and the marker was lost", "data(0)@100", f"{LISTED} prepare_abort(epoch=1)@101 complete@101",
         want="MARKER_LOST_ABORT ABORT HIGH"),
    Case("committed, and the marker was lost", "data(0)@100", f"{LISTED} prepare_commit@101 complete@101",
         want="MARKER_LOST_COMMIT KEEP MEDIUM"),
    # What a coordinator still owns.
    Case("a commit that is stuck", "data(0)@100", f"{LISTED} prepare_commit@101", want="STUCK_PREPARE MOVE_COORDINATOR HIGH"),
    Case("an abort that is stuck", "data(0)@100", f"{LISTED} prepare_abort@101", want="STUCK_PREPARE MOVE_COORDINATOR HIGH"),
    Case("an abort by timeout that is stuck", "data(0)@100", f"{LISTED} prepare_abort(epoch=1)@101",
         want="STUCK_PREPARE MOVE_COORDINATOR HIGH"),
    Case("longer ongoing than its timeout", "data(0)@100", LISTED, want="STUCK_ONGOING FENCE HIGH"),
    Case("72: longer ongoing, with transaction version 2, from after its first batch", "data(0)@100",
         "id(app, version=2) empty@50 ongoing@100:00.159[orders-0]", want="STUCK_ONGOING FENCE HIGH"),
    Case("longer ongoing, at a later epoch than the data", "data(0)@100", "empty@50 ongoing(epoch=1)@99[orders-0]",
         want="STUCK_ONGOING FENCE HIGH"),
    Case("ongoing within the id's own timeout", "data(0)@960", "id(app, timeout=60) empty@50 ongoing@959[orders-0]",
         want="ONGOING WAIT HIGH"),
    Case("late, but within its timeout when its coordinator was copied", "data(0)@100", None,
         logs={f"{TRANSACTION_STATE}-0@2": LISTED}, copied={"2": (101, 102)}, want="ONGOING WAIT HIGH"),
    Case("its markers are being written", "data(0)@995", "empty@50 ongoing@994[orders-0] prepare_commit@996",
         want="PENDING WAIT HIGH"),
    Case("late, and its markers are being written", "data(0)@900", "empty@50 ongoing@899[orders-0] prepare_commit@999",
         want="PENDING WAIT HIGH"),
    Case("written to minutes before", "data(0)@995", "empty@50", want="TOO_YOUNG WAIT HIGH"),
    Case("written to again minutes before", "data(0)@100 data(1)@995", "empty@50", want="TOO_YOUNG WAIT HIGH"),
    Case("a two-phase commit, days later", "data(0)@100", "id(app, timeout=none) empty@50 ongoing@99[orders-0]",
         want="TWO_PHASE_COMMIT WAIT HIGH"),
    Case("a two-phase commit that is prepared", "data(0)@100",
         "id(app, timeout=none) empty@50 ongoing@99[orders-0] prepare_commit@101", want="TWO_PHASE_COMMIT WAIT HIGH"),
    # What only the snapshot remembers.
    Case("only the snapshot has it", "segment(10) log_start(10) snapshot(10, open=4)@100 plain(10)@300", "empty@50",
         want="PHANTOM_BELOW_LOG_START ABORT HIGH"),
    Case("it starts below the log start", "segment(10) log_start(10) snapshot(10, open=4)@100 data(10)@101", "empty@50",
         want="PHANTOM_BELOW_LOG_START ABORT HIGH"),
    Case("only batches without records are left of it", "data(0, records=0)@100 plain(1)@101", "empty@50",
         want="CLEANER_ARTEFACT UNDETERMINED LOW"),
]  # fmt: skip
DISCARDS = tuple(f" {action} HIGH" for action in DISCARDING)
# What is to be discarded for certain was listed before it was copied: so its age is not its producer's word alone.
CASES = [replace(case, orders=f"{case.orders} listed@310") if case.want.endswith(DISCARDS) else case for case in SAID]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_cause_and_action(case: Case, found: Found) -> None:
    row = found.only(case)
    assert f"{row['cause']} {row['action']} {row['confidence']}" == case.want


def test_every_reason_is_whole(found: Found) -> None:
    """A column without a value in its reason would make all of it null."""
    incomplete = {
        name for name, rows in found.rows.items() for row in rows if row["reason"] == "its evidence is incomplete"
    }
    assert incomplete == set()
