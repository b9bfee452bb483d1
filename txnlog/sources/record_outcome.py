"""What became of a record, by each copy of its log.

The first marker of the producer id after its batch decides (`ProducerAppendInfo.appendEndTxnMarker`). Consumers go by
the transaction index, in which a broker lists the same aborted transactions (`UnifiedLog.collectAbortedTransactions`).
Where offsets are missing between batch and marker, an earlier marker may have stood there. The log cleaner takes COMMIT
markers, but no ABORT marker while data of its transaction is there (`CleanedTransactionMetadata`).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

from txnlog.dump.dump_file import DumpFile, FileKind, Inventory
from txnlog.dump.opener import small_content
from txnlog.dump_log.dump_text import NOT_PRINTED
from txnlog.errors import FormatError, OptionError
from txnlog.format.control import ControlType
from txnlog.format.transaction_index import aborted_transactions
from txnlog.sources.batch_columns import batches_of_run, batches_of_text
from txnlog.sources.files import SegmentReading
from txnlog.sources.listed import WRITTEN_BY_BROKERS
from txnlog.sources.logs import base_of, segments_of
from txnlog.sources.record_search import Batch, Search
from txnlog.sources.small_files import LARGEST_OF_ENTRIES
from txnlog.sources.text import printed_files
from txnlog.sources.text_files import TextReading, text_rows
from txnlog.sources.text_summary import Printed

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


class Place(NamedTuple):
    """The partition of a log."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def record_outcomes(
    dump: Inventory, place: Place, offset: int, cluster: str | None = None
) -> tuple[str, list[RecordOutcome]]:
    """The cluster, and what became of the record at `offset` by each copy of its log in the dump.

    Segments are read from the one with the offset on to the marker, output of `kafka-dump-log.sh` is read whole.
    `OptionError` where no copy has the partition, or several clusters have.
    """
    found: dict[str, list[RecordOutcome]] = {}
    for files in _copies(dump, place, cluster):
        outcome = (_of_text if files[0].is_text else _of_segments)(files, place, offset)
        if outcome is not None:
            found.setdefault(files[0].cluster, []).append(outcome)
    if not found:
        named = "" if cluster is None else f" of cluster {cluster}"
        raise OptionError(f"the dump has no log of {place}{named}: `txnlog check` prints what it has")
    if len(found) > 1:
        names = ", ".join(sorted(found))
        raise OptionError(f"the dump has {place} of several clusters: add --cluster, one of {names}")
    return next(iter(found.items()))


def _copies(dump: Inventory, place: Place, cluster: str | None) -> list[list[DumpFile]]:
    """The files of each copy. Which logs a text has is not known before it is read."""
    copies: dict[tuple[str, str, bool], list[DumpFile]] = {}
    for file in dump.files:
        is_of_it = file.skipped is None if file.is_text else (file.topic, file.partition) == place
        if is_of_it and cluster in (None, file.cluster):
            copies.setdefault((file.cluster, file.log_dir, file.is_text), []).append(file)
    return list(copies.values())


def _of_segments(files: list[DumpFile], _: Place, offset: int) -> RecordOutcome | None:
    segments = segments_of(files)
    hidden = [f"{file.file}: {file.skipped}" for file in files if file.kind is FileKind.SEGMENT and file.skipped]
    if not segments and not hidden:
        return None
    first = max((index for index, file in enumerate(segments) if base_of(file) <= offset), default=0)
    search, damage = Search(offset), hidden
    for file in segments[first:]:
        search.begin(file, base_of(file))
        reading = SegmentReading(file)
        for run, found in reading.runs():
            search.add(file, batches_of_run(run, found, file.topic in WRITTEN_BY_BROKERS))
            if search.is_done:
                return _judged(files, search, [])
        if (reading.row["damaged_to"] or 0) > offset:
            damage.append(f"{file.file}: {reading.row['problem']}")
        if file.bytes_missing:
            damage.append(f"{file.file}: listing.tsv has {file.bytes_missing} more bytes of the log")
    return _judged(files, search, damage)


def _of_text(files: list[DumpFile], place: Place, offset: int) -> RecordOutcome | None:
    search, damage = Search(offset), list[str]()
    for text in sorted(files, key=_first_printed):
        for row in _added(search, text, place):
            if (row["damaged_to"] or 0) > offset:
                damage.append(f"{row['file']}: {row['problem']}")
    if search.start is None and not damage:
        return None
    if damage:
        # A line may be forged by whoever wrote a record.
        return RecordOutcome(files[0].broker, files[0].log_dir, True, Outcome.UNKNOWN, damage[0])
    return _judged(files, search, [])


def _added(search: Search, text: DumpFile, place: Place) -> list[dict[str, Any]]:
    """Add what a text has of a log; its rows of `DumpFileRow`."""
    reading, name = TextReading(text), ""
    for printed, found in reading.found():
        if (printed.topic, printed.partition) != place or not isinstance(found, Printed):
            continue
        batches = batches_of_text(found.batches, printed.topic in WRITTEN_BY_BROKERS)
        if printed.file != name and len(batches.base_offset):
            base = batches.base_offset[0] if printed.base_offset is None else printed.base_offset
            search.begin(printed, int(base))
            name = printed.file
        search.add(printed, batches)
    return [row for row in text_rows(reading.pieces) if (row["topic"], row["partition"]) == place]


def _first_printed(text: DumpFile) -> tuple[int, str]:
    return next((printed.base_offset or 0 for printed, _ in printed_files(text)), 0), text.file


def _judged(files: Sequence[DumpFile], search: Search, damage: Sequence[str]) -> RecordOutcome:
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
    if search.start is not None and search.offset < search.start:
        return Outcome.BEFORE_START, f"the copy begins at offset {search.start}"
    if search.around is not None and search.around.is_cleaned:
        return Outcome.CLEANED, f"the log cleaner removed {search.around}"
    if damage or search.around is not None:
        return Outcome.UNKNOWN, f"the copy lacks {search.around}" if search.around else damage[0]
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
