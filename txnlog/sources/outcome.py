"""What became of a record by what was found of it in one copy of its log.

The first marker of the producer id after its batch decides (`ProducerAppendInfo.appendEndTxnMarker`). Consumers go by
the transaction index, in which a broker lists the same aborted transactions (`UnifiedLog.collectAbortedTransactions`).
Where offsets are missing between batch and marker, an earlier marker may have stood there. The log cleaner takes COMMIT
markers, but no ABORT marker while data of its transaction is there (`CleanedTransactionMetadata`).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.dump.opener import small_content
from txnlog.dump_log.dump_text import NOT_PRINTED
from txnlog.errors import FormatError
from txnlog.format.control import ControlType
from txnlog.format.transaction_index import aborted_transactions
from txnlog.sources.record_search import Batch, Search
from txnlog.sources.small_files import LARGEST_OF_ENTRIES

COMMIT, ABORT = ControlType.COMMIT.name, ControlType.ABORT.name
# Why the control batch that ended a transaction does not tell how.
_UNCLEAR = {
    NOT_PRINTED: "the output does not say what the marker is: print it with --deep-iteration",
    None: "the control batch that ended its transaction is empty or cannot be read",
}


class Outcome(enum.StrEnum):
    """What became of a record."""

    COMMITTED = "COMMITTED"
    ABORTED = "ABORTED"
    OPEN = "OPEN"
    NOT_TRANSACTIONAL = "NOT_TRANSACTIONAL"
    CONTROL_RECORD = "CONTROL_RECORD"
    CLEANED = "CLEANED"
    BEFORE_START = "BEFORE_START"
    BEYOND_END = "BEYOND_END"
    UNKNOWN = "UNKNOWN"


class RecordOutcome(NamedTuple):
    """What became of a record by one copy of its log, why, its batch, and the marker that ended its transaction."""

    broker: str
    log_dir: str
    is_text: bool
    outcome: Outcome
    reason: str
    batch: Batch | None = None
    ended_by: Batch | None = None


def judged(files: Sequence[DumpFile], search: Search, damage: Sequence[str]) -> RecordOutcome:
    """The outcome by the `files` of a copy; `damage` says what may hide the record, or what ended its transaction."""
    outcome, reason = _outcome(files, search, damage)
    one = files[0]
    return RecordOutcome(one.broker, one.log_dir, one.is_text, outcome, reason, search.batch, search.ended_by)


def _outcome(files: Sequence[DumpFile], search: Search, damage: Sequence[str]) -> tuple[Outcome, str]:
    batch = search.batch
    if not search.is_in_order:
        return Outcome.UNKNOWN, "the offsets of the batches in the copy are not in order"
    if batch is None:
        return _without_batch(search, damage)
    if batch.is_control:
        return Outcome.CONTROL_RECORD, f"it is a control record, {batch.marker or 'neither COMMIT nor ABORT'}"
    if batch.records == 0:
        return Outcome.CLEANED, "the log cleaner removed all records of its batch"
    if not batch.is_transactional:
        return Outcome.NOT_TRANSACTIONAL, "its producer used no transaction"
    return _of_transaction(search, damage, _listed_as_aborted(files, batch))


def _without_batch(search: Search, damage: Sequence[str]) -> tuple[Outcome, str]:
    if damage:
        return Outcome.UNKNOWN, damage[0]
    if search.start is not None and search.offset < search.start:
        return Outcome.BEFORE_START, f"the copy begins at offset {search.start}"
    if search.around is not None and search.around.is_cleaned:
        return Outcome.CLEANED, f"the log cleaner removed {search.around}"
    if search.around is not None:
        return Outcome.UNKNOWN, f"the copy lacks {search.around}"
    return Outcome.BEYOND_END, f"the copy ends at offset {search.end}"


def _of_transaction(search: Search, damage: Sequence[str], aborted: str | None) -> tuple[Outcome, str]:
    lost, cleaned = search.gaps.get(False), search.gaps.get(True)
    marker = None if search.ended_by is None else search.ended_by.marker
    if aborted is not None:
        if marker == COMMIT and lost is None:
            return Outcome.UNKNOWN, f"the log has a COMMIT marker after it, but {aborted} lists it as aborted"
        return Outcome.ABORTED, f"the broker's transaction index lists it as aborted: {aborted}"
    if lost is not None:
        return Outcome.UNKNOWN, f"the copy lacks {lost}, where a marker may have been"
    if damage:
        return Outcome.UNKNOWN, f"no marker follows in what can be read: {damage[0]}"
    if cleaned is not None and marker != COMMIT:
        follows = marker or "no marker"
        return Outcome.UNKNOWN, f"{follows} follows, but the log cleaner removed {cleaned}, perhaps a COMMIT marker"
    if search.ended_by is None:
        return Outcome.OPEN, f"no marker follows up to the end of the copy, offset {search.end}"
    if marker not in (COMMIT, ABORT):
        return Outcome.UNKNOWN, _UNCLEAR[marker]
    outcome = Outcome.COMMITTED if marker == COMMIT else Outcome.ABORTED
    return outcome, f"the next marker of its producer id is {marker}"


def _listed_as_aborted(files: Sequence[DumpFile], batch: Batch) -> str | None:
    """The transaction index that lists the transaction of a batch as aborted, if there is one."""
    for file in files:
        if file.kind is not FileKind.TRANSACTION_INDEX or file.skipped or file.is_text:
            continue
        try:
            entries = aborted_transactions(small_content(file.path, LARGEST_OF_ENTRIES))
        except (FormatError, OSError):
            # `detect` reports it. The log itself says the same.
            continue
        is_of_it = (entries["producer_id"] == batch.producer_id) & (entries["first_offset"] <= batch.base_offset)
        if (is_of_it & (entries["last_offset"] > batch.last_offset)).any():
            return file.file
    return None
