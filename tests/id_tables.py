"""Tables of one transactional id with a hostile name, and of another id: what its page and its drawing show."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests import report_tables
from tests.tables_by_hand import at, put
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_RECORDS, COORDINATOR_STATES, TRANSACTIONS, Root

ID = "</style><script>alert(1)</script>\u202e{{ 7 * 7 }}"


def record(offset: int, state: str, epoch: int, **values: Any) -> dict[str, Any]:
    """What the coordinator wrote in the second of its offset."""
    return {
        "cluster": "payments", "transactional_id": ID, "topic_id": "t", "offset": offset, "state": state,
        "producer_id": 7, "producer_epoch": epoch, "append_timestamp": at(offset),
        "update_lag_ms": 0,
    } | values  # fmt: skip


def ended(second: int, outcome: str = "COMMIT", **values: Any) -> dict[str, Any]:
    """A transaction of a second."""
    return {
        "cluster": "payments", "transactional_id": ID, "topic_id": "t", "producer_id": 7, "producer_epoch": 0,
        "end_epoch": 0, "start_timestamp": at(second), "decided_at": at(second + 1), "completed_at": at(second + 1),
        "outcome": outcome, "ended_by": "CLIENT", "first_offset": second, "last_offset": second + 1,
        "partitions": [{"topic": "orders", "partition": 3, "listed_at": at(second)}],
    } | values  # fmt: skip


RECORDS = [record(0, "Empty", 0), record(9, "Empty", 1), record(5, "Empty", 0, transactional_id="other")]
PAST = [ended(1), ended(3, "ABORT"), ended(6, transactional_id="other", producer_id=8888)]


def tables(
    folder: Path,
    opened: Iterable[dict[str, Any]] = (),
    records: list[dict[str, Any]] = RECORDS,
    past: list[dict[str, Any]] = PAST,
) -> Root:
    """The tables in a folder."""
    root = report_tables.written(folder, [*opened], [report_tables.night()], [])
    for table, rows in ((COORDINATOR_RECORDS, records), (TRANSACTIONS, past), (COORDINATOR_RANGES, [])):
        put(root, table, rows)
    put(root, COORDINATOR_STATES, [])
    return root
