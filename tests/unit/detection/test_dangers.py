"""What looks like a hanging transaction, and must not be aborted. Numbers are items of docs/semantics.md."""

from __future__ import annotations

import pytest

from tests.detection_cases import Case, Found
from txnlog.format.coordinator import TRANSACTION_STATE

LISTED = "empty@50 ongoing@99[orders-0]"
COMMITTED = f"{LISTED} prepare_commit@101 complete@101"
ABORTED = f"{LISTED} prepare_abort@101 complete@101"
OF_ANOTHER = "id(shop, of=99) empty@10"


def lost(says: str, coordinator: str, want: str, orders: str = "data(0)@100") -> Case:
    """The data of a transaction that was committed at minute 101; its marker may never have come."""
    return Case(f"commit lost: {says}", orders, coordinator, want=want)


LOST = [
    lost("nothing has happened since", COMMITTED, "MARKER_LOST_COMMIT KEEP"),
    lost("the id has been started again", f"{COMMITTED} empty(epoch=1)@200", "MARKER_LOST_COMMIT KEEP"),
    lost("the id has worked elsewhere at a higher epoch", f"{COMMITTED} empty(epoch=1)@200"
         " ongoing@201[payments-0] prepare_commit@202 complete@202", "MARKER_LOST_COMMIT KEEP"),
    lost("the id is at work elsewhere", f"{COMMITTED} ongoing@999[payments-0]", "MARKER_LOST_COMMIT KEEP"),
    lost("the id has another producer id", f"{COMMITTED} id(app, of=9) empty(previous=7)@200", "MARKER_LOST_COMMIT KEEP"),
    lost("the id has expired, the Prepare record is still there", f"{COMMITTED} tombstone@900", "MARKER_LOST_COMMIT KEEP"),
    lost("with transaction version 2", "id(app, version=2) empty@50 ongoing@99[orders-0] prepare_commit(epoch=1)@101"
         " complete@101", "MARKER_LOST_COMMIT KEEP", "data(0)@60 commit(1)@61 data(2)@100"),
    lost("its data has no timestamp", COMMITTED, "MARKER_LOST_COMMIT KEEP", "data(0)@none abort(1, of=8)@102"),
    lost("minutes after others of its epoch", "empty@50 ongoing@60[orders-0] prepare_commit@61 complete@61"
         " ongoing@99[orders-0] prepare_commit@101 complete@101", "MARKER_LOST_COMMIT KEEP",
         "data(0)@60 commit(1)@61 data(2)@100"),
    lost("moments after others of its epoch", "empty@50 ongoing@100[orders-0] prepare_commit@100:01 complete@100:01"
         " ongoing@100:02[orders-0] prepare_commit@100:03 complete@100:03", "SKEW UNDETERMINED",
         "data(0)@100 commit(1)@100:01 data(2)@100:02"),
    lost("moments after one whose marker has a later time than its own would have", "empty@50 ongoing@100[orders-0]"
         " prepare_commit@100:01 complete@100:01 ongoing@100:02[orders-0] prepare_commit@100:03 complete@100:03",
         "SKEW UNDETERMINED", "data(0)@100 commit(1)@100:04 data(2)@100:02"),
    lost("moments after one whose marker has a later time, beside the marker of another producer", "empty@50"
         " ongoing@100[orders-0] prepare_commit@100:01 complete@100:01 ongoing@100:02[orders-0] prepare_commit@100:03"
         " complete@100:03", "SKEW UNDETERMINED", "data(0)@100 commit(1)@100:04 abort(2, of=8)@100:04 data(3)@100:02"),
    lost("moments after one whose marker came twice", "empty@50 ongoing@100[orders-0] prepare_commit@100:01"
         " complete@100:01 ongoing@100:02[orders-0] prepare_commit@100:03 complete@100:03", "SKEW UNDETERMINED",
         "data(0)@100 commit(1)@100:01 commit(2)@100:01.500 data(3)@100:02"),
    lost("moments after one whose marker was long in coming", "empty@50 ongoing@99[orders-0] prepare_commit@100"
         " complete(written=105)@100 ongoing@105:01[orders-0] prepare_commit@105:02 complete@105:02", "SKEW UNDETERMINED",
         "data(0)@99 commit(1)@105 data(2)@105:01.500"),
    lost("moments after one of which the coordinator's records are missing", "empty@50 ongoing@60[orders-0]"
         " prepare_commit@61 complete@61 skip(50) ongoing@100:02[orders-0] prepare_commit@100:08 complete@100:08",
         "SKEW UNDETERMINED", "data(0)@60 commit(1)@61 data(2)@100 commit(3)@100:04 data(4)@100:07.500"),
    # The broker was away: the marker of the commit was dropped, and that of the abort that came next as well.
    lost("an abort was lost after it", f"{COMMITTED} ongoing@200[orders-0] prepare_abort@201 complete@201",
         "MARKER_LOST_COMMIT KEEP"),
    lost("an abort by timeout was lost after it", f"{COMMITTED} ongoing@200[orders-0] prepare_abort(epoch=1)@201"
         " complete@201", "MARKER_LOST_COMMIT KEEP"),
    lost("an abort was lost moments after it", "empty@50 ongoing@99[orders-0] prepare_commit@100:01 complete@100:01"
         " ongoing@100:02[orders-0] prepare_abort@100:03 complete@100:03", "MARKER_LOST_COMMIT KEEP"),
    lost("an abort was lost after it, both wrote", f"{COMMITTED} ongoing@200[orders-0] prepare_abort@201 complete@201",
         "MARKER_LOST_COMMIT KEEP", "data(0)@100 data(1)@200:30"),
    lost("an abort was lost after it, its own record was compacted", f"{OF_ANOTHER} skip(50) id(app)"
         " ongoing@200[orders-0] prepare_abort@201 complete@201 cleaned_to(50)", "HISTORY_COMPACTED UNDETERMINED"),
    lost("the id is ongoing here again", f"{COMMITTED} ongoing@200[orders-0]", "MARKER_LOST_COMMIT KEEP"),
    lost("an abort was lost so soon after it that only the kind of its marker tells whose it is", f"{COMMITTED} ongoing@101:01[orders-0]"
         " prepare_abort(epoch=1)@121 complete@121", "MARKER_LOST_ABORT ABORT", "data(0)@100 commit(1)@101 data(2)@101:02"),
    lost("an abort was lost so soon after it that clocks do not tell whose its marker is, but its kind does", f"{COMMITTED}"
         " ongoing@101:03[orders-0] prepare_abort(epoch=1)@121 complete@121", "MARKER_LOST_ABORT ABORT",
         "data(0)@100 commit(1)@101:03 data(2)@101:04"),
    lost("an abort was lost well after its marker", f"{COMMITTED} ongoing@150[orders-0] prepare_abort(epoch=1)@171"
         " complete@171", "MARKER_LOST_ABORT ABORT", "data(0)@100 commit(1)@101 data(2)@150"),
    lost("an abort was lost moments after its marker, with transaction version 2", "id(app, version=2) empty@50"
         " ongoing@99[orders-0] prepare_commit(epoch=1)@101 complete@101 ongoing@101:01[orders-0]"
         " prepare_abort(epoch=2)@121 complete@121", "MARKER_LOST_ABORT ABORT",
         "data(0)@100 commit(1, epoch=1)@101 data(2, epoch=1)@101:02"),
    # Its records are compacted away.
    lost("only the last record of the id is left", f"{OF_ANOTHER} skip(50) id(app) complete_commit@500 cleaned_to(50)",
         "HISTORY_COMPACTED UNDETERMINED"),
    lost("it was written to since, only the last record of the id is left", f"{OF_ANOTHER} skip(50) id(app)"
         " complete_commit@500 cleaned_to(50)", "HISTORY_COMPACTED UNDETERMINED", "data(0)@100 data(1)@600"),
    lost("only the last record of an idle id is left", "id(app) complete_commit@500 id(shop, of=99) skip(50) empty@520"
         " cleaned_to(50)", "HISTORY_COMPACTED UNDETERMINED"),
    lost("its records are missing, times went back since", f"{OF_ANOTHER} skip(50) empty@500 empty@20 id(app)"
         " complete_commit@510 cleaned_to(50)", "HISTORY_COMPACTED UNDETERMINED"),
    lost("the first segments of its coordinator are missing", "segment(50) complete_commit@500",
         "HISTORY_COMPACTED UNDETERMINED"),
    lost("its records could not be read", "unreadable@101 complete_commit@500", "HISTORY_COMPACTED UNDETERMINED"),
    lost("nobody knows the producer id, records were compacted", f"{OF_ANOTHER} skip(50) empty@500 cleaned_to(50)",
         "HISTORY_COMPACTED UNDETERMINED"),
    Case("commit lost: nobody knows the producer id, records of one of two coordinators were compacted", "data(0)@100",
         f"{OF_ANOTHER} skip(50) empty@500 cleaned_to(50)", coordinators=2, logs={f"{TRANSACTION_STATE}-1@1": ""},
         want="HISTORY_COMPACTED UNDETERMINED"),
    lost("the id has expired, its records were compacted", f"{OF_ANOTHER} skip(50) id(app) tombstone@900"
         " id(app, of=9) empty@950 cleaned_to(50)", "HISTORY_COMPACTED UNDETERMINED"),
]  # fmt: skip


