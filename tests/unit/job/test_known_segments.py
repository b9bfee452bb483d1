"""Which segments of coordinators `txnlog archive` need not read once more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.writer import checkpoint, put, segment
from txnlog.detection.whole_ranges import EpochStart, WholeRange
from txnlog.dump.inventory import inventory
from txnlog.job.known_segments import without_known_segments

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


def ranges(*offsets: tuple[int, int], log: tuple[str, int, str] = LOG) -> list[WholeRange]:
    return [WholeRange(*log, start, end, 0, 0, (EpochStart(0, start),)) for start, end in offsets]


def read(dump: Path, known: list[WholeRange]) -> list[int]:
    """Base offsets of the coordinator's segments that are read; all else always is."""
    files = inventory(dump).files
    left = without_known_segments(files, known)
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
    assert read(dump, ranges((0, end))) == expected


@pytest.mark.parametrize(
    ("cleaned_to", "known", "expected"),
    [
        # As a copy that was made before what is known.
        (0, [(150, 999)], [0, 100, 200]),
        (50, [(51, 999)], [0, 100, 200]),
        # What was cleaned is in no range.
        (50, [(50, 999)], [200]),
        (150, [(150, 999)], [200]),
        # A hole, which it may fill.
        (0, [(0, 130), (160, 999)], [100, 200]),
        (140, [(0, 130), (160, 999)], [100, 200]),
        (170, [(0, 130), (160, 999)], [200]),
    ],
)
def test_what_no_range_has_is_read(
    dump: Path, cleaned_to: int, known: list[tuple[int, int]], expected: list[int]
) -> None:
    put(dump / "broker-1" / "cleaner-offset-checkpoint", checkpoint([("__transaction_state", 3, cleaned_to)]))
    assert read(dump, ranges(*known)) == expected


@pytest.mark.parametrize("log", [("other", 3, TOPIC_ID), ("cluster", 4, TOPIC_ID), ("cluster", 3, "B" * 22)])
def test_what_is_known_of_another_log_does_not_count(dump: Path, log: tuple[str, int, str]) -> None:
    assert read(dump, ranges((0, 999), log=log)) == [0, 100, 200]
