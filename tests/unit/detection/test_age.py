"""How old an open transaction is: as of the copy, by clocks that can be believed, late or not."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.detection_cases import Case, Found, facts
from tests.logs_in_words import MINUTE, START, instant
from txnlog.config import Thresholds
from txnlog.detection.copy_times import copy_times
from txnlog.detection.verdicts import with_verdicts
from txnlog.format.coordinator import TRANSACTION_STATE

LATE = [
    Case("late: exactly at the limit it is not", "data(0)@980", "empty@50", want=(20 * MINUTE, False)),
    Case("late: a millisecond beyond it is", "data(0)@979:59.999", "empty@50", want=(20 * MINUTE + 1, True)),
    Case("late: the last batch counts, not the first", "data(0)@100 data(1)@981", "empty@50", want=(19 * MINUTE, False)),
    Case("late: the last batch counts, in the next segment", "data(0)@100 segment(1) data(1)@981", "empty@50",
         want=(19 * MINUTE, False)),
    Case("late: exactly at the limit of its own timeout it is not", "data(0)@935", "id(app, timeout=60) empty@50",
         want=(65 * MINUTE, False)),
    Case("late: a millisecond beyond its own timeout it is", "data(0)@934:59.999", "id(app, timeout=60) empty@50",
         want=(65 * MINUTE + 1, True)),
    Case("late: a shorter timeout of its own does not count", "data(0)@985", "id(app, timeout=5) empty@50",
         want=(15 * MINUTE, False)),
    Case("late: a cluster's shorter maximum counts", "data(0)@989", "empty@50", max_timeout=5, want=(11 * MINUTE, True)),
    Case("late: a two-phase commit never is", "data(0)@100", "id(app, timeout=none) ongoing@99[orders-0]",
         want=(900 * MINUTE, False)),
    Case("late: what a two-phase id left behind is", "data(0)@100", "id(app, timeout=none) empty@50 ongoing@99[payments-0]",
         want=(900 * MINUTE, True)),
    Case("late: not known where its age is not", "data(0)@none", want=(None, None)),
    Case("late: as of when its broker was copied", "data(0)@980", None, logs={f"{TRANSACTION_STATE}-0@2": "empty@50"},
         copied={"1": (990, 1100), "2": (2000, 2100)}, want=(10 * MINUTE, False)),
]  # fmt: skip

STUCK = [
    Case("stuck: ongoing exactly as long as it may", "data(0)@965", "id(app, timeout=30) ongoing@965[orders-0]",
         want="ONGOING"),
    Case("stuck: ongoing a millisecond longer", "data(0)@964:59.999", "id(app, timeout=30) ongoing@964:59.999[orders-0]",
         want="STUCK_ONGOING"),
    Case("stuck: ending exactly as long as it may", "data(0)@960", "ongoing@959[orders-0] prepare_commit@995", want="PENDING"),
    Case("stuck: ending a millisecond longer", "data(0)@960", "ongoing@959[orders-0] prepare_commit@994:59.999",
         want="STUCK_PREPARE"),
]  # fmt: skip

# Whether the producer's clock is believed, and since when the transaction is quiet.
CLOCKS = [
    Case("clock: believed with nothing against it", "data(0)@100", want=(True, "100")),
    Case("clock: believed until 5 s after the copy", "data(0)@1000:05", want=(True, "1000:05")),
    Case("clock: not believed after that", "data(0)@1000:05.001", want=(False, None)),
    Case("clock: believed from 5 s before a broker's time before it", "abort(0, of=8)@100 data(1)@99:55", want=(True, "99:55")),
    Case("clock: not believed before that", "abort(0, of=8)@100 data(1)@99:54.999", want=(False, "100")),
    Case("clock: believed until 5 s after the broker's time that follows it", "data(0)@100:05 abort(1, of=8)@100", want=(True, "100:05")),
    Case("clock: not believed later than that", "abort(0, of=8)@90 data(1)@100:05.001 abort(2, of=8)@100", want=(False, "90")),
    Case("clock: not believed before its producer id existed", "data(0)@99:54.999", "empty@100", want=(False, "100")),
    Case("clock: other producers' clocks say nothing", "idempotent(0)@900 data(1)@100", want=(True, "100")),
    Case("clock: a broker's is believed", "abort(0, of=8)@200 data(1, appended)@100", want=(True, "100")),
    Case("clock: LogAppendTime bounds others", "plain(0, appended)@200 data(1)@100", want=(False, "200")),
    Case("clock: a marker with a wrong checksum bounds nothing", "abort(0, of=8, damaged)@200 data(1)@100", want=(True, "100")),
]  # fmt: skip


def file_times(says: str, orders: str, want: str, other: str = "plain(0, appended)@60") -> Case:
    """Aborted by a coordinator that was copied minutes before the partition; `other` is on the partition's disk."""
    logs = {f"{TRANSACTION_STATE}-0@2": "empty@50 ongoing@99[orders-0] prepare_abort@101 complete@101"}
    return Case(
        f"file times: {says}", orders, None, logs=logs | {"other-0@1": other}, copied={"2": (995, 996)}, want=want
    )


