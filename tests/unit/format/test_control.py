"""Control records: the markers that end a transaction, and what is none."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.golden import MARKER
from tests.writer import ABORT, COMMIT, marker, record
from txnlog.errors import FormatError
from txnlog.format.batch import HEADER_SIZE
from txnlog.format.control import ControlRecord, control_record


def control(kind: int, value: bytes | None, version: int = 0, more: bytes = b"") -> bytes:
    return record(value, struct.pack(">hh", version, kind) + more)


def value(coordinator_epoch: int, version: int = 0, more: bytes = b"") -> bytes:
    return struct.pack(">hi", version, coordinator_epoch) + more


def test_the_marker_of_a_real_broker_is_read_as_kafka_dump_log_prints_it() -> None:
    assert control_record(MARKER[HEADER_SIZE:], 1) == ControlRecord("COMMIT", 4)


@given(st.sampled_from([(ABORT, "ABORT"), (COMMIT, "COMMIT")]), st.integers(-(2**31), 2**31 - 1))
def test_every_marker_that_is_written_is_read_again(kind: tuple[int, str], coordinator_epoch: int) -> None:
    content = marker(5, kind=kind[0], coordinator_epoch=coordinator_epoch)
    assert control_record(content[HEADER_SIZE:], 1) == ControlRecord(kind[1], coordinator_epoch)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (2, "LEADER_CHANGE"),
        (3, "SNAPSHOT_HEADER"),
        (4, "SNAPSHOT_FOOTER"),
        (5, "KRAFT_VERSION"),
        (6, "KRAFT_VOTERS"),
        (7, "UNKNOWN_7"),
        (-1, "UNKNOWN_-1"),
        (32767, "UNKNOWN_32767"),
    ],
)
def test_only_commit_and_abort_are_markers(kind: int, name: str) -> None:
    """Item 6. What the value of another kind holds is nobody's business."""
    assert control_record(control(kind, b""), 1) == ControlRecord(name, None)
    assert control_record(control(kind, None), 1) == ControlRecord(name, None)


def test_newer_versions_may_add_bytes_at_the_end() -> None:
    """Item 7."""
    content = control(COMMIT, value(9, version=3, more=b"new"), version=1, more=b"new")
    assert control_record(content, 1) == ControlRecord("COMMIT", 9)


def test_a_control_batch_that_the_cleaner_emptied_has_no_control_record() -> None:
    """Item 4."""
    assert control_record(b"", 0) is None


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(record(value(1), None), id="a null key"),
        pytest.param(record(value(1), b"\0\0\0"), id="a key that is too short"),
        pytest.param(control(COMMIT, value(1), version=-1), id="a key of a negative version"),
        pytest.param(control(COMMIT, None), id="a null value"),
        pytest.param(control(ABORT, value(1)[:-1]), id="a value that is too short"),
        pytest.param(control(ABORT, value(1, version=-1)), id="a value of a negative version"),
        pytest.param(b"", id="a record that is claimed and not there"),
        pytest.param(control(COMMIT, value(1))[:-1], id="a record that is cut off"),
    ],
)
def test_a_control_record_that_cannot_be_one_is_an_error(payload: bytes) -> None:
    with pytest.raises(FormatError):
        control_record(payload, 1)
