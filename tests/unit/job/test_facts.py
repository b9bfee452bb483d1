"""Which facts of a dump are kept beside the rest: queries of a handful of files must not read millions of records."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tests.coordinator_writer import coordinator_record
from tests.writer import NOW, batch, checkpoint, data, put, snapshot
from txnlog.config import DetectOptions
from txnlog.dump.inventory import inventory
from txnlog.format.coordinator import TransactionState
from txnlog.job.facts import facts_of
from txnlog.sources.reading import evidence

STATE = TransactionState(7, 0, 60_000, "Ongoing", [("orders", 0)], NOW, NOW)


def test_all_facts_but_records_of_logs_are_kept_beside_them(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "broker-1" / "__transaction_state-0" / f"{0:020}.log", batch(0, [coordinator_record(STATE, "one")]))
    put(tmp_path / "broker-1" / "orders-0" / f"{0:020}.log", data(0, 7))
    put(tmp_path / "broker-1" / "orders-0" / f"{1:020}.snapshot", snapshot([]))
    put(tmp_path / "broker-1" / "replication-offset-checkpoint", checkpoint([("orders", 0, 1)]))
    listed = inventory(tmp_path)
    kept = list[pa.Table]()

    def none_of(frame: DataFrame) -> DataFrame:
        kept.append(frame.toArrow())
        return frame.where("false")

    facts = facts_of(evidence(spark, listed), DetectOptions(str(tmp_path), ""), listed, persist=none_of)
    assert [row["producer_id"] for row in facts.transaction_states.collect()] == [7]
    # What is left out of the frame that is kept is left out of all others.
    for others in (facts.dump_files, facts.replay_sums, facts.checkpoints):
        assert others.count() == 0
    assert set(kept[0].column("fact").to_pylist()) >= {"file", "sums", "checkpoint"}
    assert kept[0].column("state").null_count == kept[0].num_rows
