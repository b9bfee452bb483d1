"""Batches in the text of `kafka-dump-log.sh`: their lines, and the lines of their records, as columns.

What a text does not say stays null: the base timestamp always; what kind a marker is and who wrote it without
`--deep-iteration`; how many records a batch has before 2.0; and with `--deep-iteration` before 2.2, which prints
records only, everything that belongs to the batch alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from txnlog.format import dump_text
from txnlog.format.batch import CODECS, HEADER_SIZE, NO_PRODUCER_ID, TOO_LARGE_OFFSET
from txnlog.format.labelled import Flags, Integers, Labelled, Lines
from txnlog.sources.text_stream import LONGEST_LINE, Section

NOT_PRINTED, UNREADABLE = "NOT_PRINTED", "UNREADABLE"
# The lines of one batch may be many; what a reader keeps of them is bounded.
LONGEST_BATCH = 16 << 20
NULL = np.iinfo(np.int64).min
_RANGES = {
    "partition_leader_epoch": (-1, 2**31 - 1),
    "magic": (0, 127),
    "crc": (0, 2**32 - 1),
    "producer_epoch": (-1, 2**15 - 1),
    "base_sequence": (-1, 2**31 - 1),
    "record_count": (0, 2**31 - 1),
    "position": (0, 2**62),
    "size_in_bytes": (1, 2**32),
    "base_offset": (0, TOO_LARGE_OFFSET),
    "last_offset": (0, TOO_LARGE_OFFSET),
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
_OF_MARKERS = frozenset({"coordinatorEpoch"})
_FLAGS = ("crc_valid", "is_transactional", "is_control")
_NEEDED = frozenset(_LABELS.values()) - {"count"}
_NEEDED_OF_MESSAGES = frozenset({"offset", "position", "size", "magic", "crc", "isvalid", "compresscodec"})
_A_RECORD = re.compile(rb"offset: \d+ position: \d+ \w+: -?\d+ isvalid: \w+ key[Ss]ize: ")
_RECORD = re.compile(
    rb"offset: (?P<offset>\d{1,18}) position: (?P<position>\d{1,18}) (?P<time>\w+): (?P<timestamp>-?\d{1,18})"
    rb" isvalid: (?P<valid>true|false) keysize: -?\d+ valuesize: -?\d+ magic: (?P<magic>\d)"
    rb" compresscodec: (?P<codec>\w+)(?: crc: \d+)?"
    rb"(?: producerId: (?P<producer_id>-?\d{1,18}) producerEpoch: (?P<producer_epoch>-?\d{1,5})"
    rb" sequence: (?P<sequence>-?\d{1,10}) isTransactional: (?P<transactional>true|false) headerKeys: \[.*?]"
    rb"(?P<control> endTxnMarker: (?P<marker>COMMIT|ABORT) coordinatorEpoch: (?P<epoch>-?\d{1,10})"
    rb"| controlType: .*)?)?"
)
_CONTROL_TYPES = {
    b"LeaderChange": "LEADER_CHANGE",
    b"SnapshotHeader": "SNAPSHOT_HEADER",
    b"SnapshotFooter": "SNAPSHOT_FOOTER",
    b"KRaftVersion": "KRAFT_VERSION",
    b"KRaftVoters": "KRAFT_VOTERS",
    b"controlType": "UNKNOWN",
}
_POSITION = re.compile(rb" position: (\d{1,18}) ")


@dataclass(slots=True)
class TextBatches:
    """Batches in their order. Numbers that the text lacks are the smallest int64; `lines` is where each stands.

    `records_printed` counts the lines of its records, -1 where they are printed without their metadata.
    `are_records_alone` says that there are no lines for batches, so that they had to be put together from records.
    """

    lines: Integers
    numbers: dict[str, Integers]
    flags: dict[str, Flags]
    codecs: pa.Array
    is_log_append_time: Flags
    records_printed: Integers
    control: dict[int, tuple[str, str | None, int | None]]
    are_records_alone: bool = False

    def __len__(self) -> int:
        return len(self.lines)

    def add_up(self) -> Flags:
        """Which batches have as many lines of records as records, or none at all."""
        expected, printed = self.numbers["record_count"], self.records_printed
        same: Flags = (printed == expected) | (printed <= 0) | (expected == NULL)
        return same

    def columns(self) -> dict[str, Any]:
        """The columns of `BatchRow` but for its place."""
        count = len(self)
        kinds = [self.control.get(index, (None, None, None)) for index in range(count)] if self.control else []
        nulls = pa.nulls(count)
        return (
            {name: pa.array(values, mask=values == NULL) for name, values in self.numbers.items()}
            | {name: pa.array(values) for name, values in self.flags.items()}
            | {
                "compression": self.codecs,
                "timestamp_type": pa.array(["CreateTime", "LogAppendTime"]).take(
                    pa.array(self.is_log_append_time.astype(np.int8))
                ),
                "base_timestamp": nulls,
                "control_type": [kind[0] for kind in kinds] if kinds else nulls,
                "marker_type": [kind[1] for kind in kinds] if kinds else nulls,
                "coordinator_epoch": [kind[2] for kind in kinds] if kinds else nulls,
            }
        )

    def chosen(self, wanted: Flags) -> TextBatches:
        """Some of them."""
        indexes = np.flatnonzero(wanted)
        places = {old: new for new, old in enumerate(indexes.tolist())}
        return TextBatches(
            self.lines[wanted],
            {name: values[wanted] for name, values in self.numbers.items()},
            {name: values[wanted] for name, values in self.flags.items()},
            self.codecs.take(pa.array(indexes)),
            self.is_log_append_time[wanted],
            self.records_printed[wanted],
            {places[index]: kind for index, kind in self.control.items() if index in places},
            self.are_records_alone,
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
    message = content.rfind(b"\n" + dump_text.MESSAGE) + 1
    if message and _A_RECORD.match(content, message):
        # Records alone: those of one batch have its position in common.
        position = _POSITION.search(content, message)
        first = content.find(position[0]) if position else -1
        return content.rfind(b"\n", 0, first) + 1 if first >= 0 else message
    return max(content.rfind(b"\n" + dump_text.BATCH) + 1, message)


def _shortened(content: bytes) -> bytes:
    if len(content) <= LONGEST_BATCH:
        return content
    first, _, rest = content.partition(b"\n")
    records = rest.startswith(dump_text.RECORD) + rest.count(b"\n" + dump_text.RECORD)
    return first + b"\n" + (dump_text.RECORD + b"\n") * records


def batches(chunk: Chunk) -> TextBatches:
    """The batches of these lines."""
    lines = chunk.lines
    messages = np.flatnonzero(lines.start_with(dump_text.MESSAGE))
    if len(messages) and _A_RECORD.match(lines.line(int(messages[0]))):
        return _of_records(lines, messages, chunk.next_position)
    starts = np.flatnonzero(lines.start_with(dump_text.BATCH[:8]))
    found = list(lines.labelled(np.sort(np.concatenate((starts, messages))), dump_text.NUMBERS))
    groups = [_of_labels(group) for group in found if _is_batch(group)]
    return _with_records(lines, _in_order([group for group in groups if len(group)]))


def _is_batch(group: Labelled) -> bool:
    labels = group.columns.keys()
    if not any(label in labels for label in dump_text.TIME_LABELS) or "isvalid" not in labels:
        return False
    return labels >= _NEEDED or labels >= _NEEDED_OF_MESSAGES


def _of_labels(group: Labelled) -> TextBatches:
    columns = group.columns
    is_message = "offset" in columns
    count = len(group.rows)
    time = next(label for label in dump_text.TIME_LABELS if label in columns)
    labels = _LABELS | {"max_timestamp": time}
    if is_message:
        labels |= {"base_offset": "offset", "last_offset": "offset"}
    numbers = {
        name: columns[label].to_numpy() if label in columns else np.full(count, NULL) for name, label in labels.items()
    }
    codecs = pc.utf8_lower(columns["compresscodec"])
    transactional = _flag(columns, "isTransactional", count)
    if is_message:
        for name in ("producer_id", "producer_epoch", "base_sequence", "partition_leader_epoch"):
            numbers[name] = np.full(count, -1)
        is_wrapper = pc.not_equal(codecs, "none").to_numpy(zero_copy_only=False)
        numbers["record_count"] = np.where(is_wrapper, NULL, 1)
        control = np.zeros(count, np.bool_)
    elif "isControl" in columns:
        control = _flag(columns, "isControl", count)
    else:
        # Before 2.0 the tool does not say so. Only a control batch has a producer id and no sequence number.
        control = transactional & (numbers["producer_id"] >= 0) & (numbers["base_sequence"] == -1)
    unknown = numbers["record_count"] == NULL
    if not is_message and unknown.any():
        numbers["record_count"] = np.where(
            unknown & (numbers["size_in_bytes"] == HEADER_SIZE), 0, numbers["record_count"]
        )
    numbers["delete_horizon_ms"] = _horizons(columns, count)
    batches = TextBatches(
        group.rows,
        numbers,
        {"crc_valid": _flag(columns, "isvalid", count), "is_transactional": transactional, "is_control": control},
        _known_codecs(codecs),
        np.full(count, time == "LogAppendTime"),
        np.full(count, -1, np.int64),
        {},
    )
    return batches.chosen(_within_ranges(numbers))


def _flag(columns: dict[str, Any], label: str, count: int) -> Flags:
    if label not in columns:
        return np.zeros(count, np.bool_)
    flags: Flags = pc.equal(columns[label], "true").to_numpy(zero_copy_only=False)
    return flags


def _horizons(columns: dict[str, Any], count: int) -> Integers:
    if "deleteHorizonMs" not in columns:
        return np.full(count, NULL)
    encoded = columns["deleteHorizonMs"].dictionary_encode()
    values = [dump_text.optional(text) for text in encoded.dictionary.to_pylist()]
    known = np.array([NULL if value is None else value for value in values], np.int64)
    horizons: Integers = known[encoded.indices.to_numpy()]
    return horizons


def _known_codecs(codecs: pa.Array) -> pa.Array:
    names = pa.array([*CODECS, "unknown"])
    return names.take(pc.fill_null(pc.index_in(codecs, names), len(CODECS)))


def _within_ranges(numbers: dict[str, Integers]) -> Flags:
    good = np.ones(len(numbers["position"]), np.bool_)
    for name, (smallest, largest) in _RANGES.items():
        values = numbers[name]
        good &= (values == NULL) | ((values >= smallest) & (values <= largest))
    return good & (numbers["last_offset"] >= numbers["base_offset"]) & (numbers["producer_id"] >= NO_PRODUCER_ID)


def _in_order(groups: list[TextBatches]) -> TextBatches:
    if not groups:
        empty = np.zeros(0, np.int64)
        flags = dict.fromkeys(("crc_valid", "is_transactional", "is_control"), np.zeros(0, np.bool_))
        names = [*_LABELS, "max_timestamp", "delete_horizon_ms"]
        return TextBatches(
            empty, dict.fromkeys(names, empty), flags, pa.array([], pa.string()), np.zeros(0, np.bool_), empty, {}
        )
    if len(groups) == 1:
        return groups[0]
    order = np.argsort(np.concatenate([group.lines for group in groups]))

    def joined(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.concatenate(parts)[order]

    return TextBatches(
        joined([group.lines for group in groups]),
        {name: joined([group.numbers[name] for group in groups]) for name in groups[0].numbers},
        {name: joined([group.flags[name] for group in groups]) for name in groups[0].flags},
        pa.concat_arrays([group.codecs for group in groups]).take(pa.array(order)),
        joined([group.is_log_append_time for group in groups]),
        joined([group.records_printed for group in groups]),
        {},
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
    control = np.flatnonzero(found.flags["is_control"])
    if len(control):
        found.control = _control(lines, found, control, np.flatnonzero(is_record), counts)
    return found


def _between(places: Integers, is_one: Flags) -> Integers:
    """How many lines of a kind stand behind each place and before the next."""
    sums = np.concatenate(([0], np.cumsum(is_one)))
    between: Integers = np.diff(np.append(sums[places], sums[-1]))
    return between


def _control(
    lines: Lines, found: TextBatches, control: Integers, records: Integers, counts: Integers
) -> dict[int, tuple[str, str | None, int | None]]:
    count = found.numbers["record_count"]
    kinds: dict[int, tuple[str, str | None, int | None]] = {
        index: (NOT_PRINTED, None, None) for index in control.tolist() if count[index] != 0
    }
    printed = control[counts[control] > 0]
    first_record = records[np.searchsorted(records, found.lines[printed])] if len(printed) else records[:0]
    of_line = dict(zip(first_record.tolist(), printed.tolist(), strict=True))
    for line, index in of_line.items():
        kinds[index] = (_control_type(lines.line(line)), None, None)
    for group in lines.labelled(np.sort(first_record), _OF_MARKERS, skip=len(dump_text.RECORD)):
        if {"endTxnMarker", "coordinatorEpoch"} <= group.columns.keys():
            markers, epochs = group.columns["endTxnMarker"].to_pylist(), group.columns["coordinatorEpoch"].to_pylist()
            for line, marker, epoch in zip(group.rows.tolist(), markers, epochs, strict=True):
                index = of_line[line]
                is_trusted = counts[index] == count[index] == 1 and abs(epoch) < 2**31
                if marker in ("COMMIT", "ABORT") and is_trusted:
                    kinds[index] = (marker, marker, epoch)
    return kinds


def _control_type(line: bytes) -> str:
    """The kind of a control record that ends no transaction, by the word that the tool prints for it."""
    for word, kind in _CONTROL_TYPES.items():
        if b" " + word + b": " in line:
            return kind
    return UNREADABLE


def _of_records(lines: Lines, messages: Integers, next_position: int | None) -> TextBatches:
    """Batches put together from their records, all of which name the position of their batch."""
    groups: list[list[tuple[int, re.Match[bytes]]]] = []
    for index in messages.tolist():
        match = _RECORD.match(lines.line(index))
        if match is None:
            continue
        if groups and groups[-1][0][1]["position"] == match["position"]:
            groups[-1].append((index, match))
        else:
            groups.append([(index, match)])
    rows = [_row_of_records(group) for group in groups]
    positions = [row["position"] for row in rows] + ([] if next_position is None else [next_position])
    for row, following in zip(rows, positions[1:], strict=False):
        row["size_in_bytes"] = following - row["position"] if following > row["position"] else NULL
    numbers = {name: np.array([row[name] for row in rows], np.int64) for name in (*_LABELS, "max_timestamp")}
    numbers["delete_horizon_ms"] = np.full(len(rows), NULL)
    flags = {
        name: np.array([row[name] for row in rows], np.bool_)
        for name in ("crc_valid", "is_transactional", "is_control")
    }
    found = TextBatches(
        np.array([group[0][0] for group in groups], np.int64),
        numbers,
        flags,
        _known_codecs(pa.array([row["codec"] for row in rows], pa.string())),
        np.array([row["is_log_append_time"] for row in rows], np.bool_),
        np.full(len(rows), -1, np.int64),
        {index: row["kind"] for index, row in enumerate(rows) if row["kind"] is not None},
        True,
    )
    return found.chosen(_within_ranges(numbers))


def _row_of_records(group: list[tuple[int, re.Match[bytes]]]) -> dict[str, Any]:
    first, last = group[0][1], group[-1][1]
    is_modern = first["producer_id"] is not None
    kind = None
    if first["control"] is not None:
        marker = first["marker"].decode() if first["marker"] else None
        kind = (marker or "UNKNOWN", marker, int(first["epoch"]) if first["epoch"] else None)
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
        "codec": first["codec"].decode().lower(),
        "is_log_append_time": first["time"] == b"LogAppendTime",
        "kind": kind,
    }
