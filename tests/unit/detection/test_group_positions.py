"""Where groups stand: pieces of `__consumer_offsets` put together by Spark, and who is blocked by what."""

from __future__ import annotations

import itertools
import random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.group_writer import (
    classic_group,
    commit_key,
    commit_value,
    consumer_group,
    consumer_member,
    current_assignment,
    group_batch,
    group_key,
)
from tests.unit.sources.test_group_log import KEYS, TOPIC_ID, read, rows, written
from txnlog.detection.group_positions import (
    LAST_STABLE_OFFSET,
    UNSTABLE,
    blocked_groups,
    group_positions,
    last_records,
)
from txnlog.detection.stable_offsets import partition_ends
from txnlog.sources.group_rows import GroupRecordRow
from txnlog.spark.schema import arrow_schema

Row = dict[str, Any]
COPIES = (
    "cluster string, broker string, log_dir string, topic string, partition int, as_of bigint, topic_id string,"
    " log_end_offset bigint, highest_watermark bigint, snapshot_above_end bigint, longest_log_end_offset bigint,"
    " epochs_to bigint, bytes_missing bigint, are_of_several_logs boolean, damaged_to bigint"
)
LOGS = 150


def copy(topic: str, partition: int, end: int = 100, damaged_to: int | None = None) -> tuple[Any, ...]:
    topic_id = TOPIC_ID if topic == "t" else None
    return ("c", "1", "b1", topic, partition, 9, topic_id, end, None, None, None, None, None, False, damaged_to)


def key_of(row: Row) -> bytes:
    return commit_key(row["group_id"], row["topic"], row["partition"])


def some_log(chance: random.Random) -> list[tuple[Any, ...]]:
    """A log in words, as `test_group_log` has them."""
    log: list[tuple[Any, ...]] = []
    for _ in range(chance.randrange(12)):
        if chance.random() < 0.4:
            log.append(("end", chance.randrange(3), chance.random() < 0.6))
        else:
            records = [(chance.choice(KEYS), chance.random() < 0.3) for _ in range(chance.randint(1, 3))]
            log.append(("commits", chance.choice([-1, 0, 1, 2]), records, "none"))
    return log


def test_pieces_are_put_together_as_a_coordinator_loads_them(spark: SparkSession) -> None:
    chance = random.Random(7)
    loaded, found, copies = [], [], []
    for number in range(LOGS):
        batches, whole = written(some_log(chance))
        loaded.append(whole)
        copies.append(copy("__consumer_offsets", number))
        places = sorted({0, len(batches), *(chance.randrange(len(batches) + 1) for _ in range(3))})
        for start, end in itertools.pairwise(places):
            pieces = rows(read(b"".join(batches[start:end])))
            found += [row | {"coordinator_partition": number} for row in pieces]
    records = spark.createDataFrame(pa.Table.from_pylist(found, arrow_schema(GroupRecordRow)))
    last = last_records(records, spark.createDataFrame(copies, COPIES)).where("kind = 'COMMIT'").collect()
    ours: list[tuple[dict[bytes, int], dict[bytes, int]]] = [({}, {}) for _ in loaded]
    for row in last:
        counted, pending = ours[row["coordinator_partition"]]
        if row["last"] is not None:
            counted[key_of(row.asDict())] = row["last"]["offset"]
        if row["pending"] is not None:
            pending[key_of(row.asDict())] = row["pending"]["offset"]
    for (counted, pending), whole in zip(ours, loaded, strict=True):
        assert counted == whole.offsets
        latest: dict[bytes, int] = {}
        for of_producer in whole.pending.values():
            latest |= {key: max(offset, latest.get(key, -1)) for key, offset in of_producer.items()}
        assert pending == latest


