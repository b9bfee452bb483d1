"""The Python data sources: `spark.read.format("txnlog_batches").option("path", dump).load()` and its siblings.

They yield Arrow batches, list the dump on the driver and read it on the executors, and hold bounded memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.dump.opener import opened_segment
from txnlog.errors import OptionError
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.sources.coordinator_states import coordinator_states
from txnlog.sources.dump_source import DumpSource, Readable, splits_of
from txnlog.sources.evidence_rows import EvidenceRow
from txnlog.sources.file_groups import LogFiles, logs
from txnlog.sources.files import dump_file_rows
from txnlog.sources.log_copy import LogCopy, all_copies, printed_copies
from txnlog.sources.log_evidence import evidence
from txnlog.sources.partition_transactions import rows_of_copy
from txnlog.sources.rows import (
    AbortedTransactionRow,
    BatchRow,
    CheckpointRow,
    DumpFileRow,
    ProducerSnapshotRow,
    TransactionStateRow,
)
from txnlog.sources.segments import Level, segment_batches
from txnlog.sources.small_files import entry_rows
from txnlog.sources.text import text_batches, text_states
from txnlog.sources.text_entries import text_aborted, text_snapshots
from txnlog.sources.transaction_rows import PartitionTransactionRow


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
            yield from text_snapshots(file, self.is_wanted) if file.is_text else entry_rows(file)


class AbortedTransactionsSource(DumpSource):
    """`txnlog_aborted_transactions`: rows of `AbortedTransactionRow`."""

    short_name, row, kind = "txnlog_aborted_transactions", AbortedTransactionRow, FileKind.TRANSACTION_INDEX

    def rows(self, files: list[DumpFile]) -> Iterator[pa.RecordBatch]:
        for file in files:
            yield from text_aborted(file, self.is_wanted) if file.is_text else entry_rows(file)


class CheckpointsSource(DumpSource):
    """`txnlog_checkpoints`: rows of `CheckpointRow`."""

    short_name, row, kind = "txnlog_checkpoints", CheckpointRow, FileKind.OFFSET_CHECKPOINT

    def rows(self, files: list[DumpFile]) -> Iterator[pa.RecordBatch]:
        for file in files:
            if not file.is_text:
                yield from entry_rows(file)


class PartitionTransactionsSource(DumpSource):
    """`txnlog_partition_transactions`: rows of `PartitionTransactionRow`, by each copy of each log.

    A task reads whole logs. A text is read once for each log that it has.
    """

    short_name, row = "txnlog_partition_transactions", PartitionTransactionRow

    def readable(self) -> Sequence[Readable]:
        listed = self.inventory()
        copies = chain(all_copies(listed), printed_copies(listed))
        return [copy for copy in copies if self.is_wanted(replace(copy.files[0], **copy.place._asdict()))]

    def rows(self, copies: list[LogCopy]) -> Iterator[pa.RecordBatch]:
        for copy in copies:
            yield from rows_of_copy(copy)


class DumpFilesSource(DumpSource):
    """`txnlog_dump_files`: rows of `DumpFileRow`, one for each file whatever it is."""

    short_name, row = "txnlog_dump_files", DumpFileRow

    def rows(self, files: list[DumpFile]) -> Iterator[pa.RecordBatch]:
        yield from dump_file_rows(files)


class EvidenceSource(DumpSource):
    """`txnlog_evidence`: rows of `EvidenceRow`, all that the detection needs of a dump. Each file is read once.

    They are those of all other sources but `txnlog_batches`, and what each log adds up to for the replay. Rows of what
    is printed in a long text come in pieces (`txnlog.sources.text_files.rows_of_pieces`). Option `full`: true reads all
    of every log; by default a log is read from its newest valid snapshot on.
    """

    short_name, row = "txnlog_evidence", EvidenceRow

    def readable(self) -> Sequence[Readable]:
        found: list[LogFiles] = []
        for group in logs(self.wanted_files(), self.options.get("full", "false") != "true"):
            splits_of_texts = [split for file in group.files if file.is_text for split in splits_of(file)]
            if len(splits_of_texts) > 1:
                found += [LogFiles((split,), is_split=True) for split in splits_of_texts]
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
    PartitionTransactionsSource,
    DumpFilesSource,
    EvidenceSource,
)
