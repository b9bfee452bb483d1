"""All proofs, in the order in which the first one that is lacking is named."""

from __future__ import annotations

from txnlog.detection.coordinator_proofs import (
    ALL_COORDINATORS,
    COMMITS_EXPLAINED,
    COORDINATOR_IS_CERTAIN,
    COORDINATOR_IS_NEWER,
    COORDINATOR_NOT_DAMAGED,
    COORDINATORS_ARE_CERTAIN,
    COPIES_AGREE,
    HAS_ENDED_LONG_AGO,
    HISTORY_IS_WHOLE,
    IS_SURELY_LATE,
    NO_COMMIT,
    NO_COMMIT_ELSEWHERE,
    NO_COORDINATOR_DAMAGED,
    NOT_ENDED_SINCE,
    NOT_OWNED,
    ONE_OWNER,
    STATE_IS_CURRENT,
    TRANSACTION_IS_WHOLE,
)
from txnlog.detection.log_proofs import (
    AGREES_WITH_SNAPSHOT,
    AS_OF_IS_PLAUSIBLE,
    END_IS_READ,
    HAS_RECORDS,
    IS_LATE,
    MARKER_IS_PRINTED,
    NEWEST_FORM,
    NO_GAP,
    NOT_DAMAGED,
    NOT_IN_ABORTED_INDEX,
    ONE_LOG,
    PRINTED_WHOLE,
    REACHES_END,
    START_IS_IN_COPY,
)
from txnlog.detection.proof import Proof

OF_LOG = (
    PRINTED_WHOLE, NOT_DAMAGED, AGREES_WITH_SNAPSHOT, NOT_IN_ABORTED_INDEX, END_IS_READ, NO_GAP, ONE_LOG,
    REACHES_END, NEWEST_FORM, HAS_RECORDS, ONE_OWNER, COORDINATOR_NOT_DAMAGED,
    COORDINATOR_IS_CERTAIN,
)  # fmt: skip
OF_AGE = (
    IS_LATE, ALL_COORDINATORS, NO_COORDINATOR_DAMAGED, COORDINATORS_ARE_CERTAIN, AS_OF_IS_PLAUSIBLE,
    COORDINATOR_IS_NEWER,
)  # fmt: skip
# History comes late, so that it is named only where what comes before is proved.
OF_HISTORY = (NO_COMMIT, COMMITS_EXPLAINED, COPIES_AGREE, HISTORY_IS_WHOLE)
# NO_COMMIT_ELSEWHERE comes after STATE_IS_CURRENT: of a copy that is too old, the commit is of after it.
PROOFS: tuple[Proof, ...] = (
    *OF_LOG, *OF_AGE, NOT_OWNED, NOT_ENDED_SINCE, MARKER_IS_PRINTED, START_IS_IN_COPY, *OF_HISTORY,
    STATE_IS_CURRENT, NO_COMMIT_ELSEWHERE, TRANSACTION_IS_WHOLE, IS_SURELY_LATE, HAS_ENDED_LONG_AGO,
)  # fmt: skip
# They lack only where something speaks against them, not where a copy shows less than another.
CONTRADICTING = (
    AGREES_WITH_SNAPSHOT, NOT_IN_ABORTED_INDEX, ONE_OWNER, NO_COMMIT, COMMITS_EXPLAINED, COPIES_AGREE,
    NO_COMMIT_ELSEWHERE,
)  # fmt: skip
# Damage lacks both, so the second says nothing more: what may be lost is neither there nor at the copy's end.
IMPLIED = (
    (PRINTED_WHOLE, NOT_DAMAGED),
    (COORDINATOR_NOT_DAMAGED, COORDINATOR_IS_CERTAIN),
    (NO_COORDINATOR_DAMAGED, COORDINATORS_ARE_CERTAIN),
)
