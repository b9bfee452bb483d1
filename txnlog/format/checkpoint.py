"""The small text files beside the logs: checkpoints and properties."""

from __future__ import annotations

import re
from typing import NamedTuple

from txnlog.errors import FormatError

# Files of a log directory with a line for each partition (`LogManager`, `ReplicaManager`).
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
CLEANED_TO = "cleaner-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"

_NUMBER = re.compile(r"-?[0-9]{1,19}")
# The bits of each word of a line; a word of 0 bits is a name.
_OFFSET_CHECKPOINT = (0, 32, 64)
_LEADER_EPOCH = (32, 64)


class OffsetCheckpoint(NamedTuple):
    """A line of `replication-offset-checkpoint`, `log-start-offset-checkpoint` or `cleaner-offset-checkpoint`."""

    topic: str
    partition: int
    offset: int


class LeaderEpoch(NamedTuple):
    """A line of `leader-epoch-checkpoint`."""

    epoch: int
    start_offset: int


def _lines(text: str) -> list[str]:
    """The entries after a version (0) and their number, which must be right (`CheckpointFile`)."""
    version, count, *entries = [*text.splitlines(), "", ""][:2] + text.splitlines()[2:]
    if version.strip() != "0":
        raise FormatError(f"a checkpoint of version {version.strip()!r}")
    if not _fits(count.strip(), 32) or int(count) != len(entries):
        raise FormatError(f"a checkpoint of {count.strip()!r} entries has {len(entries)}", len(version) + 1)
    return entries


def offset_checkpoints(text: str) -> list[OffsetCheckpoint]:
    """`topic partition offset`, one a line (`OffsetCheckpointFile`)."""
    return [
        OffsetCheckpoint(topic, int(partition), int(offset))
        for topic, partition, offset in _split(text, _OFFSET_CHECKPOINT)
    ]


def leader_epochs(text: str) -> list[LeaderEpoch]:
    """`epoch startOffset`, one a line (`LeaderEpochCheckpointFile`)."""
    return [LeaderEpoch(int(epoch), int(offset)) for epoch, offset in _split(text, _LEADER_EPOCH)]


def _split(text: str, bits: tuple[int, ...]) -> list[list[str]]:
    rows = [line.split() for line in _lines(text)]
    for number, row in enumerate(rows, 3):
        if len(row) != len(bits) or not all(map(_fits, row, bits)):
            raise FormatError(f"line {number} of a checkpoint is not one")
    return rows


def _fits(word: str, bits: int) -> bool:
    """Whether a word is a number of so many bits. Digits are counted first, as `int` refuses thousands of them."""
    return bits == 0 or (_NUMBER.fullmatch(word) is not None and -(1 << bits - 1) <= int(word) < 1 << bits - 1)


def properties(text: str) -> dict[str, str]:
    """`key=value` or `key: value` lines (`meta.properties`, `partition.metadata`); comments are skipped."""
    pairs = {}
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            key, _, value = line.partition("=" if "=" in line else ":")
            pairs[key.strip()] = value.strip()
    return pairs
