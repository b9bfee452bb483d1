"""The files of a dump: what each is by its name and place, before any of them is read."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Collection, Container, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from txnlog.dump.copy_listing import Listed, complete_at, read_listing
from txnlog.dump.dump_file import NOT_READ, TEXTS, DumpFile, FileKind, Inventory, LogDir
from txnlog.dump.listing import UNKNOWN_TIME, Entry, folders, unreadable
from txnlog.dump.log_dirs import log_dirs_of, manifests_of, nearest
from txnlog.dump.manifest import Manifest
from txnlog.dump.names import (
    NOT_THE_LOG,
    altered_segment,
    as_utf8,
    is_part_of_a_log,
    kind_of,
    skip_reason,
    topic_partition_of,
)
from txnlog.dump.text_stream import looks_like_dump_text
from txnlog.dump_log.dump_text import topic_partition as named_partition
from txnlog.errors import DumpError, FormatError, StoreError
from txnlog.format.coordinator import TRANSACTION_STATE

ENDINGS_OF_TEXTS = re.compile(r"(\.(gz|zst|zstd|txt|text|log|out|dump|md))+$", re.IGNORECASE)
OFFSET_AT_END = re.compile(r"[-._]\d{20}$")
_OF_A_LOG_DIRECTORY = frozenset({FileKind.META_PROPERTIES, FileKind.OFFSET_CHECKPOINT})


def inventory(root: Path | str, cluster: str | None = None, topic_partition: str | None = None) -> Inventory:
    """List a dump, or a folder of dumps of different clusters (each with its manifest). `cluster` names the cluster.

    `root` is a local path or the address of a folder in an object store (`txnlog.dump.opener.dump_root`).
    `topic_partition` is whose log texts are of that do not say so. Raises `DumpError` for a manifest that cannot be
    read and for two clusters under one name.
    """
    root = str(root)
    with _no_garbage():
        files = _with_listings(tuple(sorted(_walk(root), key=lambda file: file.file)))
        manifests = manifests_of(files)
        files = _with_texts(_with_hidden_partitions(files), manifests, topic_partition)
        log_dirs = log_dirs_of(root, files, manifests, cluster)
        of = {log_dir.log_dir: log_dir for log_dir in log_dirs}
        return Inventory(root, tuple(_of_cluster(file, of.get(file.log_dir)) for file in files), log_dirs)


def check_has_logs(dump: Inventory, named: str) -> None:
    """`DumpError` where nothing of the dump that a person named so can be judged."""
    if not any(file.topic or file.is_text for file in dump.files):
        raise DumpError(
            f"{named}: there are no Kafka logs in it: no folder such as orders-0 with .log files, no"
            " kafka-dump-log.sh output"
        )


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


def _with_listings(files: tuple[DumpFile, ...]) -> tuple[DumpFile, ...]:
    """The files, with what the listing in the nearest folder above says of each.

    The last segment of a log only grows, as the cleaner leaves it alone: where it is shorter than listed, or a listed
    one after it is not there, the copy lacks the end of the log. A new leader may have truncated it, but then, too,
    the copy is not of one moment.

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
    missing = _bytes_missing(files, listings)
    epochs = [file.file for file in files if file.kind is FileKind.LEADER_EPOCH_CHECKPOINT]
    same_leader = {os.path.dirname(file) for file in epochs if times[file] is not None}
    vouched = same_leader - _with_vanished_segments(listings, times.keys())
    return tuple(
        replace(
            file,
            complete_ms=times[file.file] if os.path.dirname(file.file) in vouched else None,
            bytes_missing=missing.get(file.file),
        )
        for file in files
    )


def _bytes_missing(files: tuple[DumpFile, ...], listings: dict[str, dict[str, Listed]]) -> dict[str, int]:
    """By the last segment of a copied log, how many bytes of the log are listed and not in the copy; 0 is left out."""
    segments = [file for file in files if file.kind is FileKind.SEGMENT and file.topic is not None and not file.is_text]
    # In the order of names the last one of a folder stays.
    last = {os.path.dirname(file.file): file for file in segments}
    missing = dict[str, int]()
    for at, listing in listings.items():
        for name, (size, _) in listing.items():
            path = f"{at}/{name}".lstrip("/")
            end = last.get(os.path.dirname(path))
            if end is None or path < end.file or not path.endswith(".log") or nearest(listings, path, {})[0] != at:
                continue
            beyond = size - end.size if path == end.file else size
            if beyond > 0:
                missing[end.file] = missing.get(end.file, 0) + beyond
    return missing


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
    folder, listing = nearest(listings, os.path.dirname(file.file), {})
    return complete_at(listing.get(file.file.removeprefix(folder).strip("/")), file.size)


def _with_hidden_partitions(files: tuple[DumpFile, ...]) -> tuple[DumpFile, ...]:
    """The files; a link in a log directory that is named like a partition's folder hides that partition's log."""
    log_dirs = {file.log_dir for file in files if file.topic is not None or file.kind in _OF_A_LOG_DIRECTORY}
    return tuple(_as_hidden_log(file) if file.is_special and file.log_dir in log_dirs else file for file in files)


def _as_hidden_log(file: DumpFile) -> DumpFile:
    topic, partition = topic_partition_of(os.path.basename(file.file))
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
    folder, manifest = nearest(manifests, os.path.dirname(file.file), Manifest())
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


def _walk(root: str) -> Iterator[DumpFile]:
    for folder in folders(root):
        if folder.trouble is not None:
            yield _unreadable(folder.path, folder.relative, folder.relative, folder.trouble)
            continue
        holds_a_log = any(is_part_of_a_log(name) for name in folder.names)
        for entry in folder.files:
            yield _file(entry, folder.relative, holds_a_log, folder.names)


def _unreadable(path: str, relative: str, directory: str, reason: str) -> DumpFile:
    """A folder, or a file in the folder `directory`, of which only the name is known."""
    topic, partition = topic_partition_of(os.path.basename(directory))
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
    topic, partition = topic_partition_of(os.path.basename(directory)) if holds_a_log else (None, None)
    not_the_log = NOT_THE_LOG.fullmatch(os.path.basename(directory)) if holds_a_log else None
    in_partition = topic is not None or not_the_log is not None
    log_dir = os.path.dirname(directory) if in_partition else directory
    kind, base_offset = kind_of(entry.name, in_partition)
    altered = altered_segment(entry.name) if in_partition else None
    # Beside the segment itself it is only a leftover.
    if altered is not None and f"{altered:020}.log" not in names:
        kind, base_offset = FileKind.SEGMENT, altered
    skipped = entry.trouble or skip_reason(entry.name, not_the_log, topic, kind)
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
