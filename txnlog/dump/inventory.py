"""The files of a dump: what each is by its name and place, before any of them is read."""

from __future__ import annotations

import enum
import gc
import os
import re
from collections.abc import Collection, Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from txnlog.dump.copy_listing import NAME as LISTING
from txnlog.dump.copy_listing import Listed, complete_at, read_listing
from txnlog.dump.listing import UNKNOWN_TIME, Entry, folders, unreadable
from txnlog.dump.manifest import NAME as MANIFEST
from txnlog.dump.manifest import CopyTime, Manifest, read_manifest
from txnlog.dump.opener import small_content
from txnlog.dump.text_stream import WHOLE, Part, looks_like_dump_text
from txnlog.dump_log.dump_text import topic_partition as named_partition
from txnlog.errors import DumpError, FormatError, StoreError
from txnlog.format.checkpoint import CLEANED_TO, HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS, properties
from txnlog.format.coordinator import TRANSACTION_STATE

Of = TypeVar("Of")
META_PROPERTIES = "meta.properties"
PARTITION_DIRECTORY = re.compile(r"(?P<topic>.{1,249})-(?P<partition>\d{1,10})", re.DOTALL)
# Kafka cuts the start of such a name so that it fits: it need not end in a partition.
NOT_THE_LOG = re.compile(r".+\.[0-9a-f]{32}-(?P<what>future|delete|stray)|.+-(?P<old>delete)", re.DOTALL)
OFFSET_NAME = re.compile(r"(?P<offset>\d{20})(?P<ending>\.log|\.index|\.timeindex|\.txnindex|\.snapshot)")
# A segment that was compressed, renamed or only begun when somebody copied it: `.log.gz`, `.log.part`, `.LOG`, `.log~`,
# `(1).log`, and what rsync calls a file that it has not finished.
NOT_AS_IT_WAS = re.compile(r"\.?(?P<offset>\d{20})(?:\.(?i:log)(?:[^A-Za-z].*)?| ?\(\d+\)\.log)", re.DOTALL)
ALTERED = "a segment that is compressed, renamed or incomplete: copy it again as NUMBER.log"
UNFINISHED = re.compile(r".*\.(deleted|cleaned|swap)", re.DOTALL)
FULL_OFFSET_CHECKPOINTS = frozenset({HIGH_WATERMARKS, LOG_STARTS, CLEANED_TO, RECOVERY_POINTS})
IN_EVERY_LOG = frozenset({"partition.metadata", "leader-epoch-checkpoint"})
METADATA_TOPIC = "__cluster_metadata"
LONGEST_CLUSTER = 80
LARGEST_META_PROPERTIES = 1 << 20
# Texts in a log directory are another copy of it. No path of a dump looks like that.
TEXTS = "//text"
ENDINGS_OF_TEXTS = re.compile(r"(\.(gz|zst|zstd|txt|text|log|out|dump|md))+$", re.IGNORECASE)
OFFSET_AT_END = re.compile(r"[-._]\d{20}$")
# What Delta calls the folder of rows without a value.
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
# The cluster of a dump in which nothing names one.
UNNAMED = "unnamed"
NOT_READ = "not a file that txnlog reads"
AN_INDEX = "an index repeats what the segment says"


class FileKind(enum.StrEnum):
    """What a file of a dump is."""

    SEGMENT = "segment"
    PRODUCER_SNAPSHOT = "producer_snapshot"
    TRANSACTION_INDEX = "transaction_index"
    OFFSET_INDEX = "offset_index"
    TIME_INDEX = "time_index"
    LEADER_EPOCH_CHECKPOINT = "leader_epoch_checkpoint"
    PARTITION_METADATA = "partition_metadata"
    OFFSET_CHECKPOINT = "offset_checkpoint"
    META_PROPERTIES = "meta_properties"
    MANIFEST = "manifest"
    LISTING = "listing"
    DUMP_TEXT = "dump_text"
    # Nobody can say what it is: it cannot be read, or it is a link, a pipe, a socket or a device.
    UNREADABLE = "unreadable"
    OTHER = "other"


