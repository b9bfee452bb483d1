"""Coordinator records by Kafka's own serialisers decode to what they were made of; its partitioner agrees with ours."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.coordinator_writer import coordinator_partition
from tests.kafka.judge import NEWEST, judged
from txnlog.detection.partition_count import with_hash
from txnlog.errors import FormatError
from txnlog.format.coordinator import (
    STATES,
    STATES_ON_DISK,
    TransactionState,
    transaction_state,
    transactional_id_of_key,
)

pytestmark = pytest.mark.kafka
COUNT = 1000
# Names with characters of one, two, three and four bytes; Kafka's strings hold no lone surrogates.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
TIMES = st.integers(-1, 2**63 - 1)
IDS = st.integers(-1, 2**63 - 1)
EPOCHS = st.integers(-1, 2**15 - 1)
PARTITIONS = st.none() | st.lists(
    st.tuples(TEXT, st.lists(st.integers(0, 2**31 - 1), max_size=4)), max_size=4, unique_by=lambda each: each[0]
)
RECORDS = st.fixed_dictionaries(
    {
        "version": st.integers(0, 1),
        "transactional_id": TEXT,
        "producer_id": IDS,
        "producer_epoch": EPOCHS,
        "timeout_ms": st.integers(-1, 2**31 - 1),
        "status": st.integers(0, len(STATES) - 1),
        "topic_partitions": PARTITIONS,
        "last_update_timestamp": TIMES,
        "start_timestamp": TIMES,
        "previous_producer_id": IDS,
        "next_producer_id": IDS,
        "next_producer_epoch": EPOCHS,
        "client_transaction_version": st.integers(0, 2),
    }
)


def generated(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    """Different values, as many as are asked for."""
    found: dict[str, Any] = {}

    @settings(max_examples=2 * count, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def collect(value: Any) -> None:
        if len(found) < count:
            found.setdefault(json.dumps(value), value)

    collect()
    assert len(found) == count
    return list(found.values())


def expected(record: dict[str, Any]) -> TransactionState:
    listed = record["topic_partitions"]
    flat = None if listed is None else [(topic, partition) for topic, ids in listed for partition in ids]
    newer = ("previous_producer_id", "next_producer_id", "next_producer_epoch", "client_transaction_version")
    older = ("producer_id", "producer_epoch", "timeout_ms", "last_update_timestamp", "start_timestamp")
    names = (*older, *(newer if record["version"] else ()))
    return TransactionState(
        state=STATES[record["status"]], topic_partitions=flat, **{name: record[name] for name in names}
    )


def test_what_kafka_serialises_decodes_to_the_same_values() -> None:
    records = generated(RECORDS, COUNT)
    pairs = [line.split() for line in judged(NEWEST, "Write", "states", lines=records)]
    assert len(pairs) == COUNT
    for record, (key, value) in zip(records, pairs, strict=True):
        assert transactional_id_of_key(bytes.fromhex(key)) == record["transactional_id"]
        if record["status"] < STATES_ON_DISK:
            assert transaction_state(bytes.fromhex(value)) == expected(record)
        else:
            with pytest.raises(FormatError, match="never written to disk"):
                transaction_state(bytes.fromhex(value))


@pytest.mark.parametrize("partitions", [1, 5, 50, 2**31 - 1])
def test_an_id_belongs_to_the_partition_that_kafka_says(spark: SparkSession, partitions: int) -> None:
    ids = [*generated(TEXT, COUNT), "polygenelubricants", "\U0001f680"]
    theirs = [int(line) for line in judged(NEWEST, "Write", "partitions", str(partitions), lines=ids)]
    assert [coordinator_partition(each, partitions) for each in ids] == theirs
    hashed = with_hash(spark.createDataFrame([(each,) for each in ids], "transactional_id string"))
    assert [row["id_hash"] % partitions for row in hashed.collect()] == theirs
