"""Tables of another version of txnlog: an older one is brought up to date, a newer one is refused, nothing is lost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from txnlog.errors import TableError
from txnlog.report.table_rows import rows
from txnlog.tables.layout import ABORT_CANDIDATES, TABLES, TRANSACTIONAL_IDS, Root, Table
from txnlog.tables.store import Store

OWNER = "cast(7 AS bigint) AS producer_id, 'shop' AS transactional_id, cast(3 AS int) AS coordinator_partition"


def written(spark: SparkSession, tables: Path, table: Table, columns: str) -> Root:
    """A table with one row, as another version may have written it."""
    root = Root(str(tables))
    spark.sql(f"CREATE TABLE {root.sql_name(table)} USING DELTA PARTITIONED BY (cluster) AS SELECT {columns}")
    return root


def versions(root: Root) -> dict[str, int]:
    paths = {table.name: root.path_of(table) for table in TABLES}
    return {name: DeltaTable(path).version() for name, path in paths.items() if Path(path).exists()}


def test_an_older_table_gets_the_columns_that_it_lacks(spark: SparkSession, tmp_path: Path) -> None:
    root = written(spark, tmp_path, TRANSACTIONAL_IDS, f"'c' AS cluster, {OWNER}")
    Store(spark, root).ensure()
    (row,) = rows(root, TRANSACTIONAL_IDS)
    assert row == {
        "cluster": "c", "producer_id": 7, "transactional_id": "shop", "coordinator_partition": 3, "known_since": None,
    }  # fmt: skip
    described = spark.sql(f"DESCRIBE TABLE {root.sql_name(TRANSACTIONAL_IDS)}").collect()
    (added,) = [each for each in described if each["col_name"] == "known_since"]
    assert (added["data_type"], added["comment"].startswith("Earliest coordinator record")) == ("timestamp", True)


def test_columns_may_stand_in_any_order(spark: SparkSession, tmp_path: Path) -> None:
    root = written(spark, tmp_path, TRANSACTIONAL_IDS, f"{OWNER}, 'c' AS cluster, cast(NULL AS timestamp) known_since")
    Store(spark, root).ensure()
    assert versions(root)["transactional_ids"] == 0


def test_a_table_whose_job_was_killed_before_its_checks_gets_them(spark: SparkSession, tmp_path: Path) -> None:
    root = Root(str(tmp_path))
    store = Store(spark, root)
    store.ensure()
    spark.sql(f"ALTER TABLE {root.sql_name(ABORT_CANDIDATES)} DROP CONSTRAINT only_aborts")
    store.ensure()
    properties = DeltaTable(root.path_of(ABORT_CANDIDATES)).metadata().configuration
    assert {f"delta.constraints.{check}" for check in ABORT_CANDIDATES.checks} <= properties.keys()


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        pytest.param(
            f"'c' AS cluster, {OWNER}, cast(NULL AS timestamp) AS known_since, 1 AS from_the_future",
            "it has from_the_future, which a newer version may write",
            id="newer",
        ),
        pytest.param(
            "'c' AS cluster, '7' AS producer_id, 'shop' AS transactional_id, cast(3 AS int) AS coordinator_partition,"
            " cast(NULL AS timestamp) AS known_since",
            "producer_id is string and not bigint",
            id="another type",
        ),
        pytest.param(
            "'c' AS cluster, cast(7 AS bigint) AS producer_id, cast(3 AS int) AS coordinator_partition",
            "it lacks transactional_id, which is never null",
            id="too old",
        ),
    ],
)
def test_another_schema_is_refused_and_nothing_is_changed(
    spark: SparkSession, tmp_path: Path, columns: str, says: str
) -> None:
    root = written(spark, tmp_path, TRANSACTIONAL_IDS, columns)
    before = versions(root), rows(root, TRANSACTIONAL_IDS)
    with pytest.raises(TableError, match=re.escape(says)) as refused:
        Store(spark, root).ensure()
    assert f"{tmp_path}/transactional_ids" in str(refused.value)
    assert "upgrade txnlog, or write to a new place" in str(refused.value)
    assert refused.value.exit_code == 4
    assert (versions(root), rows(root, TRANSACTIONAL_IDS)) == before
