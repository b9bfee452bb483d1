"""What a dump changes of a candidate that is there already: it is resolved on whole evidence only, and never undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import StructField, StructType

from txnlog.keys import TRANSACTION
from txnlog.spark.schema import spark_schema
from txnlog.tables.changes import OPERATION, UPSERT, candidate_changes
from txnlog.tables.verdict_rows import AbortCandidateRow, OpenTransactionRow

COVERED = (
    "cluster string, topic string, partition int, as_of timestamp, topic_id string, first_base_offset bigint, "
    "log_end_offset bigint, damaged_to bigint, gap_to bigint, snapshot_offset bigint, is_cut boolean"
)
AGAINST_ABORT = "cluster string, topic string, partition int, producer_id bigint, start_offset bigint"
LATER = "cluster string, topic string, partition int, later_as_of timestamp"
WRITTEN_TO = "withdrawn: written to since, now COVERAGE_GAP, UNDETERMINED"
ANOTHER = "withdrawn: another transaction starts there, COVERAGE_GAP, UNDETERMINED"
CUT = "withdrawn: something speaks against it, COVERAGE_GAP, UNDETERMINED"
AGAINST = "withdrawn: something speaks against it, HISTORY_COMPACTED, UNDETERMINED"
NO_LONGER_OPEN, RECREATED = "no longer open", "the topic was deleted and created anew"


def night(number: int) -> datetime:
    return datetime(2026, 11, 1, tzinfo=UTC) + timedelta(days=number)


@dataclass(frozen=True)
class Case:
    """A candidate at offset 5 from the dump of night 2, and a dump of `night` whose log reaches from offset 0 to 9.

    `verdict` is the cause and action that the dump has for it, None where it is not open. `known` says what differs
    of the candidate, None where there is none; `covers` what differs of the dump, `shows` of the transaction in it,
    against whose abort something speaks if it `is_contradicted`.
    `want` is status and resolution of the row that is written, None where nothing is.
    """

    id: str
    want: tuple[str, str | None] | None
    verdict: str | None = None
    night: int = 3
    known: Mapping[str, Any] | None = field(default_factory=dict)
    covers: Mapping[str, Any] = field(default_factory=dict)
    shows: Mapping[str, Any] = field(default_factory=dict)
    is_contradicted: bool = False


CANDIDATE = {"action": "ABORT", "status": "OPEN", "as_of": night(2), "detected_at": night(2)}
WHOLE = {"first_base_offset": 0, "log_end_offset": 9, "is_cut": False}
RESOLVED = {"status": "RESOLVED", "resolution": NO_LONGER_OPEN, "resolved_at": night(4)}
CANDIDATES = [
    Case("no longer open", ("RESOLVED", NO_LONGER_OPEN)),
    Case("no longer open in an older dump", None, night=1),
    Case("no longer open, damage after its start", None, covers={"damaged_to": 6}),
    Case("no longer open, damage before its start", ("RESOLVED", NO_LONGER_OPEN), covers={"damaged_to": 5}),
    Case("no longer open, offsets after its start are missing", None, covers={"gap_to": 6}),
    Case("no longer open, offsets before its start are missing", ("RESOLVED", NO_LONGER_OPEN), covers={"gap_to": 5}),
    Case("no longer open, the log's end is missing", None, covers={"is_cut": True}),
    Case("no longer open, the log ends before its start", None, covers={"log_end_offset": 5}),
    Case("no longer open, the log could not be read", None, covers={"log_end_offset": None}),
    Case("no longer open, the log starts after it", None, covers={"first_base_offset": 6}),
    Case("no longer open, the log starts after it with a snapshot", ("RESOLVED", NO_LONGER_OPEN),
         covers={"first_base_offset": 6, "snapshot_offset": 6}),
    Case("the topic was created anew", ("RESOLVED", RECREATED), covers={"topic_id": "another", "log_end_offset": 0}),
    Case("still to be aborted", ("OPEN", None), "NEVER_ADDED ABORT"),
    Case("still to be aborted, by an older dump", ("OPEN", None), "NEVER_ADDED ABORT", night=1),
    Case("still to be aborted, by an older dump that is not the first", None, "NEVER_ADDED ABORT", night=1,
         known={"detected_at": night(0)}),
    Case("another one was to be aborted by an older dump", None, "NEVER_ADDED ABORT", night=1,
         known={"first_batch_crc": 1}, shows={"first_batch_crc": 2}),
    Case("owned by its coordinator now", ("RESOLVED", "withdrawn: now STUCK_ONGOING, FENCE"), "STUCK_ONGOING FENCE"),
    Case("committed, as is known now", ("RESOLVED", "withdrawn: now MARKER_LOST_COMMIT, KEEP"),
         "MARKER_LOST_COMMIT KEEP"),
    Case("committed, as an older dump proves", ("RESOLVED", "withdrawn: now MARKER_LOST_COMMIT, KEEP"),
         "MARKER_LOST_COMMIT KEEP", night=1),
    Case("another one was committed, as an older dump proves", None, "MARKER_LOST_COMMIT KEEP", night=1,
         known={"first_batch_crc": 1}, shows={"first_batch_crc": 2}),
    Case("one of another topic was committed, as an older dump proves", None, "MARKER_LOST_COMMIT KEEP", night=1,
         known={"topic_id": "two"}, shows={"topic_id": "one"}),
    Case("owned by its coordinator in an older dump", None, "STUCK_ONGOING FENCE", night=1),
    Case("not enough is known now", None, "COVERAGE_GAP UNDETERMINED"),
    Case("not enough is known now, and it was written to", ("RESOLVED", WRITTEN_TO), "COVERAGE_GAP UNDETERMINED",
         shows={"batches": 2}),
    Case("not enough is known now of another transaction", ("RESOLVED", ANOTHER), "COVERAGE_GAP UNDETERMINED",
         known={"first_batch_crc": 1}, shows={"first_batch_crc": 2}),
    Case("not enough is known now, and its first batch was not noted", None, "COVERAGE_GAP UNDETERMINED",
         shows={"first_batch_crc": 2}),
    Case("a COMMIT marker that no record explains", ("RESOLVED", AGAINST), "HISTORY_COMPACTED UNDETERMINED",
         is_contradicted=True),
    Case("a COMMIT marker that no record explains, in a copy that is cut", ("RESOLVED", CUT),
         "COVERAGE_GAP UNDETERMINED", covers={"is_cut": True}, is_contradicted=True),
    Case("less history than before", None, "HISTORY_COMPACTED UNDETERMINED", shows={"lacking": "history_is_whole"}),
    Case("resolved, and still open in an older dump", None, "NEVER_ADDED ABORT", known=RESOLVED),
    Case("resolved, and open in a later dump", ("OPEN", None), "NEVER_ADDED ABORT", night=5, known=RESOLVED),
    Case("new", ("OPEN", None), "NEVER_ADDED ABORT", known=None),
    Case("new, in a dump older than one that did not show it", None, "NEVER_ADDED ABORT", night=1, known=None),
    Case("new, and accepted without its history", None, "HISTORY_COMPACTED UNDETERMINED", known=None,
         shows={"wanted_cause": "NEVER_ADDED", "accepted": True}),
    Case("new, and not to be aborted", None, "MARKER_LOST_COMMIT KEEP", known=None),
]  # fmt: skip


def filled(schema: StructType, told: Mapping[str, Any]) -> tuple[Any, ...]:
    """A row of a schema: what is told, and something of its type where a value is a must."""
    return tuple(told.get(field.name, None if field.nullable else anything(field)) for field in schema.fields)


def anything(field: StructField) -> Any:
    return {"string": "", "timestamp": night(0), "boolean": False}.get(field.dataType.simpleString(), 0)


@pytest.fixture(scope="module")
def written(spark: SparkSession) -> list[Row]:
    """The changes of all cases, each a topic: all are evaluated at once."""
    candidates, transactions = spark_schema(AbortCandidateRow), spark_schema(OpenTransactionRow)
    there, found, covered, later, against = [], [], [], [], []
    for case in CANDIDATES:
        place: dict[str, Any] = {"cluster": "c", "topic": case.id, "partition": 0, "topic_id": "one"}
        transaction = place | {"producer_id": 7, "start_offset": 5}
        if case.known is not None:
            there.append(filled(candidates, transaction | CANDIDATE | dict(case.known)))
        if case.verdict is not None:
            cause, action = case.verdict.split()
            new = {"cause": cause, "action": action, "as_of": night(case.night)}
            found.append(filled(transactions, transaction | new | dict(case.shows)))
        if case.is_contradicted:
            against.append(tuple(transaction[name] for name in TRANSACTION))
        covers = place | WHOLE | {"as_of": night(case.night)} | dict(case.covers)
        covered.append(tuple(covers.get(each.split()[0]) for each in COVERED.split(", ")))
        later.append(("c", case.id, 0, max(night(2), night(case.night))))
    changes = candidate_changes(
        spark.createDataFrame(found, transactions),
        spark.createDataFrame(there, candidates),
        spark.createDataFrame(covered, COVERED),
        spark.createDataFrame(later, LATER),
        spark.createDataFrame(against, AGAINST_ABORT),
    )
    return changes.collect()


@pytest.mark.parametrize("case", CANDIDATES, ids=lambda case: case.id)
def test_what_becomes_of_a_candidate(case: Case, written: list[Row]) -> None:
    rows = [(row["status"], row["resolution"]) for row in written if row["topic"] == case.id]
    assert rows == ([] if case.want is None else [case.want])


def test_a_candidate_was_detected_by_the_oldest_dump_that_shows_it(written: list[Row]) -> None:
    times = {row["topic"]: (row["detected_at"], row["as_of"]) for row in written}
    first, second, third = (night(number).replace(tzinfo=None) for number in (1, 2, 3))
    assert times["still to be aborted, by an older dump"] == (first, second)
    assert times["still to be aborted"] == (second, third)


def test_a_candidate_that_an_older_dump_withdraws_is_not_opened_by_its_own_dump_again(written: list[Row]) -> None:
    (row,) = (row for row in written if row["topic"] == "committed, as an older dump proves")
    assert row["resolved_at"] == row["as_of"] == night(2).replace(tzinfo=None)


def test_no_candidate_is_deleted(written: list[Row]) -> None:
    assert {row[OPERATION] for row in written} == {UPSERT}
