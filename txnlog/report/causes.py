"""Each cause in plain words: what happened, and which later release of Kafka keeps it from happening again."""

from __future__ import annotations

from typing import NamedTuple

from txnlog.detection.causes import Action, Cause


class CauseText(NamedTuple):
    """`story` says how a transaction becomes open for this cause, `prevention` how to avoid it."""

    story: str
    prevention: str


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

CAUSES = {
    Cause.LATE_WRITE_AFTER_END: CauseText(
        "The producer's transaction had ended in this partition. Then a delayed or retried batch of the same producer"
        " and epoch arrived. It opened a new transaction in the partition that the coordinator does not know.",
        _KIP_890 + _VERSION_2,
    ),
    Cause.NEVER_ADDED: CauseText(
        "Its producer wrote to the partition without adding it to a transaction. No transaction that could still end"
        " lists the partition, so no coordinator will send it a marker.",
        _KIP_890 + _VERSION_2,
    ),
    Cause.EPOCH_MISMATCH: CauseText(
        "It was written by a zombie: a producer whose transactional id was taken over by a newer instance. The"
        " coordinator is at a later epoch and will not end what the older instance left open.",
        _KIP_890 + _VERSION_2,
    ),
    Cause.COORDINATOR_UNKNOWN: CauseText(
        "No coordinator's log has the producer id of this data: its record was lost or was never there.",
        _KIP_890,
    ),
    Cause.ID_EXPIRED: CauseText(
        "Its transactional id was idle for transactional.id.expiration.ms (7 days), and the coordinator deleted it,"
        " while the partition keeps the open transaction forever.",
        f"This prevents the write that hung, not the expiry: {_KIP_890}",
    ),
    Cause.MARKER_LOST_ABORT: CauseText(
        "Its coordinator decided to abort and considers that done, but the ABORT marker is not in this partition: the"
        " partition had no leader when the markers were sent, or an unclean leader election lost the marker.",
        f"{_NO_RELEASE} unclean.leader.election.enable=false and min.insync.replicas of 2 make it rare.",
    ),
    Cause.MARKER_LOST_COMMIT: CauseText(
        "Its coordinator decided to commit, told the application so and considers that done, but the COMMIT marker is"
        " not in this partition: the partition had no leader when the markers were sent, or an unclean leader election"
        " lost the marker. The data is committed, but read_committed consumers do not get it.",
        f"{_NO_RELEASE} unclean.leader.election.enable=false and min.insync.replicas of 2 make it rare.",
    ),
    Cause.STUCK_PREPARE: CauseText(
        "Its coordinator has decided to commit or abort but cannot write the marker to this partition: the partition's"
        " leader does not answer or refuses it, or the coordinator's marker queue is stuck.",
        f"{_NO_RELEASE} Watch the coordinator's UnknownDestinationQueueSize and LogAppendRetryQueueSize.",
    ),
    Cause.STUCK_ONGOING: CauseText(
        "Its coordinator still has it Ongoing although its timeout has passed: the coordinator should have"
        " aborted it and has not.",
        f"{_NO_RELEASE} Restart a coordinator that does not expire transactions.",
    ),
    Cause.ONGOING: CauseText("It is a normal transaction: its producer is still writing.", _NOT_A_FAULT),
    Cause.PENDING: CauseText("It is about to end: its coordinator is writing the markers.", _NOT_A_FAULT),
    Cause.TOO_YOUNG: CauseText(
        "It was written to shortly before the dump. A transaction of that age may still end by itself.", _NOT_A_FAULT
    ),
    Cause.TWO_PHASE_COMMIT: CauseText(
        "It takes part in a two-phase commit (KIP-939): it has no timeout and waits for an outside coordinator, such as"
        " a database or Flink, to decide.",
        _NOT_A_FAULT,
    ),
    Cause.PHANTOM_BELOW_LOG_START: CauseText(
        "It starts below the log start offset: retention or delete-records has removed its first data, and the broker"
        " knows it only from its producer snapshot.",
        f"This prevents the write that hung, not its removal by retention: {_KIP_890}",
    ),
    Cause.CLEANER_ARTEFACT: CauseText(
        "Compaction has removed all its records and left empty batches, which still open a transaction when the log"
        " is replayed. The files do not show whether the running broker has it open.",
        "Ask the broker: kafka-transactions.sh describe-producers.",
    ),
    Cause.SKEW: CauseText(
        "Times do not match: clocks differ, or the partition and its coordinator were copied at different times.",
        f"{_NEXT_DUMP} Dump __transaction_state last, and write start and end of each copy into dump.toml.",
    ),
    Cause.COVERAGE_GAP: CauseText(
        "The dump lacks what would decide: a segment, the log's end, or a partition of __transaction_state.",
        f"{_NEXT_DUMP} Dump what the reason names.",
    ),
    Cause.HISTORY_COMPACTED: CauseText(
        "Compaction has removed the coordinator's records from the time of the transaction. It may be committed data"
        " whose marker was lost.",
        f"{_NEXT_DUMP} Regular dumps keep a history that compaction does not remove. {_KIP_890}",
    ),
    Cause.NOT_PRINTED: CauseText(
        "The kafka-dump-log.sh output does not contain what the verdict depends on.",
        f"{_NEXT_DUMP} Copy the segments, or print them with --deep-iteration.",
    ),
    Cause.AMBIGUOUS_PRODUCER_ID: CauseText(
        "Several transactional ids claim the producer id, and nothing shows which of them owns the data.",
        f"{_NEXT_DUMP} Two clusters or two dumps in one folder look like that.",
    ),
    Cause.CORRUPT_INPUT: CauseText(
        "Damage in the dump may hide the marker or the coordinator's record that ends it.",
        f"{_NEXT_DUMP} Copy the file again; if the broker's own is damaged, copy another replica.",
    ),
}

ACTIONS = {
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
