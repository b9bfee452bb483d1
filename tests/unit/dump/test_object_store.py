"""Dumps in an object store, against a server of the S3 protocol: the same rows, few requests, clear errors."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import cramjam
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.file_rows import rows_below
from tests.object_store import Store
from tests.writer import NOW, batch, data, put, record, segment, snapshot
from txnlog.dump import object_store
from txnlog.dump.dump_file import FileKind
from txnlog.dump.inventory import inventory
from txnlog.dump.object_store import BLOCK, FIRST_BLOCK
from txnlog.dump.opener import dump_root, opened_segment, regular_file
from txnlog.format.snapshot import ProducerSnapshotEntry
from txnlog.sources.data_sources import SOURCES, BatchesSource, DumpFilesSource, EvidenceSource
from txnlog.sources.dump_source import DumpSource

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "data" / "samples" / "kafka-3.5.2-torn"
TEXTS = ROOT / "tests" / "texts" / "4.3.0"
SEGMENT = "orders-0/00000000000000000000.log"
SMALL_BLOCK = 4 << 10
CONTENT = bytes(range(251)) * (5 * SMALL_BLOCK // 251)
PARTITION = {"topic_partition": "orders-0"}


Dump = tuple[Path, str]


@pytest.fixture(scope="module")
def dump(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Dump:
    """A sample, and beside it texts of all kinds: the folder, and its address in the store."""
    folder = tmp_path_factory.mktemp("dump")
    for path in SAMPLE.rglob("*"):
        if path.is_file():
            copied = folder / "torn" / path.relative_to(SAMPLE)
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_bytes(path.read_bytes())
    text = (TEXTS / "deep.txt").read_bytes()
    compressions = {"plain": text, "a.gz": gzip.compress(text), "ünd b?c#d%20.zst": bytes(cramjam.zstd.compress(text))}
    for name, content in compressions.items():
        (folder / "texts" / name).mkdir(parents=True)
        (folder / "texts" / name / name).write_bytes(content)
    # A log whose snapshot says where the reading of it begins.
    segment(folder / "b1", "orders-0", data(4, 1000))
    put(
        folder / "b1/orders-0/00000000000000000005.snapshot",
        snapshot([ProducerSnapshotEntry(1000, 0, 5, 4, 0, NOW, 0, 4)]),
    )
    store.upload(folder, "all")
    return folder, store.uri("all")


def without_time(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "modified"} for row in rows]


def test_the_inventory_is_that_of_the_folder_but_for_times(dump: Dump, reader: Store) -> None:
    folder, uri = dump
    near, far = inventory(folder), inventory(dump_root(uri))
    assert far.log_dirs == near.log_dirs
    assert [replace(file, path="", modified_ms=0) for file in near.files] == [
        replace(file, path="", modified_ms=0) for file in far.files
    ]
    assert {file.modified_ms for file in far.files} == {0}


def test_a_dump_is_listed_by_one_request_for_a_thousand_files(dump: Dump, reader: Store) -> None:
    files = inventory(dump_root(dump[1])).files
    assert 50 < len(files) < 1000
    assert len(reader.listings()) == 1
    looked_at = {request.key for request in reader.asked("GET", "all/")}
    unknown = {f"all/{file.file}" for file in files if file.kind in (FileKind.OTHER, FileKind.DUMP_TEXT)}
    names = ("meta.properties", "dump.toml")
    assert looked_at - unknown == {f"all/{file.file}" for file in files if file.file.endswith(names)}


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.short_name)
def test_the_rows_are_those_of_the_folder(source: Any, dump: Dump, reader: Store) -> None:
    folder, uri = dump
    near = without_time(rows_below(source, folder, **PARTITION))
    assert near
    assert without_time(rows_below(source, uri, **PARTITION)) == near


@pytest.mark.parametrize("source", [DumpFilesSource, EvidenceSource])
def test_each_file_is_asked_for_by_two_requests(source: type[DumpSource], dump: Dump, reader: Store) -> None:
    """Whatever it is read for: what it adds up to, its entries, or where what is open in it starts."""
    opened = source({"path": dump[1], "full": "true", **PARTITION})
    files = [file for file in opened.wanted_files() if not file.skipped]
    assert FileKind.PRODUCER_SNAPSHOT in {file.kind for file in files}
    wanted = opened.readable()
    reader.requests.clear()
    list(opened.rows(list(wanted)))
    asked = Counter((request.method, request.key) for request in reader.requests)
    expected = Counter({("HEAD", f"all/{file.file}"): 1 for file in files})
    expected.update({("GET", f"all/{file.file}"): 1 for file in files if file.size})
    assert asked == expected


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, len(CONTENT) + 5), st.integers(0, 3 * SMALL_BLOCK)), max_size=8))
def test_a_window_anywhere_holds_the_bytes_and_none_is_asked_for_twice(
    reader: Store, places: list[tuple[int, int]]
) -> None:
    reader.put("window", CONTENT)
    reader.requests.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(object_store, "BLOCK", SMALL_BLOCK)
        with opened_segment(dump_root(reader.uri("window"))) as segment:
            assert segment.size == len(CONTENT)
            for position, length in places:
                assert segment.view(position, length) == CONTENT[position : position + length]
    ranges = [request.range for request in reader.asked("GET", "window")]
    assert len(ranges) == len(set(ranges)) <= 5


def test_a_large_segment_takes_few_requests_and_little_memory(reader: Store) -> None:
    one = batch(0, [record(os.urandom(1 << 20))])
    count = 400
    reader.put("large", one * count)
    reader.requests.clear()
    done = subprocess.run(
        [sys.executable, "-m", "tests.reading_object", reader.uri("large")],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["rows"] == count
    assert found["peak"] < 300_000_000
    assert len(reader.requests) == 2 + -(-len(one) * count // BLOCK)


def test_of_a_file_that_is_no_text_only_the_beginning_is_asked_for(reader: Store) -> None:
    reader.put("unknown/notes.bin", bytes(4 * FIRST_BLOCK))
    reader.requests.clear()
    (file,) = inventory(dump_root(reader.uri("unknown"))).files
    assert file.skipped
    assert [request.range for request in reader.asked("GET", "unknown/")] == [f"bytes=0-{FIRST_BLOCK - 1}"]


def test_a_long_text_is_read_by_one_task_in_growing_requests(reader: Store) -> None:
    content = os.urandom(3 * FIRST_BLOCK) * 16
    reader.put("long", content)
    reader.requests.clear()
    with regular_file(dump_root(reader.uri("long"))) as file:
        pieces = []
        while piece := file.read(1 << 20):
            pieces.append(piece)
    assert b"".join(pieces) == content
    assert [request.method for request in reader.requests] == ["HEAD", "GET", "GET", "GET", "HEAD"]


def test_requests_that_fail_are_tried_again(dump: Dump, reader: Store) -> None:
    near = rows_below(BatchesSource, dump[0], **PARTITION)
    tries: Counter[tuple[str, str]] = Counter()

    def failing(method: str, key: str) -> bool:
        tries[method, key] += 1
        return tries[method, key] == 1 and ("broker-2" in key or not key)

    with reader.failed(failing):
        assert rows_below(BatchesSource, dump[1], **PARTITION) == near
    failed = [request for request in reader.requests if request.status == "503"]
    assert Counter(request.method for request in failed) == {"HEAD": 8, "GET": 9}
