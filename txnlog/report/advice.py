"""What is said of each action, which comes first, and what becomes of the records: the commands are in `remedy`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from txnlog.detection.causes import Action, Cause

# In order of urgency: first what must not be aborted by mistake.
ADVICE = {
    "KEEP": "Never abort. The application was told that this data is committed. Tell its owners.",
    "ABORT": "Verify it on the live cluster, then abort it. The abort discards its records.",
    "FENCE": "Fence the transactional id: run kafka-transactions.sh forceTerminateTransaction (Kafka 4.1 or newer), or"
    " start a producer with that id. The coordinator then aborts the transaction. Do not abort the partition.",
    "MOVE_COORDINATOR": "Restart the coordinator, or elect another leader of its __transaction_state partition. Repair"
    " the broker that refuses the marker. Do not abort.",
    "UNDETERMINED": "Nothing yet. The dump does not prove enough. The reason says what is missing; add it and dump"
    " again.",
    "WAIT": "Nothing. Its coordinator still owns the transaction, or the transaction is young.",
}
# The same with its costs: the records, bytes and batches of the transaction.
COSTS = {
    Action.KEEP: "Keep it: never abort. The application was told that this data is committed, and an abort would"
    " discard {records} ({bytes}). Tell the owners of the data.",
    Action.ABORT: "Verify it on the live cluster, then abort it. The abort discards {records} ({bytes}) in"
    " {batches} of this partition, and consumers go on. It changes nothing else.",
    Action.FENCE: "Fence its transactional id: the coordinator then aborts the whole transaction, in every partition"
    " that it lists; here that discards {records} ({bytes}). Do not abort this partition alone.",
    Action.MOVE_COORDINATOR: "Restart its coordinator or elect another leader of its __transaction_state partition, and"
    " repair the broker that refuses the marker: nothing is discarded but what the coordinator decided to abort."
    " Do not abort this partition: its {records} ({bytes}) may be committed.",
    Action.UNDETERMINED: "Do nothing yet: the dump does not prove enough. Its {records} ({bytes}) may"
    " be committed. Add what the reason says is missing, and dump again.",
    Action.WAIT: "Do nothing: its coordinator will end it, or it is too young to judge. An abort now would discard"
    " {records} ({bytes}) of a live transaction.",
}
_URGENCY = {action: place for place, action in enumerate(ADVICE)}


def urgency(action: str) -> int:
    """The rank of an action by urgency; an action of a newer txnlog comes last."""
    return _URGENCY.get(action, len(_URGENCY))


def rank(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The order of open transactions of one cluster: KEEP first, WAIT last, between them by records held back."""
    action = row["action"]
    return (
        action != Action.KEEP,
        action == Action.WAIT,
        -row["held_back_records"],
        row["topic"],
        row["partition"],
        row["start_offset"],
    )


def counted_actions(rows: Iterable[Mapping[str, Any]]) -> str:
    """How many open transactions there are of each action: `1 KEEP, 2 ABORT`."""
    actions = Counter(row["action"] for row in rows)
    return ", ".join(f"{actions[action]} {action}" for action in sorted(actions, key=urgency)) or "none"


def meaning(cause: str) -> str:
    """A cause in one line; nothing for a cause of a newer txnlog."""
    return Cause[cause].says if cause in Cause.__members__ else ""