# Whether the data was there before its coordinator was copied, by the time of a file that has it.
DATED, NOT_DATED = "MARKER_LOST_ABORT ABORT", "SKEW UNDETERMINED"
SEALED = "data(0)@100 modified@102 segment(1) plain(1)"
FILE_TIMES = [
    file_times("a sealed segment was complete when it was last written", SEALED, DATED),
    file_times("it was last written after the coordinator was copied", SEALED.replace("102", "997"), NOT_DATED),
    file_times("the active segment may have grown while it was copied", "data(0)@100 modified@102", NOT_DATED),
    file_times("of the active segment a listing says when it was complete", "data(0)@100 listed@102", DATED),
    file_times("the segment of its first batch says nothing of the last", "data(0)@100 modified@102 segment(1) data(1)@101",
               NOT_DATED),
    file_times("a producer snapshot was complete when it was written", "data(0)@100 snapshot(1, open=0) modified@102 plain(1)",
               DATED),
    file_times("a snapshot that was taken between its batches says nothing of the last", "data(0)@100 snapshot(1, open=0)"
               " modified@102 data(1)@101", NOT_DATED),
    file_times("a snapshot that is damaged says nothing", "data(0)@100 snapshot(1, damaged) modified@102 plain(1)", NOT_DATED),
    file_times("a text was printed later than the log was written", f"text {SEALED}", NOT_DATED),
    file_times("no broker dates anything in the copy: nothing shows that it has kept times", SEALED, NOT_DATED,
               other="plain(0)@60"),
    file_times("the copy has not kept them: a file is older than what a broker dates in it", SEALED, NOT_DATED,
               other="plain(0, appended)@60 segment(1) plain(1, appended)@90:05.001 modified@90"),
    file_times("of data without a time: it is no older than its file", "abort(0, of=8)@60 data(1)@none modified@980"
               " segment(2) plain(2)", NOT_DATED),
    file_times("of data without a time: its file is older than it may be", "abort(0, of=8)@60 data(1)@none"
               " modified@979:59.999 segment(2) plain(2)", DATED),
    file_times("a file that seems that old by no more than clocks may differ", SEALED, DATED,
               other="plain(0, appended)@90:05 modified@90"),
]  # fmt: skip

