"""Compiled or not, the walk from batch to batch finds the same."""

from __future__ import annotations

import struct
import subprocess
import sys
from typing import Any

import fastcrc
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import binding

from tests.writer import Bytes, batch, data, marker, message, record
from txnlog.format import batch as wire
from txnlog.format import compiled_walk, twins
from txnlog.format import walk as walks
from txnlog.format.headers import NAMES, Headers
from txnlog.format.scan import Run, scan
from txnlog.format.twins import loaded
from txnlog.format.walk import Steps, Walk, Walker, walk_in_python, walk_with

COMPILED = walk_with(compiled_walk.walk)
EXTREME: dict[str, Any] = {
    "base_offset": 2**62 - 1,
    "partition_leader_epoch": -(2**31),
    "base_timestamp": -(2**63),
    "max_timestamp": 2**63 - 1,
    "producer_id": 2**63 - 1,
    "producer_epoch": -(2**15),
    "base_sequence": -(2**31),
}
# Magic is a signed byte.
UNKNOWN_MAGIC = data(5)[:16] + b"\x80" + data(5)[17:]
PIECES = st.one_of(
    st.builds(data, st.integers(0, 2**40), st.integers(0, 2**40), st.integers(0, 9), count=st.integers(1, 3)),
    st.builds(marker, st.integers(0, 2**40)),
    st.builds(message, st.integers(0, 99), st.integers(0, 1)),
    st.integers(0, 600).map(lambda size: batch(7, [record(b"x" * size)])),
    st.just(batch(last_offset_delta=2**31 - 1, **EXTREME)),
    st.builds(
        lambda length, magic: struct.pack(">qiiB", 5, length, 0, magic).ljust(max(12 + length, 0), b"x"),
        st.integers(-1, 80),
        st.sampled_from([0, 1, 2, 3, 127, 128, 255]),
    ),
    st.binary(max_size=90),
)
DAMAGE = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=3)


@st.composite
def windows(draw: st.DrawFn) -> bytes:
    """Batches, messages and others, with damaged bytes, cut anywhere."""
    content = bytearray(b"".join(draw(st.lists(PIECES, max_size=12))))
    for place, value in draw(DAMAGE) if content else ():
        content[int(place * len(content))] = value
    return bytes(content[: draw(st.integers(0, len(content)))])


def assert_same(found: Steps, expected: Steps) -> None:
    assert found.starts.tolist() == expected.starts.tolist()
    assert found.ends.tolist() == expected.ends.tolist()
    assert found.headers.table.tolist() == expected.headers.table.tolist()
    has_crc = expected.headers["magic"] >> 1 != 0
    assert found.crcs[has_crc].tolist() == expected.crcs[has_crc].tolist()


@settings(max_examples=500, deadline=None)
@given(window=windows())
def test_compiled_or_not_the_walk_finds_the_same(window: bytes) -> None:
    assert_same(COMPILED(memoryview(window)), walk_in_python(memoryview(window)))


@pytest.mark.parametrize("walk", [walk_in_python, COMPILED], ids=["python", "compiled"])
def test_every_number_of_a_header_is_the_one_that_struct_reads(walk: Walk) -> None:
    content = (
        batch(last_offset_delta=2**31 - 1, **EXTREME)
        + data(2, count=3)
        + message(3, 1, b"old")
        + data(4)
        + UNKNOWN_MAGIC
    )
    steps = walk(memoryview(content))
    rows = [steps.headers.row(index) for index in range(5)]
    for index in (0, 1, 3, 4):
        assert rows[index] == wire.RecordBatchHeader(*wire.HEADER.unpack_from(content, steps.starts[index]))
        assert steps.crcs[index] == rows[index].crc
    assert rows[2] == wire.legacy_header(memoryview(content)[steps.starts[2] :])
    assert Headers.of(rows).table.tolist() == steps.headers.table.tolist()


@pytest.mark.parametrize("size", [*range(49, 75), 4096])
def test_a_checksum_covers_every_byte_whatever_the_size(size: int) -> None:
    content = batch(1, [record(bytes(size % 256 for size in range(size)))])
    (crc,) = COMPILED(memoryview(content)).crcs
    assert crc == fastcrc.crc32.iscsi(content[wire.CHECKED_FROM :])


def test_small_batches_are_walked_by_compiled_code_once_there_have_been_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[str] = []

    def told(name: str, walk: Walk) -> Walk:
        def tell(window: memoryview) -> Steps:
            used.append(name)
            return walk(window)

        return tell

    monkeypatch.setattr(walks, "walk_in_python", told("python", walk_in_python))
    monkeypatch.setattr(walks, "walk_with", lambda put: told("compiled", walk_with(put)))
    small, large = data(1) * 40, batch(1, [record(b"x" * 100_000)])
    walker = Walker(enough=100)
    for window in (large, small, small, small, small, large, large, small, small):
        walker(memoryview(window))
    assert used == [*["python"] * 4, "compiled", "compiled", "python", "python", "compiled"]


@pytest.fixture
def no_twin_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "txnlog.format.compiled_walk", raising=False)


def found_of_five_windows() -> list[int]:
    walker, content = Walker(enough=50), data(1) * 40
    return [len(walker(memoryview(content)).starts) for _ in range(5)]


@pytest.mark.usefixtures("no_twin_loaded")
def test_without_numba_the_walk_stays_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    assert loaded("txnlog.format.compiled_walk", "walk") is None
    assert found_of_five_windows() == [40] * 5


@pytest.mark.usefixtures("no_twin_loaded")
def test_on_a_processor_without_the_instruction_the_walk_stays_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "get_host_cpu_features", dict)
    assert loaded("txnlog.format.compiled_walk", "walk") is None
    assert found_of_five_windows() == [40] * 5


def test_more_batches_than_are_walked_at_once_are_all_found(each_walk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walks, "AT_ONCE", 7)
    content = b"".join(data(offset) for offset in range(50)) + message(50, 1)
    runs = list(scan(Bytes(content)))
    assert all(isinstance(run, Run) for run in runs)
    offsets = np.concatenate([run.headers["base_offset"] for run in runs if isinstance(run, Run)])
    assert offsets.tolist() == list(range(51))
    assert len(runs) == (1 if each_walk == "python" else 8)
    assert len(NAMES) == len(wire.RecordBatchHeader._fields)


def test_what_cannot_be_kept_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    double: dict[str, Any] = {}
    # Code that no file holds has no place beside it.
    exec("def twice(number):\n    return 2 * number", double)
    assert twins.compiled("i8(i8)")(double["twice"])(21) == 42


def test_what_was_compiled_once_is_there_for_the_next_process() -> None:
    code = "from txnlog.format.compiled_walk import walk; print(sum(walk.stats.cache_hits.values()))"
    # The first keeps it, unless that was done before: whoever else removes caches meanwhile is none of its business.
    hits = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    ]
    assert hits[1] == "1"
