"""How tables are filled: those that a job has made itself, and those that others may write to, too."""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from txnlog.report.table_rows import rows
from txnlog.tables.begun import remove_begun_log
from txnlog.tables.changes import DELETE, OPERATION, UPSERT
from txnlog.tables.layout import OPEN_TRANSACTIONS, TABLES, TRANSACTIONAL_IDS, Root
from txnlog.tables.lock import only_writer
from txnlog.tables.store import Store


def owner(
    spark: SparkSession, producer_id: int, transactional_id: str, operation: str = UPSERT, cluster: str = "c"
) -> DataFrame:
    return spark.sql(
        f"SELECT '{cluster}' AS cluster, {producer_id}L AS producer_id, '{transactional_id}' AS transactional_id,"
        f" 3 AS coordinator_partition, cast(NULL AS timestamp) AS known_since, '{operation}' AS {OPERATION}"
    )


def operations(root: Root) -> list[str]:
    return [commit["operation"] for commit in reversed(DeltaTable(root.path_of(TRANSACTIONAL_IDS)).history())]


def found(root: Root) -> set[tuple[int, str]]:
    return {(row["producer_id"], row["transactional_id"]) for row in rows(root, TRANSACTIONAL_IDS)}


def test_the_only_writer_fills_its_new_tables_without_a_merge(spark: SparkSession, tmp_path: Path) -> None:
    root = Root(str(tmp_path))
    store = Store(spark, root)
    with only_writer(root) as is_only_writer:
        assert is_only_writer
        store.ensure(is_only_writer)
        assert store.has_new_tables
        assert store.read(TRANSACTIONAL_IDS, ["c"]).isEmpty()
        store.await_tables()
        changes = owner(spark, 1, "shop").unionByName(owner(spark, 2, "bank", DELETE))
        store.merge(TRANSACTIONAL_IDS, changes, ["c"])
        # From now on there is something in it.
        assert store.read(TRANSACTIONAL_IDS, ["c"]).count() == 1
        store.merge(TRANSACTIONAL_IDS, owner(spark, 1, "shop"), ["c"])
    assert found(root) == {(1, "shop")}
    assert operations(root) == ["CREATE TABLE", "WRITE", "MERGE"]


def test_where_others_may_write_it_is_always_a_merge(spark: SparkSession, tmp_path: Path) -> None:
    root = Root(str(tmp_path))
    store, other = Store(spark, root), Store(spark, root)
    store.ensure()
    other.ensure()
    assert not store.has_new_tables
    other.merge(TRANSACTIONAL_IDS, owner(spark, 1, "shop"), ["c"])
    store.merge(TRANSACTIONAL_IDS, owner(spark, 1, "shop"), ["c"])
    assert found(root) == {(1, "shop")}
    assert operations(root) == ["CREATE TABLE", "MERGE", "MERGE"]


def test_rows_of_other_clusters_are_not_overwritten(spark: SparkSession, tmp_path: Path) -> None:
    store = Store(spark, Root(str(tmp_path)))
    store.ensure()
    both = owner(spark, 1, "shop").unionByName(owner(spark, 2, "bank", cluster="other"))
    store.merge(TRANSACTIONAL_IDS, both, ["c", "other"])
    store.overwrite(TRANSACTIONAL_IDS, owner(spark, 3, "shop"), ["c"])
    assert found(store.root) == {(3, "shop"), (2, "bank")}


def test_a_table_that_was_there_is_not_taken_to_be_empty(spark: SparkSession, tmp_path: Path) -> None:
    root = Root(str(tmp_path))
    Store(spark, root).ensure()
    later = Store(spark, root)
    later.ensure(is_only_writer=True)
    assert not later.has_new_tables


def test_new_tables_have_their_checks_in_the_commit_that_creates_them(spark: SparkSession, tmp_path: Path) -> None:
    root = Root(str(tmp_path))
    Store(spark, root).ensure()
    for table in TABLES:
        made = DeltaTable(root.path_of(table))
        assert made.version() == 0
        assert {f"delta.constraints.{check}" for check in table.checks} <= made.metadata().configuration.keys()


def test_a_table_whose_creation_was_killed_is_created(spark: SparkSession, tmp_path: Path) -> None:
    root = Root(str(tmp_path))
    log = tmp_path / OPEN_TRANSACTIONS.name / "_delta_log"
    (log / "_staged_commits").mkdir(parents=True)
    (log / f".{0:020}.json.crc").write_bytes(b"")
    store = Store(spark, root)
    with only_writer(root) as is_only_writer:
        store.ensure(is_only_writer)
        store.await_tables()
    configuration = DeltaTable(root.path_of(OPEN_TRANSACTIONS)).metadata().configuration
    assert all(f"delta.constraints.{check}" in configuration for check in OPEN_TRANSACTIONS.checks)


def test_a_log_with_anything_in_it_is_left_alone(tmp_path: Path) -> None:
    begun = tmp_path / "begun" / "_delta_log"
    begun.mkdir(parents=True)
    remove_begun_log(begun.parent)
    assert not begun.exists()
    for name in (f"{0:020}.json", f"{10:020}.checkpoint.parquet", "_last_checkpoint", "_staged_commits/commit.json"):
        file = tmp_path / name.replace("/", "-") / "_delta_log" / name
        file.parent.mkdir(parents=True)
        file.write_bytes(b"")
        remove_begun_log(tmp_path / name.replace("/", "-"))
        assert file.exists()