KIND_OF_ENDING = {
    ".log": FileKind.SEGMENT,
    ".index": FileKind.OFFSET_INDEX,
    ".timeindex": FileKind.TIME_INDEX,
    ".txnindex": FileKind.TRANSACTION_INDEX,
    ".snapshot": FileKind.PRODUCER_SNAPSHOT,
}
_OF_A_LOG_DIRECTORY = frozenset({FileKind.META_PROPERTIES, FileKind.OFFSET_CHECKPOINT})


@dataclass(frozen=True, slots=True)
class DumpFile:
    """One file of a dump.

    `path` opens it; `file` and `log_dir` are for people: relative to the dump, always UTF-8. `base_offset` is the
    offset in the file's name. `skipped` says why a file is not read. `is_text` says that it is the output of
    `kafka-dump-log.sh`, or what that printed of one file; `part` is what is to be read of it. The topic partition of
    a text is that of the sections that do not name one. `complete_ms` is when it had its size at the latest, by a
    listing made before the copy (`txnlog.dump.copy_listing`). `is_special` says that it is a symbolic link, a pipe, a
    socket or a device.
    """

    path: str
    file: str
    log_dir: str
    kind: FileKind
    size: int
    modified_ms: int
    cluster: str = ""
    broker: str = ""
    topic: str | None = None
    partition: int | None = None
    base_offset: int | None = None
    skipped: str | None = None
    is_text: bool = False
    part: Part = WHOLE
    complete_ms: int | None = None
    is_special: bool = False

    @property
    def weight(self) -> int:
        """About how many bytes are read of it."""
        return self.size


@dataclass(frozen=True, slots=True)
class LogDir:
    """A copied log directory: whose it is, and when it was copied. `copied` is None where nobody wrote that down.

    `cluster_id` is what its `meta.properties` says, None where that is not there.
    """

    log_dir: str
    cluster: str
    broker: str
    copied: CopyTime | None
    transaction_max_timeout_ms: int | None
    transaction_state_partitions: int | None
    cluster_id: str | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """All files below a folder, and the log directories they lie in."""

    root: str
    files: tuple[DumpFile, ...]
    log_dirs: tuple[LogDir, ...]


def inventory(root: Path | str, cluster: str | None = None, topic_partition: str | None = None) -> Inventory:
    """List a dump, or a folder of dumps of different clusters (each with its manifest). `cluster` names the cluster.

    `root` is a local path or the address of a folder in an object store (`txnlog.dump.opener.dump_root`).
    `topic_partition` is whose log texts are of that do not say so. Raises `DumpError` for a manifest that cannot be
    read and for two clusters under one name.
    """
    root = str(root)
    with _no_garbage():
        files = _with_listed_times(tuple(sorted(_walk(root), key=lambda file: file.file)))
        manifests = _manifests(files)
        files = _with_texts(_with_hidden_partitions(files), manifests, topic_partition)
        log_dirs = _log_dirs(root, files, manifests, cluster)
        of = {log_dir.log_dir: log_dir for log_dir in log_dirs}
        return Inventory(root, tuple(_of_cluster(file, of.get(file.log_dir)) for file in files), log_dirs)


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Nobody looks for garbage meanwhile: of a hundred thousand logs all objects stay, so that to look takes longer."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _with_listed_times(files: tuple[DumpFile, ...]) -> tuple[DumpFile, ...]:
    """The files, with what the listing in the nearest folder above says of each.

    A log that was truncated may have grown to the same length since. Only a new leader truncates it, and that adds to
    leader-epoch-checkpoint (`LeaderEpochFileCache`): this file must be as long as listed, too. The cleaner removes
    segments of `__transaction_state` that it has merged into others: where one that was listed is not there, the copy
    may have the others as they were before, and the listing says nothing of that folder.
    """
    found = [file for file in files if file.kind is FileKind.LISTING and not file.skipped]
    if not found:
        return files
    listings = {os.path.dirname(file.file): read_listing(file.path) for file in found}
    times = {file.file: _listed_time(file, listings) for file in files}
    epochs = [file.file for file in files if file.kind is FileKind.LEADER_EPOCH_CHECKPOINT]
    same_leader = {os.path.dirname(file) for file in epochs if times[file] is not None}
    vouched = same_leader - _with_vanished_segments(listings, times.keys())
    return tuple(
        replace(file, complete_ms=times[file.file]) if os.path.dirname(file.file) in vouched else file for file in files
    )


