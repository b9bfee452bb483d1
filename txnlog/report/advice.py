"""What the report says of actions and causes, and which comes first."""

from __future__ import annotations

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
CAUSES = {
    "LATE_WRITE_AFTER_END": "Data arrived after the marker that had ended its transaction.",
    "NEVER_ADDED": "No transaction of the id ever listed this partition.",
    "EPOCH_MISMATCH": "A fenced producer (a zombie) wrote it; the coordinator is at a later epoch.",
    "COORDINATOR_UNKNOWN": "All coordinators are in the dump and none knows the producer id.",
    "ID_EXPIRED": "The transactional id has expired; its coordinator has forgotten the producer id.",
    "MARKER_LOST_ABORT": "The coordinator aborted it, but the marker never reached this partition.",
    "PHANTOM_BELOW_LOG_START": "It starts below the log start offset; its first data is gone.",
    "MARKER_LOST_COMMIT": "The coordinator committed it, but the marker never reached this partition.",
    "STUCK_ONGOING": "Its coordinator still has it ongoing, past its timeout.",
    "STUCK_PREPARE": "Its coordinator decided but cannot write the marker here.",
    "ONGOING": "Its coordinator has it ongoing, in time.",
    "PENDING": "Its coordinator is writing the markers just now.",
    "TOO_YOUNG": "Not open for long enough to say more.",
    "TWO_PHASE_COMMIT": "It may be open for days.",
    "CLEANER_ARTEFACT": "Compaction left empty batches: ask the broker with describe-producers.",
    "SKEW": "Clocks, or the times of two copies, do not fit: dump again.",
    "COVERAGE_GAP": "A segment, the log's end, or a partition of __transaction_state is missing.",
    "HISTORY_COMPACTED": "The coordinators' log does not reach back before the transaction.",
    "NOT_PRINTED": "A text of kafka-dump-log.sh does not say what it depends on.",
    "AMBIGUOUS_PRODUCER_ID": "The producer id stands under several transactional ids.",
    "CORRUPT_INPUT": "Damage may hide a marker or a coordinator record.",
}
_URGENCY = {action: place for place, action in enumerate(ADVICE)}


def urgency(action: str) -> int:
    """The place of an action in the order of what to do first; one of a newer txnlog comes last."""
    return _URGENCY.get(action, len(_URGENCY))
