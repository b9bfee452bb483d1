"""Copies of a coordinator partition that contradict one another are not kept: they prove nothing together."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.coordinator_writer import coordinator_partition, coordinator_record
from tests.writer import NOW, batch, checkpoint, put
from txnlog.config import DetectOptions
from txnlog.format.coordinator import TransactionState
from txnlog.job.archiving import archive_dump
from txnlog.report.table_rows import rows
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_RECORDS, Root

ID = "payments-1"
NUMBER = coordinator_partition(ID)


def log(root: Path, broker: int, starts: list[int], first: int = 0) -> None:
    """A copy with an Ongoing record at each of these seconds, from offset `first` on, all of one leader epoch."""
    place, end = root / f"broker-{broker}" / f"__transaction_state-{NUMBER}", first + len(starts)
    states = (TransactionState(7, 0, 60_000, "Ongoing", [("orders", 0)], NOW + at, NOW + at) for at in starts)
    content = b"".join(
        batch(first + number, [coordinator_record(state, ID)], max_timestamp=state.last_update_timestamp)
        for number, state in enumerate(states)
    )
    put(place / f"{first:020}.log", content)
    put(place / "partition.metadata", f"version: 0\ntopic_id: {'A' * 22}\n")
    put(root / f"broker-{broker}" / "replication-offset-checkpoint", checkpoint([("__transaction_state", NUMBER, end)]))


@pytest.mark.parametrize(("others", "kept"), [([3, 4, 5], 6), ([3, 400, 500], 0)])
def test_copies_with_other_records_at_the_same_offsets_are_not_kept(
    others: list[int], kept: int, spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A disk from before a restored backup: the same leader epochs, given out once more, and other records."""
    dump, tables = tmp_path / "dump", tmp_path / "tables"
    log(dump, 1, [0, 1, 2, 3, 4])
    log(dump, 2, others, first=3)
    put(dump / "dump.toml", 'cluster = "c"\nstarted = "2027-01-01T00:00:00Z"\nended = "2027-01-01T00:00:00Z"\n')
    assert archive_dump(lambda _: spark, DetectOptions(str(dump), str(tables)), lambda _: None) == {"c": kept}
    root = Root(str(tables))
    assert len(rows(root, COORDINATOR_RECORDS)) == kept
    assert [row["to_offset"] for row in rows(root, COORDINATOR_RANGES)] == ([6] if kept else [])
    is_said = f"different records at the same offsets: __transaction_state-{NUMBER} of c" in caplog.text
    assert is_said == (kept == 0)
