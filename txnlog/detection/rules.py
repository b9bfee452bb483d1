"""The rules: the first one that applies decides. An action is taken only if each proof that its rule needs holds.

Otherwise the verdict is UNDETERMINED, with the cause and the reason of the first missing proof. ABORT, FENCE and
MOVE_COORDINATOR all end in data being discarded. The last rule is UNDETERMINED: it catches all other cases.
"""

from __future__ import annotations

from typing import NamedTuple

from txnlog.detection.causes import Action, Cause
from txnlog.detection.coordinator_proofs import (
    HAS_ENDED_LONG_AGO,
    IS_SURELY_LATE,
    NO_COMMIT_ELSEWHERE,
    NOT_ENDED_SINCE,
    NOT_OWNED,
    STATE_IS_CURRENT,
    TRANSACTION_IS_WHOLE,
)
from txnlog.detection.log_proofs import AS_OF_IS_PLAUSIBLE, IS_LATE, MARKER_IS_PRINTED, START_IS_IN_COPY
from txnlog.detection.proof import Proof
from txnlog.detection.proofs import OF_AGE, OF_HISTORY, OF_LOG

# Precedes a reason that is taken over from another dump; so did the other one in earlier versions.
BY_ANOTHER = "by another dump: "
_BY_ANY = f"{BY_ANOTHER}|by an earlier dump: "


class Rule(NamedTuple):
    """`when` is a condition, `reason` an expression that yields the reason; both Spark SQL. `says` is for people."""

    cause: Cause
    when: str
    says: str
    needs: tuple[Proof, ...]
    reason: str

    @property
    def action(self) -> Action:
        """What to do."""
        return self.cause.action


# What an abort needs, in this order: the copy, its age, the coordinators, and that no commit can own the data.
OF_ABORT = (
    *OF_LOG, *OF_AGE, NOT_OWNED, NOT_ENDED_SINCE, MARKER_IS_PRINTED, START_IS_IN_COPY, *OF_HISTORY, STATE_IS_CURRENT,
    NO_COMMIT_ELSEWHERE,
)  # fmt: skip
# Ending a coordinator's transaction decides all that its producer id has open in each of its partitions.
OF_ENDING = (
    *OF_LOG, AS_OF_IS_PLAUSIBLE, START_IS_IN_COPY, *OF_HISTORY, STATE_IS_CURRENT, NO_COMMIT_ELSEWHERE,
    TRANSACTION_IS_WHOLE,
)  # fmt: skip
# What must hold for any open data before a transaction that lists its partition may be ended.
OF_OWN_DATA = (*OF_LOG, START_IS_IN_COPY, *OF_HISTORY, NO_COMMIT_ELSEWHERE)

_OF_COMMIT = (*OF_LOG, IS_LATE, IS_SURELY_LATE)
# Whoever writes at an epoch that was ended elsewhere comes too late, whatever the data's own age.
_OF_WITNESS = (*OF_LOG, HAS_ENDED_LONG_AGO)


def _all_hold(proofs: tuple[Proof, ...]) -> str:
    return " AND ".join(f"coalesce({proof.name}, false)" for proof in proofs)


_MISSING_IS_PROVED = f"(commit_is_missing AND {_all_hold(_OF_COMMIT)})"
_WITNESS_IS_PROVED = f"(commit_is_witnessed AND {_all_hold(_OF_WITNESS)})"
_MISSING = (
    "concat('COMMITTED at ', iso_committed, ', but the COMMIT marker never reached this partition: the"
    " application was told that the data is committed, never abort it')"
)
_WITNESSED = (
    "concat('COMMITTED at ', iso_witness, ' by the marker at offset ', witness.base_offset, ' of ', witness.topic,"
    " '-', witness.partition, ', which ended the same epoch of the producer id: never abort it')"
)