ABORTED = "ongoing@99:56[orders-0] prepare_abort@99:57 complete@99:58"
LOST = "ongoing@100[orders-0] prepare_commit@101 complete@101"
CONFIDENCE = [
    Case("confidence: whole", "data(0)@100 listed@101", "empty@50", want="ABORT HIGH"),
    Case("confidence: the coordinator was copied after it", "data(0)@100", None, want="ABORT HIGH",
         logs={f"{TRANSACTION_STATE}-0@2": "empty@50"}, copied={"2": (1001, 1001.05)}),
    Case("confidence: the coordinator was copied after it, perhaps by a machine whose clock is ahead", "data(0)@100", None,
         want="ABORT MEDIUM", logs={f"{TRANSACTION_STATE}-0@2": "empty@50"}, copied={"2": (1000.06, 1000.1)}),
    Case("confidence: only its producer says that it is older than the coordinator's copy", "data(0)@100", "empty@50",
         want="ABORT MEDIUM"),
    Case("confidence: nobody said when it was copied", "metadata@10 data(0)@100 abort(1, of=8)@200",
         "empty@50 id(shop, of=99) empty@999",
         copied={"1": (None, None)}, want="ABORT MEDIUM"),
    Case("confidence: no high watermark", "data(0)@100 no_checkpoint", "empty@50", want="ABORT MEDIUM"),
    Case("confidence: its clock is not believed", "abort(0, of=8)@200 data(1)@100 abort(2, of=8)@300", "empty@50",
         want="ABORT MEDIUM"),
    Case("confidence: its producer is busy", "data(0)@100", "empty@50 ongoing@999[payments-0]", want="ABORT MEDIUM"),
    Case("confidence: a commit that was lost needs no checkpoint", "data(0)@89 commit(1)@90 data(2)@100 no_checkpoint",
         "ongoing@89[orders-0] prepare_commit@90 complete@90 ongoing@99[orders-0] prepare_commit@101 complete@101",
         want="KEEP HIGH"),
    Case("confidence: nobody said when a commit that was lost was copied", "metadata@10 data(0)@100",
         "ongoing@99[orders-0] prepare_commit@101 complete@101", copied={"1": (None, None)}, want="KEEP MEDIUM"),
    Case("confidence: an abort before the lost commit may have written it, its marker lost as well", "data(0, appended)@100",
         f"{ABORTED} {LOST}", want="KEEP MEDIUM"),
    Case("confidence: that abort's marker came", "data(0)@99:56 abort(1)@99:57 data(2, appended)@100:10",
         f"{ABORTED} {LOST}", want="KEEP HIGH"),
    Case("confidence: one of two aborts' markers came", "data(0)@99:54 abort(1)@99:55 data(2, appended)@100",
         f"ongoing@99:54[orders-0] prepare_abort@99:55 complete@99:55 {ABORTED} {LOST}", want="KEEP MEDIUM"),
    Case("confidence: by a broker's clock it is of after that abort", "abort(0, of=8)@100:10 data(1, appended)@100:20",
         f"{ABORTED} {LOST}", want="KEEP HIGH"),
    Case("confidence: an administrator has aborted it, and it may have come after the commit", "data(0)@100 abort(1)@110 data(2)@120:58",
         "empty@50 ongoing@99[orders-0] prepare_commit@121 complete@121", want="KEEP MEDIUM"),
    Case("confidence: an administrator has aborted it, and it went on", "data(0)@100 abort(1)@110 data(2)@120",
         "empty@50 ongoing@99[orders-0] prepare_commit@121 complete@121", want="KEEP HIGH"),
    Case("confidence: kept by an earlier dump", "data(0)@100", "empty@50", seen=(1, 100, 900), seen_as="KEEP HIGH",
         want="KEEP HIGH"),
    Case("confidence: what joined it since may be of an abort", "data(0)@100 data(1)@110", "empty@50", seen=(1, 100, 900),
         seen_as="KEEP HIGH", want="KEEP MEDIUM"),
    Case("confidence: an unclean election took of it, and it may have other batches", "data(0)@100 data(1)@110", "empty@50",
         seen=(3, 300, 900), seen_as="KEEP HIGH", want="KEEP MEDIUM"),
    Case("confidence: its topic may have been made anew since", "data(0)@100 abort(1, of=9)@900",
         "empty@50 ongoing@100[orders-0] prepare_commit@101 complete@101", want="KEEP MEDIUM"),
    Case("confidence: kept by an earlier dump, and nothing of what it showed is left", "segment(8) snapshot(8, open=0)@200"
         " data(8)@300 abort(9, of=9)@900 epochs(8, 8)", "empty@50 ongoing@100[orders-0] prepare_commit@101 complete@101"
         " ongoing@298[orders-0] prepare_abort@299 complete@299", seen=(3, 300, 150), seen_as="KEEP HIGH", want="KEEP MEDIUM"),
    Case("confidence: as much is left, but without the first of what an earlier dump kept", "segment(8) snapshot(8, open=0)@200"
         " data(8)@300 abort(9, of=9)@900 epochs(8, 8)", "empty@50 ongoing@100[orders-0] prepare_commit@101 complete@101"
         " ongoing@298[orders-0] prepare_abort@299 complete@299", seen=(1, 100, 150), seen_as="KEEP HIGH", want="KEEP MEDIUM"),
    Case("confidence: it may be of a transaction before, of which the records are gone", "data(0)@89 abort(1, of=9)@900",
         "skip(9) id(shop, of=99) empty@150 id(app) ongoing@200[orders-0] prepare_commit@201 complete@201 cleaned_to(9)",
         want="KEEP MEDIUM"),
    Case("confidence: it may be of one that began after its coordinator was copied", "data(0)@94:30", None,
         logs={f"{TRANSACTION_STATE}-0@2": "empty@50 ongoing@94[orders-0] prepare_commit@95 complete@95 id(shop, of=99) empty@989"},
         copied={"1": (1000, 1000.05), "2": (990, 990.05)}, modified_on={"2": 990}, want="KEEP MEDIUM"),
    Case("confidence: that abort was elsewhere", "data(0, appended)@100",
         f"ongoing@99:56[payments-0] prepare_abort@99:57 complete@99:58 {LOST}", want="KEEP HIGH"),
    Case("confidence: that abort had an epoch of its own", "data(0, epoch=1, appended)@100",
         "id(app, version=2) ongoing@99:56[orders-0] prepare_abort(epoch=1)@99:57 complete(epoch=1)@99:58"
         " ongoing(epoch=1)@100[orders-0] prepare_commit(epoch=2)@101 complete(epoch=2)@101", want="KEEP HIGH"),
    Case("confidence: an abort right after the lost commit may have written it", "data(0, appended)@101",
         f"{LOST} ongoing@101:02[orders-0] prepare_abort@101:03 complete@101:03", want="KEEP MEDIUM"),
    Case("confidence: the last marker is of a commit, whatever its time", "data(0)@99:50 commit(1)@99:56 data(2, appended)@99:57",
         f"ongoing@99:50[orders-0] prepare_commit@99:56 complete@99:56 {ABORTED} {LOST}", want="KEEP MEDIUM"),
    Case("confidence: its first batch is below the log start, and of which epoch it was is not known",
         "segment(5) epochs(5, 5) snapshot(5, open=2)@99:57 data(5, appended)@100", f"{ABORTED} {LOST}", want="KEEP MEDIUM"),
    Case("confidence: an abort before others may have written it", "data(0, appended)@99:55",
         f"{ABORTED} ongoing@99:59[orders-0] prepare_abort@99:59 complete@99:59 {LOST}", want="KEEP MEDIUM"),
    Case("confidence: the marker of an earlier epoch is not that abort's", "data(0)@99:50 abort(1, epoch=1)@99:56"
         " data(2, epoch=2, appended)@99:58", "ongoing@99:50[orders-0] prepare_abort(epoch=1)@99:56 complete(epoch=1)@99:56"
         " ongoing(epoch=2)@99:57[orders-0] prepare_abort(epoch=2)@99:58 complete(epoch=2)@99:58"
         " ongoing(epoch=2)@100[orders-0] prepare_commit(epoch=2)@101 complete(epoch=2)@101", want="KEEP MEDIUM"),
    Case("confidence: it may have come late after an abort", "data(0)@90 abort(1)@90:30 data(2)@91",
         f"ongoing@89[orders-0] prepare_abort@90:30 complete@90:30 {LOST}", want="KEEP MEDIUM"),
    Case("confidence: it may have come late after an abort, and its client was upgraded since",
         "data(0)@90 abort(1)@90:30 data(2)@91", "ongoing@89[orders-0] prepare_abort@90:30 complete@90:30 id(app, version=2)"
         " ongoing@100[orders-0] prepare_commit(epoch=1)@101 complete(epoch=1)@101", want="KEEP MEDIUM"),
    Case("confidence: the transaction that began since may have written it", "data(0)@101",
         f"{LOST} ongoing@101:01[orders-0]", want="KEEP MEDIUM"),
    Case("confidence: that abort began later than it, by a broker's clock", "data(0, appended)@100",
         f"{LOST} ongoing@200[orders-0] prepare_abort@200:03 complete@200:03", want="KEEP HIGH"),
    Case("confidence: it may have come late after an abort, while the commit was under way", "data(0)@90 abort(1)@90:30"
         " plain(2, appended)@100:30 data(3)@90 plain(4, appended)@110", f"ongoing@89[orders-0] prepare_abort@90:30 complete@90:30 {LOST}", want="KEEP MEDIUM"),
    Case("confidence: it may have come late after an abort just before the commit began", "data(0)@99:50 abort(1)@99:57"
         " plain(2, appended)@100:30 data(3)@99:56 plain(4, appended)@110", f"{ABORTED} {LOST}", want="KEEP MEDIUM"),
    Case("confidence: it may have come late after an abort just before that, of which the records are gone",
         "data(0)@99:50 abort(1)@99:57 plain(2, appended)@100:30 data(3)@99:56 plain(4, appended)@110",
         f"skip(9) id(shop, of=99) empty@99:59 id(app) {LOST} cleaned_to(9)", want="KEEP MEDIUM"),
    Case("confidence: it may have come late after an abort and a commit, just before the next commit began", "data(0)@99:52"
         " abort(1)@99:55 data(2)@99:56 commit(3)@99:57 plain(4, appended)@100:30 data(5)@99:54.900 plain(6, appended)@110",
         "ongoing@99:50[orders-0] prepare_abort@99:55 complete@99:55 ongoing@99:56[orders-0] prepare_commit@99:57"
         " complete@99:57 ongoing@99:59[orders-0] prepare_commit@101 complete@101", want="KEEP MEDIUM"),
    Case("confidence: its producer dates it into the commit", "data(0)@90 abort(1)@90:30 plain(2, appended)@100:30"
         " data(3)@100:20 plain(4, appended)@110",
         f"ongoing@89[orders-0] prepare_abort@90:30 complete@90:30 {LOST}", want="KEEP HIGH"),
    Case("confidence: it may have come late after an abort before another commit", "data(0)@90 commit(1)@91 data(2)@89:50"
         " plain(3, appended)@100:30", f"ongoing@89[orders-0] prepare_abort@89:55 complete@89:55 ongoing@90[orders-0]"
         f" prepare_commit@91 complete@91 {LOST}", want="KEEP MEDIUM"),
    Case("confidence: it may have come late after an abort elsewhere", "data(0)@90 commit(1)@91 data(2)@89:50"
         " plain(3, appended)@100:30", f"ongoing@89[payments-0] prepare_abort@89:55 complete@89:55 ongoing@90[orders-0]"
         f" prepare_commit@91 complete@91 {LOST}", want="KEEP MEDIUM"),
    Case("confidence: it may be of a transaction before, of which the records are gone, and its client was upgraded since",
         "data(0)@2 commit(1)@3 data(2)@99:58 abort(3, of=9)@900", "skip(9) id(shop, of=99) empty@99 id(app, version=2)"
         " ongoing@100[orders-0] prepare_commit(epoch=1)@101 complete(epoch=1)@101 cleaned_to(9)", want="KEEP MEDIUM"),
    Case("confidence: it is witnessed, and another commit was lost since", "data(0)@2 commit(1)@3 data(2, epoch=1)@5 plain(3, appended)@40",
         "skip(9) id(shop, of=99) empty@7 id(app, epoch=5, version=2) empty@29 ongoing@30[orders-0] prepare_commit(epoch=6)@32 complete@32"
         " cleaned_to(9)", logs={"payments-0@1": "data(0, epoch=1)@21 commit(1, epoch=2)@22 plain(2, appended)@50"}, want="KEEP MEDIUM"),
    Case("confidence: records are missing after the commit, and one of them may be of another",
         "data(0)@90 commit(1)@91 data(2, of=9)@100:30 commit(3, of=9)@100:50 data(4)@101:02 plain(5, appended)@110",
         "empty@50 ongoing@100[orders-0] prepare_commit@101 cleaned_to(9) skip(9) empty(epoch=1)@130", want="KEEP MEDIUM"),
    Case("confidence: a commit that an earlier dump proved", "data(0)@100", "empty@50", seen=(1, 100, 900),
         seen_as="KEEP HIGH", want="KEEP HIGH"),
    Case("confidence: a commit that an earlier dump was not certain of", "data(0)@100", "empty@50", seen=(1, 100, 900),
         seen_as="KEEP MEDIUM", want="KEEP MEDIUM"),
    Case("confidence: not enough is known", "data(0)@100 plain(5)", "empty@50", want="UNDETERMINED LOW"),
]  # fmt: skip

