"""Records of `__transaction_state` as `--transaction-log-decoder` prints them, in each of its forms."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from txnlog.errors import FormatError
from txnlog.format.coordinator import STATES, STATES_ON_DISK, TransactionState

TOMBSTONE = b"<DELETE>"
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


class CoordinatorRecord(NamedTuple):
    """A line of `--transaction-log-decoder`. `offset` is None where it is not printed; `state` None in a tombstone."""

    offset: int | None
    transactional_id: str | None
    state: TransactionState | None


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
