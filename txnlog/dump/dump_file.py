"""What a dump consists of: its files, each with what it is by its name, and the log directories they lie in."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from txnlog.dump.manifest import CopyTime
from txnlog.dump.text_splits import WHOLE, Split
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.format.group_messages import CONSUMER_OFFSETS

# Each record of their logs counts; of other logs the batches are summed up.
COORDINATOR_TOPICS = frozenset({TRANSACTION_STATE, CONSUMER_OFFSETS})
# A byte of a text takes longer to read than one of a segment. Of a byte of records that become rows, Spark keeps more
# than one.
WEIGHT_OF_TEXT, WEIGHT_OF_RECORDS = 4, 8
# What one task reads; a file that weighs more is read by one task as well.
WEIGHT_PER_TASK = 256 << 20
METADATA_TOPIC = "__cluster_metadata"
# Texts in a log directory are another copy of it. No path of a dump looks like that.
TEXTS = "//text"
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


@dataclass(frozen=True, slots=True)
class DumpFile:
    """One file of a dump.

    `path` opens it; `file` and `log_dir` are for people: relative to the dump, always UTF-8. `base_offset` is the
    offset in the file's name. `skipped` says why a file is not read. `is_text` says that it is the output of
    `kafka-dump-log.sh`, or what that printed of one file; `split` is what is to be read of it. The topic partition of
    a text is that of the sections that do not name one. `complete_ms` is when it had its size at the latest, by a
    listing made before the copy (`txnlog.dump.copy_listing`). `bytes_missing` is, of the last segment in a copy of a
    log, how many bytes of the log that listing has beyond it. `is_special` says that it is a symbolic link, a pipe, a
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
    split: Split = WHOLE
    complete_ms: int | None = None
    bytes_missing: int | None = None
    is_special: bool = False

    @property
    def weight(self) -> int:
        """How much of a task it is: about as many bytes of batches that are summed up."""
        if self.is_text:
            return self.size * WEIGHT_OF_TEXT
        is_of_coordinator = self.topic in COORDINATOR_TOPICS and self.kind is FileKind.SEGMENT
        return self.size * (WEIGHT_OF_RECORDS if is_of_coordinator else 1)


@dataclass(frozen=True, slots=True)
class LogDir:
    """A copied log directory: its cluster and broker, and when it was copied (`copied` is None if unknown).

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
