"""`txnlog list` and `txnlog describe`: the answers of `kafka-transactions.sh`, from tables.

Kafka's columns are those of `org.apache.kafka.tools.TransactionsCommand`, ours follow. Durations count to the time of
the dump, and only a transaction that is under way has one: Kafka's own tool takes an id that is Empty for one that has
run since 1970, and shows how long ago a transaction began that has ended.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from txnlog import times
from txnlog.errors import OptionError
from txnlog.report.fitted import Column
from txnlog.report.output import as_csv, as_json, as_table, with_cluster
from txnlog.report.table_rows import check_cluster, rows, text_literal
from txnlog.tables.layout import COORDINATOR_STATES, OPEN_TRANSACTIONS, RUNS, Root, columns_of

STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
UNDER_WAY = ("Ongoing", "PrepareCommit", "PrepareAbort")
STATE_STYLES = {"Ongoing": "cyan", "PrepareCommit": "magenta", "PrepareAbort": "magenta"}
# What Kafka's tool prints for a missing value.
NONE = "None"


def states(root: Root, cluster: str | None = None, transactional_id: str | None = None) -> list[dict[str, Any]]:
    """The rows of `coordinator_states`, each with `duration_ms`: null where no transaction is under way.

    `OptionError` where the tables have nothing of the cluster.
    """
    wanted = {"cluster": cluster, "transactional_id": transactional_id}
    where = [f"{name} = {text_literal(value)}" for name, value in wanted.items() if value is not None]
    found = rows(root, COORDINATOR_STATES, " AND ".join(where) or "true", "cluster, transactional_id")
    if not found and transactional_id is None:
        check_cluster(cluster, rows(root, RUNS))
    return [row | {"duration_ms": _duration_ms(row)} for row in found]


def _duration_ms(row: dict[str, Any]) -> int | None:
    if row["state"] not in UNDER_WAY or row["start_timestamp"] is None:
        return None
    duration: timedelta = row["as_of"] - row["start_timestamp"]
    return duration // timedelta(milliseconds=1)


def listed(
    found: list[dict[str, Any]], wanted: Collection[str] = (), longer_than_ms: int = -1, pattern: str | None = None
) -> list[dict[str, Any]]:
    """The rows in one of the `wanted` states (all if empty), under way for longer, whose whole id fits the pattern.

    A negative duration lets all by, as in Kafka's tool. `OptionError` for a pattern that is none.
    """
    expression = _compiled(pattern or ".*")
    return [
        row
        for row in found
        if (not wanted or row["state"] in wanted)
        and (longer_than_ms < 0 or (row["duration_ms"] or 0) > longer_than_ms)
        and expression.fullmatch(row["transactional_id"])
    ]


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error as error:
        raise OptionError(f"--transactional-id-pattern: {pattern!r} is no regular expression: {error}") from error


def described(root: Root, transactional_id: str, cluster: str | None = None) -> list[dict[str, Any]]:
    """The rows of an id, one a cluster, as `states` has them. `OptionError` where no coordinator knows it.

    `pending_partitions` are those where the marker of a Prepare* transaction is missing, null if unknown:
    a coordinator removes each from its list once its marker is written, and writes no record of that.
    """
    found = states(root, cluster, transactional_id)
    if not found:
        check_cluster(cluster, rows(root, RUNS))
        raise OptionError(
            f"no coordinator in the tables knows {transactional_id!r}: `txnlog list` has the ids that they know,"
            " the table transactional_ids those that they knew"
        )
    return [row | {"pending_partitions": _pending(root, row)} for row in found]


def _pending(root: Root, row: dict[str, Any]) -> list[str] | None:
    if not row["state"].startswith("Prepare"):
        return None
    same = f"cluster = {text_literal(row['cluster'])} AND transactional_id = {text_literal(row['transactional_id'])}"
    record = f"evidence_file = {text_literal(row['file'])} AND evidence_offset = {row['offset']}"
    found = rows(root, OPEN_TRANSACTIONS, f"{same} AND {record}", "as_of DESC", limit=1)
    return found[0]["pending_partitions"] if found else None


def rendered_list(found: list[dict[str, Any]], form: str, width: int | None = None) -> str:
    """The rows as `table` with the columns of Kafka's `list`, `json` or `csv`."""
    return _rendered(found, form, width, _LIST, ["duration_ms"])


def rendered_description(found: list[dict[str, Any]], form: str, width: int | None = None) -> str:
    """The rows as `table` with the columns of Kafka's `describe`, `json` or `csv`."""
    return _rendered(found, form, width, _DESCRIPTION, ["duration_ms", "pending_partitions"])


def _rendered(
    found: list[dict[str, Any]], form: str, width: int | None, columns: tuple[Column, ...], ours: list[str]
) -> str:
    if form == "json":
        return as_json(found)
    if form == "csv":
        return as_csv(found, [*(field.name for field in columns_of(COORDINATOR_STATES)), *ours])
    return as_table(found, with_cluster(found, columns), width)


def epoch_ms(moment: datetime | None) -> int | None:
    """An instant as Kafka's tool prints it: ms since 1970."""
    return None if moment is None else times.epoch_ms(moment)


def _or_none(value: object) -> object:
    return NONE if value is None else value


def topic_partitions(row: dict[str, Any]) -> str:
    """The partitions of a transaction as Kafka's tool prints them: those that still wait for a marker."""
    if row["pending_partitions"] is not None:
        return ",".join(row["pending_partitions"])
    return ",".join(f"{each['topic']}-{each['partition']}" for each in row["topic_partitions"] or [])


_LIST = (
    Column("TransactionalId", "transactional_id", is_name=True),
    Column("Coordinator", "broker", dispensable=2),
    Column("ProducerId", "producer_id"),
    Column("TransactionState", "state", styles=STATE_STYLES),
    Column("DurationMs", lambda row: _or_none(row["duration_ms"]), dispensable=1),
    Column("LastUpdate", "last_update_timestamp", dispensable=3),
    Column("AsOf", "as_of", dispensable=4),
)
_DESCRIPTION = (
    Column("CoordinatorId", "broker"),
    Column("TransactionalId", "transactional_id", is_name=True),
    Column("ProducerId", "producer_id"),
    Column("ProducerEpoch", "producer_epoch"),
    Column("TransactionState", "state", styles=STATE_STYLES),
    Column("TransactionTimeoutMs", "timeout_ms"),
    Column("CurrentTransactionStartTimeMs", lambda row: _or_none(epoch_ms(row["start_timestamp"]))),
    Column("TransactionDurationMs", lambda row: _or_none(row["duration_ms"])),
    Column("TopicPartitions", topic_partitions, is_name=True),
    Column("CoordinatorPartition", "coordinator_partition", dispensable=2),
    Column("CoordinatorEpoch", "coordinator_epoch", dispensable=3),
    Column("LastUpdate", "last_update_timestamp", dispensable=1),
    Column("AsOf", "as_of", dispensable=4),
    Column("Certain", lambda row: "yes" if row["is_certain"] else "no", dispensable=5),
)
