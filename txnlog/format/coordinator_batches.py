"""The records of a coordinator, many at a time: it writes each into a batch of its own, and nothing compressed.

`TransactionStateManager` appends a state at a time, and `TransactionLog` enforces that there is no compression. All
else (tombstones, those of expired ids share a batch; names that are not ASCII; damage) is left to
`txnlog.format.coordinator`, which reads one record after the other and says what is wrong.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from txnlog.format import batch as wire
from txnlog.format.batch import HEADER_SIZE, LENGTH_END
from txnlog.format.coordinator import LONGEST_TOPIC, STATES_ON_DISK
from txnlog.format.cursor import Cursor, Flags, Numbers, are_ascii, spread, texts, values_at
from txnlog.format.scan import Run
from txnlog.format.structure import INT8, INT16, INT32, INT64, native, numpy_dtype

# Bounds to what is done for all records because one of them asks for it.
LONGEST_ID = 1024
MOST_TOPICS, MOST_TAGS = 64, 8


class UsualValue(NamedTuple):
    """The start of a value of version 0 or 1 (`TransactionLogValue`)."""

    version: Annotated[int, INT16, "Version of the value."]
    producer_id: Annotated[int, INT64, "Producer id."]
    producer_epoch: Annotated[int, INT16, "Its epoch."]
    timeout_ms: Annotated[int, INT32, "The id's own timeout, ms."]
    status: Annotated[int, INT8, "Index into `STATES`."]


class UsualTimes(NamedTuple):
    """What follows its partitions."""

    last_update_timestamp: Annotated[int, INT64, "When the coordinator wrote it, ms since 1970."]
    start_timestamp: Annotated[int, INT64, "Start of the transaction, ms since 1970; -1 if none."]


_BYTE, _INT16, _INT32, _INT64 = np.dtype("u1"), np.dtype(">i2"), np.dtype(">i4"), np.dtype(">i8")
# By their numbers, with the value of those that are missing.
_TAGS: tuple[tuple[str, np.dtype[Any], int], ...] = (
    ("previous_producer_id", _INT64, -1),
    ("next_producer_id", _INT64, -1),
    ("client_transaction_version", _INT16, 0),
    ("next_producer_epoch", _INT16, -1),
)
# A topic of a record: where its name is, and the numbers of its partitions.
_TOPIC = np.dtype([(name, "i8") for name in ("record", "name_at", "name_length", "partitions_at", "partitions")])


class TopicPartitions(NamedTuple):
    """A list of partitions for each of n records: those from one of `offsets` (n + 1) to the next.

    `is_null` (n) marks records that have no list at all, which is not the same as an empty one.
    """

    offsets: npt.NDArray[np.int32]
    is_null: Flags
    topics: pa.Array
    partitions: npt.NDArray[np.int32]


class UsualRecords(NamedTuple):
    """Records of the batches `indexes` (n) of a run, in their order; all arrays have n elements.

    `values` has the numbers of `TransactionState` by their names, and `status`, which is an index into `STATES`.
    """

    indexes: npt.NDArray[np.intp]
    offset_deltas: Numbers
    transactional_ids: pa.Array
    values: dict[str, npt.NDArray[Any]]
    topic_partitions: TopicPartitions


def usual_records(run: Run, indexes: npt.NDArray[np.intp]) -> UsualRecords:
    """The records of those of the batches that hold one state each, as coordinators write it."""
    headers = run.headers.chosen(indexes)
    starts = run.positions[indexes] - run.start
    ends = starts + LENGTH_END + headers["batch_length"]
    is_plain = (headers["attributes"] & wire.CODEC_MASK == 0) & (headers["record_count"] == 1)
    is_plain &= (headers["magic"] == 2) & (ends <= len(run.window))
    content = np.frombuffer(run.window, np.uint8)
    return _read(Cursor(content, starts[is_plain] + HEADER_SIZE, ends[is_plain]), indexes[is_plain])


def _read(record: Cursor, indexes: npt.NDArray[np.intp]) -> UsualRecords:
    """All fields in their order (`DefaultRecord`, `TransactionLogKey`, `TransactionLogValue`)."""
    offset_deltas = _start_of_record(record)
    id_at, id_length = _key(record)
    record.narrow(record.varint())
    value = record.fields(numpy_dtype(UsualValue))
    is_flexible = value["version"] == 1
    record.expect((is_flexible | (value["version"] == 0)) & (value["status"] >= 0) & (value["status"] < STATES_ON_DISK))
    topics, count = _topics(record, is_flexible)
    times = record.fields(numpy_dtype(UsualTimes))
    numbers = {name: each[name] for each in (value, times) for name in each.dtype.names or ()}
    numbers |= _tags(record, is_flexible)
    record.expect(record.at == record.end)
    usual = np.flatnonzero(record.fine)
    return UsualRecords(
        indexes[usual],
        offset_deltas[usual],
        texts(record.content, id_at[usual], id_length[usual]),
        {name: native(column[usual]) for name, column in numbers.items()},
        _topic_partitions(record, topics, count, usual),
    )


def _start_of_record(record: Cursor) -> Numbers:
    """The fields before the key; the offset is relative to the batch's."""
    length = record.varint()
    record.expect(record.at + length == record.end)
    record.skip(1)
    record.varint()
    return record.varint()


