"""Which of the transactions that coordinators recorded a marker in a partition is of."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

from txnlog.report.table_rows import answer, text_literal
from txnlog.sources.log_copy import Place
from txnlog.tables.catalog import dialect
from txnlog.tables.layout import TRANSACTIONS, Root
from txnlog.times import epoch_ms

Row = dict[str, Any]
# How the transaction was found: each of version 2 has an epoch of its own; else by the time of the marker.
EPOCH, TIME = "EPOCH", "TIME"
Match = tuple[Row | None, str | None]


def recorded(root: Root, where: str, place: Place) -> list[Row]:
    """The rows of `transactions` that listed a partition and fulfil a condition in SQL."""
    listed = f"place['topic'] = {text_literal(place.topic)} AND place['partition'] = {place.partition}"
    places = dialect(root).each.format(array="partitions", name="place")
    query = f"SELECT * FROM (SELECT *, {places} FROM found WHERE {where}) WHERE {listed}"
    return answer(root, query, found=TRANSACTIONS)


class OfProducer:
    """The transactions of one producer id that listed a partition, rows of `transactions`."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._of_epochs: dict[int | None, list[Row]] = {}
        for row in sorted(rows, key=lambda row: row["start_timestamp"]):
            self._of_epochs.setdefault(row["end_epoch"], []).append(row)

    def of_marker(self, epoch: int, time_ms: int, outcome: str | None, skew_ms: int = 0) -> Match:
        """The only one that a marker can be of, and how it was found; else nothing.

        `outcome`: of that one alone. `skew_ms`: so far the clocks of coordinator and leader may be apart.
        """
        of_epoch = self._of_epochs.get(epoch, [])
        if len(of_epoch) == 1 and of_epoch[0]["client_transaction_version"] == 2:
            found = [row for row in of_epoch if outcome in (None, row["outcome"])]
            return (found[0], EPOCH) if found else (None, None)
        at_that_time = [row for row in _around(of_epoch, time_ms, skew_ms) if outcome in (None, row["outcome"])]
        return (at_that_time[0], TIME) if len(at_that_time) == 1 else (None, None)


def _around(rows: list[Row], time_ms: int, skew_ms: int) -> Iterator[Row]:
    """Those of which the time lies between the decision and the Complete* record."""
    after = bisect_right(rows, time_ms + skew_ms, key=lambda row: epoch_ms(row["start_timestamp"]))
    for row in reversed(rows[:after]):
        decided, completed = row["decided_at"], row["completed_at"]
        if completed is not None and epoch_ms(completed) < time_ms - skew_ms:
            # One id has one transaction at a time: all others had ended before.
            return
        if None not in (decided, completed) and epoch_ms(decided) <= time_ms + skew_ms:
            yield row
