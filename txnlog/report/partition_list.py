"""`txnlog partition`: the transactions that the log of a partition shows, and whose they are, as far as tables tell."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from txnlog.format.structure import fields
from txnlog.report.abort_candidates import option, word
from txnlog.report.fitted import ACTION_STYLES, Column
from txnlog.report.output import as_csv, as_json, as_table, counted, csv_pieces, json_pieces, printable
from txnlog.report.partition_findings import ADDED, Recorded
from txnlog.report.transaction_list import NONE, STATUS_STYLES, or_none
from txnlog.sources.log_copy import Place
from txnlog.sources.partition_transactions import CopyTransactions
from txnlog.sources.transaction_outcome import OPEN, UNKNOWN
from txnlog.sources.transaction_rows import PartitionTransactionRow
from txnlog.times import EARLIEST_MS, LATEST_MS, iso_8601

Row = dict[str, Any]
OUTCOMES = ("COMMIT", "ABORT", OPEN, UNKNOWN)
COLUMNS = (*(field.name for field in fields(PartitionTransactionRow)), *ADDED)


class Wanted(NamedTuple):
    """What must be so of a transaction; None is anything. `producer_ids`: it is of one of these.

    `longer_than_ms`: from its first time to its marker. `from_ms`, `to_ms`: it was open at some time in [from, to), ms
    since 1970; of one whose times are not known that may be.
    """

    producer_ids: frozenset[int] | None = None
    outcome: str | None = None
    longer_than_ms: int | None = None
    from_ms: int | None = None
    to_ms: int | None = None

    def chosen(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Those of some rows of `PartitionTransactionRow`."""
        for name, condition in _CONDITIONS.items():
            value = getattr(self, name)
            if value is not None:
                rows = rows.filter(condition(rows, value))
        return rows


def _first_time(rows: pa.RecordBatch) -> pa.Array:
    return pc.coalesce(rows["first_timestamp"], rows["marker_timestamp"])


_CONDITIONS: dict[str, Callable[[pa.RecordBatch, Any], pa.Array]] = {
    "producer_ids": lambda rows, ids: pc.is_in(rows["producer_id"], pa.array(sorted(ids), pa.int64())),
    "outcome": lambda rows, outcome: pc.equal(rows["outcome"], outcome),
    "longer_than_ms": lambda rows, least: pc.greater(pc.subtract(rows["marker_timestamp"], _first_time(rows)), least),
    "from_ms": lambda rows, start: pc.greater_equal(pc.fill_null(rows["marker_timestamp"], LATEST_MS), start),
    "to_ms": lambda rows, end: pc.less(pc.fill_null(_first_time(rows), EARLIEST_MS), end),
}


class Found(NamedTuple):
    """The latest transactions of a copy that are wanted, in the log's order, and how many there are of each outcome."""

    place: Place
    log_dir: str
    rows: list[Row]
    counts: Counter[str]
    problems: list[str]
    other_copies: int


def found_in(copies: list[CopyTransactions], wanted: Wanted, recorded: Recorded, limit: int | None) -> Found:
    """Those of the first copy, at most `limit`."""
    one, *others = copies
    counts: Counter[str] = Counter()
    latest: deque[Row] = deque(maxlen=limit)
    for rows in map(wanted.chosen, one.rows):
        counts.update(rows["outcome"].to_pylist())
        latest.extend(rows.slice(0 if limit is None else max(0, len(rows) - limit)).to_pylist())
    return Found(one.copy.place, one.copy.log_dir, recorded.joined([*latest]), counts, one.problems, len(others))


def pieces(copies: list[CopyTransactions], wanted: Wanted, recorded: Recorded, form: str) -> Iterator[str]:
    """All rows of the first copy as `json` or `csv`, one after the other: not all of them are in memory."""
    rows = (row for some in map(wanted.chosen, copies[0].rows) for row in recorded.joined(some.to_pylist()))
    yield from json_pieces(rows) if form == "json" else csv_pieces(rows, COLUMNS)