def elsewhere(says: str, orders: str, coordinator: str, copied: tuple[float, float | None], want: str) -> Case:
    """The coordinator on a broker of its own, which was copied at another time."""
    logs = {f"{TRANSACTION_STATE}-0@2": coordinator}
    return Case(f"skew: {says}", orders, None, logs=logs, copied={"2": copied}, modified_on={"2": copied[0]}, want=want)


SKEW = [
    elsewhere("40: the coordinator was copied before the data was written", "data(0)@100", "empty@50", (90, 95),
              "SKEW UNDETERMINED"),
    elsewhere("40: nobody knew the producer id before the data was written", "data(0)@100", "", (90, 95),
              "SKEW UNDETERMINED"),
    elsewhere("40: the coordinator was copied while the data was written", "data(0)@100", "empty@50", (99, 150),
              "SKEW UNDETERMINED"),
    elsewhere("40: the coordinator was copied seconds after the data was written", "data(0)@100 abort(1, of=8)@100:01", "empty@50",
              (100.05, 150), "SKEW UNDETERMINED"),
    elsewhere("40: the coordinator was copied a minute after the data was written",
              "data(0)@100 abort(1, of=8)@100:20", "empty@50", (101, 150), "NEVER_ADDED ABORT"),
    Case("skew: 40: one of several coordinators was copied before the data was written", "data(0)@100", "",
         coordinators=2, logs={f"{TRANSACTION_STATE}-1@2": ""}, copied={"2": (90, 95)}, want="SKEW UNDETERMINED"),
    elsewhere("41: committed while the partition was copied", "data(0)@900",
              "empty@50 ongoing@899[orders-0] prepare_commit@1001 complete@1001", (1020, 1030), "SKEW UNDETERMINED"),
    elsewhere("41: aborted after the partition was copied", "data(0)@900",
              "empty@50 ongoing@899[orders-0] prepare_abort@1015 complete@1015", (1020, 1030), "SKEW UNDETERMINED"),
    elsewhere("41: aborted before, markers written while the partition was copied", "data(0)@900",
              "empty@50 ongoing@899[orders-0] prepare_abort@920 complete(written=1001)@920", (1020, 1030),
              "SKEW UNDETERMINED"),
    Case("skew: 41: aborted when the copy may have been under way already", "data(0)@900 abort(1, of=8)@901",
         "empty@50 ongoing@899[orders-0] prepare_abort@995 complete@995", copied={"1": (1000, None)},
         want="SKEW UNDETERMINED"),
    Case("skew: 41: aborted when the copy cannot have been under way yet", "data(0)@900 abort(1, of=8)@901",
         "empty@50 ongoing@899[orders-0] prepare_abort@985 complete@985", copied={"1": (1000, None)},
         want="MARKER_LOST_ABORT ABORT"),
]  # fmt: skip


