"""Texts of `kafka-dump-log.sh` as the rows that the printed files themselves have (`txnlog.sources.rows`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from txnlog.dump.dump_file import KIND_OF_ENDING, DumpFile, FileKind
from txnlog.dump.text_splits import printed_name
from txnlog.dump.text_stream import Section, sections
from txnlog.dump_log import dump_text
from txnlog.dump_log.batch_labels import TextBatches
from txnlog.dump_log.coordinator_text import CoordinatorRecord, coordinator_record
from txnlog.dump_log.dump_text import Heading, is_dump_text
from txnlog.dump_log.line_layouts import Lines
from txnlog.dump_log.text_batches import batches
from txnlog.errors import DumpError, FormatError
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.sources.arrow import ROWS_PER_BATCH, place_of, record_batch
from txnlog.sources.coordinator_states import NULLS as NO_STATE
from txnlog.sources.coordinator_states import state_batches, state_columns
from txnlog.sources.rows import BatchRow, TransactionStateRow
from txnlog.sources.segments import Level
from txnlog.sources.text_chunks import chunks

NOT_DECODED = "records are not printed: print them with --transaction-log-decoder"


def printed_files(file: DumpFile) -> Iterator[tuple[DumpFile, Section]]:
    """What the tool printed of each file, as a file of the dump. `DumpError` where nothing says of which partition."""
    seen = Counter(dict(file.split.printed_before))
    is_continued = file.split.is_continued
    for section in sections(file.path, file.split):
        if section.heading is None and not is_dump_text(section.head):
            # What the tool, or Java, says before it begins.
            continue
        printed, name = _printed_file(file, section), printed_name(section.heading)
        # A split that starts within a section goes on with it.
        seen[name] += not is_continued
        is_continued = False
        if seen[name] > 1:
            printed = replace(printed, file=f"{printed.file}#{seen[name]}")
        yield printed, section


def check_partition(file: DumpFile) -> None:
    """`DumpError` for a text whose beginning does not say of which partition it is."""
    for _ in printed_files(file):
        return


def _printed_file(file: DumpFile, section: Section) -> DumpFile:
    named = dump_text.heading(section.heading) if section.heading is not None else Heading()
    topic, partition = (named.topic, named.partition) if named.topic else (file.topic, file.partition)
    if topic is None or partition is None:
        said = f"Dumping {section.heading} names no partition" if section.heading else "there is no line Dumping ..."
        raise DumpError(
            f"{file.file}: byte {section.position}: {said}: name it with --topic-partition orders-0, in the file's name"
            f" (orders-0.txt), or in dump.toml under [texts]"
        )
    base_offset = named.base_offset
    if base_offset is None:
        base_offset = next(iter(dump_text.starting_offsets(section.head)), None)
    kind = KIND_OF_ENDING.get(named.ending or "") or _kind_by_content(section.head)
    name = named.name or "text"
    return replace(
        file,
        file=f"{file.file}/{topic}-{partition}/{name}",
        kind=kind,
        topic=topic,
        partition=partition,
        base_offset=base_offset,
    )


def _kind_by_content(head: bytes) -> FileKind:
    for line in head.splitlines():
        if line.startswith((dump_text.BATCH, dump_text.MESSAGE)):
            return FileKind.SEGMENT
        if line.startswith(dump_text.ENTRY):
            return FileKind.PRODUCER_SNAPSHOT
        if line.startswith(dump_text.ABORTED):
            return FileKind.TRANSACTION_INDEX
    return FileKind.SEGMENT


def text_batches(file: DumpFile, level: Level, is_wanted: Callable[[DumpFile], bool]) -> Iterator[pa.RecordBatch]:
    """Rows of `BatchRow`."""
    for printed, section in printed_files(file):
        if printed.kind is FileKind.SEGMENT and is_wanted(printed):
            place = place_of(printed, BatchRow)
            for chunk in chunks(section):
                found = _of_level(batches(*chunk), level)
                if len(found):
                    whole = record_batch(BatchRow, place, found.columns())
                    for start in range(0, len(found), ROWS_PER_BATCH):
                        yield whole.slice(start, ROWS_PER_BATCH)


def _of_level(found: TextBatches, level: Level) -> TextBatches:
    if level is Level.ALL:
        return found
    control = found.flags["is_control"]
    if level is Level.MARKERS:
        return found.chosen(control)
    return found.chosen((found.flags["is_transactional"] & (found.numbers["producer_id"] >= 0)) | control)


def text_states(file: DumpFile, is_wanted: Callable[[DumpFile], bool]) -> Iterator[pa.RecordBatch]:
    """Rows of `TransactionStateRow`."""
    yield from state_batches(
        row
        for printed, section in printed_files(file)
        if printed.kind is FileKind.SEGMENT and printed.topic == TRANSACTION_STATE and is_wanted(printed)
        for chunk in chunks(section)
        for row in states_of(printed, chunk.lines, batches(*chunk))
    )


def states_of(printed: DumpFile, lines: Lines, found: TextBatches) -> Iterator[dict[str, Any]]:
    """Rows of `TransactionStateRow`, as dictionaries, of some batches and the lines in which they stand."""
    place = NO_STATE | place_of(printed, TransactionStateRow)
    marks = dump_text.MESSAGE if found.are_records_alone else dump_text.RECORD
    records = np.flatnonzero(lines.start_with(marks))
    first = np.searchsorted(records, found.lines)
    ends = np.append(first[1:], len(records))
    adds_up = found.add_up()
    for index in range(len(found)):
        if found.flags["is_control"][index] or not found.flags["crc_valid"][index]:
            continue
        row = place | {
            "position": int(found.numbers["position"][index]),
            "coordinator_epoch": int(found.numbers["partition_leader_epoch"][index]),
            "append_timestamp": int(found.numbers["max_timestamp"][index]),
            "offset": int(found.numbers["base_offset"][index]),
            "is_tombstone": False,
        }
        mine = records[first[index] : ends[index]].tolist()
        if not adds_up[index]:
            yield row | {"problem": f"{len(mine)} lines for {found.numbers['record_count'][index]} records"}
        elif not mine and found.numbers["record_count"][index] != 0:
            yield row | {"problem": NOT_DECODED}
        for number, line in enumerate(mine if adds_up[index] else ()):
            yield row | _decoded(lines.line(line), number, found, index)


def _decoded(line: bytes, number: int, found: TextBatches, index: int) -> dict[str, Any]:
    try:
        record = coordinator_record(line)
        offset = _offset(record, number, found, index)
    except FormatError as error:
        return {"problem": f"record {number} of the batch: {error.reason}"}
    if record.transactional_id is None:
        return {"offset": offset}
    known = {"offset": offset, "transactional_id": record.transactional_id}
    if record.state is None:
        return known | {"is_tombstone": True}
    columns = state_columns(record.state)
    if not line.rpartition(b" payload: ")[2].startswith(b"{"):
        # Only the releases that print JSON say more than the text of the older ones.
        columns["client_transaction_version"] = None
    return known | columns


def _offset(record: CoordinatorRecord, number: int, found: TextBatches, index: int) -> int:
    base, last = int(found.numbers["base_offset"][index]), int(found.numbers["last_offset"][index])
    offset = record.offset
    if offset is None:
        if found.numbers["record_count"][index] != last - base + 1:
            raise FormatError("its offset is not printed: print it without --skip-record-metadata")
        offset = base + number
    if not base <= offset <= last:
        raise FormatError(f"offset {offset} is not one of its batch, {base} to {last}")
    return offset
