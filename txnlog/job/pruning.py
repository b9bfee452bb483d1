"""`txnlog prune`: removes what is old from the tables, and what a pruned archive then still proves stays true."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from txnlog.detection.aggregates import summed
from txnlog.errors import MissingTableError
from txnlog.job.old_rows import Old, old_rows
from txnlog.job.pruned_archive import old_records, shorten_ranges
from txnlog.job.steps import Steps
from txnlog.spark.materialize import materialized_together
from txnlog.tables.layout import COORDINATOR_RANGES, RUNS, URI, Root
from txnlog.tables.lock import only_writer
from txnlog.tables.store import Store
from txnlog.tables.upkeep import Upkeep, keep_up

Start = Callable[[bool], SparkSession]


class Kept(NamedTuple):
    """For how long, ms: what dumps showed, and the archive of coordinators' records."""

    runs_ms: int
    history_ms: int


class Pruned(NamedTuple):
    """How many rows were removed, by cluster and table, and what became of the files."""

    rows: dict[tuple[str, str], int]
    upkeep: Upkeep


def prune(start: Start, tables: str, kept: Kept, announce: Callable[[str], None]) -> Pruned:
    """Remove what is older; `TableError` where the tables cannot be written, or there are none.

    Ages are counted back from the latest dump of each cluster, for the archive from its latest record, and from now
    where that is earlier. So a second call, or one after a call that was killed, comes to the same end, and a cluster
    that is no longer dumped keeps what it has.
    """
    steps, root = Steps(announce), Root(tables)
    _check_is_there(root)
    with steps.step("start Spark"):
        spark = start(False)
    store = Store(spark, root)
    with ExitStack() as writing:
        with steps.step("open the tables"):
            is_only_writer = writing.enter_context(only_writer(root))
            if not store.is_there():
                raise MissingTableError(f"{root.text}: there is no table in it: run `txnlog detect` first")
            store.ensure(is_only_writer)
            store.await_tables()
        with steps.step("remove old rows"):
            rows = without_old_rows(store, kept)
        with steps.step("compact and vacuum"):
            return Pruned(rows, keep_up(store))


def _check_is_there(root: Root) -> None:
    """The lock would make the folder."""
    if not root.is_schema and not URI.fullmatch(root.text) and not Path(root.base()).is_dir():
        raise MissingTableError(f"{root.text}: there is no such folder: run `txnlog detect` first")


def without_old_rows(store: Store, kept: Kept) -> dict[tuple[str, str], int]:
    """Remove what is older; how many rows, by cluster and table."""
    now = datetime.now(UTC)
    removed: dict[tuple[str, str], int] = {}
    for cluster, before in _archives(store, now, kept.history_ms).items():
        # The ranges come first: killed in between, what is still there of earlier records proves nothing.
        ranges = shorten_ranges(store, cluster, before)
        removed |= _removed(store, cluster, old_records(store, cluster, ranges, before))
    for cluster, limit in _limits(store, now, kept.runs_ms).items():
        removed |= _removed(store, cluster, old_rows(store, cluster, limit))
    return removed


def _limits(store: Store, now: datetime, kept_ms: int) -> dict[str, datetime]:
    """Before when the rows of each cluster are old; nothing of its latest run is."""
    latest = "max_by(struct(as_of_from, as_of_to), struct(as_of_to, finished_at)) AS latest"
    runs = summed(store.read(RUNS, None).where("as_of_from IS NOT NULL"), ("cluster",), latest)
    kept = timedelta(milliseconds=kept_ms)
    return {
        row["cluster"]: min(row["as_of_from"], min(row["as_of_to"], now) - kept)
        for row in runs.selectExpr("cluster", "latest.*").toArrow().to_pylist()
    }


def _archives(store: Store, now: datetime, kept_ms: int) -> dict[str, datetime]:
    """Before when the records of each cluster's coordinators are old."""
    ends = summed(store.read(COORDINATOR_RANGES, None), ("cluster",), "max(written_to) AS written_to")
    kept = timedelta(milliseconds=kept_ms)
    return {row["cluster"]: min(row["written_to"], now) - kept for row in ends.toArrow().to_pylist()}


def _removed(store: Store, cluster: str, found: list[Old]) -> dict[tuple[str, str], int]:
    """Remove the rows; how many there were. What has none is not written to."""
    numbers = counted(store, cluster, found)
    for old, number in zip(found, numbers, strict=True):
        if number:
            # To put back the few that stay takes less than to look for the many that go, as a MERGE would.
            store.overwrite(old.table, old.staying, [cluster], old.where)
    return {(cluster, old.table.name): number for old, number in zip(found, numbers, strict=True) if number}


def counted(store: Store, cluster: str, found: list[Old]) -> list[int]:
    """How many rows of each are to be removed."""
    frames = [frame for old in found for frame in (store.read(old.table, [cluster]).where(old.where), old.staying)]
    counts = materialized_together(*(frame.selectExpr("count(*) AS number") for frame in frames))
    numbers = [int(count.rows.column("number")[0].as_py()) for count in counts]
    return [old - staying for old, staying in zip(numbers[::2], numbers[1::2], strict=True)]