COMPACTED = [
    Case("compacted: no coordinator knows it", "data(0)@100", "id(shop, of=99) empty@10 skip(9) empty@500 cleaned_to(9)",
         want=(True, "COORDINATOR_UNKNOWN")),
    Case("compacted: its id is known", "data(0)@100", "id(shop, of=99) empty@10 skip(9) id(app) empty(epoch=3)@500 cleaned_to(9)",
         want=(False, "EPOCH_MISMATCH")),
    Case("compacted: its id is known, and a broker dates the data", "abort(0, of=8)@99 data(1)@100",
         "id(shop, of=99) empty@10 skip(9) id(app) empty(epoch=3)@500 cleaned_to(9)", want=(True, "EPOCH_MISMATCH")),
    Case("compacted: a later record of its id may be missing", "abort(0, of=8)@99 data(1)@100",
         "id(shop, of=99) empty@10 skip(9) id(app) empty(epoch=3)@500 skip(20) id(shop, of=99) empty@510 cleaned_to(20)",
         want=(False, "EPOCH_MISMATCH")),
    Case("compacted: its coordinator is about to commit one that began after the data", "abort(0, of=8)@99 data(1)@100"
         " abort(2, of=8)@101", "id(shop, of=99) empty@10 skip(9) id(app) complete_commit@101 ongoing@500[orders-0]"
         " prepare_commit@501 cleaned_to(9)", want=(False, "STUCK_PREPARE")),
    Case("compacted: no coordinator knows it, and a partition is missing", "data(0)@100",
         "id(shop, of=99) empty@10 skip(9) empty@500 cleaned_to(9)", coordinators=2, want=(False, "COORDINATOR_UNKNOWN")),
]  # fmt: skip
# What a verdict adds, and a second one replaces.
JUDGED = ("cause", "action", "reason", "lacking", "also_lacking", "wanted_cause", "late", "confidence", "accepted")
CASES = [*LATE, *STUCK, *CLOCKS, *FILE_TIMES, *CONFIDENCE, *COMPACTED]


