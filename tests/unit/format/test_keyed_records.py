"""Keys and values of many batches at a time are those of one record after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.writer import CODECS, Bytes, batch, record
from txnlog.format.batch import HEADER_SIZE, LENGTH_END
from txnlog.format.keyed_records import MOST_RECORDS, keyed_records
from txnlog.format.record import records
from txnlog.format.scan import Run, scan

KEYS = st.sampled_from([b"\0\1a", b"\0\1b", b"\0\2a" + bytes(150)])
RECORDS = st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=200)), max_size=5)


def run_of(*batches: bytes) -> Run:
    (run,) = scan(Bytes(b"".join(batches)))
    assert isinstance(run, Run)
    return run


def written(base_offset: int, content: list[tuple[bytes, bytes | None]], **header: object) -> bytes:
    return batch(base_offset, [record(value, key, delta) for delta, (key, value) in enumerate(content)], **header)  # type: ignore[arg-type]


def one_by_one(run: Run) -> list[tuple[int, bytes, bytes | None]]:
    found = []
    for index in range(len(run.headers)):
        header, start = run.headers.row(index), int(run.positions[index]) - run.start
        payload = bytes(run.window[start + HEADER_SIZE : start + LENGTH_END + header.batch_length])
        of_batch = records(payload, header.record_count)
        found += [(header.base_offset + each.offset_delta, each.key or b"", each.value) for each in of_batch]
    return found


def all_at_once(run: Run) -> list[tuple[int, bytes, bytes | None]]:
    found = keyed_records(run, np.arange(len(run.headers)))
    content = found.content.tobytes()
    return [
        (offset, content[key : key + length], None if size < 0 else content[value : value + size])
        for offset, key, length, value, size in zip(*(column.tolist() for column in found[2:7]), strict=True)
    ]


@given(st.lists(RECORDS, min_size=1, max_size=6))
def test_the_records_are_those_of_one_after_the_other(contents: list[list[tuple[bytes, bytes | None]]]) -> None:
    run = run_of(*(written(10 * number, content) for number, content in enumerate(contents)))
    assert all_at_once(run) == one_by_one(run)
    assert len(keyed_records(run, np.arange(len(contents))).left) == 0


@given(st.lists(RECORDS, min_size=1, max_size=6))
def test_the_last_record_of_each_key_is_found(contents: list[list[tuple[bytes, bytes | None]]]) -> None:
    run = run_of(*(written(10 * number, content) for number, content in enumerate(contents)))
    found = keyed_records(run, np.arange(len(contents)))
    last = {key: offset for offset, key, _ in one_by_one(run)}
    assert sorted(found.offsets[found.last_of_keys()].tolist()) == sorted(last.values())


@pytest.mark.parametrize(
    "odd",
    [
        *(pytest.param(written(5, [(b"\0\1a", b"v")], codec=codec), id=codec) for codec in CODECS[1:]),
        pytest.param(written(5, [(b"\0\1a", b"v")] * (MOST_RECORDS + 1)), id="many records"),
        pytest.param(batch(5, [record(b"v", None)]), id="a null key"),
        pytest.param(batch(5, [record(b"v", b"\0")], record_count=2), id="fewer records than claimed"),
        pytest.param(batch(5, [record(b"v", b"\0\1a"), b"\0"], record_count=1), id="bytes after the last record"),
        pytest.param(batch(5, [b"\x50\0\0\0\x06\0\1a\x02v\0"]), id="a record longer than the batch"),
        pytest.param(batch(5, [b"\x0c\0\0\0\x7e\0\1a\x02v\0"]), id="a key longer than the record"),
        pytest.param(batch(5, [b"\x14\0\0\0\x06\0\1a\x7ev\0"]), id="a value longer than the record"),
    ],
)
def test_a_batch_that_is_not_plain_is_left(odd: bytes) -> None:
    run = run_of(written(1, [(b"\0\1a", b"v")]), odd, written(900, [(b"\0\1b", None)]))
    found = keyed_records(run, np.arange(3))
    assert (found.offsets.tolist(), found.left.tolist()) == ([1, 900], [1])
