"""`txnlog describe-producers`: the leader's state of each producer id of a partition, from tables.

Kafka's columns are those of `TransactionsCommand.DescribeProducersCommand`; whose a producer id is follows.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from txnlog.errors import OptionError
from txnlog.report.fitted import Column
from txnlog.report.kafka_listing import NONE, epoch_ms
from txnlog.report.output import as_csv, as_json, as_table, with_cluster
from txnlog.report.table_rows import check_cluster, rows, text_literal
from txnlog.tables.layout import DUMP_FILES, PRODUCER_STATES, RUNS, TRANSACTIONAL_IDS, Root, columns_of

# producer.id.expiration.ms of Kafka from 3.4; before, transactional.id.expiration.ms counted: seven days.
EXPIRATION_MS = 86_400_000


def producers(
    root: Root, topic: str, partition: int, cluster: str | None = None, expiration_ms: int = EXPIRATION_MS
) -> list[dict[str, Any]]:
    """The rows of `producer_states` of a partition, each with its `transactional_ids`.

    A broker forgets what has nothing open and was idle for `expiration_ms` (`ProducerStateManager.isProducerExpired`).
    `OptionError` where the tables have no such partition.
    """
    place = f"topic = {text_literal(topic)} AND partition = {partition}"
    place += "" if cluster is None else f" AND cluster = {text_literal(cluster)}"
    found = rows(root, PRODUCER_STATES, place, "cluster, producer_id")
    if not found and not rows(root, DUMP_FILES, f"{place} AND kind = 'segment'", limit=1):
        check_cluster(cluster, rows(root, RUNS))
        raise OptionError(f"no dump in the tables has {topic}-{partition}: check --topic, --partition and --cluster")
    kept = [row for row in found if not _is_expired(row, expiration_ms)]
    owners = _owners(root, kept)
    return [row | {"transactional_ids": owners.get((row["cluster"], row["producer_id"]), [])} for row in kept]


def _is_expired(row: dict[str, Any], expiration_ms: int) -> bool:
    if row["current_txn_start_offset"] is not None:
        return False
    last = row["last_timestamp"]
    return last is None or row["as_of"] - last >= timedelta(milliseconds=expiration_ms)


def _owners(root: Root, found: list[dict[str, Any]]) -> dict[tuple[str, int], list[str]]:
    ids = sorted({row["producer_id"] for row in found})
    if not ids:
        return {}
    known = rows(root, TRANSACTIONAL_IDS, f"producer_id IN ({', '.join(map(str, ids))})", "transactional_id")
    owners: dict[tuple[str, int], list[str]] = {}
    for row in known:
        owners.setdefault((row["cluster"], row["producer_id"]), []).append(row["transactional_id"])
    return owners


def rendered(found: list[dict[str, Any]], form: str, width: int | None = None) -> str:
    """The rows as `table` with the columns of Kafka's `describe-producers`, `json` or `csv`."""
    if form == "json":
        return as_json(found)
    if form == "csv":
        return as_csv(found, [*(field.name for field in columns_of(PRODUCER_STATES)), "transactional_ids"])
    return as_table(found, with_cluster(found, COLUMNS), width)


def _start_offset(row: dict[str, Any]) -> object:
    return NONE if row["current_txn_start_offset"] is None else row["current_txn_start_offset"]


COLUMNS = (
    Column("ProducerId", "producer_id"),
    Column("ProducerEpoch", "producer_epoch"),
    Column("LatestCoordinatorEpoch", "coordinator_epoch", dispensable=3),
    Column("LastSequence", "last_sequence", dispensable=4),
    Column("LastTimestamp", lambda row: -1 if row["last_timestamp"] is None else epoch_ms(row["last_timestamp"])),
    Column("CurrentTransactionStartOffset", _start_offset),
    Column("TransactionalId", lambda row: ", ".join(row["transactional_ids"]), is_name=True, dispensable=1),
    Column("Broker", "broker", dispensable=2),
    Column("AsOf", "as_of", dispensable=5),
)
