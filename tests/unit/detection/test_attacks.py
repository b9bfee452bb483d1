"""What an attack on the rules found (the classes of it, not only its cases): no data is discarded without its proofs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.detection_cases import Case, Found
from tests.logs_in_words import instant
from txnlog.format.coordinator import TRANSACTION_STATE

DISCARDS = {"ABORT", "FENCE", "MOVE_COORDINATOR"}
LISTED = "empty@50 ongoing@99[orders-0]"
COMMITTED = f"{LISTED} prepare_commit@101 complete@101"
LAGGING = {f"{TRANSACTION_STATE}-0@{broker}": "id(shop, of=99) empty@400" for broker in (2, 3)}
# As columns of `SIGHTINGS`: copied from minute 100 to 995.
SEEN_DURING_A_LONG_COPY = (
    "orders", 0, 7, 0, 1, 100, instant("100"), instant("995"), None, "UNDETERMINED", "said so", "LOW", 1, 0, None, None, None,
)  # fmt: skip
KEPT_IN_PAYMENTS = (
    "payments", 0, 7, 0, 1, 100, instant("900"), instant("900"), None, "KEEP", "said so", "HIGH", 1, 0, instant("100"),
    None, None,
)  # fmt: skip
# What a dump of minute 900 lacked for an abort.
SEEN_LACKING, SEEN_ALSO_LACKING = (
    ("orders", 0, 7, 0, 1, 100, instant("900"), instant("900"), None, "UNDETERMINED", "said so", "LOW", 1, 0,
     instant("100"), *lacking)
    for lacking in (("commits_are_explained", None), ("has_records", ["commits_are_explained"]))
)  # fmt: skip
# What a dump of minute 400 showed of one and of two batches, 100 bytes each.
SEEN_WHOLE, SEEN_OTHER_LAST = (
    ("orders", 0, 7, 0, batches, 100 * batches, instant("400"), instant("400"), None, "UNDETERMINED", "said so", "LOW",
     leader, crc, last, None, None)
    for batches, leader, crc, last in ((1, None, None, instant("150")), (2, 1, 0, instant("100")))
)  # fmt: skip
# A transaction that starts below the log start.
PHANTOM = "segment(8) snapshot(8, open=0)@200 data(8)@150 epochs(8, 8)"
COORDINATOR = f"{TRANSACTION_STATE}-0@2"
# The coordinator was copied ten minutes before the rest.
TORN_APART: dict[str, Any] = {"copied": {"1": (1000, 1000.05), "2": (990, 990.05)}, "modified_on": {"2": 990}}
# What was committed at minute 101 is only known by its last record, and whole is what comes after minute 105.
CUT_AT_101 = "id(app) complete_commit@101:02 listed@999 segment(9) id(shop, of=99) empty@105 cleaned_to(9) listed@999"
# The client of an aborted transaction goes on with version 2, but not with a new epoch; the first one it commits.
ABORTED_AT_6 = "empty@0 ongoing@4[orders-0] prepare_abort@6 complete@6"
FIRST_OF_2 = "ongoing(version=2)@20[payments-0] prepare_commit(epoch=1)@22 complete@22"
JOINED, JOINED_AT_31 = (f"data(0)@5 data(1)@{minute} plain(2, appended)@40" for minute in (21, 31))
AND_NEXT = "data(0)@5 data(1)@21 data(2, epoch=1)@31 plain(3, appended)@40"
# After an abort that is complete at minute 105 its producer commits another transaction.
ONCE_MORE = "ongoing@105:01[payments-0] prepare_commit@105:02 complete@105:02 cleaned_to(9)"
LEFT_FROM_110 = "skip(9) prepare_commit(began=110)@111[orders-0] complete(began=110)@111 cleaned_to(9)"
COMPACTED = "skip(50) id(app, version=2) empty(epoch=9)@500 cleaned_to(50)"
TWO = "skip(50) id(shop, of=99) empty@400"
# A transaction whose first half a late request to commit the one before it has committed; the second half is at 4.
CUT = "data(0)@19 commit(1)@19:30 data(2)@20 commit(3)@20:05 data(4)@20:06 abort(5, of=8)@60"
EARLIER = "ongoing@19[orders-0] prepare_commit@19:30 complete@19:30"
HALF = "ongoing@20[orders-0] prepare_commit@20:05 complete@20:05"
TWICE = "ongoing@99[orders-0] prepare_commit@101 complete@101 ongoing@101:10[orders-0] prepare_commit@101:20 complete@101:20"
OUT_OF_TWO = "data(0)@100 commit(1)@101 data(2)@101:10 commit(3)@101:20"
# A transaction that is aborted in between.
NEXT = "ongoing@{0}[orders-0] prepare_abort@{1} complete@{1}"
# The same with an abort that came late: the client commits what it has begun since.
ABORTED_TWICE = TWICE.replace("commit", "abort")
GOES_ON = "ongoing@101:30[offsets-0] prepare_commit@103 complete@103"
# Whole from the last record of a gap on.
GAP = "cleaned_to(20) id(old, of=8) empty@50 skip(20) ongoing@{0}[x-0] prepare_abort@{0} complete@{0} id(app)"
# A commit of which only markers tell, and an abort by the next coordinator.
UNRECORDED = "data(0)@100 commit(1, by=0)@101 data(2)@200 abort(3, by=1)@201"
SINCE = "ongoing(coordinator=1)@200[payments-0] prepare_abort(coordinator=1)@201 complete(coordinator=1)@201"
# Only payments-0 is listed, and a new coordinator commits it.
MOVED = "ongoing@99[payments-0] prepare_commit(coordinator=1)@101 complete(coordinator=1)@101"
# The first transaction that is left of an id; the time of the first record that is left, and the coordinator of the id.
FIRST = (
    "skip(9) id(shop, of=99) empty@{} id(app) ongoing(coordinator={c})@99[payments-0] prepare_commit(coordinator={c})@101"
    " complete(coordinator={c})@101 cleaned_to(9)"
)
BETWEEN = "abort(0, of=8)@98 data(1)@100 abort(2, of=8)@200"
UNDER_WAY = "empty@50 ongoing@99[orders-0,payments-0]"
ALONE = "empty@50 ongoing@99[orders-0]"
# A snapshot with the time of an event, of a broker that wrote no topic id.
IN_SNAPSHOT = "segment(2) epochs(2, 2) snapshot(2, ended)@50"
WRITTEN_ANEW = "plain(0)@90 plain(1, leader=2)@310 plain(2, leader=2)@310 plain(3, leader=2)@310"
# Of what was decided nothing is left, and what is whole begins long after.
LOST_DECISION = (
    "id(shop, of=99) empty@40 id(app) empty@50 ongoing@99[orders-0,payments-0] skip(9)"
    " id(shop, of=99) empty(coordinator=1)@600 empty(coordinator=1)@700 cleaned_to(9) listed@990"
)
SHOP_AND_APP = (
    "id(shop, of=99) empty(coordinator=3)@40 id(app) empty(coordinator=3)@50 ongoing(coordinator=3)@99[orders-0]"
)
# Offsets 1 to 4 are missing after the id's last record.
TORN = "id(app) empty@60 skip(5) id(shop, of=99) empty@90 cleaned_to(5)"


def kept_in(topic_id: str) -> tuple[object, ...]:
    return (
        "orders", 0, 7, 0, 1, 100, instant("900"), instant("900"), topic_id, "KEEP", "said so", "HIGH", 1, 0, instant("100"),
        None, None,
    )  # fmt: skip


def shown_in_payments(minute: str, start: int = 1, batches: int = 1) -> tuple[object, ...]:
    """What a dump of this minute showed: batches from an offset on."""
    time = instant(minute)
    return (
        "payments",
        0,
        7,
        start,
        batches,
        100 * batches,
        time,
        time,
        None,
        "WAIT",
        "said so",
        "HIGH",
        1,
        0,
        None,
        None,
        None,
    )


def attack(number: int, says: str, orders: str | None, coordinator: str | None, want: str, **more: object) -> Case:
    return Case(f"attack {number}: {says}", orders, coordinator, want=want, **more)  # type: ignore[arg-type]


def to_version_2(
    says: str,
    orders: str,
    then: str = FIRST_OF_2,
    want: str = "SKEW UNDETERMINED",
    before: str = ABORTED_AT_6,
    **more: object,
) -> Case:
    """Its client changes to version 2 without a new epoch."""
    return attack(39, says, orders, f"{before} {then}", want, **more)


def elsewhere(says: str, payments: str, want: str, logs: Mapping[str, str] = {}, **more: object) -> Case:
    """An Ongoing transaction that lists orders-0, where its data is, and payments-0, where an earlier one committed."""
    coordinator = "empty@50 ongoing@99[payments-0] prepare_commit@101 complete@101 ongoing@199[orders-0,payments-0]"
    logs = {"payments-0@1": payments, **logs}
    return attack(21, f"elsewhere: {says}", "data(0)@200", coordinator, want, logs=logs, **more)


def outdated(
    says: str, payments: str, want: str, coordinator: str = UNDER_WAY, other: str = "", **more: object
) -> Case:
    """The coordinator was copied in minute 200, the partitions in minute 1000, one of them perhaps by another broker."""
    both = (1000, 1000.05)
    copied: dict[str, Any] = {"copied": {"1": both, "2": (200, 201), "3": both}, "modified_on": {"2": 200}}
    logs = {COORDINATOR: coordinator, "payments-0@1": payments} | ({"payments-0@3": other} if other else {})
    return attack(36, f"outdated: {says}", "data(0)@100 abort(1, of=8)@150", None, want, logs=logs, **copied, **more)


CASES = [
    # 1: the coordinator's current transaction is younger than the data.
    attack(1, "ongoing from after the data, a commit is compacted away", "data(0)@100",
           "skip(50) id(app) complete_commit@101 ongoing@500[orders-0] cleaned_to(50)", "HISTORY_COMPACTED UNDETERMINED"),
    attack(1, "the same at another epoch", "data(0)@100",
           "skip(50) id(app) complete_commit@101 ongoing(epoch=3)@500[orders-0] cleaned_to(50)",
           "HISTORY_COMPACTED UNDETERMINED"),
    attack(1, "an abort that is pending since after the data", "data(0)@100", "skip(50) id(app) complete_commit@101"
           " ongoing@500[orders-0] prepare_abort@501 cleaned_to(50)", "HISTORY_COMPACTED UNDETERMINED"),
    attack(1, "data that a broker dates after the start of the current transaction is of it", "abort(0, of=8)@501 data(1)@502",
           "skip(50) id(app) complete_commit@101 ongoing@500[orders-0] cleaned_to(50)", "STUCK_ONGOING FENCE"),
    attack(1, "of the epoch of its first batch, which only a snapshot remembers, nothing is known", "segment(4) epochs(4, 4)"
           " snapshot(4, open=0, epoch=1)@100 plain(4)@600", "id(app, version=2) empty@50 ongoing@60[orders-0]"
           " prepare_commit(epoch=1)@61 complete(epoch=1)@61 ongoing(epoch=1)@99[orders-0]", "SKEW UNDETERMINED"),
    attack(1, "a partition that the transaction lists is not in the dump", "data(0)@100",
           "empty@50 ongoing@99[orders-0,payments-0]", "COVERAGE_GAP UNDETERMINED"),
    attack(1, "a partition that the transaction lists may hold data of a lost commit", "data(0)@200",
           "empty@50 ongoing@99[payments-0] prepare_commit@101 complete@101 ongoing@199[orders-0,payments-0]",
           "COVERAGE_GAP UNDETERMINED", logs={"payments-0@1": "data(0)@100"}),
    attack(1, "a partition that the transaction lists is damaged", "data(0)@100", "empty@50 ongoing@99[orders-0,payments-0]",
           "COVERAGE_GAP UNDETERMINED", logs={"payments-0@1": "plain(0)@100 damage(end)"}),
    attack(1, "all partitions that the transaction lists hold its data alone", "data(0)@100",
           "empty@50 ongoing@99[orders-0,payments-0]", "STUCK_ONGOING FENCE", logs={"payments-0@1": "plain(0) data(1)@100"}),
    attack(1, "a partition that the transaction lists was copied before it began, and data was committed there since",
           "data(0)@200", "empty@50 ongoing@160[payments-0] prepare_commit@161 complete@161 ongoing@199[orders-0,payments-0]",
           "COVERAGE_GAP UNDETERMINED", logs={"payments-0@2": "plain(0)@100"}, copied={"2": (150, 151)}),
    # 2: the producer's clock, ahead by less than the skew that is allowed, by more, and in places of no trust.
    attack(2, "a second ahead: a commit before an Ongoing transaction", "data(0)@101:01",
           f"{COMMITTED} ongoing@200[orders-0]", "MARKER_LOST_COMMIT KEEP"),
    attack(2, "90 seconds ahead: a commit before a pending abort", "data(0)@102:30",
           f"{COMMITTED} ongoing@200[orders-0] prepare_abort@201", "MARKER_LOST_COMMIT KEEP"),
    attack(2, "a minute ahead: a commit before an abort whose marker was lost", "data(0)@102",
           f"{COMMITTED} ongoing@200[orders-0] prepare_abort@201 complete@201", "MARKER_LOST_COMMIT KEEP"),
    attack(2, "hours ahead: an id that was fenced, its records compacted", "data(0)@900",
           "skip(50) id(app) empty(epoch=3)@500 cleaned_to(50)", "HISTORY_COMPACTED UNDETERMINED"),
    attack(2, "no time at all, bounded: the lost commit stays in sight", "data(0)@none abort(1, of=8)@102",
           f"{COMMITTED} ongoing@200[orders-0]", "MARKER_LOST_COMMIT KEEP"),
    # 3: LogAppendTime is the time of the last record, the base timestamp is the producer's.
    attack(3, "its first record says a day before, a broker says after the compaction", "data(0, appended, since=900)@100",
           "skip(50) id(app) empty(epoch=3)@500 cleaned_to(50)", "HISTORY_COMPACTED UNDETERMINED"),
    # 4: a Complete* record carries the time of its preparation.
    attack(4, "whole from a record that says an hour before it was appended", "abort(0, of=8)@99 data(1)@100",
           "skip(50) id(shop, of=99) complete_commit(written=300)@60 id(app) empty(epoch=3)@310 cleaned_to(50)",
           "HISTORY_COMPACTED UNDETERMINED"),
    # 5: a COMMIT marker that no record explains.
    attack(5, "of a producer id that nobody knows", "commit(0, of=8)@90 data(1)@100", "id(shop, of=99) empty@10",
           "HISTORY_COMPACTED UNDETERMINED"),
    attack(5, "of the id itself", "data(0)@60 commit(1)@61 data(2)@100", "empty@50", "HISTORY_COMPACTED UNDETERMINED"),
    attack(5, "that another dump had and that retention took since", "data(0)@100", "empty@50",
           "HISTORY_COMPACTED UNDETERMINED", sightings=(SEEN_LACKING,)),
    attack(5, "that another dump had, which lacked something else as well", "data(0)@100", "empty@50",
           "HISTORY_COMPACTED UNDETERMINED", sightings=(SEEN_ALSO_LACKING,)),
    attack(5, "that another dump had of another transaction at its offset", "data(0, crc=1)@100", "empty@50",
           "NEVER_ADDED ABORT", sightings=(SEEN_LACKING,)),
    attack(5, "of another id of the same coordinator partition", "data(0)@100 commit(1, of=8)@150",
           "id(app) empty@50 id(shop, of=8) empty@60", "HISTORY_COMPACTED UNDETERMINED"),
    attack(5, "an ABORT proves nothing: an administrator may have written it", "data(0)@60 abort(1)@900 data(2)@901"
           " abort(3, of=8)@902", "empty@50", "LATE_WRITE_AFTER_END ABORT"),
    attack(5, "a COMMIT that its record explains, long in coming", "data(0)@100 commit(1, of=8)@150",
           "id(app) empty@50 id(shop, of=8) empty@60 ongoing@61[orders-0] prepare_commit@62 complete(written=150)@62",
           "NEVER_ADDED ABORT"),
    attack(5, "of the id itself, in a partition that its record does not list", "data(0)@100", COMMITTED.replace(
           "orders-0", "refunds-0"), "HISTORY_COMPACTED UNDETERMINED", logs={"payments-0@1": "data(0)@100 commit(1)@101"}),
    attack(5, "of the id itself, in a partition that its record does not list and that lost the data", "data(0)@100",
           COMMITTED.replace("orders-0", "refunds-0"), "HISTORY_COMPACTED UNDETERMINED",
           logs={"payments-0@1": "segment(1) epochs(1, 1) commit(1)@101"}),
    attack(5, "two of another id that closed data within the clock skew, and one record", "data(0)@101:02",
           "id(app) empty@50 id(shop, of=8) empty@60 ongoing@99[payments-0] prepare_commit@101 complete@101",
           "HISTORY_COMPACTED UNDETERMINED", logs={"payments-0@1": "data(0, of=8)@100 commit(1, of=8)@101"
                                                   " data(2, of=8)@101:01 commit(3, of=8)@101:03"}),
    attack(5, "two that closed data within the clock skew, and one record", "data(0)@101:02", f"{LISTED.replace('orders', 'payments')}"
           " prepare_commit@101 complete@101", "HISTORY_COMPACTED UNDETERMINED",
           logs={"payments-0@1": "data(0)@100 commit(1)@101 data(2)@101:01 commit(3)@101:03"}),
    attack(5, "one that was sent twice, and one record", "abort(0, of=8)@500 data(1)@501", f"{LISTED.replace('orders', 'payments')}"
           " prepare_commit@101 complete@101", "NEVER_ADDED ABORT",
           logs={"payments-0@1": "data(0)@100 commit(1)@101 commit(2)@101:03"}),
    attack(5, "by a coordinator that was elected after the commit had been completed", "data(0)@100 commit(1, of=8, by=3)@150",
           "id(app) empty@50 id(shop, of=8) empty@60 ongoing@61[orders-0] prepare_commit@62 complete(written=150)@62",
           "HISTORY_COMPACTED UNDETERMINED"),
    attack(5, "by a coordinator that was elected since, of a commit that is still prepared",
           "data(0)@100 commit(1, of=8, by=3)@150",
           "id(app) empty@50 id(shop, of=8) empty@60 ongoing@61[orders-0] prepare_commit@62", "NEVER_ADDED ABORT"),
    attack(5, "in a copy that is not believed, as its leader was elected unclean", "data(0, leader=2)@100 plain(1..3, leader=2)",
           "empty@50", "HISTORY_COMPACTED UNDETERMINED", logs={"orders-0@2": "data(0)@100 commit(1)@101"}),
    attack(5, "a commit of an earlier epoch, seconds before the last record of a coordinator that has lost it",
           "data(0)@100 abort(1, of=8)@200", None, "HISTORY_COMPACTED UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": "empty@50 empty(coordinator=1, epoch=1)@900",
                 "payments-0@1": "data(0)@100 commit(1)@899:58"}, copied={"2": (900, 1001)}),
    # 6: a missing first segment is no moved log start.
    attack(6, "the first epoch starts below the copy", "segment(10) epochs(0, 0) snapshot(10, open=4)@100 plain(10)@300",
           "empty@50", "COVERAGE_GAP UNDETERMINED"),
    attack(6, "nothing says where the log starts", "segment(10) snapshot(10, open=4)@100 plain(10)@300",
           "empty@50", "COVERAGE_GAP UNDETERMINED"),
    attack(6, "another copy has the data", "segment(10) epochs(10, 10) snapshot(10, open=4)@100 plain(10)@300", "empty@50",
           "COVERAGE_GAP UNDETERMINED", logs={"orders-0@2": "plain(0..3) data(4)@100"}),
    attack(6, "the first epoch starts with the copy", "segment(10) epochs(10, 10) snapshot(10, open=4)@100 plain(10)@300",
           "empty@50", "PHANTOM_BELOW_LOG_START ABORT"),
    # 7: the end of the copy.
    attack(7, "the last epoch starts beyond it", "data(0)@100 epochs(0, 9)", "empty@50", "COVERAGE_GAP UNDETERMINED"),
    attack(7, "so does that of the coordinator", "data(0)@100", "empty@50 epochs(0, 9)", "COVERAGE_GAP UNDETERMINED"),
    attack(7, "no checkpoint says how far that of the coordinator reached", "data(0)@100", "empty@50 no_checkpoint",
           "COVERAGE_GAP UNDETERMINED"),
    # 8: a KEEP stays.
    attack(8, "kept by an earlier dump, the records are compacted now", "data(0)@100",
           "skip(50) id(shop, of=99) empty@500 cleaned_to(50)", "MARKER_LOST_COMMIT KEEP", seen=(1, 100, 900),
           seen_as="KEEP HIGH"),
    attack(8, "kept by a dump that showed fewer batches", "data(0)@100 data(1)@110", "empty@50", "MARKER_LOST_COMMIT KEEP",
           seen=(1, 100, 900), seen_as="KEEP HIGH"),
    attack(8, "kept by an earlier dump, but another transaction starts there now", "data(0)@100",
           "skip(50) id(shop, of=99) empty@500 cleaned_to(50)", "HISTORY_COMPACTED UNDETERMINED", seen=(1, 100, 900),
           seen_as="KEEP HIGH", seen_crc=5),
    attack(8, "kept by an earlier dump of a topic that was made anew since", "data(0)@100 topic(new)",
           "skip(50) id(shop, of=99) empty@500 cleaned_to(50)", "HISTORY_COMPACTED UNDETERMINED", sightings=(kept_in("old"),)),
    attack(8, "kept by an earlier dump of the same topic", "data(0)@100 topic(new)",
           "skip(50) id(shop, of=99) empty@500 cleaned_to(50)", "MARKER_LOST_COMMIT KEEP", sightings=(kept_in("new"),)),
    attack(8, "kept by a version that did not note the first batch", "data(0)@100",
           "skip(50) id(shop, of=99) empty@500 cleaned_to(50)", "MARKER_LOST_COMMIT KEEP", seen=(1, 100, 900),
           seen_as="KEEP HIGH", seen_crc=None),
    attack(8, "seen by a dump whose copy took hours: it may have come meanwhile", "data(0)@none", "empty@50",
           "SKEW UNDETERMINED", sightings=(SEEN_DURING_A_LONG_COPY,)),
    attack(8, "kept by an earlier dump in another partition of the transaction that would be ended", "data(0)@100",
           "empty@50 ongoing@99[orders-0,payments-0]", "COVERAGE_GAP UNDETERMINED",
           logs={"payments-0@1": "data(0)@100"}, sightings=(KEPT_IN_PAYMENTS,)),
    # 9: young event time without any time by a broker before it.
    attack(9, "its id's records are compacted, the coordinator was copied first", "data(0)@100", None,
           "SKEW UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": "skip(50) id(app) empty(epoch=3)@80 cleaned_to(50)"},
           copied={"2": (200, 210)}),
    attack(9, "in flight with a time of yesterday, its id's last transaction aborted", "data(0)@100", None,
           "SKEW UNDETERMINED", logs={f"{TRANSACTION_STATE}-0@2": f"{LISTED} prepare_abort@101 complete@101"},
           copied={"2": (995, 996)}),
    attack(9, "in flight with a time of yesterday, its id is new", "data(0)@100", None, "SKEW UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": "id(other, of=8) empty@50"}, copied={"2": (995, 996)}),
    attack(9, "in flight with a time of yesterday, all of the broker copied within ten minutes", "data(0)@100",
           "empty@50", "SKEW UNDETERMINED", copied={"1": (1000, 1010)}),
    # 10: copies of the coordinator that differ.
    attack(10, "another coordinator wrote other records, which an unclean election took", "data(0)@100",
           "id(app) empty@50 id(other, of=3) empty(coordinator=2)@60", "HISTORY_COMPACTED UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": "id(app) empty@50 ongoing(coordinator=1)@99[orders-0]"}),
    attack(10, "the broker that died had a high watermark of some seconds before", "data(0)@100",
           "id(app) empty@50 id(other, of=3) empty(coordinator=2)@160 empty(coordinator=2)@170", "HISTORY_COMPACTED UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": "id(app) empty@50 ongoing(coordinator=1)@99[orders-0]"
                                             " prepare_commit(coordinator=1)@101 high_watermark(1)"}),
    attack(10, "the checkpoints of the broker that died were not copied", "data(0)@100",
           "id(app) empty@50 id(other, of=3) empty(coordinator=2)@160 empty(coordinator=2)@170", "HISTORY_COMPACTED UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": "id(app) empty@50 ongoing(coordinator=1)@99[orders-0]"
                                             " prepare_commit(coordinator=1)@101 no_checkpoint"}),
    # 18: what one broker's cleaner took, another broker has; records count together where they agree.
    attack(18, "compacted in the copy that is believed, whole in another", "abort(0, of=8)@70 data(1)@100",
           "skip(3) id(app) complete_abort@90 cleaned_to(4) id(other, of=3) empty@95", "NEVER_ADDED ABORT",
           logs={f"{TRANSACTION_STATE}-0@2": "id(app) empty@50 ongoing@80[payments-0] prepare_abort@90 complete@90"}),
    attack(18, "the other copy shows that it was committed", "data(0)@100",
           "skip(3) id(app) complete_commit(began=99)@101 cleaned_to(4) id(other, of=3) empty@195",
           "MARKER_LOST_COMMIT KEEP", logs={f"{TRANSACTION_STATE}-0@2": COMMITTED}),
    attack(18, "the other copy ends before what is whole in this one", "abort(0, of=8)@70 data(1)@100",
           "skip(3) id(app) complete_abort@90 cleaned_to(4) id(other, of=3) empty@95", "HISTORY_COMPACTED UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": "id(app) empty@50 ongoing@80[payments-0]"}),
    attack(18, "the other copy ends right where this one is whole: nothing shows that they are of one log",
           "abort(0, of=8)@70 data(1)@100", "skip(3) id(app) complete_abort@90 cleaned_to(4) id(other, of=3) empty@95",
           "HISTORY_COMPACTED UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": "id(app) empty@50 ongoing@80[payments-0] prepare_abort@90"}),
    attack(18, "whole in two others in turn", "abort(0, of=8)@70 data(1)@100",
           "skip(3) id(app) complete_abort@90 cleaned_to(4) id(other, of=3) empty@95", "NEVER_ADDED ABORT",
           logs={f"{TRANSACTION_STATE}-0@2": "skip(1) id(app) ongoing@80[payments-0] prepare_abort@90 complete@90 cleaned_to(1)",
                 f"{TRANSACTION_STATE}-0@3": "id(app) empty@50 ongoing@80[payments-0]"}),
    attack(18, "the second of two others ends right where the first is whole", "abort(0, of=8)@70 data(1)@100",
           "skip(3) id(app) complete_abort@90 cleaned_to(4) id(other, of=3) empty@95", "HISTORY_COMPACTED UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": "skip(1) id(app) ongoing@80[payments-0] prepare_abort@90 complete@90 cleaned_to(1)",
                 f"{TRANSACTION_STATE}-0@3": "id(app) empty@50"}),
    attack(18, "the other copy is of the topic before it was recreated", "abort(0, of=8)@70 data(1)@100",
           "topic(new) skip(3) id(app) complete_abort@90 cleaned_to(4) id(other, of=3) empty@95",
           "COVERAGE_GAP UNDETERMINED", logs={f"{TRANSACTION_STATE}-0@2": "topic(old) id(app) empty@50"
                                                   " ongoing@80[payments-0] prepare_abort@90 complete@90"}),
    # 18: where each transaction has its own epoch, a COMMIT in one partition tells of the others.
    attack(18, "its epoch was committed in another partition", "data(0, epoch=3)@100", COMPACTED,
           "MARKER_LOST_COMMIT KEEP", logs={"payments-0@1": "data(0, epoch=3)@100 commit(1, epoch=4)@101 data(2, epoch=4)@102"
                                            " commit(3, epoch=5)@103"}),
    attack(18, "its epoch was committed in another partition, and all records are there", "data(0, epoch=3)@100",
           "id(app, version=2) empty(epoch=3)@50 ongoing(epoch=3)@99[payments-0] prepare_commit(epoch=4)@101"
           " complete(epoch=4)@101 empty(epoch=9)@500", "EPOCH_MISMATCH ABORT", logs={"payments-0@1": "data(0, epoch=3)@100 commit(1, epoch=4)@101"}),
    attack(18, "its epoch was aborted in another partition", "data(0, epoch=3)@100", COMPACTED,
           "HISTORY_COMPACTED UNDETERMINED", logs={"payments-0@1": "data(0, epoch=3)@100 abort(1, epoch=4)@101"}),
    attack(18, "another partition's COMMIT has its epoch: of which transaction does not follow", "data(0, epoch=3)@100",
           COMPACTED, "HISTORY_COMPACTED UNDETERMINED", logs={"payments-0@1": "data(0, epoch=3)@100 commit(1, epoch=3)@101"
                                                              " data(2, epoch=4)@102 commit(3, epoch=4)@103"}),
    attack(18, "a COMMIT at the next epoch closed data of that epoch: its client is older", "data(0, epoch=3)@100",
           COMPACTED, "HISTORY_COMPACTED UNDETERMINED", logs={"payments-0@1": "data(0, epoch=4)@100 commit(1, epoch=4)@101"}),
    attack(18, "its client changed to version 2 within the epoch", "data(0, epoch=3)@100", COMPACTED,
           "HISTORY_COMPACTED UNDETERMINED", logs={"payments-0@1": "data(0, epoch=3)@90 abort(1, epoch=3)@91"
                                      " data(2, epoch=3)@100 commit(3, epoch=4)@101"}),
    attack(18, "a COMMIT that closed nothing: of which epoch its transaction was does not follow", "data(0, epoch=4)@100",
           COMPACTED, "HISTORY_COMPACTED UNDETERMINED", logs={"payments-0@1": "data(0, epoch=3)@89 commit(1, epoch=4)@90"
                                                              " commit(2, epoch=5)@101"}),
    attack(18, "a broker dates it after that COMMIT: never kept, never discarded",
           "abort(0, of=8)@600 data(1, epoch=3)@601", "id(app, version=2) empty(epoch=3)@50", "SKEW UNDETERMINED",
           logs={"payments-0@1": "data(0, epoch=3)@100 commit(1, epoch=4)@101"}),
    # Of one coordinator partition fewer brokers have a copy: perhaps of a follower that had fallen behind.
    attack(19, "its leader's copy is missing: nothing in it is as late as the data", "data(0)@100", None,
           "SKEW UNDETERMINED", coordinators=2, logs=LAGGING | {f"{TRANSACTION_STATE}-1@2": "id(x1, of=8) empty@50"}),
    attack(19, "its leader's copy is missing, and it is empty", "data(0)@100 plain(1)@100 abort(2, of=8)@101", None,
           "SKEW UNDETERMINED", coordinators=2, logs=LAGGING | {f"{TRANSACTION_STATE}-1@2": ""}),
    attack(19, "its leader's copy is missing, and its last record is later than the data",
           "abort(0, of=8)@60 data(1)@100 abort(2, of=8)@101", None, "COORDINATOR_UNKNOWN ABORT", coordinators=2,
           logs=LAGGING | {f"{TRANSACTION_STATE}-1@2": "id(x1, of=8) empty@50 empty(epoch=1)@200"}),
    attack(19, "Ongoing in a copy that may have fallen behind before its timeout", "data(0)@100 abort(1, of=8)@101", None,
           "ONGOING WAIT", coordinators=2,
           logs=LAGGING | {f"{TRANSACTION_STATE}-1@2": f"id(app) {LISTED} id(x1, of=8) empty@103"}),
    attack(19, "Ongoing beyond its timeout in a copy that may have fallen behind", "data(0)@100 abort(1, of=8)@101", None,
           "STUCK_ONGOING FENCE", coordinators=2,
           logs=LAGGING | {f"{TRANSACTION_STATE}-1@2": f"id(app) {LISTED} id(x1, of=8) empty@110"}),
    # 20: the cleaner swaps segments while they are copied: what lay in the one that vanished is in no copy.
    attack(20, "the id's record may have vanished", "abort(0, of=8)@95 data(1)@100", TORN, "COVERAGE_GAP UNDETERMINED"),
    attack(20, "the record of whoever owns the producer id may have vanished", "abort(0, of=8)@95 data(1)@100",
           "id(shop, of=99) empty@50 skip(5) empty@90 cleaned_to(5)", "COVERAGE_GAP UNDETERMINED"),
    attack(20, "Ongoing, and what came after it may have vanished", "abort(0, of=8)@501 data(1)@502",
           "id(app) ongoing@500[orders-0] skip(5) id(shop, of=99) empty@510 cleaned_to(5)", "COVERAGE_GAP UNDETERMINED"),
    attack(20, "another copy has the same last record", "abort(0, of=8)@95 data(1)@100", TORN, "NEVER_ADDED ABORT",
           logs={f"{TRANSACTION_STATE}-0@2": TORN}),
    attack(20, "another copy has a later record", "abort(0, of=8)@95 data(1)@100", TORN, "COVERAGE_GAP UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": TORN.replace("skip(5)", "skip(2) ongoing@80[orders-0] skip(5)")}),
    attack(20, "another copy ends before what is missing", "abort(0, of=8)@95 data(1)@100", TORN, "COVERAGE_GAP UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": "id(app) empty@60"}),
    attack(20, "another copy that ends early has a later record", "abort(0, of=8)@95 data(1)@100", TORN,
           "COVERAGE_GAP UNDETERMINED", logs={f"{TRANSACTION_STATE}-0@2": TORN,
                                              f"{TRANSACTION_STATE}-0@3": "id(app) empty@60 ongoing@80[orders-0]"}),
    attack(20, "another copy is printed text, which says less", "abort(0, of=8)@95 data(1)@100", TORN,
           "COVERAGE_GAP UNDETERMINED", logs={f"{TRANSACTION_STATE}-0@2": f"{TORN} text"}),
    attack(20, "nobody owns the producer id in another copy, either", "abort(0, of=8)@95 data(1)@100",
           "id(shop, of=99) empty@50 skip(5) empty@90 cleaned_to(5)", "COORDINATOR_UNKNOWN ABORT",
           logs={f"{TRANSACTION_STATE}-0@2": "id(shop, of=99) empty@50 skip(5) empty@90 cleaned_to(5)"}),
    attack(20, "another copy says who owns the producer id", "abort(0, of=8)@95 data(1)@100",
           "id(shop, of=99) empty@50 skip(5) empty@90 cleaned_to(5)", "COVERAGE_GAP UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": "skip(3) id(app) ongoing@80[orders-0] skip(5) id(shop, of=99) empty@90 cleaned_to(5)"}),
    attack(20, "all its segments were listed before the copy", "abort(0, of=8)@95 data(1)@100",
           TORN.replace("skip(5)", "listed@61 segment(5)"), "NEVER_ADDED ABORT"),
    attack(20, "a commit is one whatever came after it", "data(0)@100", f"id(app) {COMMITTED} skip(9) id(shop, of=99) empty@190"
           " cleaned_to(9)", "MARKER_LOST_COMMIT KEEP"),
    # 21: of several copies one is the leader's, and which one nothing says: the first that was taken counts.
    attack(21, "the copy of a follower that had fetched no more than its leader had when that was copied", "data(0)@700"
           " abort(1, of=8)@701", None, "SKEW UNDETERMINED", copied={"2": (600, 601), "3": (990, 991)},
           logs={f"{TRANSACTION_STATE}-0@2": "empty@50", f"{TRANSACTION_STATE}-0@3": "empty@50 id(shop, of=9) empty@60"}),
    attack(21, "Ongoing in such a copy", "data(0)@590 abort(1, of=8)@591", None, "ONGOING WAIT",
           copied={"2": (592.5, 593), "3": (990, 991)},
           logs={f"{TRANSACTION_STATE}-0@2": "empty@50 ongoing@589[orders-0]",
                 f"{TRANSACTION_STATE}-0@3": "empty@50 ongoing@589[orders-0] id(shop, of=9) empty@592"}),
    attack(21, "such a copy, of after the partition's, which was copied after the leader", "data(0)@450 abort(1, of=8)@451",
           None, "SKEW UNDETERMINED", copied={"1": (500, 501), "2": (400, 401), "3": (990, 991)}, modified_on={"1": 500},
           logs={f"{TRANSACTION_STATE}-0@2": "empty@50", f"{TRANSACTION_STATE}-0@3": "empty@50 id(shop, of=9) empty@60"}),
    attack(21, "the follower's has a record that is later than the data", "data(0)@700 abort(1, of=8)@701", None,
           "NEVER_ADDED ABORT", copied={"2": (600, 601), "3": (990, 991)},
           logs={f"{TRANSACTION_STATE}-0@2": "empty@50", f"{TRANSACTION_STATE}-0@3": "empty@50 id(shop, of=9) empty@800"}),
    attack(21, "a partition's follower, which has no more than its leader had before the commit", None, COMMITTED,
           "SKEW UNDETERMINED", copied={"2": (100.2, 100.3), "3": (999, 999.1)},
           logs={"orders-0@2": "data(0)@100", "orders-0@3": "data(0)@100 plain(1)@100:01"}),
    # 22: segments that replay leaves out, and all but the last COMMIT of each.
    attack(22, "an earlier COMMIT that no record explains", "abort(0, of=8)@60 data(1)@100", "empty@50 ongoing@200[payments-0]"
           " prepare_commit@201 complete@201", "HISTORY_COMPACTED UNDETERMINED",
           logs={"payments-0@1": "data(0)@100 commit(1)@101 data(2)@200 commit(3)@201"}),
    attack(22, "five COMMITs within the skew, four commits, and an id that is older than its whole records",
           "abort(0, of=8)@99:50 data(1)@100:01.500", "skip(5) id(shop, of=99) empty@60 id(app)"
           + "".join(f" ongoing@100:0{n}[payments-0] prepare_commit@100:0{n} complete@100:0{n}" for n in range(4))
           + " cleaned_to(5)", "HISTORY_COMPACTED UNDETERMINED",
           logs={"payments-0@1": " ".join(f"data({2 * n})@100:0{n} commit({2 * n + 1})@100:0{n}" for n in range(5)),
                 f"{TRANSACTION_STATE}-0@2": "skip(5) id(shop, of=99) empty@60 high_watermark(6)"}),
    attack(22, "as many COMMITs as commits", "abort(0, of=8)@99:50 data(1)@100:01.500", "empty@50"
           + "".join(f" ongoing@100:0{n}[payments-0] prepare_commit@100:0{n} complete@100:0{n}" for n in range(4)),
           "NEVER_ADDED ABORT",
           logs={"payments-0@1": " ".join(f"data({2 * n})@100:0{n} commit({2 * n + 1})@100:0{n}" for n in range(4))}),
    # 23: nobody says when the copy began: what stands in the coordinators' logs does.
    attack(23, "coordinators that were copied hours before the rest", "data(0)@700 abort(1, of=8)@701 abort(2, of=8)@999",
           "empty@50", "SKEW UNDETERMINED", copied={"1": (None, None)}),
    attack(23, "coordinators that have something of the copy's time", "data(0)@700 abort(1, of=8)@701 abort(2, of=8)@999",
           "empty@50 id(shop, of=9) empty@999", "NEVER_ADDED ABORT", copied={"1": (None, None)}),
    # 24: a log whose first segments are not in the copy.
    attack(24, "a partition that the transaction lists lacks its first segment", "data(0)@200 abort(1, of=8)@201",
           "empty@50 ongoing@199[orders-0,payments-0]", "COVERAGE_GAP UNDETERMINED",
           logs={"payments-0@1": "segment(10) plain(10)@150"}),
    attack(24, "a partition that the transaction lists starts where its log does", "data(0)@200 abort(1, of=8)@201",
           "empty@50 ongoing@199[orders-0,payments-0]", "STUCK_ONGOING FENCE",
           logs={"payments-0@1": "segment(10) plain(10)@150 epochs(10, 10)"}),
    attack(24, "its own partition does, and no snapshot says what its producer id had open",
           "segment(10) abort(10, of=8)@90 data(11)@100", "empty@50", "COVERAGE_GAP UNDETERMINED"),
    attack(24, "a snapshot says that it had nothing open", "segment(10) snapshot(10) abort(10, of=8)@90 data(11)@100",
           "empty@50", "NEVER_ADDED ABORT"),
    attack(24, "its last end is in the copy", "segment(10) abort(10)@90 data(11)@100", "empty(epoch=0)@50",
           "LATE_WRITE_AFTER_END ABORT"),
    # 25: a log that begins at offset 0 and is younger than the data.
    attack(25, "a replica that lost its disk was elected", "data(0)@100 abort(1, of=8)@101",
           "id(shop, of=9) empty(coordinator=7)@200 empty(coordinator=7)@900", "HISTORY_COMPACTED UNDETERMINED"),
    attack(25, "its first record is older than the data", "abort(0, of=8)@99 data(1)@100 abort(2, of=8)@101",
           "id(shop, of=9) empty(coordinator=7)@50 empty(coordinator=7)@900", "COORDINATOR_UNKNOWN ABORT"),
    # 26: files that were unpacked at the time that is stated.
    attack(26, "files' times that the copy has not kept confirm nothing", "data(0)@100 abort(1, of=8)@101", "empty@50",
           "SKEW UNDETERMINED", keeps_times=False),
    # 11: how many coordinators there are.
    attack(11, "nobody says it and no id proves it", "data(0)@100", "id(shop, of=8) empty@50",
           "COVERAGE_GAP UNDETERMINED", coordinators=None),
    # 12: a pending marker by an older copy of the coordinator; two-phase commit.
    attack(12, "the coordinator was copied before new data", "data(0)@190 commit(1)@300 data(2)@301", None, "PENDING WAIT",
           logs={f"{TRANSACTION_STATE}-0@2": "empty@50 ongoing@189[orders-0] prepare_commit@190"},
           copied={"2": (200, 210)}),
    attack(12, "data of a two-phase id that its transaction does not list", "data(0)@100",
           "id(app, timeout=none) empty@50 ongoing@99[payments-0]", "NEVER_ADDED ABORT"),
    attack(12, "a lost commit of a two-phase id", "data(0)@100",
           "id(app, timeout=none) empty@50 ongoing@99[orders-0] prepare_commit@101 complete@101", "MARKER_LOST_COMMIT KEEP"),
    attack(12, "a lost commit of a two-phase id whose next transaction lists the partition", "data(0)@100 abort(1, of=8)@110",
           "id(app, timeout=none) empty@50 ongoing@99[orders-0] prepare_commit@101 complete@101 ongoing@200[orders-0]",
           "MARKER_LOST_COMMIT KEEP"),
    attack(12, "the coordinator's copy is of before the epoch of the data", "data(0, epoch=5)@100", "empty(epoch=3)@50",
           "SKEW UNDETERMINED"),
    attack(12, "the coordinator's copy is of before the epoch of the last marker", "abort(0, epoch=5)@100 data(1, epoch=3)@101",
           "empty(epoch=3)@50", "SKEW UNDETERMINED"),
    # 13: a manifest that is of another day than the copy.
    attack(13, "a day after all that is in the copy", "data(0)@100", LISTED, "SKEW UNDETERMINED",
           copied={"1": (2440, 2440.05)}),
    attack(13, "the clock of whoever states it is minutes fast: not late by what is in the copy", "data(0)@985 abort(1, of=8)@985",
           "empty@50 ongoing@984[orders-0]", "ONGOING WAIT", copied={"1": (1008, 1008.05)}),
    attack(13, "the same of a transaction that its coordinator never had", "data(0)@985 abort(1, of=8)@985", "empty@50",
           "TOO_YOUNG WAIT", copied={"1": (1008, 1008.05)}),
    attack(13, "its end is stated, and a broker wrote into the copy later", "data(0)@100 abort(1, of=8)@999", None,
           "SKEW UNDETERMINED", logs={f"{TRANSACTION_STATE}-0@2": "empty@50"}, copied={"1": (990, 991), "2": (992, 993)}),
    attack(13, "the same of a coordinator that was copied before the data was written", "data(0)@none abort(1, of=8)@970:30", None,
           "SKEW UNDETERMINED", logs={f"{TRANSACTION_STATE}-0@2": "empty@50"}, copied={"1": (1000, 1000.05), "2": (975, 975.05)},
           modified_on={"2": 970}),
    attack(13, "nobody states it, and the copy was fetched months later", "data(0)@100 abort(1, of=8)@101",
           "empty@50 ongoing@99[orders-0]", "ONGOING WAIT", copied={"1": (None, None)}, modified=90000, keeps_times=False),
    attack(13, "the coordinator lies on a disk that failed long before its broker was copied", "data(0)@100 plain(1)@101"
           " abort(2, of=8)@102", None, "SKEW UNDETERMINED", modified_on={"2/b": 60},
           logs={f"{TRANSACTION_STATE}-0@2/b": "empty@50", "other-0@2/a": "plain(0)@999"}),
    # 14: the producer's snapshot or a broker's time shows that data came after the end.
    attack(14, "a broker's time puts the data after the abort", "abort(0, of=8)@300 data(1)@301",
           f"{LISTED} prepare_abort@101 complete@101", "NEVER_ADDED ABORT"),
    attack(14, "the snapshot remembers a marker that is later than the commit, which went with the log's start",
           "segment(10) epochs(10, 10) topic(a) snapshot(10, ended)@200 data(10)@300", f"{COMMITTED} ongoing@199[orders-0]"
           " prepare_abort@200 complete@200", "LATE_WRITE_AFTER_END ABORT"),
    attack(14, "the snapshot remembers a marker of that time: of the commit or of an administrator",
           "segment(10) epochs(10, 10) snapshot(10, ended)@101 data(10)@300", COMMITTED, "SKEW UNDETERMINED"),
    attack(14, "the last marker that the snapshot remembers is older than the commit",
           "segment(10) epochs(10, 10) topic(a) snapshot(10, ended)@60 data(10)@100", COMMITTED, "MARKER_LOST_COMMIT KEEP"),
    # 15: data that is certainly later than the commit.
    attack(15, "a recreated topic", "abort(0, of=8)@300 data(1)@301 abort(2, of=8)@302", COMMITTED, "NEVER_ADDED ABORT"),
    # 16: one marker from the future.
    attack(16, "a marker that is stamped 33 hours ahead: later than the copy", "abort(0, of=8)@2980 data(1)@100"
           " abort(2, of=8)@101", "empty@50", "NEVER_ADDED ABORT"),
    attack(16, "it says nothing of when the data was written", "abort(0, of=8)@2980 data(1)@100 abort(2, of=8)@101",
           "skip(50) id(app) empty(epoch=3)@80 cleaned_to(50)", "HISTORY_COMPACTED UNDETERMINED"),
    attack(16, "nothing follows, either", "abort(0, of=8)@2980 data(1)@100", None, "SKEW UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": "empty@50"}, copied={"2": (995, 996)}),
    attack(16, "a marker that is stamped hours ahead: which of the two is wrong does not follow", "abort(0, of=8)@700"
           " data(1)@100 abort(2, of=8)@101", "empty@50", "SKEW UNDETERMINED"),
    # 17: a listing made before the copy says when the end of a quiet partition was there.
    attack(17, "no id is known and nothing follows, but it was listed", "abort(0, of=8)@60 data(1)@100 listed@101", None,
           "COORDINATOR_UNKNOWN ABORT", logs={f"{TRANSACTION_STATE}-0@2": "id(other, of=8) empty@50"}, copied={"2": (995, 996)}),
    attack(17, "listed after the coordinator was copied", "data(0)@100 listed@997", None, "SKEW UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": "id(other, of=8) empty@50"}, copied={"2": (995, 996)}),
    attack(17, "listed, and the id's last transaction was aborted", "data(0)@100 listed@101", None,
           "MARKER_LOST_ABORT ABORT", logs={f"{TRANSACTION_STATE}-0@2": f"{LISTED} prepare_abort@101 complete@101"},
           copied={"2": (995, 996)}),
    attack(17, "of another length in the listing", "data(0)@100", None, "SKEW UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": f"{LISTED} prepare_abort@101 complete@101"}, copied={"2": (995, 996)}),
    attack(17, "listed with a tail: a preallocated file", "data(0)@100 listed@101 zeros(5)", None, "SKEW UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": f"{LISTED} prepare_abort@101 complete@101"}, copied={"2": (995, 996)}),
    # A marker that was sent twice does not stand for the one that was lost.
    attack(2, "a commit sent twice, the next one lost", "data(0)@100 commit(1)@100:01 commit(2)@100:01 data(3)@100:02",
           "empty@50 ongoing@99[orders-0] prepare_commit@100:01 complete@100:01 ongoing@100:01[orders-0]"
           " prepare_commit@100:03 complete@100:03", "SKEW UNDETERMINED"),
    attack(2, "a commit sent once more after minutes, the next one lost",
           "data(0)@90 commit(1)@90 commit(2)@100 data(3)@100:01",
           "empty@50 ongoing@89[orders-0] prepare_commit@90 complete@90 ongoing@99[orders-0]"
           " prepare_commit@100:02 complete@100:02", "SKEW UNDETERMINED"),
    attack(2, "a commit sent twice, by the coordinator that was elected since, after data of the next one, which is lost",
           "data(0)@100 commit(1)@100:01 data(2)@100:02 commit(3, by=2)@100:02 data(4)@100:03",
           "empty@50 ongoing@99[orders-0] prepare_commit@100:01 complete(coordinator=2)@100:01 ongoing@100:01[orders-0]"
           " prepare_commit@100:03 complete(coordinator=2)@100:03", "SKEW UNDETERMINED"),
    attack(2, "the cleaner may have taken the marker of a commit before the data", "plain(0)@50 data(9)@110 cleaned_to(9)",
           COMMITTED, "SKEW UNDETERMINED"),
    attack(2, "the cleaner may have taken markers, of data before the commit it has not", "plain(0)@50 data(9)@100 cleaned_to(9)",
           COMMITTED, "MARKER_LOST_COMMIT KEEP"),
    # 21: other partitions of the coordinator's transaction, in which nothing is open as far as their copies show.
    elsewhere("its high watermark says that nothing more is there", "plain(0)@50", "STUCK_ONGOING FENCE"),
    elsewhere("its last segment may be missing", "plain(0)@50 no_checkpoint", "COVERAGE_GAP UNDETERMINED"),
    elsewhere("its leader may be missing", "plain(0)@50", "COVERAGE_GAP UNDETERMINED", {"refunds-0@2": "", "refunds-0@1": ""}),
    elsewhere("its leader may be missing, but its copy reaches far enough", "plain(0)@50 abort(1, of=8)@200",
              "STUCK_ONGOING FENCE", {"refunds-0@2": "", "refunds-0@1": ""}),
    elsewhere("a leader that died has a marker which the new one lacks", "plain(0)@50 data(1)@100 epochs(0, 2, last=6)",
              "COVERAGE_GAP UNDETERMINED", {"payments-0@2": "plain(0)@50 data(1)@100 commit(2)@101"}),
    elsewhere("a copy of the topic before it was recreated", "plain(0)@50 data(1)@100 topic(new)", "COVERAGE_GAP UNDETERMINED",
              {"payments-0@2": "plain(0, leader=9)@50 plain(1, leader=9) plain(2, leader=9) topic(old)"}),
    elsewhere("the same, of a broker that wrote no topic ids", "plain(0)@50 data(1)@100",
              "COVERAGE_GAP UNDETERMINED", {"payments-0@2": "plain(0, leader=9)@50 plain(1, leader=9) plain(2, leader=9)"
                                                            " epochs(0, 0, last=9)"}),
    elsewhere("its first segment is missing, and the oldest messages had no leader epoch", "segment(5) plain(5)@50"
              " plain(6) plain(7) segment(8) plain(8) epochs(8, 8)", "COVERAGE_GAP UNDETERMINED"),
    elsewhere("an earlier dump showed more than its copy has", "plain(0)@50", "COVERAGE_GAP UNDETERMINED",
              sightings=(shown_in_payments("500"),)),
    elsewhere("a newer dump, judged before this one, showed more than its copy has", "plain(0)@50", "COVERAGE_GAP UNDETERMINED",
              sightings=(shown_in_payments("1500"),)),
    elsewhere("an earlier dump showed what its copy has", "plain(0)@50 data(1)@100 commit(2)@101", "STUCK_ONGOING FENCE",
              sightings=(shown_in_payments("100"),)),
    # 22: __transaction_state itself is not what it was.
    attack(22, "it was made anew after the data", "abort(0, of=9)@60 data(1)@100", "id(shop, of=99) empty@500",
           "HISTORY_COMPACTED UNDETERMINED"),
    attack(22, "it was made anew after the data, and another partition is empty", "abort(0, of=9)@60 data(1)@100",
           "id(shop, of=99) empty@500", "HISTORY_COMPACTED UNDETERMINED", coordinators=2,
           logs={f"{TRANSACTION_STATE}-1@1": ""}),
    attack(22, "it has no record at all", "abort(0, of=9)@60 data(1)@100", "", "HISTORY_COMPACTED UNDETERMINED"),
    attack(22, "a partition lost its disk, and its empty log was elected", "abort(0, of=9)@60 data(1)@100",
           "id(shop, of=99) empty@50", "HISTORY_COMPACTED UNDETERMINED", coordinators=2,
           logs={f"{TRANSACTION_STATE}-1@1": "epochs(0, 0, last=7)"}),
    attack(22, "a partition is empty, and nothing says that its log is the first one", "abort(0, of=9)@60 data(1)@100",
           "id(shop, of=99) empty@50", "HISTORY_COMPACTED UNDETERMINED", coordinators=2,
           logs={f"{TRANSACTION_STATE}-1@1": ""}),
    attack(22, "a partition was never written to", "abort(0, of=9)@60 data(1)@100", "id(shop, of=99) empty@50",
           "COORDINATOR_UNKNOWN ABORT", coordinators=2,
           logs={f"{TRANSACTION_STATE}-1@1": "epochs(0, 0, last=0)"}),
    attack(22, "one broker was restored from a backup and gave out an epoch once more", "data(0)@100 abort(1, of=8)@200",
           "id(app) empty@50 id(shop, of=99) empty@150 empty@160",
           "HISTORY_COMPACTED UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": f"{LISTED} prepare_commit@101"}),
    attack(22, "it was printed a day before the rest was copied", "data(0)@100 abort(1, of=8)@200", "text empty@50",
           "SKEW UNDETERMINED"),
    attack(22, "a leader that died has records which the new one lacks", "data(0)@100 abort(1, of=8)@200",
           f"{LISTED} epochs(0, 2, last=6)", "COVERAGE_GAP UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": f"{LISTED} prepare_abort@101 complete@101"}),
    # 28: what is known of a marker, a copy or an id is not what it seems.
    attack(28, "before 2.8 the snapshot may have its producer's time, which says nothing of when the marker was written",
           "segment(10) epochs(10, 10) snapshot(10, ended)@200 data(10)@300", f"{COMMITTED} ongoing@199[orders-0]"
           " prepare_abort@200 complete@200", "SKEW UNDETERMINED"),
    attack(28, "a copy of the coordinator that is cut has a high watermark beyond the longest one", "abort(0, of=8)@60"
           " data(1)@100 abort(2, of=8)@101", "empty@50 id(shop, of=99) empty@90", "COVERAGE_GAP UNDETERMINED",
           logs={f"{TRANSACTION_STATE}-0@2": "empty@50 high_watermark(9)"}),
    attack(28, "a copy of the partition that is cut has a high watermark beyond the longest one", "abort(0, of=8)@60"
           " data(1)@100 abort(2, of=8)@101", "empty@50", "COVERAGE_GAP UNDETERMINED",
           logs={"orders-0@2": "abort(0, of=8)@60 high_watermark(9)"}),
    attack(28, "a commit did not raise the epoch, though its client could", "data(0)@60 abort(1)@61 data(2)@100"
           " abort(3, of=8)@110", "empty@50 ongoing(version=2)@99[orders-0] prepare_commit(version=1)@101 complete@101",
           "MARKER_LOST_COMMIT KEEP"),
    attack(28, "its producer id was given out twice, and what came before the second time is compacted away",
           "abort(0, of=8)@60 data(1)@100 abort(2, of=8)@200", "skip(3) complete_commit@101 empty@150 cleaned_to(3)",
           "HISTORY_COMPACTED UNDETERMINED"),
    # 29: a commit request that arrives late commits the next transaction, too, half written as it is (KIP-890).
    attack(29, "the second half of a transaction", CUT, f"empty@5 {EARLIER} {HALF}", "SKEW UNDETERMINED"),
    attack(29, "of the earlier one only the decision is left", CUT,
           f"skip(9) id(app) complete_commit@19:30 {HALF} cleaned_to(9)", "SKEW UNDETERMINED"),
    attack(29, "the earlier one was in another partition", CUT.replace("data(0)@19 commit(1)@19:30", "plain(0..1)@19"),
           f"empty@5 {EARLIER.replace('orders', 'payments')} {HALF}", "SKEW UNDETERMINED",
           logs={"payments-0@1": "data(0)@19 commit(1)@19:30"}),
    attack(29, "ending the next one, which is stuck, would discard it", CUT,
           f"empty@5 {EARLIER} {HALF} ongoing@950[orders-0]", "SKEW UNDETERMINED"),
    attack(29, "what came shortly before it is compacted away", "plain(0..1)@19 data(2)@20 commit(3)@22 data(4)@22:01"
           " abort(5, of=8)@60", f"skip(9) id(app) {HALF.replace('20:05', '22')} cleaned_to(9)", "HISTORY_COMPACTED UNDETERMINED"),
    attack(29, "no request was sent before the first one of its epoch", "plain(0..1)@19 data(2)@20 commit(3)@20:05"
           " data(4)@20:06 abort(5, of=8)@60", f"empty@5 {HALF}", "LATE_WRITE_AFTER_END ABORT"),
    attack(29, "a producer was started in between", CUT.replace("data(2)@20 commit(3)@20:05 data(4)",
           "data(2, epoch=1)@20 commit(3, epoch=1)@20:05 data(4, epoch=1)"), f"empty@5 {EARLIER} empty(epoch=1)@19:40"
           " ongoing(epoch=1)@20[orders-0] prepare_commit(epoch=1)@20:05 complete(epoch=1)@20:05", "LATE_WRITE_AFTER_END ABORT"),
    attack(29, "the earlier one ended long before", CUT.replace("@19", "@11"),
           f"empty@5 {EARLIER.replace('@19', '@11')} {HALF}", "LATE_WRITE_AFTER_END ABORT"),
    attack(29, "a broker dates it, so late that no transaction lasts as long", CUT.replace(
           "data(4)@20:06", "abort(4, of=8)@41 data(5)@42").replace("abort(5, of=8)", "abort(6, of=8)"),
           f"empty@5 {EARLIER} {HALF} ongoing@40[payments-0] prepare_abort@40:10 complete@40:10", "LATE_WRITE_AFTER_END ABORT"),
    attack(29, "a broker dates it after the start of the next one, which is stuck", CUT.replace(
           "data(4)@20:06 abort(5, of=8)@60", "abort(4, of=8)@951 data(5)@952"),
           f"empty@5 {EARLIER} {HALF} ongoing@950[orders-0]", "STUCK_ONGOING FENCE"),
    attack(29, "the next one there was aborted", CUT.replace("abort(5, of=8)", "abort(5)@30 data(6)@31 abort(7, of=8)"),
           f"empty@5 {EARLIER} {HALF} {NEXT.format('29', '30')}", "LATE_WRITE_AFTER_END ABORT"),
    attack(29, "the next one there was aborted within the clock skew, and its marker is lost", CUT,
           f"empty@5 {EARLIER} {HALF} {NEXT.format('20:07', '20:08')}", "SKEW UNDETERMINED"),
    attack(29, "a broker dates it after the end of the next one there, whose marker is lost", CUT.replace(
           "data(4)@20:06", "abort(4, of=8)@31 data(5)@32").replace("abort(5, of=8)", "abort(6, of=8)"),
           f"empty@5 {EARLIER} {HALF} {NEXT.format('30', '30:10')}", "LATE_WRITE_AFTER_END ABORT"),
    attack(29, "in version 2 the request that comes late has an epoch that has ended", "data(0)@19 commit(1, epoch=1)@19:30"
           " data(2, epoch=1)@20 commit(3, epoch=2)@20:05 data(4, epoch=2)@20:06 abort(5, of=8)@60",
           "id(app, version=2) empty@5 ongoing@19[orders-0] prepare_commit(epoch=1)@19:30 complete(epoch=1)@19:30"
           " ongoing(epoch=1)@20[orders-0] prepare_commit(epoch=2)@20:05 complete(epoch=2)@20:05", "NEVER_ADDED ABORT"),
    attack(29, "its producer went on in a transaction that added another partition", f"{OUT_OF_TWO} abort(4, of=9)@102 data(5)@102:10"
           " abort(6, of=9)@900", f"empty@50 {TWICE} {GOES_ON}", "SKEW UNDETERMINED"),
    attack(29, "the same, and the next transaction there is stuck", f"{OUT_OF_TWO} abort(4, of=9)@102 data(5)@102:10 data(6)@104:10"
           " abort(7, of=9)@900", f"empty@50 {TWICE} {GOES_ON} ongoing@104[orders-0]", "SKEW UNDETERMINED"),
    attack(29, "the record of what it committed is compacted away", f"{OUT_OF_TWO} abort(4, of=9)@102:30 data(5)@102:40"
           " abort(6, of=9)@900", f"{GAP.format('101:50')} ongoing@110[payments-1] prepare_commit@111 complete@111",
           "HISTORY_COMPACTED UNDETERMINED"),
    attack(29, "the earlier one was decided long before, and long in coming", "data(0)@100 commit(1)@120 data(2)@120:10 commit(3)@120:30"
           " data(4)@120:40 abort(5, of=9)@900", "empty@50 ongoing@99[orders-0] prepare_commit@101 complete(written=120)@101"
           " ongoing@120:05[orders-0] prepare_commit@120:30 complete@120:30", "SKEW UNDETERMINED"),
    attack(29, "a late abort, and what its producer went on with is committed", f"{OUT_OF_TWO.replace('commit', 'abort')} data(4)@101:40"
           " abort(5, of=9)@900", f"empty@50 {ABORTED_TWICE} {GOES_ON}", "SKEW UNDETERMINED"),
    attack(29, "a late abort whose marker is lost", "data(0)@100 abort(1)@101 data(2)@101:10 data(3)@101:40 abort(4, of=9)@900",
           f"empty@50 {ABORTED_TWICE} {GOES_ON}", "SKEW UNDETERMINED"),
    attack(29, "a late abort, and another transaction is stuck", f"{OUT_OF_TWO.replace('commit', 'abort')} data(4)@101:40"
           " data(5)@104:10 abort(6, of=9)@900", f"empty@50 {ABORTED_TWICE} {GOES_ON} ongoing@104[orders-0]", "SKEW UNDETERMINED"),
    attack(29, "a late abort, and the next one there was aborted within the clock skew", f"{OUT_OF_TWO.replace('commit', 'abort')}"
           " data(4)@101:22 abort(5, of=9)@900", f"empty@50 {ABORTED_TWICE} ongoing@101:21[offsets-0] prepare_commit@101:22"
           f" complete@101:22 {NEXT.format('101:23', '101:24')}", "SKEW UNDETERMINED"),
    attack(29, "a late abort, and the next one there is stuck in its end", f"{OUT_OF_TWO.replace('commit', 'abort')}"
           " data(4)@101:22 data(5)@101:23 abort(6, of=9)@900", f"empty@50 {ABORTED_TWICE} ongoing@101:21[offsets-0]"
           " prepare_commit@101:22 complete@101:22 ongoing@101:23[orders-0] prepare_abort@101:24", "SKEW UNDETERMINED"),
    attack(29, "after a late abort nothing more began", f"{OUT_OF_TWO.replace('commit', 'abort')} data(4)@101:40"
           " abort(5, of=9)@900", f"empty@50 {ABORTED_TWICE}", "LATE_WRITE_AFTER_END ABORT"),
    attack(29, "after a late abort what began was aborted, too", f"{OUT_OF_TWO.replace('commit', 'abort')} data(4)@101:40"
           " abort(5, of=9)@900", f"empty@50 {ABORTED_TWICE} {GOES_ON.replace('commit', 'abort')}", "LATE_WRITE_AFTER_END ABORT"),
    attack(29, "an abort after a commit was not asked for by that one", OUT_OF_TWO.replace("commit(3)", "abort(3)") + " data(4)@101:40"
           " abort(5, of=9)@900", f"empty@50 {TWICE.replace('prepare_commit@101:20', 'prepare_abort@101:20')} {GOES_ON}",
           "LATE_WRITE_AFTER_END ABORT"),
    # 30: an unclean election took the record that listed the partition, and the new coordinator committed the rest.
    attack(30, "committed without the partition", "data(0)@100 abort(1, of=8)@200", f"id(app) empty@50 {MOVED}", "SKEW UNDETERMINED"),
    attack(30, "committed without the partition, and its COMMIT elsewhere has the epoch", "data(0)@100 abort(1, of=8)@200",
           "id(app, version=2) empty@50 ongoing@99[payments-0] prepare_commit(epoch=1, coordinator=1)@101"
           " complete(epoch=1, coordinator=1)@101", "SKEW UNDETERMINED",
           logs={"payments-0@1": "data(0)@100 commit(1, epoch=1, by=1)@101"}),
    attack(30, "nothing is left of its first records", BETWEEN, "skip(9) id(shop, of=99) empty@90 id(app) prepare_commit(began=99)@101[payments-0] cleaned_to(9)", "HISTORY_COMPACTED UNDETERMINED"),
    attack(30, "nothing is left of it from before its first transaction", BETWEEN, FIRST.format(70, c=0), "NEVER_ADDED ABORT"),
    attack(30, "what is left begins with another coordinator", BETWEEN, FIRST.format(70, c=1),
           "HISTORY_COMPACTED UNDETERMINED"),
    attack(30, "what is left begins shortly before the data", BETWEEN, FIRST.format(90, c=0),
           "HISTORY_COMPACTED UNDETERMINED"),
    attack(30, "nothing is left of the first records of a two-phase commit", "abort(0, of=8)@74:30 data(1)@75"
           " abort(2, of=8)@200", "skip(9) id(shop, of=99) empty(coordinator=1)@50 id(app)"
           " prepare_commit(coordinator=1, began=40)@80[payments-0] complete(coordinator=1)@80 cleaned_to(9)",
           "HISTORY_COMPACTED UNDETERMINED"),
    attack(30, "the coordinator stayed", "data(0)@100 abort(1, of=8)@200",
           f"id(app) empty@50 {MOVED.replace('coordinator=1', 'coordinator=0')}", "NEVER_ADDED ABORT"),
    attack(30, "a broker dates it after the commit", "abort(0, of=8)@102 data(1)@103 abort(2, of=8)@200",
           f"id(app) empty@50 {MOVED}", "NEVER_ADDED ABORT"),
    attack(30, "a broker dates it before the transaction", "data(0)@70 abort(1, of=8)@71", f"id(app) empty@50 {MOVED}",
           "NEVER_ADDED ABORT"),
    attack(30, "the first records are lost, and the next one is the new coordinator's", "data(0)@100 abort(1, of=9)@900",
           "empty@50 ongoing(coordinator=1)@101[payments-0] prepare_commit(coordinator=1)@102 complete(coordinator=1)@102",
           "SKEW UNDETERMINED", logs={"payments-0@1": "data(0)@101 commit(1, by=1)@102"}),
    attack(30, "the same, and a broker dates it before the id's last record", "data(0)@40 abort(1, of=9)@41",
           "empty@30 empty@50 ongoing(coordinator=1)@101[payments-0] prepare_commit(coordinator=1)@102 complete(coordinator=1)@102",
           "NEVER_ADDED ABORT", logs={"payments-0@1": "data(0)@101 commit(1, by=1)@102"}),
    attack(30, "printed text does not say that it is of version 2", "text data(0)@100 abort(1, of=9)@900", "text empty@50"
           " ongoing@99[payments-0] prepare_commit(epoch=1, coordinator=1)@102 complete(coordinator=1)@102 id(other, of=8)"
           " empty(coordinator=1)@999", "SKEW UNDETERMINED"),
    attack(30, "in version 2 of another epoch", "data(0, epoch=1)@100 abort(1, of=8)@200",
           "id(app, version=2) empty@50 ongoing@99[payments-0] prepare_commit(epoch=1, coordinator=1)@101"
           " complete(epoch=1, coordinator=1)@101", "NEVER_ADDED ABORT"),
    # 31: COMMIT markers without a record, and commits that cannot have written the data.
    attack(31, "a COMMIT that no record explains, and an ABORT after it in the same file", "abort(0, of=9)@97 data(1)@100"
           " abort(2, of=9)@900", f"{GAP.format('95')} {SINCE}", "HISTORY_COMPACTED UNDETERMINED", logs={"payments-0@1": UNRECORDED}),
    attack(31, "the same, and another transaction is stuck", "abort(0, of=9)@97 data(1)@100 data(2)@300:10 abort(3, of=9)@900",
           f"{GAP.format('95')} {SINCE} ongoing(coordinator=1)@300[orders-0]", "HISTORY_COMPACTED UNDETERMINED",
           logs={"payments-0@1": UNRECORDED}),
    attack(31, "a COMMIT that was sent by the coordinator before the one that decided", "data(0)@100 commit(1, by=0)@101"
           " data(2)@101:02 abort(3, of=9)@900", "empty@50 ongoing(coordinator=1)@101:01[orders-0]"
           " prepare_commit(coordinator=1)@101:03 complete(coordinator=1)@101:03", "HISTORY_COMPACTED UNDETERMINED"),
    attack(31, "a broker dates it hours before the transaction whose COMMIT is lost", "data(0)@100 abort(1, of=9)@110",
           "empty@50 ongoing@300[orders-0] prepare_commit@301 complete@301", "SKEW UNDETERMINED"),
    attack(31, "of an epoch that was fenced long before the commit", "data(0)@100",
           "empty@50 empty(epoch=3)@200 ongoing@300[orders-0] prepare_commit@301 complete@301", "SKEW UNDETERMINED"),
    # 32: an earlier dump showed other data there, and has as much to say of what is left now as of another topic.
    attack(32, "below the log start a later transaction is as long as the one that an earlier dump showed", PHANTOM, None,
           "SKEW UNDETERMINED", logs={COORDINATOR: "empty@50 id(shop, of=99) empty@989"}, sightings=(SEEN_WHOLE,), **TORN_APART),
    attack(32, "so it is where its last aborted transaction lost its marker", PHANTOM, None, "SKEW UNDETERMINED",
           logs={COORDINATOR: f"empty@50 {NEXT.format('80', '90')} id(shop, of=99) empty@989"}, sightings=(SEEN_WHOLE,), **TORN_APART),
    attack(32, "its last batch is another one since an unclean election", "data(0)@100 data(1, leader=2)@150", None,
           "SKEW UNDETERMINED", logs={COORDINATOR: f"empty@50 {NEXT.format('80', '90')} id(shop, of=99) empty@989"},
           sightings=(SEEN_OTHER_LAST,), **TORN_APART),
    # 33: what a late request cut in two, and the marker that did is gone from the log.
    attack(33, "retention took the marker", "segment(5) abort(5, of=9)@106 data(6)@106:10 abort(7, of=9)@900 epochs(5, 5)", CUT_AT_101,
           "HISTORY_COMPACTED UNDETERMINED"),
    attack(33, "the cleaner took it", "plain(0)@1 abort(4, of=9)@106 data(5)@106:10 abort(6, of=9)@900 cleaned_to(5)", CUT_AT_101,
           "HISTORY_COMPACTED UNDETERMINED"),
    attack(33, "its records reach back to long before", "segment(5) abort(5, of=9)@206 data(6)@206:10 abort(7, of=9)@900 epochs(5, 5)",
           CUT_AT_101, "NEVER_ADDED ABORT"),
    attack(33, "a second late request aborted what began next", "data(0)@100:40 abort(1)@100:50 data(2)@100:55 abort(3)@101"
           " data(4)@101:03 abort(5, of=9)@900", "empty@50 ongoing@100:40[orders-0] prepare_abort@100:50 complete@100:50"
           " ongoing@100:55[orders-0] prepare_abort@101 complete@101 ongoing@101:05[payments-0] prepare_abort@101:08"
           " complete@101:08 ongoing@101:10[payments-1] prepare_commit@101:12 complete@101:12", "SKEW UNDETERMINED"),
    attack(33, "its marker came minutes after it was decided", "abort(0, of=9)@95 data(1)@99 abort(2)@104:58 data(3)@105"
           " abort(4, of=9)@900", f"skip(9) id(app) ongoing@99:50[orders-0] prepare_abort@100 complete(written=105)@100 {ONCE_MORE}",
           "HISTORY_COMPACTED UNDETERMINED"),
    attack(33, "it was decided before all records that are left", "abort(0, of=9)@95 data(1)@99 abort(2)@104:58 data(3)@105"
           " abort(4, of=9)@900", f"skip(9) id(shop, of=99) empty@99 id(app) complete_abort(written=105)@90 {ONCE_MORE}",
           "HISTORY_COMPACTED UNDETERMINED"),
    attack(33, "what was before it is there", "abort(0, of=9)@95 data(1)@99 abort(2)@104:58 data(3)@105 abort(4, of=9)@900",
           "skip(9) id(shop, of=99) empty@90 id(app) ongoing@99:50[orders-0] prepare_abort@100 complete(written=105)@100"
           f" {ONCE_MORE}", "LATE_WRITE_AFTER_END ABORT"),
    # 34: the record that listed the partition is lost with its coordinator, and nobody has committed it yet.
    attack(34, "the new coordinator has it open under two-phase commit", "data(0)@100 abort(1, of=9)@900", "id(app, version=2)"
           " empty(timeout=none)@50 id(shop, of=99) empty@60 id(app, version=2) ongoing(timeout=none, coordinator=1)@101[payments-0]",
           "SKEW UNDETERMINED"),
    attack(34, "the coordinator stayed", "data(0)@100 abort(1, of=9)@900", "id(app, version=2)"
           " empty(timeout=none)@50 id(shop, of=99) empty@60 id(app, version=2) ongoing(timeout=none)@101[payments-0]",
           "NEVER_ADDED ABORT"),
    attack(34, "its first batch comes long after it was listed", "abort(0, of=8)@91:40 data(1)@92 abort(2, of=8)@200",
           "skip(9) id(shop, of=99) empty(coordinator=1)@86 id(app, timeout=15) ongoing(coordinator=1, began=80)@93"
           "[payments-0,payments-1] prepare_commit(coordinator=1)@94 complete(coordinator=1)@94 cleaned_to(9)",
           "HISTORY_COMPACTED UNDETERMINED"),
    # 35: how long a copy took that does not say it may be more than the slack. Here the last data was in flight.
    attack(35, "written while its broker was copied, long after the coordinator", "data(0)@499 commit(1)@500 data(2)@510",
           None, "SKEW UNDETERMINED", copied={"1": (602, None), "2": (615, 616)},
           logs={f"{TRANSACTION_STATE}-0@2": "empty@50 ongoing@499[orders-0] prepare_commit@500 complete@500"}),
    attack(35, "the coordinator was copied after the end of that copy", "data(0)@499 commit(1)@500 data(2)@510",
           None, "LATE_WRITE_AFTER_END ABORT", copied={"1": (602, 614), "2": (615, 616)},
           logs={f"{TRANSACTION_STATE}-0@2": "empty@50 ongoing@499[orders-0] prepare_commit@500 complete@500"}),
    # 36: the coordinator's copy is old, and another partition shows that its transaction has ended since.
    outdated("it was aborted there", "data(0)@100 abort(1)@300", "COVERAGE_GAP UNDETERMINED"),
    outdated("it was committed there", "data(0)@100 commit(1)@300", "COVERAGE_GAP UNDETERMINED"),
    outdated("it was committed, and the next one is open there", "data(0)@100 commit(1)@300 data(2)@301",
             "COVERAGE_GAP UNDETERMINED"),
    outdated("it was fenced there, and the next one is open", "data(0)@100 abort(1, epoch=1)@300 data(2, epoch=2)@400",
             "COVERAGE_GAP UNDETERMINED"),
    outdated("its marker has an epoch that the coordinator does not know", "data(0)@100 abort(1, epoch=1)@150",
             "COVERAGE_GAP UNDETERMINED"),
    outdated("only a snapshot knows that it was committed", "segment(2) epochs(2, 2) snapshot(2, ended)@300 plain(2)@400",
             "COVERAGE_GAP UNDETERMINED"),
    outdated("data that it does not see is open there", "data(0)@250", "COVERAGE_GAP UNDETERMINED"),
    outdated("an administrator has aborted it there before", "data(0)@100 abort(1)@150", "STUCK_ONGOING FENCE"),
    outdated("a partition that it does not list", "data(0)@250 commit(1)@300", "COVERAGE_GAP UNDETERMINED",
             coordinator="empty@50 ongoing@99[orders-0]"),
    outdated("a decision, and the next transaction has ended there", "data(0)@100 commit(1)@101 data(2)@250 commit(3)@300",
             "COVERAGE_GAP UNDETERMINED", coordinator=f"{UNDER_WAY} prepare_commit@101"),
    outdated("a decision, and its marker is there", "data(0)@100 commit(1)@101", "STUCK_PREPARE MOVE_COORDINATOR",
             coordinator=f"{UNDER_WAY} prepare_commit@101"),
    # 37: the same, where only a copy that is not believed shows it, a batch that is cut, or a time that is not a broker's.
    outdated("only a snapshot knows that it ended, and has the time of an event", f"{IN_SNAPSHOT} plain(2)@400",
             "COVERAGE_GAP UNDETERMINED"),
    outdated("the same, but a broker wrote something later in time", f"{IN_SNAPSHOT} plain(2, appended)@98",
             "STUCK_ONGOING FENCE"),
    outdated("the same, and it may have been committed since the transaction began", f"{IN_SNAPSHOT} plain(2, appended)@150",
             "COVERAGE_GAP UNDETERMINED"),
    outdated("the same, and the next marker in the log is of after that", "segment(2) epochs(2, 2) plain(2)@130"
             " snapshot(3, ended)@50 data(3)@140 abort(4)@150", "COVERAGE_GAP UNDETERMINED"),
    outdated("it was ended there, and only a snapshot of after that is read", "data(0)@100 abort(1)@150 snapshot(2, ended)@150",
             "COVERAGE_GAP UNDETERMINED"),
    outdated("it is open there, too", "data(0)@100 abort(1, of=8)@150", "STUCK_ONGOING FENCE"),
    outdated("another dump showed it longer", "data(0)@100 abort(1, of=8)@150", "COVERAGE_GAP UNDETERMINED",
             sightings=(shown_in_payments("1500", start=0, batches=2),)),
    outdated("the same, but a broker wrote something later, after the coordinator was copied",
             f"{IN_SNAPSHOT} plain(2, appended)@250", "COVERAGE_GAP UNDETERMINED"),
    outdated("the same, but a marker follows it in the log", "data(0)@40 abort(1)@50 snapshot(2, ended)@50 data(2)@60 abort(3)@70",
             "STUCK_ONGOING FENCE"),
    outdated("the same, but its marker is in the log", "data(0)@40 abort(1)@50 snapshot(2, ended)@50", "STUCK_ONGOING FENCE"),
    outdated("the same, and another marker is before it in the log",
             "data(0)@40 abort(1)@50 snapshot(5, ended)@50 plain(5)@260 cleaned_to(5)", "COVERAGE_GAP UNDETERMINED"),
    outdated("a leader that died has the next one's marker", WRITTEN_ANEW, "COVERAGE_GAP UNDETERMINED", coordinator=ALONE,
             other="plain(0)@90 data(1)@250 commit(2)@300"),
    outdated("a leader that died has the next one open", WRITTEN_ANEW, "COVERAGE_GAP UNDETERMINED", coordinator=ALONE,
             other="plain(0)@90 data(1)@250"),
    outdated("a leader that died has the next one open in a snapshot", WRITTEN_ANEW, "COVERAGE_GAP UNDETERMINED",
             coordinator=ALONE, other="segment(2) epochs(2, 2) snapshot(2, open=1)@250 plain(2)@260"),
    outdated("a follower has no more than its leader", "data(0)@100 abort(1)@150", "STUCK_ONGOING FENCE", other="data(0)@100"),
    outdated("printed output has the next one open", "plain(0)@90", "COVERAGE_GAP UNDETERMINED", coordinator=ALONE,
             other="text plain(0)@90 data(1)@250"),
    outdated("its producer wrote while another partition was copied", "plain(0)@90 tail(7)", "COVERAGE_GAP UNDETERMINED",
             coordinator=ALONE),
    outdated("somebody wrote while another partition was copied", "plain(0)@90 tail(-2)", "COVERAGE_GAP UNDETERMINED",
             coordinator=ALONE),
    outdated("another producer wrote while another partition was copied", "plain(0)@90 tail(8)", "STUCK_ONGOING FENCE",
             coordinator=ALONE),
    outdated("another dump showed something beyond the end of a copy", "plain(0)@90", "COVERAGE_GAP UNDETERMINED", coordinator=ALONE,
             sightings=(shown_in_payments("1500"),)),
    attack(37, "the next transaction may be of another producer id", "data(0, epoch=32766)@100",
           "id(app, epoch=32766, version=2) empty@50 ongoing@99[orders-0]", "COVERAGE_GAP UNDETERMINED"),
    # Found by the simulation: a fencing takes the last epoch, and the next start of the client another producer id.
    attack(37, "and the one before it, after an abort", "data(0, epoch=32765)@100",
           "id(app, epoch=32765) empty@50 ongoing@99[orders-0]", "COVERAGE_GAP UNDETERMINED"),
    attack(37, "after many aborts", "data(0, epoch=31767)@100", "id(app, epoch=31767) empty@50 ongoing@99[orders-0]",
           "COVERAGE_GAP UNDETERMINED"),
    attack(37, "after more than there may have been", "data(0, epoch=31766)@100",
           "id(app, epoch=31766) empty@50 ongoing@99[orders-0]", "STUCK_ONGOING FENCE"),
    attack(37, "data of the producer id that is to be given out next", "plain(0, appended)@90 data(1)@105",
           "id(app, of=6, epoch=32766, version=2) empty@50 ongoing@60[payments-0] prepare_commit(epoch=32767, next=7)@100",
           "SKEW UNDETERMINED", logs={"payments-0@1": "data(0, of=6, epoch=32766)@61 commit(1, of=6, epoch=32767)@100"}),
    attack(37, "it is still open, and its COMMIT is in another partition", "abort(0, of=8)@100 data(1)@100", LOST_DECISION,
           "COVERAGE_GAP UNDETERMINED", logs={"payments-0@1": "data(0)@100 commit(1)@102"}),
    attack(37, "it is to be aborted, and its COMMIT is in another partition", "abort(0, of=8)@100 data(1)@100",
           LOST_DECISION.replace(" skip", " prepare_abort@103 skip"), "COVERAGE_GAP UNDETERMINED",
           logs={"payments-0@1": "data(0)@100 commit(1)@102"}),
    attack(37, "it is still open, and a COMMIT of before is in another partition", "abort(0, of=8)@100 data(1)@100", LOST_DECISION,
           "STUCK_ONGOING FENCE", logs={"payments-0@1": "data(0)@60 commit(1)@61"}),
    attack(37, "another broker's copy has its commit where the coordinator's is compacted", "abort(0, of=8)@100 data(1)@100", None,
           "COVERAGE_GAP UNDETERMINED", logs={
               f"{TRANSACTION_STATE}-0@1": f"{SHOP_AND_APP} skip(6) id(shop, of=99) empty(coordinator=4)@200"
               " empty(coordinator=5)@300 listed@990 cleaned_to(6) epochs(0, 7, last=5)",
               COORDINATOR: f"{SHOP_AND_APP} prepare_commit(coordinator=3)@101 complete(coordinator=3)@101"
               " epochs(0, 0, last=3) listed@990"}),
    attack(37, "what was printed of the coordinator differs from its log", "data(0)@100",
           "empty@50 ongoing@99[orders-0] id(shop, of=99) empty(coordinator=1)@700 empty(coordinator=1)@701",
           "HISTORY_COMPACTED UNDETERMINED",
           logs={COORDINATOR: "text empty@50 ongoing@99[orders-0] prepare_commit@101 complete@101"}),
    attack(37, "it is still open, and a snapshot remembers what may be its COMMIT", "abort(0, of=8)@100 data(1)@100",
           LOST_DECISION, "COVERAGE_GAP UNDETERMINED",
           logs={"payments-0@1": "segment(2) epochs(2, 2) topic(a) snapshot(2, ended)@102 plain(2)@110"}),
    attack(37, "it is still open, and what may be its COMMIT is not printed", "abort(0, of=8)@100 data(1)@100",
           LOST_DECISION, "COVERAGE_GAP UNDETERMINED", logs={"payments-0@1": "text data(0)@100 unprinted(1)@102"}),
    # 38: a record that is gone may say that the producer id is younger than its producer's time.
    attack(38, "its transaction is the first that is left", "data(0)@105", LEFT_FROM_110, "SKEW UNDETERMINED"),
    attack(38, "it is dated as early as a broker's clock may differ", "data(0)@109:55", LEFT_FROM_110,
           "MARKER_LOST_COMMIT KEEP"),
    attack(38, "a broker dates it", "data(0)@105 abort(1, of=8)@111:30", LEFT_FROM_110, "MARKER_LOST_COMMIT KEEP"),
    attack(38, "a broker dates it, and its COMMIT may be gone with the log's start",
           "segment(5) data(5)@105 abort(6, of=8)@111:30 log_start(5)", LEFT_FROM_110, "SKEW UNDETERMINED"),
    attack(38, "no record is gone", "data(0)@105", "empty@50 ongoing@110[orders-0] prepare_commit@111 complete@111",
           "MARKER_LOST_COMMIT KEEP"),
    attack(38, "its first record ends the transaction of the producer id before it", "data(0)@65",
           "skip(9) id(app, version=2) complete_commit(began=60, previous=6)@100 ongoing@110[orders-0]"
           " prepare_commit(epoch=1)@111 complete(epoch=1)@111 cleaned_to(10)", "SKEW UNDETERMINED"),
    attack(38, "it is the last id of a two-phase commit", "data(0)@105", "skip(9) id(app, timeout=none)"
           " prepare_commit(began=110)@111[orders-0] complete(began=110)@111 ongoing@112[orders-0] cleaned_to(9)",
           "TWO_PHASE_COMMIT WAIT"),
    attack(38, "its epoch was committed elsewhere, and its first record is of later: that marker has a broker's time",
           "data(0, epoch=3)@100", COMPACTED, "MARKER_LOST_COMMIT KEEP",
           logs={"payments-0@1": "data(0, epoch=3)@100 commit(1, epoch=4)@101"}),
    attack(38, "its epoch was committed elsewhere just before the copy", "data(0, epoch=3)@100", COMPACTED, "SKEW UNDETERMINED",
           logs={"payments-0@1": "data(0, epoch=3)@100 commit(1, epoch=4)@980"}),
    attack(38, "its epoch was committed elsewhere a millisecond too long ago", "data(0, epoch=3)@100", COMPACTED,
           "MARKER_LOST_COMMIT KEEP", logs={"payments-0@1": "data(0, epoch=3)@100 commit(1, epoch=4)@979:59.999"}),
    # 39: the first transaction of version 2 at an epoch of before does not list where something of that is open.
    to_version_2("an abort's marker is lost, and it joins the data", JOINED),
    to_version_2("an abort's marker is lost, and it is committed elsewhere", JOINED,
                 logs={"payments-0@1": "data(0)@21 commit(1, epoch=1)@22"}),
    to_version_2("a late write is open", "data(0)@5 abort(1)@6 data(2)@5:30 data(3)@21 plain(4, appended)@40"),
    to_version_2("what is open was never listed", JOINED, before=ABORTED_AT_6.replace("orders", "refunds")),
    to_version_2("it is in flight", JOINED_AT_31, "ongoing(version=2)@30[payments-0]"),
    to_version_2("it is prepared, as the first part of two phases", JOINED_AT_31, "ongoing(version=2)@30[payments-0]",
                 before=f"id(app, timeout=none) {ABORTED_AT_6}"),
    to_version_2("its markers are still to be written", JOINED, "ongoing(version=2)@20[payments-0] prepare_commit(epoch=1)@22"),
    to_version_2("the next one hangs at the next epoch", AND_NEXT, f"{FIRST_OF_2} ongoing@30[orders-0]"),
    to_version_2("the next one is to be aborted", AND_NEXT, f"{FIRST_OF_2} ongoing@30[orders-0] prepare_abort(epoch=2)@33"),
    to_version_2("the next one was aborted", AND_NEXT, f"{FIRST_OF_2} ongoing@30[orders-0] prepare_abort(epoch=2)@33 complete@33"),
    to_version_2("it wrote before it listed anything", "data(0)@5 data(1)@7 abort(2, of=8)@10"),
    to_version_2("it was committed twice as far from the epoch, as it had been kept prepared", JOINED,
                 FIRST_OF_2.replace("epoch=1", "epoch=2")),
    to_version_2("the data is older than the end before it", "data(0)@5 abort(1, of=8)@5:30", want="MARKER_LOST_ABORT ABORT"),
    to_version_2("the data is of after its end", "abort(0, of=8)@22:10 data(1)@22:20 plain(2, appended)@40",
                 want="NEVER_ADDED ABORT"),
    to_version_2("its client was started anew", "data(0)@5 plain(1, appended)@40", "empty(epoch=1)@7"
                 " ongoing(version=2)@20[payments-0] prepare_commit(epoch=2)@22 complete@22", "MARKER_LOST_ABORT ABORT"),
    to_version_2("it is not the first of version 2", "data(0)@5 plain(1, appended)@40",
                 "ongoing@20[payments-0] prepare_commit(epoch=2)@22 complete@22", "MARKER_LOST_ABORT ABORT",
                 before=f"id(app, version=2) {ABORTED_AT_6.replace('abort', 'abort(epoch=1)')}"),
    attack(39, "no earlier one had the epoch of the data", "data(0, epoch=1)@21 plain(1, appended)@40", "id(app, version=2) empty@0"
           " ongoing@4[payments-0] prepare_abort(epoch=1)@6 complete@6 ongoing(epoch=1)@20[payments-0] prepare_commit(epoch=2)@22"
           " complete@22", "NEVER_ADDED ABORT"),
]  # fmt: skip


# Something speaks against an abort, and another proof is lacking first.
CONTRADICTED = [
    attack(27, "a COMMIT that no record explains, in a copy that is cut", "data(0)@60 commit(1)@61 data(2)@100 epochs(0, 9)",
           "empty@50", "COVERAGE_GAP UNDETERMINED"),
    attack(27, "a commit, in a copy that is cut", "data(0)@100 epochs(0, 9)", COMMITTED, "COVERAGE_GAP UNDETERMINED"),
]  # fmt: skip
CASES += CONTRADICTED


@pytest.mark.parametrize("case", CONTRADICTED, ids=lambda case: case.id)
def test_what_speaks_against_an_abort_is_noted_whatever_else_is_lacking(case: Case, found: Found) -> None:
    assert found.only(case)["is_contradicted"]


def test_nothing_speaks_against_what_is_to_be_aborted(found: Found) -> None:
    assert not [
        row for rows in found.rows.values() for row in rows if row["action"] == "ABORT" and row["is_contradicted"]
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_nothing_is_discarded_without_proof(case: Case, found: Found) -> None:
    row = found.only(case)
    assert f"{row['cause']} {row['action']}" == case.want, row["reason"]
