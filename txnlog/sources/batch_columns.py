"""The batches of a piece of a segment, or of a text, as the columns that are summed up (`Batches`)."""

from __future__ import annotations

import numpy as np

from txnlog.dump_log.batch_labels import KINDS, NULL, TextBatches
from txnlog.dump_log.dump_text import NOT_PRINTED
from txnlog.format import batch as wire
from txnlog.format.batch import LENGTH_END
from txnlog.format.control import MARKER_NAMES
from txnlog.format.control_batches import Controls
from txnlog.format.scan import Run
from txnlog.sources.producer_batches import NO_MARKER, NONE, Batches, Numbers

MARKER_TYPES = (*MARKER_NAMES, NOT_PRINTED)
MARKER_NUMBERS = {name: number for number, name in enumerate(MARKER_TYPES)}


def batches_of_run(run: Run, found: Controls, written_by_brokers: bool) -> Batches:
    """The batches of a run of a segment. `written_by_brokers`: all its times are a broker's."""
    headers = run.headers
    attributes = headers["attributes"]
    modern = headers["magic"] == 2
    marker = np.full(len(headers), NO_MARKER, np.int8)
    epochs = np.full(len(headers), -1, np.int32)
    marker[found.usual], epochs[found.usual] = found.types, found.coordinator_epochs
    for index, record in found.others.items():
        if record.control_type in MARKER_NAMES:
            marker[index], epochs[index] = MARKER_NUMBERS[record.control_type], record.coordinator_epoch or 0
    is_log_append_time = attributes & wire.LOG_APPEND_TIME != 0
    is_transactional = modern & (attributes & wire.TRANSACTIONAL != 0) & (headers["producer_id"] >= 0)
    is_a_control = headers.is_control
    offsets = headers["base_offset"] + headers["last_offset_delta"]
    has_horizon = modern & (attributes & wire.DELETE_HORIZON != 0)
    return Batches(
        position=run.positions,
        base_offset=headers["base_offset"],
        last_offset=offsets,
        producer_id=headers["producer_id"],
        producer_epoch=headers["producer_epoch"],
        first_time=np.where(has_horizon, NONE, headers["base_timestamp"]),
        max_timestamp=headers["max_timestamp"],
        is_log_append_time=is_log_append_time,
        records=np.maximum(headers["record_count"], -1),
        size_in_bytes=headers["batch_length"] + LENGTH_END,
        leader_epoch=headers["partition_leader_epoch"],
        crc=headers["crc"],
        marker=marker,
        coordinator_epoch=epochs,
        last_sequence=_last_sequence(headers["base_sequence"], headers["last_offset_delta"]),
        is_control=is_a_control,
        is_event=is_transactional & (~is_a_control | (marker > NO_MARKER)),
        has_broker_timestamp=is_log_append_time | (marker > NO_MARKER) | written_by_brokers,
    )


def _last_sequence(base_sequence: Numbers, last_offset_delta: Numbers) -> Numbers:
    """Sequence numbers start again at 0 after 2^31 - 1 (`DefaultRecordBatch.incrementSequence`)."""
    last = base_sequence + last_offset_delta & (1 << 31) - 1
    return np.where(base_sequence == -1, -1, last)


def batches_of_text(printed: TextBatches, written_by_brokers: bool) -> Batches:
    """The batches in a piece of a text, those with a matching checksum."""
    found = printed.chosen(printed.flags["crc_valid"])
    numbers, flags = found.numbers, found.flags

    def known(name: str, otherwise: int) -> Numbers:
        return np.where(numbers[name] == NULL, otherwise, numbers[name])

    marker = _MARKERS_OF_KINDS[found.kinds]
    marker[(marker == MARKER_NUMBERS[NOT_PRINTED]) & ~flags["is_transactional"]] = NO_MARKER
    is_of_transaction = flags["is_transactional"] & (numbers["producer_id"] >= 0)
    return Batches(
        position=numbers["position"],
        base_offset=numbers["base_offset"],
        last_offset=numbers["last_offset"],
        producer_id=numbers["producer_id"],
        producer_epoch=numbers["producer_epoch"],
        first_time=np.full(len(found), NONE),
        max_timestamp=numbers["max_timestamp"],
        is_log_append_time=flags["is_log_append_time"],
        records=known("record_count", -1),
        size_in_bytes=known("size_in_bytes", 0),
        marker=marker,
        coordinator_epoch=known("coordinator_epoch", -1),
        leader_epoch=numbers["partition_leader_epoch"],
        crc=known("crc", -1),
        last_sequence=_last_sequence(numbers["base_sequence"], numbers["last_offset"] - numbers["base_offset"]),
        is_control=flags["is_control"],
        is_event=is_of_transaction & (~flags["is_control"] | (marker > NO_MARKER)),
        has_broker_timestamp=flags["is_log_append_time"] | (marker > NO_MARKER) | written_by_brokers,
    )


_MARKERS_OF_KINDS = np.array([MARKER_NUMBERS.get(kind or "", NO_MARKER) for kind in KINDS], np.int8)