# Partitions of topic t: held back at offset 10 but for 0. Data before that ends at 7, in 3 within an aborted transaction
# from 5 on; of 2 it is not known.
HELD = (1, 2, 3, 4, 5)
STANDS: list[Any] = [
    pytest.param(0, 100, None, None, id="at the end of a partition in which nothing is open"),
    pytest.param(1, 10, LAST_STABLE_OFFSET, None, id="at the last stable offset"),
    pytest.param(1, 8, LAST_STABLE_OFFSET, None, id="with only markers up to the last stable offset"),
    pytest.param(1, 7, None, None, id="with a record up to the last stable offset"),
    pytest.param(1, 11, None, None, id="beyond the last stable offset"),
    pytest.param(2, 10, LAST_STABLE_OFFSET, None, id="at the last stable offset, with unknown data before"),
    pytest.param(2, 9, None, "whether records lie between", id="below it, with unknown data between"),
    pytest.param(3, 8, LAST_STABLE_OFFSET, None, id="after aborted data"),
    pytest.param(3, 6, LAST_STABLE_OFFSET, "whether all records", id="within aborted data"),
    pytest.param(3, 4, None, None, id="before aborted data"),
    pytest.param(4, 2, LAST_STABLE_OFFSET, "whether all records", id="within the first of two aborted transactions"),
    pytest.param(4, 0, None, None, id="before two aborted transactions"),
    pytest.param(5, 2, None, None, id="within an aborted transaction after which there are other records"),
    pytest.param(9, 4, None, "where the partition ends", id="in a partition that the dump lacks"),
]


G = commit_key("g", "t", 0)
# The logs of partitions of `__consumer_offsets`, one a test. That of HIDDEN is damaged up to offset 9.
SOME, PENDING, OF_OTHERS, MEMBERS, HIDDEN, NEWER = range(6)
BATCHES = {
    SOME: group_batch(
        0,
        *(
            (commit_key(f"{partition}-{offset}", "t", partition), commit_value(offset))
            for partition, offset in (each.values[:2] for each in STANDS)
        ),
    ),
    PENDING: group_batch(0, (G, commit_value(40))) + group_batch(2, (G, commit_value(60)), producer_id=8),
    OF_OTHERS: group_batch(2, (G, commit_value(60)), producer_id=9),
    MEMBERS: group_batch(
        0,
        (group_key("old"), classic_group([("m-1", [("t", 0)]), ("m-2", [])])),
        (commit_key("old", "t", 0), commit_value(4)),
        (commit_key("old", "t", 1), commit_value(4)),
        (group_key("new", 3), consumer_group()),
        (group_key("new", 5, "m-3"), consumer_member("c")),
        (group_key("new", 8, "m-3"), current_assignment([(TOPIC_ID, [1])])),
        (group_key("new", 5, "gone"), consumer_member("d")),
        (group_key("new", 5, "gone"), None),
        (commit_key("only commits", "t", 0), commit_value(4)),
    ),
    HIDDEN: group_batch(0, (G, commit_value(4))),
    NEWER: group_batch(0, (G, commit_value(4))) + group_batch(1, (G, b"\0\x09" + commit_value(4)[2:])),
}


class Standing(NamedTuple):
    """Rows of `group_positions` and `blocked_groups`, by the partition of their coordinator."""

    found: dict[int, list[Row]]
    blocked: dict[int, list[Row]]


@pytest.fixture(scope="module")
def standing(spark: SparkSession) -> Standing:
    """What the logs of all tests say, where the partitions are those of `STANDS`: one evaluation of Spark for all."""
    found = [row | {"coordinator_partition": number} for number in BATCHES for row in rows(read(BATCHES[number]))]
    records = spark.createDataFrame(pa.Table.from_pylist(found, arrow_schema(GroupRecordRow)))
    offsets = [copy("__consumer_offsets", number, damaged_to=9 if number == HIDDEN else None) for number in BATCHES]
    copies = spark.createDataFrame([*offsets, *(copy("t", number) for number in (0, *HELD))], COPIES)
    opened = spark.createDataFrame(
        [("c", "t", number, 7, 10, 10, "id-7", "NEVER_ADDED", "ABORT") for number in HELD]
        + [("c", "__consumer_offsets", number, 8, 2, 2, "id-8", "ONGOING", "WAIT") for number in (PENDING, OF_OTHERS)],
        "cluster string, topic string, partition int, producer_id bigint, start_offset bigint,"
        " last_stable_offset bigint, transactional_id string, cause string, action string",
    )
    data_before = {1: 7, 2: None, 3: 7, 4: 7, 5: 7}
    sums = spark.createDataFrame(
        [
            ("c", "1", "b1", "t", number, 7, "open_data", 10, 10 if before is None else 0, before)
            for number, before in data_before.items()
            if number != 2
        ],
        "cluster string, broker string, log_dir string, topic string, partition int, producer_id bigint, fact string,"
        " start_offset bigint, file_start bigint, last_data_offset_before bigint",
    )
    aborted = spark.createDataFrame(
        [
            ("c", "1", "b1", "t", number, first, last)
            for number, first, last in ((3, 5, 9), (4, 5, 9), (4, 1, 4), (5, 6, 9), (5, 1, 4))
        ],
        "cluster string, broker string, log_dir string, topic string, partition int, first_offset bigint,"
        " last_offset bigint",
    )
    ends = partition_ends(copies, opened, sums, aborted)
    found_positions = group_positions(last_records(records, copies), ends)
    return Standing(_by_coordinator(found_positions), _by_coordinator(blocked_groups(found_positions, opened)))


