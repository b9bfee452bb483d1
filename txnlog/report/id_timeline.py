"""`txnlog timeline`: the producers and transactions of a transactional id, as far as coordinators' records are kept.

A producer that starts gets a higher epoch (`InitProducerId`), and the coordinator raises it as well when it aborts a
transaction by itself: from then on it refuses whoever has an earlier one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from txnlog.errors import OptionError
from txnlog.report.abort_candidates import option, word
from txnlog.report.fitted import Column
from txnlog.report.output import as_csv, as_json, as_table, with_cluster
from txnlog.report.table_rows import streamed, text_literal
from txnlog.report.transaction_list import STATUS_STYLES, latest, or_none, partitions
from txnlog.report.transaction_query import OPEN, STATUSES, Wanted
from txnlog.tables.layout import COORDINATOR_RECORDS, Root
from txnlog.times import epoch_ms

Row = dict[str, Any]
# What is no transaction: a producer got its producer id and epoch; the coordinator forgot the id, as it was idle.
STARTED, EXPIRED = "STARTED", "EXPIRED"
COLUMNS = (
    "cluster", "transactional_id", "time", "event", "producer_id", "producer_epoch", "fenced_producer_id",
    "fenced_epoch", "ended_by", "duration_ms", "under_way", "partitions", "offset",
)  # fmt: skip
_NOTHING = dict.fromkeys(COLUMNS)


class IdTimeline(NamedTuple):
    """The latest events of an id in their order, each with `COLUMNS`, and how many there are of each kind."""

    events: list[Row]
    counts: Counter[str]


def timeline(root: Root, wanted: Wanted, limit: int | None = None) -> IdTimeline:
    """The events of `wanted.transactional_id`, at most `limit`. `OptionError` where no record of it is kept.

    The event of a transaction is its status: COMMIT, ABORT, CONTRADICTED, OPEN or UNKNOWN. `fenced_epoch` is the epoch
    that the coordinator no longer accepts since, with the producer id; null if none is.
    """
    found = [*producers(root, wanted), *map(of_transaction, latest(root, wanted))]
    if not found:
        raise OptionError(
            f"no record of {wanted.transactional_id!r} is kept, of that time and cluster: `txnlog list` has the ids"
            " that coordinators know, and `txnlog history` prints how far back the records go"
        )
    found.sort(key=lambda event: (event["time"], event["cluster"], event["offset"]))
    return IdTimeline(found if limit is None else found[-limit:], Counter(event["event"] for event in found))


def producers(root: Root, wanted: Wanted) -> Iterator[Row]:
    """The events of one id or of all: when producers started, and when the coordinator forgot the id."""
    values = {"cluster": wanted.cluster, "transactional_id": wanted.transactional_id}
    where = [f"{name} = {text_literal(value)}" for name, value in values.items() if value is not None]
    found = streamed(
        root,
        f"""SELECT * FROM (
    SELECT cluster, transactional_id, found.offset, state, is_tombstone, producer_id, producer_epoch,
        append_timestamp, update_lag_ms,
        lag(producer_id) OVER in_turn AS fenced_producer_id, lag(producer_epoch) OVER in_turn AS fenced_epoch
    FROM found WHERE {" AND ".join(where) or "true"}
    WINDOW in_turn AS (PARTITION BY cluster, coordinator_partition, topic_id, transactional_id
        ORDER BY found.offset, coordinator_epoch))
WHERE is_tombstone OR (state = 'Empty' AND fenced_epoch IS NULL)
    OR (state IN ('Empty', 'Ongoing') AND (producer_id <> fenced_producer_id OR producer_epoch <> fenced_epoch))""",
        found=COORDINATOR_RECORDS,
    )
    for row in found:
        if row["append_timestamp"] is None:
            continue
        time = row["append_timestamp"] - timedelta(milliseconds=row["update_lag_ms"] or 0)
        if is_within(wanted, time):
            kind = {"event": EXPIRED, **_NO_FENCE} if row["is_tombstone"] else {"event": STARTED}
            yield _event(row | kind | {"time": time})


_NO_FENCE = {"fenced_producer_id": None, "fenced_epoch": None}


def is_within(wanted: Wanted, time: datetime) -> bool:
    """Whether a time lies in the period that is wanted."""
    at = epoch_ms(time)
    return (wanted.from_ms is None or at >= wanted.from_ms) and (wanted.to_ms is None or at < wanted.to_ms)


def of_transaction(row: Row) -> Row:
    """The event of a transaction, a row of `transactions`."""
    # Only where the coordinator raised the epoch by itself: a client of version 2 has a new one for each transaction.
    is_fence = row["ended_by"] in ("TIMEOUT", "FENCING")
    fenced = {"fenced_producer_id": row["producer_id"], "fenced_epoch": row["producer_epoch"]} if is_fence else {}
    epoch = row["end_epoch"] if row["producer_epoch"] is None else row["producer_epoch"]
    fields = {"time": row["start_timestamp"], "event": row["status"], "offset": row["first_offset"]}
    return _event(row | fields | fenced | {"producer_epoch": epoch})


def _event(fields: Row) -> Row:
    return {name: fields.get(name, nothing) for name, nothing in _NOTHING.items()}


def rendered(found: IdTimeline, form: str, width: int | None = None, tables: str = "") -> str:
    """The events as `table`, `json` or `csv`; a table ends with their numbers and with what to type next."""
    if form == "json":
        return as_json(found.events)
    if form == "csv":
        return as_csv(found.events, COLUMNS)
    whole = found.counts.total()
    kinds = (STARTED, EXPIRED, *STATUSES)
    lines = [f"{', '.join(f'{found.counts[kind]} {kind}' for kind in kinds if found.counts[kind])}."]
    if len(found.events) < whole:
        lines.append(f"Only the latest {len(found.events)} events are listed: --limit {whole} lists all.")
    name = " ".join(map(word, option("--transactional-id", found.events[-1]["transactional_id"])))
    command = f"explain --tables {word(tables)} {name}"
    if OPEN not in found.counts:
        command = f"transactions --tables {word(tables)} {name} --summary"
    return as_table(found.events, with_cluster(found.events, SHOWN), width) + "\n".join(
        [*lines, f"Next: txnlog {command}\n"]
    )


def fenced(row: Row) -> str:
    """`epoch 3`, with the producer id if that changed, too."""
    if row["fenced_epoch"] is None:
        return ""
    other = "" if row["fenced_producer_id"] == row["producer_id"] else f"producer id {row['fenced_producer_id']}, "
    return f"{other}epoch {row['fenced_epoch']}"


def _places(row: Row) -> str:
    return "" if row["partitions"] is None else partitions(row)


SHOWN = (
    Column("Time", "time"),
    Column("Event", "event", styles=STATUS_STYLES | {STARTED: "bold"}),
    Column("ProducerId", or_none("producer_id"), dispensable=2),
    Column("Epoch", or_none("producer_epoch")),
    Column("Fenced", fenced),
    Column("EndedBy", "ended_by", dispensable=1),
    Column("DurationMs", "duration_ms"),
    Column("Partitions", _places, is_name=True),
)
