"""Lines of labels and values as columns, whatever stands between them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from txnlog.dump_log.line_layouts import LARGEST, LARGEST_NUMBER_OF_LAYOUTS, SMALLEST, Labelled, Lines

NUMBERS = st.integers(SMALLEST, LARGEST)


def labelled(content: bytes, skip: int = 0) -> list[Labelled]:
    lines = Lines(content)
    return list(lines.labelled(np.arange(len(lines)), skip))


def as_dicts(groups: list[Labelled]) -> dict[int, dict[str, object]]:
    """Each line's labels, by its index."""
    return {
        row: {**{label: int(values[place]) for label, values in group.numbers.items()}, **group.words}
        for group in groups
        for place, row in enumerate(group.rows.tolist())
    }


@given(st.lists(st.tuples(NUMBERS, st.sampled_from(["none", "gzip", "lz4"]), NUMBERS), min_size=1, max_size=50))
def test_what_was_printed_is_read(rows: list[tuple[int, str, int]]) -> None:
    content = "".join(f"offset: {first} codec: {word} size: {last}\n" for first, word, last in rows)
    expected = {index: {"offset": first, "codec": word, "size": last} for index, (first, word, last) in enumerate(rows)}
    assert as_dicts(labelled(content.encode())) == expected


def test_lines_of_several_layouts() -> None:
    content = b"offset: 1 isvalid: true\noffset: 2 isvalid: false\n| offset: 3 isvalid: true\r\noffset: 4 isvalid: true"
    found = as_dicts(labelled(content))
    assert found == {
        0: {"offset": 1, "isvalid": "true"},
        1: {"offset": 2, "isvalid": "false"},
        3: {"offset": 4, "isvalid": "true"},
    }
    lines = Lines(content)
    assert as_dicts(list(lines.labelled(np.array([2]), skip=2))) == {2: {"offset": 3, "isvalid": "true"}}


@pytest.mark.parametrize(
    "garbled",
    [
        b"offset: 1x isvalid: true",
        b"offset: 1-2 isvalid: true",
        b"offset: -- isvalid: true",
        b"offset: 1 2 isvalid: true",
        b"offset:  isvalid: true",
        b"offset: 1.5 isvalid: true",
        b"off5set: 1 isvalid: true",
        b"offset: 99999999999999999999 isvalid: true",
        b"offset 1 isvalid true",
        b"offset: 1 isvalid:",
        b"x",
        b"",
    ],
)
def test_a_garbled_line_has_no_number_and_spoils_no_other(garbled: bytes) -> None:
    content = b"offset: 1 isvalid: true\n" + garbled + b"\noffset: 3 isvalid: true\n"
    found = as_dicts(labelled(content))
    assert {row: found[row] for row in (0, 2)} == {
        0: {"offset": 1, "isvalid": "true"},
        2: {"offset": 3, "isvalid": "true"},
    }
    assert not isinstance(found.get(1, {}).get("offset"), int)


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
def test_an_empty_line_at_the_end_spoils_no_other(end: bytes) -> None:
    lines = Lines(b"| offset: 1 isvalid: true\n| offset: 99999999999999999999 isvalid: true\n| " + end)
    found = as_dicts(list(lines.labelled(np.flatnonzero(lines.start_with(b"| ")), skip=2)))
    assert found[0] == {"offset": 1, "isvalid": "true"}
    assert 1 not in found


@pytest.mark.parametrize(("word", "number"), [("OptionalLong[7]", 7), ("Some(-7)", -7)])
def test_an_optional_number_is_one(word: str, number: int) -> None:
    (group,) = labelled(f"horizon: {word} size: 3\n".encode())
    assert group.numbers["horizon"].tolist() == [number]
    (empty,) = labelled(b"horizon: OptionalLong.empty size: 3\n")
    assert (empty.words["horizon"], set(empty.numbers)) == ("OptionalLong.empty", {"size"})


def test_a_line_may_end_in_a_space() -> None:
    assert as_dicts(labelled(b"producerId: 5 time: 9 \nproducerId: 6 time: 8 \n")) == {
        0: {"producerId": 5, "time": 9},
        1: {"producerId": 6, "time": 8},
    }


def test_more_layouts_than_a_release_has_are_not_read() -> None:
    words = ["".join(chr(97 + number // 26**place % 26) for place in range(4)) for number in range(5_000)]
    content = "".join(f"codec: {word} size: {number}\n" for number, word in enumerate(words))
    assert len(as_dicts(labelled(content.encode()))) == LARGEST_NUMBER_OF_LAYOUTS


def test_lines_start_and_end() -> None:
    lines = Lines(b"ab\n\nb\nabc")
    assert (lines.starts.tolist(), lines.ends.tolist()) == ([0, 3, 4, 6], [2, 3, 5, 9])
    assert lines.start_with(b"ab").tolist() == [True, False, False, True]
    assert len(Lines(b"")) == 0
