"""The tables of the report that a reader filters, sorts and pages through."""

from __future__ import annotations

from txnlog.report.advice import rank
from txnlog.report.contents import Contents, Row, hangs
from txnlog.report.paged import Column, Paged, column
from txnlog.tables.layout import OPEN_TRANSACTIONS, columns_of

SHOWN = (
    column("action", kind="action"),
    Column("topic-partition", lambda row: f"{row['topic']}-{row['partition']}"),
    column("start_offset", "start offset", "number"),
    column("transactional_id", "transactional id"),
    column("cause", kind="code"),
    column("held_back_records", "records held back", "number"),
    column("open_for_ms", "open for", "duration"),
)
KINDS = {"late_after_ms": "duration", "bigint": "number", "int": "number", "smallint": "number"}


def by_urgency(tables: Contents) -> list[Row]:
    """All open transactions of a cluster, those that hang first, each of them in the order of `txnlog remedies`."""
    return sorted(tables.transactions, key=lambda row: (not hangs(row), *rank(row)))


def transactions(rows: list[Row]) -> Paged:
    """Every open transaction with every column; what is not shown opens with its row, as its remedy does."""
    shown = {each.title.replace(" ", "_") for each in SHOWN} | {"held_back_records", "open_for_ms", "remedy"}
    hidden = (
        column(field.name, kind=KINDS.get(field.name, KINDS.get(field.wire.ddl, "text")), shown=False)
        for field in columns_of(OPEN_TRANSACTIONS)
        if field.name not in shown
    )
    return Paged("transactions", "Open transactions, most urgent first", (*SHOWN, *hidden), rows)


def groups(tables: Contents) -> Paged:
    """Consumer groups that open transactions block."""
    return Paged(
        "groups",
        "Consumer groups that open transactions block, the most offsets that wait first",
        (
            column("group_id", "group"),
            Column("topic-partition", lambda row: f"{row['topic']}-{row['partition']}"),
            column("blocked_by", "blocked by", "code"),
            column("committed_offset", "committed offset", "number"),
            column("waiting_offsets", "waiting offsets", "number"),
            Column("open in", lambda row: f"{row['blocking_topic']}-{row['blocking_partition']}"),
            column("transactional_id", "transactional id"),
            column("cause", kind="code"),
            column("action", kind="action"),
        ),
        tables.groups,
    )


def files(tables: Contents) -> Paged:
    """Files of the latest dump with damage or a problem."""
    return Paged(
        "files",
        "Files of the latest dump with damage or a problem",
        (
            column("file"),
            column("problem"),
            column("bytes_damaged", "bytes damaged", "number"),
            column("bytes_skipped", "bytes skipped", "number"),
            column("size_in_bytes", "bytes", "number"),
        ),
        tables.files,
    )
