"""Compiled or not, the lines of a text are read the same: numbers, words, and which lines are none."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.sources.test_text_traps import NOT_WHOLE
from txnlog.dump_log import line_layouts
from txnlog.dump_log.dump_text import ABORTED, BATCH, ENTRY, MESSAGE, RECORD
from txnlog.dump_log.line_layouts import LARGEST, SMALLEST, Lines
from txnlog.format.twins import Twin

pytest.importorskip("numba")

TEXTS = [path.read_bytes() for path in sorted((Path(__file__).parents[2] / "texts").glob("*/*.txt"))]
STARTS = (BATCH, MESSAGE, RECORD, ENTRY, ABORTED)
Found = list[tuple[list[int], dict[str, list[int]], dict[str, str]]]


@contextmanager
def compiling_after(size: int) -> Iterator[None]:
    """Within it, lines are read by compiled code once so many bytes were read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_layouts, "_twin", Twin("txnlog.dump_log.compiled_text", "with_layout", size))
        yield


def found(content: bytes, size: int) -> list[Found]:
    lines = Lines(content)
    chosen = [(np.flatnonzero(lines.start_with(start)), 2 * (start == RECORD)) for start in STARTS]
    with compiling_after(size):
        return [
            [(group.rows.tolist(), as_lists(group.numbers), group.words) for group in lines.labelled(wanted, skip)]
            for wanted, skip in [*chosen, (np.flatnonzero(lines.ends > lines.starts), 0)]
        ]


def as_lists(numbers: dict[str, Any]) -> dict[str, list[int]]:
    return {label: values.tolist() for label, values in numbers.items()}


def assert_same(content: bytes) -> None:
    assert found(content, 1) == found(content, 1 << 60)


def test_the_texts_of_all_releases() -> None:
    assert len(TEXTS) == 5 * 17
    for content in TEXTS:
        assert_same(content)


@pytest.mark.parametrize("case", NOT_WHOLE)
def test_what_is_not_whole(case: str) -> None:
    assert_same(NOT_WHOLE[case])


NUMBERS = st.one_of(
    st.integers(SMALLEST - 1, LARGEST + 1).map(lambda number: b"%d" % number),
    st.from_regex(rb"-?[0-9]{1,30}", fullmatch=True),
    st.sampled_from([b"", b"-", b"--1", b"1-2", b"- 1", b"1 2", b"+1", b"1.5", b"0x1f", b"1e3", b"\xd9\xa3", b"7\0"]),
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """The text of a release with some of its numbers, bytes or lines changed."""
    content = draw(st.sampled_from(TEXTS))[: draw(st.integers(300, 6_000))]
    for _ in range(draw(st.integers(1, 4))):
        content = draw(st.sampled_from([with_a_number, with_a_byte, without_bytes, with_a_line]))(draw, content)
    return content


def with_a_number(draw: st.DrawFn, content: bytes) -> bytes:
    places = [match.span() for match in re.finditer(rb"-?\d+", content)]
    start, end = draw(st.sampled_from(places or [(0, 0)]))
    return content[:start] + draw(NUMBERS) + content[end:]


def with_a_byte(draw: st.DrawFn, content: bytes) -> bytes:
    place = draw(st.integers(0, len(content)))
    byte = draw(st.one_of(st.sampled_from([bytes([each]) for each in b"\n\r -0:9[\xff"]), st.binary(max_size=2)))
    return content[:place] + byte + content[place + draw(st.integers(0, 1)) :]


def without_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    place = draw(st.integers(0, len(content)))
    return content[:place] + content[place + draw(st.integers(1, 300)) :]


def with_a_line(draw: st.DrawFn, content: bytes) -> bytes:
    lines = content.split(b"\n")
    line = draw(st.sampled_from(lines))
    return b"\n".join([*lines[:3], draw(st.sampled_from([line, line + b" ", line[1:], line + line])), *lines[3:]])


@given(damaged())
def test_damaged_texts(content: bytes) -> None:
    assert_same(content)


@pytest.mark.parametrize(
    "lines",
    [
        # Digits that have moved to a neighbour make the same sums, and no number of a line of its own.
        [b"offset: 1 codec: lz4", b"offset: 2 codec: 4lz", b"off3set:  codec: lz4"],
        [b"offset: 1 codec: lz4", b"offset: 2 codec: lz"],
        [b"offset: 1 codec: lz4", b"offset: 2 codec: lz5", b"offset: 2 codec: lz-4"],
        [b"offset: %d codec: none" % LARGEST, b"offset: %d codec: none" % SMALLEST],
        [b"offset: 1 codec: none", b"offset: %d codec: none" % 10**18],
        [b"offset: 1 codec: none", b"offset: 0000000000000000000000000007 codec: none"],
        [b"offset: 1 codec: " + bytes([97 + each]) * 2 for each in range(20)],
        [b"horizon: OptionalLong[7] size: 3", b"horizon: OptionalLong.empty size: 3", b"horizon: Some(-7) size: 3"],
        [b"offset: 1 codec: none ", b"offset: 1 codec: none", b"offset: 1 codec: none  "],
        [b"offset: 1 -codec: none"],
        [b"offset: 1 word: a_b", b"offset: 1 word: a_b"],
    ],
)
def test_lines_that_one_of_the_two_could_take_for_others(lines: list[bytes]) -> None:
    assert_same(b"\n".join(lines))


def test_lines_of_few_known_layouts_are_read_by_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_other_way(*arguments: object) -> None:
        raise AssertionError("not by compiled code")

    monkeypatch.setattr(line_layouts, "_by_layout", no_other_way)
    lines = Lines(b"offset: 1 valid: true\noffset: -25 valid: false\noffset: 300 valid: true\n" * 10)
    with compiling_after(1):
        true, false = lines.labelled(np.arange(len(lines)))
    assert true.numbers["offset"].tolist() == [1, 300] * 10
    assert (false.rows.tolist(), false.words) == (list(range(1, 30, 3)), {"valid": "false"})


def test_without_numba_all_is_read_the_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = found(TEXTS[-1], 1 << 60)
    monkeypatch.delitem(sys.modules, "txnlog.dump_log.compiled_text", raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)
    assert found(TEXTS[-1], 1) == expected
