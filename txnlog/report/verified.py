"""Abort candidates that `verify` just found STILL_STUCK, for `abort-list --verified-within`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from txnlog.errors import MissingTableError
from txnlog.report.reading import rows
from txnlog.tables.layout import ABORT_CANDIDATES, VERIFICATIONS, Root

Row = dict[str, Any]

STUCK = "STILL_STUCK"
# Added to the columns of the candidate's table.
ADDED = ("verified_at", "verification")


def verifications(root: Root) -> list[Row]:
    """The rows of `verifications`, the newest last; none where nothing was ever verified."""
    try:
        return rows(root, VERIFICATIONS, order="verified_at")
    except MissingTableError:
        return []


def still_stuck(candidates: Iterable[Row], seen: Iterable[Row], within_ms: int, now: datetime) -> list[Row]:
    """The candidates of which the newest verification says STILL_STUCK and is not older than `within_ms`.

    `seen` are rows of `verifications`, the newest last. A time that far in the future is refused, too: one of two
    clocks is wrong.
    """
    newest = {_key(row): row for row in seen}
    within = timedelta(milliseconds=within_ms)
    return [
        candidate | {"verified_at": found["verified_at"], "verification": found["reason"]}
        for candidate in candidates
        if (found := newest.get(_key(candidate))) is not None
        and found["status"] == STUCK
        and abs(now - found["verified_at"]) <= within
    ]


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ABORT_CANDIDATES.key)
