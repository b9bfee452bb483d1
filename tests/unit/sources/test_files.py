"""Each file as one row: every byte accounted for, and the offsets below which something is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.file_rows import row_of, rows, values
from tests.writer import LOG_APPEND_TIME, NOW, batch, data, marker, message, put, record, segment
from txnlog.dump.inventory import inventory
from txnlog.format.batch import NOTHING_FOLLOWS


def damaged(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


def test_a_whole_segment_is_parsed_to_its_last_byte(tmp_path: Path) -> None:
    content = data(5, count=3, partition_leader_epoch=2) + marker(8, max_timestamp=NOW + 7) + data(9)
    row = row_of(tmp_path, content, base_offset=5)
    assert values(row, "kind", "topic", "partition", "base_offset") == ["segment", "orders", 0, 5]
    assert values(row, "size_in_bytes", "bytes_parsed", "batches") == [len(content), len(content), 3]
    assert values(row, "first_offset", "last_offset", "partition_leader_epoch") == [5, 9, 2]
    assert row["broker_timestamp"] == NOW + 7
    assert values(row, "damaged_to", "gap_to", "tail_producer_id", "problem") == [None] * 4


@pytest.mark.parametrize(
    ("partition", "content", "expected"),
    [
        pytest.param("orders-0", data(0), None, id="a producer's time is not a broker's"),
        pytest.param("orders-0", batch(0, attributes=LOG_APPEND_TIME), NOW, id="the time of append is"),
        pytest.param("__transaction_state-0", batch(0), NOW, id="all that coordinators write is"),
        pytest.param("__consumer_offsets-0", batch(0), NOW, id="group coordinators, too"),
    ],
)
def test_the_latest_time_of_a_broker_is_known(
    tmp_path: Path, partition: str, content: bytes, expected: int | None
) -> None:
    assert row_of(tmp_path, content, partition)["broker_timestamp"] == expected


def test_damage_reaches_to_the_next_batch_that_can_be_read(tmp_path: Path) -> None:
    """Item 22."""
    row = row_of(tmp_path, data(0) + damaged(marker(1)) + data(2) + data(3))
    assert values(row, "bytes_damaged", "batches", "damaged_to", "gap_to") == [78, 3, 2, 2]
    assert row["problem"] == f"byte {len(data(0))}: 78 bytes are a batch whose checksum does not match"


def test_damage_that_nothing_follows_reaches_to_the_end_of_all_offsets(tmp_path: Path) -> None:
    assert row_of(tmp_path, data(0) + damaged(marker(1)))["damaged_to"] == NOTHING_FOLLOWS


def test_a_tail_with_a_whole_header_names_its_producer(tmp_path: Path) -> None:
    row = row_of(tmp_path, data(0) + data(1, 4711)[:70])
    assert values(row, "bytes_tail", "bytes_damaged", "tail_producer_id", "damaged_to") == [70, 0, 4711, None]
    assert row["problem"] == f"byte {len(data(0))}: 70 bytes are the tail of a batch that was being written"


def test_a_tail_without_a_whole_header_could_be_anybodys(tmp_path: Path) -> None:
    row = row_of(tmp_path, data(0) + data(1, 4711)[:60])
    assert values(row, "bytes_tail", "tail_producer_id", "damaged_to") == [60, None, NOTHING_FOLLOWS]


def test_zeros_at_the_end_are_a_tail_and_no_problem(tmp_path: Path) -> None:
    row = row_of(tmp_path, data(0) + bytes(500))
    assert values(row, "bytes_tail", "damaged_to", "problem") == [500, None, None]


@pytest.mark.parametrize(("zeros", "damaged_to"), [(1, NOTHING_FOLLOWS), (11, NOTHING_FOLLOWS), (12, None)])
def test_a_few_zeros_at_the_end_may_be_all_there_is_of_another_batch(
    tmp_path: Path, zeros: int, damaged_to: int | None
) -> None:
    """Its offset begins with zeros, too. Twelve of them would be an offset and a length of 0: no batch has that."""
    row = row_of(tmp_path, data(0) + bytes(zeros))
    assert values(row, "bytes_tail", "tail_producer_id", "damaged_to") == [zeros, None, damaged_to]


@pytest.mark.parametrize("content", [b"", bytes(300)], ids=["empty", "zeros"])
def test_a_segment_without_a_batch_has_no_offsets(tmp_path: Path, content: bytes) -> None:
    row = row_of(tmp_path, content)
    names = ("first_offset", "last_offset", "partition_leader_epoch", "broker_timestamp", "damaged_to", "problem")
    assert values(row, *names) == [None] * 6
    assert row["batches"] == 0


def test_a_gap_between_offsets_is_known_by_the_batch_after_it(tmp_path: Path) -> None:
    """Left by compaction, or by damage that nobody sees. The name may be lower than the first batch (item 23)."""
    row = row_of(tmp_path, data(7) + data(8) + data(20) + data(21), base_offset=5)
    assert values(row, "gap_to", "damaged_to") == [20, None]


@pytest.mark.parametrize(
    ("partition", "deltas", "gap_to"),
    [
        pytest.param("__transaction_state-0", [], 8, id="emptied"),
        pytest.param("__transaction_state-0", [1], 8, id="some are left"),
        pytest.param("__transaction_state-0", [0, 1, 2], None, id="whole"),
        pytest.param("orders-0", [1], None, id="of a producer"),
    ],
)
def test_what_the_cleaner_left_of_a_coordinators_batch_has_a_gap(
    tmp_path: Path, partition: str, deltas: list[int], gap_to: int | None
) -> None:
    one, left = [record(b"x", b"k")], [record(b"x", b"k", delta) for delta in deltas]
    content = batch(4, one) + batch(5, left, last_offset_delta=2) + batch(8, one)
    assert row_of(tmp_path, content, partition, base_offset=4)["gap_to"] == gap_to


@pytest.mark.parametrize(
    ("offsets", "damaged_to"),
    [
        pytest.param([3, 9, 4, 5], 11, id="an offset that goes back"),
        pytest.param([3, 3, 4], 5, id="an offset that comes twice"),
        pytest.param([1, 3, 4], 3, id="an offset below the file's name"),
    ],
)
def test_offsets_that_do_not_grow_are_damage(tmp_path: Path, offsets: list[int], damaged_to: int) -> None:
    """Item 17: no checksum covers them."""
    row = row_of(tmp_path, b"".join(map(data, offsets)), base_offset=2)
    assert row["damaged_to"] >= damaged_to
    assert "or more is expected" in row["problem"]


@pytest.mark.parametrize("offset", [2**62 - 1, 2**62, 2**63 - 1, -1, -(2**63)])
def test_an_offset_as_large_as_can_be_is_no_error(tmp_path: Path, offset: int) -> None:
    strange = data(offset, count=2)
    row = row_of(tmp_path, data(0) + strange + damaged(data(1)) + data(2) + strange)
    assert row["problem"] is not None
    assert row["batches"] >= 2


def test_a_marker_that_cannot_be_read_is_damage(tmp_path: Path) -> None:
    row = row_of(tmp_path, data(0) + batch(1, [record(b"no", b"no")], attributes=32 | 16, producer_id=5) + data(2))
    assert "a control batch without a readable control record" in row["problem"]
    assert row["damaged_to"] == 2


def test_only_the_first_problems_are_named(tmp_path: Path) -> None:
    row = row_of(tmp_path, b"".join(damaged(data(2 * number)) + data(2 * number + 1) for number in range(9)))
    assert row["problem"].count("checksum") == 5
    assert row["problem"].endswith("; and 4 more")


SMALL = message(0, 1, b"old") + data(1) + marker(2) + data(3, 1001, 4, count=2) + data(5, 1002)


def test_every_cut_accounts_for_every_byte(tmp_path: Path) -> None:
    paths = [segment(tmp_path, f"orders-{end}", SMALL[:end]) for end in range(len(SMALL) + 1)]
    found = rows(list(inventory(tmp_path).files))
    assert len(found) == len(paths)
    assert all(row["bytes_damaged"] == row["bytes_skipped"] == 0 for row in found)


def test_every_flipped_bit_accounts_for_every_byte(tmp_path: Path) -> None:
    segment(tmp_path, "orders-0", SMALL)
    (file,) = inventory(tmp_path).files
    files = []
    for bit in range(8 * len(SMALL)):
        flipped = bytearray(SMALL)
        flipped[bit // 8] ^= 1 << bit % 8
        files.append(replace(file, path=str(put(tmp_path / f"{bit}.log", bytes(flipped)))))
    assert min(row["batches"] for row in rows(files)) == 4


# --- files that are not read ---


def test_a_file_that_is_skipped_says_why_and_counts(tmp_path: Path) -> None:
    put(tmp_path / "b1" / "README", "12345")
    (row,) = rows(list(inventory(tmp_path).files))
    assert values(row, "kind", "bytes_skipped", "problem") == ["other", 5, "not a file that txnlog reads"]


def test_a_file_that_has_gone_since_is_damage(tmp_path: Path) -> None:
    path = segment(tmp_path, "orders-0", data(0))
    files = list(inventory(tmp_path).files)
    path.unlink()
    (row,) = rows(files)
    assert row["problem"] == "cannot be read: No such file or directory"
    assert row["damaged_to"] == NOTHING_FOLLOWS


@pytest.mark.parametrize("modified_ms", [-(10**15), -1, 0, 1500, 10**15, 2**63 // 10**6])
def test_a_file_may_be_of_any_age(tmp_path: Path, modified_ms: int) -> None:
    """Some file systems hold years beyond 9999, which no table does."""
    segment(tmp_path, "orders-0", data(0))
    (file,) = inventory(tmp_path).files
    (row,) = rows([replace(file, modified_ms=modified_ms)])
    assert 1970 <= row["modified"].year <= 9999


def test_a_segment_that_is_a_link_is_a_log_that_is_missing(tmp_path: Path) -> None:
    segment(tmp_path, "orders-0", data(0))
    (tmp_path / "orders-0" / f"{1:020}.log").symlink_to("elsewhere")
    _, row = rows(list(inventory(tmp_path).files))
    assert values(row, "problem", "damaged_to") == ["a symbolic link is not followed", NOTHING_FOLLOWS]
