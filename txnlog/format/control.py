"""Control records: the markers that end a transaction in a partition (`ControlRecordType`, `EndTransactionMarker`).

What `kafka-dump-log` prints for each is in `txnlog.dump_log.batch_labels` (`CONTROL_TYPES`).
"""

from __future__ import annotations

import enum
import struct
from typing import NamedTuple

from txnlog.errors import FormatError
from txnlog.format.record import records

KEY = struct.Struct(">hh")
VALUE = struct.Struct(">hi")


class ControlType(enum.IntEnum):
    """What a control record is; only the first two are transaction markers."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


MARKERS = frozenset({ControlType.ABORT, ControlType.COMMIT})
MARKER_NAMES = (ControlType.ABORT.name, ControlType.COMMIT.name)


class ControlRecord(NamedTuple):
    """`control_type` is a `ControlType` name or `UNKNOWN_<n>`; `coordinator_epoch` is null for all but markers."""

    control_type: str
    coordinator_epoch: int | None


def control_record(payload: bytes, count: int) -> ControlRecord | None:
    """The first record of a control batch; None for a batch that the cleaner left without records.

    Versions above the known ones are accepted with whatever they add at the end, as Kafka does.
    """
    first = next(records(payload, count), None) if count else None
    if first is None:
        return None
    if first.key is None or len(first.key) < KEY.size:
        raise FormatError("the key of a control record is shorter than its 4 bytes")
    version, number = KEY.unpack_from(first.key)
    if version < 0:
        raise FormatError(f"the key of a control record has version {version}")
    if number not in MARKERS:
        known = number in ControlType._value2member_map_
        return ControlRecord(ControlType(number).name if known else f"UNKNOWN_{number}", None)
    return ControlRecord(ControlType(number).name, _coordinator_epoch(first.value))


def _coordinator_epoch(value: bytes | None) -> int:
    if value is None or len(value) < VALUE.size:
        raise FormatError("the value of a transaction marker is shorter than its 6 bytes")
    version, coordinator_epoch = VALUE.unpack_from(value)
    if version < 0:
        raise FormatError(f"the value of a transaction marker has version {version}")
    return int(coordinator_epoch)
