"""How the transactions of a copy of a log ended, by its markers and by the broker's transaction indexes.

The rules are those of one record (`txnlog.sources.outcome`), for all data of a transaction at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.sources.batch_columns import MARKER_TYPES
from txnlog.sources.batch_order import Gap
from txnlog.sources.log_transactions import ENDS
from txnlog.sources.outcome import UNCLEAR
from txnlog.sources.producer_batches import COMMIT, LATEST, NO_MARKER, Numbers
from txnlog.sources.small_files import small_file

OPEN, UNKNOWN = "OPEN", "UNKNOWN"
OUT_OF_ORDER = "the batches of the copy are not in order, or some are there twice"
_NAMES = np.array([*MARKER_TYPES, OPEN, UNKNOWN], object)


class Index(NamedTuple):
    """The aborted transactions that a broker's indexes of a copy list, by producer id and offset of the marker."""

    producer_id: Numbers
    first_offset: Numbers
    marker_offset: Numbers
    file: Sequence[str]

    @classmethod
    def of(cls, files: Sequence[DumpFile], problems: list[str]) -> Index:
        """That of the files of a copy. A damaged one says nothing but that, in `problems`: the log says the same."""
        listed = []
        for file in files:
            if file.kind is FileKind.TRANSACTION_INDEX and not file.skipped and not file.is_text:
                read = small_file(file)
                listed.append((file.file, read.entries))
                problems += [] if read.entries is not None else [f"{file.file}: {read.columns['problem']}"]
        rows = [
            (entry["producer_id"], entry["last_offset"], entry["first_offset"], name)
            for name, entries in listed
            if entries is not None
            for entry in entries.select(["producer_id", "first_offset", "last_offset"]).to_pylist()
        ]
        ids, markers, firsts, names = zip(*sorted(rows), strict=True) if rows else ((), (), (), ())
        return cls(np.array(ids, np.int64), np.array(firsts, np.int64), np.array(markers, np.int64), names)

    def covering(self, runs: Numbers, after: Numbers) -> Numbers:
        """Of each run the first entry with a marker after an offset, as an index; -1 if none, or of no data of it."""
        found = np.full(len(runs), -1)
        if not len(self.file):
            return found
        # Entries and runs in one order: of each run the next entry counts.
        number = len(self.file)
        ids = np.concatenate((self.producer_id, runs["producer_id"]))
        order = np.lexsort((np.concatenate((self.marker_offset, after)), ids))
        entries = np.where(order < number, order, LATEST)
        following = np.minimum.accumulate(entries[::-1])[::-1]
        found[order[order >= number] - number] = following[order >= number]
        entry = np.where(found == LATEST, 0, found)
        is_of_it = (self.producer_id[entry] == runs["producer_id"]) & (self.first_offset[entry] <= runs["last_offset"])
        return np.where((found != LATEST) & is_of_it & (runs["batches"] > 0), entry, -1)


NO_INDEX = Index.of((), [])


@dataclass
class Judged:
    """Runs (`RUN`), and of each the outcome, the offset from which on that holds (`LATEST`: of no data), and why."""

    runs: Numbers
    outcome: Numbers
    outcome_from: Numbers
    reason: Numbers

    def set(self, which: Numbers, reason: str | Sequence[str], outcome: str = UNKNOWN) -> None:
        """Give some runs another outcome."""
        self.outcome[which], self.reason[which] = outcome, reason

    def at(self, which: Numbers) -> Judged:
        """Some of them."""
        return Judged(self.runs[which], self.outcome[which], self.outcome_from[which], self.reason[which])


