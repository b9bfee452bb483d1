"""All that the detection needs of a dump's files, in one pass over each: its row, and what its batches add up to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa

from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.dump_log.dump_text import NOT_PRINTED
from txnlog.format.structure import TEXT, Wire, joined
from txnlog.sources import open_data
from txnlog.sources.arrow import ROWS_PER_BATCH
from txnlog.sources.batch_columns import MARKER_NUMBERS, MARKER_TYPES
from txnlog.sources.group_rows import GroupRecordRow
from txnlog.sources.joined_splits import Piece
from txnlog.sources.producer_batches import EARLIEST, LATEST, Numbers
from txnlog.sources.replay_sums import Sums
from txnlog.sources.rows import (
    AbortedTransactionRow,
    CheckpointRow,
    DumpFileRow,
    ProducerSnapshotRow,
    ReplayRow,
    TransactionStateRow,
)
from txnlog.spark.schema import arrow_schema


class EntryRow(NamedTuple):
    """A row of another structure in one column, as each column that it leaves null takes time."""

    state: Annotated[
        object | None, Wire("struct", structure=joined("State", TransactionStateRow)), "A row of TransactionStateRow."
    ]
    producer_snapshot: Annotated[
        object | None,
        Wire("struct", structure=joined("ProducerSnapshot", ProducerSnapshotRow)),
        "A row of ProducerSnapshotRow.",
    ]
    aborted_transaction: Annotated[
        object | None,
        Wire("struct", structure=joined("AbortedTransactionOf", AbortedTransactionRow)),
        "A row of AbortedTransactionRow.",
    ]
    checkpoint: Annotated[
        object | None, Wire("struct", structure=joined("Checkpoint", CheckpointRow)), "A row of CheckpointRow."
    ]
    group_record: Annotated[
        object | None, Wire("struct", structure=joined("GroupRecord", GroupRecordRow)), "A row of GroupRecordRow."
    ]


class PieceRow(NamedTuple):
    """A row of `DumpFileRow` that several tasks read: each has a piece of it."""

    piece: Annotated[str | None, TEXT, "A part of what a long text says of a file, for the file's row (as JSON)."]


EvidenceRow = joined("EvidenceRow", DumpFileRow, ReplayRow, EntryRow, PieceRow)
FILE, SUMS, OPEN_DATA, MARKERS_OF_FILE, NAMED_OFFSETS, PRODUCERS = (
    "file",
    "sums",
    "open_data",
    "marker",
    "named_offset",
    "producer",
)
OF_REPLAY = (SUMS, OPEN_DATA, MARKERS_OF_FILE, NAMED_OFFSETS, PRODUCERS)
PIECES = "piece"
# Rows in a struct column of their own, which has the name of the fact.
STATES, SNAPSHOTS, ABORTED, CHECKPOINTS = "state", "producer_snapshot", "aborted_transaction", "checkpoint"
GROUP_RECORDS = "group_record"
# Sums and entries of small files. The others have a row for each record of a log, which may be millions.
OF_FILES = (FILE, PIECES, SNAPSHOTS, ABORTED, CHECKPOINTS, *OF_REPLAY)
FACT_OF_KIND = {
    FileKind.PRODUCER_SNAPSHOT: SNAPSHOTS,
    FileKind.TRANSACTION_INDEX: ABORTED,
    FileKind.OFFSET_CHECKPOINT: CHECKPOINTS,
}
# What a row of sums has in place of the columns of open data.
SUM = np.dtype(
    [
        (name, "i8")
        for name in ("batches", "records", "size_in_bytes", "broker_timestamp_before_start", "broker_timestamp_after")
    ]
)
FILES_AT_ONCE = 256


class EvidenceRows:
    """The evidence of some files, as rows of `EvidenceRow`, until there are enough of them for an Arrow batch."""

    def __init__(self) -> None:
        self._files: list[DumpFile] = []
        self._rows: list[dict[str, Any]] = []
        self._found: dict[str, list[tuple[int, int, Numbers]]] = {}
        self._waiting = 0

    def add_file(self, row: dict[str, Any]) -> None:
        """Add a row of `DumpFileRow`."""
        self._rows.append(row | {"fact": FILE})

    def add_piece(self, known: dict[str, Any], piece: Piece) -> None:
        """Add a piece of a row of `DumpFileRow`, and what is known of that without reading."""
        self._rows.append(known | {"fact": PIECES, "piece": piece.to_json()})

    def add_sums(self, file: DumpFile, sums: Sums) -> None:
        """Add what the batches of a file add up to; nothing where there are none."""
        if sums.first_offset is None:
            return
        self._files.append(file)
        whole = np.array(
            [
                (
                    sums.batches,
                    sums.records,
                    sums.size_in_bytes,
                    sums.latest_broker_timestamp,
                    sums.earliest_broker_timestamp,
                )
            ],
            SUM,
        )
        kinds = {
            SUMS: whole,
            OPEN_DATA: sums.open_data(),
            MARKERS_OF_FILE: sums.markers(),
            NAMED_OFFSETS: sums.named_offsets(),
            PRODUCERS: sums.producers(),
        }
        for fact, rows in kinds.items():
            if len(rows):
                self._found.setdefault(fact, []).append((len(self._files) - 1, sums.first_offset, rows))
                self._waiting += len(rows)

    @property
    def is_full(self) -> bool:
        """Whether there are enough rows to hand on."""
        return len(self._rows) >= FILES_AT_ONCE or self._waiting >= ROWS_PER_BATCH

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows so far as Arrow batches; then there are none."""
        if self._rows:
            yield pa.RecordBatch.from_pylist(self._rows, arrow_schema(EvidenceRow))
        for fact, found in self._found.items():
            places = np.repeat([file for file, _, _ in found], [len(rows) for _, _, rows in found])
            file_starts = np.repeat([start for _, start, _ in found], [len(rows) for _, _, rows in found])
            columns = _COLUMNS[fact](np.concatenate([rows for _, _, rows in found]))
            yield _batch(fact, self._files, places, columns | {"file_start": file_starts})
        self.__init__()  # type: ignore[misc]


