"""Segments as Arrow batches: one row per record batch, built with numpy from one gather of headers."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from txnlog.dump.dump_file import DumpFile
from txnlog.format import batch as wire
from txnlog.format.batch import CODECS, LENGTH_END
from txnlog.format.checksum import Segment
from txnlog.format.control import MARKER_NAMES, ControlType
from txnlog.format.control_batches import Controls, controls
from txnlog.format.headers import NAMES, Headers
from txnlog.format.scan import Kind, Run, Stretch, scan
from txnlog.sources.arrow import ROWS_PER_BATCH, place_of, record_batch
from txnlog.sources.rows import BatchRow

Numbers = npt.NDArray[Any]
_NO_CONTROL = {name: pa.nulls(1) for name in ("control_type", "marker_type", "coordinator_epoch")}


class Level(enum.StrEnum):
    """Which batches are wanted."""

    ALL = "all"
    TRANSACTIONAL = "transactional"
    MARKERS = "markers"


def segment_batches(
    file: DumpFile, segment: Segment, level: Level, producers: frozenset[int] | None = None
) -> Iterator[pa.RecordBatch]:
    """Rows of `BatchRow` for a segment: whole batches, and those of which only the checksum is wrong.

    `producers`: of these producer ids alone.
    """
    place = place_of(file, BatchRow)
    for piece in scan(segment):
        if isinstance(piece, Run):
            chosen = _of_level(piece.headers, level)
            if producers is not None:
                chosen &= np.isin(piece.headers["producer_id"], sorted(producers))
            wanted = np.flatnonzero(chosen)
            for start in range(0, len(wanted), ROWS_PER_BATCH):
                yield _rows_of_run(place, piece, wanted[start : start + ROWS_PER_BATCH])
        elif piece.kind is Kind.CRC_MISMATCH and piece.header is not None:
            headers = Headers.of([piece.header])
            yield _rows(place, np.array([piece.start]), headers, _NO_CONTROL, crc_valid=False)


def _of_level(headers: Headers, level: Level) -> npt.NDArray[np.bool_]:
    if level is Level.ALL:
        return np.ones(len(headers), np.bool_)
    if level is Level.MARKERS:
        return headers.is_control
    transactional: npt.NDArray[np.bool_] = headers["attributes"] & wire.TRANSACTIONAL != 0
    return (transactional & (headers["producer_id"] >= 0)) | headers.is_control


def _rows_of_run(place: dict[str, Any], run: Run, wanted: npt.NDArray[np.intp]) -> pa.RecordBatch:
    headers = run.headers.chosen(wanted)
    found = controls(run, wanted[headers.is_control])
    return _rows(place, run.positions[wanted], headers, _control_columns(wanted, found), crc_valid=True)


def _rows(
    place: dict[str, Any],
    positions: Numbers,
    headers: Headers,
    control_columns: dict[str, Any],
    crc_valid: bool,
) -> pa.RecordBatch:
    fields = {name: headers[name] for name in NAMES}
    modern = fields["magic"] == 2
    has_horizon = modern & (fields["attributes"] & wire.DELETE_HORIZON != 0)
    columns = fields | {
        "position": positions,
        "size_in_bytes": fields["batch_length"] + LENGTH_END,
        "last_offset": fields["base_offset"] + fields["last_offset_delta"],
        "compression": _chosen([*CODECS, "unknown"], np.minimum(fields["attributes"] & wire.CODEC_MASK, len(CODECS))),
        "timestamp_type": _chosen(
            ["CreateTime", "LogAppendTime"],
            (fields["attributes"] & wire.LOG_APPEND_TIME != 0).astype(np.int8),
        ),
        "is_transactional": modern & (fields["attributes"] & wire.TRANSACTIONAL != 0),
        "is_control": headers.is_control,
        "delete_horizon_ms": pa.array(fields["base_timestamp"], mask=~has_horizon),
        "base_timestamp": pa.array(fields["base_timestamp"], mask=has_horizon),
        "record_count": pa.array(fields["record_count"], mask=fields["record_count"] < 0),
    }
    return record_batch(BatchRow, place | {"crc_valid": crc_valid}, columns | control_columns)


def _chosen(names: list[str], indexes: Numbers) -> pa.Array:
    return pa.array(names).take(pa.array(indexes))


def _control_columns(wanted: npt.NDArray[np.intp], found: Controls) -> dict[str, Any]:
    """What the control batches among the `wanted` ones hold; null in all other rows."""
    names = [kind.name for kind in ControlType]
    codes = np.full(len(wanted), -1, np.int64)
    epochs = np.full(len(wanted), -1, np.int32)
    usual = np.searchsorted(wanted, found.usual)
    codes[usual], epochs[usual] = found.types, found.coordinator_epochs
    is_marker = codes >= 0
    for index, record in found.others.items():
        row = int(np.searchsorted(wanted, index))
        codes[row] = len(names)
        names.append(record.control_type)
        if record.coordinator_epoch is not None:
            epochs[row], is_marker[row] = record.coordinator_epoch, True
    kinds = pa.array(codes, mask=codes < 0)
    return {
        "control_type": pa.array(names).take(kinds),
        "marker_type": pa.array([name if name in MARKER_NAMES else None for name in names]).take(kinds),
        "coordinator_epoch": pa.array(epochs, mask=~is_marker),
    }


def stretch_problem(stretch: Stretch) -> str:
    """A stretch in words, with the byte."""
    return f"byte {stretch.start}: {stretch.end - stretch.start} bytes are {stretch.kind.value}"
