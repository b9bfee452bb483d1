"""What `kafka-dump-log.sh` (`DumpLogSegments`) prints, of every release: which line is what, and coordinator records.

A release is told by the labels of its lines alone. Batches and entries are lines of labels and values
(`txnlog.dump_log.labelled`); here is the rest: headings, ends, and the words of `--transaction-log-decoder`.
"""

from __future__ import annotations

import json
import re
from mmap import mmap
from typing import Any, NamedTuple

from txnlog.errors import FormatError
from txnlog.format.coordinator import STATES, STATES_ON_DISK, TransactionState

HEADING = b"Dumping "
BATCH, MESSAGE, RECORD = b"baseOffset: ", b"offset: ", b"| "
ENTRY, ABORTED = b"producerId: ", b"version: "
TOMBSTONE = b"<DELETE>"
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
_KEY_SIZE = re.compile(rb"key[Ss]ize: (-?\d{1,9}) ")
_OFFSET = re.compile(rb"(?:\| )?offset: (\d{1,18}) ")
_BITS = {
    "producer_id": 64,
    "producer_epoch": 16,
    "timeout_ms": 32,
    "last_update_timestamp": 64,
    "start_timestamp": 64,
    "previous_producer_id": 64,
    "next_producer_id": 64,
    "client_transaction_version": 16,
    "next_producer_epoch": 16,
}
_TEXT_KEY = re.compile(rb"(?:transaction_metadata::)?transactionalId=(.*)", re.DOTALL)
_TEXT_VALUE = re.compile(
    r"producerId:(?P<producer_id>-?\d{1,19}),producerEpoch:(?P<producer_epoch>-?\d{1,5}),state=(?P<state>\w+),"
    r"partitions=(?:\[(?P<list>[^]]*)]|\w*\((?P<set>[^)]*)\)),txnLastUpdateTimestamp=(?P<updated>-?\d{1,19}),"
    r"txnTimeoutMs=(?P<timeout>-?\d{1,10})(?:,\w+=[^,]*)*",
    re.ASCII,
)
_LISTED = re.compile(r"(?P<topic>[^,\s]{1,249})-(?P<partition>[0-9]{1,10})")
_OTHER_KEY = re.compile(rb"unknown::version=-?\d+|Unknown record type ")


class Heading(NamedTuple):
    """A path as it stands behind `Dumping`, taken apart; what it does not say is None."""

    topic: str | None = None
    partition: int | None = None
    name: str | None = None
    base_offset: int | None = None
    ending: str | None = None


class CoordinatorRecord(NamedTuple):
    """A line of `--transaction-log-decoder`. `offset` is None where it is not printed; `state` None in a tombstone."""

    offset: int | None
    transactional_id: str | None
    state: TransactionState | None


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
    # The first letter of an exception is in every line; behind it stands a mark that is in few.
    has_exception = b'"' in text and b"Exception in thread" in text
    may_be = has_exception or find(text, b"Found ") >= 0 or find(text, b"\tat ") >= 0
    return may_be and _STOPPED_EARLY.search(text) is not None


def has_swallowed_heading(text: bytes) -> bool:
    """Whether a heading stands behind what is left of another line."""
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


def coordinator_record(line: bytes) -> CoordinatorRecord:
    """The record of a line. Raises `FormatError` for one that is not whole, or not of the decoder."""
    before, found, rest = line.partition(b"key: ")
    key, payload_follows, payload = rest.rpartition(b" payload: ")
    if _OTHER_KEY.match(rest):
        return CoordinatorRecord(_offset(before), None, None)
    if not found or not payload_follows:
        raise FormatError("it holds no decoded key and payload: print it with --transaction-log-decoder")
    transactional_id = _transactional_id(key, _KEY_SIZE.search(before))
    state = None if payload == TOMBSTONE or transactional_id is None else _state(payload)
    return CoordinatorRecord(_offset(before), transactional_id, state)


def _offset(text: bytes) -> int | None:
    match = _OFFSET.match(text)
    return int(match[1]) if match else None


