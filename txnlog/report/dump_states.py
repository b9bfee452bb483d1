"""What the dump shows of a transaction, in the words of `kafka-transactions.sh`: an abort must find it unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from txnlog.report.kafka_listing import NONE, UNDER_WAY, epoch_ms
from txnlog.report.table_rows import rows_if_there, text_literal
from txnlog.tables.layout import COORDINATOR_STATES, OPEN_TRANSACTIONS, PRODUCER_STATES, Root

Row = dict[str, Any]
# What stands for an id that no coordinator knows.
NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True)
class DumpStates:
    """The rows of `producer_states` and `open_transactions` of some partitions, and the states of their ids."""

    producers: Mapping[tuple[Any, ...], Row]
    coordinators: Mapping[str, Row]
    opened: list[Row]

    def producer(self, row: Row) -> str | None:
        """What `describe-producers` must show; None where the tables do not have it from the copy that was judged."""
        state = self.producers.get(_place(row))
        if state is None or state["as_of"] != row["as_of"] or state["current_txn_start_offset"] != row["start_offset"]:
            return None
        last = epoch_ms(state["last_timestamp"])
        return (
            f"ProducerId={state['producer_id']} ProducerEpoch={state['producer_epoch']}"
            f" LatestCoordinatorEpoch={state['coordinator_epoch']} LastSequence={state['last_sequence']}"
            f" LastTimestamp={-1 if last is None else last} CurrentTransactionStartOffset={row['start_offset']}"
        )

    def transactions(self, row: Row) -> dict[str, str]:
        """What `describe` must show of each transactional id that claims the producer id."""
        return {name: described(self.coordinators.get(name)) for name in ids(row)}

    def owner(self, row: Row) -> str | None:
        """The transactional id whose transaction, under way in the latest dump, lists the partition."""
        for name in ids(row):
            state = self.coordinators.get(name)
            if state is not None and state["state"] in UNDER_WAY and _partition(row) in _listed(state):
                return name
        return None

    def earlier(self, row: Row) -> list[Row]:
        """The transactions that are open before it in the same copy of its partition."""
        return [
            each
            for each in self.opened
            if (each["topic"], each["partition"], each["as_of"]) == (row["topic"], row["partition"], row["as_of"])
            and each["start_offset"] < row["start_offset"]
        ]


def ids(row: Row) -> list[str]:
    """The transactional ids that claim the producer id."""
    return sorted({*(row["transactional_ids"] or []), *([row["transactional_id"]] if row["transactional_id"] else [])})


def dump_states(root: Root, found: Iterable[Row]) -> DumpStates:
    """What the tables have about rows of one cluster."""
    found = list(found)
    topics = _any_of("topic", (row["topic"] for row in found))
    names = _any_of("transactional_id", (name for row in found for name in ids(row)))
    cluster = _any_of("cluster", (row["cluster"] for row in found))
    producers = rows_if_there(root, PRODUCER_STATES, f"{cluster} AND {topics} AND current_txn_start_offset IS NOT NULL")
    coordinators = rows_if_there(root, COORDINATOR_STATES, f"{cluster} AND {names}")
    opened = rows_if_there(root, OPEN_TRANSACTIONS, f"{cluster} AND {topics}", "start_offset")
    return DumpStates(
        {_place(row): row for row in producers}, {row["transactional_id"]: row for row in coordinators}, opened
    )


def _any_of(column: str, values: Iterable[str]) -> str:
    wanted = ", ".join(text_literal(value) for value in sorted(set(values)))
    return f"{column} IN ({wanted})" if wanted else "false"


def described(state: Row | None) -> str:
    """A row of `coordinator_states` with what `describe` prints; None is an id that no coordinator knows."""
    if state is None:
        return NOT_KNOWN
    start = epoch_ms(state["start_timestamp"])
    # Not every dump shows when a transaction started; one that is Empty has no start.
    is_shown = start is not None or state["state"] == "Empty"
    return (
        f"ProducerId={state['producer_id']} ProducerEpoch={state['producer_epoch']} TransactionState={state['state']}"
        + (f" CurrentTransactionStartTimeMs={NONE if start is None else start}" if is_shown else "")
        + f" TopicPartitions={','.join(sorted(_listed(state)))}"
    )


def _listed(state: Row) -> list[str]:
    return [_partition(each) for each in state["topic_partitions"] or []]


def _partition(row: Mapping[str, Any]) -> str:
    return f"{row['topic']}-{row['partition']}"


def _place(row: Row) -> tuple[Any, ...]:
    return row["topic"], row["partition"], row["producer_id"]
