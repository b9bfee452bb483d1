"""Segments of `__transaction_state` as rows of `TransactionStateRow`: each record decoded once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from txnlog.dump.dump_file import DumpFile
from txnlog.errors import FormatError
from txnlog.format import batch as wire
from txnlog.format.batch import HEADER_SIZE, LENGTH_END, RecordBatchHeader
from txnlog.format.checksum import Segment
from txnlog.format.compression import decompressed
from txnlog.format.coordinator import STATES, TransactionState, transaction_state, transactional_id_of_key
from txnlog.format.coordinator_batches import TopicPartitions, UsualRecords, usual_records
from txnlog.format.record import Record, records
from txnlog.format.scan import Run, scan
from txnlog.format.structure import fields
from txnlog.sources.arrow import place_of, record_batch, record_batches
from txnlog.sources.rows import TransactionStateRow
from txnlog.spark.schema import arrow_schema

NAMES = tuple(field.name for field in fields(TransactionStateRow))
NULLS: dict[str, Any] = dict.fromkeys(NAMES)
ALWAYS_THERE = ("producer_id", "producer_epoch", "timeout_ms", "client_transaction_version", "last_update_timestamp")
NULL_BELOW_0 = ("previous_producer_id", "next_producer_id", "next_producer_epoch", "start_timestamp")
# Bytes of a segment that are decoded at once: compressed records may become many times as large.
BYTES_AT_ONCE = 4 << 20


def coordinator_states(file: DumpFile, segment: Segment) -> Iterator[pa.RecordBatch]:
    """Rows of `TransactionStateRow`."""
    for piece in scan(segment):
        if isinstance(piece, Run):
            yield from states_of_run(file, piece)


def states_of_run(file: DumpFile, run: Run) -> Iterator[pa.RecordBatch]:
    """Rows of `TransactionStateRow` of some whole batches.

    They are in the order of the batches, but records that are not as coordinators usually write them come last.
    """
    place = NULLS | place_of(file, TransactionStateRow)
    batches = np.flatnonzero(~run.headers.is_control)
    limits = np.arange(run.start, run.end, BYTES_AT_ONCE)[1:]
    for some in np.split(batches, np.searchsorted(run.positions[batches], limits)):
        usual = usual_records(run, some)
        if len(usual.indexes):
            yield _usual_batch(run, usual, place)
        others = np.setdiff1d(some, usual.indexes, assume_unique=True)
        yield from state_batches(_rows(run, others, place))


def state_batches(rows: Iterable[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    """Arrow batches of rows of `TransactionStateRow`."""
    yield from record_batches(TransactionStateRow, (tuple(row[name] for name in NAMES) for row in rows))


def _usual_batch(run: Run, usual: UsualRecords, place: dict[str, Any]) -> pa.RecordBatch:
    headers = run.headers.chosen(usual.indexes)
    values = usual.values
    columns = {
        **{name: values[name] for name in ALWAYS_THERE},
        **{name: pa.array(values[name], mask=values[name] < 0) for name in NULL_BELOW_0},
        "position": run.positions[usual.indexes],
        "offset": headers["base_offset"] + usual.offset_deltas,
        "coordinator_epoch": headers["partition_leader_epoch"],
        "append_timestamp": headers["max_timestamp"],
        "transactional_id": usual.transactional_ids,
        "state": pa.array(STATES).take(pa.array(values["status"])),
        "topic_partitions": _lists(usual.topic_partitions),
    }
    constants = {name: value for name, value in place.items() if name not in columns}
    return record_batch(TransactionStateRow, constants | {"is_tombstone": False}, columns)


def _lists(found: TopicPartitions) -> pa.Array:
    kind = arrow_schema(TransactionStateRow).field("topic_partitions").type
    pairs = pa.StructArray.from_arrays([found.topics, pa.array(found.partitions)], fields=list(kind.value_type))
    return pa.ListArray.from_arrays(pa.array(found.offsets), pairs, type=kind, mask=pa.array(found.is_null))


def _rows(run: Run, indexes: npt.NDArray[np.intp], place: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for index in indexes.tolist():
        header = run.headers.row(index)
        batch = {
            "position": int(run.positions[index]),
            "coordinator_epoch": header.partition_leader_epoch,
            "append_timestamp": header.max_timestamp,
            "is_tombstone": False,
        }
        offset = header.base_offset
        try:
            for record in _records(run, int(run.positions[index]) - run.start, header):
                yield place | batch | {"offset": offset + record.offset_delta} | decoded(record)
        except FormatError as error:
            yield place | batch | {"offset": offset, "problem": f"records of the batch: {error}"}


def _records(run: Run, start: int, header: RecordBatchHeader) -> Iterator[Record]:
    if header.magic != 2:
        raise FormatError(f"a coordinator never writes magic {header.magic}")
    end = start + LENGTH_END + header.batch_length
    if end > len(run.window):
        raise FormatError(f"a coordinator never writes a batch of {end - start} bytes")
    payload = bytes(run.window[start + HEADER_SIZE : end])
    yield from records(decompressed(payload, header.attributes & wire.CODEC_MASK), header.record_count)


def decoded(record: Record) -> dict[str, Any]:
    """The columns of `TransactionStateRow` that a key and a value have; a `problem` where they cannot be read."""
    try:
        transactional_id = transactional_id_of_key(record.key)
    except FormatError as error:
        return {"problem": f"key: {error}"}
    if transactional_id is None:
        return {}
    known = {"transactional_id": transactional_id}
    if record.value is None:
        return known | {"is_tombstone": True}
    try:
        return known | state_columns(transaction_state(record.value))
    except FormatError as error:
        return known | {"problem": f"value: {error}"}


def state_columns(state: TransactionState) -> dict[str, Any]:
    """The columns of `TransactionStateRow` that a value has; null where it is not set."""
    columns = state._asdict()
    for name in NULL_BELOW_0:
        columns[name] = None if columns[name] < 0 else columns[name]
    return columns
