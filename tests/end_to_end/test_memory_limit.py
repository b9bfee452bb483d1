"""Files that claim, or expand to, more than there is memory are read under a limit that the system enforces."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cramjam
import pytest

from tests.coordinator_writer import coordinator_key, coordinator_partition, coordinator_record
from tests.group_writer import commit_key, commit_value
from tests.writer import CODECS, NOW, batch, checkpoint, data, marker, put, record, segment, snapshot
from txnlog.format.compression import LARGEST_EXPANDED
from txnlog.format.coordinator import TRANSACTION_STATE, TransactionState
from txnlog.format.group_messages import CONSUMER_OFFSETS

pytestmark = pytest.mark.processes

MIB = 1 << 20
# Beyond Python and its libraries. What the files below claim or expand to is more.
LIMIT = 256
BOMB = 512 * MIB
CLAIM = 600 * MIB
SHOP = "shop"
PLACE = f"{TRANSACTION_STATE}-{coordinator_partition(SHOP)}"
GOOD = coordinator_record(TransactionState(1000, 0, 60_000, "CompleteCommit", [], NOW, NOW), SHOP)


def expanding(codec: str) -> bytes:
    """So many zeros, compressed in pieces."""
    if codec == "snappy":
        block = bytes(cramjam.snappy.compress_raw(bytes(MIB)))
        return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + (struct.pack(">i", len(block)) + block) * (BOMB // MIB)
    compressors: dict[str, Callable[[], Any]] = {
        "gzip": cramjam.gzip.Compressor,
        "lz4": lambda: cramjam.lz4.Compressor(block_linked=False),
        "zstd": cramjam.zstd.Compressor,
    }
    compressor = compressors[codec]()
    for _ in range(BOMB // (8 * MIB)):
        compressor.compress(bytes(8 * MIB))
    return bytes(compressor.finish())


def claiming(content: bytes, length: int) -> bytes:
    """A batch with another length than it has."""
    return content[:8] + length.to_bytes(4, "big") + content[12:]


def sparse(path: Path, size: int, content: bytes = b"") -> None:
    """A file with zeros after its content, which takes no space on the disk."""
    with put(path, content).open("r+b") as file:
        file.truncate(size)


COORDINATORS = {
    **{codec: batch(0, [expanding(codec)], attributes=CODECS.index(codec)) for codec in CODECS[1:]},
    "almost-too-much": batch(0, [record(bytes(LARGEST_EXPANDED - 100), coordinator_key(SHOP))], codec="zstd"),
    "snappy-block": batch(0, [b"\xff\xff\xff\xff\x07"], attributes=CODECS.index("snappy")),
    "record-count": batch(0, [GOOD], record_count=2**31 - 1),
    "record-length": batch(0, [b"\xfe\xff\xff\xff\x0f" + GOOD]),
    "key-length": batch(0, [record(b"", struct.pack(">hh", 0, 2**15 - 1))]),
    "array-length": batch(
        0, [record(struct.pack(">hqhibi", 0, 1000, 0, 1, 1, 2**31 - 1) + bytes(64), coordinator_key(SHOP))]
    ),
}
SEGMENTS = {
    "control-count": marker(0, record_count=2**31 - 1),
    "length-beyond-the-end": claiming(data(0), 2**31 - 1) + data(1),
}
COMMIT = record(commit_value(7), commit_key("g", "orders", 0))
GROUPS = {
    **{codec: batch(0, [expanding(codec)], attributes=CODECS.index(codec)) for codec in CODECS[1:]},
    "record-count": batch(0, [COMMIT], record_count=2**31 - 1),
    "record-length": batch(0, [b"\xfe\xff\xff\xff\x0f" + COMMIT]),
    "key-length": batch(0, [record(b"", struct.pack(">hh", 1, 2**15 - 1))]),
}
SNAPSHOT = snapshot([])


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hostile")
    for name, content in COORDINATORS.items():
        segment(root / name, PLACE, content + batch(9, [GOOD]))
    for name, content in GROUPS.items():
        segment(root / f"group-{name}", f"{CONSUMER_OFFSETS}-0", content + batch(9, [COMMIT], attributes=0))
    for name, content in SEGMENTS.items():
        segment(root / name, "orders-0", content)
    for place in ("orders-0", PLACE):
        sparse(root / "length-of-zeros" / place / f"{0:020}.log", CLAIM + MIB, claiming(data(0), CLAIM))
        segment(root / "long-batch", place, batch(0, [bytes(CLAIM // 2)], attributes=0) + data(1))
    sparse(root / "zeros" / "orders-0" / f"{0:020}.log", 2 * CLAIM)
    put(root / "snapshot-count" / "orders-0" / f"{7:020}.snapshot", SNAPSHOT[:6] + b"\x7f\xff\xff\xff")
    sparse(root / "large" / "orders-0" / f"{7:020}.snapshot", CLAIM, SNAPSHOT)
    sparse(root / "large" / "orders-0" / f"{0:020}.txnindex", CLAIM)
    sparse(root / "large" / "orders-0" / "leader-epoch-checkpoint", CLAIM)
    sparse(root / "large" / "replication-offset-checkpoint", CLAIM, checkpoint([]).encode())
    sparse(root / "large" / "meta.properties", CLAIM, b"cluster.id=c\n")
    put(root / "checkpoint-count" / "replication-offset-checkpoint", "0\n2147483647\n")
    put(root / "checkpoint-count" / "meta.properties", "broker.id=1\n")
    for codec in CODECS:
        segment(root / "warm-up" / codec, PLACE, batch(0, [GOOD], codec=codec))
    put(root / "warm-up" / "none" / "orders-0" / f"{0:020}.snapshot", SNAPSHOT)
    return root


def read(dump: Path, mebibytes: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.end_to_end.reading_within", str(dump), str(mebibytes)]
    # Arrow's other pools take a gibibyte of addresses beforehand, which would not count.
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)


@pytest.fixture(scope="module")
def found(dump: Path) -> dict[str, dict[str, Any]]:
    done = read(dump, LIMIT)
    assert done.returncode == 0, done.stderr[-3000:]
    files: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return files


def test_the_limit_is_one(dump: Path) -> None:
    assert LARGEST_EXPANDED < LIMIT * MIB < BOMB < CLAIM
    done = read(dump, 8)
    assert done.returncode != 0
    assert "MemoryError" in done.stderr or "ENOMEM" in done.stderr or "Cannot allocate" in done.stderr


def test_every_file_is_read(found: dict[str, dict[str, Any]], dump: Path) -> None:
    assert set(found) == {str(path.relative_to(dump)) for path in dump.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", GROUPS)
def test_a_batch_of_groups_that_lies_is_named_and_what_follows_is_read(
    found: dict[str, dict[str, Any]], name: str
) -> None:
    file = found[f"group-{name}/{CONSUMER_OFFSETS}-0/{0:020}.log"]
    (problem,) = file["problems"]
    assert problem.endswith("records that cannot be read")
    # What the log adds up to, its file, and the commit that follows.
    assert file["rows"]["evidence"] == 3


@pytest.mark.parametrize("name", COORDINATORS)
def test_a_batch_that_lies_is_named_and_what_follows_is_read(found: dict[str, dict[str, Any]], name: str) -> None:
    file = found[f"{name}/{PLACE}/{0:020}.log"]
    # In the row of the record, and in that of its file.
    of_record, of_file = file["problems"]
    assert of_file == f"records not decoded: 1, the first at offset 0: {of_record}"
    assert file["rows"]["transaction_states"] >= 2


def test_lengths_that_lie_are_named(found: dict[str, dict[str, Any]]) -> None:
    assert found[f"length-of-zeros/orders-0/{0:020}.log"]["problems"]
    assert found[f"length-beyond-the-end/orders-0/{0:020}.log"]["problems"]
    # Its one record is there, and Kafka reads no further than that.
    assert found[f"control-count/orders-0/{0:020}.log"]["rows"]["batches"] == 1


def test_a_batch_that_is_truly_long_is_read(found: dict[str, dict[str, Any]]) -> None:
    long = found[f"long-batch/orders-0/{0:020}.log"]
    assert (long["rows"]["batches"], long["problems"]) == (2, [])


def test_small_files_that_are_large_are_named(found: dict[str, dict[str, Any]]) -> None:
    large = {name: file["problems"] for name, file in found.items() if name.startswith(("large/", "snapshot-", "che"))}
    named = {name: problems for name, problems in large.items() if problems}
    assert large.keys() - named.keys() == {"checkpoint-count/meta.properties"}
    # More than one source reads a checkpoint, and each says what is wrong with it.
    for name, (problem,) in {name: set(problems) for name, problems in named.items()}.items():
        if name.startswith("large/"):
            assert f"{CLAIM} bytes are too many" in problem
