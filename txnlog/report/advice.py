"""What the report says about actions and causes, and which comes first."""

from __future__ import annotations

from txnlog.detection.causes import SAYS

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
CAUSES = {cause.value: says.replace("`", "") for cause, says in SAYS.items()}
_URGENCY = {action: place for place, action in enumerate(ADVICE)}


def urgency(action: str) -> int:
    """The rank of an action by urgency; an action of a newer txnlog comes last."""
    return _URGENCY.get(action, len(_URGENCY))