@pytest.mark.parametrize("case", LATE, ids=lambda case: case.id)
def test_late(case: Case, found: Found) -> None:
    row = found.only(case)
    assert (row["age_ms"], row["late"]) == case.want


@pytest.mark.parametrize("case", STUCK, ids=lambda case: case.id)
def test_stuck_by_the_coordinators_clock(case: Case, found: Found) -> None:
    assert found.only(case)["cause"] == case.want


@pytest.mark.parametrize("case", CLOCKS, ids=lambda case: case.id)
def test_the_clock_that_is_believed(case: Case, found: Found) -> None:
    is_trusted, since = case.want
    row = found.only(case)
    assert (row["timestamps_trusted"], row["last_activity"]) == (is_trusted, since and instant(since))


@pytest.mark.parametrize("case", FILE_TIMES, ids=lambda case: case.id)
def test_what_the_times_of_files_prove(case: Case, found: Found) -> None:
    row = found.only(case)
    assert f"{row['cause']} {row['action']}" == case.want, row["reason"]


@pytest.mark.parametrize("case", CONFIDENCE, ids=lambda case: case.id)
def test_confidence(case: Case, found: Found) -> None:
    row = found.only(case)
    assert f"{row['action']} {row['confidence']}" == case.want


def test_compacted_history_can_be_accepted_and_stays_undetermined(found: Found) -> None:
    of_compacted = found.detection.transactions.where("cluster LIKE 'compacted:%'").drop(*JUDGED)
    judged = of_compacted.transform(with_verdicts, Thresholds(accept_compacted_history=True)).collect()
    assert {row["cluster"]: (row["action"], row["accepted"], row["wanted_cause"]) for row in judged} == {
        case.id: ("UNDETERMINED", *case.want) for case in COMPACTED
    }


