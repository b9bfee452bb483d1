"""Kafka's declarations of records of `__consumer_offsets`: types, keys, values (`CoordinatorRecordType`, KIP-848)."""

from __future__ import annotations

from typing import NamedTuple

from txnlog.format.message import (
    Message,
    Part,
    Structure,
    Tagged,
    blob,
    list_of,
    nullable_blob,
    nullable_list_of,
    nullable_structure,
    nullable_text,
    number,
    text,
    uuid,
)

CONSUMER_OFFSETS = "__consumer_offsets"
# What consumers call the protocol by which they share partitions (`ConsumerProtocol.PROTOCOL_TYPE`).
CONSUMER_PROTOCOL = "consumer"
# `Uuid.ZERO_UUID`: no id.
NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"

_INT8, _INT32, _INT64 = number("b"), number("i"), number("q")


class RecordType(NamedTuple):
    """A type of records, by the first two bytes of their keys.

    The rest of the key, and the value; both None where it is known and not decoded.
    """

    name: str
    key: Structure | None = None
    value: Message | None = None


_OF_PARTITION = Structure(Part("group", text), Part("topic", text), Part("partition", _INT32))
_OF_GROUP = Structure(Part("group", text))
_OF_MEMBER = Structure(Part("group", text), Part("member_id", text))
_OF_PATTERN = Structure(Part("group", text), Part("regular_expression", text))

_OFFSET_COMMIT = Message(
    "OffsetCommitValue",
    Structure(
        Part("offset", _INT64),
        Part("leader_epoch", _INT32, since=3),
        Part("metadata", text),
        Part("commit_timestamp", _INT64),
        Part("expire_timestamp", _INT64, since=1, until=1),
        tagged={0: Tagged("topic_id", uuid, NO_ID)},
    ),
    range(5),
    flexible_from=4,
)
_MEMBER = Structure(
    Part("member_id", text),
    Part("group_instance_id", nullable_text, since=3),
    Part("client_id", text),
    Part("client_host", text),
    Part("rebalance_timeout", _INT32, since=1),
    Part("session_timeout", _INT32),
    Part("subscription", blob),
    Part("assignment", blob),
)
_GROUP_METADATA = Message(
    "GroupMetadataValue",
    Structure(
        Part("protocol_type", text),
        Part("generation", _INT32),
        Part("protocol", nullable_text),
        Part("leader", nullable_text),
        Part("current_state_timestamp", _INT64, since=2),
        Part("members", list_of(_MEMBER)),
    ),
    range(5),
    flexible_from=4,
)


def _consumer_group(name: str, *parts: Part, tagged: dict[int, Tagged] | None = None) -> Message:
    return Message(f"ConsumerGroup{name}Value", Structure(*parts, tagged=tagged), range(1), flexible_from=0)


_TOPIC_PARTITIONS = Structure(Part("topic_id", uuid), Part("partitions", list_of(_INT32)))
_ASSIGNED = Structure(
    *_TOPIC_PARTITIONS.parts, tagged={0: Tagged("assignment_epochs", nullable_list_of(_INT32), list[int]())}
)
_RACKS = Structure(Part("partition", _INT32), Part("racks", list_of(text)))
_TOPIC = Structure(
    Part("topic_id", uuid),
    Part("topic_name", text),
    Part("num_partitions", _INT32),
    Part("partition_metadata", list_of(_RACKS)),
)
_CLASSIC_PROTOCOL = Structure(Part("name", text), Part("metadata", blob))
_CLASSIC_MEMBER = Structure(Part("session_timeout_ms", _INT32), Part("supported_protocols", list_of(_CLASSIC_PROTOCOL)))
# What it is where the tag is not written, by Kafka's own reader; it writes the tag for null.
_NO_CLASSIC_MEMBER = {"session_timeout_ms": 0, "supported_protocols": list[str]()}