def _transactional_id(key: bytes, key_size: re.Match[bytes] | None) -> str | None:
    if key.startswith(b"{"):
        content = _json(key)
        data = content.get("data")
        if str(content.get("type")) != "0" or not isinstance(data, dict):
            return None
        name = data.get("transactionalId")
        if not isinstance(name, str) or not _is_text(name):
            raise FormatError("the key has no transactional id")
        return name
    match = _TEXT_KEY.fullmatch(key)
    if match is None:
        raise FormatError("it holds no decoded key: print it with --transaction-log-decoder")
    if key_size is None:
        raise FormatError("how long its key is, is not printed: print it without --skip-record-metadata")
    # Version and length come before it. What does not fit was printed with a line break in it, or is not UTF-8.
    if len(match[1]) != int(key_size[1]) - 4:
        raise FormatError("the transactional id is not as long as its record says")
    return match[1].decode("utf-8", "replace")


def _state(payload: bytes) -> TransactionState:
    state = _state_of_json(payload) if payload.startswith(b"{") else _state_of_text(payload)
    for name, bits in _BITS.items():
        if not -(1 << bits - 1) <= getattr(state, name) < 1 << bits - 1:
            raise FormatError(f"{name} {getattr(state, name)} does not fit {bits} bits")
    for topic, partition in state.topic_partitions or ():
        if not _is_text(topic) or not 0 <= partition < 2**31:
            raise FormatError("the payload lists what is no partition")
    return state


def _is_text(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _state_of_text(payload: bytes) -> TransactionState:
    match = _TEXT_VALUE.fullmatch(payload.decode("utf-8", "replace"))
    if match is None:
        raise FormatError("the payload is not one that --transaction-log-decoder prints")
    state = _known(match["state"])
    listed = (match["list"] or match["set"] or "").strip()
    partitions = [_partition(each) for each in re.split(", ?", listed)] if listed else []
    return TransactionState(
        producer_id=int(match["producer_id"]),
        producer_epoch=int(match["producer_epoch"]),
        timeout_ms=int(match["timeout"]),
        state=state,
        # On disk it has none in this state alone, which the text does not tell from an empty list.
        topic_partitions=None if state == "Empty" and not partitions else partitions,
        last_update_timestamp=int(match["updated"]),
        start_timestamp=-1,
    )


def _partition(text: str) -> tuple[str, int]:
    match = _LISTED.fullmatch(text)
    if match is None:
        raise FormatError(f"{text!r} is not a partition")
    return match["topic"], int(match["partition"])


def _state_of_json(payload: bytes) -> TransactionState:
    content = _json(payload)
    try:
        data = content["data"]
        status = data["transactionStatus"]
        listed = data["transactionPartitions"]
        return TransactionState(
            producer_id=int(data["producerId"]),
            producer_epoch=int(data["producerEpoch"]),
            timeout_ms=int(data["transactionTimeoutMs"]),
            state=_known(status if isinstance(status, str) else _by_number(int(status))),
            topic_partitions=None
            if listed is None
            else [(str(each["topic"]), int(one)) for each in listed for one in each["partitionIds"]],
            last_update_timestamp=int(data["transactionLastUpdateTimestampMs"]),
            start_timestamp=int(data["transactionStartTimestampMs"]),
            previous_producer_id=int(data.get("previousProducerId", -1)),
            next_producer_id=int(data.get("nextProducerId", -1)),
            client_transaction_version=int(data.get("clientTransactionVersion", 0)),
            next_producer_epoch=int(data.get("nextProducerEpoch", -1)),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"the payload lacks or garbles {error}") from error


def _by_number(status: int) -> str:
    return STATES[status] if 0 <= status < len(STATES) else str(status)


def _known(state: str) -> str:
    if state not in STATES[:STATES_ON_DISK]:
        raise FormatError(f"status {state} is never written to disk")
    return state


def _json(text: bytes) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not JSON: {error}") from error
    if not isinstance(content, dict):
        raise FormatError("not a JSON object")
    return content
