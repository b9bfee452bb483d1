"""The tables of the report that a reader pages through."""

from __future__ import annotations

from txnlog.report.contents import BlockedPartition, Contents
from txnlog.report.paged import Column, Paged, column
from txnlog.tables.layout import OPEN_TRANSACTIONS, columns_of

SHOWN = {
    "cluster": "cluster",
    "topic": "topic",
    "partition": "partition",
    "start_offset": "start offset",
    "transactional_id": "transactional id",
    "action": "action",
    "cause": "cause",
    "late": "late",
    "open_for_ms": "open for",
    "held_back_records": "records held back",
}
KINDS = {"open_for_ms": "duration", "late_after_ms": "duration", "action": "action", "cause": "code"}


def standing(blocked: list[BlockedPartition]) -> Paged:
    """All blocked partitions, most urgent first."""
    found = [
        each.first | {"rank": place, "others": len(each.transactions) - 1} for place, each in enumerate(blocked, 1)
    ]
    return Paged(
        "standing",
        "Blocked partitions, most urgent first",
        (
            column("rank", "no.", "number"),
            column("action", kind="action"),
            Column("partition", lambda row: f"{row['topic']}-{row['partition']}"),
            column("cluster"),
            column("transactional_id", "transactional id"),
            column("cause", kind="code"),
            column("held_back_records", "records held back", "number"),
            column("open_for_ms", "open for", "duration"),
            column("others", "others open", "number"),
            column("confidence", shown=False),
            column("reason", shown=False),
        ),
        found,
        page=15,
    )


def transactions(tables: Contents) -> Paged:
    """Every open transaction with every column."""
    kinds = {"bigint": "number", "int": "number", "smallint": "number"}
    columns = [
        column(
            field.name,
            SHOWN.get(field.name, field.name),
            KINDS.get(field.name, kinds.get(field.wire.ddl, "text")),
            field.name in SHOWN,
        )
        for field in columns_of(OPEN_TRANSACTIONS)
    ]
    return Paged(
        "transactions", "All open transactions of the latest dumps, including young ones", columns, tables.transactions
    )


def files(tables: Contents) -> Paged:
    """Files of the latest dumps with damage or a problem."""
    return Paged(
        "files",
        "Files of the latest dumps with damage or a problem",
        (
            column("cluster"),
            column("file"),
            column("problem"),
            column("bytes_damaged", "bytes damaged", "number"),
            column("bytes_skipped", "bytes skipped", "number"),
            column("size_in_bytes", "bytes", "number"),
        ),
        tables.files,
    )