def _with_vanished_segments(listings: dict[str, dict[str, Listed]], files: Container[str]) -> set[str]:
    """The folders of coordinators' partitions in which a listed segment is missing."""
    return {
        os.path.dirname(path)
        for folder, listing in listings.items()
        for path in (f"{folder}/{name}".lstrip("/") for name in listing)
        if path.endswith(".log")
        and os.path.basename(os.path.dirname(path)).startswith(f"{TRANSACTION_STATE}-")
        and path not in files
    }


def _listed_time(file: DumpFile, listings: dict[str, dict[str, Listed]]) -> int | None:
    folder, listing = _nearest(listings, os.path.dirname(file.file), {})
    return complete_at(listing.get(file.file.removeprefix(folder).strip("/")), file.size)


def _with_hidden_partitions(files: tuple[DumpFile, ...]) -> tuple[DumpFile, ...]:
    """The files; a link in a log directory that is named like a partition's folder hides that partition's log."""
    log_dirs = {file.log_dir for file in files if file.topic is not None or file.kind in _OF_A_LOG_DIRECTORY}
    return tuple(_as_hidden_log(file) if file.is_special and file.log_dir in log_dirs else file for file in files)


def _as_hidden_log(file: DumpFile) -> DumpFile:
    topic, partition = _topic_partition(os.path.basename(file.file))
    if file.topic is not None or topic is None:
        return file
    return replace(file, kind=FileKind.SEGMENT, topic=topic, partition=partition)


def _with_texts(
    files: tuple[DumpFile, ...], manifests: dict[str, Manifest], topic_partition: str | None
) -> tuple[DumpFile, ...]:
    """The files; texts beside the files of a log directory are another copy; each has a partition to fall back on."""
    raw = {file.log_dir for file in files if file.kind is FileKind.SEGMENT and file.topic is not None}
    return tuple(
        _as_text(file, file.log_dir in raw, manifests, topic_partition) if file.kind is FileKind.DUMP_TEXT else file
        for file in files
    )


def _as_text(file: DumpFile, is_beside_raw: bool, manifests: dict[str, Manifest], given: str | None) -> DumpFile:
    folder, manifest = _nearest(manifests, os.path.dirname(file.file), Manifest())
    listed = manifest.texts.get(file.file.removeprefix(folder).strip("/"))
    stem = OFFSET_AT_END.sub("", ENDINGS_OF_TEXTS.sub("", os.path.basename(file.file)))
    names = (listed, given, stem, os.path.basename(os.path.dirname(file.file)))
    topic, partition = next((found for name in names if name and (found := named_partition(name))[0]), (None, None))
    if file.topic is not None and listed is None and given is None:
        topic, partition = file.topic, file.partition
    log_dir = file.log_dir + TEXTS if is_beside_raw else file.log_dir
    return replace(file, topic=topic, partition=partition, log_dir=log_dir, is_text=True)


def _of_cluster(file: DumpFile, log_dir: LogDir | None) -> DumpFile:
    if log_dir is None:
        return file
    return replace(file, cluster=log_dir.cluster, broker=log_dir.broker)


def as_utf8(name: str) -> str:
    """A name as UTF-8: file names are bytes, and some are not text."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _walk(root: str) -> Iterator[DumpFile]:
    for folder in folders(root):
        if folder.trouble is not None:
            yield _unreadable(folder.path, folder.relative, folder.relative, folder.trouble)
            continue
        holds_a_log = any(_is_part_of_a_log(name) for name in folder.names)
        for entry in folder.files:
            yield _file(entry, folder.relative, holds_a_log, folder.names)


def _is_part_of_a_log(name: str) -> bool:
    """Whether a file of this name lies in a partition's directory: `broker-1` is a name that only looks like one."""
    return name in IN_EVERY_LOG or OFFSET_NAME.fullmatch(name) is not None or _altered_segment(name) is not None


