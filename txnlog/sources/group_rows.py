"""Records of `__consumer_offsets` as rows: those that are left of a piece of the log."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from txnlog.errors import FormatError
from txnlog.format.group_messages import CONSUMER_PROTOCOL, NO_ID, RECORD_TYPES
from txnlog.format.group_records import assigned_partitions, group_key, group_value, type_of_key, unknown
from txnlog.format.structure import BOOLEAN, GROUP_MEMBERS, INT32, INT64, TEXT, fields

# What has become of a record within its piece of the log. A marker ends what earlier pieces have left pending.
FINAL, COMMITTED, PENDING, MARKER = "FINAL", "COMMITTED", "PENDING", "MARKER"
LEGACY_COMMIT, COMMIT, CLASSIC_GROUP, CONSUMER_GROUP, MEMBER, ASSIGNMENT = 0, 1, 2, 3, 5, 8
# The types of which a row is made.
WANTED = (LEGACY_COMMIT, COMMIT, CLASSIC_GROUP, CONSUMER_GROUP, MEMBER, ASSIGNMENT)


class GroupRecordRow(NamedTuple):
    """The last record of a key in a piece of a log of `__consumer_offsets`, or the first marker of a producer id."""

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    broker: Annotated[str, TEXT, "Broker id, or the folder where no meta.properties names one."]
    log_dir: Annotated[str, TEXT, "Copied log directory, relative to the dump."]
    coordinator_partition: Annotated[int, INT32, "Partition of __consumer_offsets."]
    file: Annotated[str, TEXT, "Its segment, relative to the dump."]
    position: Annotated[int, INT64, "Byte of the segment at which its batch starts."]
    offset: Annotated[int, INT64, "Its offset."]
    fate: Annotated[str, TEXT, "FINAL, COMMITTED (by a marker in the piece), PENDING; MARKER."]
    producer_id: Annotated[int | None, INT64, "Producer id of its transaction; null if FINAL."]
    applied_at: Annotated[int | None, INT64, "Offset from which on it counts; null if PENDING."]
    is_commit: Annotated[bool | None, BOOLEAN, "Whether a MARKER is a COMMIT."]
    record_type: Annotated[str | None, TEXT, "Its type by Kafka's name; null for a MARKER."]
    is_tombstone: Annotated[bool, BOOLEAN, "Whether its value is null."]
    group_id: Annotated[str | None, TEXT, "Consumer group."]
    member_id: Annotated[str | None, TEXT, "Member, in a record of one member (KIP-848)."]
    topic: Annotated[str | None, TEXT, "Topic of a committed offset."]
    partition: Annotated[int | None, INT32, "Partition of a committed offset."]
    topic_id: Annotated[str | None, TEXT, "Topic id of a committed offset; null before Kafka 4.1."]
    committed_offset: Annotated[int | None, INT64, "Committed offset."]
    leader_epoch: Annotated[int | None, INT32, "Leader epoch of the last consumed record; null if not set."]
    metadata: Annotated[str | None, TEXT, "Text that was committed with the offset."]
    commit_timestamp: Annotated[int | None, INT64, "When it was committed, ms since 1970."]
    protocol_type: Annotated[str | None, TEXT, "Protocol type of a classic group: consumer, connect and others."]
    members: Annotated[list[object] | None, GROUP_MEMBERS, "Members with their partitions; null if it names none."]
    problem: Annotated[str | None, TEXT, "Why its value could not be decoded."]


NULLS: dict[str, Any] = dict.fromkeys(field.name for field in fields(GroupRecordRow))


def row_of(key: bytes, value: bytes | None) -> dict[str, Any]:
    """The columns that key and value have. FormatError for a key that cannot be read; else the `problem` is said."""
    number = type_of_key(key)
    named = group_key(key)
    row = {"record_type": RECORD_TYPES[number].name, "is_tombstone": value is None, "group_id": named.pop("group")}
    if value is None:
        return row | named
    try:
        return row | named | _columns(number, named, group_value(number, value))
    except FormatError as error:
        return row | named | {"problem": unknown(key, value) or str(error)}


def _columns(number: int, named: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    if number in (LEGACY_COMMIT, COMMIT):
        return _of_commit(value)
    if number == CLASSIC_GROUP:
        return _of_classic_group(value)
    if number == MEMBER:
        return {"members": [_member(named["member_id"], value["client_id"], value["client_host"], [])]}
    if number == ASSIGNMENT:
        partitions = [
            {"topic": None, "topic_id": topic["topic_id"], "partition": partition}
            for topic in value["assigned_partitions"]
            for partition in topic["partitions"]
        ]
        return {"members": [_member(named["member_id"], None, None, partitions)]}
    return {}


def _of_commit(value: dict[str, Any]) -> dict[str, Any]:
    topic_id, leader_epoch = value.get("topic_id", NO_ID), value.get("leader_epoch", -1)
    return {
        "committed_offset": value["offset"],
        "metadata": value["metadata"],
        "commit_timestamp": value["commit_timestamp"],
        "topic_id": None if topic_id == NO_ID else topic_id,
        "leader_epoch": None if leader_epoch < 0 else leader_epoch,
    }


def _of_classic_group(value: dict[str, Any]) -> dict[str, Any]:
    is_of_consumers = value["protocol_type"] == CONSUMER_PROTOCOL
    return {
        "protocol_type": value["protocol_type"],
        "members": [
            _member(
                each["member_id"],
                each["client_id"],
                each["client_host"],
                [
                    {"topic": topic, "topic_id": None, "partition": partition}
                    for topic, partition in (assigned_partitions(each["assignment"]) if is_of_consumers else [])
                ],
            )
            for each in value["members"]
        ],
    }


def _member(
    member_id: str, client_id: str | None, client_host: str | None, partitions: list[dict[str, Any]]
) -> dict[str, Any]:
    return {"member_id": member_id, "client_id": client_id, "client_host": client_host, "partitions": partitions}
