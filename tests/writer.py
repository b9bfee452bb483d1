"""Writes what Kafka writes, for tests: batches, markers, older messages and the small files.

Every layout is spelled out once more here, so that a test that reads what this wrote compares two
spellings; `tests.golden` has bytes that Kafka itself wrote. Coordinator records: `tests.coordinator_writer`.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import cramjam
import fastcrc

from txnlog.format.batch import RecordBatchHeader
from txnlog.format.snapshot import ProducerSnapshotEntry
from txnlog.format.transaction_index import AbortedTransaction

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 8, 16, 32, 64
ABORT, COMMIT = 0, 1
NOW = 1_700_000_000_000


class Bytes:
    """A segment in memory, which counts the bytes that were looked at."""

    def __init__(self, content: bytes) -> None:
        self.content = memoryview(content)
        self.size = len(content)
        self.viewed = 0

    def view(self, position: int, length: int) -> memoryview:
        view = self.content[position : position + length]
        self.viewed += len(view)
        return view


def unsigned_varint(number: int) -> bytes:
    pieces = bytearray()
    while number > 0x7F:
        pieces.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*pieces, number])


def varint(number: int) -> bytes:
    return unsigned_varint(number * 2 if number >= 0 else -number * 2 - 1)


def record(
    value: bytes | None = b"value", key: bytes | None = None, offset_delta: int = 0, timestamp_delta: int = 0
) -> bytes:
    """A record of magic 2 without headers."""
    body = b"\0" + varint(timestamp_delta) + varint(offset_delta) + _bytes(key) + _bytes(value) + varint(0)
    return varint(len(body)) + body


def _bytes(content: bytes | None) -> bytes:
    return varint(-1) if content is None else varint(len(content)) + content


def compressed(payload: bytes, codec: str) -> bytes:
    """As the Java client compresses: snappy in the framing of Xerial, lz4 as frames."""
    if codec == "none":
        return payload
    if codec == "snappy":
        block = bytes(cramjam.snappy.compress_raw(payload))
        return b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, len(block)) + block
    if codec == "lz4":
        # Kafka refuses blocks that depend on one another.
        compressor = cramjam.lz4.Compressor(block_linked=False)
        compressor.compress(payload)
        return bytes(compressor.finish())
    return bytes(getattr(cramjam, codec).compress(payload))


def batch(
    base_offset: int = 0,
    records: Sequence[bytes] = (),
    *,
    codec: str = "none",
    attributes: int = 0,
    **header: int,
) -> bytes:
    """A batch of magic 2 with the right length and checksum. `header` sets fields of `RecordBatchHeader`."""
    count = len(records)
    defaults = RecordBatchHeader(
        base_offset=base_offset,
        batch_length=0,
        partition_leader_epoch=0,
        magic=2,
        crc=0,
        attributes=attributes | CODECS.index(codec),
        last_offset_delta=max(count - 1, 0),
        base_timestamp=NOW,
        max_timestamp=NOW,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=count,
    )
    return sealed(defaults._replace(**header), compressed(b"".join(records), codec))


def sealed(header: RecordBatchHeader, payload: bytes) -> bytes:
    """Header and payload with the length and the checksum that belong to them."""
    checked = struct.pack(">hiqqqhii", *header[5:]) + payload
    crc = fastcrc.crc32.iscsi(checked)
    start = struct.pack(
        ">qiibI", header.base_offset, len(checked) + 9, header.partition_leader_epoch, header.magic, crc
    )
    return start + checked


def data(base_offset: int, producer_id: int = 1000, producer_epoch: int = 0, count: int = 1, **header: int) -> bytes:
    """A transactional batch of `count` records."""
    records = [record(b"value-%d" % number, offset_delta=number) for number in range(count)]
    settings: dict[str, Any] = {"attributes": TRANSACTIONAL, "base_sequence": 0} | header
    return batch(base_offset, records, producer_id=producer_id, producer_epoch=producer_epoch, **settings)


def marker(
    base_offset: int,
    producer_id: int = 1000,
    producer_epoch: int = 0,
    kind: int = COMMIT,
    coordinator_epoch: int = 0,
    **header: int,
) -> bytes:
    """The control batch that ends a transaction."""
    content = record(struct.pack(">hi", 0, coordinator_epoch), struct.pack(">hh", 0, kind))
    settings: dict[str, Any] = {"attributes": TRANSACTIONAL | CONTROL} | header
    return batch(base_offset, [content], producer_id=producer_id, producer_epoch=producer_epoch, **settings)


def message(
    offset: int,
    magic: int,
    value: bytes = b"value",
    *,
    key: bytes | None = None,
    attributes: int = 0,
    timestamp: int = NOW,
) -> bytes:
    """A message of magic 0 or 1."""
    body = struct.pack(">bb", magic, attributes) + (struct.pack(">q", timestamp) if magic else b"")
    body += struct.pack(">i", -1) if key is None else struct.pack(">i", len(key)) + key
    body += struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def snapshot(entries: Iterable[ProducerSnapshotEntry]) -> bytes:
    rows = [struct.pack(">qhiqiqiq", *entry) for entry in entries]
    checked = struct.pack(">i", len(rows)) + b"".join(rows)
    return struct.pack(">hI", 1, fastcrc.crc32.iscsi(checked)) + checked


def transaction_index(entries: Iterable[AbortedTransaction]) -> bytes:
    return b"".join(struct.pack(">hqqqq", *entry) for entry in entries)


def checkpoint(lines: Sequence[Sequence[object]]) -> str:
    return "".join(f"{line}\n" for line in ["0", len(lines), *(" ".join(map(str, line)) for line in lines)])


def put(path: Path, content: bytes | str = b"") -> Path:
    """A file with this content, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def copied_at(log_dir: Path, time_ms: int) -> None:
    """Let all files of a log directory but one be of that time: the look of a copy that has kept the times of files."""
    for path in log_dir.rglob("*"):
        os.utime(path, (time_ms / 1000, time_ms / 1000))
    os.utime(log_dir / "replication-offset-checkpoint", (1, 1))


def listing(log_dir: Path, more: str = "", folders: str = "*", modified: int | None = None) -> None:
    """What `find` prints of a log directory before it is copied: the files in these folders, and `more` lines.

    `modified` is the time of each file (ms), if not its own.
    """
    files = [(path, path.stat()) for path in sorted(log_dir.glob(f"{folders}/*"))]
    lines = (
        f"./{path.relative_to(log_dir)}\t{stat.st_size}\t{modified or stat.st_mtime_ns // 10**6}\n"
        for path, stat in files
    )
    put(log_dir / "listing.tsv", f"# begun\t{NOW}\n{''.join(lines)}{more}")


def segment(log_dir: Path, partition: str, content: bytes, base_offset: int = 0) -> Path:
    """A segment in the folder of its partition, such as `orders-0`."""
    return put(log_dir / partition / f"{base_offset:020}.log", content)
