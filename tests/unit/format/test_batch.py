"""Headers of batches: bytes that Kafka wrote with the values kafka-dump-log prints, and what was written."""

from __future__ import annotations

import struct

import fastcrc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden import COORDINATOR, DATA, DATA_ZSTD, MAGIC_0, MAGIC_1, MARKER, WRAPPER
from tests.writer import Bytes, batch, message, sealed
from txnlog.format.batch import (
    CHECKED_FROM,
    HEADER,
    HEADER_SIZE,
    RecordBatchHeader,
    crc_of_legacy,
    is_plausible,
    legacy_header,
)
from txnlog.format.checksum import valid_length_at
from txnlog.format.snapshot import ProducerSnapshotEntry
from txnlog.format.structure import numpy_dtype, packed
from txnlog.format.transaction_index import AbortedTransaction

# The values are kafka-dump-log's.
HEADERS = {
    "data with zstd": (
        DATA_ZSTD,
        RecordBatchHeader(18, 192, 0, 2, 2632090801, 20, 2, 1795254396817, 1795254396818, 1010, 1, 15, 3),
    ),
    "data": (
        DATA,
        RecordBatchHeader(0, 85, 0, 2, 2587589008, 16, 1, 1795254433113, 1795254433114, 1018, 3, 5, 2),
    ),
    "marker": (
        MARKER,
        RecordBatchHeader(1, 66, 2, 2, 1928435420, 48, 0, 1795254890872, 1795254890872, 1000, 1, -1, 1),
    ),
    "coordinator record": (
        COORDINATOR,
        RecordBatchHeader(2, 158, 3, 2, 1391151112, 0, 0, 1795253563623, 1795253563623, -1, -1, -1, 1),
    ),
}

MESSAGES = {
    "magic 0": (MAGIC_0, (41, 24, 0, 2037059205, 0, -1, 1)),
    "magic 1 with CreateTime": (MAGIC_1, (42, 23, 1, 1033678714, 0, 1500000000123, 1)),
    "magic 1, gzip wrapper with LogAppendTime": (WRAPPER, (44, 82, 1, 3630699899, 9, 1500000000456, -1)),
}


@pytest.mark.parametrize(("content", "header"), HEADERS.values(), ids=HEADERS)
def test_a_header_of_a_real_broker_is_read_as_kafka_dump_log_prints_it(
    content: bytes, header: RecordBatchHeader
) -> None:
    assert RecordBatchHeader(*HEADER.unpack_from(content)) == header
    assert len(content) == header.batch_length + 12
    assert is_plausible(header)


def crc_of(content: bytes) -> int:
    """CRC-32C that a batch of magic 2 stores (`DefaultRecordBatch.computeChecksum`)."""
    return fastcrc.crc32.iscsi(content[CHECKED_FROM:])


@pytest.mark.parametrize(("content", "header"), HEADERS.values(), ids=HEADERS)
def test_the_checksum_covers_attributes_to_the_end(content: bytes, header: RecordBatchHeader) -> None:
    """Item 17: base offset, length, leader epoch and magic are not covered."""
    assert crc_of(content) == header.crc
    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] ^= 1
        assert (crc_of(bytes(changed)) == header.crc) == (position < 21)


@pytest.mark.parametrize(("content", "header"), HEADERS.values(), ids=HEADERS)
def test_the_writer_of_these_tests_writes_what_a_broker_wrote(content: bytes, header: RecordBatchHeader) -> None:
    assert sealed(header._replace(batch_length=0, crc=0), content[HEADER_SIZE:]) == content


@pytest.mark.parametrize(("content", "values"), MESSAGES.values(), ids=MESSAGES)
def test_older_messages_are_read_as_kafka_dump_log_prints_them(content: bytes, values: tuple[int, ...]) -> None:
    """Item 20: no producer id; a wrapper's offset is that of its last message and hides their number."""
    header = legacy_header(memoryview(content))
    offset, length, magic, crc, attributes, timestamp, count = values
    assert header == RecordBatchHeader(
        offset, length, -1, magic, crc, attributes, 0, timestamp, timestamp, -1, -1, -1, count
    )
    assert crc_of_legacy(memoryview(content)) == crc
    assert valid_length_at(Bytes(content), 0) == len(content)


def test_the_writer_of_these_tests_writes_older_messages_as_kafka_did() -> None:
    assert message(41, 0, b"value-0", key=b"key") == MAGIC_0
    assert message(42, 1, b"v", timestamp=1500000000123) == MAGIC_1


def test_bits_of_older_attributes_that_mean_something_else_are_dropped() -> None:
    header = legacy_header(memoryview(message(1, 1, attributes=0x70)))
    assert header.attributes == 0


@pytest.mark.parametrize(
    ("structure", "size"), [(RecordBatchHeader, 61), (ProducerSnapshotEntry, 46), (AbortedTransaction, 34)]
)
def test_a_structure_is_as_long_as_on_disk_in_struct_and_in_numpy(structure: type, size: int) -> None:
    assert (packed(structure).size, numpy_dtype(structure).itemsize) == (size, size)


LIES = [
    pytest.param({"magic": 3}, id="a magic to come"),
    pytest.param({"batch_length": 48}, id="shorter than a header"),
    pytest.param({"batch_length": -1}, id="negative length"),
    pytest.param({"base_offset": -1}, id="negative offset"),
    pytest.param({"last_offset_delta": -1}, id="last offset below the first"),
    pytest.param({"record_count": -1}, id="negative number of records"),
    pytest.param({"producer_id": -2}, id="a producer id below none"),
]


@pytest.mark.parametrize("lie", LIES)
def test_values_that_kafka_cannot_write_are_not_plausible(lie: dict[str, int]) -> None:
    assert not is_plausible(HEADERS["data"][1]._replace(**lie))


def integers(code: str) -> st.SearchStrategy[int]:
    bits = 8 * struct.calcsize(code)
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@given(
    st.builds(
        RecordBatchHeader,
        *[integers(code) for code in "qiib"],
        st.integers(0, 2**32 - 1),
        *[integers(code) for code in "hiqqqhii"],
    ),
    st.binary(max_size=20),
)
def test_every_header_that_is_written_is_read_again(header: RecordBatchHeader, payload: bytes) -> None:
    content = sealed(header, payload)
    read = RecordBatchHeader(*HEADER.unpack_from(content))
    assert read == header._replace(batch_length=49 + len(payload), crc=read.crc)
    assert crc_of(content) == read.crc
    assert (valid_length_at(Bytes(content), 0) == len(content)) == is_plausible(read) or header.magic in (
        0,
        1,
    )


@given(st.integers(0, 1), st.integers(0, 2**63 - 1), st.binary(max_size=20), st.integers(-1, 2**62))
def test_every_older_message_that_is_written_is_read_again(
    magic: int, offset: int, value: bytes, timestamp: int
) -> None:
    content = message(offset, magic, value, timestamp=timestamp)
    header = legacy_header(memoryview(content))
    assert (header.base_offset, header.magic, header.batch_length) == (offset, magic, len(content) - 12)
    assert header.max_timestamp == (timestamp if magic else -1)


def test_a_batch_that_ends_beyond_the_file_is_not_valid() -> None:
    content = batch(0)
    assert valid_length_at(Bytes(content), 0) == HEADER_SIZE
    assert valid_length_at(Bytes(content[:-1]), 0) is None
    assert valid_length_at(Bytes(message(0, 1)[:-1]), 0) is None
