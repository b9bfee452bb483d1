"""What an open transaction holds back, and the columns that say where the evidence is."""

from __future__ import annotations

import pytest

from tests.detection_cases import Case, Found
from tests.logs_in_words import instant
from txnlog.format.coordinator import TRANSACTION_STATE

CASES = [
    Case(
        "impact: everything from its start",
        "plain(0..9, bytes=1000) data(10..12)@100 data(13, of=8)@101 plain(14..20, bytes=500)",
        want={
            "last_stable_offset": 10,
            "held_back_offsets": 11,
            "held_back_records": 11,
            "held_back_bytes": 700,
            "held_back_since": instant("100"),
        },
    ),
    Case(
        "impact: from the start of the earliest one in the partition",
        "plain(0) data(1, of=8)@90 data(2)@100",
        want={"last_stable_offset": 1, "held_back_offsets": 2, "held_back_since": instant("90")},
    ),
    Case(
        "impact: records that compaction left",
        "data(0..9, records=3)@100 plain(10..19, records=4)",
        want={"held_back_offsets": 20, "held_back_records": 7},
    ),
    Case(
        "impact: from the log start where it starts below",
        "segment(10) snapshot(10, open=4)@100 plain(10..14, bytes=50)",
        want={
            "last_stable_offset": 10,
            "held_back_offsets": 5,
            "held_back_records": 5,
            "held_back_bytes": 50,
        },
    ),
    Case(
        "impact: not what could not be read",
        "data(0)@100 plain(1, bytes=900, damaged)",
        want={"held_back_offsets": 2, "held_back_records": 1, "held_back_bytes": 100},
    ),
    Case(
        "impact: not what another copy has",
        "data(0)@100 plain(1)",
        logs={"orders-0@2": "data(0)@100"},
        want={"held_back_records": 2, "held_back_bytes": 200},
    ),
    Case(
        "extent: from its first batch to its last",
        "data(0)@60 commit(1)@61 data(2..4, since=99, bytes=300)@100 plain(5) data(6..7, epoch=1, bytes=200)@102",
        want={
            "start_offset": 2,
            "first_timestamp": instant("99"),
            "last_timestamp": instant("102"),
            "last_batch_offset": 6,
            "producer_epoch": 1,
            "first_producer_epoch": 0,
            "batches": 2,
            "records": 5,
            "bytes": 500,
        },
    ),
    Case(
        "extent: what only the snapshot knows",
        "segment(10) snapshot(10, open=4, epoch=3, by=2)@100 plain(10)",
        want={
            "start_offset": 4,
            "last_timestamp": instant("100"),
            "producer_epoch": 3,
            "batches": 0,
            "records": 0,
            "bytes": 0,
            "snapshot_offset": 10,
            "snapshot_coordinator_epoch": 2,
            "opened_file": "broker-1/orders-0/00000000000000000010.snapshot",
            "opened_position": 10,
        },
    ),
    Case(
        "evidence: the batch that opened it, and the marker before",
        "data(0)@60 abort(1, by=4)@61 segment(2) plain(2, bytes=70) data(3)@100",
        want={
            "opened_file": "broker-1/orders-0/00000000000000000002.log",
            "opened_position": 70,
            "last_marker.base_offset": 1,
            "last_marker.marker_type": "ABORT",
            "last_marker.max_timestamp": instant("61"),
            "last_marker.coordinator_epoch": 4,
            "last_marker.file": "broker-1/orders-0/00000000000000000000.log",
            "last_marker.position": 100,
        },
    ),
    Case(
        "evidence: the coordinator's records",
        "data(0)@100",
        "empty@50 ongoing@99[orders-0] prepare_abort(coordinator=6)@101 segment(3) complete(coordinator=8)@102",
        want={
            "listing.prepared.offset": 2,
            "listing.prepared.state": "PrepareAbort",
            "listing.prepared.timestamp": instant("101"),
            "listing.prepared.ended_timestamp": instant("102"),
            "listing.prepared.coordinator_epoch": 6,
            "listing.prepared.file": f"broker-1/{TRANSACTION_STATE}-0/00000000000000000000.log",
            "listing.prepared.position": 300,
            "current.offset": 3,
            "current.epoch_of_coordinator": 8,
            "current.file": f"broker-1/{TRANSACTION_STATE}-0/00000000000000000003.log",
            "current.position": 0,
            "reason": "aborted at 2026-01-01T01:41:00.000Z, but the ABORT marker never reached this partition",
        },
    ),
    Case(
        "evidence: the copy it was found in",
        "data(0)@100",
        logs={"orders-0@2": "data(0)@100 plain(1)"},
        want={"broker": "2", "log_dir": "broker-2", "copies": 2, "chosen_because": "highest log end offset"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_columns(case: Case, found: Found) -> None:
    assert found.columns(case, case.want) == case.want