def partition(says: str, orders: str, want: str, **more: str) -> Case:
    """A producer id that nobody knows, in a partition that may not be whole."""
    return Case(
        f"partition: {says}",
        orders,
        OF_ANOTHER,
        logs={f"orders-0@{place[-1]}": log for place, log in more.items()},
        want=want,
    )


CORRUPT, GAP, ABORT = "CORRUPT_INPUT UNDETERMINED", "COVERAGE_GAP UNDETERMINED", "COORDINATOR_UNKNOWN ABORT"
PARTITIONS = [
    partition("22: a marker with a wrong checksum after it", "data(0)@100 commit(1, damaged)", CORRUPT),
    partition("22: damage after its last own marker", "data(0)@60 abort(1)@61 plain(2, damaged) data(3)@100", CORRUPT),
    partition("22: damage before its last own marker", "plain(0, damaged) data(1)@60 abort(2)@61 data(3)@100",
              "COORDINATOR_UNKNOWN ABORT"),
    partition("22: damage at the end", "data(0)@60 abort(1)@61 data(2)@100 damage(end)", CORRUPT),
    partition("22: damage before a snapshot that shows the same start", "abort(0, of=8)@60 plain(1, damaged) data(2)@100"
              " snapshot(3, open=2)", ABORT),
    partition("22: damage after a snapshot that shows the same start", "data(0)@100 snapshot(1, open=0) plain(1, damaged)",
              CORRUPT),
    partition("22: cut short in a batch of its producer", "data(0)@100 tail(7)", GAP),
    partition("22: cut short in a batch of which the producer is not known", "data(0)@100 tail(-2)", GAP),
    partition("22: cut short in a batch of another producer", "abort(0, of=8)@60 data(1)@100 tail(8)", ABORT),
    partition("22: cut short in the middle of the log", "data(0)@100 tail(8) segment(1) plain(1)", CORRUPT),
    partition("17: segments that overlap", "data(0)@100 plain(1) segment(1) plain(1)", CORRUPT),
    partition("offsets are missing after its start", "data(0)@100 plain(5)", GAP),
    partition("offsets are missing after its start, where compaction never comes", "data(0)@100 plain(5) cleaned_to(6)", GAP),
    partition("a segment is missing after its start", "data(0)@100 segment(5) plain(5)", GAP),
    partition("offsets are missing before its start", "plain(0) data(5)@100", GAP),
    partition("offsets are missing before its start, and were cleaned", "abort(0, of=8)@60 data(5)@100 cleaned_to(5)", ABORT),
    partition("23: a segment is named below its first batch, and nothing explains it", "plain(0..2) segment(3) data(5)@100", GAP),
    partition("23: a segment is named below its first batch, what lay between was cleaned",
              "plain(0..1) abort(2, of=8)@60 segment(3) data(5)@100 cleaned_to(5)", ABORT),
    partition("offsets are missing before its start, and before its last own marker",
              "plain(0) data(5)@60 abort(6)@61 data(7)@100", ABORT),
    partition("the high watermark lies above the log's end", "data(0)@100 high_watermark(2)", GAP),
    partition("a snapshot lies above the log's end", "data(0)@100 snapshot(9)", GAP),
    partition("a copy of an earlier leader is longer", "data(0, leader=2)@100", GAP, at_2="data(0) plain(1)"),
    partition("another copy ends in a segment that could not be opened", "data(0)@100", GAP, at_2="data(0)@100 hidden(1)"),
    partition("the snapshot does not show it", "data(0)@100 plain(1) snapshot(2)", GAP),
    partition("the snapshot shows another start", "data(0)@100 data(1) snapshot(2, open=1)", GAP),
    partition("the snapshot shows a start that the log does not have", "plain(0) data(1)@100 snapshot(2, open=0)", GAP),
    partition("25: the transaction index says that it was aborted", "data(0)@100 index(0)", GAP),
    partition("25: the transaction index is about an earlier one", "data(0)@60 abort(1)@61 data(2)@100 index(0)", ABORT),
    Case("partition: a marker below the log start may be that of the listed transaction",
         "segment(10) log_start(10) snapshot(10, open=4)@100 plain(10)@300",
         "empty@50 ongoing@80[orders-0] prepare_commit@90 complete@90", want="SKEW UNDETERMINED"),
]  # fmt: skip


