"""What the report says about actions, which comes first, and what becomes of the records of each."""

from __future__ import annotations

from txnlog.detection.causes import Action, Cause

# In order of urgency: actions that unblock a partition at once come first, then those that need other people.
ADVICE = {
    "ABORT": "Check it on the live cluster, then abort it. The abort discards its records.",
    "FENCE": "Fence the transactional id: kafka-transactions.sh forceTerminateTransaction, or start a producer with"
    " that id. Its coordinator then aborts it. Do not abort the partition.",
    "MOVE_COORDINATOR": "Restart the coordinator or elect another. Repair the broker that refuses the marker."
    " Do not abort.",
    "KEEP": "Never abort: the application was told that this data is committed. Tell its owners.",
    "UNDETERMINED": "Nothing yet: the dump does not prove enough. Add what the reason names, and dump again.",
    "WAIT": "Nothing: its coordinator still owns it, or it is young.",
}
# The same with its costs: the records, bytes and batches of the transaction.
COSTS = {
    Action.ABORT: "Check it on the live cluster, then abort it. The abort discards {records} ({bytes}) in"
    " {batches} of this partition, and consumers go on. It changes nothing else.",
    Action.KEEP: "Keep it: never abort. An abort would discard {records} ({bytes}), and the application was told"
    " that they are committed. Tell the owners of the data.",
    Action.FENCE: "Fence its transactional id: the coordinator then aborts the whole transaction, in every partition"
    " that it lists; here that discards {records} ({bytes}). Do not abort this partition alone.",
    Action.MOVE_COORDINATOR: "Restart its coordinator or elect another leader of its __transaction_state partition, and"
    " repair the broker that refuses the marker: nothing is discarded but what the coordinator decided to abort."
    " Do not abort this partition: its {records} ({bytes}) may be committed.",
    Action.WAIT: "Do nothing: its coordinator will end it, or it is too young to judge. An abort now would discard"
    " {records} ({bytes}) of a live transaction.",
    Action.UNDETERMINED: "Do nothing yet: the dump does not prove enough. It is not known whether its {records}"
    " ({bytes}) are committed. Add what the reason says is missing, and dump again.",
}
_URGENCY = {action: place for place, action in enumerate(ADVICE)}


def urgency(action: str) -> int:
    """The rank of an action by urgency; an action of a newer txnlog comes last."""
    return _URGENCY.get(action, len(_URGENCY))


def meaning(cause: str) -> str:
    """A cause in one line; nothing for a cause of a newer txnlog."""
    return Cause[cause].says if cause in Cause.__members__ else ""
