"""The Python data sources: `spark.read.format("txnlog_batches").option("path", dump).load()` and its siblings.

They yield Arrow batches, list the dump on the driver and read it on the executors, and hold bounded memory.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from txnlog.dump.inventory import DumpFile, FileKind, Inventory, inventory
from txnlog.dump.opener import dump_root, opened_segment
from txnlog.dump.shared_listing import listed
from txnlog.dump.text_stream import parts
from txnlog.dump_log.dump_text import topic_partition as named_partition
from txnlog.errors import OptionError
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.sources.coordinator import coordinator_states
from txnlog.sources.evidence import EvidenceRow
from txnlog.sources.files import (
    aborted_transaction_rows,
    checkpoint_rows,
    dump_file_rows,
    producer_snapshot_rows,
)
from txnlog.sources.logs import LogFiles, evidence, logs
from txnlog.sources.rows import (
    AbortedTransactionRow,
    BatchRow,
    CheckpointRow,
    DumpFileRow,
    ProducerSnapshotRow,
    TransactionStateRow,
)
from txnlog.sources.segments import Level, segment_batches
from txnlog.sources.text import text_aborted, text_batches, text_snapshots, text_states
from txnlog.spark.schema import spark_schema

BYTES_PER_TASK = 256 << 20
FILES_PER_TASK = 2_000
# A byte of a text takes longer than one of a segment.
WEIGHT_OF_TEXT = 4


class Readable(Protocol):
    """What a task reads: a file, or some that are read together."""

    @property
    def weight(self) -> int:
        """About how many bytes."""

    @property
    def is_text(self) -> bool:
        """Whether it is the output of `kafka-dump-log.sh`."""


@dataclass
class Task(InputPartition):
    """What one task reads."""

    files: list[Any]


class _Reader(DataSourceReader):
    """Lists a dump, deals its files out to tasks, reads them."""

    def __init__(self, source: DumpSource) -> None:
        self._source = source

    def partitions(self) -> list[InputPartition]:
        return list(tasks(self._source.readable()))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # An empty list of partitions still calls this once, with a stand-in.
        if isinstance(partition, Task):
            yield from self._source.rows(partition.files)


def tasks(files: Sequence[Readable]) -> Iterator[Task]:
    """Files in groups of bounded bytes and number, in their order: neighbours share a task."""
    group: list[Readable] = []
    size = 0
    for file in files:
        weight = file.weight * (WEIGHT_OF_TEXT if file.is_text else 1)
        if group and (size + weight > BYTES_PER_TASK or len(group) == FILES_PER_TASK):
            yield Task(group)
            group, size = [], 0
        group.append(file)
        size += weight
    if group:
        yield Task(group)


def _parts(file: DumpFile) -> list[DumpFile]:
    """The file, or if it is a long text the parts of it that can be read beside one another."""
    if not file.is_text or file.skipped:
        return [file]
    try:
        found = parts(file.path, file.size)
    except OSError:
        # Whoever reads it tells of it.
        return [file]
    return [replace(file, part=part, size=(file.size if part.end is None else part.end) - part.start) for part in found]


class DumpSource(DataSource):
    """What the sources share. Options: `path` (a dump), `cluster` (its name), `partitions`, `topic_partition`.

    `partitions` selects topic partitions: comma-separated patterns such as `orders-0,payments-*`. `topic_partition` is
    whose log a text of `kafka-dump-log.sh` is of that does not say so. `listing` is where `shared_listing` put what
    these options find, which then is not listed once more. `splits_texts` says whether several tasks may read a text.
    """

    row: type
    splits_texts = False
    kind: FileKind | None = None
    short_name = ""

    @classmethod
    def name(cls) -> str:
        return cls.short_name

    def schema(self) -> StructType:
        return spark_schema(self.row)

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader(self)

    def inventory(self) -> Inventory:
        path = self.options.get("path")
        if not path:
            raise OptionError(f"{self.short_name} needs the option path: the folder of a dump")
        topic_partition = self.options.get("topic_partition")
        if topic_partition and named_partition(topic_partition)[0] is None:
            raise OptionError(f"topic_partition {topic_partition!r} is not a partition such as orders-0")
        root = dump_root(path)
        found = listed(self.options.get("listing"))
        if found is not None and found.root == root:
            return found
        return inventory(root, self.options.get("cluster"), topic_partition)

    def readable(self) -> Sequence[Readable]:
        """What is to be read, in pieces that can be read beside one another."""
        wanted = self.wanted_files()
        return [part for file in wanted for part in _parts(file)] if self.splits_texts else wanted

    def wanted_files(self) -> list[DumpFile]:
        kinds = (self.kind, FileKind.DUMP_TEXT)
        return [
            file
            for file in self.inventory().files
            if (self.kind is None or (file.kind in kinds and not file.skipped))
            and (file.kind is FileKind.DUMP_TEXT or self.is_wanted(file))
        ]

    def is_wanted(self, file: DumpFile) -> bool:
        """Whether `partitions` selects the file. What is in a text, only reading it tells."""
        patterns = [pattern.strip() for pattern in self.options.get("partitions", "*").split(",")]
        return _matches(file, patterns)

    def rows(self, files: list[Any]) -> Iterator[pa.RecordBatch]:
        raise AssertionError(f"{self.short_name} does not say how to read {len(files)} files")


def _matches(file: DumpFile, patterns: list[str]) -> bool:
    return patterns == ["*"] or any(fnmatch.fnmatchcase(f"{file.topic}-{file.partition}", each) for each in patterns)


class BatchesSource(DumpSource):
    """`txnlog_batches`: rows of `BatchRow`.

    Options: `level`: all (default), transactional or markers; `producers`: comma-separated producer ids (all).
    """

    short_name, row, kind = "txnlog_batches", BatchRow, FileKind.SEGMENT
    splits_texts = True

    def rows(self, files: list[DumpFile]) -> Iterator[pa.RecordBatch]:
        level = self.options.get("level", Level.ALL.value)
        if level not in set(Level):
            raise OptionError(f"level {level!r} is not one of {', '.join(Level)}")
        producers = self._producers()
        for file in files:
            if file.is_text:
                yield from _of_producers(text_batches(file, Level(level), self.is_wanted), producers)
                continue
            with opened_segment(file.path) as segment:
                yield from segment_batches(file, segment, Level(level), producers)

    def _producers(self) -> frozenset[int] | None:
        given = self.options.get("producers")
        if given is None:
            return None
        ids = [each.strip() for each in given.split(",")]
        if not all(each.isdecimal() for each in ids):
            raise OptionError(f"producers {given!r} are not producer ids such as 1000,1001")
        return frozenset(map(int, ids))


def _of_producers(found: Iterator[pa.RecordBatch], producers: frozenset[int] | None) -> Iterator[pa.RecordBatch]:
    if producers is None:
        yield from found
        return
    ids = pa.array(sorted(producers))
    for rows in found:
        chosen = rows.filter(pc.is_in(rows["producer_id"], ids))
        if chosen.num_rows:
            yield chosen


class TransactionStatesSource(DumpSource):
    """`txnlog_transaction_states`: rows of `TransactionStateRow`."""

    short_name, row, kind = "txnlog_transaction_states", TransactionStateRow, FileKind.SEGMENT
    splits_texts = True

    def wanted_files(self) -> list[DumpFile]:
        return [file for file in super().wanted_files() if file.is_text or file.topic == TRANSACTION_STATE]

    def rows(self, files: list[DumpFile]) -> Iterator[pa.RecordBatch]:
        for file in files:
            if file.is_text:
                yield from text_states(file, self.is_wanted)
                continue
            with opened_segment(file.path) as segment:
                yield from coordinator_states(file, segment)


class ProducerSnapshotsSource(DumpSource):
    """`txnlog_producer_snapshots`: rows of `ProducerSnapshotRow`."""

    short_name, row, kind = "txnlog_producer_snapshots", ProducerSnapshotRow, FileKind.PRODUCER_SNAPSHOT

    def rows(self, files: list[DumpFile]) -> Iterator[pa.RecordBatch]:
        for file in files:
            yield from text_snapshots(file, self.is_wanted) if file.is_text else producer_snapshot_rows(file)


class AbortedTransactionsSource(DumpSource):
    """`txnlog_aborted_transactions`: rows of `AbortedTransactionRow`."""

    short_name, row, kind = "txnlog_aborted_transactions", AbortedTransactionRow, FileKind.TRANSACTION_INDEX

    def rows(self, files: list[DumpFile]) -> Iterator[pa.RecordBatch]:
        for file in files:
            yield from text_aborted(file, self.is_wanted) if file.is_text else aborted_transaction_rows(file)


class CheckpointsSource(DumpSource):
    """`txnlog_checkpoints`: rows of `CheckpointRow`."""

    short_name, row, kind = "txnlog_checkpoints", CheckpointRow, FileKind.OFFSET_CHECKPOINT

    def rows(self, files: list[DumpFile]) -> Iterator[pa.RecordBatch]:
        for file in files:
            if not file.is_text:
                yield from checkpoint_rows(file)


class DumpFilesSource(DumpSource):
    """`txnlog_dump_files`: rows of `DumpFileRow`, one for each file whatever it is."""

    short_name, row = "txnlog_dump_files", DumpFileRow

    def rows(self, files: list[DumpFile]) -> Iterator[pa.RecordBatch]:
        yield from dump_file_rows(files)


class EvidenceSource(DumpSource):
    """`txnlog_evidence`: rows of `EvidenceRow`: all that the detection needs of segments, each of which is read once.

    They are those of `DumpFileRow` and of `TransactionStateRow`, and what each log adds up to for the replay. Rows of
    what is printed in a long text come in pieces (`txnlog.sources.files.rows_of_pieces`). Option `full`: true reads all
    of every log; by default a log is read from its newest valid snapshot on.
    """

    short_name, row = "txnlog_evidence", EvidenceRow

    def readable(self) -> Sequence[Readable]:
        found: list[LogFiles] = []
        for group in logs(self.wanted_files(), self.options.get("full", "false") != "true"):
            parts_of_texts = [part for file in group.files if file.is_text for part in _parts(file)]
            if len(parts_of_texts) > 1:
                found += [LogFiles((part,), is_part=True) for part in parts_of_texts]
            else:
                found.append(group)
        return found

    def rows(self, files: Iterable[Any]) -> Iterator[pa.RecordBatch]:
        yield from evidence(files)


SOURCES = (
    BatchesSource,
    TransactionStatesSource,
    ProducerSnapshotsSource,
    AbortedTransactionsSource,
    CheckpointsSource,
    DumpFilesSource,
    EvidenceSource,
)
