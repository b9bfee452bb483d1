"""Keys and values of the records of many batches at a time: of uncompressed batches with few records each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from txnlog.format import batch as wire
from txnlog.format.batch import HEADER_SIZE, LENGTH_END
from txnlog.format.cursor import Bytes, Cursor, Numbers
from txnlog.format.scan import Run

# Each takes a round over all batches.
MOST_RECORDS = 64


class KeyedRecords(NamedTuple):
    """Records (n) of some batches of a run, in the order in which they lie there.

    `batches` are indexes of the run; keys and values are `content[at:at + length]`, with a length of -1 where the value
    is null. `left` are the batches that were not read: one record after the other does.
    """

    content: Bytes
    batches: npt.NDArray[np.intp]
    offsets: Numbers
    key_at: Numbers
    key_length: Numbers
    value_at: Numbers
    value_length: Numbers
    left: npt.NDArray[np.intp]

    def chosen(self, which: npt.NDArray[np.bool_]) -> KeyedRecords:
        """Some of the records."""
        return self._replace(**{name: getattr(self, name)[which] for name in _OF_RECORDS})

    def last_of_keys(self) -> npt.NDArray[np.intp]:
        """Where the last record of each key is."""
        if not len(self.key_at):
            return np.zeros(0, np.intp)
        # What lies between two keys is an element, too, which is not taken.
        edges = np.stack([self.key_at, self.key_at + self.key_length], axis=1).astype(np.int32)
        whole = [None, pa.py_buffer(edges), pa.py_buffer(self.content)]
        pieces = pa.Array.from_buffers(pa.binary(), edges.size - 1, whole)
        keys = pieces.take(pa.array(np.arange(0, edges.size - 1, 2))).dictionary_encode()
        last = np.zeros(len(keys.dictionary), np.intp)
        # Of several values for one place numpy assigns the last one.
        last[keys.indices.to_numpy()] = np.arange(len(self.key_at))
        return last


_OF_RECORDS = ("batches", "offsets", "key_at", "key_length", "value_at", "value_length")


def keyed_records(run: Run, indexes: npt.NDArray[np.intp]) -> KeyedRecords:
    """The records of those of the batches that are plain; keys that are null make a batch one that is left."""
    headers = run.headers.chosen(indexes)
    starts = run.positions[indexes] - run.start
    ends, count = starts + LENGTH_END + headers["batch_length"], headers["record_count"]
    is_plain = (headers["attributes"] & wire.CODEC_MASK == 0) & (headers["magic"] == 2) & (ends <= len(run.window))
    is_plain &= (count >= 0) & (count <= MOST_RECORDS)
    content = np.frombuffer(run.window, np.uint8)
    cursor = Cursor(content, starts + HEADER_SIZE, ends)
    cursor.expect(is_plain)
    most = int(count[is_plain].max(initial=0))
    rounds = (_round(cursor, np.flatnonzero(cursor.fine & (count > number))) for number in range(most))
    table = np.concatenate([np.zeros((6, 0), np.int64), *rounds], axis=1)
    cursor.expect(cursor.at == cursor.end)
    table = table[:, cursor.fine[table[0]]]
    owner, delta, key_at, key_length, value_at, value_length = table[:, np.argsort(table[2])]
    offsets = headers["base_offset"][owner] + delta
    left = indexes[~cursor.fine]
    return KeyedRecords(content, indexes[owner], offsets, key_at, key_length, value_at, value_length, left)


def _round(cursor: Cursor, owners: npt.NDArray[np.intp]) -> Numbers:
    """The next record of each of the batches (`DefaultRecord`): owner, offset delta, key and value."""
    record = cursor.part(owners)
    length = record.varint()
    end = record.at + length
    record.expect((length >= 0) & (end <= record.end))
    record.skip(1)
    record.varint()
    delta, key_length = record.varint(), record.varint()
    record.expect(key_length >= 2)
    key_at = record.skip(np.maximum(key_length, 0))
    value_length = record.varint()
    value_at = record.skip(np.maximum(value_length, 0))
    record.expect(record.at <= end)
    record.at = np.where(record.fine, end, record.at)
    cursor.rejoin(owners, record)
    return np.stack([owners, delta, key_at, key_length, value_at, value_length])
