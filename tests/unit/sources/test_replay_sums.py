"""What batches add up to, compared with a walk over them one by one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from txnlog.sources import replay_sums
from txnlog.sources.producer_batches import COMMIT, EARLIEST, LATEST, NO_MARKER, Batches
from txnlog.sources.replay_sums import Sums
from txnlog.times import LATEST_MS

TIMES = st.one_of(st.integers(0, 50), st.sampled_from([-1, LATEST_MS, LATEST_MS + 1]))


class One(NamedTuple):
    """One batch; `marker` is `NO_MARKER` for data."""

    producer_id: int
    producer_epoch: int
    marker: int
    is_event: bool
    has_broker_timestamp: bool
    time: int
    first_time: int
    records: int
    offsets: int
    sequence: int
    is_emptied: bool


def emptied(one: One) -> One:
    """A marker that the cleaner has emptied is a control batch without a record."""
    return one._replace(marker=NO_MARKER, records=0) if one.is_emptied else one


BATCHES = st.lists(
    st.builds(
        One,
        st.integers(0, 3),
        st.integers(0, 2),
        st.sampled_from([NO_MARKER, NO_MARKER, 0, 1]),
        st.sampled_from([True, True, False]),
        st.booleans(),
        TIMES,
        TIMES,
        st.integers(-1, 3),
        st.integers(1, 3),
        st.integers(-1, 9),
        st.sampled_from([False, False, False, True]),
    ).map(emptied),
    max_size=24,
)


def placed(batches: list[One]) -> list[tuple[int, int, One]]:
    """Each batch with its base offset and its position."""
    found, offset = [], 0
    for number, each in enumerate(batches):
        found.append((offset, 100 * number, each))
        offset += each.offsets
    return found


def columns(found: list[tuple[int, int, One]]) -> Batches:
    offsets = np.array([offset for offset, _, _ in found], np.int64)
    ones = [each for _, _, each in found]

    def of(name: str, kind: Any = np.int64) -> Any:
        return np.array([getattr(each, name) for each in ones], kind)

    return Batches(
        position=np.array([position for _, position, _ in found], np.int64),
        base_offset=offsets,
        last_offset=offsets + of("offsets") - 1,
        producer_id=of("producer_id"),
        producer_epoch=of("producer_epoch", np.int16),
        first_time=of("first_time"),
        max_timestamp=of("time"),
        is_log_append_time=of("has_broker_timestamp", np.bool_),
        records=of("records"),
        size_in_bytes=np.full(len(found), 100, np.int64),
        leader_epoch=np.full(len(found), 4, np.int32),
        crc=offsets + (1 << 31),
        marker=of("marker", np.int8),
        coordinator_epoch=of("producer_epoch", np.int32),
        last_sequence=of("sequence", np.int32),
        is_control=(of("marker", np.int8) > NO_MARKER) | of("is_emptied", np.bool_),
        is_event=of("is_event", np.bool_) & ~of("is_emptied", np.bool_),
        has_broker_timestamp=of("has_broker_timestamp", np.bool_),
    )


def summed(batches: list[One], cuts: list[int], named_offsets: list[int]) -> Sums:
    found, sums = placed(batches), Sums(named_offsets)
    places = sorted({0, len(found), *(cut % (len(found) + 1) for cut in cuts)})
    for start, end in pairwise(places):
        sums.add(columns(found[start:end]))
    return sums


def stamps(batches: list[One]) -> list[tuple[int, int]]:
    """Offsets and times by a broker's clock."""
    return [(o, one.time) for o, _, one in placed(batches) if one.has_broker_timestamp and 0 <= one.time <= LATEST_MS]


def latest_before(batches: list[One], offset: int) -> int:
    return max((time for place, time in stamps(batches) if place < offset), default=EARLIEST)


def earliest_after(batches: list[One], offset: int) -> int:
    return min((time for place, time in stamps(batches) if place > offset), default=LATEST)


def before(batches: list[One], offset: int) -> tuple[int, int]:
    """Records and bytes of the batches that end before the offset; one record where nobody says how many."""
    ended = [one for place, _, one in placed(batches) if place + one.offsets - 1 < offset]
    return sum(1 if one.records < 0 else one.records for one in ended), 100 * len(ended)


def last_data_before(batches: list[One], offset: int) -> int:
    """The last offset before this one that is of no control batch."""
    ends = [
        place + one.offsets - 1
        for place, _, one in placed(batches)
        if place < offset and one.marker == NO_MARKER and not one.is_emptied
    ]
    return max(ends, default=-1)


def open_runs(batches: list[One]) -> dict[int, list[tuple[int, int, One]]]:
    """By producer id the batches of data after its last marker."""
    found: dict[int, list[tuple[int, int, One]]] = {}
    for place in placed(batches):
        if place[2].is_event and place[2].marker > NO_MARKER:
            found.pop(place[2].producer_id, None)
        elif place[2].is_event and not place[2].is_emptied:
            found.setdefault(place[2].producer_id, []).append(place)
    return found


@pytest.fixture(params=[1, 1 << 17], ids=["summed up at every step", "summed up at the end"], autouse=True)
def waiting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_sums, "WAITING", request.param)


