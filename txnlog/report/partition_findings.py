"""Whose the transactions of a partition are, by the tables, and what is odd about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from txnlog.detection.causes import Cause
from txnlog.report.open_there import open_there
from txnlog.report.recorded import Match, OfProducer, recorded
from txnlog.report.table_rows import rows_if_there, text_literal
from txnlog.sources.log_copy import Place
from txnlog.sources.transaction_outcome import OPEN
from txnlog.tables.layout import TRANSACTIONAL_IDS, Root
from txnlog.times import epoch_ms

Row = dict[str, Any]
# What `Recorded` adds to the columns of `PartitionTransactionRow`: its row of `transactions`, and how that was found.
OF_TRANSACTION = ("start_timestamp", "decided_at", "completed_at")
# Of one that is open, its row of `open_transactions`.
OF_VERDICT = ("cause", "action", "verdict")
ADDED = (
    "duration_ms", "transactional_ids", "matched_by", "recorded_outcome", *OF_TRANSACTION, *OF_VERDICT, "findings"
)  # fmt: skip
# Data that was written after the end of its own transaction, or before a marker that was lost. It counts as a part of
# the next one.
LATE_WRITE = "LATE_WRITE"
# The transaction wrote nothing here, or this is the second marker of the one before: the tables may tell which.
MARKER_WITHOUT_DATA = "MARKER_WITHOUT_DATA"
NEVER_WRITTEN = "NEVER_WRITTEN"
MARKER_TWICE = "MARKER_TWICE"
# The coordinator decided otherwise: other partitions may have the other outcome.
TORN_OUTCOME = "TORN_OUTCOME"
# It is open here, and ended by its coordinator's record or by a marker in another partition: the verdict names it. Or
# data of two epochs has no marker between: that of the first one's transaction is not there.
MARKER_LOST = "MARKER_LOST"
_LOST = (Cause.MARKER_LOST_COMMIT, Cause.MARKER_LOST_ABORT)
ENDED = ("COMMIT", "ABORT")
# So far the clocks of a coordinator and of a leader may be apart; a finding is to be right where they are.
CLOCK_SKEW_MS = 60_000
_NONE = OfProducer(())


class Recorded:
    """What the tables at `root`, if any, know of the transactions of a partition."""

    def __init__(self, root: Root | None, cluster: str, place: Place, skew_ms: int = CLOCK_SKEW_MS) -> None:
        self._root, self._cluster, self._place, self._skew_ms = root, cluster, place, skew_ms
        # Of each producer id the last marker's offset and transaction.
        self._before: dict[int, tuple[int, Row | None]] = {}

    def producer_ids(self, transactional_id: str) -> frozenset[int]:
        """The producer ids that a transactional id is known to have had."""
        assert self._root is not None
        where = f"{self._of_cluster} AND transactional_id = {text_literal(transactional_id)}"
        return frozenset(row["producer_id"] for row in rows_if_there(self._root, TRANSACTIONAL_IDS, where))

    def joined(self, rows: list[Row]) -> list[Row]:
        """Some rows with `ADDED`, in the log's order."""
        names, transactions = self._known(sorted({row["producer_id"] for row in rows}))
        return [self._with_added(row, names, transactions.get(row["producer_id"], _NONE)) for row in rows]

    @cached_property
    def _verdicts(self) -> Mapping[tuple[int, int], Row]:
        """The verdicts on what is open, by producer id and start offset."""
        if self._root is None:
            return {}
        found = open_there(self._root, self._of_cluster, self._place)
        return {(row["producer_id"], row["start_offset"]): row for row in found}

    @property
    def _of_cluster(self) -> str:
        return f"cluster = {text_literal(self._cluster)}"

    def _known(self, ids: list[int]) -> tuple[dict[int, list[str]], dict[int, OfProducer]]:
        """The transactional ids and the transactions of some producer ids."""
        if self._root is None or not ids:
            return {}, {}
        where = f"{self._of_cluster} AND producer_id IN ({', '.join(map(str, ids))})"
        names: dict[int, list[str]] = {}
        for row in rows_if_there(self._root, TRANSACTIONAL_IDS, where, "transactional_id"):
            names.setdefault(row["producer_id"], []).append(row["transactional_id"])
        transactions: dict[int, list[Row]] = {}
        for row in recorded(self._root, where, self._place):
            transactions.setdefault(row["producer_id"], []).append(row)
        return names, {producer_id: OfProducer(of_id) for producer_id, of_id in transactions.items()}

    def _with_added(self, row: Row, names: dict[int, list[str]], transactions: OfProducer) -> Row:
        own = _of_its_time(row, transactions, row["outcome"])
        # Another outcome is told only where no other transaction can be meant, if clocks were apart.
        found, by = own if own[0] is not None else _of_its_time(row, transactions, None, self._skew_ms)
        times = {name: None if found is None else found[name] for name in OF_TRANSACTION}
        known = None if found is None else found["outcome"]
        # Most logs have nothing open: their tables are not read for it.
        verdict = self._verdicts.get((row["producer_id"], row["first_offset"]), {}) if row["outcome"] == OPEN else {}
        added = {
            "duration_ms": _difference(row["marker_timestamp"], row["first_timestamp"]),
            "transactional_ids": names.get(row["producer_id"], []),
            "matched_by": by,
            "recorded_outcome": known,
            **times,
            "cause": verdict.get("cause"),
            "action": verdict.get("action"),
            "verdict": verdict.get("reason"),
            "findings": [*self._findings(row, found, own[0], verdict)],
        }
        self._before[row["producer_id"]] = row["marker_offset"], own[0]
        return row | added

    def _findings(self, row: Row, transaction: Row | None, own: Row | None, verdict: Row) -> Iterator[str]:
        """`own` is the transaction if it also has the marker's outcome, by clocks that agree."""
        if self._is_late(row, transaction):
            yield LATE_WRITE
        if row["first_offset"] is None and row["is_whole"]:
            yield self._without_data(row, own)
        if transaction is not None and transaction["outcome"] in ENDED and transaction["outcome"] != row["outcome"]:
            yield TORN_OUTCOME
        if verdict.get("cause") in _LOST or _has_two_epochs(row):
            yield MARKER_LOST

    def _without_data(self, row: Row, transaction: Row | None) -> str:
        """What a marker without data is, by its transaction and that of the marker before it."""
        at, before = self._before.get(row["producer_id"], (None, None))
        if None in (transaction, before) or at != row["previous_marker_offset"]:
            return MARKER_WITHOUT_DATA
        return MARKER_TWICE if transaction == before else NEVER_WRITTEN

    def _is_late(self, row: Row, transaction: Row | None) -> bool:
        """Whether data is of an epoch that had ended, or from before the coordinator had the partition."""
        if _is_of_ended_epoch(row):
            return True
        written = row["first_timestamp"]
        if transaction is None or written is None or not row["is_log_append_time"]:
            return False
        return bool(written + self._skew_ms < epoch_ms(transaction["place"]["listed_at"]))


def _is_of_ended_epoch(row: Row) -> bool:
    lowest, ended = row["lowest_producer_epoch"], row["previous_marker_epoch"]
    return lowest is not None and ended is not None and lowest < ended


def _has_two_epochs(row: Row) -> bool:
    """Whether data of an epoch that had not ended is followed by data of a later one, with no marker between."""
    lowest = row["lowest_producer_epoch"]
    if lowest is None or not row["is_whole"] or _is_of_ended_epoch(row):
        return False
    return bool(lowest < row["producer_epoch"])


def _of_its_time(row: Row, transactions: OfProducer, outcome: str | None, skew_ms: int = 0) -> Match:
    """The transaction that the marker of a row ended, as `OfProducer.of_marker` finds it."""
    epoch, time = row["marker_epoch"], row["marker_timestamp"]
    if epoch is None or time is None or row["outcome"] not in ENDED:
        return None, None
    return transactions.of_marker(epoch, time, outcome, skew_ms)


def _difference(end: int | None, start: int | None) -> int | None:
    return None if end is None or start is None else end - start
