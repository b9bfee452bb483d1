"""Which segments of coordinators `txnlog archive` need not read once more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.writer import put, segment
from txnlog.dump.inventory import inventory
from txnlog.job.archiving import without_known_segments

TOPIC_ID = "A" * 22
LOG = "cluster", 3, TOPIC_ID
MANIFEST = 'cluster = "cluster"\n'


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A partition of three segments, and another topic's of two."""
    put(tmp_path / "dump.toml", MANIFEST)
    for base_offset in (0, 100, 200):
        folder = segment(tmp_path / "broker-1", "__transaction_state-3", b"", base_offset).parent
        put(folder / "partition.metadata", f"version: 0\ntopic_id: {TOPIC_ID}\n")
    for base_offset in (0, 100):
        segment(tmp_path / "broker-1", "orders-3", b"", base_offset)
    return tmp_path


def read(dump: Path, ends: dict[tuple[str, int, str], int]) -> list[int]:
    """Base offsets of the coordinator's segments that are read; all else always is."""
    files = inventory(dump).files
    left = without_known_segments(files, ends)
    assert {file.file for file in files} - {file.file for file in left} <= {
        file.file for file in files if file.topic == "__transaction_state" and file.file.endswith(".log")
    }
    return [
        file.base_offset or 0 for file in left if file.topic == "__transaction_state" and file.file.endswith(".log")
    ]


@pytest.mark.parametrize(
    ("end", "expected"),
    [(0, [0, 100, 200]), (100, [0, 100, 200]), (101, [100, 200]), (200, [100, 200]), (201, [200]), (999, [200])],
)
def test_the_segment_with_the_last_known_record_is_the_first_that_is_read(
    dump: Path, end: int, expected: list[int]
) -> None:
    assert read(dump, {LOG: end}) == expected


@pytest.mark.parametrize("log", [("other", 3, TOPIC_ID), ("cluster", 4, TOPIC_ID), ("cluster", 3, "B" * 22)])
def test_what_is_known_of_another_log_does_not_count(dump: Path, log: tuple[str, int, str]) -> None:
    assert read(dump, {log: 999}) == [0, 100, 200]
