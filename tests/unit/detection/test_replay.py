"""Which transactions are open at the end of a log. Numbers are items of docs/semantics.md."""

from __future__ import annotations

import pytest

from tests.detection_cases import Case, Found

CASES = [
    # 1: the key is the producer id alone
    Case("1: data opens a transaction", "data(0)", want="open(0)"),
    Case("1: a marker closes it", "data(0) commit(1)", want=""),
    Case("1: an ABORT marker closes it as well", "data(0) abort(1)", want=""),
    Case("1: data after a marker opens the next one", "data(0) commit(1) data(2)", want="open(2)"),
    Case("1: data of two epochs is one transaction", "data(0) data(1, epoch=1)", want="open(0,epoch=1)"),
    Case(
        "1: a marker closes what was opened at two epochs",
        "data(0) data(1, epoch=1) abort(2, epoch=2)",
        want="",
    ),
    Case(
        "1: a marker closes what was opened at two epochs in segments before",
        "data(0) segment(1) data(1, epoch=1) segment(2) abort(2, epoch=2)",
        want="",
    ),
    Case(
        "1: the marker of another producer closes nothing",
        "data(0) data(1, of=8) commit(2, of=8)",
        want="open(0)",
    ),
    Case(
        "1: each producer has its own",
        "data(0) data(1, of=8) data(2, of=9) commit(3, of=8)",
        want="open(0) open(2,of=9)",
    ),
    # 2 and 9: epochs of markers
    Case("2: a marker one epoch higher closes it", "data(0) abort(1, epoch=1)", want=""),
    Case("2: a marker two epochs higher closes it", "data(0) commit(1, epoch=2)", want=""),
    Case(
        "9: a marker of a lower epoch closes it, as a replica does",
        "data(0, epoch=3) abort(1, epoch=2)",
        want="",
    ),
    Case(
        "9: a marker of a lower coordinator epoch closes it",
        "data(0) abort(1, by=5) data(2) abort(3, by=4)",
        want="",
    ),
    # 3: markers with nothing open
    Case("3: a marker of an empty transaction opens nothing", "commit(0)", want=""),
    Case("3: a duplicate marker ends nothing more", "data(0) commit(1) commit(2) data(3)", want="open(3)"),
    Case("3: data after the marker of an empty transaction is open", "abort(0) data(1)", want="open(1)"),
    # 4: what the cleaner leaves
    Case("4: a control batch that has lost its record closes nothing", "data(0) control(1)", want="open(0)"),
    Case("4: a control batch that has lost its record opens nothing", "commit(0) control(1)", want=""),
    Case("4: a data batch without records opens one", "data(0, records=0)", want="open(0)"),
    Case("4: a data batch without records is closed by a marker", "data(0, records=0) commit(1)", want=""),
    # 5: idempotent producers
    Case("5: an idempotent batch opens nothing", "idempotent(0)", want=""),
    Case("5: an idempotent batch is not its start", "commit(0) idempotent(1) data(2)", want="open(2)"),
    Case("5: a batch without a producer id opens nothing", "plain(0)", want=""),
    Case("70: an idempotent batch in an open transaction changes nothing", "data(0) idempotent(1)", want="open(0)"),
    Case("70: a marker after such a batch closes it", "data(0) idempotent(1) commit(2)", want=""),
    # 6: other control batches
    *(
        Case(
            f"6: a control batch of type {kind} closes nothing",
            f"data(0) control(1, type={kind})",
            want="open(0)",
        )
        for kind in (
            "LEADER_CHANGE",
            "SNAPSHOT_HEADER",
            "SNAPSHOT_FOOTER",
            "KRAFT_VERSION",
            "KRAFT_VOTERS",
            "UNKNOWN",
        )
    ),
    # 8: the start offset
    Case("8: it starts at the base offset of its first batch", "commit(0) data(1..5) data(6)", want="open(1)"),
    Case(
        "8: batches of others do not move its start",
        "plain(0..3) data(4, of=8) data(5)",
        want="open(4,of=8) open(5)",
    ),
    # 10: the high watermark
    Case("10: a marker above the high watermark closes it", "data(0) commit(1) high_watermark(1)", want=""),
    # 11: what only the snapshot remembers
    Case(
        "11: the snapshot remembers a start below the log",
        "segment(10) snapshot(10, open=4) plain(10)",
        want="open(4)",
    ),
    Case(
        "11: a marker closes what the snapshot held open",
        "segment(10) snapshot(10, open=4) commit(10)",
        want="",
    ),
    Case(
        "11: the snapshot's start wins if smaller",
        "segment(10) snapshot(10, open=4) data(10)",
        want="open(4)",
    ),
    Case("11: the log's start wins if smaller", "data(2) plain(3) snapshot(4, open=3)", want="open(2)"),
    Case(
        "11: the log's epoch is the newer one",
        "segment(10) snapshot(10, open=4) data(10, epoch=1)",
        want="open(4,epoch=1)",
    ),
    # 12: which snapshot
    Case("12: the newest snapshot counts", "segment(10) snapshot(10, open=4) plain(10) snapshot(11)", want=""),
    Case(
        "12: an older valid snapshot stands in for a damaged one",
        "segment(10) snapshot(10, open=4) plain(10) snapshot(11, open=5, damaged)",
        want="open(4)",
    ),
    Case(
        "12: a snapshot above the log's end is rejected",
        "segment(10) snapshot(10, open=4) plain(10) snapshot(20, open=15)",
        want="open(4)",
    ),
    Case(
        "12: a snapshot below the first segment is left over",
        "segment(10) snapshot(5, open=4) plain(10)",
        want="",
    ),
    Case(
        "12: replay and snapshot agree",
        "data(0) commit(1) data(2) plain(3) snapshot(4, open=2)",
        want="open(2)",
    ),
    Case("12: data after the snapshot counts", "plain(0) snapshot(1) data(1) data(2)", want="open(1)"),
    # 13: exactly-once is broken, but nothing hangs
    Case(
        "13: a late write that the next commit absorbed is not open",
        "abort(0) data(1) data(2) commit(3)",
        want="",
    ),
    # 14: segments
    Case(
        "14: it starts in one segment and ends two later",
        "data(0) segment(1) plain(1) segment(2) commit(2)",
        want="",
    ),
    Case("14: it goes on in the next segment", "data(0) segment(1) data(1)", want="open(0)"),
    # 17 and 22: checksums
    Case("22: data with a wrong checksum opens nothing", "data(0, damaged)", want=""),
    Case("22: a marker with a wrong checksum closes nothing", "data(0) commit(1, damaged)", want="open(0)"),
    Case("22: data with a wrong checksum is not its start", "data(0, damaged) data(1)", want="open(1)"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_open_transactions(case: Case, found: Found) -> None:
    transactions = [
        f"open({row['start_offset']}"
        + (f",of={row['producer_id']}" if row["producer_id"] != 7 else "")
        + (f",epoch={row['producer_epoch']}" if row["producer_epoch"] else "")
        + ")"
        for row in found.of(case)
    ]
    assert " ".join(transactions) == case.want
