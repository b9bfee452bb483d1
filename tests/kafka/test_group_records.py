"""Records of every type and version of `__consumer_offsets` decode to what Kafka's own tool prints of them."""

from __future__ import annotations

import base64
import itertools
import json
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.kafka.judge import NEWEST, judged, tool
from tests.kafka.test_coordinator_records import generated
from txnlog.errors import FormatError
from txnlog.format.batch import HEADER_SIZE
from txnlog.format.group_messages import RECORD_TYPES
from txnlog.format.group_records import assigned_partitions, group_key, group_value, type_of_key, unknown
from txnlog.format.record import Record, records

pytestmark = pytest.mark.kafka
OF_EACH = 60
CLASSIC = 2
Fields = dict[str, st.SearchStrategy[Any]]
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
INT8, INT16, INT32, INT64 = (st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64))
BLOB = st.binary(max_size=20).map(lambda content: base64.b64encode(content).decode())
UUID = st.binary(min_size=16, max_size=16).map(lambda content: base64.urlsafe_b64encode(content).decode().rstrip("="))


def some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(strategy, max_size=3)


def one(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(fields)


def packed(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def assignment(version: int, topics: list[tuple[str, list[int]]], user_data: bytes | None) -> str:
    """A `ConsumerProtocolAssignment` as consumers write it."""
    content = struct.pack(">hi", version, len(topics))
    for topic, partitions in topics:
        content += packed(topic) + struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    content += struct.pack(">i", -1) if user_data is None else struct.pack(">i", len(user_data)) + user_data
    return base64.b64encode(content).decode()


def subscription(topics: list[str]) -> str:
    content = struct.pack(">hi", 0, len(topics)) + b"".join(map(packed, topics)) + struct.pack(">i", -1)
    return base64.b64encode(content).decode()


ASSIGNMENT = st.builds(assignment, st.integers(0, 3), some(st.tuples(TEXT, some(INT32))), st.none() | st.binary())


def member(version: int) -> st.SearchStrategy[Any]:
    newer: Fields = {"groupInstanceId": st.none() | TEXT} if version >= 3 else {}
    newer |= {"rebalanceTimeout": INT32} if version >= 1 else {}
    return one(
        memberId=TEXT,
        clientId=TEXT,
        clientHost=TEXT,
        sessionTimeout=INT32,
        subscription=st.builds(subscription, some(TEXT)),
        assignment=ASSIGNMENT,
        **newer,
    )


def offset_commit(version: int) -> st.SearchStrategy[Any]:
    fields: Fields = {"offset": INT64, "metadata": TEXT, "commitTimestamp": INT64}
    fields |= {"leaderEpoch": INT32} if version >= 3 else {}
    fields |= {"expireTimestamp": INT64} if version == 1 else {}
    fields |= {"topicId": UUID} if version >= 4 else {}
    return one(**fields)


def group_metadata(version: int) -> st.SearchStrategy[Any]:
    newer: Fields = {"currentStateTimestamp": INT64} if version >= 2 else {}
    return one(
        protocolType=st.sampled_from(["consumer", "connect", ""]),
        generation=INT32,
        protocol=st.none() | TEXT,
        leader=st.none() | TEXT,
        members=some(member(version)),
        **newer,
    )


OWNED = one(topicId=UUID, partitions=some(INT32), assignmentEpochs=st.none() | some(INT32))
CLASSIC_MEMBER = one(sessionTimeoutMs=INT32, supportedProtocols=some(one(name=TEXT, metadata=BLOB)))
VALUES: dict[int, Callable[[int], st.SearchStrategy[Any]]] = {
    0: offset_commit,
    1: offset_commit,
    2: group_metadata,
    3: lambda _: one(epoch=INT32, metadataHash=INT64),
    4: lambda _: one(
        topics=some(
            one(
                topicId=UUID,
                topicName=TEXT,
                numPartitions=INT32,
                partitionMetadata=some(one(partition=INT32, racks=some(TEXT))),
            )
        )
    ),
    5: lambda _: one(
        instanceId=st.none() | TEXT,
        rackId=st.none() | TEXT,
        clientId=TEXT,
        clientHost=TEXT,
        subscribedTopicNames=some(TEXT),
        subscribedTopicRegex=st.none() | TEXT,
        rebalanceTimeoutMs=INT32,
        serverAssignor=st.none() | TEXT,
        classicMemberMetadata=st.none() | CLASSIC_MEMBER,
    ),
    6: lambda _: one(assignmentEpoch=INT32, assignmentTimestamp=INT64),
    7: lambda _: one(topicPartitions=some(one(topicId=UUID, partitions=some(INT32)))),
    8: lambda _: one(
        memberEpoch=INT32,
        previousMemberEpoch=INT32,
        state=INT8,
        assignedPartitions=some(OWNED),
        partitionsPendingRevocation=some(OWNED),
    ),
    16: lambda _: one(topics=some(TEXT), version=INT64, timestamp=INT64),
}
KEYS = {
    **dict.fromkeys((0, 1), one(group=TEXT, topic=TEXT, partition=INT32)),
    2: one(group=TEXT),
    **dict.fromkeys((3, 4, 6), one(groupId=TEXT)),
    **dict.fromkeys((5, 7, 8), one(groupId=TEXT, memberId=TEXT)),
    16: one(groupId=TEXT, regularExpression=TEXT),
}


def lines(number: int, version: int) -> st.SearchStrategy[Any]:
    return one(type=st.just(number), version=st.just(version), key=KEYS[number], value=VALUES[number](version))


def in_kafka() -> dict[int, dict[str, Any]]:
    return {each["type"]: each for each in map(json.loads, judged(NEWEST, "Groups", "types"))}


def decoded(segment: Path) -> list[Record]:
    content = segment.read_bytes()
    (count,) = struct.unpack_from(">i", content, HEADER_SIZE - 4)
    return list(records(content[HEADER_SIZE:], count))


PRINTED = re.compile(r"\| offset: \d+ .*? key: (?P<key>.*) payload: (?P<payload>.*)")


def printed(segment: Path) -> Iterator[tuple[str, str]]:
    """Key and value of each record as `OffsetsMessageParser` prints them."""
    arguments = ("--offsets-decoder", "--files", str(segment))
    for line in tool(NEWEST, "org.apache.kafka.tools.DumpLogSegments", *arguments):
        if match := PRINTED.fullmatch(line):
            yield match["key"], match["payload"]


def in_snake_case(value: Any) -> Any:
    """Kafka's JSON with our names."""
    if isinstance(value, list):
        return [in_snake_case(each) for each in value]
    if isinstance(value, dict):
        names = {name: re.sub(r"[A-Z]", lambda it: f"_{it[0].lower()}", name) for name in value}
        return {names[name]: in_snake_case(each) for name, each in value.items()}
    return value


def as_json(value: Any) -> Any:
    """What we decode in the form of Kafka's JSON: bytes as base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list):
        return [as_json(each) for each in value]
    if isinstance(value, dict):
        return {name: as_json(each) for name, each in value.items()}
    return value


def without_defaults(value: Any, shown: Any) -> Any:
    """What we decode without what Kafka leaves out: tagged fields that are not written."""
    if isinstance(value, list):
        return [without_defaults(each, of) for each, of in itertools.zip_longest(value, shown)]
    if isinstance(value, dict):
        left_out = {"topic_id", "metadata_hash", "creation_time_ms", "assignment_timestamp", "assignment_epochs"}
        left_out.add("classic_member_metadata")
        return {
            name: without_defaults(each, shown.get(name))
            for name, each in value.items()
            if name in shown or name not in left_out
        }
    return value


def test_the_types_are_those_of_kafka() -> None:
    theirs = in_kafka()
    assert {number: each["name"] for number, each in theirs.items()}.items() <= {
        number: kind.name for number, kind in RECORD_TYPES.items()
    }.items()
    decoded_types = {number: kind.value for number, kind in RECORD_TYPES.items() if kind.value}
    # A value of a legacy commit is any that a commit may have: each has its version.
    assert {number: value.versions for number, value in decoded_types.items() if number} == {
        number: range(theirs[number]["lowest"], theirs[number]["highest"] + 1) for number in decoded_types if number
    }
    assert decoded_types.keys() == VALUES.keys()


def test_records_of_every_type_and_version_are_decoded_as_kafka_prints_them(tmp_path: Path) -> None:
    given = [
        line
        for number, kind in sorted(RECORD_TYPES.items())
        if kind.value
        for version in (kind.value.versions if number else range(1))
        for line in generated(lines(number, version), OF_EACH)
    ]
    given += [line | {"value": None} for line in given[::OF_EACH]]
    segment = tmp_path / "00000000000000000000.log"
    assert list(judged(NEWEST, "Groups", "write", segment, lines=given)) == []
    found, shown = decoded(segment), list(printed(segment))
    assert len(found) == len(shown) == len(given)
    for line, record, (key, payload) in zip(given, found, shown, strict=True):
        assert_as_printed(record, key, payload)
        assert type_of_key(record.key) == line["type"]
        if record.value is not None:
            value, given_value = as_json(group_value(line["type"], record.value)), in_snake_case(line["value"])
            assert without_defaults(value, given_value) == given_value


def assert_as_printed(record: Record, key: str, payload: str) -> None:
    """A record decodes to what the tool prints of its key and value."""
    assert record.key is not None
    number = type_of_key(record.key)
    assert number == int(json.loads(key)["type"])
    of_key = in_snake_case(json.loads(key)["data"])
    assert group_key(record.key) == {"group": of_key.pop("group_id", of_key.get("group")), **of_key}
    assert unknown(record.key, record.value) is None
    if record.value is None:
        assert payload == "<DELETE>"
        return
    value, of_value = as_json(group_value(number, record.value)), in_snake_case(json.loads(payload)["data"])
    if number == CLASSIC and value["protocol_type"] == "consumer":
        assert_assigned_as_printed(value["members"], of_value["members"])
    assert without_defaults(value, of_value) == of_value


def assert_assigned_as_printed(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
    """The tool prints what consumers wrote into the bytes of their assignment."""
    for each, shown in zip(ours, theirs, strict=True):
        partitions = [
            (topic["topic"], partition)
            for topic in shown["assignment"]["assigned_partitions"]
            for partition in topic["partitions"]
        ]
        assert assigned_partitions(base64.b64decode(each["assignment"])) == partitions
        for name in ("assignment", "subscription"):
            del each[name], shown[name]


@pytest.mark.parametrize(
    ("change", "name"),
    [({"unknown": 42}, "records of type 42"), ({"unknown_version": 9}, "OffsetCommitValue of version 9")],
)
def test_what_is_unknown_is_named(tmp_path: Path, change: dict[str, int], name: str) -> None:
    (line,) = generated(lines(1, 4), 1)
    segment = tmp_path / "00000000000000000000.log"
    list(judged(NEWEST, "Groups", "write", segment, lines=[line | change]))
    (record,) = decoded(segment)
    assert record.key is not None
    assert record.value is not None
    assert unknown(record.key, record.value) == name
    with pytest.raises(FormatError):
        group_value(type_of_key(record.key), record.value)


def test_the_assignment_of_a_member_is_what_a_consumer_wrote() -> None:
    for version in range(4):
        topics = [("orders", [0, 3]), ("pay.€", [1])]
        content = base64.b64decode(assignment(version, topics, b"sticky"))
        assert assigned_partitions(content) == [("orders", 0), ("orders", 3), ("pay.€", 1)]
    assert assigned_partitions(b"") == []
