"""What a broker keeps of each producer id. Tests with Kafka's own classes compare generated logs; these need none."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.detection_cases import Case, facts
from tests.logs_in_words import instant
from txnlog.detection.copy_times import copy_times
from txnlog.detection.partition_copies import believed, partition_copies, ranked_copies, with_earliest
from txnlog.detection.producer_states import producer_states
from txnlog.detection.replay import open_transactions

PRODUCERS = [
    Case("an open transaction starts at its first batch", "data(0)@100 data(1)@101",
         want={"current_txn_start_offset": 0, "last_timestamp": instant("101"), "coordinator_epoch": -1}),
    Case("a marker ends it", "data(0)@100 commit(1, by=4)@101",
         want={"current_txn_start_offset": None, "last_timestamp": instant("101"), "coordinator_epoch": 4}),
    Case("the epoch of the last coordinator counts", "abort(0, by=4)@100 commit(1, by=6)@101 data(2)@102",
         want={"current_txn_start_offset": 2, "coordinator_epoch": 6}),
    Case("the epoch of the last coordinator counts, in the next segment",
         "abort(0, by=4)@100 segment(1) commit(1, by=6)@101 data(2)@102",
         want={"current_txn_start_offset": 2, "coordinator_epoch": 6}),
    Case("the epoch of the last batch counts", "data(0)@100 data(1, epoch=1)@101", want={"producer_epoch": 1}),
    Case("the snapshot's entry counts", "segment(10) snapshot(10, open=4, epoch=3, by=2)@100 plain(10)",
         want={"current_txn_start_offset": 4, "producer_epoch": 3, "coordinator_epoch": 2}),
    Case("a batch at the snapshot's offset came after it", "segment(10) snapshot(10, open=4)@100 data(10, epoch=1)@101",
         want={"current_txn_start_offset": 4, "producer_epoch": 1, "last_timestamp": instant("101")}),
    Case("a batch with a wrong checksum says nothing", "data(0)@100 commit(1, damaged)@101",
         want={"current_txn_start_offset": 0, "last_timestamp": instant("100")}),
]  # fmt: skip


@pytest.fixture(scope="module")
def states(spark: SparkSession) -> dict[str, dict[str, Any]]:
    dump = facts(spark, PRODUCERS)
    times = copy_times(dump.dump_files, dump.log_dirs, None, 0)
    ranked = ranked_copies(partition_copies(dump.dump_files, dump.checkpoints))
    copies = believed(with_earliest(ranked, times))
    opened = open_transactions(dump.replay_sums, dump.producer_snapshots, copies)
    found = producer_states(dump.replay_sums, dump.producer_snapshots, copies, opened).collect()
    return {row["cluster"]: row.asDict() for row in found}


@pytest.mark.parametrize("case", PRODUCERS, ids=lambda case: case.id)
def test_what_is_known_of_a_producer_id(case: Case, states: dict[str, dict[str, Any]]) -> None:
    assert {name: states[case.id][name] for name in case.want} == case.want
