"""Writes what `detect --full` alone can: the transactions that each log shows, and what is odd about them."""

from __future__ import annotations

from contextlib import nullcontext

from pyspark.sql import DataFrame

from txnlog.detection.findings import findings
from txnlog.detection.inputs import Facts
from txnlog.detection.matches import with_recorded
from txnlog.detection.partition_copies import IS_COORDINATOR
from txnlog.detection.pipeline import Detection
from txnlog.job.latest_dump import later_copies, latest_copies, renew
from txnlog.job.steps import Steps
from txnlog.keys import COPY, PARTITION
from txnlog.report.partition_findings import CLOCK_SKEW_MS
from txnlog.spark.materialize import materialized_together
from txnlog.spark.session import for_many_rows
from txnlog.tables.layout import FINDINGS, OPEN_TRANSACTIONS, PARTITION_TRANSACTIONS, TRANSACTIONS
from txnlog.tables.store import Store


def write_full(store: Store, clusters: list[str], facts: Facts, detection: Detection, since: str, steps: Steps) -> None:
    """Renew the transactions of the partitions that no later dump of a run with `--full` shows.

    They go from the logs to the table row by row: the driver sees none of them.
    """
    if facts.partition_transactions is None:
        return
    plans = for_many_rows(store.spark) if facts.has_many_transactions else nullcontext()
    with steps.step("write the transactions of all logs"), plans:
        latest = latest_copies(detection, later_copies(store, clusters, since, are_full=True))
        (copies,) = materialized_together(latest.where(f"NOT {IS_COORDINATOR}"))
        if not copies.rows.num_rows:
            return
        of_copies = copies.frame.selectExpr(*COPY, "as_of").hint("broadcast")
        rows = facts.partition_transactions(copies.rows.to_pylist()).join(of_copies, [*COPY], "inner")
        opened = store.read(OPEN_TRANSACTIONS, clusters)
        found = (
            rows.transform(with_recorded, store.read(TRANSACTIONS, clusters), CLOCK_SKEW_MS)
            .transform(_with_ids_of_open, opened)
            .selectExpr("*", "marker_timestamp - first_timestamp AS duration_ms")
        )
        renew(store, PARTITION_TRANSACTIONS, clusters, found, copies.frame.selectExpr(*PARTITION).hint("broadcast"))
        # They follow from what the two tables have now, those of a run that was killed before this, too.
        store.overwrite(
            FINDINGS, findings(store.read(PARTITION_TRANSACTIONS, clusters), opened, CLOCK_SKEW_MS), clusters
        )


def _with_ids_of_open(rows: DataFrame, opened: DataFrame) -> DataFrame:
    """Rows of which no marker tells the transactional id have that of their verdict, a row of `open_transactions`."""
    ids = opened.where("transactional_id IS NOT NULL").selectExpr(
        *PARTITION, "producer_id", "start_offset AS first_offset", "unix_millis(as_of) AS as_of", "'OPEN' AS outcome",
        "transactional_id AS opened_id",
    )  # fmt: skip
    by = [*PARTITION, "producer_id", "first_offset", "as_of", "outcome"]
    return rows.join(ids.hint("broadcast"), by, "left").selectExpr(
        "* EXCEPT (transactional_id, opened_id)", "coalesce(transactional_id, opened_id) AS transactional_id"
    )
