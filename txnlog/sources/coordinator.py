"""Segments of `__transaction_state` as rows of `TransactionStateRow`: each batch decoded once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from txnlog.errors import FormatError
from txnlog.format import batch as wire
from txnlog.format.batch import HEADER_SIZE, LENGTH_END, RecordBatchHeader
from txnlog.format.checksum import Segment
from txnlog.format.compression import decompressed
from txnlog.format.coordinator import TransactionState, transaction_state, transactional_id_of_key
from txnlog.format.partitioner import coordinator_partition
from txnlog.format.record import Record, records
from txnlog.format.scan import Run, scan
from txnlog.format.structure import fields
from txnlog.sources.arrow import place_of, record_batches
from txnlog.sources.inventory import DumpFile
from txnlog.sources.rows import TransactionStateRow

NAMES = tuple(field.name for field in fields(TransactionStateRow))
NULLS: dict[str, Any] = dict.fromkeys(NAMES)


def coordinator_states(file: DumpFile, segment: Segment, partitions: int) -> Iterator[pa.RecordBatch]:
    """Rows of `TransactionStateRow`; `partitions` is how many `__transaction_state` has."""
    place = NULLS | place_of(file, TransactionStateRow)
    runs = (piece for piece in scan(segment) if isinstance(piece, Run))
    rows = (row for run in runs for row in _rows_of_run(run, place, partitions))
    yield from state_batches(rows)


def state_batches(rows: Iterable[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    """Arrow batches of rows of `TransactionStateRow`."""
    yield from record_batches(TransactionStateRow, (tuple(row[name] for name in NAMES) for row in rows))


def _rows_of_run(run: Run, place: dict[str, Any], partitions: int) -> Iterator[dict[str, Any]]:
    for index in np.flatnonzero(~run.headers.is_control).tolist():
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
                yield (place | batch | {"offset": offset + record.offset_delta} | decoded(record, place, partitions))
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


def decoded(record: Record, place: dict[str, Any], partitions: int) -> dict[str, Any]:
    """The columns of `TransactionStateRow` that a record's key and value have; a `problem` where they cannot be read.

    `place` has the `coordinator_partition` that the record was found in.
    """
    try:
        transactional_id = transactional_id_of_key(record.key)
    except FormatError as error:
        return {"problem": f"key: {error}"}
    if transactional_id is None:
        return {}
    known = id_columns(transactional_id, place["coordinator_partition"], partitions)
    if record.value is None:
        return known | {"is_tombstone": True}
    try:
        return known | state_columns(transaction_state(record.value))
    except FormatError as error:
        return known | {"problem": f"value: {error}"}


def id_columns(transactional_id: str, partition: int | None, partitions: int) -> dict[str, Any]:
    """The column of an id that stands in a partition of `__transaction_state`; a problem if it belongs to another."""
    owner = coordinator_partition(transactional_id, partitions)
    misplaced = {"problem": f"the id belongs to partition {owner} of {partitions}"} if owner != partition else {}
    return {"transactional_id": transactional_id} | misplaced


def state_columns(state: TransactionState) -> dict[str, Any]:
    """The columns of `TransactionStateRow` that a value has; null where it is not set."""
    columns = state._asdict()
    for name in ("previous_producer_id", "next_producer_id", "next_producer_epoch", "start_timestamp"):
        columns[name] = None if columns[name] < 0 else columns[name]
    return columns
