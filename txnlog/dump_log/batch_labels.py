"""Batches of a text as columns of numbers, whichever lines they were put together of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from txnlog.dump_log.dump_text import NOT_PRINTED
from txnlog.dump_log.line_layouts import Flags, Integers
from txnlog.format.batch import CODECS, PLAUSIBLE
from txnlog.format.control import MARKER_NAMES, ControlType
from txnlog.format.control_batches import UNREADABLE

CODEC_NAMES = [*CODECS, "unknown"]
NULL = np.iinfo(np.int64).min
_RANGES = {
    "partition_leader_epoch": (-1, 2**31 - 1),
    "magic": (0, 127),
    "crc": (0, 2**32 - 1),
    "producer_epoch": (-1, 2**15 - 1),
    "base_sequence": (-1, 2**31 - 1),
    "coordinator_epoch": (-1, 2**31 - 1),
    "position": (0, 2**62),
    "size_in_bytes": (1, 2**32),
    "last_offset": PLAUSIBLE["base_offset"],
    **{name: PLAUSIBLE[name] for name in ("base_offset", "record_count", "producer_id")},
}
LABELS = {
    "base_offset": "baseOffset",
    "last_offset": "lastOffset",
    "position": "position",
    "size_in_bytes": "size",
    "partition_leader_epoch": "partitionLeaderEpoch",
    "magic": "magic",
    "crc": "crc",
    "producer_id": "producerId",
    "producer_epoch": "producerEpoch",
    "base_sequence": "baseSequence",
    "record_count": "count",
}
NUMBERS = (*LABELS, "max_timestamp", "delete_horizon_ms", "coordinator_epoch")
FLAGS = ("crc_valid", "is_transactional", "is_control", "is_log_append_time")
# The word that begins a control record that is no marker. `controlType` begins those without a word of their own.
CONTROL_TYPES = {
    b"LeaderChange": ControlType.LEADER_CHANGE.name,
    b"SnapshotHeader": ControlType.SNAPSHOT_HEADER.name,
    b"SnapshotFooter": ControlType.SNAPSHOT_FOOTER.name,
    b"KRaftVersion": ControlType.KRAFT_VERSION.name,
    b"KRaftVoters": ControlType.KRAFT_VOTERS.name,
    b"controlType": "UNKNOWN",
}
KINDS: list[str | None] = [None, NOT_PRINTED, UNREADABLE, *MARKER_NAMES, *CONTROL_TYPES.values()]


@dataclass(slots=True)
class TextBatches:
    """Batches in their order. Numbers that the text lacks are the smallest int64; `lines` is where each stands.

    `codecs` and `kinds` are indexes of `CODEC_NAMES` and `KINDS`. `records_printed` counts the lines of its records, -1
    where they are printed without their metadata. `are_records_alone` says that there are no lines for batches, so that
    they had to be put together from records, and `is_sound` that those of one batch agree.
    """

    lines: Integers
    numbers: dict[str, Integers]
    flags: dict[str, Flags]
    codecs: Integers
    kinds: Integers
    records_printed: Integers
    are_records_alone: bool = False
    is_sound: bool = True

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def is_unreadable(self) -> Flags:
        """Which are control batches without a control record that can be read."""
        unreadable: Flags = self.kinds == KINDS.index(UNREADABLE)
        return unreadable

    def add_up(self) -> Flags:
        """Which batches have as many lines of records as records, or none at all."""
        expected, printed = self.numbers["record_count"], self.records_printed
        same: Flags = (printed == expected) | (printed <= 0) | (expected == NULL)
        return same

    def columns(self) -> dict[str, Any]:
        """The columns of `BatchRow` but for its place."""
        kinds = pa.array(self.kinds)
        time_types = pa.array(self.flags["is_log_append_time"].astype(np.int8))
        return (
            {name: pa.array(values, mask=values == NULL) for name, values in self.numbers.items()}
            | {name: pa.array(self.flags[name]) for name in ("crc_valid", "is_transactional", "is_control")}
            | {
                "compression": pa.array(CODEC_NAMES).take(pa.array(self.codecs)),
                "timestamp_type": pa.array(["CreateTime", "LogAppendTime"]).take(time_types),
                "base_timestamp": pa.nulls(len(self)),
                "control_type": pa.array(KINDS).take(kinds),
                "marker_type": pa.array([kind if kind in MARKER_NAMES else None for kind in KINDS]).take(kinds),
            }
        )

    def chosen(self, wanted: Flags) -> TextBatches:
        """Some of them."""
        if wanted.all():
            return self
        return TextBatches(
            self.lines[wanted],
            {name: values[wanted] for name, values in self.numbers.items()},
            {name: values[wanted] for name, values in self.flags.items()},
            self.codecs[wanted],
            self.kinds[wanted],
            self.records_printed[wanted],
            self.are_records_alone,
            self.is_sound,
        )


def within_ranges(numbers: dict[str, Integers]) -> Flags:
    """Which batches have numbers that Kafka could have written."""
    good = np.ones(len(numbers["position"]), np.bool_)
    for name, (smallest, largest) in _RANGES.items():
        values = numbers[name]
        good &= (values == NULL) | ((values >= smallest) & (values <= largest))
    return good & (numbers["last_offset"] >= numbers["base_offset"])