def _by_coordinator(found: DataFrame) -> dict[int, list[Row]]:
    by_partition: dict[int, list[Row]] = {number: [] for number in BATCHES}
    for row in found.collect():
        by_partition[row["coordinator_partition"]].append(row.asDict(recursive=True))
    return by_partition


@pytest.mark.parametrize(("partition", "offset", "blocked_by", "not_known"), STANDS)
def test_a_group_is_blocked_if_nothing_is_left_to_read_below_the_last_stable_offset(
    standing: Standing,
    partition: int,
    offset: int,
    blocked_by: str | None,
    not_known: str | None,
) -> None:
    (row,) = (row for row in standing.found[SOME] if row["group_id"] == f"{partition}-{offset}")
    assert row["blocked_by"] == blocked_by
    assert (row["not_known"] or "").startswith(not_known or "")
    assert (row["not_known"] is None) == (not_known is None)
    blocked = next((row for row in standing.blocked[SOME] if row["group_id"] == f"{partition}-{offset}"), None)
    assert (blocked is None) == (blocked_by is None)
    if blocked is not None:
        assert (blocked["transactional_id"], blocked["start_offset"], blocked["action"]) == ("id-7", 10, "ABORT")
        assert (blocked["waiting_offsets"], blocked["blocking_topic"]) == (90, "t")
        assert blocked["not_known"].startswith("whether the group reads with isolation.level=read_committed")


def test_a_pending_commit_names_its_transaction(standing: Standing) -> None:
    (row,), (blocked,) = standing.found[PENDING], standing.blocked[PENDING]
    assert (row["committed_offset"], row["pending_offset"], row["blocked_by"]) == (40, 60, UNSTABLE)
    assert (blocked["transactional_id"], blocked["cause"]) == ("id-8", "ONGOING")
    assert blocked["blocking_partition"] == PENDING
    assert blocked["client_sees"].startswith("UNSTABLE_OFFSET_COMMIT")
    assert blocked["waiting_offsets"] == 60


def test_a_pending_commit_blocks_though_only_others_are_open(standing: Standing) -> None:
    (row,), (blocked,) = standing.found[OF_OTHERS], standing.blocked[OF_OTHERS]
    assert row["blocked_by"] == UNSTABLE
    assert (blocked["group_id"], blocked["producer_id"], blocked["transactional_id"]) == ("g", None, None)


def test_members_own_partitions_whatever_the_protocol(standing: Standing) -> None:
    shown = {
        (row["group_id"], row["partition"]): (row["protocol"], row["members"], row["member_id"], row["client_host"])
        for row in standing.found[MEMBERS]
    }
    assert shown == {
        ("old", 0): ("CLASSIC", 2, "m-1", "/10.0.0.1"),
        ("old", 1): ("CLASSIC", 2, None, None),
        ("new", 1): ("CONSUMER", 1, "m-3", "/10.0.0.2"),
        ("only commits", 0): (None, None, None, None),
    }


def test_what_the_log_may_hide_is_said(standing: Standing) -> None:
    (row,) = standing.found[HIDDEN]
    assert row["not_known"].startswith("whether there is a later commit")
    (row,) = standing.found[NEWER]
    assert (row["committed_offset"], row["not_known"]) == (None, "the committed offset: its record is not decoded")
    # Kafka's tool prints a hyphen.
    assert row["lag"] is None
