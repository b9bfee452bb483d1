"""What became of a record by all copies of its log together.

Two logs that have a batch with the same offset and leader epoch are equal up to it (KIP-101). A copy that lacks what
another one has lags, unless its leader epoch is later or it goes on with other batches: then the logs diverged,
and which of them is the partition's, no copy says.
"""

from __future__ import annotations

from collections.abc import Sequence

from txnlog.sources.outcome import Outcome, RecordOutcome
from txnlog.sources.record_search import Batch

_FINAL = (Outcome.COMMITTED, Outcome.ABORTED, Outcome.NOT_TRANSACTIONAL, Outcome.CONTROL_RECORD)
# What counts if no copy says more: a copy that may hide a marker before one that shows none.
_ORDER = (Outcome.UNKNOWN, Outcome.OPEN, Outcome.BEFORE_START, Outcome.BEYOND_END)


def together(copies: Sequence[RecordOutcome]) -> Outcome:
    """The outcome; CONTRADICTED where the logs diverged.

    What one copy shows to be below the log start, or removed by the log cleaner, may be there in another one still.
    """
    if any(copy.is_below_log_start for copy in copies):
        return Outcome.BEFORE_START
    if _diverged(copies):
        return Outcome.CONTRADICTED
    outcomes = {copy.outcome for copy in copies}
    return next(each for each in (Outcome.CLEANED, *_FINAL, *_ORDER) if each in outcomes)


def _diverged(copies: Sequence[RecordOutcome]) -> bool:
    batches = [copy.batch for copy in copies if copy.batch is not None]
    differs = (
        {copy.topic_id for copy in copies if copy.topic_id},
        # Where a compressed message of the older formats begins is not known.
        {(batch.last_offset, batch.producer_id, batch.producer_epoch) for batch in batches},
        {batch.leader_epoch for batch in batches if batch.leader_epoch >= 0},
        {copy.outcome for copy in copies if copy.outcome in _FINAL},
    )
    if any(len(each) > 1 for each in differs):
        return True
    return any(_lacks(copy, other) for copy in copies for other in copies)


def _lacks(copy: RecordOutcome, other: RecordOutcome) -> bool:
    """Whether a copy lacks what another one has, and does not merely lag."""
    if copy.outcome is Outcome.BEYOND_END and other.batch is not None:
        return _is_later(copy, other.batch)
    if copy.outcome is Outcome.OPEN and other.outcome in _FINAL and other.ended_by is not None:
        return copy.end > other.ended_by.base_offset or _is_later(copy, other.ended_by)
    return False


def _is_later(copy: RecordOutcome, batch: Batch) -> bool:
    return copy.leader_epoch > batch.leader_epoch >= 0
