"""Segments as Arrow batches: one row per record batch, built with numpy from one gather of headers."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from txnlog.errors import FormatError
from txnlog.format import batch as wire
from txnlog.format.batch import CODECS, HEADER_SIZE, LENGTH_END
from txnlog.format.checksum import Segment
from txnlog.format.compression import decompressed
from txnlog.format.control import MARKERS, ControlRecord, control_record
from txnlog.format.scan import BATCH_HEADER, Kind, Run, Stretch, scan
from txnlog.sources.arrow import ROWS_PER_BATCH, place_of, record_batch
from txnlog.sources.inventory import DumpFile
from txnlog.sources.rows import BatchRow

UNREADABLE = "UNREADABLE"
MARKER_NAMES = frozenset(marker.name for marker in MARKERS)

Numbers = npt.NDArray[Any]


class Level(enum.StrEnum):
    """Which batches are wanted."""

    ALL = "all"
    TRANSACTIONAL = "transactional"
    MARKERS = "markers"


def segment_batches(file: DumpFile, segment: Segment, level: Level) -> Iterator[pa.RecordBatch]:
    """Rows of `BatchRow` for a segment: whole batches, and those of which only the checksum is wrong."""
    place = place_of(file, BatchRow)
    for piece in scan(segment):
        if isinstance(piece, Run):
            wanted = np.flatnonzero(_of_level(piece.headers, level))
            for start in range(0, len(wanted), ROWS_PER_BATCH):
                yield _rows_of_run(place, piece, wanted[start : start + ROWS_PER_BATCH])
        elif piece.kind is Kind.CRC_MISMATCH and piece.header is not None:
            headers = np.array([tuple(piece.header)], BATCH_HEADER)
            yield _rows(place, np.array([piece.start]), headers, {}, crc_valid=False)


def control_records(run: Run, indexes: npt.NDArray[np.intp]) -> dict[int, ControlRecord]:
    """The control records of the batches at `indexes`; `UNREADABLE` where a whole batch holds none that can be read."""
    found = {}
    for index in indexes.tolist():
        header = run.headers[index]
        start = int(run.positions[index]) - run.start
        payload = bytes(run.window[start + HEADER_SIZE : start + LENGTH_END + int(header["batch_length"])])
        try:
            codec = int(header["attributes"]) & wire.CODEC_MASK
            record = control_record(decompressed(payload, codec), int(header["record_count"]))
        except FormatError:
            record = ControlRecord(UNREADABLE, None)
        if record is not None:
            found[index] = record
    return found


def is_control(headers: Numbers) -> npt.NDArray[np.bool_]:
    """Which headers are of control batches."""
    flags: npt.NDArray[np.bool_] = (headers["attributes"] & wire.CONTROL != 0) & (headers["magic"] == 2)
    return flags


def _of_level(headers: Numbers, level: Level) -> npt.NDArray[np.bool_]:
    if level is Level.ALL:
        return np.ones(len(headers), np.bool_)
    if level is Level.MARKERS:
        return is_control(headers)
    transactional: npt.NDArray[np.bool_] = headers["attributes"] & wire.TRANSACTIONAL != 0
    return (transactional & (headers["producer_id"] >= 0)) | is_control(headers)


def _rows_of_run(place: dict[str, Any], run: Run, wanted: npt.NDArray[np.intp]) -> pa.RecordBatch:
    headers = run.headers[wanted]
    records = control_records(run, wanted[is_control(headers)])
    by_row = {row: records[index] for row, index in enumerate(wanted.tolist()) if index in records}
    return _rows(place, run.positions[wanted], headers, by_row, crc_valid=True)


def _rows(
    place: dict[str, Any],
    positions: Numbers,
    headers: Numbers,
    records: dict[int, ControlRecord],
    crc_valid: bool,
) -> pa.RecordBatch:
    native = {name: headers[name].astype(headers.dtype[name].newbyteorder("=")) for name in BATCH_HEADER.names or ()}
    modern = native["magic"] == 2
    has_horizon = modern & (native["attributes"] & wire.DELETE_HORIZON != 0)
    columns = native | {
        "position": positions,
        "size_in_bytes": native["batch_length"].astype(np.int64) + LENGTH_END,
        "last_offset": native["base_offset"] + native["last_offset_delta"],
        "compression": _chosen([*CODECS, "unknown"], np.minimum(native["attributes"] & wire.CODEC_MASK, len(CODECS))),
        "timestamp_type": _chosen(
            ["CreateTime", "LogAppendTime"],
            (native["attributes"] & wire.LOG_APPEND_TIME != 0).astype(np.int8),
        ),
        "is_transactional": modern & (native["attributes"] & wire.TRANSACTIONAL != 0),
        "is_control": modern & (native["attributes"] & wire.CONTROL != 0),
        "delete_horizon_ms": pa.array(native["base_timestamp"], mask=~has_horizon),
        "base_timestamp": pa.array(native["base_timestamp"], mask=has_horizon),
        "record_count": pa.array(native["record_count"], mask=native["record_count"] < 0),
    }
    return record_batch(BatchRow, place | {"crc_valid": crc_valid}, columns | _control_columns(len(headers), records))


def _chosen(names: list[str], indexes: Numbers) -> pa.Array:
    return pa.array(names).take(pa.array(indexes))


def _control_columns(rows: int, records: dict[int, ControlRecord]) -> dict[str, Any]:
    if not records:
        nulls = pa.nulls(rows)
        return {"control_type": nulls, "marker_type": nulls, "coordinator_epoch": nulls}
    kinds = [records[row].control_type if row in records else None for row in range(rows)]
    return {
        "control_type": kinds,
        "marker_type": [kind if kind in MARKER_NAMES else None for kind in kinds],
        "coordinator_epoch": [records[row].coordinator_epoch if row in records else None for row in range(rows)],
    }


def stretch_problem(stretch: Stretch) -> str:
    """A stretch in words, with the byte."""
    return f"byte {stretch.start}: {stretch.end - stretch.start} bytes are {stretch.kind.value}"
