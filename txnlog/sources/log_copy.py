"""One copy of a log in a dump, batch by batch in order: its segments, or what `kafka-dump-log.sh` printed of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from txnlog.dump.dump_file import DumpFile, FileKind, Inventory
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.format.checkpoint import HIGH_WATERMARKS
from txnlog.sources.batch_columns import batches_of_run, batches_of_text
from txnlog.sources.batch_order import BatchOrder
from txnlog.sources.files import SegmentReading
from txnlog.sources.groups import Batches
from txnlog.sources.listed import WRITTEN_BY_BROKERS
from txnlog.sources.logs import base_of, checkpointed
from txnlog.sources.text import printed_files
from txnlog.sources.text_files import TextReading, text_rows
from txnlog.sources.text_summary import Printed


class Place(NamedTuple):
    """The partition of a log."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Damage(NamedTuple):
    """What may hide batches below an offset."""

    to: int
    problem: str


def copies_of(dump: Inventory, place: Place, cluster: str | None) -> list[list[DumpFile]]:
    """The files of each copy. Which logs a text has is not known before it is read."""
    copies: dict[tuple[str, str, bool], list[DumpFile]] = {}
    for file in dump.files:
        is_of_it = file.skipped is None if file.is_text else (file.topic, file.partition) == place
        if is_of_it and cluster in (None, file.cluster):
            copies.setdefault((file.cluster, file.log_dir, file.is_text), []).append(file)
    return list(copies.values())


def checkpointed_at(dump: Inventory, copy: DumpFile, place: Place, name: str) -> int | None:
    """The offset of a partition by a checkpoint of the copy's log directory."""
    for file in dump.files:
        is_it = file.kind is FileKind.OFFSET_CHECKPOINT and file.file.endswith(name) and not file.skipped
        if is_it and file.log_dir == copy.log_dir:
            return checkpointed(file).get(place)
    return None


def batches_of_segments(
    segments: list[DumpFile], order: BatchOrder, damage: list[Damage]
) -> Iterator[tuple[DumpFile, Batches]]:
    """The batches of segments; whoever takes them adds them to `order`. What could not be read is added to `damage`."""
    for file in segments:
        order.begin(file, base_of(file))
        reading = SegmentReading(file)
        for run, found in reading.runs():
            yield file, batches_of_run(run, found, file.topic in WRITTEN_BY_BROKERS)
        if reading.row["damaged_to"]:
            damage.append(Damage(reading.row["damaged_to"], f"{file.file}: {reading.row['problem']}"))
        if file.bytes_missing:
            problem = f"{file.file}: listing.tsv has {file.bytes_missing} more bytes of the log"
            damage.append(Damage(NOTHING_FOLLOWS, problem))


def lacks_end(dump: Inventory, files: list[DumpFile], place: Place, order: BatchOrder) -> Damage | None:
    """What a copy lacks that was read to its end, where another file names a later offset of its log."""
    high_watermark = checkpointed_at(dump, files[0], place, HIGH_WATERMARKS) or 0
    known_to = max([*map(base_of, files), high_watermark])
    if known_to <= order.end:
        return None
    return Damage(known_to, f"the copy ends at offset {order.end}, but its log reached offset {known_to}")


def batches_of_texts(
    texts: list[DumpFile], place: Place, order: BatchOrder, damage: list[Damage], cut: list[str]
) -> Iterator[tuple[DumpFile, Batches]]:
    """As `batches_of_segments`, of what was printed of a log. `cut`: why texts without it end before they are whole."""
    for text in _in_order(texts, place, cut):
        reading, name = TextReading(text), ""
        for printed, found in reading.found():
            if (printed.topic, printed.partition) != place or not isinstance(found, Printed):
                continue
            batches = batches_of_text(found.batches, printed.topic in WRITTEN_BY_BROKERS)
            if printed.file != name and len(batches.base_offset):
                base = batches.base_offset[0] if printed.base_offset is None else printed.base_offset
                order.begin(printed, int(base))
                name = printed.file
            yield printed, batches
        # That of another log may hide more of this one.
        for row in text_rows(reading.pieces):
            is_of_it = (row["topic"], row["partition"]) == place or row["damaged_to"] == NOTHING_FOLLOWS
            if is_of_it and row["damaged_to"]:
                damage.append(Damage(row["damaged_to"], f"{row['file']}: {row['problem']}"))


def _in_order(texts: list[DumpFile], place: Place, cut: list[str]) -> list[DumpFile]:
    """The texts that have the log, by where it begins in each."""
    begins: dict[str, int] = {}
    for text in texts:
        start, problem = _first_printed(text, place)
        if start is not None:
            begins[text.file] = start
        elif problem is not None:
            cut.append(f"{text.file}: {problem}")
    return sorted((text for text in texts if text.file in begins), key=lambda text: (begins[text.file], text.file))


def _first_printed(text: DumpFile, place: Place) -> tuple[int | None, str | None]:
    """Where the first section begins that a text has of a log; of one that has none, why it ends too early."""
    last = None
    for printed, section in printed_files(text):
        if (printed.topic, printed.partition) == place and printed.kind is FileKind.SEGMENT:
            return base_of(printed), None
        last = section
    return None, None if last is None else last.problem