@settings(deadline=None, max_examples=300)
@given(BATCHES, st.lists(st.integers(0, 30), max_size=4))
def test_open_data_is_what_follows_the_last_marker_of_its_producer_id(batches: list[One], cuts: list[int]) -> None:
    expected = {}
    for producer_id, found in open_runs(batches).items():
        (start, position, first), (last_offset, _, last) = found[0], found[-1]
        ones = [one for _, _, one in found]
        expected[producer_id] = {
            "start_offset": start,
            "position": position,
            "first_timestamp": first.first_time if 0 <= first.first_time <= LATEST_MS else first.time,
            "first_leader_epoch": 4,
            "first_crc": start + (1 << 31),
            "broker_timestamp_before_start": latest_before(batches, start),
            "records_before": before(batches, start)[0],
            "bytes_before": before(batches, start)[1],
            "last_data_offset_before": last_data_before(batches, start),
            "last_batch_offset": last_offset,
            "last_timestamp": last.time,
            "producer_epoch": last.producer_epoch,
            "is_log_append_time": last.has_broker_timestamp,
            "broker_timestamp_before": latest_before(batches, last_offset),
            "broker_timestamp_after": earliest_after(batches, last_offset),
            "lowest_producer_epoch": min(one.producer_epoch for one in ones),
            "batches": len(ones),
            "records": sum(max(one.records, 0) for one in ones),
            "lacks_records": any(one.records < 0 for one in ones),
            "size_in_bytes": 100 * len(ones),
        }
    rows = summed(batches, cuts, []).open_data()
    assert {
        int(row["producer_id"]): {name: row[name] for name in expected[int(row["producer_id"])]} for row in rows
    } == (expected)


@settings(deadline=None, max_examples=200)
@given(BATCHES, st.lists(st.integers(0, 30), max_size=4))
def test_the_last_marker_of_each_producer_id_is_kept(batches: list[One], cuts: list[int]) -> None:
    expected = {
        one.producer_id: (offset, position, one.marker, one.producer_epoch, one.time)
        for offset, position, one in placed(batches)
        if one.is_event and one.marker > NO_MARKER
    }
    names = ("start_offset", "position", "marker", "producer_epoch", "max_timestamp")
    rows = summed(batches, cuts, []).markers()
    assert {row["producer_id"]: tuple(row[name] for name in names) for row in rows} == expected


@settings(deadline=None, max_examples=200)
@given(BATCHES, st.lists(st.integers(0, 30), max_size=4))
def test_commits_that_closed_data_are_counted_within_a_piece(batches: list[One], cuts: list[int]) -> None:
    closing: dict[int, int] = {}
    is_open: set[int] = set()
    for one in (one for one in batches if one.is_event and not one.is_emptied):
        if one.marker == NO_MARKER:
            is_open.add(one.producer_id)
            continue
        closing.setdefault(one.producer_id, 0)
        closing[one.producer_id] += one.marker == COMMIT and one.producer_id in is_open
        is_open.discard(one.producer_id)
    whole, cut = (summed(batches, where, []).markers() for where in ([], cuts))
    assert {row["producer_id"]: row["commits"] for row in whole} == closing
    assert all(row["commits"] <= closing[row["producer_id"]] for row in cut)


@settings(deadline=None, max_examples=200)
@given(BATCHES, st.lists(st.integers(0, 30), max_size=4), st.lists(st.integers(0, 60), max_size=3))
def test_of_a_named_offset_it_is_known_what_lies_around_it(
    batches: list[One], cuts: list[int], named_offsets: list[int]
) -> None:
    end = sum(one.offsets for one in batches)
    expected = {
        offset: (*before(batches, offset), latest_before(batches, offset), earliest_after(batches, offset))
        for offset in named_offsets
        if offset < end
    }
    names = ("records_before", "bytes_before", "broker_timestamp_before_start", "broker_timestamp_after")
    rows = summed(batches, cuts, named_offsets).named_offsets()
    assert {row["start_offset"]: tuple(row[name] for name in names) for row in rows} == expected


@settings(deadline=None, max_examples=100)
@given(BATCHES, st.lists(st.integers(0, 30), max_size=4))
def test_the_whole_file_is_summed_up(batches: list[One], cuts: list[int]) -> None:
    sums, end = summed(batches, cuts, []), sum(one.offsets for one in batches)
    times = [time for _, time in stamps(batches)]
    assert (sums.records, sums.size_in_bytes) == before(batches, end)
    assert (sums.batches, sums.first_offset) == (len(batches), 0 if batches else None)
    assert (sums.latest_broker_timestamp, sums.earliest_broker_timestamp) == (
        max(times, default=EARLIEST),
        min(times, default=LATEST),
    )


def known_producers(batches: list[One]) -> dict[int, dict[str, Any]]:
    """What a broker keeps of each producer id, batch by batch (`ProducerStateEntry`)."""
    known: dict[int, dict[str, Any]] = {}
    for one in batches:
        state = known.setdefault(one.producer_id, {"is_known": False})
        if one.is_emptied:
            continue
        if not state["is_known"]:
            state |= {"is_known": True, "first_epoch": one.producer_epoch, "has_data": False, "has_marker": False}
            state |= {"producer_epoch": one.producer_epoch, "is_old": False}
        if one.producer_epoch != state["producer_epoch"]:
            state["is_old"] = True
        state |= {"producer_epoch": one.producer_epoch, "last_timestamp": one.time}
        if one.marker > NO_MARKER:
            state |= {"has_marker": True, "coordinator_epoch": one.producer_epoch}
        else:
            state |= {"has_data": True, "last_sequence": one.sequence, "is_old": False}
    return known


@settings(deadline=None, max_examples=300)
@given(BATCHES, st.lists(st.integers(0, 30), max_size=4))
def test_what_a_broker_keeps_of_each_producer_id_is_kept(batches: list[One], cuts: list[int]) -> None:
    expected = known_producers(batches)
    rows = summed(batches, cuts, []).producers()
    assert {
        int(row["producer_id"]): {name: row[name] for name in expected[int(row["producer_id"])]} for row in rows
    } == expected
