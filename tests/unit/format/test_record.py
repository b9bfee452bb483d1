"""Records inside a batch, and lengths that lie."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.writer import record, unsigned_varint, varint
from txnlog.errors import FormatError
from txnlog.format.record import Record, records
from txnlog.format.record import unsigned_varint as read_unsigned_varint
from txnlog.format.record import varint as read_varint

NULLABLE = st.none() | st.binary(max_size=300)


@given(st.integers(-(2**31), 2**31 - 1))
@example(-(2**31))
@example(2**31 - 1)
def test_every_variable_length_integer_is_read_again(number: int) -> None:
    content = varint(number)
    assert read_varint(b"\xff" + content, 1) == (number, 1 + len(content))


@pytest.mark.parametrize(
    ("content", "number"),
    [
        pytest.param("00", 0, id="0"),
        pytest.param("01", -1, id="-1"),
        pytest.param("7f", -64, id="-64"),
        pytest.param("8001", 64, id="64"),
        pytest.param("feffffff0f", 2147483647, id="largest"),
        pytest.param("ffffffff0f", -2147483648, id="smallest"),
    ],
)
def test_zig_zag_is_that_of_byteutils(content: str, number: int) -> None:
    """The values of Kafka's own `ByteUtilsTest`."""
    assert read_varint(bytes.fromhex(content), 0) == (number, len(content) // 2)


@pytest.mark.parametrize("content", [b"", b"\x80", b"\xff" * 5, b"\xff" * 20])
def test_an_integer_that_does_not_end_is_an_error(content: bytes) -> None:
    with pytest.raises(FormatError, match="does not end"):
        read_unsigned_varint(content, 0)


@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), NULLABLE, NULLABLE, st.integers(-(2**63), 2**63 - 1))))
def test_every_record_that_is_written_is_read_again(
    rows: list[tuple[int, bytes | None, bytes | None, int]],
) -> None:
    payload = b"".join(record(value, key, delta, timestamp) for delta, key, value, timestamp in rows)
    assert list(records(payload, len(rows))) == [Record(*row[:3]) for row in rows]


def test_headers_of_a_record_are_passed_over() -> None:
    body = b"\0\0" + varint(3) + varint(1) + b"k" + varint(1) + b"v" + varint(1) + varint(1) + b"h" + varint(1) + b"x"
    assert list(records(varint(len(body)) + body, 1)) == [Record(3, b"k", b"v")]


ONE = record(b"value", b"key")
LIES = [
    pytest.param(ONE, 2, id="more records are claimed than are there"),
    pytest.param(ONE, 0, id="fewer records are claimed than are there"),
    pytest.param(ONE, -1, id="a negative number of records"),
    pytest.param(ONE, 2**31 - 1, id="as many records as an int32 can hold"),
    pytest.param(varint(len(ONE)) + ONE[1:], 1, id="a record longer than the payload"),
    pytest.param(varint(-1), 1, id="a record of a negative length"),
    pytest.param(varint(0) + ONE, 2, id="a record of no bytes"),
    pytest.param(varint(1) + b"\0" + ONE, 2, id="a record that ends after its attributes"),
    pytest.param(varint(5) + b"\0\0\0" + varint(3) + b"k", 1, id="a key longer than its record"),
    pytest.param(varint(6) + b"\0\0\0" + varint(-1) + varint(2**31 - 1)[:2], 1, id="a length that is cut off"),
    pytest.param(varint(4) + b"\0\0\0" + varint(-1) + varint(-1) + b"\0", 1, id="a value beyond the record's end"),
]


@pytest.mark.parametrize(("payload", "count"), LIES)
def test_a_record_that_lies_is_an_error(payload: bytes, count: int) -> None:
    with pytest.raises(FormatError):
        list(records(payload, count))


@given(st.binary(max_size=60), st.integers(-1, 5))
def test_any_bytes_are_records_or_a_format_error(payload: bytes, count: int) -> None:
    with contextlib.suppress(FormatError):
        assert len(list(records(payload, count))) == max(count, 0)


def test_a_variable_length_integer_of_ten_bytes_is_a_timestamp_and_never_a_length() -> None:
    long = unsigned_varint(2**63)
    assert read_unsigned_varint(long, 0, 10) == (2**63, 10)
    with pytest.raises(FormatError):
        read_unsigned_varint(long, 0)
