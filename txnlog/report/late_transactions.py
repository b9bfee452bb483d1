"""`txnlog find-hanging`: every late open transaction, in the columns of Kafka's own tool and ours, cluster by cluster.

The most urgent come first.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from txnlog.report.abort_candidates import word
from txnlog.report.advice import counted_actions, rank
from txnlog.report.fitted import ACTION_STYLES, Column
from txnlog.report.latest_run import latest_runs, of_latest_run, since
from txnlog.report.output import as_csv, as_json, as_table, counted, plain
from txnlog.report.paragraphs import Paragraph, text_of
from txnlog.report.selection import ALL, Selection
from txnlog.report.table_rows import check_cluster, rows
from txnlog.tables.layout import OPEN_TRANSACTIONS, Root, columns_of

COLUMNS = (
    Column("Topic", "topic", is_name=True),
    Column("Partition", "partition"),
    Column("ProducerId", "producer_id", dispensable=3),
    Column("ProducerEpoch", "producer_epoch", dispensable=5),
    Column("CoordinatorEpoch", "coordinator_epoch", dispensable=6),
    Column("StartOffset", "start_offset"),
    Column("LastTimestamp", "last_timestamp", dispensable=4),
    Column(
        "Duration(min)", lambda row: None if row["open_for_ms"] is None else row["open_for_ms"] // 60_000, dispensable=2
    ),
    Column("TransactionalId", "transactional_id", is_name=True, dispensable=1),
    Column("Cause", "cause"),
    Column("Action", "action", styles=ACTION_STYLES),
    Column("Confidence", "confidence", dispensable=7),
)


def late_transactions(root: Root, selection: Selection = ALL) -> list[dict[str, Any]]:
    """The late open transactions of the latest dump of each cluster, as rows of `open_transactions`."""
    runs = latest_runs(root)
    check_cluster(selection.cluster, runs)
    return selection.of(latest_transactions(root, runs, "late IS NULL OR late"))


def latest_transactions(root: Root, runs: list[dict[str, Any]], where: str = "true") -> list[dict[str, Any]]:
    """The open transactions of each cluster's latest run for which the SQL holds, the most urgent first."""
    found = of_latest_run(rows(root, OPEN_TRANSACTIONS, f"({where}) AND {since(runs)}"), runs)
    return sorted(found, key=lambda row: (row["cluster"], *rank(row)))


def rendered(found: list[dict[str, Any]], form: str, width: int | None = None, tables: str = "") -> str:
    """The rows as `table`, `json` or `csv`; a table fits the `width` of a terminal and ends with `tables`."""
    if form == "json":
        return as_json(found)
    if form == "csv":
        return as_csv(found, [field.name for field in columns_of(OPEN_TRANSACTIONS)])
    if not found:
        return "No late transactions.\n"
    parts = [_block(list(rows), width) for _, rows in groupby(found, key=lambda row: str(row["cluster"]))]
    most_urgent = min(found, key=rank)["cluster"]
    following = f"txnlog remedies --tables {word(tables)} --cluster {word(most_urgent)}"
    return "\n".join([*parts, f"{counted_actions(found)}. Next: {following}\n"])


def _block(found: list[dict[str, Any]], width: int | None) -> str:
    """The rows of a cluster below a heading."""
    as_of = max(row["as_of"] for row in found)
    late = counted(len(found), "late transaction")
    heading = Paragraph(f"Cluster {found[0]['cluster']}, {late} as of {plain(as_of)}", 0, "bold")
    return text_of([heading], width) + as_table(found, COLUMNS, width)
