"""Ranges of what dumps showed of a log join only where they are of one log, whatever an unclean election took."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from txnlog.detection.whole_ranges import (
    EpochStart,
    SeenEpoch,
    WholeRange,
    contradicts,
    differs,
    joined_ranges,
    reaching_back,
    records_of,
    without_old_holes,
)

# A record is its leader epoch and a number of its own.
Log = list[tuple[int, int]]


def whole(start: int, end: int, *epochs: tuple[int, int], topic: str = "t") -> WholeRange:
    """A range whose first epoch is 0 unless given: (epoch, start offset)."""
    starts = tuple(EpochStart(*each) for each in epochs or ((0, start),))
    return WholeRange("c", 0, topic, start, end, start, end - 1, starts)


@pytest.mark.parametrize(
    ("one", "other", "want"),
    [
        pytest.param(whole(0, 10), whole(5, 20), [whole(0, 20)], id="they share records"),
        pytest.param(whole(0, 10), whole(2, 5), [whole(0, 10)], id="one has all of the other"),
        pytest.param(whole(0, 10), whole(9, 20), [whole(0, 20)], id="they share one record"),
        pytest.param(whole(0, 10), whole(10, 20), [whole(0, 10), whole(10, 20)], id="they touch"),
        pytest.param(whole(0, 10), whole(11, 20), [whole(0, 10), whole(11, 20)], id="a hole"),
        pytest.param(
            whole(0, 10), whole(5, 20, topic="u"), [whole(0, 10), whole(5, 20, topic="u")], id="a recreated topic"
        ),
        pytest.param(
            whole(0, 10),
            whole(5, 20, (0, 5), (1, 8)),
            [whole(0, 10), whole(5, 20, (0, 5), (1, 8))],
            id="another epoch at one of the offsets that both have",
        ),
        pytest.param(
            whole(0, 10),
            whole(5, 20, (0, 5), (3, 10), (4, 12)),
            [whole(0, 20, (0, 0), (3, 10), (4, 12))],
            id="elections since",
        ),
    ],
)
def test_two_ranges(one: WholeRange, other: WholeRange, want: list[WholeRange]) -> None:
    assert joined_ranges([one, other]) == joined_ranges([other, one]) == want


def test_touching_ranges_do_not_differ_and_other_epochs_at_an_offset_do() -> None:
    assert not differs(whole(0, 10), whole(10, 20))
    assert differs(whole(0, 10), whole(5, 20, (0, 5), (1, 8)))


def test_what_differs_from_one_range_joins_none() -> None:
    """Else a third one would lead from what was lost to what took its place."""
    lost, replaced, between = whole(0, 100), whole(90, 150, (0, 90), (1, 95)), whole(50, 92)
    assert len(joined_ranges([lost, replaced, between])) == 3


@pytest.mark.parametrize(
    ("seen", "want"),
    [
        pytest.param(SeenEpoch(0, 0, 4), False, id="an earlier epoch before it"),
        pytest.param(SeenEpoch(1, 0, 4), False, id="its first epoch before it"),
        pytest.param(SeenEpoch(2, 0, 4), True, id="a later epoch before it"),
        pytest.param(SeenEpoch(1, 12, 12), False, id="its epoch"),
        pytest.param(SeenEpoch(2, 12, 12), True, id="another epoch"),
        pytest.param(SeenEpoch(2, 15, 30), False, id="its last epoch, from its start to after it"),
        pytest.param(SeenEpoch(3, 20, 30), False, id="a later epoch after it"),
        pytest.param(SeenEpoch(1, 20, 30), True, id="an earlier epoch after it"),
    ],
)
def test_records_elsewhere_that_contradict_a_range(seen: SeenEpoch, want: bool) -> None:
    assert contradicts(whole(10, 20, (1, 10), (2, 15)), seen) is want


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Log], list[tuple[WholeRange, Log]]]:
    """All states that a log was in, and ranges that dumps showed of some. A new leader may have lost the end."""
    log: Log = []
    states, shown, epoch = [], [], 0
    for number in range(draw(st.integers(1, 12))):
        if draw(st.booleans()):
            epoch += 1
            log = log[: len(log) - draw(st.integers(0, min(len(log), 3)))]
        log = [*log, *((epoch, number * 100 + each) for each in range(draw(st.integers(0, 4))))]
        states.append(log)
        if bool(log) and draw(st.booleans()):
            start = draw(st.integers(0, len(log) - 1))
            shown.append((_shown(log, start, draw(st.integers(start + 1, len(log)))), log))
    return states, shown


def _shown(log: Log, start: int, end: int) -> WholeRange:
    by_epoch = groupby(range(start, end), key=lambda offset: log[offset][0])
    return whole(start, end, *((epoch, next(iter(offsets))) for epoch, offsets in by_epoch))


@given(histories())
def test_a_joined_range_is_of_one_log_that_lost_nothing(
    history: tuple[list[Log], list[tuple[WholeRange, Log]]],
) -> None:
    states, shown = history
    for found in joined_ranges(each for each, _ in shown):
        parts = [(part, log) for part, log in shown if part == found or _is_part(part, found)]
        records = {(offset, log[offset]) for part, log in parts for offset in range(part.from_offset, part.to_offset)}
        contents = [set(enumerate(log)) for log in states]
        assert any(records <= content for content in contents)
        assert {offset for offset, _ in records} == set(range(found.from_offset, found.to_offset))


def _is_part(part: WholeRange, found: WholeRange) -> bool:
    within = found.from_offset <= part.from_offset and part.to_offset <= found.to_offset
    return within and not differs(part, found)


@given(histories())
def test_as_many_records_are_counted_as_the_ranges_show(
    history: tuple[list[Log], list[tuple[WholeRange, Log]]],
) -> None:
    ranges = [each for each, _ in history[1]]
    shown = {(offset, log[offset]) for part, log in history[1] for offset in range(part.from_offset, part.to_offset)}
    assert records_of(ranges) == records_of(joined_ranges(ranges)) == len(shown)


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_in_which_dumps_are_read_does_not_matter(
    history: tuple[list[Log], list[tuple[WholeRange, Log]]], dice: object
) -> None:
    ranges = [each for each, _ in history[1]]
    shuffled = list(ranges)
    dice.shuffle(shuffled)  # type: ignore[attr-defined]
    assert joined_ranges(shuffled) == joined_ranges(ranges)


def test_a_range_reaches_back_through_those_that_join_it() -> None:
    own = whole(40, 50)
    archived = [whole(0, 10), whole(20, 30), whole(25, 45), replace(whole(5, 45), topic_id="u")]
    assert reaching_back(own, archived).from_offset == 20
    assert reaching_back(own, [*archived, whole(45, 60, (1, 45))]) == own


def pruned(found: WholeRange, offset: int) -> WholeRange:
    """The range without its records below an offset; it keeps its last one."""
    start = max(found.from_offset, min(offset, found.to_offset - 1))
    return replace(found, from_offset=start, written_from=start)


@pytest.mark.parametrize(
    ("one", "other", "want"),
    [
        pytest.param(
            pruned(whole(0, 10), 6), whole(5, 20), pruned(whole(0, 20), 6), id="a dump shows pruned records again"
        ),
        pytest.param(
            pruned(whole(0, 10), 9), whole(2, 5), pruned(whole(0, 10), 9), id="a dump shows nothing but pruned records"
        ),
        pytest.param(whole(0, 10), pruned(whole(5, 20), 15), pruned(whole(0, 20), 15), id="an older dump afterwards"),
        pytest.param(
            pruned(whole(0, 10), 6),
            whole(5, 20, (1, 5)),
            [pruned(whole(0, 10), 6), whole(5, 20, (1, 5))],
            id="another epoch at offsets that were pruned",
        ),
    ],
)
def test_a_pruned_range_and_another(one: WholeRange, other: WholeRange, want: WholeRange | list[WholeRange]) -> None:
    assert joined_ranges([one, other]) == joined_ranges([other, one]) == (want if isinstance(want, list) else [want])


Shown = tuple[list[Log], list[tuple[WholeRange, Log]]]
SEEN = st.builds(lambda epoch, first, more: SeenEpoch(epoch, first, first + more), *[st.integers(0, 12)] * 3)


@given(histories(), st.lists(st.integers(0, 30), min_size=12, max_size=12), SEEN)
def test_pruned_ranges_are_whole_reach_no_further_back_and_contradict_the_same(
    history: Shown, cuts: list[int], seen: SeenEpoch
) -> None:
    full = [each for each, _ in history[1]]
    cut = [pruned(each, offset) for each, offset in zip(full, cuts, strict=False)]
    for before, after in zip(full, cut, strict=True):
        assert contradicts(before, seen) == contradicts(after, seen)
        assert [differs(before, each) for each in full] == [differs(after, each) for each in cut]
    for found in joined_ranges(cut):
        parts = [each for each in cut if found.known_from <= each.known_from and each.to_offset <= found.to_offset]
        there = {offset for each in parts for offset in range(each.from_offset, each.to_offset)}
        assert there >= set(range(found.from_offset, found.to_offset))
    for own in full:
        assert reaching_back(own, cut).from_offset >= reaching_back(own, full).from_offset


@given(histories(), st.integers(0, 30), SEEN)
def test_a_hole_that_is_forgotten_contradicts_the_same_logs(history: Shown, before: int, seen: SeenEpoch) -> None:
    ranges = joined_ranges(each for each, _ in history[1])
    left = without_old_holes(ranges, before)
    assert any(contradicts(each, seen) for each in ranges) == any(contradicts(each, seen) for each in left)
    assert {each.log for each in left} == {each.log for each in ranges}
    assert without_old_holes(left, before) == left


def test_an_old_hole_goes_where_both_ends_have_one_leader_epoch() -> None:
    assert without_old_holes([whole(0, 10), whole(15, 20)], 10) == [pruned(whole(0, 20), 15)]
    assert without_old_holes([whole(0, 10), whole(15, 20)], 9) == [whole(0, 10), whole(15, 20)]
    elected = whole(15, 20, (1, 15))
    assert without_old_holes([whole(0, 10), elected], 10) == [whole(0, 10), elected]
