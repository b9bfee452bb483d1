"""What a text adds up to for the replay: the same by one pass over it, in splits, and by its rows."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.file_rows import rows_below, rows_in_splits
from tests.replay_rows import batches_of_rows
from txnlog.dump import text_splits
from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.dump.text_splits import Split
from txnlog.dump_log.text_batches import batches
from txnlog.sources.batch_columns import batches_of_text
from txnlog.sources.data_sources import DumpFilesSource, EvidenceSource
from txnlog.sources.evidence_rows import FILE, SUMS
from txnlog.sources.rows import BatchRow
from txnlog.sources.segments import Level
from txnlog.sources.text import printed_files, text_batches
from txnlog.sources.text_chunks import chunks
from txnlog.sources.text_files import TextReading
from txnlog.spark.schema import arrow_schema

TEXTS = Path(__file__).parents[2] / "texts"
RELEASES = sorted(path.name for path in TEXTS.iterdir())
LOGS = [f"{release}/{text}.txt" for release in RELEASES for text in ("deep", "shallow", "coordinator")]


def text(path: Path) -> DumpFile:
    return DumpFile(str(path), path.name, "broker-1", FileKind.DUMP_TEXT, path.stat().st_size, 0, "test", "broker-1")


def with_damage(folder: Path, name: str) -> Path:
    """The text with batches that are not valid, and a control batch without its record."""
    content = (TEXTS / name).read_bytes()
    for _ in range(2):
        head, _, tail = content.rpartition(b"isvalid: true")
        content = head.replace(b"isvalid: true", b"isvalid: false", 1) + b"isvalid: true" + tail
    content = re.sub(rb"count: 1( [^\n]* isControl: true)", rb"count: 0\1", content, count=1)
    target = folder / "broker-1" / "text.txt"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(content)
    return target


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("by_brokers", [True, False])
def test_batches_of_a_text_are_those_of_its_rows(tmp_path: Path, name: str, by_brokers: bool) -> None:
    file = text(with_damage(tmp_path, name))
    rows = pa.Table.from_batches(text_batches(file, Level.ALL, lambda printed: True), arrow_schema(BatchRow))
    pieces = [
        batches_of_text(batches(*chunk), by_brokers) for _, section in printed_files(file) for chunk in chunks(section)
    ]
    expected = batches_of_rows(rows, by_brokers)
    assert len(pieces) > 1
    for column in expected._fields:
        found = np.concatenate([getattr(piece, column) for piece in pieces])
        np.testing.assert_array_equal(found, getattr(expected, column), column)


def evidence(folder: Path) -> list[dict[str, Any]]:
    return rows_below(EvidenceSource, folder)


def of_fact(fact: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["fact"] == fact]


@pytest.mark.parametrize("name", ["4.3.0/deep.txt", "4.3.0/shallow.txt", "3.5.2/payloads.txt"])
def test_a_text_in_splits_says_what_it_says_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = tmp_path / "broker-1"
    folder.mkdir()
    shutil.copy(TEXTS / name, folder / "text.txt")
    at_once = of_fact(SUMS, evidence(tmp_path))
    files = rows_below(DumpFilesSource, tmp_path)
    assert rows_in_splits(tmp_path, 1000) == files
    monkeypatch.setattr(text_splits, "SPLIT_SIZE", 1000)
    sums = of_fact(SUMS, evidence(tmp_path))
    assert (len(at_once), len(sums) > 1) == (1, True)
    assert {row["file"] for row in sums} == {at_once[0]["file"]}
    for column in ("batches", "records", "size_in_bytes"):
        assert sum(row[column] for row in sums) == at_once[0][column]


def test_the_row_of_a_text_is_the_same_with_its_evidence(tmp_path: Path) -> None:
    for release in RELEASES:
        target = tmp_path / release / "text.txt"
        target.parent.mkdir()
        shutil.copy(TEXTS / release / "deep.txt", target)
    names = arrow_schema(DumpFilesSource.row).names
    found = [{name: row[name] for name in names} for row in of_fact(FILE, evidence(tmp_path))]
    assert found == rows_below(DumpFilesSource, tmp_path)


@pytest.mark.parametrize("is_cut", [False, True])
def test_entries_that_go_on_in_another_part_are_not_believed(is_cut: bool) -> None:
    """Parts are cut before lines of batches: what goes on with those is no snapshot, whatever its heading says."""
    path = TEXTS / "4.3.0" / "entries.txt"
    whole = text(path)
    headings = [place.start() for place in re.finditer(rb"^Dumping ", path.read_bytes(), re.MULTILINE)]
    split = replace(whole, split=Split(0, headings[2], is_cut=is_cut))
    found = [printed.file for printed, _ in TextReading(split).found()]
    everything = [printed.file for printed, _ in TextReading(whole).found()]
    assert len(everything) == len(headings)
    assert found == everything[: 1 if is_cut else 2]


def test_a_part_says_that_a_section_goes_on_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "texts.txt"
    path.write_bytes(b"".join((TEXTS / "4.3.0" / name).read_bytes() for name in ("deep.txt", "entries.txt")))
    monkeypatch.setattr(text_splits, "SPLIT_SIZE", 1000)
    found = text_splits.splits(str(path), path.stat().st_size)
    assert len(found) > 2
    for split, following in pairwise(found):
        assert split.is_cut == following.is_continued
    assert not found[-1].is_cut
