"""Segments as rows of batches: columns, levels, and batches of which only the checksum is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import golden
from tests.writer import (
    CONTROL,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    NOW,
    TRANSACTIONAL,
    Bytes,
    batch,
    data,
    marker,
    message,
    record,
    segment,
)
from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.dump.inventory import inventory
from txnlog.dump.local import LocalSegment
from txnlog.sources.rows import BatchRow
from txnlog.sources.segments import Level, segment_batches
from txnlog.spark.schema import arrow_schema

FILE = DumpFile("", "b1/orders-3/0.log", "b1", FileKind.SEGMENT, 0, 0, "c", "1", "orders", 3, 0)


def rows(content: bytes, level: Level = Level.ALL, file: DumpFile = FILE) -> list[dict[str, Any]]:
    found = list(segment_batches(file, Bytes(content), level))
    assert all(each.schema == arrow_schema(BatchRow) for each in found)
    return [row for each in found for row in each.to_pylist()]


def test_a_batch_of_a_real_broker_is_a_row() -> None:
    (row,) = rows(golden.DATA_ZSTD)
    assert row == {
        "cluster": "c", "broker": "1", "log_dir": "b1", "topic": "orders", "partition": 3, "file": "b1/orders-3/0.log",
        "position": 0, "size_in_bytes": 204, "base_offset": 18, "last_offset": 20, "partition_leader_epoch": 0,
        "magic": 2, "crc": 2632090801, "crc_valid": True, "compression": "zstd", "timestamp_type": "CreateTime",
        "is_transactional": True, "is_control": False, "delete_horizon_ms": None,
        "base_timestamp": 1795254396817, "max_timestamp": 1795254396818, "producer_id": 1010, "producer_epoch": 1,
        "base_sequence": 15, "record_count": 3, "control_type": None, "marker_type": None, "coordinator_epoch": None,
    }  # fmt: skip


def test_a_marker_of_a_real_broker_is_a_row() -> None:
    before, row, after = rows(golden.DATA + golden.MARKER + golden.DATA_ZSTD)
    names = ("position", "is_control", "control_type", "marker_type", "coordinator_epoch", "producer_epoch")
    assert [row[name] for name in names] == [97, True, "COMMIT", "COMMIT", 4, 1]
    assert before["control_type"] is after["control_type"] is None


def test_older_messages_are_rows_without_a_producer() -> None:
    """Item 20. Bits that mean something else in magic 2 mean nothing here."""
    first, second, wrapper = rows(message(7, 0) + message(8, 1, attributes=0x70) + golden.WRAPPER)
    assert (first["magic"], first["max_timestamp"], first["producer_id"]) == (0, -1, -1)
    assert (second["is_transactional"], second["is_control"], second["delete_horizon_ms"]) == (False, False, None)
    assert (wrapper["timestamp_type"], wrapper["compression"], wrapper["record_count"]) == (
        "LogAppendTime",
        "gzip",
        None,
    )


def test_after_a_delete_horizon_stands_no_base_timestamp() -> None:
    """Item 18."""
    horizon = NOW + 86_400_000
    (row,) = rows(batch(attributes=DELETE_HORIZON | LOG_APPEND_TIME, base_timestamp=horizon, max_timestamp=-1))
    assert (row["delete_horizon_ms"], row["base_timestamp"], row["max_timestamp"]) == (horizon, None, -1)
    assert row["timestamp_type"] == "LogAppendTime"


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_codec_that_is_not_known_is_named_unknown(codec: int) -> None:
    assert rows(batch(attributes=codec))[0]["compression"] == "unknown"


@pytest.mark.parametrize(
    ("content", "control_type", "marker_type"),
    [
        pytest.param(marker(0, kind=0), "ABORT", "ABORT", id="abort"),
        pytest.param(marker(0, kind=2), "LEADER_CHANGE", None, id="a control record that is no marker"),
        pytest.param(marker(0, kind=99), "UNKNOWN_99", None, id="a control record to come"),
        pytest.param(batch(attributes=TRANSACTIONAL | CONTROL, producer_id=5), None, None, id="emptied by the cleaner"),
        pytest.param(batch(0, [record(b"no", b"no")], attributes=CONTROL), "UNREADABLE", None, id="no control record"),
        pytest.param(marker(0, attributes=CONTROL | 5), "UNREADABLE", None, id="a codec that is not known"),
    ],
)
def test_a_control_batch_says_what_it_holds(content: bytes, control_type: str | None, marker_type: str | None) -> None:
    """Items 4 and 6."""
    (row,) = rows(content)
    assert row["is_control"]
    assert (row["control_type"], row["marker_type"]) == (control_type, marker_type)


MIXED = (
    batch(0, [record()])
    + batch(1, [record()], producer_id=5, producer_epoch=0, base_sequence=0)
    + data(2)
    + batch(3, attributes=TRANSACTIONAL)
    + marker(4)
    + batch(5, attributes=CONTROL)
    + message(6, 1, attributes=TRANSACTIONAL)
)


@pytest.mark.parametrize(
    ("level", "offsets"),
    [(Level.ALL, [0, 1, 2, 3, 4, 5, 6]), (Level.TRANSACTIONAL, [2, 4, 5]), (Level.MARKERS, [4, 5])],
)
def test_a_level_selects_batches(level: Level, offsets: list[int]) -> None:
    """Item 5: idempotent batches belong to no transaction, nor do those without a producer id."""
    assert [row["base_offset"] for row in rows(MIXED, level)] == offsets


@pytest.mark.parametrize("level", list(Level))
def test_a_batch_with_a_wrong_checksum_is_a_row_at_every_level(level: Level) -> None:
    """Item 22: it neither opens nor closes silently."""
    damaged = bytearray(marker(2))
    damaged[-1] ^= 1
    found = {row["base_offset"]: row for row in rows(data(1) + damaged + marker(3), level)}
    assert (found[2]["crc_valid"], found[2]["is_control"], found[2]["marker_type"]) == (False, True, None)
    assert found[2]["position"] == len(data(1))
    assert found[3]["crc_valid"]
    assert found[3]["marker_type"] == "COMMIT"


def test_markers_after_damage_are_read_at_their_own_place() -> None:
    damaged = bytearray(data(1, count=3))
    damaged[-1] ^= 1
    found = rows(data(0) + damaged + marker(4, kind=0, coordinator_epoch=7) + data(5) + marker(6, coordinator_epoch=8))
    kept = [(row["marker_type"], row["coordinator_epoch"]) for row in found if row["is_control"]]
    assert kept == [("ABORT", 7), ("COMMIT", 8)]


def test_every_changed_byte_is_rows_and_no_error() -> None:
    content = data(0) + marker(1) + message(2, 1)
    for position in range(len(content)):
        flipped = bytearray(content)
        flipped[position] ^= 1 << position % 8
        found = rows(bytes(flipped))
        assert all(row["crc_valid"] or row["marker_type"] is None for row in found)


def test_a_file_longer_than_a_mapped_window_is_read(tmp_path: Path) -> None:
    content = b"".join(batch(offset, [record(bytes(200_000))]) for offset in range(8)) + marker(8)
    segment(tmp_path, "orders-0", content)
    (file,) = inventory(tmp_path).files
    with LocalSegment(file.path) as opened:
        found = [row for each in segment_batches(file, opened, Level.ALL) for row in each.to_pylist()]
    assert found == rows(content, file=file)
    assert [row["base_offset"] for row in found] == list(range(9))
