"""Why a transaction is open, and what to do: the names that rows carry, and the texts about them."""

from __future__ import annotations

import enum


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


_KIP_890 = (
    "Brokers of Kafka 3.6 and later ask the coordinator before the first write to a partition, and refuse the write if"
    " the transaction does not list the partition (KIP-890, KAFKA-14402), as long as"
    " transaction.partition.verification.enable is true."
)
_VERSION_2 = (
    " Kafka 4.0 with the feature transaction.version=2 also gives each transaction an epoch of its own, so that late"
    " writes are fenced."
)
_NO_RELEASE = "No release up to Kafka 4.3 prevents it."
_NOT_A_FAULT = "There is nothing to prevent: this is normal."
_NEXT_DUMP = "The problem is in the dump, not in Kafka."


class Cause(enum.StrEnum):
    """Why a transaction is still open in a partition. How each is reached: `txnlog.detection.rules`.

    `says` it in a line, and `explanation` says how that comes about; `prevention` what keeps others from it.
    """

    action: Action
    says: str
    explanation: str
    prevention: str

    def __new__(cls, name: str, action: Action, says: str, explanation: str, prevention: str) -> Cause:
        """A cause with its words."""
        cause = str.__new__(cls, name)
        cause._value_ = name
        cause.action, cause.says, cause.explanation, cause.prevention = action, says, explanation, prevention
        return cause

    LATE_WRITE_AFTER_END = (
        "LATE_WRITE_AFTER_END",
        Action.ABORT,
        "Data arrived after the marker that ended its transaction.",
        (
            "The producer's transaction had ended in this partition. Then a delayed or retried batch of the same"
            " producer and epoch arrived. It opened a new transaction in the partition that the coordinator does"
            " not know."
        ),
        (_KIP_890 + _VERSION_2),
    )
    NEVER_ADDED = (
        "NEVER_ADDED",
        Action.ABORT,
        "No transaction that could still end this data lists the partition.",
        (
            "Its producer wrote to the partition without adding it to a transaction. No transaction that could"
            " still end lists the partition, so no coordinator will send it a marker."
        ),
        (_KIP_890 + _VERSION_2),
    )
    EPOCH_MISMATCH = (
        "EPOCH_MISMATCH",
        Action.ABORT,
        "A fenced producer (a zombie) wrote it; the coordinator is at a later epoch.",
        (
            "It was written by a zombie: a producer whose transactional id was taken over by a newer instance."
            " The coordinator is at a later epoch and will not end what the older instance left open."
        ),
        (_KIP_890 + _VERSION_2),
    )
    COORDINATOR_UNKNOWN = (
        "COORDINATOR_UNKNOWN",
        Action.ABORT,
        "All coordinators are in the dump, and none knows the producer id.",
        ("No coordinator's log has the producer id of this data: its record was lost or was never there."),
        (_KIP_890),
    )
    ID_EXPIRED = (
        "ID_EXPIRED",
        Action.ABORT,
        "The transactional id has expired; its coordinator no longer knows the producer id.",
        (
            "Its transactional id was idle for transactional.id.expiration.ms (7 days), and the coordinator"
            " deleted it, while the partition keeps the open transaction forever."
        ),
        (f"This prevents the write that hung, not the expiry: {_KIP_890}"),
    )
    MARKER_LOST_ABORT = (
        "MARKER_LOST_ABORT",
        Action.ABORT,
        "The coordinator aborted it, but the marker never reached this partition.",
        (
            "Its coordinator decided to abort and considers that done, but the ABORT marker is not in this"
            " partition: the partition had no leader when the markers were sent, or an unclean leader election"
            " lost the marker."
        ),
        (f"{_NO_RELEASE} unclean.leader.election.enable=false and min.insync.replicas of 2 make it rare."),
    )
    # Committed data: never to be aborted, whatever else is true.
    MARKER_LOST_COMMIT = (
        "MARKER_LOST_COMMIT",
        Action.KEEP,
        "The coordinator committed it, but the marker never reached this partition.",
        (
            "Its coordinator decided to commit, told the application so and considers that done, but the COMMIT"
            " marker is not in this partition: the partition had no leader when the markers were sent, or an"
            " unclean leader election lost the marker. The data is committed, but read_committed consumers do not"
            " get it."
        ),
        (f"{_NO_RELEASE} unclean.leader.election.enable=false and min.insync.replicas of 2 make it rare."),
    )
    STUCK_PREPARE = (
        "STUCK_PREPARE",
        Action.MOVE_COORDINATOR,
        "Its coordinator decided but cannot write the marker to this partition.",
        (
            "Its coordinator has decided to commit or abort but cannot write the marker to this partition: the"
            " partition's leader does not answer or refuses it, or the coordinator's marker queue is stuck."
        ),
        (f"{_NO_RELEASE} Watch the coordinator's UnknownDestinationQueueSize and LogAppendRetryQueueSize."),
    )
    STUCK_ONGOING = (
        "STUCK_ONGOING",
        Action.FENCE,
        "Its coordinator still has it Ongoing after its timeout.",
        (
            "Its coordinator still has it Ongoing although its timeout has passed: the coordinator should have"
            " aborted it and has not."
        ),
        (f"{_NO_RELEASE} Restart a coordinator that does not expire transactions."),
    )
    ONGOING = (
        "ONGOING",
        Action.WAIT,
        "Its coordinator has it Ongoing, within its timeout.",
        ("It is a normal transaction: its producer is still writing."),
        (_NOT_A_FAULT),
    )
    PENDING = (
        "PENDING",
        Action.WAIT,
        "Its coordinator is writing the markers now.",
        ("It is about to end: its coordinator is writing the markers."),
        (_NOT_A_FAULT),
    )
    TOO_YOUNG = (
        "TOO_YOUNG",
        Action.WAIT,
        "It has not been open for long enough to judge.",
        ("It was written to shortly before the dump. A transaction of that age may still end by itself."),
        (_NOT_A_FAULT),
    )
    TWO_PHASE_COMMIT = (
        "TWO_PHASE_COMMIT",
        Action.WAIT,
        "It belongs to a two-phase commit and may be open for days.",
        (
            "It takes part in a two-phase commit (KIP-939): it has no timeout and waits for an outside"
            " coordinator, such as a database or Flink, to decide."
        ),
        (_NOT_A_FAULT),
    )
    PHANTOM_BELOW_LOG_START = (
        "PHANTOM_BELOW_LOG_START",
        Action.ABORT,
        "It starts below the log start offset; its first data is gone.",
        (
            "It starts below the log start offset: retention or delete-records has removed its first data, and"
            " the broker knows it only from its producer snapshot."
        ),
        (f"This prevents the write that hung, not its removal by retention: {_KIP_890}"),
    )
    CLEANER_ARTEFACT = (
        "CLEANER_ARTEFACT",
        Action.UNDETERMINED,
        "Compaction left empty batches: ask the broker with describe-producers.",
        (
            "Compaction has removed all its records and left empty batches, which still open a transaction when"
            " the log is replayed. The files do not show whether the running broker has it open."
        ),
        ("Ask the broker: kafka-transactions.sh describe-producers."),
    )
    SKEW = (
        "SKEW",
        Action.UNDETERMINED,
        "Clocks, or the times of two copies, do not match: dump again.",
        ("Times do not match: clocks differ, or the partition and its coordinator were copied at different times."),
        (f"{_NEXT_DUMP} Dump __transaction_state last, and write start and end of each copy into dump.toml."),
    )
    COVERAGE_GAP = (
        "COVERAGE_GAP",
        Action.UNDETERMINED,
        "A segment, the log's end, or a partition of __transaction_state is missing, or files are of different times.",
        "The dump lacks what would decide: a segment, the log's end, a coordinator. Or its files differ in age.",
        (f"{_NEXT_DUMP} Dump what the reason names."),
    )
    HISTORY_COMPACTED = (
        "HISTORY_COMPACTED",
        Action.UNDETERMINED,
        "The coordinators' log does not reach back before the transaction.",
        (
            "Compaction has removed the coordinator's records from the time of the transaction. It may be"
            " committed data whose marker was lost."
        ),
        f"txnlog archive keeps what compaction removes, which min.compaction.lag.ms delays. {_KIP_890}",
    )
    NOT_PRINTED = (
        "NOT_PRINTED",
        Action.UNDETERMINED,
        "The kafka-dump-log.sh output does not contain what the verdict depends on.",
        ("The kafka-dump-log.sh output does not contain what the verdict depends on."),
        (f"{_NEXT_DUMP} Copy the segments, or print them with --deep-iteration."),
    )
    AMBIGUOUS_PRODUCER_ID = (
        "AMBIGUOUS_PRODUCER_ID",
        Action.UNDETERMINED,
        "Several transactional ids claim the producer id.",
        ("Several transactional ids claim the producer id, and nothing shows which of them owns the data."),
        (f"{_NEXT_DUMP} Two clusters or two dumps in one folder look like that."),
    )
    CORRUPT_INPUT = (
        "CORRUPT_INPUT",
        Action.UNDETERMINED,
        "Damage may hide a marker or a coordinator record.",
        ("Damage in the dump may hide the marker or the coordinator's record that ends it."),
        (f"{_NEXT_DUMP} Copy the file again; if the broker's own is damaged, copy another replica."),
    )


# The names of those whose action is ABORT.
CAUSES_OF_ABORT = frozenset(cause.value for cause in Cause if cause.action is Action.ABORT)