RECORD_TYPES = {
    # A key of type 0 is one of before Kafka 0.9; its value has a version of its own.
    0: RecordType("LEGACY_OFFSET_COMMIT", _OF_PARTITION, _OFFSET_COMMIT),
    1: RecordType("OFFSET_COMMIT", _OF_PARTITION, _OFFSET_COMMIT),
    2: RecordType("GROUP_METADATA", _OF_GROUP, _GROUP_METADATA),
    3: RecordType(
        "CONSUMER_GROUP_METADATA",
        _OF_GROUP,
        _consumer_group(
            "Metadata",
            Part("epoch", _INT32),
            tagged={0: Tagged("metadata_hash", _INT64, 0), 1: Tagged("creation_time_ms", _INT64, -1)},
        ),
    ),
    4: RecordType(
        "CONSUMER_GROUP_PARTITION_METADATA",
        _OF_GROUP,
        _consumer_group("PartitionMetadata", Part("topics", list_of(_TOPIC))),
    ),
    5: RecordType(
        "CONSUMER_GROUP_MEMBER_METADATA",
        _OF_MEMBER,
        _consumer_group(
            "MemberMetadata",
            Part("instance_id", nullable_text),
            Part("rack_id", nullable_text),
            Part("client_id", text),
            Part("client_host", text),
            Part("subscribed_topic_names", list_of(text)),
            Part("subscribed_topic_regex", nullable_text),
            Part("rebalance_timeout_ms", _INT32),
            Part("server_assignor", nullable_text),
            tagged={0: Tagged("classic_member_metadata", nullable_structure(_CLASSIC_MEMBER), _NO_CLASSIC_MEMBER)},
        ),
    ),
    6: RecordType(
        "CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA",
        _OF_GROUP,
        _consumer_group(
            "TargetAssignmentMetadata",
            Part("assignment_epoch", _INT32),
            tagged={0: Tagged("assignment_timestamp", _INT64, 0)},
        ),
    ),
    7: RecordType(
        "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER",
        _OF_MEMBER,
        _consumer_group("TargetAssignmentMember", Part("topic_partitions", list_of(_TOPIC_PARTITIONS))),
    ),
    8: RecordType(
        "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT",
        _OF_MEMBER,
        _consumer_group(
            "CurrentMemberAssignment",
            Part("member_epoch", _INT32),
            Part("previous_member_epoch", _INT32),
            Part("state", _INT8),
            Part("assigned_partitions", list_of(_ASSIGNED)),
            Part("partitions_pending_revocation", list_of(_ASSIGNED)),
        ),
    ),
    16: RecordType(
        "CONSUMER_GROUP_REGULAR_EXPRESSION",
        _OF_PATTERN,
        _consumer_group(
            "RegularExpression", Part("topics", list_of(text)), Part("version", _INT64), Part("timestamp", _INT64)
        ),
    ),
} | {
    # Of share groups (KIP-932) and of streams groups (KIP-1071).
    number: RecordType(name)
    for number, name in {
        9: "SHARE_GROUP_PARTITION_METADATA",
        10: "SHARE_GROUP_MEMBER_METADATA",
        11: "SHARE_GROUP_METADATA",
        12: "SHARE_GROUP_TARGET_ASSIGNMENT_METADATA",
        13: "SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER",
        14: "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT",
        15: "SHARE_GROUP_STATE_PARTITION_METADATA",
        17: "STREAMS_GROUP_METADATA",
        18: "STREAMS_GROUP_PARTITION_METADATA",
        19: "STREAMS_GROUP_MEMBER_METADATA",
        20: "STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA",
        21: "STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER",
        22: "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT",
        23: "STREAMS_GROUP_TOPOLOGY",
    }.items()
}
ASSIGNMENT = Structure(
    Part("topics", list_of(Structure(Part("topic", text), Part("partitions", list_of(_INT32))))),
    Part("user_data", nullable_blob),
)
