"""Which segments of coordinators `txnlog archive` leaves out, as it has their records already."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import dropwhile, groupby, pairwise

from txnlog.detection.whole_ranges import WholeRange
from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.format.checkpoint import CLEANED_TO
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.sources.small_files import small_file

# Up to where the log cleaner has cleaned: by log directory and coordinator partition.
Cleaned = dict[tuple[str, int], int]


def without_known_segments(files: Iterable[DumpFile], ranges: Iterable[WholeRange]) -> tuple[DumpFile, ...]:
    """The files but for the first segments of each coordinator's log, as far as one of the ranges has their records.

    What the cleaner has cleaned has no range, and need not be in one. A segment that ends where its range ends stays:
    its last record shows that the log is still the same (KIP-101).
    """
    listed = sorted(files, key=lambda file: file.file)
    cleaned, known = _cleaned(listed), list(ranges)
    by_folder = groupby(listed, key=lambda file: os.path.dirname(file.file))
    return tuple(file for _, of_folder in by_folder for file in _unknown(list(of_folder), known, cleaned))


def _cleaned(files: Iterable[DumpFile]) -> Cleaned:
    found: Cleaned = {}
    for file in files:
        entries = small_file(file).entries if os.path.basename(file.file) == CLEANED_TO else None
        for row in entries.to_pylist() if entries is not None else ():
            if row["topic"] == TRANSACTION_STATE:
                found[file.log_dir, row["partition"]] = row["checkpoint_offset"]
    return found


def _unknown(folder: list[DumpFile], ranges: Iterable[WholeRange], cleaned: Cleaned) -> Iterator[DumpFile]:
    metadata = next((file for file in folder if file.kind is FileKind.PARTITION_METADATA), None)
    of_log = list[WholeRange]()
    cleaned_to = 0
    if metadata is not None and metadata.topic == TRANSACTION_STATE:
        log = metadata.cluster, metadata.partition or 0, str(small_file(metadata).columns.get("topic_id"))
        of_log = [each for each in ranges if each.log == log]
        cleaned_to = cleaned.get((metadata.log_dir, log[1]), 0)
    segments = sorted(
        (file for file in folder if file.kind is FileKind.SEGMENT and file.base_offset is not None),
        key=lambda file: file.base_offset or 0,
    )

    def is_known(segment: tuple[DumpFile, DumpFile]) -> bool:
        start, end = (file.base_offset or 0 for file in segment)
        return any(each.from_offset <= max(start, cleaned_to) and end < each.to_offset for each in of_log)

    read = {file.file for pair in dropwhile(is_known, pairwise(segments)) for file in pair} | {
        file.file for file in segments[-1:]
    }
    yield from (file for file in folder if file not in segments or file.file in read)
