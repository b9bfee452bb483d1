"""One copy of a log in a dump, batch by batch in order: its segments, or what `kafka-dump-log.sh` printed of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from txnlog.dump.dump_file import DumpFile, FileKind, Inventory
from txnlog.errors import OptionError
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.format.checkpoint import HIGH_WATERMARKS, LOG_STARTS
from txnlog.sources.batch_columns import batches_of_run, batches_of_text
from txnlog.sources.batch_order import BatchOrder
from txnlog.sources.file_groups import base_of, checkpointed
from txnlog.sources.files import SegmentReading
from txnlog.sources.listed import WRITTEN_BY_BROKERS
from txnlog.sources.producer_batches import Batches
from txnlog.sources.text import printed_files
from txnlog.sources.text_files import TextReading, text_rows
from txnlog.sources.text_summary import Printed


class Place(NamedTuple):
    """The partition of a log."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class LogCopy(NamedTuple):
    """The files of one copy, and its log start offset and high watermark by checkpoints, 0 if these do not say."""

    files: list[DumpFile]
    place: Place
    log_start: int
    high_watermark: int

    @property
    def log_dir(self) -> str:
        """The log directory that was copied, relative to the dump."""
        return self.files[0].log_dir

    @property
    def is_text(self) -> bool:
        """Whether it is what `kafka-dump-log.sh` printed, of this log and perhaps of others."""
        return self.files[0].is_text

    @property
    def weight(self) -> int:
        """How much of a task it is, as of a `DumpFile`."""
        return sum(file.weight for file in self.files if file.is_text or file.kind is FileKind.SEGMENT)


class Damage(NamedTuple):
    """What may hide batches below an offset."""

    to: int
    problem: str


class Checkpoints:
    """The offset checkpoints of log directories, each read once, when something of it is asked."""

    def __init__(self, files: Iterable[DumpFile]) -> None:
        self._files = {
            (file.log_dir, file.file.rpartition("/")[2]): file
            for file in files
            if file.kind is FileKind.OFFSET_CHECKPOINT and not file.skipped
        }
        self._read: dict[str, dict[tuple[str, int], int]] = {}

    def copy(self, files: list[DumpFile], place: Place) -> LogCopy:
        """The copy of a log with these files."""
        return LogCopy(
            files, place, *(self._offset(files[0].log_dir, name, place) for name in (LOG_STARTS, HIGH_WATERMARKS))
        )

    def _offset(self, log_dir: str, name: str, place: Place) -> int:
        file = self._files.get((log_dir, name))
        if file is None:
            return 0
        if file.file not in self._read:
            self._read[file.file] = checkpointed(file)
        return self._read[file.file].get(place, 0)


def copies_of(dump: Inventory, place: Place, cluster: str | None) -> list[LogCopy]:
    """The copies of a log. Which logs a text has is not known before it is read."""
    copies: dict[tuple[str, str, bool], list[DumpFile]] = {}
    for file in dump.files:
        is_of_it = file.skipped is None if file.is_text else (file.topic, file.partition) == place
        if is_of_it and cluster in (None, file.cluster):
            copies.setdefault((file.cluster, file.log_dir, file.is_text), []).append(file)
    checkpoints = Checkpoints(dump.files)
    return [checkpoints.copy(files, place) for files in copies.values()]


def all_copies(dump: Inventory) -> Iterator[LogCopy]:
    """The copies of all logs that have segments, the files of each together."""
    copies: dict[tuple[str, Place], list[DumpFile]] = {}
    for file in dump.files:
        if file.topic is not None and not file.is_text:
            copies.setdefault((file.log_dir, Place(file.topic, file.partition or 0)), []).append(file)
    checkpoints = Checkpoints(dump.files)
    for (_, place), files in copies.items():
        if any(file.kind is FileKind.SEGMENT for file in files):
            yield checkpoints.copy(files, place)


def printed_copies(dump: Inventory) -> Iterator[LogCopy]:
    """The copies of all logs that `kafka-dump-log.sh` printed; each text is read for its headings."""
    texts: dict[tuple[str, str], list[DumpFile]] = {}
    for file in dump.files:
        if file.is_text and file.skipped is None:
            texts.setdefault((file.cluster, file.log_dir), []).append(file)
    checkpoints = Checkpoints(dump.files)
    for files in texts.values():
        places: set[Place] = set()
        for text in files:
            for printed, _ in printed_files(text):
                if printed.kind is FileKind.SEGMENT and printed.topic is not None:
                    places.add(Place(printed.topic, printed.partition or 0))
        for place in sorted(places):
            # Any of them may be cut before a section of this log.
            yield checkpoints.copy(files, place)


def only_cluster_of(place: Place, found: Iterable[str], cluster: str | None) -> str:
    """The only cluster among those of which a log of that name was found; `OptionError` if there is not one."""
    names = sorted(set(found))
    if not names:
        named = "" if cluster is None else f" of cluster {cluster}"
        raise OptionError(f"the dump has no log of {place}{named}: `txnlog check` prints what it has")
    if len(names) > 1:
        raise OptionError(f"the dump has {place} of several clusters: add --cluster, one of {', '.join(names)}")
    return names[0]


def batches_of_segments(
    segments: list[DumpFile], order: BatchOrder, damage: list[Damage]
) -> Iterator[tuple[DumpFile, Batches]]:
    """The batches of segments; whoever takes them adds them to `order`. What could not be read is added to `damage`."""
    ends = [*map(base_of, segments[1:]), NOTHING_FOLLOWS]
    for file, end in zip(segments, ends, strict=False):
        order.begin(file, base_of(file))
        reading = SegmentReading(file)
        for run, found in reading.runs():
            yield file, batches_of_run(run, found, file.topic in WRITTEN_BY_BROKERS)
        if reading.row["damaged_to"]:
            damage.append(Damage(min(end, reading.row["damaged_to"]), f"{file.file}: {reading.row['problem']}"))
        if file.bytes_missing:
            damage.append(Damage(end, f"{file.file}: listing.tsv has {file.bytes_missing} more bytes of the log"))


def lacks_end(copy: LogCopy, order: BatchOrder) -> Damage | None:
    """What a copy lacks that was read to its end, where another file names a later offset of its log."""
    known_to = max([*map(base_of, copy.files), copy.high_watermark])
    if known_to <= order.end:
        return None
    return Damage(known_to, f"the copy ends at offset {order.end}, but its log reached offset {known_to}")


def batches_of_texts(
    copy: LogCopy, order: BatchOrder, damage: list[Damage], cut: list[str]
) -> Iterator[tuple[DumpFile, Batches]]:
    """As `batches_of_segments`, of what was printed of a log. `cut`: why texts without it end before they are whole."""
    place = copy.place
    for text in _in_order(copy.files, place, cut):
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
