"""What a copy lacks, by the names of its files, the manifest and the listings alone, and what each lack costs."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from txnlog.dump.copy_listing import NAME as LISTING
from txnlog.dump.dump_file import METADATA_TOPIC, DumpFile, FileKind, Inventory, LogDir
from txnlog.dump.log_dirs import nearest
from txnlog.dump.lost_files import lost_files
from txnlog.format.checkpoint import HIGH_WATERMARKS, LOG_STARTS
from txnlog.format.coordinator import TRANSACTION_STATE

Log = tuple[str, str, int | None]


class Lack(NamedTuple):
    """Something that is not in the copy: where, and what that costs; `cost` is empty where it costs nothing."""

    what: str
    where: Sequence[str]
    cost: str


@dataclass(frozen=True)
class ClusterCopy:
    """The part of a dump that is of one cluster."""

    name: str
    log_dirs: tuple[LogDir, ...]
    files: tuple[DumpFile, ...]
    listings: frozenset[str]

    @cached_property
    def logs(self) -> dict[Log, list[DumpFile]]:
        """The files of each copy of a partition: those with a segment, or printed."""
        of_log: dict[Log, list[DumpFile]] = defaultdict(list)
        for file in self.files:
            if file.topic not in (None, METADATA_TOPIC):
                of_log[file.log_dir, str(file.topic), file.partition].append(file)
        return {log: files for log, files in of_log.items() if any(is_log(file) for file in files)}

    @cached_property
    def raw(self) -> dict[Log, list[DumpFile]]:
        """The logs that consist of segments."""
        return {log: files for log, files in self.logs.items() if not any(file.is_text for file in files)}

    @cached_property
    def coordinators(self) -> dict[int, set[str]]:
        """By partition of `__transaction_state`, the brokers that have a copy."""
        brokers: dict[int, set[str]] = defaultdict(set)
        for (_, topic, partition), files in self.logs.items():
            if topic == TRANSACTION_STATE:
                brokers[partition or 0].add(files[0].broker)
        return brokers

    def log_dirs_with(self, has_coordinators: bool) -> list[LogDir]:
        """The log directories with logs of coordinators, or with any other."""
        found = {log_dir for log_dir, topic, _ in self.logs if (topic == TRANSACTION_STATE) == has_coordinators}
        return [each for each in self.log_dirs if each.log_dir in found]

    @property
    def unlisted(self) -> list[str]:
        """The log directories with segments that no listing is of."""
        listings = dict.fromkeys(self.listings, True)
        return sorted({log_dir for log_dir, _, _ in self.raw if not nearest(listings, log_dir, False)[1]})

    def raw_without(self, name: str) -> list[LogDir]:
        """The log directories with segments that have no file of this name."""
        with_it = {file.log_dir for file in self.files if os.path.basename(file.file) == name and not file.skipped}
        found = {log_dir for log_dir, _, _ in self.raw} - with_it
        return [each for each in self.log_dirs if each.log_dir in found]


def is_log(file: DumpFile) -> bool:
    """Whether it is a segment, or printed."""
    return file.is_text or file.kind is FileKind.SEGMENT


def clusters_of(dump: Inventory) -> list[ClusterCopy]:
    """The copies of a dump by cluster."""
    listings = frozenset(os.path.dirname(each.file) for each in dump.files if each.kind is FileKind.LISTING)
    return [
        ClusterCopy(
            name,
            tuple(each for each in dump.log_dirs if each.cluster == name),
            tuple(each for each in dump.files if each.cluster == name),
            listings,
        )
        for name in sorted({each.cluster for each in dump.log_dirs})
    ]


def lacks(copy: ClusterCopy) -> list[Lack]:
    """What is not in the copy of a cluster, in the order of what it costs."""
    return [lack for find in _LACKS for lack in find(copy) if lack.where]


def lacking_files(dump: Inventory) -> list[Lack]:
    """Files of any cluster that were listed, or that cannot be read."""
    lost = lost_files(dump.files)
    unreadable = [f"{each.file} ({each.skipped})" for each in dump.files if each.skipped and _is_hidden(each)]
    found = (
        Lack("files that cannot be read", unreadable, "their partitions are UNDETERMINED"),
        Lack(
            "files shorter than listed",
            lost.cut,
            "the copy was cut off: copy again, or their partitions are UNDETERMINED",
        ),
        Lack("segments missing", lost.gaps, "their partitions are UNDETERMINED (COVERAGE_GAP)"),
        Lack("partitions that were listed", lost.logs, "no verdict on them; a FENCE that lists one is UNDETERMINED"),
        Lack("files deleted since they were listed", lost.deleted, ""),
    )
    return [lack for lack in found if lack.where]


def _is_hidden(file: DumpFile) -> bool:
    """Whether it may be a part of a log of which nobody can say more."""
    is_segment = file.kind is FileKind.SEGMENT and file.topic not in (None, METADATA_TOPIC)
    return is_segment or file.kind is FileKind.UNREADABLE


def _coordinators(copy: ClusterCopy) -> Iterator[Lack]:
    stated = max((each.transaction_state_partitions or 0 for each in copy.log_dirs), default=0)
    present = copy.coordinators
    if not present:
        cost = "no ABORT, FENCE or MOVE_COORDINATOR: late transactions are UNDETERMINED (COVERAGE_GAP)"
        yield Lack("coordinators", [f"no partition of {TRANSACTION_STATE}"], cost)
        return
    missing = sorted(set(range(stated or max(present) + 1)) - set(present))
    cost = "producer ids that no coordinator in the dump knows are UNDETERMINED (COVERAGE_GAP)"
    yield Lack(f"partitions of {TRANSACTION_STATE}", list(map(str, missing)), cost)
    most = max(map(len, present.values()))
    fewer = [str(partition) for partition, brokers in sorted(present.items()) if len(brokers) < most]
    cost = "the leader's copy may be missing: data after its last record is UNDETERMINED (SKEW)"
    yield Lack(f"brokers' copies of partitions of {TRANSACTION_STATE}", fewer, cost)
    where = [] if stated else ["transaction_state_partitions in dump.toml"]
    cost = "unless the ids prove it, producer ids that no coordinator knows are UNDETERMINED (COVERAGE_GAP)"
    yield Lack(f"number of partitions of {TRANSACTION_STATE}", where, cost)


def _high_watermarks(copy: ClusterCopy) -> Iterator[Lack]:
    without = copy.raw_without(HIGH_WATERMARKS)
    of_coordinators = [each for each in without if each in copy.log_dirs_with(has_coordinators=True)]
    cost = "their ids, and producer ids that no coordinator knows, are UNDETERMINED (COVERAGE_GAP)"
    yield Lack(HIGH_WATERMARKS, _names(of_coordinators), cost)
    others = [each for each in without if each not in of_coordinators]
    yield Lack(HIGH_WATERMARKS, _names(others), "confidence of an ABORT is MEDIUM at most")


def _times(copy: ClusterCopy) -> Iterator[Lack]:
    untimed = [each for each in copy.log_dirs if each.copied is None]
    cost = "it was cut off, or nobody stated it: confidence of an ABORT is MEDIUM at most"
    yield Lack("start of the copy in dump.toml", _names(untimed), cost)
    endless = [each for each in copy.log_dirs if each.copied and each.copied.ended is None]
    cost = "the copy counts as --slack long: what ended within that is UNDETERMINED (SKEW)"
    yield Lack("end of the copy in dump.toml", _names(endless), cost)
    data, coordinators = (copy.log_dirs_with(has_coordinators=each) for each in (False, True))
    ended = max((each.copied.ended or each.copied.started for each in data if each.copied), default=0)
    early = [each for each in coordinators if each.copied and each.copied.started < ended]
    cost = f"data without a later time by a broker's clock is UNDETERMINED (SKEW): copy {TRANSACTION_STATE} last"
    yield Lack(f"copies of {TRANSACTION_STATE} from after the data", _names(early), cost)


def _listings(copy: ClusterCopy) -> Iterator[Lack]:
    cost = "the end of a quiet log has no time, and merged segments look missing: UNDETERMINED (SKEW, COVERAGE_GAP)"
    yield Lack(LISTING, copy.unlisted, cost)


def _starts(copy: ClusterCopy) -> Iterator[Lack]:
    without_start = {each.log_dir for each in copy.raw_without(LOG_STARTS)}
    unknown, unseen = [], []
    for (log_dir, topic, partition), files in copy.raw.items():
        kinds, name = {each.kind for each in files}, f"{log_dir}/{topic}-{partition}"
        starts = min(each.base_offset or 0 for each in files if each.kind is FileKind.SEGMENT)
        if starts and FileKind.LEADER_EPOCH_CHECKPOINT not in kinds and log_dir in without_start:
            unknown.append(name)
        if starts and FileKind.PRODUCER_SNAPSHOT not in kinds and topic != TRANSACTION_STATE:
            unseen.append(name)
    cost = "segments before the first may be missing: UNDETERMINED (COVERAGE_GAP)"
    yield Lack(f"leader-epoch-checkpoint and {LOG_STARTS}", unknown, cost)
    cost = "transactions that start below the first segment are not found (PHANTOM_BELOW_LOG_START)"
    yield Lack("producer snapshots", unseen, cost)


def _identities(copy: ClusterCopy) -> Iterator[Lack]:
    cost = "the folder's name is the broker's; if no log directory has it, verify needs --cluster"
    yield Lack("meta.properties", _names(copy.raw_without("meta.properties")), cost)
    timed = any(each.transaction_max_timeout_ms for each in copy.log_dirs)
    cost = "15m counts: if the brokers allow more, give it to detect, or what is not late looks late"
    yield Lack("transaction.max.timeout.ms", [] if timed else ["transaction_max_timeout in dump.toml"], cost)


def _names(log_dirs: Sequence[LogDir]) -> list[str]:
    return [each.log_dir for each in log_dirs]


_LACKS: tuple[Callable[[ClusterCopy], Iterator[Lack]], ...] = (
    _coordinators,
    _high_watermarks,
    _times,
    _listings,
    _starts,
    _identities,
)
