"""The control batches of a run, many at a time: nearly all are markers of one layout, 78 bytes long."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from txnlog.errors import FormatError
from txnlog.format import batch as wire
from txnlog.format.batch import HEADER_SIZE, LENGTH_END
from txnlog.format.compression import decompressed
from txnlog.format.control import MARKERS, ControlRecord, control_record
from txnlog.format.scan import Run
from txnlog.format.structure import INT8, INT16, INT32, gathered, numpy_dtype

UNREADABLE = "UNREADABLE"


class UsualMarker(NamedTuple):
    """The one record of a marker, with variable-length integers that take a byte each (`EndTransactionMarker`)."""

    length: Annotated[int, INT8, "Bytes after this field, zig-zag."]
    attributes: Annotated[int, INT8, "Not used."]
    timestamp_delta: Annotated[int, INT8, "Zig-zag; one byte if below 128."]
    offset_delta: Annotated[int, INT8, "Zig-zag; one byte if below 128."]
    key_length: Annotated[int, INT8, "Bytes of the key, zig-zag."]
    key_version: Annotated[int, INT16, "Version of the key."]
    control_type: Annotated[int, INT16, "0 ABORT, 1 COMMIT."]
    value_length: Annotated[int, INT8, "Bytes of the value, zig-zag."]
    value_version: Annotated[int, INT16, "Version of the value."]
    coordinator_epoch: Annotated[int, INT32, "Epoch of the coordinator that wrote it."]
    headers: Annotated[int, INT8, "Number of headers, zig-zag."]


USUAL = numpy_dtype(UsualMarker)
_ZIGZAG_OF_RECORD, _ZIGZAG_OF_KEY, _ZIGZAG_OF_VALUE = 2 * (USUAL.itemsize - 1), 2 * 4, 2 * 6

Numbers = npt.NDArray[np.intp]


class Controls(NamedTuple):
    """What control batches hold: `usual` markers as arrays, all others that hold something by their index."""

    usual: Numbers
    types: npt.NDArray[np.int16]
    coordinator_epochs: npt.NDArray[np.int32]
    others: dict[int, ControlRecord]


def controls(run: Run, indexes: Numbers) -> Controls:
    """The control records of the batches at `indexes`; `UNREADABLE` where a whole batch holds none that can be read."""
    headers = run.headers
    is_plain = (headers["attributes"][indexes] & wire.CODEC_MASK == 0) & (headers["record_count"][indexes] == 1)
    is_plain &= headers["batch_length"][indexes] == HEADER_SIZE - LENGTH_END + USUAL.itemsize
    candidates = indexes[is_plain]
    content = _after_headers(run, candidates)
    is_usual = _is_usual(content)
    usual = candidates[is_usual]
    others = np.sort(np.concatenate((indexes[~is_plain], candidates[~is_usual])))
    return Controls(
        usual,
        content["control_type"][is_usual].astype(np.int16),
        content["coordinator_epoch"][is_usual].astype(np.int32),
        _one_by_one(run, others),
    )


def _after_headers(run: Run, indexes: Numbers) -> npt.NDArray[np.void]:
    """The bytes after the headers of batches of the usual length, which lie in the window whole."""
    if not len(indexes):
        return np.zeros(0, USUAL)
    places = run.positions[indexes] - run.start + HEADER_SIZE
    return gathered(run.window, places, USUAL)


def _is_usual(content: npt.NDArray[np.void]) -> npt.NDArray[np.bool_]:
    is_usual: npt.NDArray[np.bool_] = (
        (content["length"] == _ZIGZAG_OF_RECORD)
        & (content["timestamp_delta"] >= 0)
        & (content["offset_delta"] >= 0)
        & (content["key_length"] == _ZIGZAG_OF_KEY)
        & (content["key_version"] >= 0)
        & np.logical_or.reduce([content["control_type"] == int(marker) for marker in MARKERS])
        & (content["value_length"] == _ZIGZAG_OF_VALUE)
        & (content["value_version"] >= 0)
    )
    return is_usual


def _one_by_one(run: Run, indexes: Numbers) -> dict[int, ControlRecord]:
    found = {}
    for index in indexes.tolist():
        header = run.headers.row(index)
        start = int(run.positions[index]) - run.start
        payload = bytes(run.window[start + HEADER_SIZE : start + LENGTH_END + header.batch_length])
        try:
            record = control_record(decompressed(payload, header.attributes & wire.CODEC_MASK), header.record_count)
        except FormatError:
            record = ControlRecord(UNREADABLE, None)
        if record is not None:
            found[index] = record
    return found
