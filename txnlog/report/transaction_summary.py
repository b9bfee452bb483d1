"""`txnlog transactions --summary`: how long transactions take, how many are aborted, and who ended them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from txnlog.report.abort_candidates import word
from txnlog.report.fitted import Column
from txnlog.report.output import as_csv, as_json, as_table, with_cluster
from txnlog.report.paragraphs import Paragraph, text_of
from txnlog.report.transaction_list import NONE, or_none
from txnlog.report.transaction_query import Wanted, answered, arguments
from txnlog.tables.layout import TRANSACTIONS, Root

Row = dict[str, Any]
# What a row is about: its column, null where that is not known, and the SQL of it.
GROUPS = {
    "transactional-id": ("transactional_id", "transactional_id"),
    "topic": ("topic", "topic"),
    "partition": ("topic_partition", "topic || '-' || partition"),
    "hour": ("hour", "date_trunc('hour', start_timestamp)"),
    "day": ("day", "date_trunc('day', start_timestamp)"),
}
PLACES = {"topic": "topic", "partition": "topic, partition"}
TIMES = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
_IS_ABORT = "status = 'ABORT'"
FIGURES = {
    "transactions": "count(*)",
    "committed": "count(*) FILTER (WHERE status = 'COMMIT')",
    "aborted": f"count(*) FILTER (WHERE {_IS_ABORT})",
    "contradicted": "count(*) FILTER (WHERE status = 'CONTRADICTED')",
    "unknown_end": "count(*) FILTER (WHERE status = 'UNKNOWN')",
    "aborted_share": f"CAST(count(*) FILTER (WHERE {_IS_ABORT}) AS DOUBLE)"
    f" / nullif(count(*) FILTER (WHERE {_IS_ABORT} OR status = 'COMMIT'), 0)",
    "aborted_by_client": f"count(*) FILTER (WHERE {_IS_ABORT} AND ended_by = 'CLIENT')",
    "aborted_by_timeout": f"count(*) FILTER (WHERE {_IS_ABORT} AND ended_by = 'TIMEOUT')",
    "aborted_by_fencing": f"count(*) FILTER (WHERE {_IS_ABORT} AND ended_by = 'FENCING')",
    "aborted_by_unknown": f"count(*) FILTER (WHERE {_IS_ABORT} AND ended_by IS NULL)",
    "measured": "count(ended_ms)",
    # Nearest rank: the shortest duration that so many percent of them do not exceed.
    **{f"p{share}_ms": f"min(ended_ms) FILTER (WHERE place * 100 >= {share} * ended)" for share in (50, 95, 99)},
    "max_ms": "max(ended_ms)",
    "markers_max_ms": "max(markers_ms)",
    "under_way": "count(*) FILTER (WHERE under_way)",
    "under_way_max_ms": "max(duration_ms) FILTER (WHERE under_way)",
}
_MEANING = (
    "Durations: ms from a transaction's start to its Complete* record (to the decision if only that is kept), by the"
    " coordinator's clock; percentiles by nearest rank. Transactions under way and those of unknown end count apart."
)


def summary(root: Root, wanted: Wanted, by: str) -> list[Row]:
    """A row for each group of the transactions that are wanted: `cluster`, the column of `GROUPS`, then `FIGURES`.

    Slowest first by p99, of times the latest first. A transaction counts in each of its topics, or in null if none is
    known. `OptionError` where the tables have nothing of the cluster.
    """
    column, value = GROUPS[by]
    names = f"cluster, {column}"
    figures = ", ".join(f"{figure} AS {name}" for name, figure in FIGURES.items())
    order = f"{column} DESC, cluster" if by in TIMES else f"p99_ms DESC NULLS LAST, {names}"
    of_groups = f"""of_groups AS (
    SELECT cluster, {value} AS {column}, status, ended_by, under_way, duration_ms, markers_ms,
        CASE WHEN NOT under_way THEN duration_ms END AS ended_ms
    FROM {_in_groups(by)})"""
    ranked = f"""ranked AS (
    SELECT *, row_number() OVER (PARTITION BY {names} ORDER BY ended_ms NULLS LAST) AS place,
        count(ended_ms) OVER (PARTITION BY {names}) AS ended
    FROM of_groups)"""
    select = f"SELECT {names}, {figures} FROM ranked GROUP BY {names} ORDER BY {order}"
    return answered(root, wanted, select, of_groups, ranked)


def _in_groups(by: str) -> str:
    """The transactions, each once for each of its topics or partitions if it is these that are told apart."""
    if by not in PLACES:
        return "chosen"
    key = ", ".join(TRANSACTIONS.key)
    return f"chosen LEFT JOIN (SELECT DISTINCT {key}, {PLACES[by]} FROM listed) USING ({key})"


def rendered(found: list[Row], form: str, by: str, width: int | None = None, ending: str = "") -> str:
    """The rows as `table`, `json` or `csv`; a table ends with what durations are and with `ending`."""
    if form == "json":
        return as_json(found)
    if form == "csv":
        return as_csv(found, ["cluster", GROUPS[by][0], *FIGURES])
    if not found:
        return "No transactions.\n"
    group = Column(_HEADINGS[by], or_none(GROUPS[by][0]), is_name=by not in TIMES)
    table = as_table(found, with_cluster(found, (group, *_COLUMNS)), width)
    return table + text_of([Paragraph(_MEANING, 0)], width) + ending


def following(found: list[Row], by: str, tables: str, wanted: Wanted) -> str:
    """The line that says how to list the slowest hundredth of the slowest group."""
    named = [row for row in found if row["p99_ms"] is not None and row[GROUPS[by][0]] is not None]
    if not named:
        return ""
    slowest = max(named, key=lambda row: int(row["p99_ms"]))
    narrowed = _narrowed(wanted, by, slowest)._replace(longer_than_ms=max(0, slowest["p99_ms"] - 1))
    return f"Next, the slowest: txnlog transactions --tables {word(tables)}{arguments(narrowed)}\n"


def _narrowed(wanted: Wanted, by: str, row: Row) -> Wanted:
    """What is wanted, of the group of a row alone."""
    of_cluster, group = wanted._replace(cluster=row["cluster"]), row[GROUPS[by][0]]
    if by in TIMES:
        return of_cluster._replace(from_ms=_ms(group), to_ms=_ms(group + TIMES[by]))
    if by == "partition":
        topic, _, number = group.rpartition("-")
        return of_cluster._replace(topic=topic, partition=int(number))
    return of_cluster._replace(**{GROUPS[by][0]: group})


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _share(row: Row) -> str:
    return NONE if row["aborted_share"] is None else f"{100 * row['aborted_share']:.1f}"


_HEADINGS = {
    "transactional-id": "TransactionalId",
    "topic": "Topic",
    "partition": "Partition",
    "hour": "Hour",
    "day": "Day",
}
_COLUMNS = (
    Column("Transactions", "transactions"),
    *(Column(f"{name}Ms", or_none(f"{name.lower()}_ms")) for name in ("P50", "P95", "P99", "Max")),
    Column("MarkersMaxMs", or_none("markers_max_ms"), rank=6),
    Column("Aborted", "aborted"),
    Column("Aborted(%)", _share, rank=1),
    Column("AbortedByClient", "aborted_by_client", rank=7),
    Column("AbortedByTimeout", "aborted_by_timeout", rank=4),
    Column("AbortedByFencing", "aborted_by_fencing", rank=4),
    Column("AbortedByUnknown", "aborted_by_unknown", rank=6),
    Column("UnknownEnd", "unknown_end", rank=5),
    Column("UnderWay", "under_way", rank=2),
    Column("UnderWayMaxMs", or_none("under_way_max_ms"), rank=3),
)
