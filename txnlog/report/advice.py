"""What the report says of actions, which comes first, and what becomes of the records of each."""

from __future__ import annotations

from txnlog.detection.causes import Action, Cause

# The order in which an operator deals with them: what frees a partition at once, then what takes others to do.
ADVICE = {
    "ABORT": "Look at the live cluster, then abort it. Its records are discarded.",
    "FENCE": "Fence the transactional id: kafka-transactions.sh forceTerminateTransaction, or start a producer with"
    " that id. Its coordinator then aborts it. Do not abort the partition.",
    "MOVE_COORDINATOR": "Restart the coordinator or elect another; repair the broker that refuses the marker."
    " Do not abort.",
    "KEEP": "Never abort: the application was told that this data is committed. Tell the people who own it.",
    "UNDETERMINED": "Nothing yet: the dump does not prove enough. Add what the reason names and dump again.",
    "WAIT": "Nothing: its coordinator owns it, or it is young.",
}
# The same with what it costs: the records, bytes and batches of the transaction.
COSTS = {
    Action.ABORT: "Abort it, once the live cluster still shows it: it discards {records} ({bytes}) in"
    " {batches} of this partition, and consumers go on. Nothing else is touched.",
    Action.KEEP: "Keep it: never abort. An abort would throw away {records} ({bytes}) of which the"
    " application was told that they are committed. Tell the people who own the data.",
    Action.FENCE: "Fence its transactional id: the coordinator then aborts the whole transaction, in every partition"
    " that it lists; here that discards {records} ({bytes}). Do not abort this partition alone.",
    Action.MOVE_COORDINATOR: "Restart its coordinator or elect another leader of its __transaction_state partition, and"
    " repair the broker that refuses the marker: nothing is discarded but what the coordinator decided to abort."
    " Do not abort this partition: its {records} ({bytes}) may be committed.",
    Action.WAIT: "Do nothing: its coordinator will end it, or it is too young to say. An abort now would discard"
    " {records} ({bytes}) of a live transaction.",
    Action.UNDETERMINED: "Do nothing yet: the dump does not prove enough. It is not known whether its {records}"
    " ({bytes}) are committed. Dump again, with what the reason says is missing.",
}
_URGENCY = {action: place for place, action in enumerate(ADVICE)}


def urgency(action: str) -> int:
    """The place of an action in the order of what to do first; one of a newer txnlog comes last."""
    return _URGENCY.get(action, len(_URGENCY))


def meaning(cause: str) -> str:
    """A cause in a line; nothing for one of a newer txnlog."""
    return Cause[cause].says if cause in Cause.__members__ else ""
