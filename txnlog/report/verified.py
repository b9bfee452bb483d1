"""Which abort candidates may be offered, by what `verify` last found: those that the live cluster is still stuck at."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from txnlog.report.table_rows import rows_if_there
from txnlog.tables.layout import ABORT_CANDIDATES, VERIFICATIONS, Root

Row = dict[str, Any]

STUCK, BLOCKED = "STILL_STUCK", "BLOCKED_BY_EARLIER"
# Nothing is left to abort.
OVER = ("RESOLVED", "GONE")
NOT_LATELY = "not verified lately"
# Of a candidate of which the live cluster was not asked since the latest dump that shows it.
NOT_VERIFIED = "NOT_VERIFIED"
# Added to the columns of the candidate's table; null where it was never verified.
ADDED = ("verified_at", "verification")


class Sorted(NamedTuple):
    """Candidates by what becomes of them: `left_out` has the reason of each, a status or `NOT_LATELY`."""

    offered: list[Row]
    blocked: list[Row]
    left_out: list[str]


def verifications(root: Root) -> list[Row]:
    """The rows of `verifications`, the newest last; none where nothing was ever verified."""
    return rows_if_there(root, VERIFICATIONS, order="verified_at")


def by_verification(candidates: Iterable[Row], seen: Iterable[Row], within_ms: int | None, now: datetime) -> Sorted:
    """Offered is what the newest verification, not older than `within_ms`, found STILL_STUCK; without a limit all but
    what is over.

    `seen` are rows of `verifications`, the newest last. A time that far in the future is refused, too: one of two
    clocks is wrong.
    """
    newest, found = {_key(row): row for row in seen}, Sorted([], [], [])
    for candidate in candidates:
        last = newest.get(_key(candidate))
        status = _status(last, within_ms, now)
        row = candidate | _added(last)
        if status == STUCK or (within_ms is None and status not in OVER):
            found.offered.append(row)
        elif status == BLOCKED:
            found.blocked.append(row)
        else:
            found.left_out.append(status)
    return found


def with_verification(candidates: Iterable[Row], seen: Iterable[Row]) -> list[Row]:
    """Candidates with the status that their newest verification found as `verification`, or `NOT_VERIFIED`.

    A dump that shows the transaction open later than the cluster was asked outweighs the answer.
    """
    newest = {_key(row): row for row in sorted(seen, key=lambda row: row["verified_at"])}

    def status(candidate: Row) -> str:
        last = newest.get(_key(candidate))
        return str(last["status"]) if last and last["verified_at"] >= candidate["as_of"] else NOT_VERIFIED

    return [row | {"verification": status(row)} for row in candidates]


def _status(last: Row | None, within_ms: int | None, now: datetime) -> str:
    if last is None:
        return NOT_LATELY
    status = str(last["status"])
    if status in OVER or within_ms is None:
        return status
    return status if abs(now - last["verified_at"]) <= timedelta(milliseconds=within_ms) else NOT_LATELY


def _added(last: Row | None) -> Row:
    if last is None:
        return dict.fromkeys(ADDED)
    return {"verified_at": last["verified_at"], "verification": f"{last['status']}: {last['reason']}"}


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ABORT_CANDIDATES.key)