def judged(runs: Numbers, index: Index, end: int, unread: Sequence[str] = (), is_in_order: bool = True) -> Judged:
    """The outcomes of runs in a copy that was read up to the offset `end`; `unread` is what may hide later batches.

    A marker that only an index has becomes that of its run.
    """
    is_open = runs["is_ended"] == 0
    marker = np.where(is_open, len(MARKER_TYPES), runs["marker"])
    outcome = _NAMES[np.where(marker == NO_MARKER, len(_NAMES) - 1, marker)]
    # The log cleaner takes COMMIT markers, but no ABORT marker while data of its transaction is there.
    begins = np.where(marker == COMMIT, runs["lost_after"], runs["gap_after"])
    found = Judged(runs, outcome, begins, np.full(len(runs), None, object))
    _heed_gaps(found)
    for kind, reason in UNCLEAR.items():
        number = NO_MARKER if kind is None else MARKER_TYPES.index(kind)
        found.set(~is_open & (marker == number), reason)
    for problem in unread[:1]:
        found.set(is_open, f"no marker follows in what can be read: {problem}")
    _heed_index(found, index, end)
    if not is_in_order:
        found.set(np.ones(len(runs), np.bool_), OUT_OF_ORDER)
    return found


def _heed_gaps(found: Judged) -> None:
    runs, begins = found.runs, found.outcome_from
    is_partial = (runs["batches"] > 0) & (begins > runs["first_offset"])
    for place in np.flatnonzero(is_partial).tolist():
        gap, is_lost = _gap(runs[place], found.outcome[place] == "COMMIT")
        lacks = f"the copy lacks {gap}, where a marker may have been"
        if not is_lost:
            lacks = f"the log cleaner removed {gap}, perhaps a COMMIT marker"
        found.reason[place] = lacks if begins[place] == LATEST else f"{lacks}: data before that may be of another one"
    found.outcome[is_partial & (begins == LATEST)] = UNKNOWN


def _gap(run: Any, is_commit: bool) -> tuple[Gap, bool]:
    """The gap after which the outcome holds, and whether the copy lacks what was there."""
    is_lost = is_commit or run["gap_end"] == run["lost_end"]
    kind = "lost" if is_lost else "gap"
    return Gap(int(run[f"{kind}_start"]), int(run[f"{kind}_end"]), not is_lost), is_lost


def _heed_index(found: Judged, index: Index, end: int) -> None:
    """A broker lists the aborted transactions that the log has (`UnifiedLog.collectAbortedTransactions`)."""
    is_known = found.outcome_from != LATEST
    covering = index.covering(found.runs, np.where(is_known, found.outcome_from, found.runs["last_offset"]))
    places = np.flatnonzero(covering >= 0)
    if not len(places):
        return
    runs, entry = found.runs[places], covering[places]
    listed = index.marker_offset[entry]
    is_open = runs["is_ended"] == 0
    # The marker may lie in what the copy lacks.
    is_lost = runs["lost_after"] == LATEST
    is_it = np.where(is_open, listed >= end, (listed == runs["marker_offset"]) & (runs["marker"] != COMMIT))
    # Where nothing is missing in between, the log would have the marker.
    is_within = is_known[places] & (listed < runs["last_offset"])
    is_denied = is_within | (~is_it & ~is_lost)
    denied = zip(entry[is_denied].tolist(), listed[is_denied].tolist(), strict=True)
    found.set(
        places[is_denied], [f"{index.file[at]} has an ABORT marker at {it}, the log has not" for at, it in denied]
    )
    _set_aborted(found, index, places[~is_denied], entry[~is_denied])
    for name in ENDS:
        # Another transaction's.
        found.runs[name][places[~is_it & ~is_denied]] = -1
    found.runs["marker_offset"][places[~is_denied]] = listed[~is_denied]


def _set_aborted(found: Judged, index: Index, places: Numbers, entries: Numbers) -> None:
    begins = np.maximum(index.first_offset[entries], found.runs["first_offset"][places])
    is_new = (found.outcome[places] != "ABORT") | (begins < found.outcome_from[places])
    found.outcome_from[places[is_new]] = begins[is_new]
    reasons = [
        f"the broker's transaction index lists it as aborted: {index.file[at]}" for at in entries[is_new].tolist()
    ]
    found.set(places[is_new], reasons, "ABORT")
