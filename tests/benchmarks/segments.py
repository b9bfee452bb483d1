"""Segments of a given size, with batches of a given size, of so many producers and of a codec.

They hold short transactions, the same ones over and over with offsets of their own. Kafka reads them: the benchmarks
let `kafka-dump-log` print each.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.writer import TRANSACTIONAL, batch, marker, record

BATCHES_OF_A_TRANSACTION = 7
# The header of a batch, and of its only record what is not value.
AROUND_A_VALUE = 70
# Of so few letters a codec makes half as many bytes.
LETTERS = 12
# Offsets are written for so many bytes at once.
AT_ONCE = 4 << 20
SEED = 20261121
COPIED = 'cluster = "bench"\nstarted = "2026-11-21T02:00:00Z"\nended = "2026-11-21T02:00:10Z"\n'


class Layout(NamedTuple):
    """What the batches of a log are like; `batch_bytes` is the size of each before it is compressed."""

    batch_bytes: int = 200
    producers: int = 50
    codec: str = "none"
    seed: int = SEED

    def __str__(self) -> str:
        compressed = "" if self.codec == "none" else f", {self.codec}"
        return f"{self.batch_bytes:,}-byte batches, {self.producers:,} producers{compressed}"

    def transactions(self) -> list[bytes]:
        """The batches of a transaction of each producer, and the marker that ends it."""
        random, pieces = np.random.default_rng(self.seed), []
        letters = (ord("a"), ord("a") + LETTERS, max(self.batch_bytes - AROUND_A_VALUE, 0), np.uint8)
        for producer in random.permutation(self.producers).tolist():
            header = {"attributes": TRANSACTIONAL, "producer_id": producer, "producer_epoch": 0}
            for number in range(BATCHES_OF_A_TRANSACTION):
                only = record(random.integers(*letters).tobytes())
                pieces.append(batch(0, [only], codec=self.codec, base_sequence=number, **header))
            pieces.append(marker(0, producer_id=producer))
        return pieces


def write_segment(path: Path, pieces: list[bytes], batches: int, base_offset: int = 0) -> int:
    """Write a segment of these batches, over and over: at least so many. The offset after it."""
    times = max(1, AT_ONCE // sum(map(len, pieces)))
    block = np.frombuffer(b"".join(pieces) * times, np.uint8)
    starts = np.cumsum([0, *(times * [len(piece) for piece in pieces])][:-1])
    written = 0
    # The checksum does not cover the base offset.
    with path.open("wb") as file:
        while written < batches:
            copy = block.copy()
            for byte in range(8):
                copy[starts + byte] = (base_offset + written + np.arange(len(starts)) >> 8 * (7 - byte)) & 0xFF
            file.write(copy.tobytes())
            written += len(starts)
    return base_offset + written


def dump_of(folder: Path, layout: Layout, mib: int, segments: int = 1) -> Path:
    """A dump of one partition; the segments have about so many MiB each."""
    pieces = layout.transactions()
    log = folder / "broker-1" / "orders-0"
    log.mkdir(parents=True)
    (folder / "dump.toml").write_text(COPIED)
    offset, batches = 0, (mib << 20) // sum(map(len, pieces)) * len(pieces)
    for _ in range(segments):
        offset = write_segment(log / f"{offset:020}.log", pieces, batches, offset)
    return folder
