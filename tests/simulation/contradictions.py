"""What a larger or a fresher dump says against the proof of a smaller or an older one, of the same data.

`UNDETERMINED` after a proof is none: evidence that compaction removed is not there any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from tests.simulation.dumps import Dump
from tests.simulation.events import Event, Fate

Row = dict[str, Any]
# The data of a verdict: first and last offset, and which batches these are.
Data = tuple[str, int, int, int, tuple[Event, ...]]
KEPT, DISCARDED = "kept", "discarded"


def contradictions(dumps: list[Dump], rows: Mapping[str, list[Row]]) -> Iterator[str]:
    """What is wrong between dumps of a cluster, of which each may be larger or fresher than those before it."""
    known = {dump.name: {_data(dump, row): row for row in rows[dump.name]} for dump in dumps}
    for before, after in combinations(dumps, 2):
        for data in known[before.name].keys() & known[after.name].keys():
            first, then = known[before.name][data], known[after.name][data]
            if _contradict(first, then, after.is_smaller) and not _is_lost(before, after, data[-1]):
                said = f"{first['cause']} {first['action']}, then {then['cause']} {then['action']}"
                yield f"{before.name}, {after.name}: {data[0]} of {data[1]} from {data[2]}: {said}"


def stronger(dumps: list[Dump], whole: list[Dump], rows: Mapping[str, list[Row]]) -> Iterator[str]:
    """What is decided of a cluster with compacted logs of coordinators, and is not, or not so, if they never were."""
    for compacted, never in zip(dumps, whole, strict=True):
        of_whole = {_key(row): row for row in rows[never.name]}
        for row in rows[compacted.name]:
            then = of_whole[_key(row)]
            if row["action"] not in ("UNDETERMINED", "WAIT") and row["action"] != then["action"]:
                said = f"{row['cause']} {row['action']}, never compacted {then['cause']} {then['action']}"
                yield f"{compacted.name}: {row['topic']}-{row['partition']} of {row['producer_id']}: {said}"


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("topic", "partition", "topic_id", "producer_id", "start_offset"))


def _data(dump: Dump, row: Row) -> Data:
    place, producer_id, start = f"{row['topic']}-{row['partition']}", row["producer_id"], row["start_offset"]
    events = dump.written_from(place, producer_id, start, row["topic_id"])
    return place, producer_id, start, row["last_batch_offset"], tuple(events)


def _contradict(first: Row, then: Row, is_smaller: bool) -> bool:
    outcomes = {_outcome(first), _outcome(then)}
    # That it may have been committed speaks against a proof that it was not, unless less is known than before.
    is_proved = [row["action"] != "KEEP" or row["confidence"] == "HIGH" for row in (first, then)]
    return outcomes == {KEPT, DISCARDED} and is_proved[0] and (is_proved[1] or not is_smaller)


def _outcome(row: Row) -> str | None:
    """What becomes of the data by the verdict, None if that says nothing."""
    if row["action"] == "KEEP" or (row["action"] == "MOVE_COORDINATOR" and row["current"]["state"] == "PrepareCommit"):
        return KEPT
    return DISCARDED if row["action"] in ("ABORT", "FENCE", "MOVE_COORDINATOR") else None


def _is_lost(before: Dump, after: Dump, events: tuple[Event, ...]) -> bool:
    """Whether nothing in one of them can tell what became of the data, as its coordinator has lost the records."""
    return any({dump.fate(each) for dump in (before, after)} == {Fate.COMMITTED, Fate.ORPHAN} for each in events)
