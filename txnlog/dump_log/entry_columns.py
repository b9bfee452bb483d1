"""Entries of a printed producer snapshot or transaction index as columns: the labels of each release."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from txnlog.dump_log.batch_labels import NULL
from txnlog.dump_log.line_layouts import Labelled
from txnlog.errors import FormatError


def snapshot_columns(group: Labelled) -> dict[str, Any]:
    """Columns of `ProducerSnapshotRow` but for its place. `FormatError` where a label is missing."""
    numbers, count = group.numbers, len(group.rows)
    of_every_release = {"producerId", "producerEpoch", "coordinatorEpoch"}
    if not of_every_release <= numbers.keys() or "currentTxnFirstOffset" not in (numbers.keys() | group.words.keys()):
        raise FormatError("an entry lacks what every release prints")

    def number(*labels: str, otherwise: int) -> Any:
        return next((numbers[label] for label in labels if label in numbers), np.full(count, otherwise))

    time = number("lastTimestamp", "timestamp", otherwise=NULL)
    first_offset = number("currentTxnFirstOffset", otherwise=NULL)
    return {
        "producer_id": numbers["producerId"],
        "producer_epoch": numbers["producerEpoch"],
        "coordinator_epoch": numbers["coordinatorEpoch"],
        # What a producer without a batch does not have is not printed.
        "last_sequence": number("lastSequence", otherwise=-1),
        "last_offset": number("lastOffset", otherwise=-1),
        "offset_delta": number("offsetDelta", otherwise=0),
        "timestamp": pa.array(time, mask=time == NULL),
        "current_txn_first_offset": pa.array(first_offset, mask=first_offset == NULL),
    }


def aborted_columns(group: Labelled) -> dict[str, Any]:
    """Columns of `AbortedTransactionRow` but for its place. `FormatError` where a label is missing."""
    labels = {
        "producer_id": "producerId",
        "first_offset": "firstOffset",
        "last_offset": "lastOffset",
        "last_stable_offset": "lastStableOffset",
    }
    if not set(labels.values()) <= group.numbers.keys():
        raise FormatError("an entry lacks what every release prints")
    return {name: group.numbers[label] for name, label in labels.items()}
