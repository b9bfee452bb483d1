"""Batches in the text of `kafka-dump-log.sh`: their lines, and the lines of their records, as columns.

What a text does not say stays null: the base timestamp always; what kind a marker is and who wrote it without
`--deep-iteration`; how many records a batch has before 2.0; and with `--deep-iteration` before 2.2, which prints
records only, everything that belongs to the batch alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from txnlog.dump.text_stream import LONGEST_LINE, Section
from txnlog.dump_log import dump_text
from txnlog.dump_log.dump_text import NOT_PRINTED
from txnlog.dump_log.labelled import Flags, Integers, Labelled, Lines
from txnlog.format.batch import CODECS, HEADER_SIZE, PLAUSIBLE
from txnlog.format.control_batches import UNREADABLE

_MARKERS = ("COMMIT", "ABORT")
CODEC_NAMES = [*CODECS, "unknown"]
# The lines of one batch may be many; what a reader keeps of them is bounded.
LONGEST_BATCH = 16 << 20
MOST_RECORDS = 1_000_000
NULL = np.iinfo(np.int64).min
_RANGES = {
    "partition_leader_epoch": (-1, 2**31 - 1),
    "magic": (0, 127),
    "crc": (0, 2**32 - 1),
    "producer_epoch": (-1, 2**15 - 1),
    "base_sequence": (-1, 2**31 - 1),
    "coordinator_epoch": (-1, 2**31 - 1),
    "position": (0, 2**62),
    "size_in_bytes": (1, 2**32),
    "last_offset": PLAUSIBLE["base_offset"],
    **{name: PLAUSIBLE[name] for name in ("base_offset", "record_count", "producer_id")},
}
_LABELS = {
    "base_offset": "baseOffset",
    "last_offset": "lastOffset",
    "position": "position",
    "size_in_bytes": "size",
    "partition_leader_epoch": "partitionLeaderEpoch",
    "magic": "magic",
    "crc": "crc",
    "producer_id": "producerId",
    "producer_epoch": "producerEpoch",
    "base_sequence": "baseSequence",
    "record_count": "count",
}
_NUMBERS = (*_LABELS, "max_timestamp", "delete_horizon_ms", "coordinator_epoch")
_BOOLEANS = ("isvalid", "isTransactional", "isControl")
_FLAGS = ("crc_valid", "is_transactional", "is_control", "is_log_append_time")
_NEEDED = frozenset(_LABELS.values()) - {"count"}
_NEEDED_OF_MESSAGES = frozenset({"offset", "position", "size", "magic", "crc"})
_A_RECORD = re.compile(rb"offset: \d+ position: \d+ \w+: -?\d+ isvalid: \w+ key[Ss]ize: ")
_RECORD = re.compile(
    rb"offset: (?P<offset>\d{1,18}) position: (?P<position>\d{1,18}) (?P<time>\w+): (?P<timestamp>-?\d{1,18})"
    rb" isvalid: (?P<valid>true|false) keysize: (?P<key_size>-?\d+) valuesize: -?\d+ magic: (?P<magic>\d)"
    rb" compresscodec: (?P<codec>\w+)(?: crc: \d+)?"
    rb"(?: producerId: (?P<producer_id>-?\d{1,18}) producerEpoch: (?P<producer_epoch>-?\d{1,5})"
    rb" sequence: (?P<sequence>-?\d{1,10}) isTransactional: (?P<transactional>true|false) headerKeys: \[.*?]"
    rb"(?P<control> endTxnMarker: (?P<marker>COMMIT|ABORT) coordinatorEpoch: (?P<epoch>-?\d{1,10})"
    rb"| controlType: .*)?)?(?: key: .*| payload: .*)?",
    re.DOTALL,
)
_OF_THE_BATCH = ("time", "valid", "magic", "codec", "producer_id", "producer_epoch", "transactional", "control")
_CONTROL_TYPES = {
    b"LeaderChange": "LEADER_CHANGE",
    b"SnapshotHeader": "SNAPSHOT_HEADER",
    b"SnapshotFooter": "SNAPSHOT_FOOTER",
    b"KRaftVersion": "KRAFT_VERSION",
    b"KRaftVoters": "KRAFT_VOTERS",
    b"controlType": "UNKNOWN",
}
KINDS: list[str | None] = [None, NOT_PRINTED, UNREADABLE, *_MARKERS, *_CONTROL_TYPES.values()]
_POSITION = re.compile(rb" position: (\d{1,18}) ")


@dataclass(slots=True)
class TextBatches:
    """Batches in their order. Numbers that the text lacks are the smallest int64; `lines` is where each stands.

    `codecs` and `kinds` are indexes of `CODEC_NAMES` and `KINDS`. `records_printed` counts the lines of its records, -1
    where they are printed without their metadata. `are_records_alone` says that there are no lines for batches, so that
    they had to be put together from records, and `is_sound` that those of one batch agree.
    """

    lines: Integers
    numbers: dict[str, Integers]
    flags: dict[str, Flags]
    codecs: Integers
    kinds: Integers
    records_printed: Integers
    are_records_alone: bool = False
    is_sound: bool = True

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def is_unreadable(self) -> Flags:
        """Which are control batches without a control record that can be read."""
        unreadable: Flags = self.kinds == KINDS.index(UNREADABLE)
        return unreadable

    def add_up(self) -> Flags:
        """Which batches have as many lines of records as records, or none at all."""
        expected, printed = self.numbers["record_count"], self.records_printed
        same: Flags = (printed == expected) | (printed <= 0) | (expected == NULL)
        return same

    def columns(self) -> dict[str, Any]:
        """The columns of `BatchRow` but for its place."""
        kinds = pa.array(self.kinds)
        time_types = pa.array(self.flags["is_log_append_time"].astype(np.int8))
        return (
            {name: pa.array(values, mask=values == NULL) for name, values in self.numbers.items()}
            | {name: pa.array(self.flags[name]) for name in ("crc_valid", "is_transactional", "is_control")}
            | {
                "compression": pa.array(CODEC_NAMES).take(pa.array(self.codecs)),
                "timestamp_type": pa.array(["CreateTime", "LogAppendTime"]).take(time_types),
                "base_timestamp": pa.nulls(len(self)),
                "control_type": pa.array(KINDS).take(kinds),
                "marker_type": pa.array([kind if kind in _MARKERS else None for kind in KINDS]).take(kinds),
            }
        )

    def chosen(self, wanted: Flags) -> TextBatches:
        """Some of them."""
        if wanted.all():
            return self
        return TextBatches(
            self.lines[wanted],
            {name: values[wanted] for name, values in self.numbers.items()},
            {name: values[wanted] for name, values in self.flags.items()},
            self.codecs[wanted],
            self.kinds[wanted],
            self.records_printed[wanted],
            self.are_records_alone,
            self.is_sound,
        )


class Chunk(NamedTuple):
    """Lines of whole batches, and the position of the batch that follows, as far as it is known without its size."""

    lines: Lines
    next_position: int | None = None


def chunks(section: Section) -> Iterator[Chunk]:
    """The lines of a section in pieces that hold whole batches with all their records."""
    carried = b""
    for piece in section:
        content = carried + piece
        cut = _last_batch(content)
        if cut:
            yield Chunk(Lines(content[:cut]), _position(content, cut))
        carried = _shortened(content[cut:])
    if carried:
        yield Chunk(Lines(carried))


def _position(content: bytes, start: int) -> int | None:
    match = _POSITION.search(content, start, start + LONGEST_LINE)
    return int(match[1]) if match else None


def _last_batch(content: bytes) -> int:
    """Where the lines of the last batch start; 0 if there is only one."""
    batch = content.rfind(b"\n" + dump_text.BATCH) + 1
    message = content.rfind(b"\n" + dump_text.MESSAGE, max(batch - 1, 0)) + 1
    if message and not batch and _A_RECORD.match(content, message):
        # Records alone: those of one batch have its position in common.
        position = _POSITION.search(content, message)
        first = content.find(position[0]) if position else -1
        return content.rfind(b"\n", 0, first) + 1 if first >= 0 else message
    return max(batch, message)


def _shortened(content: bytes) -> bytes:
    if len(content) <= LONGEST_BATCH:
        return content
    first, _, rest = content.partition(b"\n")
    records = rest.startswith(dump_text.RECORD) + rest.count(b"\n" + dump_text.RECORD)
    return first + b"\n" + (dump_text.RECORD + b"\n") * min(records, MOST_RECORDS)


def batches(chunk: Chunk) -> TextBatches:
    """The batches of these lines."""
    lines = chunk.lines
    messages = np.flatnonzero(lines.start_with(dump_text.MESSAGE))
    starts = np.flatnonzero(lines.start_with(dump_text.BATCH))
    if len(messages) and not len(starts) and _A_RECORD.match(lines.line(int(messages[0]))):
        return _of_records(lines, messages, chunk.next_position)
    wanted = np.union1d(starts, messages) if len(messages) else starts
    found = [_of_labels(group) for group in lines.labelled(wanted) if _is_batch(group)]
    return _with_records(lines, _in_order(found))


def _is_batch(group: Labelled) -> bool:
    if any(group.words.get(label, "true") not in ("true", "false") for label in _BOOLEANS):
        return False
    if group.words.get("compresscodec", "").lower() not in CODECS:
        return False
    if not any(label in group.numbers for label in dump_text.TIME_LABELS) or "isvalid" not in group.words:
        return False
    return group.numbers.keys() >= _NEEDED or group.numbers.keys() >= _NEEDED_OF_MESSAGES


def _of_labels(group: Labelled) -> TextBatches:
    count, is_message = len(group.rows), "offset" in group.numbers
    time = next(label for label in dump_text.TIME_LABELS if label in group.numbers)
    labels = _LABELS | {"max_timestamp": time, "delete_horizon_ms": "deleteHorizonMs"}
    if is_message:
        labels |= {"base_offset": "offset", "last_offset": "offset"}
    numbers = {name: group.numbers.get(label, np.full(count, NULL)) for name, label in labels.items()}
    numbers["coordinator_epoch"] = np.full(count, NULL)
    codec = group.words["compresscodec"].lower()
    is_transactional = np.full(count, group.words.get("isTransactional") == "true")
    is_control = np.full(count, group.words.get("isControl") == "true")
    if is_message:
        for name in ("producer_id", "producer_epoch", "base_sequence", "partition_leader_epoch"):
            numbers[name] = np.full(count, -1)
        numbers["record_count"] = np.full(count, 1 if codec == "none" else NULL)
    elif "isControl" not in group.words:
        # Before 2.0 the tool does not say so. Only a control batch has a producer id and no sequence number.
        is_control = is_transactional & (numbers["producer_id"] >= 0) & (numbers["base_sequence"] == -1)
    if not is_message and "count" not in group.numbers:
        numbers["record_count"] = np.where(numbers["size_in_bytes"] == HEADER_SIZE, 0, NULL)
    flags = {
        "crc_valid": np.full(count, group.words["isvalid"] == "true"),
        "is_transactional": is_transactional,
        "is_control": is_control,
        "is_log_append_time": np.full(count, time == "LogAppendTime"),
    }
    codecs = np.full(count, CODEC_NAMES.index(codec))
    kinds = np.where(is_control & (numbers["record_count"] != 0), KINDS.index(NOT_PRINTED), 0)
    found = TextBatches(group.rows, numbers, flags, codecs, kinds, np.zeros(count, np.int64))
    return found.chosen(_within_ranges(numbers))


def _within_ranges(numbers: dict[str, Integers]) -> Flags:
    good = np.ones(len(numbers["position"]), np.bool_)
    for name, (smallest, largest) in _RANGES.items():
        values = numbers[name]
        good &= (values == NULL) | ((values >= smallest) & (values <= largest))
    return good & (numbers["last_offset"] >= numbers["base_offset"])


def _in_order(groups: list[TextBatches]) -> TextBatches:
    if len(groups) == 1:
        return groups[0]
    lines = np.concatenate([np.zeros(0, np.int64), *(group.lines for group in groups)])
    order = np.argsort(lines)

    def joined(parts: list[npt.NDArray[Any]], kind: type) -> npt.NDArray[Any]:
        return np.concatenate([np.zeros(0, kind), *parts])[order]

    return TextBatches(
        lines[order],
        {name: joined([group.numbers[name] for group in groups], np.int64) for name in _NUMBERS},
        {name: joined([group.flags[name] for group in groups], np.bool_) for name in _FLAGS},
        joined([group.codecs for group in groups], np.int64),
        joined([group.kinds for group in groups], np.int64),
        joined([group.records_printed for group in groups], np.int64),
    )


def _with_records(lines: Lines, found: TextBatches) -> TextBatches:
    """Add how many lines of records follow each batch, and what the one of a control batch says."""
    if not len(found):
        return found
    is_record = lines.start_with(dump_text.RECORD)
    # Without their metadata, records are empty lines.
    counts = _between(found.lines, is_record)
    blanks = _between(found.lines, lines.starts == lines.ends)
    found.records_printed = np.where(counts > 0, counts, np.where(blanks > 0, -1, 0))
    printed = np.flatnonzero(found.flags["is_control"] & (counts > 0) & (found.numbers["record_count"] != 0))
    if len(printed):
        _add_kinds(lines, found, printed, np.flatnonzero(is_record), counts)
    return found


def _between(places: Integers, is_one: Flags) -> Integers:
    """How many lines of a kind stand behind each place and before the next."""
    sums = np.concatenate(([0], np.cumsum(is_one)))
    between: Integers = np.diff(np.append(sums[places], sums[-1]))
    return between


def _add_kinds(lines: Lines, found: TextBatches, printed: Integers, records: Integers, counts: Integers) -> None:
    """What the records of the `printed` control batches (indexes) say."""
    first_record = records[np.searchsorted(records, found.lines[printed])]
    found.kinds[printed] = KINDS.index(UNREADABLE)
    known = np.zeros(len(printed), np.bool_)
    for group in lines.labelled(first_record, skip=len(dump_text.RECORD)):
        marker = group.words.get("endTxnMarker")
        if marker in _MARKERS and "coordinatorEpoch" in group.numbers:
            at = np.searchsorted(first_record, group.rows)
            epochs, batches_at = group.numbers["coordinatorEpoch"], printed[at]
            trusted = (counts[batches_at] == 1) & (found.numbers["record_count"][batches_at] == 1)
            trusted &= np.abs(epochs) < 2**31
            found.kinds[batches_at[trusted]] = KINDS.index(marker)
            found.numbers["coordinator_epoch"][batches_at[trusted]] = epochs[trusted]
            known[at] = True
    for index in np.flatnonzero(~known).tolist():
        found.kinds[printed[index]] = KINDS.index(_control_type(lines.line(int(first_record[index]))))


def _control_type(line: bytes) -> str:
    """The kind of a control record that ends no transaction, by the word that the tool prints for it."""
    for word, kind in _CONTROL_TYPES.items():
        if b" " + word + b": " in line:
            return kind
    return UNREADABLE


def _of_records(lines: Lines, messages: Integers, next_position: int | None) -> TextBatches:
    """Batches put together from their records, all of which name the position of their batch."""
    groups: list[list[tuple[int, re.Match[bytes]]]] = []
    is_sound = True
    for index in messages.tolist():
        match = _RECORD.fullmatch(lines.line(index))
        if match is None:
            is_sound = False
            continue
        if groups and groups[-1][0][1]["position"] == match["position"]:
            groups[-1].append((index, match))
        else:
            groups.append([(index, match)])
    rows = [_row_of_records(group) for group in groups]
    positions = [row["position"] for row in rows] + ([] if next_position is None else [next_position])
    for row, following in zip(rows, positions[1:], strict=False):
        row["size_in_bytes"] = following - row["position"] if following > row["position"] else NULL
    numbers = {name: np.array([row[name] for row in rows], np.int64) for name in _NUMBERS}
    found = TextBatches(
        np.array([group[0][0] for group in groups], np.int64),
        numbers,
        {name: np.array([row[name] for row in rows], np.bool_) for name in _FLAGS},
        np.array([CODEC_NAMES.index(row["codec"]) for row in rows], np.int64),
        np.array([KINDS.index(row["kind"]) for row in rows], np.int64),
        np.full(len(rows), -1, np.int64),
        True,
        is_sound and all(_agree([match for _, match in group]) for group in groups),
    )
    return found.chosen(_within_ranges(numbers))


def _agree(records: list[re.Match[bytes]]) -> bool:
    """Whether records can be those of one batch, by what its header says of all of them."""
    offsets = [int(record["offset"]) for record in records]
    shared = {tuple(record[name] for name in _OF_THE_BATCH) for record in records}
    is_control = records[0]["control"] is not None
    # Only a control record has a producer id, no sequence number, and a key of version and type; it is alone.
    looks_like_control = records[0]["sequence"] == b"-1" and records[0]["producer_id"] not in (None, b"-1")
    may_be_control = len(records) == 1 and records[0]["sequence"] == b"-1" and records[0]["key_size"] == b"4"
    return (
        len(shared) == 1
        and all(before < behind for before, behind in pairwise(offsets))
        and (may_be_control if is_control else not looks_like_control)
        and (records[0]["magic"] != b"2" or records[0]["producer_id"] is not None)
    )


def _row_of_records(group: list[tuple[int, re.Match[bytes]]]) -> dict[str, Any]:
    first, last = group[0][1], group[-1][1]
    is_modern = first["producer_id"] is not None
    marker = first["marker"].decode() if first["marker"] else "UNKNOWN"
    codec = first["codec"].decode().lower()
    return {
        "base_offset": int(first["offset"]),
        "last_offset": int(last["offset"]),
        "position": int(first["position"]),
        "size_in_bytes": NULL,
        "partition_leader_epoch": -1,
        "magic": int(first["magic"]),
        "crc": NULL,
        "producer_id": int(first["producer_id"]) if is_modern else -1,
        "producer_epoch": int(first["producer_epoch"]) if is_modern else -1,
        "base_sequence": int(first["sequence"]) if is_modern else -1,
        "record_count": len(group),
        "max_timestamp": max(int(match["timestamp"]) for _, match in group),
        "crc_valid": all(match["valid"] == b"true" for _, match in group),
        "is_transactional": is_modern and first["transactional"] == b"true",
        "is_control": first["control"] is not None,
        "delete_horizon_ms": NULL,
        "coordinator_epoch": int(first["epoch"]) if first["epoch"] else NULL,
        "codec": codec if codec in CODECS else "unknown",
        "is_log_append_time": first["time"] == b"LogAppendTime",
        "kind": None if first["control"] is None else marker,
    }
