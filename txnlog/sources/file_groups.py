"""Which files of a dump are read together: those of one log, or some of its segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from txnlog.dump.dump_file import COORDINATOR_TOPICS, WEIGHT_PER_TASK, DumpFile, FileKind
from txnlog.dump.opener import small_content
from txnlog.errors import FormatError
from txnlog.format.checkpoint import LOG_STARTS, offset_checkpoints
from txnlog.sources.small_files import LARGEST_TEXT


@dataclass(frozen=True, slots=True)
class LogFiles:
    """Files that are read together: all of one log, some of its segments, or a file of no log.

    `snapshots` are those of the log that the files are of, whether they are among them or not; `newest_segment` is
    where its last segment starts, and `log_start` its log start offset by the checkpoint. `from_snapshot`: no more is
    read than what follows the newest valid snapshot, and what is open in it. `is_split`: this is a split of a text,
    whose rows are put together of all its splits (`txnlog.sources.text_files.text_rows`).
    """

    files: tuple[DumpFile, ...]
    snapshots: tuple[DumpFile, ...] = ()
    newest_segment: int = 0
    log_start: int | None = None
    from_snapshot: bool = False
    is_split: bool = False

    @property
    def weight(self) -> int:
        """How much of a task they are, as of a `DumpFile`."""
        unread = segments_of(self.files)[:-1] if self.from_snapshot else []
        return sum(file.weight for file in self.files) - sum(file.weight for file in unread)


def logs(files: Iterable[DumpFile], from_snapshots: bool) -> Iterator[LogFiles]:
    """The files of a dump in groups that can be read beside one another."""
    of_log: dict[tuple[str, str, int | None], list[DumpFile]] = {}
    starts: dict[str, dict[tuple[str, int], int]] = {}
    for file in files:
        if file.kind is FileKind.OFFSET_CHECKPOINT and file.file.endswith(LOG_STARTS) and not file.skipped:
            starts[file.log_dir] = checkpointed(file)
        if file.topic is None or file.is_text:
            yield LogFiles((file,))
        else:
            of_log.setdefault((file.log_dir, file.topic, file.partition), []).append(file)
    for (log_dir, topic, partition), of_one in of_log.items():
        snapshots = tuple(file for file in of_one if file.kind is FileKind.PRODUCER_SNAPSHOT and not file.skipped)
        newest = max((base_of(segment) for segment in segments_of(of_one)), default=0)
        log = LogFiles(tuple(of_one), snapshots, newest, starts.get(log_dir, {}).get((topic, partition or 0)))
        # Every record of a coordinator counts.
        if from_snapshots and snapshots and len(segments_of(of_one)) > 1 and topic not in COORDINATOR_TOPICS:
            yield replace(log, from_snapshot=True)
        else:
            yield from _in_groups(log)


def _in_groups(log: LogFiles) -> Iterator[LogFiles]:
    """The log in groups of bounded weight: adjacent segments, the last of them with all other files.

    So the snapshots of a log that is one group are parsed once.
    """
    group: list[DumpFile] = []
    for segment in segments_of(log.files):
        if group and sum(file.weight for file in (*group, segment)) > WEIGHT_PER_TASK:
            yield replace(log, files=tuple(group))
            group = []
        group.append(segment)
    rest = tuple(file for file in log.files if not is_segment(file))
    if group:
        yield replace(log, files=(*group, *rest))
    elif rest:
        yield LogFiles(rest)


def segments_of(files: Iterable[DumpFile]) -> list[DumpFile]:
    """The segments among them that can be read, in their order."""
    return sorted(filter(is_segment, files), key=base_of)


def is_segment(file: DumpFile) -> bool:
    """Whether it is a segment that can be read."""
    return file.kind is FileKind.SEGMENT and not file.skipped


def checkpointed(file: DumpFile) -> dict[tuple[str, int], int]:
    """The offsets of a checkpoint by topic and partition; none where the checkpoint is damaged, which its row says."""
    try:
        lines = offset_checkpoints(small_content(file.path, LARGEST_TEXT).decode())
    except (FormatError, OSError, UnicodeDecodeError):
        return {}
    return {(topic, partition): offset for topic, partition, offset in lines}


def base_of(file: DumpFile) -> int:
    """The offset in its name."""
    return file.base_offset or 0
