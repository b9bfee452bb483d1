"""Records of `__consumer_offsets`: what a broker wrote, what is written, cut, flipped or of the future."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from tests.group_writer import (
    assignment,
    classic_group,
    commit_key,
    commit_value,
    consumer_group,
    consumer_member,
    current_assignment,
    group_key,
)
from txnlog.errors import FormatError
from txnlog.format.batch import HEADER_SIZE
from txnlog.format.group_messages import NO_ID, RECORD_TYPES
from txnlog.format.group_records import assigned_partitions, group_value, type_of_key, unknown
from txnlog.format.group_records import group_key as decoded_key
from txnlog.format.record import records

SAMPLES = Path(__file__).parents[3] / "data" / "samples"
TOPIC_ID = "tkBWRpVtQnqhjhPUUjDHPw"
PARTITIONS = [("orders", 0), ("orders", 7), ("pay.€", 1)]
VALUES = {
    "commit 0": (1, commit_value(300, version=0)),
    "commit 1": (1, commit_value(300, version=1)),
    "commit 2": (0, commit_value(300, version=2)),
    "commit 3": (1, commit_value(300, version=3)),
    "commit 4": (1, commit_value(300, version=4, topic_id=TOPIC_ID)),
    "classic group": (2, classic_group([("m-1", PARTITIONS), ("m-2", [])])),
    "consumer group": (3, consumer_group()),
    "member": (5, consumer_member("client")),
    "assignment": (8, current_assignment([(TOPIC_ID, [0, 7])])),
}
COMMIT = {"offset": 300, "metadata": "note", "commit_timestamp": 5}
NEWER = COMMIT | {"leader_epoch": 7}
DECODED = {
    "commit 0": COMMIT,
    "commit 1": COMMIT | {"expire_timestamp": -1},
    "commit 2": COMMIT,
    "commit 3": NEWER,
    "commit 4": NEWER | {"topic_id": TOPIC_ID},
    "consumer group": {"epoch": 3, "metadata_hash": 0, "creation_time_ms": -1},
    "assignment": {
        "member_epoch": 3,
        "previous_member_epoch": 2,
        "state": 0,
        "assigned_partitions": [{"topic_id": TOPIC_ID, "partitions": [0, 7], "assignment_epochs": []}],
        "partitions_pending_revocation": [],
    },
}
# A bit more or less in the version makes it another one that is known.
OF_SOME_VERSIONS = {"expire_timestamp", "leader_epoch", "topic_id", "current_state_timestamp"}


def test_commits_that_a_broker_wrote_are_read() -> None:
    """The transactional commits of a sample, as `kafka-dump-log --offsets-decoder` prints them."""
    content = (SAMPLES / "kafka-4.3.0/broker-1/__consumer_offsets-1/00000000000000000000.log").read_bytes()
    (length,) = struct.unpack_from(">i", content, 8)
    (first,) = records(content[HEADER_SIZE : 12 + length], 1)
    assert first.key is not None
    assert first.value is not None
    assert decoded_key(first.key) == {"group": "late-reader", "topic": "orders", "partition": 0}
    assert group_value(1, first.value) == {
        "offset": 5, "leader_epoch": -1, "metadata": "", "commit_timestamp": 1795254434543, "topic_id": NO_ID,
    }  # fmt: skip


@pytest.mark.parametrize("name", DECODED)
def test_a_value_of_each_version_is_read(name: str) -> None:
    assert group_value(*VALUES[name]) == DECODED[name]


def test_members_of_both_protocols_are_read() -> None:
    classic = group_value(*VALUES["classic group"])
    assert [(each["member_id"], each["client_id"], each["client_host"]) for each in classic["members"]] == [
        ("m-1", "client of m-1", "/10.0.0.1"),
        ("m-2", "client of m-2", "/10.0.0.1"),
    ]
    assert assigned_partitions(classic["members"][0]["assignment"]) == PARTITIONS
    newer = group_value(*VALUES["member"])
    assert (newer["client_id"], newer["client_host"], newer["classic_member_metadata"]) == ("client", "/10.0.0.2", None)


def test_a_commit_of_version_4_need_not_name_its_topic() -> None:
    assert group_value(1, commit_value(1, version=4))["topic_id"] == NO_ID


@pytest.mark.parametrize(
    ("key", "number", "fields"),
    [
        (commit_key("g", "t.€", 3), 1, {"group": "g", "topic": "t.€", "partition": 3}),
        (commit_key("g", "t", 3, 0), 0, {"group": "g", "topic": "t", "partition": 3}),
        (group_key("g"), 2, {"group": "g"}),
        (group_key("g", 8, "m"), 8, {"group": "g", "member_id": "m"}),
        (group_key("g", 16, "o.*"), 16, {"group": "g", "regular_expression": "o.*"}),
    ],
)
def test_a_key_of_each_shape_is_read(key: bytes, number: int, fields: dict[str, Any]) -> None:
    assert (type_of_key(key), decoded_key(key)) == (number, fields)


def test_what_a_newer_release_writes_is_named() -> None:
    assert unknown(commit_key("g", "t", 0, 99), b"") == "records of type 99"
    assert unknown(commit_key("g", "t", 0), struct.pack(">h", 5)) == "OffsetCommitValue of version 5"
    assert (
        unknown(group_key("g", 8, "m"), struct.pack(">h", 1))
        == "ConsumerGroupCurrentMemberAssignmentValue of version 1"
    )


def test_what_is_known_is_not_unknown() -> None:
    for number in RECORD_TYPES:
        # What follows the type of a share or streams group is not looked at; it has versions of its own.
        assert unknown(group_key("g", number), None) is None
        assert unknown(group_key("g", number), struct.pack(">h", 0)) is None
    assert unknown(group_key("g", 11), struct.pack(">h", 7)) is None


def test_a_tag_of_the_future_is_skipped() -> None:
    with_tag = commit_value(300, version=4)[:-1] + b"\x02\0\x10" + bytes(16) + b"\x63\x03abc"
    assert group_value(1, with_tag) == NEWER | {"topic_id": NO_ID}


@pytest.mark.parametrize("name", VALUES)
def test_every_cut_of_a_value_is_an_error(name: str) -> None:
    number, content = VALUES[name]
    for end in range(len(content)):
        with pytest.raises(FormatError):
            group_value(number, content[:end])


@pytest.mark.parametrize("name", VALUES)
def test_every_flipped_bit_is_a_value_or_an_error(name: str) -> None:
    number, content = VALUES[name]
    expected = group_value(number, content).keys() - OF_SOME_VERSIONS
    for bit in range(8 * len(content)):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            assert group_value(number, bytes(flipped)).keys() - OF_SOME_VERSIONS == expected
        except FormatError:
            continue


@pytest.mark.parametrize("key", [None, b"", b"\0", commit_key("g", "t", 0)[:-1], commit_key("g", "t", 0) + b"\0"])
def test_a_key_that_cannot_be_one_is_an_error(key: bytes | None) -> None:
    with pytest.raises(FormatError):
        decoded_key(key)


@pytest.mark.parametrize("number", [10, 17, 99])
def test_what_is_not_decoded_is_an_error(number: int) -> None:
    with pytest.raises(FormatError, match=f"type {number} is not decoded"):
        decoded_key(group_key("g", number))
    with pytest.raises(FormatError, match=f"type {number} is not decoded"):
        group_value(number, b"\0\0")


@pytest.mark.parametrize("content", [assignment(PARTITIONS)[:end] for end in range(1, len(assignment(PARTITIONS)))])
def test_every_cut_of_an_assignment_is_an_error(content: bytes) -> None:
    with pytest.raises(FormatError):
        assigned_partitions(content)


def test_a_member_without_an_assignment_has_no_partitions() -> None:
    assert assigned_partitions(b"") == []