RULES: tuple[Rule, ...] = (
    Rule(
        Cause.MARKER_LOST_COMMIT,
        "kept_by IS NOT NULL",
        "Another dump proved that it was committed. That stays until the transaction is no longer open.",
        (),
        # What this dump proves by itself does not depend on which dump was judged first.
        f"CASE WHEN {_MISSING_IS_PROVED} THEN {_MISSING}"
        f" WHEN {_WITNESS_IS_PROVED} THEN {_WITNESSED}"
        f" ELSE concat('{BY_ANOTHER}', kept_by) END",
    ),
    Rule(
        Cause.TWO_PHASE_COMMIT,
        f"is_two_phase AND lists_partition AND NOT {_MISSING_IS_PROVED} AND NOT {_WITNESS_IS_PROVED}",
        "The id's timeout is 2147483647, its current transaction lists the partition, and the data is not proved to be"
        " of one that was committed before.",
        (),
        "'its timeout is that of a two-phase commit: it may be open for days'",
    ),
    Rule(
        Cause.ONGOING,
        "is_young AND is_ongoing",
        "Not late, and the coordinator's current transaction is Ongoing and lists the partition.",
        (),
        "concat('Ongoing at its coordinator since ', iso_current_start)",
    ),
    Rule(
        Cause.PENDING,
        "is_young AND is_prepared",
        "Not late, and the coordinator is in PrepareCommit or PrepareAbort with this partition.",
        (),
        "concat('its coordinator has been writing the markers since ', iso_current_update)",
    ),
    Rule(
        Cause.TOO_YOUNG,
        "is_young",
        "Not late.",
        (),
        "concat('last written ', age_text, ' before the copy; late after ', late_after_text)",
    ),
    Rule(
        Cause.MARKER_LOST_COMMIT,
        "commit_is_missing",
        "A committed transaction of the id listed the partition and ended before the copy, and its marker is not in the"
        " partition.",
        _OF_COMMIT,
        _MISSING,
    ),
    Rule(
        Cause.MARKER_LOST_COMMIT,
        "commit_is_witnessed",
        "A COMMIT marker in another partition closed data of the same producer id and epoch at the next epoch (KIP-890:"
        " each transaction has an epoch of its own), and the marker is not in this partition.",
        _OF_WITNESS,
        _WITNESSED,
    ),
    Rule(
        Cause.STUCK_ONGOING,
        "is_ongoing AND is_past_timeout AND is_seen_by_coordinator",
        "Ongoing and lists the partition, for longer than its own timeout plus padding; the coordinator was copied"
        " after the data was written.",
        OF_ENDING,
        "concat('Ongoing at its coordinator since ', iso_current_start, ', longer than its timeout of ', "
        "current.timeout_ms, ' ms: forceTerminateTransaction ends it')",
    ),
    Rule(
        Cause.ONGOING,
        "is_ongoing",
        "Ongoing and lists the partition, within its timeout as far as the copy of the coordinator shows.",
        OF_LOG,
        "concat('Ongoing at its coordinator since ', iso_current_start)",
    ),
    Rule(
        Cause.STUCK_PREPARE,
        "is_prepared AND is_past_padding AND is_seen_by_coordinator",
        "Prepare* and lists the partition, unchanged for longer than the padding; the coordinator was copied after the"
        " data was written.",
        OF_ENDING,
        "concat('its coordinator has been in ', current.state, ' since ', iso_current_update, ' and has not written"
        " this marker: restart it or elect another')",
    ),
    Rule(
        Cause.PENDING,
        "is_prepared",
        "Prepare* and lists the partition, changed more recently, or the copy of the coordinator is older than the"
        " data.",
        OF_LOG,
        "concat('its coordinator has been writing the markers since ', iso_current_update)",
    ),
    Rule(
        Cause.MARKER_LOST_ABORT,
        "abort_is_missing",
        "The last transaction that listed the partition was aborted, and its marker is not in the partition.",
        OF_ABORT,
        "concat('aborted at ', iso_prepared, ', but the ABORT marker never reached this partition')",
    ),
    Rule(
        Cause.PHANTOM_BELOW_LOG_START,
        "starts_below_log AND batches = 0",
        "Only the producer snapshot still has it: all its data is below the log start offset.",
        OF_ABORT,
        "concat('starts below the log start offset ', log_start_offset, ': only the producer snapshot still has it')",
    ),
    Rule(
        Cause.PHANTOM_BELOW_LOG_START,
        "starts_below_log",
        "It starts below the log start offset; some of its data is left.",
        OF_ABORT,
        "concat('starts below the log start offset ', log_start_offset, ': its first data is gone')",
    ),
    Rule(
        Cause.COORDINATOR_UNKNOWN,
        "NOT is_known",
        "No coordinator knows the producer id.",
        OF_ABORT,
        "'all coordinators are in the dump, and none knows the producer id'",
    ),
    Rule(
        Cause.ID_EXPIRED,
        "is_expired",
        "The id's last record is a tombstone.",
        OF_ABORT,
        "'the transactional id has expired, and its coordinator no longer knows the producer id'",
    ),
    Rule(
        Cause.EPOCH_MISMATCH,
        "is_zombie",
        "The coordinator is at another producer id or a later epoch than the data.",
        OF_ABORT,
        "concat('written by a fenced producer at epoch ', producer_epoch, '; its coordinator is at producer id ', "
        "current.producer_id, ', epoch ', current.producer_epoch)",
    ),
    Rule(
        Cause.LATE_WRITE_AFTER_END,
        "follows_own_marker",
        "The producer id's previous marker here has the epoch of the open data. The marker may be known from a producer"
        " snapshot only.",
        OF_ABORT,
        "concat('written after ', if(last_marker IS NULL, 'a marker known from the producer snapshot',"
        " concat('the ', last_marker.marker_type, ' marker at offset ', last_marker.base_offset)),"
        " ' that ended its transaction; coordinator state: ', current.state)",
    ),
    Rule(
        Cause.NEVER_ADDED,
        "is_not_listed_since",
        "The id is known, and none of its transactions that could still end this data lists the partition.",
        OF_ABORT,
        "concat('no transaction that could still end this data lists the partition; coordinator state: ',"
        " current.state)",
    ),
    Rule(
        Cause.SKEW,
        "true",
        "Everything else. The verdict is always UNDETERMINED, and the reason says what is missing.",
        OF_ABORT,
        "'cannot tell which of the listed transactions the last marker closed, nor which one wrote this data'",
    ),
)


def own_reason(reason: str) -> str:
    """The reason of the dump that gave it, however many have taken it over since, as SQL."""
    return f"regexp_replace({reason}, '^({_BY_ANY})+', '')"