def rendered(found: Found, form: str, width: int | None, dump: str) -> str:
    """The rows as `table`, `json` or `csv`; a table ends with the numbers of all, and with what to type next."""
    if form == "json":
        return as_json(found.rows)
    if form == "csv":
        return as_csv(found.rows, COLUMNS)
    lines = [*_counts(found), *_next(found, dump)]
    return (as_table(found.rows, _columns(found.rows), width) if found.rows else "") + "\n".join([*lines, ""])


def _counts(found: Found) -> Iterator[str]:
    whole = found.counts.total()
    numbers = ", ".join(f"{found.counts[outcome]} {outcome}" for outcome in OUTCOMES if found.counts[outcome])
    counts = f"{counted(whole, 'transaction')}: {numbers}." if whole else "No transactions."
    yield f"{found.place} by {found.log_dir or 'this folder'}: {counts}"
    if len(found.rows) < whole:
        yield f"Only the latest {len(found.rows)} are listed: --limit {whole} lists all."
    reasons = [row for row in found.rows if row["reason"] is not None]
    if reasons:
        row = reasons[0]
        at = row["marker_offset"] if row["first_offset"] is None else row["first_offset"]
        others = f" (and of {len(reasons) - 1} more: --format json)" if len(reasons) > 1 else ""
        yield f"Of the one at offset {at}: {row['reason']}{others}."
    for row in found.rows:
        if row["verdict"] is not None:
            yield f"{row['action']} from offset {row['first_offset']}, {row['cause']}: {printable(row['verdict'])}."
    for problem in found.problems:
        yield f"Not read: {problem}."
    if found.other_copies:
        copies = "1 other copy is" if found.other_copies == 1 else f"{found.other_copies} other copies are"
        yield f"{copies} not read: --log-dir reads one of them, txnlog record compares all."


def _next(found: Found, dump: str) -> Iterator[str]:
    """What to ask of a transaction that is odd, or of the last one."""
    rows = [row for row in found.rows if row["first_offset"] is not None]
    row = next(
        (row for row in rows if row["findings"] or row["outcome"] in (OPEN, UNKNOWN)), rows[-1] if rows else None
    )
    if row is not None:
        topic = " ".join(map(word, option("--topic", found.place.topic)))
        place = f"{topic} --partition {found.place.partition} --offset {row['first_offset']}"
        yield f"Next: txnlog record {word(dump)} {place}"


def _columns(rows: Iterable[Row]) -> list[Column]:
    has_ids = any(row["transactional_ids"] for row in rows)
    has_verdicts, has_findings = (any(row[name] for row in rows) for name in ("action", "findings"))
    return [
        *_FIRST,
        *([Column("TransactionalId", _joined("transactional_ids"), is_name=True)] if has_ids else []),
        *([Column("Action", or_none("action"), styles=ACTION_STYLES)] if has_verdicts else []),
        *([Column("Findings", _joined("findings"))] if has_findings else []),
    ]


def _joined(name: str) -> Any:
    return lambda row: ",".join(row[name]) or NONE


def _instant(row: Row) -> str:
    time = row["first_timestamp"]
    return NONE if time is None else iso_8601(time)


_FIRST = (
    Column("First", or_none("first_offset")),
    Column("Last", or_none("last_offset"), dispensable=2),
    Column("Marker", or_none("marker_offset")),
    Column("Outcome", "outcome", styles=STATUS_STYLES),
    Column("From", or_none("outcome_from"), dispensable=5),
    Column("Whole", lambda row: "yes" if row["is_whole"] else "no", dispensable=4),
    Column("ProducerId", "producer_id"),
    Column("Epoch", or_none("producer_epoch"), dispensable=3),
    Column("Start", _instant, dispensable=1),
    Column("DurationMs", or_none("duration_ms")),
    Column("Records", or_none("records"), dispensable=6),
    Column("Bytes", "size_in_bytes", dispensable=7),
)
