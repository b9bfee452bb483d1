"""Which ids did nothing between an earlier dump and this one. Numbers are items of docs/semantics.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from txnlog.detection.idle_ids import idle_ids, idle_states, with_idle

DAY = 86_400_000
RECORD = (
    "cluster string, coordinator_partition int, transactional_id string, offset bigint, coordinator_epoch int,"
    " producer_id bigint, producer_epoch smallint, state string, last_update_timestamp bigint, timeout_ms int,"
    " start_timestamp bigint, append_timestamp bigint"
)
REACHING = (
    "cluster string, coordinator_partition int, archived_topic_id string,"
    " earlier array<struct<from_offset: bigint, to_offset: bigint, written_from: bigint, written_to: bigint, first_epoch: int>>"
)
COPIES = "cluster string, coordinator_partition int, broker string, log_dir string, is_chosen boolean, is_text boolean, log_end_offset bigint"
COVERAGE = "cluster string, coordinator_partition int, are_listed boolean, coordinator_copy_ended bigint"
# An earlier range, of offsets 10 to 19, whose last record is of ms 190.
EARLIER = (10, 20, 100, 190, 3)


def records(spark: SparkSession, *given: tuple[str, int, str, int], topic_id: str | None = None) -> DataFrame:
    """Records of (id, offset, state, leader epoch); of the archive with a topic id, else of the dump."""
    rows = [
        ("c", 0, name, offset, epoch, 7, 0, state, offset * 10, 60_000, None, offset * 10)
        for name, offset, state, epoch in given
    ]
    found = spark.createDataFrame(rows, RECORD)
    if topic_id is not None:
        return found.selectExpr("*", f"'{topic_id}' AS topic_id")
    return found.selectExpr("*", "'1' AS broker", "'d' AS log_dir")


def reaching(spark: SparkSession, *earlier: tuple[int, ...]) -> DataFrame:
    return spark.createDataFrame([("c", 0, "t", list(earlier))], REACHING)


def coverage(spark: SparkSession, are_listed: bool = True, copied_to: int = 190 + DAY - 1) -> DataFrame:
    return spark.createDataFrame([("c", 0, are_listed, copied_to)], COVERAGE)


def idle_in(
    spark: SparkSession,
    archived: DataFrame,
    states: DataFrame,
    earlier: Sequence[tuple[int, ...]] = (EARLIER,),
    others: DataFrame | None = None,
    other_end: int = 50,
    is_text: bool = False,
    **copied: Any,
) -> DataFrame:
    """The idle ids, where there is another copy that ends there if `others` are its records: those of a text are none."""
    copies = [("c", 0, "1", "d", True, False, 50)] + [("c", 0, "2", "d", False, is_text, other_end)] * (
        others is not None
    )
    elsewhere = states.where("false") if others is None else others.selectExpr("* EXCEPT (broker)", "'2' AS broker")
    found = spark.createDataFrame(copies, COPIES)
    return idle_ids(archived, states, coverage(spark, **copied), reaching(spark, *earlier), found, elsewhere)


ARCHIVED = [("idle", 11, "Ongoing", 0), ("idle", 12, "PrepareCommit", 0), ("idle", 14, "CompleteCommit", 0)]
LAST = ("idle", 14, "CompleteCommit", 0)


@pytest.mark.parametrize(
    ("now", "copied", "is_idle"),
    [
        pytest.param([LAST], {}, True, id="its last record is the last one still"),
        pytest.param([LAST, ("idle", 44, "Empty", 0)], {}, False, id="it did something after that"),
        pytest.param([("idle", 44, "Empty", 0)], {}, False, id="only what it did after that is left"),
        pytest.param([("idle", 12, "PrepareCommit", 0)], {}, False, id="the dump has less of it"),
        pytest.param([("idle", 14, "CompleteAbort", 0)], {}, False, id="another record at that offset"),
        pytest.param([("idle", 14, "CompleteCommit", 1)], {}, False, id="another leader epoch"),
        pytest.param([], {}, False, id="its coordinator has forgotten it"),
        pytest.param([LAST], {"are_listed": False}, False, id="a later one may be missing in the copy"),
        pytest.param([LAST], {"copied_to": 190 + DAY}, False, id="a tombstone may have come and gone"),
    ],
)
def test_84_an_id_is_idle_if_its_last_record_is_the_last_one_still(
    spark: SparkSession, now: list[tuple[str, int, str, int]], copied: dict[str, Any], is_idle: bool
) -> None:
    archived = records(spark, *ARCHIVED, topic_id="t")
    states = records(spark, *now, ("other", 45, "Empty", 0))
    found = idle_in(spark, archived, states, **copied).collect()
    names = "transactional_id", "idle_from_offset", "idle_from", "idle_from_epoch"
    assert [tuple(row[name] for name in names) for row in found] == [("idle", 10, 100, 3)] * is_idle


@pytest.mark.parametrize(
    ("topic_id", "earlier"),
    [
        pytest.param("recreated", [EARLIER], id="of another topic"),
        pytest.param("t", [(15, 20, 100, 190, 3)], id="of none of the ranges"),
        pytest.param("t", [], id="there is no range"),
    ],
)
def test_records_of_no_earlier_range_of_the_log_say_nothing(
    spark: SparkSession, topic_id: str, earlier: list[tuple[int, ...]]
) -> None:
    archived = records(spark, *ARCHIVED, topic_id=topic_id)
    assert not idle_in(spark, archived, records(spark, LAST), earlier).count()


@pytest.mark.parametrize(
    ("elsewhere", "end", "is_idle"),
    [
        pytest.param([LAST], 50, True, id="another copy has its last record, too"),
        pytest.param([], 50, False, id="another copy that reaches beyond has none of it: a tombstone took it there"),
        pytest.param([LAST, ("idle", 44, "Empty", 0)], 50, False, id="another copy has a later one"),
        pytest.param([ARCHIVED[0]], 50, False, id="another copy that reaches beyond has an earlier one only"),
        pytest.param([], 14, True, id="another copy ends before"),
    ],
)
def test_84_no_other_copy_that_reaches_beyond_lacks_its_last_record(
    spark: SparkSession, elsewhere: list[tuple[str, int, str, int]], end: int, is_idle: bool
) -> None:
    archived = records(spark, *ARCHIVED, topic_id="t")
    others = records(spark, *elsewhere, ("other", 9, "Empty", 0))
    assert idle_in(spark, archived, records(spark, LAST), others=others, other_end=end).count() == is_idle


def test_beside_printed_output_no_id_is_idle(spark: SparkSession) -> None:
    """It may be of the disk from before a restored backup, and show a commit that the log has lost."""
    archived, states = records(spark, *ARCHIVED, topic_id="t"), records(spark, LAST)
    nothing = states.where("false")
    assert idle_in(spark, archived, states).count() == 1
    assert idle_in(spark, archived, states, others=nothing, is_text=True).count() == 0


def test_the_archive_adds_what_the_dump_has_not_and_of_idle_ids_alone(spark: SparkSession) -> None:
    busy = [("busy", 13, "Ongoing", 0), ("busy", 16, "CompleteCommit", 0), ("idle", 8, "Ongoing", 0)]
    archived = records(spark, *ARCHIVED, *busy, topic_id="t")
    states = records(spark, ARCHIVED[0], LAST, ("busy", 45, "Empty", 0))
    idle = idle_in(spark, archived, states)
    added = idle_states(archived, states, idle)
    assert sorted(added.columns) == sorted(states.columns)
    assert [(row["offset"], row["broker"]) for row in added.collect()] == [(12, "(archive)")]


def test_its_history_begins_where_the_earlier_range_does(spark: SparkSession) -> None:
    idle = spark.createDataFrame(
        [
            Row(
                cluster="c",
                coordinator_partition=0,
                transactional_id="idle",
                topic_id="t",
                last=14,
                idle_from_offset=10,
                idle_from=100,
                idle_from_epoch=3,
            )
        ],
    )
    given = [("idle", 500, 50, 4), ("busy", 500, 50, 4), ("idle", None, 50, 4), ("idle", 0, 0, 0)]
    columns = "transactional_id string, whole_from bigint, whole_from_offset bigint, whole_from_epoch int"
    transactions = spark.createDataFrame(given, columns).selectExpr(
        "'c' AS cluster", "0L AS coordinator_partition", "*"
    )
    since = "whole_from", "whole_from_offset", "whole_from_epoch"
    found = [tuple(row[name] for name in since) for row in with_idle(transactions, idle).collect()]
    # A copy that is not believed stays so, and what is whole from the log's start needs no earlier range.
    assert sorted(found, key=repr) == sorted([(100, 10, 3), (500, 50, 4), (None, 50, 4), (0, 0, 0)], key=repr)