def _key(record: Cursor) -> tuple[Numbers, Numbers]:
    """Where the transactional id starts, and its length."""
    length = record.varint()
    version, id_length = record.fields(_INT16), record.fields(_INT16).astype(np.int64)
    record.expect((version == 0) & (length == id_length + 2 * _INT16.itemsize) & (id_length <= LONGEST_ID))
    id_at = record.skip(id_length)
    known = np.where(record.fine, id_length, 0)
    record.expect(are_ascii(record.content, id_at, known))
    return id_at, id_length


def _topics(record: Cursor, is_flexible: Flags) -> tuple[npt.NDArray[np.void], Numbers]:
    """Rows of `_TOPIC`, and how many of them each record has; negative where it has no array of them."""
    count = record.length(_INT32, is_flexible)
    record.expect(count <= MOST_TOPICS)
    rounds = [np.zeros(0, _TOPIC)]
    for number in range(MOST_TOPICS):
        owners = np.flatnonzero(record.fine & (count > number))
        if not len(owners):
            break
        part = record.part(owners)
        rounds.append(_next_topic(part, owners, is_flexible[owners]))
        record.rejoin(owners, part)
    topics = np.concatenate(rounds)
    topics = topics[record.fine[topics["record"]]]
    is_readable = are_ascii(record.content, topics["name_at"], topics["name_length"])
    record.fine[topics["record"][~is_readable]] = False
    return topics[np.argsort(topics["record"], kind="stable")], count


def _next_topic(record: Cursor, owners: npt.NDArray[np.intp], is_flexible: Flags) -> npt.NDArray[np.void]:
    topics = np.zeros(len(owners), _TOPIC)
    topics["record"] = owners
    topics["name_length"] = record.length(_INT16, is_flexible)
    record.expect(topics["name_length"] <= LONGEST_TOPIC)
    topics["name_at"] = record.skip(topics["name_length"])
    topics["partitions"] = record.length(_INT32, is_flexible)
    topics["partitions_at"] = record.skip(_INT32.itemsize * topics["partitions"])
    # A topic with tags of its own is none that is known today.
    tags = values_at(record.content, record.at, _BYTE)
    record.skip(np.where(is_flexible, 1, 0))
    record.expect(~is_flexible | (tags == 0))
    return topics


def _tags(record: Cursor, is_flexible: Flags) -> dict[str, npt.NDArray[Any]]:
    """The numbers that only flexible versions have."""
    found = {name: np.full(len(record.at), missing, layout) for name, layout, missing in _TAGS}
    left = np.zeros(len(record.at), np.int64)
    flexible = np.flatnonzero(is_flexible & record.fine)
    part = record.part(flexible)
    left[flexible] = part.unsigned_varint()
    record.rejoin(flexible, part)
    record.expect(left <= MOST_TAGS)
    for number in range(MOST_TAGS):
        owners = np.flatnonzero(record.fine & (left > number))
        part = record.part(owners)
        _next_tag(part, owners, found)
        record.rejoin(owners, part)
    return found


def _next_tag(record: Cursor, owners: npt.NDArray[np.intp], found: dict[str, npt.NDArray[Any]]) -> None:
    tag, size = record.unsigned_varint(), record.unsigned_varint()
    start = record.skip(size)
    for number, (name, layout, _) in enumerate(_TAGS):
        is_it = tag == number
        record.expect(~is_it | (size == layout.itemsize))
        found[name][owners[is_it]] = values_at(record.content, start[is_it], layout)


def _topic_partitions(
    record: Cursor, topics: npt.NDArray[np.void], count: Numbers, usual: npt.NDArray[np.intp]
) -> TopicPartitions:
    topics = topics[record.fine[topics["record"]]]
    each = topics["partitions"]
    sums = np.concatenate(([0], np.cumsum(each)))
    ends = np.searchsorted(topics["record"], usual, "right")
    names = texts(record.content, topics["name_at"], topics["name_length"])
    places = spread(topics["partitions_at"], each, _INT32.itemsize)
    return TopicPartitions(
        np.concatenate(([0], sums[ends])).astype(np.int32),
        count[usual] < 0,
        names.take(pa.array(np.repeat(np.arange(len(topics)), each))),
        native(values_at(record.content, places, _INT32)),
    )
