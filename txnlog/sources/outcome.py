"""What became of a record by what was found of it in one copy of its log.

The first marker of the producer id after its batch decides (`ProducerAppendInfo.appendEndTxnMarker`). Consumers go by
the transaction index, in which a broker lists the same aborted transactions (`UnifiedLog.collectAbortedTransactions`).
Where offsets are missing between batch and marker, an earlier marker may have stood there. The log cleaner takes COMMIT
markers, but no ABORT marker while data of its transaction is there (`CleanedTransactionMetadata`).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.dump_log.dump_text import NOT_PRINTED
from txnlog.format.control import ControlType
from txnlog.sources.producer_batches import LATEST
from txnlog.sources.record_search import Batch, Search
from txnlog.sources.small_files import small_file

COMMIT, ABORT = ControlType.COMMIT.name, ControlType.ABORT.name
# Why the control batch that ended a transaction does not tell how.
UNCLEAR = {
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
    CONTRADICTED = "CONTRADICTED"


class RecordOutcome(NamedTuple):
    """What became of a record by one copy of its log, why, its batch, and the marker that ended its transaction.

    `end` is the offset up to which the copy was read, `leader_epoch` the latest one of it, -1 if unknown.
    `is_below_log_start`: no consumer reads it any more, by the checkpoint.
    """

    broker: str
    log_dir: str
    is_text: bool
    outcome: Outcome
    reason: str
    batch: Batch | None = None
    ended_by: Batch | None = None
    end: int = 0
    leader_epoch: int = -1
    topic_id: str | None = None
    is_below_log_start: bool = False


def judged(files: Sequence[DumpFile], search: Search, damage: Sequence[str]) -> RecordOutcome:
    """The outcome by the `files` of a copy; `damage` says what may hide the record, or what ended its transaction."""
    one = files[0]
    return RecordOutcome(
        one.broker,
        one.log_dir,
        one.is_text,
        *_outcome(files, search, damage),
        search.batch,
        search.ended_by,
        search.end,
        _leader_epoch(files, search),
        _columns(files, FileKind.PARTITION_METADATA).get("topic_id"),
    )


def _leader_epoch(files: Sequence[DumpFile], search: Search) -> int:
    """The latest one by the batches and by the checkpoint, unless that was written after the segments were copied."""
    epochs = _columns(files, FileKind.LEADER_EPOCH_CHECKPOINT)
    is_of_then = epochs.get("last_offset", LATEST) <= search.end
    return max(search.leader_epoch, epochs["partition_leader_epoch"]) if is_of_then else search.leader_epoch


def _columns(files: Sequence[DumpFile], kind: FileKind) -> dict[str, Any]:
    """What the copy's file of a kind says, of which there is one at most."""
    file = next((file for file in files if file.kind is kind and not file.skipped), None)
    return {} if file is None else small_file(file).columns


def _outcome(files: Sequence[DumpFile], search: Search, damage: Sequence[str]) -> tuple[Outcome, str]:
    batch = search.batch
    if not search.is_in_order:
        return Outcome.UNKNOWN, "the batches of the copy are not in order, or some are there twice"
    if batch is None:
        return _without_batch(search, damage)
    if batch.records == 0:
        return Outcome.CLEANED, "the log cleaner removed all records of its batch"
    if batch.is_control:
        return Outcome.CONTROL_RECORD, f"it is a control record, {batch.marker or 'neither COMMIT nor ABORT'}"
    if 0 < batch.records < batch.last_offset - batch.base_offset + 1:
        return Outcome.UNKNOWN, "the log cleaner removed records of its batch, perhaps this one"
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


def _of_transaction(search: Search, damage: Sequence[str], aborted: Aborted | None) -> tuple[Outcome, str]:
    lost, cleaned = search.gaps.get(False), search.gaps.get(True)
    if aborted is not None:
        if lost is None and not _has_marker_of(search, aborted):
            return Outcome.UNKNOWN, f"{aborted.file} has an ABORT marker at {aborted.marker_offset}, the log has not"
        return Outcome.ABORTED, f"the broker's transaction index lists it as aborted: {aborted.file}"
    if lost is not None:
        return Outcome.UNKNOWN, f"the copy lacks {lost}, where a marker may have been"
    if damage and search.ended_by is None:
        return Outcome.UNKNOWN, f"no marker follows in what can be read: {damage[0]}"
    marker = None if search.ended_by is None else search.ended_by.marker
    if cleaned is not None and marker != COMMIT:
        follows = marker or "no marker"
        return Outcome.UNKNOWN, f"{follows} follows, but the log cleaner removed {cleaned}, perhaps a COMMIT marker"
    if search.ended_by is None:
        return Outcome.OPEN, f"no marker follows up to the end of the copy, offset {search.end}"
    if marker not in (COMMIT, ABORT):
        return Outcome.UNKNOWN, UNCLEAR[marker]
    outcome = Outcome.COMMITTED if marker == COMMIT else Outcome.ABORTED
    return outcome, f"the next marker of its producer id is {marker}"


class Aborted(NamedTuple):
    """An entry of a transaction index."""

    file: str
    marker_offset: int


def _has_marker_of(search: Search, aborted: Aborted) -> bool:
    """Whether the log has the entry's marker, or ends before it."""
    if search.ended_by is None:
        return aborted.marker_offset >= search.end
    return search.ended_by.base_offset == aborted.marker_offset and search.ended_by.marker != COMMIT


def _listed_as_aborted(files: Sequence[DumpFile], batch: Batch) -> Aborted | None:
    """The entry of a transaction index for the transaction of a batch, if there is one."""
    for file in files:
        if file.kind is not FileKind.TRANSACTION_INDEX or file.skipped or file.is_text:
            continue
        entries = small_file(file).entries
        if entries is None:
            # It is damaged, which `detect` reports. The log itself says the same.
            continue
        producers, first, last = (entries[name].to_numpy() for name in ("producer_id", "first_offset", "last_offset"))
        is_of_it = (producers == batch.producer_id) & (first <= batch.base_offset)
        ends = last[is_of_it & (last > batch.last_offset)]
        if len(ends):
            return Aborted(file.file, int(ends.min()))
    return None
