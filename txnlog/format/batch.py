"""The header of a record batch, magic 2 (KIP-98; `DefaultRecordBatch`), and its equivalent in older logs.

Everything txnlog needs of a topic partition is in these 61 bytes, which are never compressed. CRC-32C covers
`attributes` to the end of the batch: base offset, length, leader epoch and magic are *not* covered.
"""

from __future__ import annotations

import functools
import operator
import struct
import zlib
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from txnlog.format.structure import INT8, INT16, INT32, INT64, UINT32, packed

NO_PRODUCER_ID = -1
NO_TIMESTAMP = -1
NO_PARTITION_LEADER_EPOCH = -1
# Below which offset damage lies that no batch follows.
NOTHING_FOLLOWS = 2**63 - 1

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
CODEC_MASK = 0x07
LOG_APPEND_TIME = 1 << 3
TRANSACTIONAL = 1 << 4
CONTROL = 1 << 5
DELETE_HORIZON = 1 << 6


class RecordBatchHeader(NamedTuple):
    """The 61 bytes at the start of every batch of magic 2, big endian."""

    base_offset: Annotated[int, INT64, "Offset of the batch's first record, kept through compaction."]
    batch_length: Annotated[int, INT32, "Bytes of the batch after this field."]
    partition_leader_epoch: Annotated[int, INT32, "Epoch of the leader that appended the batch; -1 unknown."]
    magic: Annotated[int, INT8, "Version of the batch's layout: 2; 0 and 1 are from before 0.11."]
    crc: Annotated[int, UINT32, "CRC-32C of the bytes from attributes to the end of the batch, as stored."]
    attributes: Annotated[int, INT16, "Bits: 0-2 codec, 3 LogAppendTime, 4 transactional, 5 control, 6 horizon."]
    last_offset_delta: Annotated[int, INT32, "Last offset minus base offset, kept through compaction."]
    base_timestamp: Annotated[int, INT64, "First record's time, ms since 1970; the delete horizon where bit 6 is set."]
    max_timestamp: Annotated[int, INT64, "Largest time of the batch, ms since 1970; -1 none. Producers supply it."]
    producer_id: Annotated[int, INT64, "Producer id; -1 for neither idempotent nor transactional."]
    producer_epoch: Annotated[int, INT16, "Producer epoch; -1 without a producer id."]
    base_sequence: Annotated[int, INT32, "Sequence number of the first record; -1 without a producer id."]
    record_count: Annotated[int, INT32, "Records in the batch; smaller than the offsets after compaction."]


HEADER = packed(RecordBatchHeader)
HEADER_SIZE = HEADER.size
LENGTH_POSITION = 8
LENGTH_END = 12
MAGIC_POSITION = 16
CRC_POSITION = 17
CHECKED_FROM = 21
SMALLEST_BATCH_LENGTH = HEADER_SIZE - LENGTH_END

# Offsets beyond this are damage: no log has that many records, and sums of them would overflow.
TOO_LARGE_OFFSET = 1 << 62

# magic 0: crc, magic, attributes, key length, value length. magic 1 has a timestamp (8 bytes) in between.
SMALLEST_LEGACY_LENGTH = 14
LEGACY_CRC_POSITION = 12
LEGACY_TIMESTAMP = struct.Struct(">q")
LEGACY_TIMESTAMP_POSITION = 18
LEGACY_LOG_APPEND_TIME = 1 << 3


def crc_of_legacy(message: memoryview) -> int:
    """CRC-32 (not 32C) that a message of magic 0 or 1 stores: over magic to its end (`LegacyRecord`)."""
    return zlib.crc32(message[MAGIC_POSITION:])


def legacy_header(message: memoryview) -> RecordBatchHeader:
    """A message of magic 0 or 1 in the shape of a batch header.

    `message` is the whole message with its offset and size. A compressed wrapper carries the offset of its last
    message and hides their number, so `record_count` is -1 for it.
    """
    offset, length = struct.unpack_from(">qi", message)
    (crc,) = struct.unpack_from(">I", message, LEGACY_CRC_POSITION)
    magic, attributes = message[MAGIC_POSITION], message[MAGIC_POSITION + 1]
    timestamp = NO_TIMESTAMP
    if magic == 1:
        (timestamp,) = LEGACY_TIMESTAMP.unpack_from(message, LEGACY_TIMESTAMP_POSITION)
    codec = attributes & CODEC_MASK
    return RecordBatchHeader(
        base_offset=offset,
        batch_length=length,
        partition_leader_epoch=NO_PARTITION_LEADER_EPOCH,
        magic=magic,
        crc=crc,
        attributes=codec | (attributes & LEGACY_LOG_APPEND_TIME),
        last_offset_delta=0,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=NO_PRODUCER_ID,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=-1 if codec else 1,
    )


# What Kafka could have written: the parts that no checksum covers, and cheap bounds; from and to, both included.
PLAUSIBLE = {
    "magic": (2, 2),
    "batch_length": (SMALLEST_BATCH_LENGTH, 2**31 - 1),
    "base_offset": (0, TOO_LARGE_OFFSET - 1),
    "last_offset_delta": (0, 2**31 - 1),
    "record_count": (0, 2**31 - 1),
    "producer_id": (NO_PRODUCER_ID, 2**63 - 1),
}


def is_plausible(header: RecordBatchHeader) -> bool:
    """Whether Kafka could have written these values."""
    return bool(are_plausible(header._asdict().__getitem__))


def are_plausible(column: Callable[[str], Any]) -> Any:
    """The same of many headers at once, by the columns that have their fields."""
    values = [(column(name), bounds) for name, bounds in PLAUSIBLE.items()]
    return functools.reduce(operator.and_, ((value >= least) & (value <= most) for value, (least, most) in values))
