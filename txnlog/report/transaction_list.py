"""`txnlog transactions`: the transactions that coordinators recorded, over all dumps, from tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

from txnlog.report.abort_candidates import word
from txnlog.report.fitted import Column
from txnlog.report.output import as_csv, as_json, as_table, counted, csv_pieces, json_pieces, with_cluster
from txnlog.report.transaction_query import ADDED, ALL, OPEN, STATUSES, Wanted, answered, arguments, streamed_answer
from txnlog.tables.layout import TRANSACTIONS, Root, columns_of

Row = dict[str, Any]
COLUMNS = (*(field.name for field in columns_of(TRANSACTIONS)), *ADDED)
_NAMES = ", ".join(COLUMNS)
# What stands for a value that is not known.
NONE = "-"
STATUS_STYLES = {"ABORT": "magenta", "CONTRADICTED": "bold red", OPEN: "cyan"}


class Found(NamedTuple):
    """The latest rows of those that are wanted, by their start, and how many there are of each status."""

    rows: list[Row]
    counts: dict[str, int]


def transactions(root: Root, wanted: Wanted, limit: int | None = None) -> Found:
    """The rows of `transactions` that are wanted, with `ADDED`, at most `limit`. `OptionError`: an unknown cluster."""
    counts = answered(root, wanted, "SELECT status, count(*) AS number FROM chosen GROUP BY status")
    return Found(latest(root, wanted, limit), {row["status"]: row["number"] for row in counts})


def latest(root: Root, wanted: Wanted, limit: int | None = None) -> list[Row]:
    """The rows of `transactions` alone."""
    last = "" if limit is None else f" LIMIT {limit}"
    return answered(root, wanted, f"SELECT {_NAMES} FROM chosen ORDER BY {_order(' DESC')}{last}")[::-1]


def pieces(root: Root, wanted: Wanted, form: str) -> Iterator[str]:
    """All rows as `json` or `csv`, as `rendered` has them, but one after the other: not all of them are in memory."""
    rows = streamed_answer(root, wanted, f"SELECT {_NAMES} FROM chosen ORDER BY {_order('')}")
    # What is wrong is said before anything is printed.
    found = chain(list(islice(rows, 1)), rows)
    yield from json_pieces(found) if form == "json" else csv_pieces(found, COLUMNS)


def _order(direction: str) -> str:
    return ", ".join(f"{name}{direction}" for name in ("start_timestamp", "cluster", "transactional_id", "last_offset"))


def rendered(found: Found, form: str, width: int | None = None, tables: str = "", wanted: Wanted = ALL) -> str:
    """The rows as `table`, `json` or `csv`; a table ends with the numbers of all, and with what to type next."""
    if form == "json":
        return as_json(found.rows)
    if form == "csv":
        return as_csv(found.rows, COLUMNS)
    if not found.rows:
        return "No transactions.\n"
    whole = sum(found.counts.values())
    numbers = ", ".join(f"{found.counts[status]} {status}" for status in STATUSES if status in found.counts)
    lines = [f"{counted(whole, 'transaction')}: {numbers}."]
    if len(found.rows) < whole:
        lines.append(f"Only the latest {len(found.rows)} are listed: --limit {whole} lists all.")
    return "\n".join(
        [
            as_table(found.rows, with_cluster(found.rows, SHOWN), width) + lines[0],
            *lines[1:],
            f"Next: {_following(found, tables, wanted)}\n",
        ]
    )


def _following(found: Found, tables: str, wanted: Wanted) -> str:
    """Whether what is open hangs; else which of them are slow."""
    if OPEN in found.counts:
        cluster = "" if wanted.cluster is None else arguments(Wanted(cluster=wanted.cluster))
        return f"txnlog find-hanging --tables {word(tables)}{cluster}"
    return f"txnlog transactions --tables {word(tables)}{arguments(wanted)} --summary"


def or_none(name: str) -> Callable[[Row], Any]:
    """The value of a column, or a sign that it is not known."""
    return lambda row: NONE if row[name] is None else row[name]


def partitions(row: Row) -> str:
    """The partitions of a transaction: `orders-0,orders-1`."""
    return ",".join(f"{each['topic']}-{each['partition']}" for each in row["partitions"]) or NONE


SHOWN = (
    Column("Start", "start_timestamp"),
    Column("TransactionalId", "transactional_id", is_name=True),
    Column("Outcome", "status", styles=STATUS_STYLES),
    Column("EndedBy", or_none("ended_by"), dispensable=1),
    Column("DurationMs", or_none("duration_ms")),
    Column("MarkersMs", or_none("markers_ms"), dispensable=5),
    Column("State", "state", dispensable=4),
    Column("ProducerId", "producer_id", dispensable=3),
    Column("ProducerEpoch", or_none("producer_epoch"), dispensable=6),
    Column("Partitions", partitions, is_name=True, dispensable=2),
)