def _altered_segment(name: str) -> int | None:
    """The offset in the name of a segment that cannot be read because it is compressed, renamed or incomplete."""
    match = NOT_AS_IT_WAS.fullmatch(name)
    if match is None or OFFSET_NAME.fullmatch(name) or UNFINISHED.fullmatch(name) or int(match["offset"]) >= 2**63:
        return None
    return int(match["offset"])


def _unreadable(path: str, relative: str, directory: str, reason: str) -> DumpFile:
    """A folder, or a file in the folder `directory`, of which nothing can be told but its name."""
    topic, partition = _topic_partition(os.path.basename(directory))
    log_dir = os.path.dirname(directory) if topic else directory
    kind = FileKind.SEGMENT if topic else FileKind.UNREADABLE
    return DumpFile(
        path,
        as_utf8(relative),
        as_utf8(log_dir) or ".",
        kind,
        0,
        UNKNOWN_TIME,
        topic=topic,
        partition=partition,
        skipped=reason,
    )


def _file(entry: Entry, directory: str, holds_a_log: bool, names: Collection[str]) -> DumpFile:
    relative = f"{directory}/{entry.name}" if directory else entry.name
    if entry.trouble is not None and not entry.is_special:
        return _unreadable(entry.path, relative, directory, entry.trouble)
    topic, partition = _topic_partition(os.path.basename(directory)) if holds_a_log else (None, None)
    not_the_log = NOT_THE_LOG.fullmatch(os.path.basename(directory)) if holds_a_log else None
    in_partition = topic is not None or not_the_log is not None
    log_dir = os.path.dirname(directory) if in_partition else directory
    kind, base_offset = _kind(entry.name, in_partition)
    altered = _altered_segment(entry.name) if in_partition else None
    # Beside the segment itself it is only a leftover.
    if altered is not None and f"{altered:020}.log" not in names:
        kind, base_offset = FileKind.SEGMENT, altered
    skipped = entry.trouble or _skip_reason(entry.name, not_the_log, topic, kind)
    if kind is FileKind.OTHER and skipped is None:
        try:
            kind, skipped = (FileKind.DUMP_TEXT, None) if looks_like_dump_text(entry.path) else (kind, NOT_READ)
        except FormatError as error:
            kind, skipped = FileKind.UNREADABLE, error.reason
        except (OSError, StoreError) as error:
            return _unreadable(entry.path, relative, directory, unreadable(error))
    if kind is FileKind.OTHER and entry.is_special:
        kind = FileKind.UNREADABLE
    return DumpFile(
        path=entry.path,
        file=as_utf8(relative),
        log_dir=as_utf8(log_dir) or ".",
        kind=kind,
        size=entry.size,
        modified_ms=entry.modified_ms,
        topic=as_utf8(topic) if topic else None,
        partition=partition,
        base_offset=base_offset,
        skipped=skipped,
        is_special=entry.is_special,
    )


def _topic_partition(directory: str) -> tuple[str | None, int | None]:
    """Everything before the last `-` is the topic: topic names contain `-`, `.` and `_`."""
    match = PARTITION_DIRECTORY.fullmatch(directory)
    if match is None or int(match["partition"]) > 2**31 - 1:
        return None, None
    return match["topic"], int(match["partition"])


def _kind(name: str, in_partition: bool) -> tuple[FileKind, int | None]:
    match = OFFSET_NAME.fullmatch(name)
    if match is not None and in_partition:
        offset = int(match["offset"])
        return (KIND_OF_ENDING[match["ending"]], offset) if offset < 2**63 else (FileKind.OTHER, None)
    if name in FULL_OFFSET_CHECKPOINTS:
        return FileKind.OFFSET_CHECKPOINT, None
    of_name = {
        "leader-epoch-checkpoint": FileKind.LEADER_EPOCH_CHECKPOINT,
        "partition.metadata": FileKind.PARTITION_METADATA,
        META_PROPERTIES: FileKind.META_PROPERTIES,
        MANIFEST: FileKind.MANIFEST,
        LISTING: FileKind.LISTING,
    }
    return of_name.get(name, FileKind.OTHER), None


