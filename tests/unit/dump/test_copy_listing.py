"""`listing.tsv`: what it says of a file counts where the file is as long in the copy as it was in the listing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.writer import data, put, segment
from txnlog.dump.dump_file import FileKind
from txnlog.dump.inventory import inventory
from txnlog.errors import DumpError
from txnlog.sources.files import dump_file_rows

SEGMENT = f"{0:020}.log"
HEAD = "# begun\t1700000000000\n"
LISTED = 1_699_999_999_123
EPOCHS = "0\n1\n0 0\n"


def listed(folder: Path, *names: str, prefix: str = "", modified: int = LISTED, **sizes: int) -> str:
    """Lines for segments of partitions below a folder and for their leader-epoch-checkpoint, which is made."""
    lines = []
    for name in names:
        put(folder / name / "leader-epoch-checkpoint", EPOCHS)
        size = sizes.get(name.partition("-")[0], (folder / name / SEGMENT).stat().st_size)
        lines += [f"{prefix}{name}/{SEGMENT}\t{size}\t{modified}\n"]
        lines += [f"{prefix}{name}/leader-epoch-checkpoint\t{len(EPOCHS)}\t{modified}\n"]
    return "".join(lines)


def complete(dump: Path) -> dict[str, int | None]:
    """By its path, when each segment was complete."""
    return {file.file: file.complete_ms for file in inventory(dump).files if file.kind is FileKind.SEGMENT}


def test_a_file_that_is_as_long_as_listed_was_complete_when_it_was_last_written(tmp_path: Path) -> None:
    for name in ("quiet-0", "grown-0", "new-0"):
        segment(tmp_path / "b1", name, data(0))
    put(tmp_path / "b1" / "listing.tsv", HEAD + listed(tmp_path / "b1", "quiet-0", "grown-0", grown=7))
    assert complete(tmp_path) == {
        f"b1/quiet-0/{SEGMENT}": LISTED,
        f"b1/grown-0/{SEGMENT}": None,
        f"b1/new-0/{SEGMENT}": None,
    }


@pytest.mark.parametrize("epochs", ["0\n2\n0 0\n1 1\n", None])
def test_a_log_that_a_new_leader_may_have_truncated_is_not_dated(tmp_path: Path, epochs: str | None) -> None:
    segment(tmp_path, "orders-0", data(0))
    put(tmp_path / "listing.tsv", HEAD + listed(tmp_path, "orders-0"))
    checkpoint = tmp_path / "orders-0" / "leader-epoch-checkpoint"
    assert complete(tmp_path) == {f"orders-0/{SEGMENT}": LISTED}
    checkpoint.unlink() if epochs is None else put(checkpoint, epochs)
    assert complete(tmp_path) == {f"orders-0/{SEGMENT}": None}


@pytest.mark.parametrize(("name", "is_vouched"), [("__transaction_state-0", False), ("orders-0", True)])
def test_a_segment_of_a_coordinator_that_vanished_since_may_have_been_merged(
    tmp_path: Path, name: str, is_vouched: bool
) -> None:
    segment(tmp_path / "b1", name, data(0))
    lines = listed(tmp_path / "b1", name)
    put(tmp_path / "b1" / "listing.tsv", HEAD + lines)
    assert complete(tmp_path) == {f"b1/{name}/{SEGMENT}": LISTED}
    put(tmp_path / "b1" / "listing.tsv", HEAD + lines + f"{name}/{5:020}.log\t700\t{LISTED}\n")
    assert complete(tmp_path) == {f"b1/{name}/{SEGMENT}": LISTED if is_vouched else None}


def test_the_listing_in_the_nearest_folder_counts(tmp_path: Path) -> None:
    for folder in ("b1", "b2"):
        segment(tmp_path / folder, "orders-0", data(0))
    lines = [listed(tmp_path / folder, "orders-0", prefix=f"./{folder}/") for folder in ("b1", "b2")]
    put(tmp_path / "listing.tsv", HEAD + "".join(lines))
    put(tmp_path / "b2" / "listing.tsv", HEAD + listed(tmp_path / "b2", "orders-0", modified=LISTED + 1))
    assert complete(tmp_path) == {f"b1/orders-0/{SEGMENT}": LISTED, f"b2/orders-0/{SEGMENT}": LISTED + 1}


@pytest.mark.parametrize(
    ("lines", "missing"),
    [
        ([(SEGMENT, 0), (f"{5:020}.log", 0)], {}),
        ([(SEGMENT, 0), (f"{5:020}.log", 7)], {5: 7}),
        ([(f"{5:020}.log", 7), (f"{9:020}.log", 100), (f"{12:020}.log", 20)], {5: 127}),
        ([(f"{9:020}.log", 100)], {5: 100}),
        # An active segment that was just rolled is empty; the log grew since; the cleaner and retention shorten others.
        ([(f"{9:020}.log", 0)], {}),
        ([(f"{5:020}.log", -9)], {}),
        ([(SEGMENT, 7)], {}),
        ([(f"{3:020}.log", 700)], {}),
        ([(f"{9:020}.snapshot", 10)], {}),
    ],
)
def test_what_is_listed_beyond_the_end_of_a_copy_is_missing_in_it(
    tmp_path: Path, lines: list[tuple[str, int]], missing: dict[int, int]
) -> None:
    """Each number is how much longer a segment is listed than it is in the copy, if it is there."""
    sizes = dict.fromkeys((name for name, _ in lines), 0)
    for base in (0, 5):
        sizes[f"{base:020}.log"] = segment(tmp_path / "b1", "orders-0", data(base), base).stat().st_size
    text = "".join(f"./orders-0/{name}\t{sizes[name] + more}\t{LISTED}\n" for name, more in lines)
    put(tmp_path / "b1" / "listing.tsv", HEAD + text + f"payments-0/{0:020}.log\t9\t{LISTED}\n")
    files = inventory(tmp_path).files
    assert {file.base_offset: file.bytes_missing for file in files if file.bytes_missing is not None} == missing
    rows = [row for batch in dump_file_rows(list(files)) for row in batch.to_pylist() if row["kind"] == "segment"]
    assert {row["base_offset"]: row["bytes_missing"] for row in rows} == {0: None, 5: None} | missing


def test_a_time_that_nobody_knows_counts_for_nothing(tmp_path: Path) -> None:
    """0 as well as seconds: a bound in 1970 would make everything old."""
    segment(tmp_path, "orders-0", data(0))
    lines = listed(tmp_path, "orders-0", modified=LISTED).replace(f"{LISTED}\n", "1700000000\n", 1)
    put(tmp_path / "listing.tsv", HEAD + lines)
    assert complete(tmp_path) == {f"orders-0/{SEGMENT}": None}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "line 1 is not '# begun'"),
        ("orders-0/a.log\t1\t1700000000000\n", "line 1 is not '# begun'"),
        ("# begun\t1700000000\n", "line 1 is not '# begun', a tab, and a time in ms"),
        ("# begun 1700000000000\n", "line 1 is not '# begun', a tab"),
        (f"{HEAD}orders-0/a.log 1 2\n", "line 2 is not a path, a size and a time in ms"),
        (f"{HEAD}a.log\t1\t1700000000000\na.log\t1\t1700000000.5\n", "line 3 is not a path"),
        (f"{HEAD}a.log\t-1\t1700000000000\n", "line 2 is not a path"),
        (f"{HEAD}\t1\t1700000000000\n", "line 2 is not a path"),
    ],
)
def test_a_listing_that_cannot_be_read_is_named_with_its_line(tmp_path: Path, content: str, problem: str) -> None:
    put(tmp_path / "listing.tsv", content)
    with pytest.raises(DumpError, match=re.escape(f"{tmp_path}/listing.tsv: {problem}")):
        inventory(tmp_path)


def test_the_listing_is_a_file_of_the_dump(tmp_path: Path) -> None:
    segment(tmp_path, "orders-0", data(0))
    put(tmp_path / "listing.tsv", HEAD + listed(tmp_path, "orders-0"))
    rows = {row["kind"]: row for batch in dump_file_rows(list(inventory(tmp_path).files)) for row in batch.to_pylist()}
    assert (rows["listing"]["batches"], rows["listing"]["problem"]) == (2, None)
    assert rows["segment"]["complete_at"].timestamp() * 1000 == LISTED