def coordinators(says: str, coordinator: str, want: str, number: int = 1) -> Case:
    return Case(f"coordinators: {says}", "data(0)@100", coordinator, coordinators=number, want=want)


COORDINATORS = [
    coordinators("42: one is missing and nobody knows the producer id", "", GAP, 2),
    coordinators("42: another than the id's own is missing", "empty@50", "NEVER_ADDED ABORT", 2),
    coordinators("43: two ids of one producer id", "id(app) empty@50 id(shop) empty@60", "AMBIGUOUS_PRODUCER_ID UNDETERMINED"),
    coordinators("43: two ids, one had it before", "id(app) empty@50 id(shop, of=9) empty(previous=7)@60",
                 "AMBIGUOUS_PRODUCER_ID UNDETERMINED"),
    coordinators("damage at the end of the id's own", "empty@50 damage(end)", CORRUPT),
    coordinators("damage after the id's last record", "empty@50 damage(1)", CORRUPT),
    coordinators("a batch cut short at the end of the id's own", "empty@50 tail(-1)", GAP),
    coordinators("the high watermark lies above the end of the id's own", "empty@50 high_watermark(2)", GAP),
    coordinators("a record after the id's last cannot be read", "empty@50 unreadable@60", CORRUPT),
    coordinators("a record before the id's first cannot be read", "unreadable@20 empty@50", "NEVER_ADDED ABORT"),
    coordinators("records after the id's last are missing", "empty@50 id(shop, of=99) skip(9) empty@60", GAP),
    coordinators("no coordinator knows it, one is damaged at its end", f"{OF_ANOTHER} damage(end)", CORRUPT),
    coordinators("no coordinator knows it, one has a record that cannot be read", f"{OF_ANOTHER} unreadable@50", CORRUPT),
    coordinators("no coordinator knows it, one lacks its first segments", "segment(9) id(shop, of=99) empty@20", GAP),
    coordinators("no coordinator knows it, one has gaps that no cleaner left", f"{OF_ANOTHER} skip(9) empty@20", GAP),
    Case("coordinators: a copy of an earlier leader of the id's own is longer", "data(0)@100", "empty(coordinator=2)@50",
         logs={f"{TRANSACTION_STATE}-0@2": "empty@50 ongoing@99[orders-0]"}, want=GAP),
    Case("coordinators: none is in the dump", "data(0)@100", None, want="COVERAGE_GAP UNDETERMINED"),
    # 46: what a coordinator still owns is never to be aborted.
    coordinators("46: an ongoing transaction", LISTED, "STUCK_ONGOING FENCE"),
    coordinators("46: a pending commit", f"{LISTED} prepare_commit@101", "STUCK_PREPARE MOVE_COORDINATOR"),
    coordinators("46: a pending abort", f"{LISTED} prepare_abort@101", "STUCK_PREPARE MOVE_COORDINATOR"),
]  # fmt: skip


