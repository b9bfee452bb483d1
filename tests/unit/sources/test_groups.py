"""Batches by producer id: compiled code finds what numpy finds, and is used once it pays."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from txnlog.sources import groups
from txnlog.sources.groups import MANY, NO_MARKER, Batches, Group, Grouped, Grouper, Totals, compiled_groups
from txnlog.times import LATEST_MS

IDS = {
    "none": [-1],
    "few": [-1, 0, 7, 1000],
    "far apart": [*range(0, 1 << 50, 1 << 44), 2**63 - 1],
    "one a transaction": list(range(1 << 14)),
}


def batches(ids: list[int], count: int, seed: int) -> Batches:
    """Batches of these producer ids, at random."""
    random = np.random.default_rng(seed)

    def some(values: list[Any], kind: Any) -> Any:
        return random.choice(np.array(values, kind), count)

    is_control, producer_id = some([False, False, True], np.bool_), some(ids, np.int64)
    marker = np.where(is_control, some([NO_MARKER, 0, 1, 2], np.int8), np.int8(NO_MARKER))
    offsets = np.arange(count) * 3
    return Batches(
        position=offsets * 100,
        base_offset=offsets,
        last_offset=offsets + 2,
        producer_id=producer_id,
        producer_epoch=some([0, 0, 1, 2], np.int16),
        first_time=offsets,
        max_timestamp=some([*range(-1, 50), LATEST_MS, LATEST_MS + 1], np.int64),
        is_log_append_time=some([False, True], np.bool_),
        records=some([-1, 0, 1, 50], np.int64),
        size_in_bytes=some([61, 200, 1 << 30], np.int64),
        leader_epoch=some([-1, 4], np.int32),
        crc=some([-1, 7, 1 << 31], np.int64),
        marker=marker,
        coordinator_epoch=some([-1, 0, 9], np.int32),
        last_sequence=some([0, 5], np.int32),
        is_control=is_control,
        is_event=some([False, True, True], np.bool_) & (producer_id >= 0) & (~is_control | (marker > NO_MARKER)),
        is_stamped=some([False, True], np.bool_),
    )


def as_lists(found: Grouped) -> dict[str, Any]:
    """All that both have, as plain numbers."""
    return found._asdict() | {
        "ended": found.ended.tolist(),
        "commits": found.commits.tolist(),
        "emptied": found.emptied.tolist(),
        "runs": {name: column.tolist() for name, column in found.runs.items()},
        "says": {name: column.tolist() for name, column in found.says.items()},
    }


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("count", [1, 50, 20_000])
@pytest.mark.parametrize("seed", range(3))
def test_compiled_code_finds_what_numpy_finds(ids: list[int], count: int, seed: int) -> None:
    compiled = compiled_groups()
    assert compiled is not None
    some, before = batches(ids, count, seed), Totals(seed * 1000, seed * 10**12, seed * 20)
    by_numpy, by_compiled = as_lists(groups.grouped_by_numpy(some, before)), as_lists(compiled(some, before))
    for name in ("runs", "says"):
        by_compiled[name] = {column: by_compiled[name][column] for column in by_numpy[name]}
    assert by_compiled == by_numpy


def test_many_batches_are_grouped_by_compiled_code_once_there_have_been_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[str] = []

    def told(name: str, group: Group) -> Group:
        def tell(some: Batches, before: Totals) -> Grouped:
            used.append(name)
            return group(some, before)

        return tell

    real = compiled_groups()
    assert real is not None
    monkeypatch.setattr(groups, "grouped_by_numpy", told("numpy", groups.grouped_by_numpy))
    monkeypatch.setattr(groups, "compiled_groups", lambda: told("compiled", real))
    grouper, few, many = Grouper(enough=MANY + 1), batches([1], 1, 0), batches([1], MANY, 0)
    for some in (many, few, few, many, few, many):
        grouper(some, Totals())
    assert used == ["numpy", "numpy", "numpy", "compiled", "numpy", "compiled"]


def test_without_numba_it_stays_with_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "txnlog.sources.compiled_groups", raising=False)
    monkeypatch.delattr("txnlog.sources.compiled_groups", raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "txnlog.format.kept", raising=False)
    monkeypatch.delattr("txnlog.format.kept", raising=False)
    assert compiled_groups() is None
    grouper = Grouper(enough=1)
    for _ in range(2):
        assert grouper(batches([1], MANY, 0), Totals()).totals.records > 0
