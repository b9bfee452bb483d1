"""What a broker keeps of each producer id (`ProducerStateEntry`): of some batches, and of a whole file."""

from __future__ import annotations

import numpy as np

from txnlog.sources.producer_batches import Batches, Numbers, starts_of

PRODUCER = np.dtype(
    [
        ("producer_id", "i8"),
        ("sequence", "i8"),
        ("first_epoch", "i2"),
        ("producer_epoch", "i2"),
        ("last_timestamp", "i8"),
        ("has_data", "?"),
        ("last_sequence", "i4"),
        ("is_old", "?"),  # the epoch has changed since its last data, or within all that there is
        ("has_marker", "?"),
        ("coordinator_epoch", "i4"),
        ("is_known", "?"),  # not only by markers that the cleaner has emptied
    ]
)


def in_order_of_ids(rows: Numbers) -> Numbers:
    """Rows in the order of their ids; those of one id stay in their order."""
    return rows[np.argsort(rows["producer_id"], kind="stable")]


def emptied(ids: Numbers, before: int) -> Numbers:
    """Producer ids of which only markers are known that the cleaner has emptied."""
    rows = np.zeros(len(ids), PRODUCER)
    rows["producer_id"], rows["sequence"] = ids, before
    return rows


def entries_of(batches: Batches, found: dict[str, Numbers], before: int) -> Numbers:
    """What some batches show of each producer id (`Grouped.shown`); `before` batches of the file come before it."""
    first, last, data, marked = (found[name] for name in ("first", "last", "data", "marked"))
    rows = np.zeros(len(first), PRODUCER)
    rows["producer_id"], rows["sequence"], rows["is_known"] = found["producer_id"], first + before, True
    rows["first_epoch"], rows["producer_epoch"] = batches.producer_epoch[first], batches.producer_epoch[last]
    rows["last_timestamp"] = batches.max_timestamp[last]
    rows["has_data"], rows["last_sequence"] = data >= 0, batches.last_sequence[data]
    rows["is_old"] = found["changed"] > data
    rows["has_marker"], rows["coordinator_epoch"] = marked >= 0, batches.coordinator_epoch[marked]
    return rows


def _not_among(ids: Numbers, others: Numbers) -> Numbers:
    """The ids that do not stand among others, which are in their order."""
    places = np.searchsorted(others, ids)
    missing: Numbers = ids[np.append(others, -1)[places] != ids]
    return missing


def known_producers(rows: Numbers) -> Numbers:
    """One row for each producer id, of rows that follow one another."""
    known = in_order_of_ids(rows[rows["is_known"]])
    only_emptied = _not_among(np.unique(rows["producer_id"][~rows["is_known"]]), known["producer_id"])
    others = np.zeros(len(only_emptied), PRODUCER)
    others["producer_id"] = only_emptied
    if not len(known):
        return others
    starts, place = starts_of(known["producer_id"]), np.arange(len(known))
    last = np.append(starts[1:], len(known)) - 1
    changes = np.concatenate(([False], known["first_epoch"][1:] != known["producer_epoch"][:-1]))
    changes[starts] = False
    data = np.maximum.reduceat(np.where(known["has_data"], place, -1), starts)
    changed = np.maximum.reduceat(np.where(known["is_old"] | (changes & ~known["has_data"]), place, -1), starts)
    marked = np.maximum.reduceat(np.where(known["has_marker"], place, -1), starts)
    joined = known[starts].copy()
    joined["producer_epoch"], joined["last_timestamp"] = known["producer_epoch"][last], known["last_timestamp"][last]
    joined["has_data"], joined["last_sequence"] = data >= 0, known["last_sequence"][data]
    joined["is_old"] = (changed >= data) & (changed >= 0)
    joined["has_marker"], joined["coordinator_epoch"] = marked >= 0, known["coordinator_epoch"][marked]
    return np.concatenate((joined, others))
