"""Who owns a producer id: by the records of a dump, and by those of the archive before a hole."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from txnlog.detection.coordinator_evidence import with_owner
from txnlog.sources.rows import TransactionStateRow
from txnlog.spark.materialize import local_frame
from txnlog.spark.schema import arrow_schema

SCHEMA = arrow_schema(TransactionStateRow)


def record(name: str, producer_id: int = 7) -> dict[str, Any]:
    return dict.fromkeys(SCHEMA.names) | {
        "cluster": "c", "broker": "1", "log_dir": "b", "coordinator_partition": 0, "file": "f", "position": 0,
        "offset": 0, "coordinator_epoch": 0, "append_timestamp": 9, "transactional_id": name, "is_tombstone": False,
        "state": "Empty", "producer_id": producer_id, "producer_epoch": 0, "last_update_timestamp": 9,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("dumped", "archived", "owner", "all_of_them"),
    [
        (["new"], ["new"], "new", ["new"]),
        # Controllers that were restored from a backup have given it out once more.
        (["new"], ["new", "an older one"], "new", ["an older one", "new"]),
        # By the dump no coordinator knows it.
        ([], ["an older one"], None, None),
    ],
)
def test_an_owner_of_before_a_hole_is_another_owner(
    dumped: list[str], archived: list[str], owner: str | None, all_of_them: list[str] | None, spark: SparkSession
) -> None:
    opened = local_frame(
        spark, [{"cluster": "c", "producer_id": 7}], pa.schema([("cluster", pa.string()), ("producer_id", pa.int64())])
    )
    states, others, before = (
        local_frame(spark, [record(name) for name in names], SCHEMA) for names in (dumped, [], archived)
    )
    (found,) = with_owner(opened, states, others.selectExpr("*", "true AS reaches"), before).collect()
    assert (found["transactional_id"], found["transactional_ids"]) == (owner, all_of_them)
    assert found["owners"] == (None if all_of_them is None else len(all_of_them))
