"""Codecs: what Kafka's own classes compressed, what these tests compress, and what expands without end."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden import BATCH_GZIP, BATCH_LZ4, BATCH_SNAPPY, BATCH_ZSTD
from tests.writer import CODECS, compressed
from txnlog.errors import FormatError
from txnlog.format.batch import HEADER, HEADER_SIZE, RecordBatchHeader
from txnlog.format.compression import LARGEST_EXPANDED, decompressed
from txnlog.format.record import Record, records

PACKED = ["gzip", "snappy", "lz4", "zstd"]
BY_KAFKA = {"gzip": BATCH_GZIP, "snappy": BATCH_SNAPPY, "lz4": BATCH_LZ4, "zstd": BATCH_ZSTD}
TEXT = b"pay " * 12


@pytest.mark.parametrize("name", PACKED)
def test_records_that_kafka_compressed_are_read(name: str) -> None:
    """Item 19: coordinators' batches are normally not compressed, but every codec is possible."""
    content = BY_KAFKA[name]
    header = RecordBatchHeader(*HEADER.unpack_from(content))
    assert CODECS[header.attributes & 7] == name
    payload = decompressed(content[HEADER_SIZE:], header.attributes & 7)
    assert list(records(payload, 2)) == [Record(0, b"k1", TEXT), Record(1, b"k2", TEXT)]


@pytest.mark.parametrize("name", CODECS)
@given(payload=st.binary(max_size=2_000) | st.binary(min_size=1, max_size=9).map(lambda piece: piece * 500))
def test_whatever_is_compressed_is_decompressed_again(name: str, payload: bytes) -> None:
    assert decompressed(compressed(payload, name), CODECS.index(name)) == payload


def test_snappy_comes_in_several_blocks_and_without_a_frame() -> None:
    first, second = compressed(b"a" * 40, "snappy"), compressed(b"b" * 3, "snappy")
    assert decompressed(first + second[16:], 2) == b"a" * 40 + b"b" * 3
    assert decompressed(first[20:], 2) == b"a" * 40


@pytest.mark.parametrize("name", PACKED)
def test_a_payload_may_expand_to_its_limit_and_not_beyond(name: str) -> None:
    bomb = compressed(bytes(3 << 20), name)
    assert len(bomb) < 1 << 18
    assert len(decompressed(bomb, CODECS.index(name), 3 << 20)) == 3 << 20
    with pytest.raises(FormatError, match=f"{name} expands to more than {(3 << 20) - 1} bytes"):
        decompressed(bomb, CODECS.index(name), (3 << 20) - 1)


def test_the_limit_counts_all_snappy_blocks_together() -> None:
    block = compressed(b"a" * 40, "snappy")
    with pytest.raises(FormatError, match="expands"):
        decompressed(block + block[16:] * 3, 2, 159)


def test_a_snappy_block_is_not_believed_when_it_claims_gigabytes() -> None:
    claim = bytes.fromhex("ffffffff0f") + b"\0" * 8
    with pytest.raises(FormatError, match=f"more than {LARGEST_EXPANDED} bytes"):
        decompressed(claim, 2)
    with pytest.raises(FormatError):
        decompressed(b"\x82SNAPPY\0" + bytes(8) + struct.pack(">i", len(claim)) + claim, 2)


HEAD = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
DAMAGE = [
    pytest.param(b"no gzip", 1, id="gzip"),
    pytest.param(b"\xff\xff\xff\xff\xff\xff", 2, id="a snappy length that does not end"),
    pytest.param(b"\x05", 2, id="a snappy block that ends beyond its length"),
    pytest.param(HEAD + struct.pack(">i", 9) + b"\x01\x00a", 2, id="a snappy block longer than the payload"),
    pytest.param(HEAD + struct.pack(">i", -1), 2, id="a snappy block of a negative length"),
    pytest.param(HEAD + b"\0\0", 2, id="half the length of a snappy block"),
    pytest.param(b"no frame", 3, id="lz4"),
    pytest.param(b"no frame", 4, id="zstd"),
    pytest.param(b"anything", 5, id="the first codec that is not known"),
    pytest.param(b"anything", 7, id="the last codec that three bits can name"),
]


@pytest.mark.parametrize(("payload", "codec"), DAMAGE)
def test_what_cannot_be_decompressed_is_a_format_error(payload: bytes, codec: int) -> None:
    with pytest.raises(FormatError):
        decompressed(payload, codec)


@pytest.mark.parametrize("name", PACKED)
def test_every_cut_of_a_compressed_payload_is_an_error_or_shorter(name: str) -> None:
    whole = TEXT * 20
    packed = compressed(whole, name)
    for end in range(len(packed)):
        try:
            assert whole.startswith(decompressed(packed[:end], CODECS.index(name)))
        except FormatError:
            continue
