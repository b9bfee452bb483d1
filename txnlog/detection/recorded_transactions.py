"""Transactions as records of `__transaction_state` show them: one row each, however many dumps show how much of it."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed

# The producer id is the one that wrote the transaction's data. The start stands in every record of a transaction.
KEY = ("cluster", "coordinator_partition", "topic_id", "transactional_id", "producer_id", "start_timestamp")
_IS_COMPLETE = "state IN ('CompleteCommit', 'CompleteAbort')"
# Version 2 gives a new producer id with the Complete* record, once the epochs are used up; it names the old one, too
# (`TransactionMetadata.prepareComplete`).
_IS_ROTATED = f"({_IS_COMPLETE} AND previous_producer_id <> producer_id)"
# The time of the last update that a record of the archive has (ms).
_UPDATED_MS = "unix_millis(append_timestamp) - update_lag_ms"
_UPDATED = f"timestamp_millis({_UPDATED_MS})"
_OF_RECORD = {
    "producer_id": f"if(coalesce({_IS_ROTATED}, false), previous_producer_id, producer_id)",
    "producer_epoch": "if(state = 'Ongoing', producer_epoch, NULL)",
    "end_epoch": f"if(state = 'Ongoing' OR coalesce({_IS_ROTATED}, false), NULL, producer_epoch)",
    "next_producer_id": f"if(coalesce({_IS_ROTATED}, false), producer_id, next_producer_id)",
    "timeout_ms": "timeout_ms",
    # That of a Prepare* record is the coordinator's own, if it ended the transaction.
    "client_transaction_version": "if(state = 'Ongoing', coalesce(client_transaction_version, 0S), NULL)",
    "partitions": "transform(topic_partitions, each -> named_struct('topic', each.topic, 'partition', each.partition,"
    f" 'listed_at', {_UPDATED}))",
    "state": "state",
    "outcome": "CASE WHEN state IN ('PrepareCommit', 'CompleteCommit') THEN 'COMMIT'"
    " WHEN state <> 'Ongoing' THEN 'ABORT' END",
    "decided_at": f"if(state IN ('PrepareCommit', 'PrepareAbort'), {_UPDATED}, NULL)",
    # Its own time is that of the decision; its batch's is when all markers had been written.
    "completed_at": f"if({_IS_COMPLETE}, greatest(append_timestamp, {_UPDATED}), NULL)",
    "first_offset": "offset",
    "last_offset": "offset",
    "coordinator_epochs": "array(coordinator_epoch)",
    "as_of": "as_of",
}
# Each gives the same for a row that is combined with itself: what two dumps show counts once.
_COMBINED = {
    "producer_epoch": "max(producer_epoch)",
    "end_epoch": "max(end_epoch)",
    "next_producer_id": "max(next_producer_id)",
    "timeout_ms": "max_by(timeout_ms, last_offset)",
    "client_transaction_version": "max(client_transaction_version)",
    "state": "max_by(state, last_offset)",
    "outcome": "CASE WHEN min(outcome) <> max(outcome) THEN 'CONTRADICTED' ELSE max(outcome) END",
    "decided_at": "max(decided_at)",
    "completed_at": "max(completed_at)",
    "first_offset": "min(first_offset)",
    "last_offset": "max(last_offset)",
    "coordinator_epochs": "array_sort(array_distinct(flatten(collect_list(coordinator_epochs))))",
    "as_of": "max_by(as_of, last_offset)",
}
# The lists of all records, sorted: of a partition first when it was listed first, and last that no time is known.
# A row for each partition of each record would have to be shuffled and sorted with all other columns.
_LISTED = (
    "sort_array(array_distinct(flatten(collect_list(transform(partitions, each ->"
    " struct(each.topic, each.partition, each.listed_at IS NULL AS is_undated, each.listed_at))))))"
)
_PARTITIONS = (
    "transform(filter(listed, (each, at) -> at = 0 OR struct(each.topic, each.partition)"
    " <> struct(listed[at - 1].topic, listed[at - 1].partition)),"
    " each -> struct(each.topic, each.partition, each.listed_at))"
)
# Only a client's EndTxn commits. An abort by the coordinator is at a higher epoch than the data, as is any abort of a
# client of version 2 (`TransactionMetadata.prepareFenceProducerEpoch`, `prepareAbortOrCommit`); 4.0 went two epochs
# higher. A timeout comes after the timeout (`TransactionStateManager.timedOutTransactions`), fencing at any time.
_ENDED_BY = """CASE
    WHEN outcome = 'COMMIT' OR outcome = 'ABORT' AND end_epoch = producer_epoch THEN 'CLIENT'
    WHEN outcome = 'ABORT' AND end_epoch > producer_epoch + if(client_transaction_version >= 2, 1, 0) THEN
        CASE unix_millis(decided_at) - unix_millis(start_timestamp) > timeout_ms
            WHEN true THEN 'TIMEOUT' WHEN false THEN 'FENCING' END
END"""


def as_dumped(records: DataFrame) -> DataFrame:
    """Rows of `coordinator_records` with the times that a dump has, in ms."""
    times = ("append_timestamp", "start_timestamp")
    return records.selectExpr(
        f"* EXCEPT ({', '.join(times)}, update_lag_ms)",
        *(f"unix_millis({name}) AS {name}" for name in times),
        f"{_UPDATED_MS} AS last_update_timestamp",
    )


def of_records(records: DataFrame) -> DataFrame:
    """One row for each of some rows of `coordinator_records` that is of a transaction: what it alone says of it.

    `combined` makes transactions of them.
    """
    return records.where(
        "start_timestamp IS NOT NULL AND state IN"
        " ('Ongoing', 'PrepareCommit', 'PrepareAbort', 'CompleteCommit', 'CompleteAbort')"
    ).selectExpr(
        *(name for name in KEY if name not in _OF_RECORD),
        *(f"{value} AS {name}" for name, value in _OF_RECORD.items()),
    )


def combined(transactions: DataFrame) -> DataFrame:
    """One row for each transaction, out of rows of `of_records` and of rows that were combined before.

    Columns of `TransactionRow`. Each partition is listed since the earliest record that lists it.
    """
    aggregates = [f"{value} AS {name}" for name, value in _COMBINED.items()]
    return summed(transactions, KEY, *aggregates, f"{_LISTED} AS listed").selectExpr(
        "* EXCEPT (listed)", f"{_PARTITIONS} AS partitions", f"{_ENDED_BY} AS ended_by"
    )