@pytest.mark.parametrize(
    ("copied", "option", "times"),
    [
        pytest.param((900, 910), None, (900, "manifest", 900, 910), id="the manifest says from when to when"),
        pytest.param(
            (900, None),
            None,
            (900, "manifest", 890, 910),
            id="the manifest has one time: ten minutes either way",
        ),
        pytest.param((900, 910), 800, (800, "option", 790, 810), id="the option overrides the manifest"),
        pytest.param((None, None), None, (700, "latest file time", 690, 710), id="nobody says: the latest file"),
    ],
)
def test_39_when_a_copy_was_taken(
    spark: SparkSession,
    copied: tuple[int | None, int | None],
    option: int | None,
    times: tuple[int, str, int, int],
) -> None:
    case = Case("only", "metadata@10 data(0)@100 commit(1)@101", copied={"1": copied}, modified=700)
    dump = facts(spark, [case])
    as_of = None if option is None else START + option * MINUTE
    row = copy_times(dump.dump_files, dump.log_dirs, as_of, 10 * MINUTE).collect()[0]
    minutes = [(row[name] - START) / MINUTE for name in ("as_of", "copy_from", "copy_to")]
    assert (minutes[0], row["as_of_source"], *minutes[1:]) == times


def test_39_a_broker_that_wrote_later_than_its_files_say(spark: SparkSession) -> None:
    dump = facts(spark, [Case("only", "data(0)@900 commit(1)@800", modified=700, copied={"1": (None, None)})])
    row = copy_times(dump.dump_files, dump.log_dirs, None, 10 * MINUTE).collect()[0]
    assert (row["as_of"], row["as_of_source"]) == (instant("800"), "latest broker timestamp")


def test_39_files_of_a_copy_that_did_not_keep_their_times_say_nothing(spark: SparkSession) -> None:
    dump = facts(
        spark, [Case("only", "data(0)@100 commit(1)@101", modified=700, copied={"1": (None, None)}, keeps_times=False)]
    )
    row = copy_times(dump.dump_files, dump.log_dirs, None, 10 * MINUTE).collect()[0]
    assert (row["as_of"], row["as_of_source"]) == (instant("101"), "latest broker timestamp")


def test_39_where_files_have_no_times_only_brokers_say_when_a_copy_was_taken(spark: SparkSession) -> None:
    dump = facts(spark, [Case("only", "data(0)@100 commit(1)@101", copied={"1": (None, None)})])
    files = dump.dump_files.withColumn("modified", F.lit("1970-01-01T00:00:00Z").cast("timestamp"))
    row = copy_times(files, dump.log_dirs, None, 10 * MINUTE).collect()[0]
    assert (row["as_of"], row["as_of_source"]) == (instant("101"), "latest broker timestamp")
    unstamped = files.withColumn("broker_timestamp", F.lit(None).cast("bigint"))
    assert copy_times(unstamped, dump.log_dirs, None, 10 * MINUTE).collect()[0]["as_of"] is None