def evidence_of(fact: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of `EvidenceRow` for rows of the structure that has a column of its own: `fact` is its name."""
    schema = arrow_schema(EvidenceRow)
    column = pa.StructArray.from_arrays(rows.columns, fields=list(schema.field(fact).type))
    given = {fact: column, "fact": pa.repeat(pa.scalar(fact), len(rows))}
    columns = [given.get(field.name, pa.nulls(len(rows), field.type)) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _batch(fact: str, files: Sequence[DumpFile], places: Numbers, columns: dict[str, Any]) -> pa.RecordBatch:
    schema, indexes = arrow_schema(EvidenceRow), pa.array(places)
    of_file = {"cluster", "broker", "log_dir", "topic", "partition", "file"}

    def column(field: pa.Field) -> pa.Array:
        if field.name in of_file:
            return pa.array([getattr(file, field.name) for file in files], field.type).take(indexes)
        if field.name == "fact":
            return pa.repeat(pa.scalar(fact), len(places))
        if field.name in columns:
            values = columns[field.name]
            return values.cast(field.type) if isinstance(values, pa.Array) else pa.array(values, field.type)
        return pa.nulls(len(places), field.type)

    return pa.RecordBatch.from_arrays([column(field) for field in schema], schema=schema)


def _known(values: Numbers, nothing: int) -> pa.Array:
    return pa.array(values, mask=values == nothing)


def _of_sums(rows: Numbers) -> dict[str, Any]:
    return {name: rows[name] for name in ("batches", "records", "size_in_bytes")} | {
        "broker_timestamp_before_start": _known(rows["broker_timestamp_before_start"], EARLIEST),
        "broker_timestamp_after": _known(rows["broker_timestamp_after"], LATEST),
    }


def _of_open_data(rows: Numbers) -> dict[str, Any]:
    return {
        name: rows[name] if column.null is None else _known(rows[name], column.null)
        for name, column in open_data.COLUMNS.items()
    } | {"records": pa.array(rows["records"], mask=rows["lacks_records"])}


def _of_markers(rows: Numbers) -> dict[str, Any]:
    is_printed = rows["marker"] < MARKER_NUMBERS[NOT_PRINTED]
    return {name: rows[name] for name in ("start_offset", "position", "producer_id", "producer_epoch")} | {
        "marker_type": pa.array(MARKER_TYPES).take(pa.array(rows["marker"])),
        "coordinator_epoch": pa.array(rows["coordinator_epoch"], mask=~is_printed),
        "last_timestamp": rows["max_timestamp"],
        "commits": rows["commits"],
    }


def _of_named_offsets(rows: Numbers) -> dict[str, Any]:
    return {name: rows[name] for name in ("start_offset", "records_before", "bytes_before")} | {
        "broker_timestamp_before_start": _known(rows["broker_timestamp_before_start"], EARLIEST),
        "broker_timestamp_after": _known(rows["broker_timestamp_after"], LATEST),
    }


def _of_producers(rows: Numbers) -> dict[str, Any]:
    unknown = ~rows["is_known"]
    return {
        "producer_id": rows["producer_id"],
        "first_producer_epoch": pa.array(rows["first_epoch"], mask=unknown),
        "producer_epoch": pa.array(rows["producer_epoch"], mask=unknown),
        "last_timestamp": pa.array(rows["last_timestamp"], mask=unknown),
        "last_sequence": pa.array(rows["last_sequence"], mask=~rows["has_data"]),
        "is_old_sequence": rows["is_old"],
        "coordinator_epoch": pa.array(rows["coordinator_epoch"], mask=~rows["has_marker"]),
    }


_COLUMNS: dict[str, Callable[[Numbers], dict[str, Any]]] = {
    SUMS: _of_sums,
    OPEN_DATA: _of_open_data,
    MARKERS_OF_FILE: _of_markers,
    NAMED_OFFSETS: _of_named_offsets,
    PRODUCERS: _of_producers,
}
