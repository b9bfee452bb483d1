"""`txnlog find-hanging`: every late open transaction, in the columns of Kafka's own tool and ours."""

from __future__ import annotations

from typing import Any

from txnlog.report.fitted import ACTION_STYLES, Column
from txnlog.report.latest_run import of_latest_run
from txnlog.report.output import as_csv, as_json, as_table, with_cluster
from txnlog.report.table_rows import rows
from txnlog.tables.layout import OPEN_TRANSACTIONS, RUNS, Root, columns_of

# One row per open transaction of the latest as-of of each partition that the latest run of its cluster saw.
ORDER = "cluster, topic, partition, start_offset"
COLUMNS = (
    Column("Topic", "topic", is_name=True),
    Column("Partition", "partition"),
    Column("ProducerId", "producer_id", rank=3),
    Column("ProducerEpoch", "producer_epoch", rank=5),
    Column("CoordinatorEpoch", "coordinator_epoch", rank=6),
    Column("StartOffset", "start_offset"),
    Column("LastTimestamp", "last_timestamp", rank=4),
    Column("Duration(min)", lambda row: None if row["open_for_ms"] is None else row["open_for_ms"] // 60_000, rank=2),
    Column("TransactionalId", "transactional_id", is_name=True, rank=1),
    Column("Cause", "cause"),
    Column("Action", "action", styles=ACTION_STYLES),
    Column("Confidence", "confidence", rank=7),
)


def late_transactions(root: Root) -> list[dict[str, Any]]:
    """The late open transactions of the latest dump of each cluster, as rows of `open_transactions`."""
    return latest_transactions(root, "late IS NULL OR late")


def latest_transactions(root: Root, where: str = "true") -> list[dict[str, Any]]:
    """The open transactions of the latest dump of each cluster for which the SQL holds."""
    runs = rows(root, RUNS, order="as_of_to, finished_at")
    return of_latest_run(rows(root, OPEN_TRANSACTIONS, where, ORDER), runs)


def rendered(found: list[dict[str, Any]], form: str, width: int | None = None) -> str:
    """The rows as `table`, `json` or `csv`; a table fits `width` columns of a terminal."""
    if form == "json":
        return as_json(found)
    if form == "csv":
        return as_csv(found, [field.name for field in columns_of(OPEN_TRANSACTIONS)])
    return as_table(found, with_cluster(found, COLUMNS), width)
