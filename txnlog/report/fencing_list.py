"""`txnlog fencings`: which producers were fenced, when and by whom, as far as coordinators' records are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

from txnlog.report.abort_candidates import option, word
from txnlog.report.fitted import Column
from txnlog.report.id_timeline import STARTED, fenced, is_within, of_transaction, producers
from txnlog.report.output import as_csv, as_json, as_table, counted, with_cluster
from txnlog.report.transaction_list import COLUMNS as OF_TRANSACTIONS
from txnlog.report.transaction_list import or_none
from txnlog.report.transaction_query import Wanted, answered, check_known
from txnlog.tables.layout import COORDINATOR_RECORDS, Root

Row = dict[str, Any]
# A producer with the same id started; the coordinator ended the transaction at its timeout, or for a newer producer.
BY = NEW_PRODUCER, TIMEOUT, FENCING = "NEW_PRODUCER", "TIMEOUT", "FENCING"
COLUMNS = (
    "cluster", "transactional_id", "time", "fenced_producer_id", "fenced_epoch", "fenced_by", "producer_id",
    "producer_epoch", "offset",
)  # fmt: skip


class Fencings(NamedTuple):
    """The latest ones in their order, each with `COLUMNS`, and how many there are of each kind (`BY`)."""

    rows: list[Row]
    counts: Counter[str]


def fencings(root: Root, wanted: Wanted, limit: int | None = None) -> Fencings:
    """The producers that were fenced, at most `limit`; `wanted` takes cluster, id and time.

    A new producer fences the one before it whether that still runs or not: no record says. The epoch that a
    coordinator took for itself, when it ended a transaction, was no producer's: whoever follows it fences nobody, but
    is the new producer of a FENCING. `OptionError`: an unknown cluster or id.
    """
    ended = answered(root, wanted, f"SELECT {', '.join(OF_TRANSACTIONS)} FROM chosen WHERE {_BY_COORDINATOR}")
    own = {_producer(row, "producer_id", "end_epoch") for row in ended}
    started = [
        each for each in producers(root, wanted) if each["event"] == STARTED and each["fenced_epoch"] is not None
    ]
    following = {_producer(event, "fenced_producer_id", "fenced_epoch"): event for event in started}
    by_coordinators = (_by_coordinator(row, following) for row in ended)
    others = (each for each in started if _producer(each, "fenced_producer_id", "fenced_epoch") not in own)
    by_producers = (_row(each, each["time"], NEW_PRODUCER, each) for each in others)
    found = [row for row in chain(by_coordinators, by_producers) if is_within(wanted, row["time"])]
    if not found:
        check_known(root, wanted, COORDINATOR_RECORDS)
    found.sort(key=lambda row: (row["time"], row["cluster"], row["transactional_id"], row["offset"]))
    return Fencings(found if limit is None else found[-limit:], Counter(row["fenced_by"] for row in found))


_BY_COORDINATOR = f"ended_by IN ('{TIMEOUT}', '{FENCING}')"


def _producer(row: Row, producer_id: str, epoch: str) -> tuple[Any, ...]:
    return row["cluster"], row["transactional_id"], row[producer_id], row[epoch]


def _by_coordinator(row: Row, following: Mapping[tuple[Any, ...], Row]) -> Row:
    """The fencing by which a coordinator ended a transaction, with the new producer that it was for."""
    new = following.get(_producer(row, "producer_id", "end_epoch")) if row["ended_by"] == FENCING else None
    return _row(of_transaction(row), row["decided_at"] or row["start_timestamp"], row["ended_by"], new)


def _row(event: Row, time: Any, by: str, new: Row | None) -> Row:
    names = ("producer_id", "producer_epoch")
    fields = event | {name: new and new[name] for name in names} | {"time": time, "fenced_by": by}
    return {name: fields[name] for name in COLUMNS}


def rendered(found: Fencings, form: str, width: int | None = None, tables: str = "") -> str:
    """The rows as `table`, `json` or `csv`; a table ends with their numbers and with what to type next."""
    if form == "json":
        return as_json(found.rows)
    if form == "csv":
        return as_csv(found.rows, COLUMNS)
    whole = found.counts.total()
    if not whole:
        return "No producer was fenced, by the records that are kept.\n"
    numbers = ", ".join(f"{found.counts[by]} by {by}" for by in BY if found.counts[by])
    lines = [f"{counted(whole, 'producer')} fenced: {numbers}."]
    if len(found.rows) < whole:
        lines.append(f"Only the latest {len(found.rows)} are listed: --limit {whole} lists all.")
    name = " ".join(map(word, option("--transactional-id", found.rows[-1]["transactional_id"])))
    table = as_table(found.rows, with_cluster(found.rows, SHOWN), width)
    return table + "\n".join([*lines, f"Next: txnlog timeline --tables {word(tables)} {name}\n"])


SHOWN = (
    Column("Time", "time"),
    Column("TransactionalId", "transactional_id", is_name=True),
    Column("Fenced", fenced),
    Column("By", "fenced_by"),
    Column("ProducerId", or_none("producer_id"), dispensable=1),
    Column("Epoch", or_none("producer_epoch"), dispensable=1),
)