def clock(says: str, orders: str, coordinator: str, want: str) -> Case:
    return Case(f"clock: 44: {says}", orders, coordinator, want=want)


CLOCKS = [
    clock("event time, ongoing, just after a marker", "commit(0)@990 data(1)@100",
          "empty@50 ongoing@980[orders-0] prepare_commit@990 complete@990 ongoing@994[orders-0]", "ONGOING WAIT"),
    clock("event time, written after the coordinator was copied, just after a marker", "commit(0)@990 data(1)@100",
          "empty@50 ongoing@980[orders-0] prepare_commit@990 complete@990", "TOO_YOUNG WAIT"),
    clock("event time from before the producer id was handed out", "data(0)@100", "empty@995", "TOO_YOUNG WAIT"),
    clock("event time with nothing after it that bounds its age", "abort(0, of=8)@900 data(1)@100", "empty@50",
          "SKEW UNDETERMINED"),
    clock("event time with a marker after it that bounds its age",
          "abort(0, of=8)@900 data(1)@100 abort(2, of=8)@950", "empty@50", "NEVER_ADDED ABORT"),
    clock("event time with a marker after it that came minutes ago",
          "abort(0, of=8)@900 data(1)@100 abort(2, of=8)@990", "empty@50", "SKEW UNDETERMINED"),
    clock("no timestamp and nothing to bound its age", "data(0)@none", "", "SKEW UNDETERMINED"),
    clock("no timestamp, but a marker after it", "abort(0, of=8)@60 data(1)@none abort(2, of=8)@100", OF_ANOTHER, "COORDINATOR_UNKNOWN ABORT"),
    clock("no timestamp, but a marker minutes before", "abort(0, of=8)@990 data(1)@none", "", "TOO_YOUNG WAIT"),
    clock("a time in the future and nothing to bound its age", "data(0)@5000", "", "SKEW UNDETERMINED"),
    clock("a time in the future, but a marker after it", "abort(0, of=8)@60 data(1)@5000 abort(2, of=8)@100", OF_ANOTHER, "COORDINATOR_UNKNOWN ABORT"),
    clock("a time that no calendar has", "data(0)@9000000000", "", "SKEW UNDETERMINED"),
    clock("no timestamp, and the history before the marker before it is compacted", "abort(0, of=8)@100 data(1)@none"
          " abort(2, of=8)@600", f"{OF_ANOTHER} skip(50) id(app) complete_commit@500 cleaned_to(50)",
          "HISTORY_COMPACTED UNDETERMINED"),
    Case("clock: 44: no timestamp, but an earlier dump had it", "data(0)@none", "empty@50", seen=(1, 100, 900),
         want="NEVER_ADDED ABORT"),
    Case("clock: 44: no timestamp, an earlier dump had less of it", "data(0)@none data(1)@none", "empty@50",
         seen=(1, 100, 900), want="SKEW UNDETERMINED"),
    Case("clock: 44: no timestamp, and an earlier dump had another transaction there", "data(0)@none", "empty@50",
         seen=(1, 100, 900), seen_crc=5, want="SKEW UNDETERMINED"),
    Case("clock: 44: no timestamp, an earlier dump had it minutes before", "data(0)@none", "empty@50", seen=(1, 100, 990),
         want="SKEW UNDETERMINED"),
]  # fmt: skip

CASES = [*LOST, *SKEW, *PARTITIONS, *COORDINATORS, *CLOCKS]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_it_is_aborted_on_whole_evidence_only(case: Case, found: Found) -> None:
    row = found.only(case)
    assert f"{row['cause']} {row['action']}" == case.want, row["reason"]
