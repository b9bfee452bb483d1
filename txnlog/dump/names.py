"""What a file is by its name and the name of its folder."""

from __future__ import annotations

import re

from txnlog.dump.copy_listing import NAME as LISTING
from txnlog.dump.dump_file import AN_INDEX, KIND_OF_ENDING, METADATA_TOPIC, FileKind
from txnlog.dump.manifest import NAME as MANIFEST
from txnlog.format.checkpoint import CLEANED_TO, HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS

META_PROPERTIES = "meta.properties"
PARTITION_DIRECTORY = re.compile(r"(?P<topic>.{1,249})-(?P<partition>\d{1,10})", re.DOTALL)
# Kafka cuts the start of such a name so that it fits: it need not end in a partition.
NOT_THE_LOG = re.compile(r".+\.[0-9a-f]{32}-(?P<what>future|delete|stray)|.+-(?P<old>delete)", re.DOTALL)
OFFSET_NAME = re.compile(r"(?P<offset>\d{20})(?P<ending>\.log|\.index|\.timeindex|\.txnindex|\.snapshot)")
# A segment that was compressed, renamed or incomplete when it was copied: `.log.gz`, `.log.part`, `.LOG`, `.log~`,
# `(1).log`, and what rsync calls a file that it has not finished.
NOT_AS_IT_WAS = re.compile(r"\.?(?P<offset>\d{20})(?:\.(?i:log)(?:[^A-Za-z].*)?| ?\(\d+\)\.log)", re.DOTALL)
ALTERED = "a segment that is compressed, renamed or incomplete: copy it again as NUMBER.log"
UNFINISHED = re.compile(r".*\.(deleted|cleaned|swap)", re.DOTALL)
FULL_OFFSET_CHECKPOINTS = frozenset({HIGH_WATERMARKS, LOG_STARTS, CLEANED_TO, RECOVERY_POINTS})
IN_EVERY_LOG = frozenset({"partition.metadata", "leader-epoch-checkpoint"})


def as_utf8(name: str) -> str:
    """A name as UTF-8: file names are bytes, and some are not text."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def is_part_of_a_log(name: str) -> bool:
    """Whether a file of this name lies in a partition's directory: `broker-1` is a name that only looks like one."""
    return name in IN_EVERY_LOG or OFFSET_NAME.fullmatch(name) is not None or altered_segment(name) is not None


def altered_segment(name: str) -> int | None:
    """The offset in the name of a segment that cannot be read because it is compressed, renamed or incomplete."""
    match = NOT_AS_IT_WAS.fullmatch(name)
    if match is None or OFFSET_NAME.fullmatch(name) or UNFINISHED.fullmatch(name) or int(match["offset"]) >= 2**63:
        return None
    return int(match["offset"])


def topic_partition_of(directory: str) -> tuple[str | None, int | None]:
    """Everything before the last `-` is the topic: topic names contain `-`, `.` and `_`."""
    match = PARTITION_DIRECTORY.fullmatch(directory)
    if match is None or int(match["partition"]) > 2**31 - 1:
        return None, None
    return match["topic"], int(match["partition"])


def kind_of(name: str, in_partition: bool) -> tuple[FileKind, int | None]:
    """What a file of this name is, and the offset in its name."""
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


def skip_reason(name: str, not_the_log: re.Match[str] | None, topic: str | None, kind: FileKind) -> str | None:
    """Why a file is not read; None where it is, or where only its content can tell."""
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
