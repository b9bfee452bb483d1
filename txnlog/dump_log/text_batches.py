"""Batches in the text of `kafka-dump-log.sh`: their lines, and the lines of their records, as columns.

What a text does not say stays null: the base timestamp always; what kind a marker is and who wrote it without
`--deep-iteration`; how many records a batch has before 2.0; and with `--deep-iteration` before 2.2, which prints
records only, everything that belongs to the batch alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from txnlog.dump_log import dump_text
from txnlog.dump_log.batch_labels import (
    CODEC_NAMES,
    CONTROL_TYPES,
    FLAGS,
    KINDS,
    LABELS,
    NULL,
    NUMBERS,
    TextBatches,
    within_ranges,
)
from txnlog.dump_log.dump_text import NOT_PRINTED
from txnlog.dump_log.line_layouts import Flags, Integers, Labelled, Lines
from txnlog.dump_log.text_before_2_2 import A_RECORD, batches_of_records
from txnlog.format.batch import CODECS, HEADER_SIZE
from txnlog.format.control import MARKER_NAMES
from txnlog.format.control_batches import UNREADABLE

_BOOLEANS = ("isvalid", "isTransactional", "isControl")
_NEEDED = frozenset(LABELS.values()) - {"count"}
_NEEDED_OF_MESSAGES = frozenset({"offset", "position", "size", "magic", "crc"})


def batches(lines: Lines, next_position: int | None) -> TextBatches:
    """The batches of these lines, and the position of the one that follows if it is known without the size of these."""
    messages = np.flatnonzero(lines.start_with(dump_text.MESSAGE))
    starts = np.flatnonzero(lines.start_with(dump_text.BATCH))
    if len(messages) and not len(starts) and A_RECORD.match(lines.line(int(messages[0]))):
        return batches_of_records(lines, messages, next_position)
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
    labels = LABELS | {"max_timestamp": time, "delete_horizon_ms": "deleteHorizonMs"}
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
    return found.chosen(within_ranges(numbers))


def _in_order(groups: list[TextBatches]) -> TextBatches:
    if len(groups) == 1:
        return groups[0]
    lines = np.concatenate([np.zeros(0, np.int64), *(group.lines for group in groups)])
    order = np.argsort(lines)

    def joined(parts: list[npt.NDArray[Any]], kind: type) -> npt.NDArray[Any]:
        return np.concatenate([np.zeros(0, kind), *parts])[order]

    return TextBatches(
        lines[order],
        {name: joined([group.numbers[name] for group in groups], np.int64) for name in NUMBERS},
        {name: joined([group.flags[name] for group in groups], np.bool_) for name in FLAGS},
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
    """How many lines of a kind stand between each place and the next."""
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
        if marker in MARKER_NAMES and "coordinatorEpoch" in group.numbers:
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
    for word, kind in CONTROL_TYPES.items():
        if b" " + word + b": " in line:
            return kind
    return UNREADABLE
