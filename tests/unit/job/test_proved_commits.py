"""What one dump proves committed is KEEP in later dumps, too, in whatever order they were judged."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession

from tests.report_tables import NIGHT, Row, transaction
from tests.tables_by_hand import filled
from txnlog.job.proved_commits import kept_in_later_dumps
from txnlog.spark.materialize import local_frame
from txnlog.spark.schema import arrow_schema
from txnlog.tables.layout import OPEN_TRANSACTIONS

DAY = timedelta(days=1)
OF_ONE: Row = {"topic_id": "one"}
ABORT: Row = {"as_of": NIGHT + DAY, "cause": "NEVER_ADDED", "action": "ABORT", "first_batch_crc": 5}
UNDETERMINED = {"cause": "COVERAGE_GAP", "action": "UNDETERMINED", "lacking": "log_is_whole", "wanted_cause": "ONGOING"}
KEEP: Row = {
    "cause": "MARKER_LOST_COMMIT", "action": "KEEP", "confidence": "MEDIUM", "reason": "COMMITTED at noon",
    "evidence_offset": 77, "first_batch_crc": 5,
}  # fmt: skip
# By topic: what a later dump says, and whether that becomes KEEP.
KNOWN: dict[str, tuple[Row, bool]] = {
    "aborted": (ABORT, True),
    "undetermined": (ABORT | UNDETERMINED, True),
    "of-an-older-version": (ABORT | {"first_batch_crc": None}, True),
    "kept": (ABORT | KEEP, False),
    "another-first-batch": (ABORT | {"first_batch_crc": 6}, False),
    "another-topic-id": (ABORT | {"topic_id": "two"}, False),
    "of-the-same-dump": (ABORT | {"as_of": NIGHT}, False),
    "of-a-dump-before": (ABORT | {"as_of": NIGHT - DAY}, False),
    "never-proved": (ABORT, False),
}


def test_what_is_proved_committed_stays_so_in_later_dumps(spark: SparkSession) -> None:
    proved = [transaction(topic, topic_id="one", **KEEP) for topic in KNOWN if topic != "never-proved"]
    proved.append(transaction("never-proved", topic_id="one", **KEEP | {"action": "UNDETERMINED"}))
    known = [transaction(topic, **OF_ONE | row) for topic, (row, _) in KNOWN.items()]
    changed = {
        row["topic"]: row
        for row in kept_in_later_dumps(*(rows_of(spark, rows) for rows in (proved, known))).toArrow().to_pylist()
    }
    assert set(changed) == {topic for topic, (_, is_kept) in KNOWN.items() if is_kept}
    for topic, row in changed.items():
        was = filled(OPEN_TRANSACTIONS, transaction(topic, **OF_ONE | KNOWN[topic][0]))
        taken_over = {name: KEEP[name] for name in ("cause", "action", "confidence", "evidence_offset")}
        reason = {"reason": "by another dump: COMMITTED at noon", "lacking": None, "wanted_cause": None}
        assert row == was | taken_over | reason


def test_it_is_certain_of_the_batches_that_were_there_alone(spark: SparkSession) -> None:
    others: dict[str, Row] = {
        "the-same": {},
        "joined": {"batches": 3},
        "larger": {"bytes": 301},
        "other-last": {"last_timestamp": NIGHT},
        "below-the-log-start": {"log_start_offset": 11},
    }
    shown: Row = {"start_offset": 10, "log_start_offset": 0, "batches": 2, "bytes": 300, "last_timestamp": NIGHT - DAY}
    proved = [transaction(topic, **KEEP | shown | {"confidence": "HIGH"}) for topic in others]
    known = [transaction(topic, **ABORT | shown | other) for topic, other in others.items()]
    kept = kept_in_later_dumps(*(rows_of(spark, rows) for rows in (proved, known))).collect()
    assert {row.topic: row.confidence for row in kept} == dict.fromkeys(others, "MEDIUM") | {"the-same": "HIGH"}


def rows_of(spark: SparkSession, rows: list[Row]) -> DataFrame:
    return local_frame(spark, [filled(OPEN_TRANSACTIONS, row) for row in rows], arrow_schema(OPEN_TRANSACTIONS.row))