def _skip_reason(name: str, not_the_log: re.Match[str] | None, topic: str | None, kind: FileKind) -> str | None:
    if not_the_log is not None:
        return f"a directory of kind {not_the_log['what'] or not_the_log['old']} is not the log"
    if UNFINISHED.fullmatch(name):
        return "a file that Kafka was creating or deleting is not the log"
    if topic == METADATA_TOPIC:
        return "the controllers' metadata log has no transactions"
    if kind in (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX):
        return AN_INDEX
    if kind is FileKind.SEGMENT and OFFSET_NAME.fullmatch(name) is None:
        return ALTERED
    return None


def _manifests(files: Iterable[DumpFile]) -> dict[str, Manifest]:
    """Manifests by the folder they stand in, relative to the root."""
    found = [file for file in files if file.kind is FileKind.MANIFEST and not file.skipped]
    return {os.path.dirname(file.file): read_manifest(file.path) for file in found}


def _log_dirs(
    root: str, files: tuple[DumpFile, ...], manifests: dict[str, Manifest], cluster: str | None
) -> tuple[LogDir, ...]:
    kinds = (FileKind.META_PROPERTIES, FileKind.DUMP_TEXT)
    found = sorted({file.log_dir for file in files if file.topic is not None or file.kind in kinds})
    paths = {file.log_dir: file.path for file in files if file.kind is FileKind.META_PROPERTIES and not file.skipped}
    identities = {log_dir: _identity(paths.get(log_dir.removesuffix(TEXTS))) for log_dir in found}
    log_dirs, ids_of_cluster = [], dict[str, str]()
    for log_dir in found:
        folder, manifest = _nearest(manifests, log_dir, Manifest())
        cluster_id, broker = identities[log_dir]
        name = cluster or manifest.cluster or cluster_id or _only({identity[0] for identity in identities.values()})
        name = _partition_value(root, name or UNNAMED)
        if cluster_id and ids_of_cluster.setdefault(name, cluster_id) != cluster_id:
            raise DumpError(
                f"{root}: {log_dir} is of cluster {cluster_id}, other folders named {name} are of cluster "
                f"{ids_of_cluster[name]}: give each cluster a folder of its own with its own {MANIFEST}"
            )
        within = log_dir.removesuffix(TEXTS).removeprefix(folder).strip("/") or "."
        log_dirs.append(
            LogDir(
                log_dir,
                name,
                broker or within,
                manifest.time_of(within),
                manifest.transaction_max_timeout_ms,
                manifest.transaction_state_partitions,
                cluster_id,
            )
        )
    return tuple(log_dirs)


def _partition_value(root: str, cluster: str) -> str:
    """The name, if the tables can be partitioned by it: it becomes a folder, in which a byte may take three."""
    if len(cluster.encode()) > LONGEST_CLUSTER:
        raise DumpError(f"{root}: the cluster's name has more than {LONGEST_CLUSTER} bytes: give it another")
    if cluster == NULL_PARTITION or "\0" in cluster:
        raise DumpError(f"{root}: no cluster can be named {cluster}: give it another name")
    return cluster


def _nearest(of_folders: dict[str, Of], folder: str, otherwise: Of) -> tuple[str, Of]:
    """What the nearest folder has, and that folder; relative to the root, which is ""."""
    while folder and folder != ".":
        if folder in of_folders:
            return folder, of_folders[folder]
        folder = os.path.dirname(folder)
    return "", of_folders.get("", otherwise)


def _only(names: set[str | None]) -> str | None:
    known = names - {None}
    return known.pop() if len(known) == 1 else None


def _identity(path: str | None) -> tuple[str | None, str | None]:
    """Cluster id and broker id of a log directory by its `meta.properties`, where it is there and can be read."""
    if path is None:
        return None, None
    try:
        pairs = properties(small_content(path, LARGEST_META_PROPERTIES).decode())
    except StoreError:
        # A file that is not to be had is not one without a name in it.
        raise
    except (OSError, UnicodeDecodeError, FormatError, DumpError):
        return None, None
    return pairs.get("cluster.id"), pairs.get("node.id") or pairs.get("broker.id")
