"""Why a transaction is open, what to do, and how sure that is: the names that rows carry."""

from __future__ import annotations

import enum


class Cause(enum.StrEnum):
    """Why a transaction is still open in a partition."""

    LATE_WRITE_AFTER_END = "LATE_WRITE_AFTER_END"
    NEVER_ADDED = "NEVER_ADDED"
    EPOCH_MISMATCH = "EPOCH_MISMATCH"
    COORDINATOR_UNKNOWN = "COORDINATOR_UNKNOWN"
    ID_EXPIRED = "ID_EXPIRED"
    MARKER_LOST_ABORT = "MARKER_LOST_ABORT"
    MARKER_LOST_COMMIT = "MARKER_LOST_COMMIT"
    STUCK_PREPARE = "STUCK_PREPARE"
    STUCK_ONGOING = "STUCK_ONGOING"
    ONGOING = "ONGOING"
    PENDING = "PENDING"
    TOO_YOUNG = "TOO_YOUNG"
    TWO_PHASE_COMMIT = "TWO_PHASE_COMMIT"
    PHANTOM_BELOW_LOG_START = "PHANTOM_BELOW_LOG_START"
    CLEANER_ARTEFACT = "CLEANER_ARTEFACT"
    SKEW = "SKEW"
    COVERAGE_GAP = "COVERAGE_GAP"
    HISTORY_COMPACTED = "HISTORY_COMPACTED"
    NOT_PRINTED = "NOT_PRINTED"
    AMBIGUOUS_PRODUCER_ID = "AMBIGUOUS_PRODUCER_ID"
    CORRUPT_INPUT = "CORRUPT_INPUT"


class Action(enum.StrEnum):
    """What to do about it."""

    ABORT = "ABORT"
    KEEP = "KEEP"
    FENCE = "FENCE"
    MOVE_COORDINATOR = "MOVE_COORDINATOR"
    WAIT = "WAIT"
    UNDETERMINED = "UNDETERMINED"


# What ends in data being discarded, or in the coordinator discarding it.
DISCARDING = (Action.ABORT, Action.FENCE, Action.MOVE_COORDINATOR)


class Confidence(enum.StrEnum):
    """How complete the evidence is."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


ACTION_OF = {
    Cause.LATE_WRITE_AFTER_END: Action.ABORT,
    Cause.NEVER_ADDED: Action.ABORT,
    Cause.EPOCH_MISMATCH: Action.ABORT,
    Cause.COORDINATOR_UNKNOWN: Action.ABORT,
    Cause.ID_EXPIRED: Action.ABORT,
    Cause.MARKER_LOST_ABORT: Action.ABORT,
    Cause.PHANTOM_BELOW_LOG_START: Action.ABORT,
    # Committed data: never to be aborted, whatever else is true.
    Cause.MARKER_LOST_COMMIT: Action.KEEP,
    Cause.STUCK_PREPARE: Action.MOVE_COORDINATOR,
    Cause.STUCK_ONGOING: Action.FENCE,
    Cause.ONGOING: Action.WAIT,
    Cause.PENDING: Action.WAIT,
    Cause.TOO_YOUNG: Action.WAIT,
    Cause.TWO_PHASE_COMMIT: Action.WAIT,
    Cause.CLEANER_ARTEFACT: Action.UNDETERMINED,
    Cause.SKEW: Action.UNDETERMINED,
    Cause.COVERAGE_GAP: Action.UNDETERMINED,
    Cause.HISTORY_COMPACTED: Action.UNDETERMINED,
    Cause.NOT_PRINTED: Action.UNDETERMINED,
    Cause.AMBIGUOUS_PRODUCER_ID: Action.UNDETERMINED,
    Cause.CORRUPT_INPUT: Action.UNDETERMINED,
}

# In words, for people. How each is reached: `txnlog.detection.rules`.
SAYS = {
    Cause.LATE_WRITE_AFTER_END: "Data arrived after the marker that ended its transaction.",
    Cause.NEVER_ADDED: "No transaction that could still end this data lists the partition.",
    Cause.EPOCH_MISMATCH: "A fenced producer (a zombie) wrote it; the coordinator is at a later epoch.",
    Cause.COORDINATOR_UNKNOWN: "All coordinators are in the dump, and none knows the producer id.",
    Cause.ID_EXPIRED: "The transactional id has expired; its coordinator no longer knows the producer id.",
    Cause.MARKER_LOST_ABORT: "The coordinator aborted it, but the marker never reached this partition.",
    Cause.PHANTOM_BELOW_LOG_START: "It starts below the log start offset; its first data is gone.",
    Cause.MARKER_LOST_COMMIT: "The coordinator committed it, but the marker never reached this partition.",
    Cause.STUCK_ONGOING: "Its coordinator still has it Ongoing after its timeout.",
    Cause.STUCK_PREPARE: "Its coordinator decided but cannot write the marker to this partition.",
    Cause.ONGOING: "Its coordinator has it Ongoing, within its timeout.",
    Cause.PENDING: "Its coordinator is writing the markers now.",
    Cause.TOO_YOUNG: "It has not been open for long enough to judge.",
    Cause.TWO_PHASE_COMMIT: "It belongs to a two-phase commit and may be open for days.",
    Cause.CLEANER_ARTEFACT: "Compaction left empty batches: ask the broker with `describe-producers`.",
    Cause.SKEW: "Clocks, or the times of two copies, do not match: dump again.",
    Cause.COVERAGE_GAP: "A segment, the log's end, or a partition of `__transaction_state` is missing.",
    Cause.HISTORY_COMPACTED: "The coordinators' log does not reach back before the transaction.",
    Cause.NOT_PRINTED: "The `kafka-dump-log.sh` output does not contain what the verdict depends on.",
    Cause.AMBIGUOUS_PRODUCER_ID: "Several transactional ids claim the producer id.",
    Cause.CORRUPT_INPUT: "Damage may hide a marker or a coordinator record.",
}
