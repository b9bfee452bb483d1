"""`txnlog transactions --summary`: how long transactions take, how many are aborted, and who ended them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from txnlog.report.abort_candidates import word
from txnlog.report.fitted import Column
from txnlog.report.output import as_csv, as_json, as_table, with_cluster
from txnlog.report.paragraphs import Paragraph, text_of
from txnlog.report.transaction_list import NONE, or_none
from txnlog.report.transaction_query import Wanted, answered, arguments, of_places
from txnlog.tables.catalog import Dialect, dialect
from txnlog.tables.layout import Root
from txnlog.times import epoch_ms

Row = dict[str, Any]
# What a row is about: its column, null where that is not known, and the SQL of it.
GROUPS = {
    "transactional-id": ("transactional_id", "transactional_id"),
    "topic": ("topic", "topic"),
    "partition": ("topic_partition", "topic || '-' || partition"),
    "hour": ("hour", "date_trunc('hour', start_timestamp)"),
    "day": ("day", "date_trunc('day', start_timestamp)"),
}
PLACES = ("topic", "partition")
TIMES = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
# What is counted, what the largest of is taken, and how many percent of the durations another one does not exceed.
COUNTS = {
    "transactions": "true",
    "committed": "status = 'COMMIT'",
    "aborted": "status = 'ABORT'",
    "contradicted": "status = 'CONTRADICTED'",
    "unknown_end": "status = 'UNKNOWN'",
    "aborted_by_client": "status = 'ABORT' AND ended_by = 'CLIENT'",
    "aborted_by_timeout": "status = 'ABORT' AND ended_by = 'TIMEOUT'",
    "aborted_by_fencing": "status = 'ABORT' AND ended_by = 'FENCING'",
    "aborted_by_unknown": "status = 'ABORT' AND ended_by IS NULL",
    "measured": "ended_ms IS NOT NULL",
    "under_way": "under_way",
}
LARGEST = {"max_ms": "ended_ms", "markers_max_ms": "markers_ms", "under_way_max_ms": "under_way_ms"}
PERCENTILES = {"p50_ms": 50, "p95_ms": 95, "p99_ms": 99}
FIGURES = (*COUNTS, "aborted_share", *PERCENTILES, *LARGEST)
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
    of_groups = f"""of_groups AS (
    SELECT cluster, {value} AS {column}, status, ended_by, under_way, markers_ms,
        CASE WHEN NOT under_way THEN duration_ms END AS ended_ms,
        CASE WHEN under_way THEN duration_ms END AS under_way_ms
    FROM {"in_places" if by in PLACES else "chosen"})"""
    figures = ", ".join(
        [
            *(f"CAST(sum({name}) AS BIGINT) AS {name}" for name in COUNTS),
            "CAST(sum(aborted) AS DOUBLE) / nullif(sum(aborted) + sum(committed), 0) AS aborted_share",
            *(
                f"min(ended_ms) FILTER (WHERE place * 100 >= {share} * ended) AS {name}"
                for name, share in PERCENTILES.items()
            ),
            *(f"max({name}) AS {name}" for name in LARGEST),
        ]
    )
    order = f"{column} DESC, cluster" if by in TIMES else f"p99_ms DESC NULLS LAST, {names}"
    select = f"SELECT {names}, {figures} FROM ranked GROUP BY {names} ORDER BY {order}"
    return answered(root, wanted, select, _in_places(wanted, by, dialect(root)), of_groups, *_by_duration(names))


def _by_duration(names: str) -> Iterator[str]:
    """What has the same duration is one row, with the place of the last of them: few rows, however many there are."""
    counts = ", ".join(f"count(*) FILTER (WHERE {condition}) AS {name}" for name, condition in COUNTS.items())
    largest = ", ".join(f"max({value}) AS {name}" for name, value in LARGEST.items())
    yield f"by_duration AS (SELECT {names}, ended_ms, {counts}, {largest} FROM of_groups GROUP BY {names}, ended_ms)"
    yield f"""ranked AS (
    SELECT *, sum(measured) OVER (PARTITION BY {names}) AS ended,
        sum(measured) OVER (
            PARTITION BY {names} ORDER BY ended_ms NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS place
    FROM by_duration)"""


def _in_places(wanted: Wanted, by: str, sql: Dialect) -> str:
    """The transactions, each once for each of its topics or partitions that are wanted; `topic` null if none is known.

    They are sorted by topic: of each topic the first one counts.
    """
    columns = "cluster, status, ended_by, under_way, duration_ms, markers_ms"
    is_next = "before IS NULL OR before['topic'] <> place['topic']"
    is_counted = is_next if by == "topic" and wanted.partition is None else "true"
    return f"""in_places AS (
    SELECT {columns}, place['topic'] AS topic, place['partition'] AS partition
    FROM (SELECT {columns}, {sql.pairs.format(array="partitions", one="place", before="before")} FROM chosen)
    WHERE {of_places(wanted)} AND ({is_counted}))"""


def rendered(found: list[Row], form: str, by: str, width: int | None = None, ending: str = "") -> str:
    """The rows as `table`, `json` or `csv`; a table ends with what durations are and with `ending`."""
    if form == "json":
        return as_json(found)
    if form == "csv":
        return as_csv(found, ["cluster", GROUPS[by][0], *FIGURES])
    if not found:
        return "No transactions.\n"
    group = Column(_HEADINGS[by], or_none(GROUPS[by][0]), is_name=by not in TIMES)
    table = as_table(found, with_cluster(found, (group, *SHOWN)), width)
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
        return of_cluster._replace(from_ms=epoch_ms(group), to_ms=epoch_ms(group + TIMES[by]))
    if by == "partition":
        topic, _, number = group.rpartition("-")
        return of_cluster._replace(topic=topic, partition=int(number))
    return of_cluster._replace(**{GROUPS[by][0]: group})


def _share(row: Row) -> str:
    return NONE if row["aborted_share"] is None else f"{100 * row['aborted_share']:.1f}"


_HEADINGS = {
    "transactional-id": "TransactionalId",
    "topic": "Topic",
    "partition": "Partition",
    "hour": "Hour",
    "day": "Day",
}
SHOWN = (
    Column("Transactions", "transactions"),
    *(Column(f"{name}Ms", or_none(f"{name.lower()}_ms")) for name in ("P50", "P95", "P99", "Max")),
    Column("MarkersMaxMs", or_none("markers_max_ms"), dispensable=6),
    Column("Aborted", "aborted"),
    Column("Aborted(%)", _share, dispensable=1),
    Column("AbortedByClient", "aborted_by_client", dispensable=7),
    Column("AbortedByTimeout", "aborted_by_timeout", dispensable=4),
    Column("AbortedByFencing", "aborted_by_fencing", dispensable=4),
    Column("AbortedByUnknown", "aborted_by_unknown", dispensable=6),
    Column("UnknownEnd", "unknown_end", dispensable=5),
    Column("UnderWay", "under_way", dispensable=2),
    Column("UnderWayMaxMs", or_none("under_way_max_ms"), dispensable=3),
)
