"""Reads the copies of a log in a dump for one record: what became of it, by each of them."""

from __future__ import annotations

from txnlog.dump.dump_file import DumpFile, FileKind, Inventory
from txnlog.format.checkpoint import LOG_STARTS
from txnlog.sources.file_groups import base_of, segments_of
from txnlog.sources.log_copy import (
    Damage,
    LogCopy,
    Place,
    batches_of_segments,
    batches_of_texts,
    copies_of,
    lacks_end,
    only_cluster_of,
)
from txnlog.sources.outcome import Outcome, RecordOutcome, judged
from txnlog.sources.record_search import Search


def record_outcomes(
    dump: Inventory, place: Place, offset: int, cluster: str | None = None
) -> tuple[str, list[RecordOutcome]]:
    """The cluster, and what became of the record at `offset` by each copy of its log in the dump.

    Segments are read from the one with the offset on to the marker, output of `kafka-dump-log.sh` is read whole.
    `OptionError` where no copy has the partition, or several clusters have.
    """
    found: dict[str, list[RecordOutcome]] = {}
    for copy in copies_of(dump, place, cluster):
        outcome = (_of_text if copy.is_text else _of_segments)(copy, offset)
        if outcome is not None:
            found.setdefault(copy.files[0].cluster, []).append(_not_below(outcome, offset, copy.log_start))
    name = only_cluster_of(place, found, cluster)
    return name, found[name]


def _not_below(found: RecordOutcome, offset: int, start: int) -> RecordOutcome:
    """Below the log start offset no consumer reads, whatever is still in the segments."""
    if offset >= start:
        return found
    reason = f"the log starts at offset {start}, by {LOG_STARTS}"
    return found._replace(outcome=Outcome.BEFORE_START, reason=reason, is_below_log_start=True)


def _of_segments(copy: LogCopy, offset: int) -> RecordOutcome | None:
    files = copy.files
    segments = segments_of(files)
    hidden = [file for file in files if file.kind is FileKind.SEGMENT and file.skipped]
    if not segments and not hidden:
        return None
    first = max((index for index, file in enumerate(segments) if base_of(file) <= offset), default=0)
    search, damage = Search(offset), list[Damage]()
    said = _said_of(hidden, segments[first : first + 1], offset)
    for file, batches in batches_of_segments(segments[first:], search, damage):
        search.add(file, batches)
        if search.is_done:
            return judged(files, search, [*said, *_above(damage, offset)])
    damage += filter(None, [lacks_end(copy, search)])
    # Damage between batches hides none, unless it takes offsets, which the search sees as a gap.
    return judged(files, search, [*said, *_above(damage, offset if search.batch is None else search.end)])


def _above(damage: list[Damage], offset: int) -> list[str]:
    return [problem for to, problem in damage if to > offset]


def _said_of(hidden: list[DumpFile], first: list[DumpFile], offset: int) -> list[str]:
    """Why segments cannot be read that may have the record, or what follows it; the `first` is where reading starts."""
    start = base_of(first[0]) if first else 0
    return [f"{file.file}: {file.skipped}" for file in hidden if offset < start or base_of(file) >= start]


def _of_text(copy: LogCopy, offset: int) -> RecordOutcome | None:
    files, search, damage, cut = copy.files, Search(offset), list[Damage](), list[str]()
    for printed, batches in batches_of_texts(copy, search, damage, cut):
        search.add(printed, batches)
    hidden = _above(damage, offset)
    if search.start is None and not hidden:
        return None
    if hidden:
        # A line may be forged by whoever wrote a record.
        return RecordOutcome(files[0].broker, files[0].log_dir, True, Outcome.UNKNOWN, hidden[0])
    return judged(files, search, cut)
