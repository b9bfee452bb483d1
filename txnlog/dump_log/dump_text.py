"""What `kafka-dump-log.sh` (`DumpLogSegments`) prints, of every release: which line is what, headings and ends.

A release is recognized by the labels of its lines alone. Batches and entries are lines of labels and values
(`txnlog.dump_log.line_layouts`); what `--transaction-log-decoder` prints is in `txnlog.dump_log.coordinator_text`.
"""

from __future__ import annotations

import re
from mmap import mmap
from typing import NamedTuple

HEADING = b"Dumping "
BATCH, MESSAGE, RECORD = b"baseOffset: ", b"offset: ", b"| "
ENTRY, ABORTED = b"producerId: ", b"version: "
POSITION = re.compile(rb" position: (\d{1,18}) ")
# The kind of a control record, and of a marker, that is not printed without --deep-iteration.
NOT_PRINTED = "NOT_PRINTED"
TIME_LABELS = ("CreateTime", "LogAppendTime", "NoTimestampType")
# The tool's last words when it stopped before the end of the file.
_STOPPED_EARLY = re.compile(rb"(?m)^Found \d+ invalid bytes at the end of |Exception in thread \"|^\tat [\w.$]+[/(]")
_MESSAGE = re.compile(rb"(?m)^offset: \d+ position: \d+ \S")
_SWALLOWED_HEADING = re.compile(rb"(?m)^.+Dumping \S.*\.(?:log|snapshot|txnindex|index|timeindex)\r?$")
_IN_A_TEXT = re.compile(
    rb"(?m)^\xef?\xbb?\xbf?(?:Dumping \S.*\.(?:log|snapshot|txnindex|index|timeindex)\r?$"
    rb"|baseOffset: \d+ lastOffset: \d+ |offset: \d+ position: \d+ (?:CreateTime|LogAppendTime|NoTimestampType): "
    rb"|(?:Log s|S)tarting offset: \d+\r?$"
    rb"|producerId: \d+ producerEpoch: -?\d+ (?:lastSequence|coordinatorEpoch): )"
)
_FILE_NAME = re.compile(r"(?P<offset>[0-9]{20})(?P<ending>\.log|\.index|\.timeindex|\.txnindex|\.snapshot)")
_STARTING_OFFSET = re.compile(rb"(?m)^(?:Log s|S)tarting offset: (\d{1,18})\r?$")


class Heading(NamedTuple):
    """A path as it follows `Dumping`, taken apart; what it does not say is None."""

    topic: str | None = None
    partition: int | None = None
    name: str | None = None
    base_offset: int | None = None
    ending: str | None = None


def is_dump_text(head: bytes) -> bool:
    """Whether a text that begins like this is the output of `kafka-dump-log.sh`."""
    return _IN_A_TEXT.search(head) is not None


def heading(path: str) -> Heading:
    """Topic, partition and file name of a path as it was typed, on whichever system."""
    *folders, name = re.split(r"[/\\]", path.strip())
    file = _FILE_NAME.fullmatch(name)
    topic, partition = topic_partition(folders[-1]) if folders else (None, None)
    offset = int(file["offset"]) if file and int(file["offset"]) < 2**63 else None
    return Heading(topic, partition, name or None, offset, file["ending"] if file else None)


def topic_partition(text: str) -> tuple[str | None, int | None]:
    """`orders-0` as topic and partition; nothing of a text that is not such a name."""
    match = re.fullmatch(r"(?P<topic>[A-Za-z0-9._-]{1,249})-(?P<partition>[0-9]{1,10})", text)
    if match is None or int(match["partition"]) > 2**31 - 1:
        return None, None
    return match["topic"], int(match["partition"])


def stopped_early(text: bytes) -> bool:
    """Whether the tool says, or a stack trace, that it did not come to the end of the file."""
    # The first letter of an exception is in every line; a mark that is in few follows it.
    has_exception = b'"' in text and b"Exception in thread" in text
    may_be = has_exception or find(text, b"Found ") >= 0 or find(text, b"\tat ") >= 0
    return may_be and _STOPPED_EARLY.search(text) is not None


def has_swallowed_heading(text: bytes) -> bool:
    """Whether a heading follows what is left of another line."""
    return find(text, HEADING) >= 0 and _SWALLOWED_HEADING.search(text) is not None


def find(text: bytes | mmap, words: bytes) -> int:
    """As `text.find(words)`: a single byte, where the first is seldom there, is found ten times faster."""
    first = text.find(words[:1])
    return first if first < 0 else text.find(words, first)


def has_messages(text: bytes) -> bool:
    """Whether there are lines of messages or records: those of an offset index say no more than offset and position."""
    return _MESSAGE.search(text) is not None


def starting_offsets(text: bytes) -> list[int]:
    """The offsets at which the tool says that segments start, by their files' names."""
    return [int(match[1]) for match in _STARTING_OFFSET.finditer(text)] if b"tarting offset: " in text else []
