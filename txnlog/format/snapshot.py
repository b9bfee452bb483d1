"""`<offset>.snapshot`: the producer state before that offset (`ProducerStateManager.readSnapshot`)."""

from __future__ import annotations

import struct
from typing import Annotated, NamedTuple

import fastcrc
import numpy as np
import numpy.typing as npt

from txnlog.errors import FormatError
from txnlog.format.structure import INT16, INT32, INT64, UINT32, numpy_dtype, packed

NO_TRANSACTION = -1


class SnapshotHeader(NamedTuple):
    """The first 10 bytes."""

    version: Annotated[int, INT16, "Version of the layout: 1."]
    crc: Annotated[int, UINT32, "CRC-32C of everything after this field."]
    producers: Annotated[int, INT32, "How many entries follow."]


class ProducerSnapshotEntry(NamedTuple):
    """The state of one producer id, 46 bytes."""

    producer_id: Annotated[int, INT64, "Producer id."]
    producer_epoch: Annotated[int, INT16, "Epoch of its last batch or marker."]
    last_sequence: Annotated[int, INT32, "Sequence number of its last record; -1 none."]
    last_offset: Annotated[int, INT64, "Offset of its last record; -1 none."]
    offset_delta: Annotated[int, INT32, "Last minus base offset of its last batch."]
    timestamp: Annotated[int, INT64, "Time of its last batch or marker, ms since 1970."]
    coordinator_epoch: Annotated[int, INT32, "Coordinator epoch of its last marker; -1 none."]
    current_txn_first_offset: Annotated[int, INT64, "Where its open transaction starts; -1 none is open."]


_HEADER = packed(SnapshotHeader)
_CHECKED_FROM = struct.Struct(">hI").size
_ENTRY = numpy_dtype(ProducerSnapshotEntry)


def snapshot_entries(content: bytes | memoryview) -> npt.NDArray[np.void]:
    """The entries (n, dtype of `ProducerSnapshotEntry`) of a whole snapshot file. `FormatError` unless all is right."""
    if len(content) < _HEADER.size:
        raise FormatError(f"a producer snapshot of {len(content)} bytes is shorter than its header", len(content))
    version, crc, count = _HEADER.unpack_from(content)
    if version != 1:
        raise FormatError(f"a producer snapshot of version {version}")
    if fastcrc.crc32.iscsi(memoryview(content)[_CHECKED_FROM:]) != crc:
        raise FormatError("the checksum of the producer snapshot does not match", 2)
    if len(content) != _HEADER.size + count * _ENTRY.itemsize:
        raise FormatError(f"a producer snapshot of {count} entries has {len(content)} bytes", _HEADER.size)
    return np.frombuffer(content, _ENTRY, offset=_HEADER.size)
