"""Large dumps, made by numpy: what differs from one batch to the next is written over copies of one batch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import fastcrc
import numpy as np
import numpy.typing as npt

from tests.benchmarks.segments import COPIED, SEED
from tests.coordinator_writer import coordinator_record
from tests.writer import NOW, batch, data, marker, put, segment, snapshot
from txnlog.format.batch import CHECKED_FROM, CRC_POSITION
from txnlog.format.coordinator import TransactionState
from txnlog.format.snapshot import NO_TRANSACTION, ProducerSnapshotEntry

AT_ONCE = 200_000
PRODUCER_ID_POSITION = 43
OPEN_OF_PARTITION, DAY_MS = 100, 86_400_000
ID = b"payments-000000000"
# No other bytes of a record look like it.
COORDINATOR_PARTITIONS = 50
PRODUCER_ID = 0x0102030405060708

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]


def big_endian(numbers: Numbers) -> Bytes:
    """Each number as eight bytes (n, 8)."""
    return numbers.astype(">i8").view(np.uint8).reshape(-1, 8)


def copies(template: bytes, count: int, changes: Mapping[int, Bytes]) -> Bytes:
    """So many copies of a batch (n, bytes), each with bytes (n, width) of its own at some places, and its checksum."""
    rows = np.tile(np.frombuffer(template, np.uint8), (count, 1))
    for place, content in changes.items():
        rows[:, place : place + content.shape[1]] = content
    crcs = [fastcrc.crc32.iscsi(row[CHECKED_FROM:].tobytes()) for row in rows]
    rows[:, CRC_POSITION : CRC_POSITION + 4] = np.array(crcs, ">u4").view(np.uint8).reshape(-1, 4)
    return rows


def shuffled(count: int) -> list[Numbers]:
    """The numbers up to `count`, each once, in pieces."""
    order = np.random.default_rng(SEED).permutation(count)
    return np.array_split(order, -(-count // AT_ONCE))


def log_of_producers(dump: Path, producers: int) -> Path:
    """A dump of one log, in which each of so many producer ids has one transaction of one batch, and its marker."""
    put(dump / "dump.toml", COPIED)
    path = segment(dump / "broker-1", "orders-0", b"")
    written = 0
    with path.open("wb") as file:
        for ids in shuffled(producers):
            offsets = 2 * (written + np.arange(len(ids)))
            pair = [
                copies(template, len(ids), {0: big_endian(offsets + after), PRODUCER_ID_POSITION: big_endian(ids)})
                for after, template in enumerate((data(0), marker(0)))
            ]
            file.write(np.concatenate(pair, axis=1).tobytes())
            written += len(ids)
    return dump


def many_logs(dump: Path, logs: int) -> Path:
    """A dump of so many logs of one small segment, each with a snapshot and the files that every log has."""
    put(dump / "dump.toml", COPIED)
    content = b"".join([data(0), data(1), marker(2), data(3, producer_id=2000), marker(4, producer_id=2000)])
    entries = snapshot([ProducerSnapshotEntry(1000, 0, 0, 2, 0, NOW, 0, NO_TRANSACTION)])
    for number in range(logs):
        folder = segment(dump / "broker-1", f"topic-{number // 100}-{number % 100}", content).parent
        put(folder / f"{5:020}.snapshot", entries)
        put(folder / "leader-epoch-checkpoint", "0\n1\n0 0\n")
        put(folder / "partition.metadata", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    return dump


def coordinators(dump: Path, records: int) -> Path:
    """A dump of all partitions of `__transaction_state`: two records of each transactional id, half as many ids."""
    put(dump / "dump.toml", COPIED)
    logs = [dump / "broker-1" / f"__transaction_state-{number}" for number in range(COORDINATOR_PARTITIONS)]
    written = np.zeros(COORDINATOR_PARTITIONS, np.int64)
    for log in logs:
        log.mkdir(parents=True)
    for numbers in shuffled(records // 2):
        names = np.frombuffer(b"".join(b"payments-%09d" % number for number in numbers.tolist()), np.uint8)
        owners = _owners(names.reshape(-1, len(ID)))
        for owner, log in enumerate(logs):
            mine = np.flatnonzero(owners == owner)
            content = _of_ids(numbers[mine], names.reshape(-1, len(ID))[mine], int(written[owner]))
            with (log / f"{0:020}.log").open("ab") as file:
                file.write(content)
            written[owner] += 2 * len(mine)
    return dump


def open_transactions(dump: Path, count: int) -> Path:
    """A dump of `coordinators` with an open transaction of each id, a hundred in a partition, of a day before."""
    coordinators(dump, 2 * count)
    template, end = data(0, max_timestamp=NOW - DAY_MS), marker(OPEN_OF_PARTITION, max_timestamp=NOW)
    for number, ids in enumerate(np.arange(count).reshape(-1, OPEN_OF_PARTITION)):
        changes = {0: big_endian(np.arange(OPEN_OF_PARTITION)), PRODUCER_ID_POSITION: big_endian(ids)}
        content = copies(template, OPEN_OF_PARTITION, changes).tobytes() + end
        segment(dump / "broker-1", f"orders-{number}", content)
    return dump


def _owners(names: Bytes) -> Numbers:
    """The coordinator partitions of ids of equal length: Java's hash of each, of which none is the lowest int."""
    hashes = np.zeros(len(names), np.int32)
    for column in names.T:
        hashes = 31 * hashes + column
    owners: Numbers = np.abs(hashes.astype(np.int64)) % COORDINATOR_PARTITIONS
    return owners


def _of_ids(numbers: Numbers, names: Bytes, first_offset: int) -> bytes:
    prepared = TransactionState(
        PRODUCER_ID, 0, 60_000, "PrepareCommit", [("orders", 1), ("payments", 7)], NOW, NOW - 100
    )
    templates = [
        batch(0, [coordinator_record(state, ID.decode())])
        for state in (prepared, prepared._replace(state="CompleteCommit", topic_partitions=[]))
    ]
    offsets = first_offset + 2 * np.arange(len(numbers))
    pair = []
    for after, template in enumerate(templates):
        places = (0, template.index(ID), template.index(PRODUCER_ID.to_bytes(8)))
        changes = dict(zip(places, (big_endian(offsets + after), names, big_endian(numbers)), strict=True))
        pair.append(copies(template, len(numbers), changes))
    return np.concatenate(pair, axis=1).tobytes()
