"""Files and folders of a dump: which paths are taken, and windows of a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.writer import put
from txnlog.dump.local import SMALLEST_WINDOW, LocalSegment, local_path
from txnlog.errors import DumpError


def test_a_folder_is_named_by_a_path_or_a_uri(tmp_path: Path) -> None:
    folder = tmp_path / "a dump"
    folder.mkdir()
    assert local_path(str(folder)) == folder
    assert local_path(f"file://{tmp_path}/a%20dump") == folder
    assert local_path(f"file:{tmp_path}/a%20dump") == folder


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("http://host/dump", "not from http:"),
        ("dbfs:/dump", "not from dbfs:"),
        ("/no/caf\udce9", "Spark takes UTF-8 only"),
        ("/no/such/folder", "/no/such/folder: there is no such folder"),
        (__file__, "a dump is a folder, this is a file"),
    ],
)
def test_what_is_no_local_folder_is_refused(text: str, says: str) -> None:
    with pytest.raises(DumpError, match=says):
        local_path(text)


CONTENT = bytes(range(251)) * (3 * SMALLEST_WINDOW // 251)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(put(tmp_path_factory.mktemp("file") / "content", CONTENT))


@given(st.lists(st.tuples(st.integers(0, len(CONTENT) + 5), st.integers(0, 2 * SMALLEST_WINDOW)), max_size=6))
def test_a_window_anywhere_holds_the_bytes_of_the_file(path: str, places: list[tuple[int, int]]) -> None:
    with LocalSegment(path) as segment:
        assert segment.size == len(CONTENT)
        for position, length in places:
            assert segment.view(position, length) == CONTENT[position : position + length]


def test_a_view_outlives_the_window_it_came_from(path: str) -> None:
    with LocalSegment(path) as segment:
        first = segment.view(0, 100)
        segment.view(2 * SMALLEST_WINDOW, 100)
    assert first == CONTENT[:100]


def test_an_empty_file_has_empty_windows(tmp_path: Path) -> None:
    with LocalSegment(str(put(tmp_path / "empty"))) as segment:
        assert (segment.size, bytes(segment.view(0, 61)), bytes(segment.view(7, 1))) == (0, b"", b"")


def test_a_file_that_becomes_shorter_is_an_error_and_not_the_end_of_the_process(tmp_path: Path) -> None:
    shrinking = put(tmp_path / "file", bytes(3 * SMALLEST_WINDOW))
    with LocalSegment(str(shrinking)) as segment:
        assert len(segment.view(0, 100)) == 100
        os.truncate(shrinking, SMALLEST_WINDOW)
        with pytest.raises(DumpError, match="file: became shorter while it was read"):
            segment.view(2 * SMALLEST_WINDOW, 100)


def test_a_pipe_in_the_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DumpError, match="pipe: is no longer a regular file"):
        LocalSegment(str(tmp_path / "pipe"))


def test_a_symbolic_link_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(put(tmp_path / "file"))
    with pytest.raises(OSError, match="symbolic links"):
        LocalSegment(str(tmp_path / "link"))
