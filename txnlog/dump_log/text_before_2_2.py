"""Batches put together from lines of records, where the tool prints no lines of batches (before 2.2)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np

from txnlog.dump_log.batch_labels import CODEC_NAMES, FLAGS, KINDS, NULL, NUMBERS, TextBatches, within_ranges
from txnlog.dump_log.line_layouts import Integers, Lines
from txnlog.format.batch import CODECS

A_RECORD = re.compile(rb"offset: \d+ position: \d+ \w+: -?\d+ isvalid: \w+ key[Ss]ize: ")
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


def batches_of_records(lines: Lines, messages: Integers, next_position: int | None) -> TextBatches:
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
    numbers = {name: np.array([row[name] for row in rows], np.int64) for name in NUMBERS}
    found = TextBatches(
        np.array([group[0][0] for group in groups], np.int64),
        numbers,
        {name: np.array([row[name] for row in rows], np.bool_) for name in FLAGS},
        np.array([CODEC_NAMES.index(row["codec"]) for row in rows], np.int64),
        np.array([KINDS.index(row["kind"]) for row in rows], np.int64),
        np.full(len(rows), -1, np.int64),
        True,
        is_sound and all(_agree([match for _, match in group]) for group in groups),
    )
    return found.chosen(within_ranges(numbers))


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
        and all(before < after for before, after in pairwise(offsets))
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
