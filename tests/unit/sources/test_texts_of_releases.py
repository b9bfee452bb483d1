"""The text of every release's `kafka-dump-log`, row for row what the raw reader says of the same files."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.file_rows import rows_below
from txnlog.sources.data_sources import (
    AbortedTransactionsSource,
    BatchesSource,
    DumpFilesSource,
    ProducerSnapshotsSource,
    TransactionStatesSource,
)
from txnlog.sources.dump_source import DumpSource

TEXTS = Path(__file__).parents[2] / "texts"
SAMPLES = Path(__file__).parents[3] / "data" / "samples"
RELEASES = sorted((path.name for path in TEXTS.iterdir()), key=lambda name: [int(part) for part in name.split(".")])
PLACE = {"cluster", "broker", "log_dir", "file"}
# Releases that print no time of a producer that has only markers, and releases that print records alone.
NO_LAST_TIMESTAMP = ("2.4.1", "2.8.2", "3.0.2")
RECORDS_ALONE = ("0.11.0.3", "1.1.1", "2.0.1", "2.1.1")
Row = dict[str, Any]


def raw(tmp_path: Path, source: type[DumpSource], file: Path, name: str) -> list[Row]:
    target = tmp_path / "raw" / name
    target.parent.mkdir(parents=True)
    shutil.copy(file, target)
    return rows_below(source, tmp_path / "raw")


def printed(tmp_path: Path, source: type[DumpSource], release: str, text: str) -> list[Row]:
    folder = tmp_path / "text"
    folder.mkdir(exist_ok=True)
    shutil.copy(TEXTS / release / f"{text}.txt", folder / "as people choose.txt")
    return rows_below(source, folder)


def differences(ours: list[Row], theirs: list[Row]) -> dict[str, list[tuple[Any, Any]]]:
    """By column, what the text says and what the file says, where the two are not the same.

    The older texts list partitions in the order of a hash set.
    """
    assert len(ours) == len(theirs)
    found: dict[str, list[tuple[Any, Any]]] = {}
    for our, their in zip(ours, theirs, strict=True):
        for name in our.keys() - PLACE:
            if in_order(our[name]) != in_order(their[name]):
                found.setdefault(name, []).append((our[name], their[name]))
    return found


def in_order(value: Any) -> Any:
    return sorted(value, key=str) if isinstance(value, list) else value


def all_null(found: dict[str, list[tuple[Any, Any]]], *names: str) -> bool:
    return all({ours for ours, _ in found.pop(name, [])} <= {None} for name in names)


def assert_whole(tmp_path: Path) -> None:
    for file in rows_below(DumpFilesSource, tmp_path / "text"):
        assert (file["problem"], file["damaged_to"]) == (None, None), file
        parts = ("bytes_parsed", "bytes_tail", "bytes_damaged", "bytes_skipped")
        assert file["size_in_bytes"] == sum(file[part] for part in parts), file


@pytest.mark.parametrize("text", ["deep", "payloads"])
@pytest.mark.parametrize("release", RELEASES)
def test_with_records_a_text_has_the_rows_of_the_segment(tmp_path: Path, release: str, text: str) -> None:
    expected = raw(tmp_path, BatchesSource, TEXTS / release / "segment", "orders-0/00000000000000000000.log")
    found = differences(printed(tmp_path, BatchesSource, release, text), expected)
    assert all_null(found, "base_timestamp")
    if release in RECORDS_ALONE:
        assert all_null(found, "crc", "size_in_bytes")
        assert {ours for ours, _ in found.pop("partition_leader_epoch")} == {-1}
    assert found == {}
    assert sum(row["marker_type"] == "COMMIT" for row in expected) == 1
    assert sum(row["marker_type"] == "ABORT" for row in expected) == 1
    assert_whole(tmp_path)


@pytest.mark.parametrize("release", RELEASES)
def test_without_records_only_the_markers_kind_is_not_printed(tmp_path: Path, release: str) -> None:
    expected = raw(tmp_path, BatchesSource, TEXTS / release / "segment", "orders-0/00000000000000000000.log")
    found = differences(printed(tmp_path, BatchesSource, release, "shallow"), expected)
    assert found.pop("control_type") == [("NOT_PRINTED", "COMMIT"), ("NOT_PRINTED", "ABORT")]
    assert all_null(found, "base_timestamp", "marker_type", "coordinator_epoch")
    if release in ("0.11.0.3", "1.1.1"):
        assert all_null(found, "record_count")
    assert found == {}
    assert_whole(tmp_path)


@pytest.mark.parametrize("release", RELEASES)
def test_decoded_coordinator_records_are_those_of_the_segment(tmp_path: Path, release: str) -> None:
    name = "__transaction_state-10/00000000000000000000.log"
    expected = raw(tmp_path, TransactionStatesSource, SAMPLES / "kafka-3.5.2/broker-1" / name, name)
    found = differences(printed(tmp_path, TransactionStatesSource, release, "coordinator"), expected)
    if release in RECORDS_ALONE:
        assert {ours for ours, _ in found.pop("coordinator_epoch")} == {-1}
    if release not in ("4.1.1", "4.3.0"):
        assert all_null(found, "start_timestamp", "client_transaction_version")
    assert found == {}
    assert max(len(row["topic_partitions"] or ()) for row in expected) == 3
    assert_whole(tmp_path)


@pytest.mark.parametrize("release", RELEASES)
def test_entries_of_snapshot_and_index_are_those_of_the_files(tmp_path: Path, release: str) -> None:
    index = "orders-1/00000000000000000000.txnindex"
    expected = []
    for snapshot in ("kafka-4.3.0-stopped/broker-1/expired-0/3", "kafka-3.5.2/broker-2/fenced-0/2"):
        folder, _, offset = snapshot.rpartition("/")
        name = f"{offset:0>20}.snapshot"
        expected += raw(
            tmp_path / offset, ProducerSnapshotsSource, SAMPLES / folder / name, f"{Path(folder).name}/{name}"
        )
    assert [row["last_offset"] for row in expected] == [2, -1]
    found = differences(printed(tmp_path, ProducerSnapshotsSource, release, "entries"), expected)
    if release in NO_LAST_TIMESTAMP:
        assert found.pop("timestamp") == [(None, expected[1]["timestamp"])]
    assert found == {}
    aborted = SAMPLES / "kafka-3.5.2-torn/broker-1/orders-0/00000000000000000000.txnindex"
    indexed = raw(tmp_path, AbortedTransactionsSource, aborted, index)
    assert len(indexed) == 5
    assert differences(printed(tmp_path, AbortedTransactionsSource, release, "entries"), indexed) == {}
    assert_whole(tmp_path)


def test_there_are_texts_of_all_layouts() -> None:
    assert len(RELEASES) == 17
