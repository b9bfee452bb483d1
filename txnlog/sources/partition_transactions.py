"""Reads the copies of a log in a dump for its transactions: each as a row, ended or open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from txnlog.dump.dump_file import FileKind, Inventory
from txnlog.errors import OptionError
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.sources.arrow import ROWS_PER_BATCH, place_of, record_batch
from txnlog.sources.batch_columns import MARKER_TYPES
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
from txnlog.sources.log_transactions import POSITION_BITS, LogTransactions
from txnlog.sources.producer_batches import LATEST, NO_MARKER, Numbers
from txnlog.sources.small_files import small_file
from txnlog.sources.transaction_outcome import NO_INDEX, UNKNOWN, Index, Judged, judged
from txnlog.sources.transaction_rows import PartitionTransactionRow

_MARKERS = pa.array([*MARKER_TYPES])


class CopyTransactions(NamedTuple):
    """A copy and its transactions, by their ends: rows of `PartitionTransactionRow`.

    Those of segments are read as they are taken; then `problems` says what could not be read.
    """

    copy: LogCopy
    rows: Iterator[pa.RecordBatch]
    problems: list[str]


def transactions(
    dump: Inventory, place: Place, cluster: str | None = None, log_dir: str | None = None
) -> list[CopyTransactions]:
    """The transactions of a partition by each copy in a dump, the copy that was the leader's last comes first.

    Output of `kafka-dump-log.sh` counts if no copy has segments. `OptionError` where no copy has the partition, or
    several clusters have.
    """
    there = copies_of(dump, place, cluster)
    copies = [copy for copy in there if log_dir in (None, copy.log_dir)]
    if there and not copies:
        names = ", ".join(sorted({copy.log_dir or "''" for copy in there}))
        raise OptionError(f"the dump has no log of {place} in log directory {log_dir}, but perhaps in {names}")
    raw = [copy for copy in copies if any(file.kind is FileKind.SEGMENT for file in copy.files)]
    if raw:
        found = [_read(copy) for copy in sorted(raw, key=_how_far, reverse=True)]
    else:
        found = [*filter(None, (_printed(copy) for copy in copies if copy.is_text))]
    only_cluster_of(place, (each.copy.files[0].cluster for each in found), cluster)
    return found


def rows_of_copy(copy: LogCopy) -> Iterator[pa.RecordBatch]:
    """The transactions by one copy, as rows of `PartitionTransactionRow`."""
    found = _printed(copy) if copy.is_text else _read(copy)
    if found is not None:
        yield from found.rows


def _how_far(copy: LogCopy) -> tuple[int, int, int]:
    """How far a copy goes by its files, which are not read for this but for the small ones."""
    epochs = (small_file(file).columns for file in copy.files if file.kind is FileKind.LEADER_EPOCH_CHECKPOINT)
    latest = max((row.get("partition_leader_epoch") or -1 for row in epochs), default=-1)
    return latest, max(copy.high_watermark, *map(base_of, copy.files)), sum(file.size for file in copy.files)


def _read(copy: LogCopy) -> CopyTransactions:
    problems: list[str] = []
    log = LogTransactions()
    return CopyTransactions(copy, _rows_of(copy, log.files, _of_segments(copy, log, problems)), problems)


def _printed(copy: LogCopy) -> CopyTransactions | None:
    """The transactions of what was printed, once all of it has been read; None if it has nothing of the log.

    A line of it may be forged by whoever wrote a record.
    """
    log, damage, cut = LogTransactions(), list[Damage](), list[str]()
    ended = [log.add(printed, batches) for printed, batches in batches_of_texts(copy, log, damage, cut)]
    problems = [each.problem for each in damage] + cut
    if log.start is None and not damage:
        return None
    found = [_voided(judged(runs, NO_INDEX, log.end, cut, log.is_in_order), damage) for runs in (*ended, log.unended())]
    return CopyTransactions(copy, _rows_of(copy, log.files, found), problems)


def _voided(found: Judged, damage: list[Damage]) -> Judged:
    runs = found.runs
    begins = np.where(runs["batches"] > 0, runs["first_offset"], runs["marker_offset"])
    for each in damage:
        found.set(begins < each.to, each.problem)
    return found


def _of_segments(copy: LogCopy, log: LogTransactions, problems: list[str]) -> Iterator[Judged]:
    damage, index = list[Damage](), Index.of(copy.files, problems)
    for file, batches in batches_of_segments(segments_of(copy.files), log, damage):
        ended = log.add(file, batches)
        yield judged(ended, index, log.end, is_in_order=log.is_in_order)
    for file in copy.files:
        if file.kind is FileKind.SEGMENT and file.skipped:
            to = NOTHING_FOLLOWS if base_of(file) >= log.end else 0
            damage.append(Damage(to, f"{file.file}: {file.skipped}"))
    damage += filter(None, [lacks_end(copy, log)])
    problems += [each.problem for each in damage]
    # Damage between batches hides none, unless it takes offsets, which the runs see as a gap.
    unread = [each.problem for each in damage if each.to > log.end]
    yield judged(log.unended(), index, log.end, unread, log.is_in_order)


def _rows_of(copy: LogCopy, files: list[str], found: Iterable[Judged]) -> Iterator[pa.RecordBatch]:
    of_copy = place_of(copy.files[0], PartitionTransactionRow) | copy.place._asdict()
    for some in found:
        yield from _rows(_not_below(some, copy.log_start), of_copy, pa.array(files, pa.string()))


def _not_below(found: Judged, start: int) -> Judged:
    """By their ends, without what lies below the log start offset: no consumer reads it any more."""
    runs = found.runs
    has_row = (runs["batches"] > 0) | (runs["marker"] > NO_MARKER)
    is_there = has_row & (np.maximum(runs["last_offset"], runs["marker_offset"]) >= start)
    order = np.lexsort((runs["first_offset"], runs["marker_offset"]))
    return found.at(order[is_there[order]])


def _rows(found: Judged, of_copy: dict[str, object], files: pa.Array) -> Iterator[pa.RecordBatch]:
    runs = found.runs
    has_data, is_marked = runs["batches"] > 0, runs["marker_offset"] >= 0
    is_whole = (runs["previous_gap_end"] == runs["gap_end"]) & (runs["removed"] == 0) & (runs["uncounted"] == 0)
    begins = np.where(found.outcome == UNKNOWN, LATEST, found.outcome_from)
    has_previous = runs["previous_marker"] > NO_MARKER

    def known(name: str, is_known: Numbers) -> pa.Array:
        return pa.array(runs[name], mask=~is_known)

    columns = {
        "producer_id": runs["producer_id"],
        "outcome": found.outcome,
        "outcome_from": pa.array(begins, mask=~has_data | (begins == LATEST)),
        "is_whole": is_whole & (found.outcome != UNKNOWN),
        "batches": runs["batches"],
        "records": known("records", runs["uncounted"] == 0),
        "size_in_bytes": runs["size_in_bytes"],
        "is_log_append_time": pa.array(runs["create_times"] == 0, mask=~has_data),
        "coordinator_epoch": known("coordinator_epoch", runs["coordinator_epoch"] >= 0),
        "marker_offset": known("marker_offset", is_marked),
        "marker_epoch": known("marker_epoch", runs["marker_epoch"] >= 0),
        "marker_timestamp": known("marker_timestamp", runs["marker_timestamp"] >= 0),
        "previous_marker_type": _MARKERS.take(known("previous_marker", has_previous)),
        "previous_marker_offset": known("previous_marker_offset", has_previous),
        "previous_marker_epoch": known("previous_marker_epoch", has_previous),
        "reason": found.reason,
    }
    for name in ("producer_epoch", "lowest_producer_epoch", "first_offset", "last_offset"):
        columns[name] = known(name, has_data)
    for name, of_none in (("first_timestamp", LATEST), ("last_timestamp", -LATEST - 1)):
        columns[name] = known(name, runs[name] != of_none)
    for name, place, is_there in (("", "place", has_data), ("marker_", "marker_place", runs["marker_place"] >= 0)):
        columns[f"{name}file"] = files.take(pa.array(runs[place] >> POSITION_BITS, mask=~is_there))
        columns[f"{name}position"] = pa.array(runs[place] & (1 << POSITION_BITS) - 1, mask=~is_there)
    for start in range(0, len(runs), ROWS_PER_BATCH):
        yield record_batch(PartitionTransactionRow, of_copy, columns).slice(start, ROWS_PER_BATCH)
