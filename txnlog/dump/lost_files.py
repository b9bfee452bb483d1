"""Files that were there before the copy, by a listing or by an index beside them, and are not in the dump."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from txnlog.dump.copy_listing import read_listing
from txnlog.dump.dump_file import METADATA_TOPIC, DumpFile, FileKind
from txnlog.dump.log_dirs import nearest
from txnlog.dump.names import kind_of, topic_partition_of

# What a copy of a partition consists of.
WANTED = frozenset(
    {
        FileKind.SEGMENT,
        FileKind.PRODUCER_SNAPSHOT,
        FileKind.TRANSACTION_INDEX,
        FileKind.LEADER_EPOCH_CHECKPOINT,
        FileKind.PARTITION_METADATA,
    }
)
# A segment has each of them under its own offset.
_BESIDE_SEGMENT = frozenset({FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TRANSACTION_INDEX})


class LostFiles(NamedTuple):
    """Paths relative to the dump.

    `gaps`: segments between others or at the end of a log; `cut`: files that are shorter than listed; `logs`: folders
    of partitions of which nothing was copied; `deleted`: the rest, as retention deletes while a copy is made.
    """

    gaps: list[str]
    cut: list[str]
    logs: list[str]
    deleted: list[str]


def lost_files(files: Iterable[DumpFile]) -> LostFiles:
    """What the listings and the indexes of a dump show that its other files lack. `DumpError` as by `read_listing`."""
    of_folder: dict[str, dict[str, DumpFile]] = defaultdict(dict)
    for file in files:
        folder, name = os.path.split(file.file)
        of_folder[folder][name] = file
    lost = LostFiles([], [], [], [])
    for folder, expected in sorted(_expected(of_folder).items()):
        _compare(folder, expected, of_folder.get(folder, {}), lost)
    return lost


def _expected(of_folder: dict[str, dict[str, DumpFile]]) -> dict[str, dict[str, int]]:
    """By folder of a partition and name, how long each file is at least."""
    expected: dict[str, dict[str, int]] = defaultdict(dict)
    for folder, named in of_folder.items():
        for file in named.values():
            if file.kind in _BESIDE_SEGMENT:
                expected[folder][f"{file.base_offset or 0:020}.log"] = 0
    for path, size in _listed(of_folder):
        folder, name = os.path.split(path)
        expected[folder][name] = size
    return expected


def _listed(of_folder: dict[str, dict[str, DumpFile]]) -> Iterator[tuple[str, int]]:
    """Files of logs in the listings, with their sizes. For each folder the nearest listing above it counts."""
    found = [file for named in of_folder.values() for file in named.values() if file.kind is FileKind.LISTING]
    listings = {os.path.dirname(file.file): file for file in found if not file.skipped}
    for at, listing in listings.items():
        for path, (size, _) in read_listing(listing.path).items():
            folder, name = os.path.split(f"{at}/{path}".lstrip("/"))
            topic, _ = topic_partition_of(os.path.basename(folder))
            is_wanted = topic not in (None, METADATA_TOPIC) and kind_of(name, in_partition=True)[0] in WANTED
            if is_wanted and nearest(listings, folder, listing)[0] == at:
                yield f"{folder}/{name}".lstrip("/"), size


def _compare(folder: str, expected: dict[str, int], copied: dict[str, DumpFile], lost: LostFiles) -> None:
    if not any(file.kind in WANTED for file in copied.values()):
        lost.logs.append(folder)
        return
    first = min((name for name, file in copied.items() if file.kind is FileKind.SEGMENT), default=None)
    for name, size in sorted(expected.items()):
        if name not in copied:
            is_gap = name.endswith(".log") and (first is None or name > first)
            (lost.gaps if is_gap else lost.deleted).append(f"{folder}/{name}")
        elif copied[name].size < size:
            lost.cut.append(f"{folder}/{name}")
