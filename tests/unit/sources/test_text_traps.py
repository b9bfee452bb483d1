"""What can be wrong with a text: cut short, forged by payloads, garbled on its way. None of it is believed."""

from __future__ import annotations

import codecs
import gzip
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.file_rows import rows_below, rows_in_splits
from txnlog.dump import decoded, text_splits, text_stream
from txnlog.errors import DumpError, OptionError
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.sources import text_chunks
from txnlog.sources.data_sources import BatchesSource, DumpFilesSource, ProducerSnapshotsSource, TransactionStatesSource

TEXTS = Path(__file__).parents[2] / "texts"
DEEP = (TEXTS / "4.3.0/deep.txt").read_bytes()
SHALLOW = (TEXTS / "4.3.0/shallow.txt").read_bytes()
PAYLOADS = (TEXTS / "3.5.2/payloads.txt").read_bytes()
OLD = (TEXTS / "1.1.1/deep.txt").read_bytes()
COORDINATOR = (TEXTS / "3.5.2/coordinator.txt").read_bytes()
JSON = (TEXTS / "4.3.0/coordinator.txt").read_bytes()
Row = dict[str, Any]
# So that splits begin at most batches, or at some.
SPLITS = (300, 1500)


def batches(tmp_path: Path, content: bytes, name: str = "log.txt", **options: str) -> list[Row]:
    return read(BatchesSource, tmp_path, content, name, **options)


def read(source: Any, tmp_path: Path, content: bytes, name: str = "log.txt", **options: str) -> list[Row]:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return rows_below(source, tmp_path, **options)


def summaries(tmp_path: Path, content: bytes, name: str = "log.txt") -> list[Row]:
    found = read(DumpFilesSource, tmp_path, content, name)
    for split in SPLITS:
        in_parts = rows_in_splits(tmp_path, split)
        # Of several problems another may be found in a split, and where two splits meet.
        assert [with_or_without_problem(row) for row in in_parts] == [with_or_without_problem(row) for row in found]
    return [{column: row[column] for column in row if column != "modified"} for row in found]


def with_or_without_problem(row: Row) -> Row:
    return row | {"problem": row["problem"] is not None}


def summary(tmp_path: Path, content: bytes, name: str = "log.txt") -> Row:
    (row,) = summaries(tmp_path, content, name)
    parts = ("bytes_parsed", "bytes_tail", "bytes_damaged", "bytes_skipped")
    assert row["size_in_bytes"] == sum(row[part] for part in parts)
    return row


def marker_types(rows: list[Row]) -> list[str | None]:
    return [row["marker_type"] for row in rows if row["is_control"]]


def with_line_before(content: bytes, mark: bytes, line: bytes) -> bytes:
    assert mark in content
    return content.replace(mark, line + b"\n" + mark, 1)


def utf16(content: bytes) -> bytes:
    return codecs.BOM_UTF16_LE + content.decode().encode("utf-16-le")


def zstd(content: bytes) -> bytes:
    compressed = pa.compress(content, "zstd", asbytes=True)
    assert isinstance(compressed, bytes)
    return compressed


DRESSES: dict[str, Callable[[bytes], bytes]] = {
    "a byte order mark": lambda content: codecs.BOM_UTF8 + content,
    "Windows line ends": lambda content: content.replace(b"\n", b"\r\n"),
    "UTF-16, as PowerShell writes": utf16,
    "gzip": gzip.compress,
    "gzip in two members": lambda content: gzip.compress(content[:1000]) + gzip.compress(content[1000:]),
    "zstd": zstd,
    "lines of a log between": lambda content: content.replace(
        b"\nbaseOffset: 3 ", b"\n[2026-01-01 00:00:00,000] WARN something (kafka.utils.Log4j)\nbaseOffset: 3 "
    ),
    "Java's warnings before": lambda content: b"OpenJDK 64-Bit Server VM warning: ...\nSLF4J: ...\n" + content,
    "an empty line at the end": lambda content: content + b"\n",
}


@pytest.mark.parametrize("dress", DRESSES)
def test_the_rows_do_not_depend_on_how_a_text_was_kept(tmp_path: Path, dress: str) -> None:
    plain, dressed = tmp_path / "plain", tmp_path / "dressed"
    assert batches(dressed, DRESSES[dress](DEEP)) == batches(plain, DEEP)
    row = summary(dressed, DRESSES[dress](DEEP))
    assert (row["problem"], row["damaged_to"]) == (None, None)


@pytest.mark.parametrize("name", ["orders.gz", "ticket 4711/attachment", "00000000000000000000.txt", "x.md", "ü.ZST"])
def test_a_text_is_known_by_its_content_whatever_its_name(tmp_path: Path, name: str) -> None:
    assert len(batches(tmp_path, DEEP, name)) == 11


def test_other_files_are_no_texts(tmp_path: Path) -> None:
    (row,) = read(DumpFilesSource, tmp_path, b"Dumping is what we did.\nbaseOffset: what is that?\n", "notes.txt")
    assert (row["kind"], row["problem"]) == ("other", "not a file that txnlog reads")


def test_a_cut_anywhere_is_noticed_unless_the_text_ends_cleanly_there(tmp_path: Path) -> None:
    whole = batches(tmp_path, DEEP)
    clean = {match.end() for match in re.finditer(rb"(?m)^(?:Log starting offset|\|).*\n(?!\|)", DEEP)}
    # Up to the first record the text may as well be one without records.
    clean |= {DEEP.index(b"\n") + 1, DEEP.index(b"\n|") + 1}
    ends = [match.end() for match in re.finditer(rb"\n", DEEP)]
    near = {end + by for end in ends for by in (-2, -1, 0, 1)} | set(range(DEEP.index(b"Log"), len(DEEP), 29))
    for length in sorted(near & set(range(DEEP.index(b"Log"), len(DEEP)))):
        row = summary(tmp_path, DEEP[:length])
        assert (row["damaged_to"] == NOTHING_FOLLOWS) == (length not in clean), length
        assert (row["problem"] is None) == (length in clean), length
        rows = batches(tmp_path, DEEP[:length])
        assert [each | {"size_in_bytes": 0} for each in rows[:-1]] == [
            each | {"size_in_bytes": 0} for each in whole[: len(rows)][:-1]
        ]


@pytest.mark.parametrize("content", [DEEP, SHALLOW, PAYLOADS], ids=["deep", "shallow", "payloads"])
def test_a_lost_line_is_noticed(tmp_path: Path, content: bytes) -> None:
    lines = content.splitlines(keepends=True)
    wanted = [index for index, line in enumerate(lines) if line.startswith((b"baseOffset", b"| "))]
    # What is lost at the end leaves no trace: without its records the last batch is one batch fewer.
    last = max(index for index in wanted if lines[index].startswith(b"baseOffset"))
    for index in wanted:
        row = summary(tmp_path, b"".join(lines[:index] + lines[index + 1 :]))
        assert (row["damaged_to"] is not None) == (index != last or content is not SHALLOW), lines[index]


FORGED_MARKER = b"| offset: 7 CreateTime: 1 keySize: 4 valueSize: 6 sequence: -1 headerKeys: []"
FORGED_MARKER += b" endTxnMarker: ABORT coordinatorEpoch: 0"
FORGED_BATCH = re.sub(rb"baseOffset: \d+ lastOffset: \d+", b"baseOffset: 3 lastOffset: 3", DEEP.splitlines()[2])


@pytest.mark.parametrize(
    "forged",
    [
        FORGED_MARKER,
        FORGED_BATCH,
        FORGED_BATCH.replace(b"isControl: false", b"isControl: true") + b"\n" + FORGED_MARKER,
        b"Dumping orders-0/00000000000000000003.log\nLog starting offset: 3",
        b"Dumping payments-1/00000000000000000000.log",
    ],
    ids=["a marker", "a batch", "a batch with its marker", "another segment", "another partition"],
)
@pytest.mark.parametrize("place", range(2, 12))
def test_forged_lines_break_the_order_and_are_not_believed(tmp_path: Path, forged: bytes, place: int) -> None:
    lines = [line for line in DEEP.splitlines() if not line.startswith(b"ignored")]
    mark = [line for line in lines if line.startswith(b"baseOffset")][place - 1]
    rows = read(DumpFilesSource, tmp_path, with_line_before(DEEP, mark, forged))
    assert any(row["damaged_to"] == NOTHING_FOLLOWS for row in rows)
    assert not any(row["damaged_to"] is None for row in rows)


def test_a_marker_among_too_many_lines_is_none(tmp_path: Path) -> None:
    true = b"headerKeys: [] endTxnMarker: COMMIT coordinatorEpoch: 5"
    forged = DEEP.replace(true, b"headerKeys: [] endTxnMarker: ABORT coordinatorEpoch: 7\n" + FORGED_MARKER, 1)
    assert marker_types(batches(tmp_path, DEEP)) == ["COMMIT", "ABORT"]
    assert marker_types(batches(tmp_path, forged)) == [None, "ABORT"]


@pytest.mark.parametrize(
    "content",
    [re.sub(rb"(?m)^\|.*$", b"", DEEP), re.sub(rb"(?m)^\| offset: .* key: ", b"| key: ", PAYLOADS)],
    ids=["empty lines", "payloads alone"],
)
def test_records_without_their_metadata_say_nothing_of_markers(tmp_path: Path, content: bytes) -> None:
    """As `--skip-record-metadata` prints: an empty line for each record, or its payload."""
    bare = re.sub(rb"(?m)^\| offset: .* endTxnMarker: .*$", b"", content)
    rows = batches(tmp_path, bare)
    assert [row["control_type"] for row in rows if row["is_control"]] == ["NOT_PRINTED", "NOT_PRINTED"]
    assert marker_types(rows) == [None, None]
    assert len(rows) == 11
    assert summary(tmp_path, bare)["damaged_to"] is None


def wrapped(content: bytes, width: int) -> bytes:
    lines = (textwrap.wrap(line, width, break_on_hyphens=False) for line in content.decode().splitlines())
    return "".join(f"{piece}\n" for line in lines for piece in line).encode()


def with_header(content: bytes, offset: int, name: bytes) -> bytes:
    """The text with a header of that name in a record: with line breaks in it, it forges lines."""
    mark = re.compile(rb"(?m)^((?:\| )?offset: %d .*headerKeys: \[)\]" % offset)
    assert mark.search(content)
    return mark.sub(lambda match: match[1] + name + b"]", content, count=1)


def old_record(offset: int, position: int, **words: str) -> bytes:
    given = {"sequence": "1", "isTransactional": "true"} | words
    return (
        f"offset: {offset} position: {position} CreateTime: 1700000000000 isvalid: true keysize: 4 valuesize: 6"
        f" magic: 2 compresscodec: NONE producerId: 7 producerEpoch: 1 sequence: {given['sequence']}"
        f" isTransactional: {given['isTransactional']} headerKeys: []"
    ).encode()


ENTRIES = (TEXTS / "4.3.0/entries.txt").read_bytes()
OLD_SHALLOW = (TEXTS / "1.1.1/shallow.txt").read_bytes()
INDEX = b"x\nDumping orders-0/00000000000000000000.index\n"
SNAPSHOT = b"x\nDumping orders-0/00000000000000000010.snapshot\nproducerId: 55 producerEpoch: 0 coordinatorEpoch: 0"
OLD_FORGED = b"\n".join(old_record(offset, 10 * offset) for offset in range(22))
NOT_WHOLE = {
    "wrapped by a mail client": wrapped(DEEP, 76),
    "an old one, wrapped": wrapped(OLD, 130),
    "line ends of two systems at once": OLD_SHALLOW.replace(b"\n", b"\r\r\n"),
    "a letter of the last batch": DEEP[: DEEP.index(b"baseOffset: 16 ")].replace(
        b"magic: 2 compresscodec: none crc: 2", b"magix: 2 compresscodec: none crc: 2"
    ),
    "a control batch or not": DEEP.replace(b"isControl: true", b"isControl: trxe", 1),
    "a transaction or not": DEEP.replace(
        b"isTransactional: true isControl: true", b"isTransactional: trxe isControl: true", 1
    ),
    "a control batch that is said to be none": DEEP.replace(b"isControl: true", b"isControl: false", 1),
    "an old marker": OLD.replace(b"COMMIT", b"COMMXT", 1),
    "an old marker's transaction": OLD.replace(
        b"sequence: -1 isTransactional: true", b"sequence: -1 isTransactional: trxe", 1
    ),
    "cut, and put before another": DEEP[: DEEP.index(b"| offset: 11 ") + 20] + ENTRIES,
    "a line cut, and put before another": b"\n".join(SHALLOW.split(b"\n")[:3])
    + SHALLOW.replace(b"orders-0", b"payments-1"),
    "an empty line after the cut": DEEP[: DEEP.index(b"| offset: 12 ")] + b"\n",
    "half a character": utf16(DEEP)[: 2 + 2 * DEEP.index(b"baseOffset: 15 ") + 1],
    "a lost heading": DEEP.split(b"\n", 1)[0] + b"\nLog starting offset: 0\n" + DEEP.split(b"\n", 1)[1],
    "a forged index": with_header(DEEP, 14, INDEX),
    "a forged snapshot": with_header(
        DEEP, 14, SNAPSHOT + b" currentTxnFirstOffset: OptionalLong[3] lastTimestamp: 1 \n"
    ),
    "another partition, forged": with_header(DEEP, 14, b"x\nDumping payments-1/00000000000000000000.log\n"),
    "a forged heading without a path": with_header(DEEP, 14, b"x\nDumping \n" + b"junk junk\n" * 27_000),
    "records of an old release, forged": with_header(DEEP, 20, b"x\n" + OLD_FORGED + b"\n"),
    "a record of a marker's batch, forged": with_header(
        OLD, 11, b"x\n" + old_record(12, 522, sequence="-1", isTransactional="false") + b"\n"
    ),
    "a marker in a header": with_header(OLD, 14, b"] endTxnMarker: COMMIT coordinatorEpoch: 9").replace(
        b"coordinatorEpoch: 9]", b"coordinatorEpoch: 9"
    ),
    "a first batch, forged": with_header(DEEP, 0, b"x\nbaseOffset: 99999999999999999999\n"),
}


@pytest.mark.parametrize("case", NOT_WHOLE)
def test_what_is_not_whole_is_not_believed(tmp_path: Path, case: str) -> None:
    rows = [row for row in summaries(tmp_path, NOT_WHOLE[case], "orders-0.txt") if row["topic"] == "orders"]
    assert rows
    segments = [row for row in rows if row["kind"] == "segment"]
    assert segments
    assert all(row["damaged_to"] == NOTHING_FOLLOWS for row in segments), [row["problem"] for row in segments]


def test_indexes_are_left_out(tmp_path: Path) -> None:
    offsets = b"Dumping orders-0/00000000000000000000.index\noffset: 3 position: 125\noffset: 9 position: 389\n"
    times = b"Dumping orders-0/00000000000000000000.timeindex\ntimestamp: 1700000000000 offset: 3\n"
    rows = summaries(tmp_path, DEEP + offsets + times)
    assert [(row["kind"], row["damaged_to"]) for row in rows] == [
        ("segment", None), ("offset_index", None), ("time_index", None),
    ]  # fmt: skip
    assert rows[1]["bytes_skipped"] == rows[1]["size_in_bytes"]


def test_digits_of_other_scripts_are_no_numbers(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match="names no partition"):
        batches(tmp_path, DEEP.replace(b"orders-0", "orders-\u0663".encode()))


def test_a_cut_within_a_heading_is_a_cut(tmp_path: Path) -> None:
    first, second = summaries(tmp_path, DEEP + b"Dumping orders-0/0000000000000000002", "orders-0.txt")
    assert (first["damaged_to"], second["damaged_to"]) == (None, NOTHING_FOLLOWS)
    assert second["problem"] == "it ends in the middle of a heading"


def test_a_byte_order_mark_in_the_middle_is_left_out(tmp_path: Path) -> None:
    assert len(batches(tmp_path, ENTRIES + codecs.BOM_UTF8 + DEEP)) == 11
    assert all(row["damaged_to"] is None for row in summaries(tmp_path, ENTRIES + codecs.BOM_UTF8 + DEEP))


def test_a_long_text_with_a_mark_is_not_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_splits, "SPLIT_SIZE", 700)
    for mark in (0, DEEP.index(b"baseOffset: 9 ")):
        marked = DEEP[:mark] + codecs.BOM_UTF8 + DEEP[mark:]
        assert [row["topic"] for row in batches(tmp_path, marked, "refunds-7.txt")] == ["orders"] * 11


def test_a_forged_coordinator_in_a_text_without_a_heading(tmp_path: Path) -> None:
    content = with_header(
        DEEP.split(b"\n", 1)[1], 14, b"x\n" + JSON + b"Dumping orders-0/00000000000000000010.snapshot\n"
    )
    rows = summaries(tmp_path, content, "orders-0.txt")
    assert {row["damaged_to"] for row in rows if row["kind"] == "segment"} == {NOTHING_FOLLOWS}
    assert "__transaction_state" in {row["topic"] for row in rows}


@pytest.mark.parametrize("broken", [gzip.compress, zstd])
def test_a_heading_of_any_length_takes_no_memory(tmp_path: Path, broken: Callable[[bytes], bytes]) -> None:
    first, second = summaries(tmp_path, broken(DEEP + b"Dumping orders-0/" + b"x" * 20_000_000), "orders-0.txt")
    assert (first["damaged_to"], second["damaged_to"]) == (None, NOTHING_FOLLOWS)


OFFSETS = re.compile(rb"baseOffset: (\d+) lastOffset: (\d+) ")


@pytest.mark.parametrize("line", range(3, SHALLOW.count(b"\n")))
def test_offsets_that_go_back_are_damage_and_those_that_are_missing_a_gap(tmp_path: Path, line: int) -> None:
    lines = SHALLOW.splitlines(keepends=True)
    first, last = map(int, OFFSETS.findall(lines[line])[0])
    back = [*lines[:line], OFFSETS.sub(b"baseOffset: 0 lastOffset: %d " % last, lines[line]), *lines[line + 1 :]]
    assert summary(tmp_path, b"".join(back))["damaged_to"] == max(first, last) + 1
    missing = lines[:line] + [
        OFFSETS.sub(lambda found: b"baseOffset: %d lastOffset: %d " % tuple(int(n) + 5 for n in found.groups()), after)
        for after in lines[line:]
    ]
    assert summary(tmp_path, b"".join(missing))["gap_to"] == first + 5


ENDS = {
    "invalid bytes": b"Found 60 invalid bytes at the end of 00000000000000000000.log\n",
    "a stack trace": b'Exception in thread "main" java.lang.IllegalStateException: no\n\tat a.X.main(X.java:1)\n',
    "a trace of its own": b"\tat kafka.tools.DumpLogSegments$.main(DumpLogSegments.scala:58)\n",
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("content", [DEEP, SHALLOW, OLD], ids=["deep", "shallow", "records alone"])
def test_a_tool_that_stopped_early_proves_nothing(tmp_path: Path, content: bytes, end: str) -> None:
    row = summary(tmp_path, content + ENDS[end])
    assert row["damaged_to"] == NOTHING_FOLLOWS
    assert row["problem"] == "the tool stopped before the end of the file"


def test_a_trace_after_a_line_that_was_not_finished(tmp_path: Path) -> None:
    broken = (
        DEEP.rstrip(b"\n") + b'Exception in thread "main" java.nio.BufferUnderflowException\n\tat java.X.y(X.java:1)\n'
    )
    assert summary(tmp_path, broken)["damaged_to"] == NOTHING_FOLLOWS


def test_a_batch_that_is_not_valid_neither_opens_nor_closes(tmp_path: Path) -> None:
    lines = SHALLOW.splitlines(keepends=True)
    lines[4] = lines[4].replace(b"isvalid: true", b"isvalid: false")
    rows = batches(tmp_path, b"".join(lines))
    assert [row["crc_valid"] for row in rows].count(False) == 1
    row = summary(tmp_path, b"".join(lines))
    assert row["damaged_to"] == rows[3]["base_offset"]
    assert row["bytes_damaged"] == len(lines[4])


@pytest.mark.parametrize("damage", [b"\xff", b"\0", b"x", b" ", "٣".encode()])
def test_a_garbled_line_is_no_line(tmp_path: Path, damage: bytes) -> None:
    garbled = DEEP.replace(b"producerId: 7 ", b"producerId: 7" + damage + b" ", 1)
    assert len(batches(tmp_path, garbled)) == 10
    assert summary(tmp_path, garbled)["damaged_to"] == NOTHING_FOLLOWS


def test_a_number_too_large_is_no_number(tmp_path: Path) -> None:
    for large in (b"99999", b"99999999999999999999999"):
        garbled = DEEP.replace(b"producerEpoch: 1 ", b"producerEpoch: " + large + b" ", 1)
        assert len(batches(tmp_path, garbled)) == 10


def test_base_offsets_that_are_not_printed_are_not_guessed(tmp_path: Path) -> None:
    lines = [line for line in OLD.splitlines(keepends=True) if not line.startswith(b"offset: 3 ")]
    row = summary(tmp_path, b"".join(lines))
    assert row["damaged_to"] == 6
    assert "base offsets are not printed" in row["problem"]


@pytest.mark.parametrize(
    ("name", "option"),
    [("orders-0.txt", ""), ("orders-0-00000000000000000000.log.txt.gz", ""), ("orders-0/text", ""), ("x", "orders-0")],
)
def test_the_partition_comes_from_name_folder_or_option(tmp_path: Path, name: str, option: str) -> None:
    content = DEEP.partition(b"\n")[2]
    options = {"topic_partition": option} if option else {}
    assert {(row["topic"], row["partition"]) for row in batches(tmp_path, content, name, **options)} == {("orders", 0)}


def test_the_partition_comes_from_the_manifest_first(tmp_path: Path) -> None:
    (tmp_path / "dump.toml").write_text('[texts]\n"broker-1/wrong-7.txt" = "orders-0"\n')
    rows = batches(tmp_path, DEEP.partition(b"\n")[2], "broker-1/wrong-7.txt")
    assert {(row["topic"], row["partition"]) for row in rows} == {("orders", 0)}


def test_the_path_of_a_windows_machine(tmp_path: Path) -> None:
    content = DEEP.replace(b"orders-0/", b"C:\\kafka logs\\orders-0\\")
    assert {(row["topic"], row["partition"]) for row in batches(tmp_path, content)} == {("orders", 0)}


def test_a_text_of_nobody_knows_which_partition_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match=r"what.txt: byte 0: there is no line Dumping .*--topic-partition orders-0"):
        batches(tmp_path, DEEP.partition(b"\n")[2], "what.txt")
    with pytest.raises(DumpError, match=r"byte \d+: Dumping 00000000000000000000.log names no partition"):
        batches(tmp_path, DEEP.replace(b"orders-0/", b""), "what.txt")
    with pytest.raises(OptionError, match="'orders' is not a partition"):
        batches(tmp_path, DEEP, "what.txt", topic_partition="orders")


def test_a_manifest_that_names_no_partition_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "dump.toml").write_text('[texts]\n"log.txt" = "orders"\n')
    with pytest.raises(DumpError, match=r"dump.toml: texts.log.txt: 'orders' is not a partition such as orders-0"):
        batches(tmp_path, DEEP)


def test_many_segments_in_one_file(tmp_path: Path) -> None:
    second = DEEP.replace(b"orders-0", b"payments-3")
    rows = batches(tmp_path, DEEP + second)
    assert [(row["topic"], row["partition"]) for row in rows] == [("orders", 0)] * 11 + [("payments", 3)] * 11
    files = read(DumpFilesSource, tmp_path, DEEP + second)
    assert [row["file"] for row in files] == [
        "log.txt/orders-0/00000000000000000000.log",
        "log.txt/payments-3/00000000000000000000.log",
    ]
    assert all(row["damaged_to"] is None and row["is_text"] for row in files)


@pytest.mark.parametrize("split", [300, 1000, 2000])
@pytest.mark.parametrize("content", [DEEP, SHALLOW, PAYLOADS, OLD], ids=["deep", "shallow", "payloads", "old"])
def test_a_long_text_is_split_at_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, split: int
) -> None:
    # One is there twice: its rows are told apart by their names.
    several = (
        content + content.replace(b"orders-0", b"payments-3") + content + content.replace(b"orders-0", b"refunds-1")
    )
    expected = batches(tmp_path, several)
    files = summaries(tmp_path, several)
    monkeypatch.setattr(text_splits, "SPLIT_SIZE", split)
    found = text_splits.splits(str(tmp_path / "log.txt"), len(several))
    assert [each.start for each in found[1:]] == [each.end for each in found[:-1]]
    assert len(found) > 2
    unsized = [row | {"size_in_bytes": 0} for row in batches(tmp_path, several)]
    assert unsized == [row | {"size_in_bytes": 0} for row in expected]
    assert summaries(tmp_path, several) == files


@pytest.mark.parametrize("block", [50, 1000])
def test_blocks_of_any_size_give_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    expected = batches(tmp_path, PAYLOADS), summary(tmp_path, PAYLOADS)
    for module in (decoded, text_stream):
        monkeypatch.setattr(module, "BLOCK", block)
    assert (batches(tmp_path, PAYLOADS), summary(tmp_path, PAYLOADS)) == expected


def test_lines_and_batches_of_any_length_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_stream, "LONGEST_LINE", 600)
    for module in (decoded, text_stream):
        monkeypatch.setattr(module, "BLOCK", 200)
    monkeypatch.setattr(text_chunks, "LONGEST_BATCH", 700)
    long = PAYLOADS.replace(b"payload: one", b"payload: " + b"one" * 10_000)
    assert batches(tmp_path / "long", long) == batches(tmp_path / "short", PAYLOADS)
    assert summary(tmp_path / "long", long)["damaged_to"] is None


@pytest.mark.parametrize("keep", [100, 600])
def test_a_compressed_text_that_was_cut_is_cut(tmp_path: Path, keep: int) -> None:
    compressed = gzip.compress(DEEP)[:keep]
    row = summary(tmp_path, compressed, "orders-0.gz")
    assert row["damaged_to"] == NOTHING_FOLLOWS
    assert "cannot be decompressed" in row["problem"]


def test_what_is_compressed_and_cut_within_its_first_block_is_named(tmp_path: Path) -> None:
    row = summary(tmp_path, zstd(DEEP)[:100])
    assert (row["kind"], row["bytes_skipped"]) == ("unreadable", 100)
    assert "cannot be decompressed" in row["problem"]


# --- the coordinator's records


def states(tmp_path: Path, content: bytes) -> list[Row]:
    return read(TransactionStatesSource, tmp_path, content)


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        (b"=orders-none payload", b"=orders\nnone payload", "no decoded key and payload"),
        (b"=orders-none payload", b"=orders-non payload", "not as long as its record says"),
        (b"state=Empty", b"state=Dead", "status Dead is never written"),
        (b"producerId:1000", b"producerId:", "not one that --transaction-log-decoder prints"),
    ],
)
def test_a_garbled_record_of_the_decoder(tmp_path: Path, before: bytes, after: bytes, problem: str) -> None:
    first, *rest = states(tmp_path, COORDINATOR.replace(before, after, 1))
    assert problem in first["problem"]
    assert {row["problem"] for row in rest} == {None}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"transactionStatus":0', b'"transactionStatus":6'),
        (b'"producerId":1000,', b""),
        (b'"data":{"producerId"', b'"data":["producerId"'),
        (b'"transactionalId":"orders-none"', b'"transactionalId":7'),
        (b"payload: {", b"payload: [{"),
        (b'"transactionPartitions":null', b'"transactionPartitions":[{"topic":"orders"}]'),
        (b'"producerId":1000', b'"producerId":100000000000000000000000'),
        (b'"producerId":1000', b'"producerId":Infinity'),
        (b'"transactionStatus":0', b'"transactionStatus":1e999'),
        (b'"producerEpoch":0', b'"producerEpoch":99999'),
        (b'"transactionalId":"orders-none"', b'"transactionalId":"\\ud800"'),
    ],
)
def test_a_garbled_record_of_the_json_decoder(tmp_path: Path, before: bytes, after: bytes) -> None:
    assert before in JSON
    first, *rest = states(tmp_path, JSON.replace(before, after, 1))
    assert first["problem"].startswith("record 0 of the batch: ")
    assert {row["problem"] for row in rest} == {None}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"producerEpoch:0,", b"producerEpoch:99999,"),
        (b"txnTimeoutMs=9000", b"txnTimeoutMs=9000000000"),
        (b"producerId:1000", b"producerId:9999999999999999999"),
        (b"orders-1", b"orders-9999999999"),
    ],
)
def test_numbers_that_are_too_large_in_a_record(tmp_path: Path, before: bytes, after: bytes) -> None:
    assert before in COORDINATOR
    assert any(row["problem"] for row in states(tmp_path, COORDINATOR.replace(before, after)))


def test_an_epoch_that_is_too_large_in_an_old_marker(tmp_path: Path) -> None:
    batches(tmp_path, OLD.replace(b"coordinatorEpoch: 5", b"coordinatorEpoch: 5555555555"))


def test_a_status_by_its_name(tmp_path: Path) -> None:
    first, *_ = states(tmp_path, JSON.replace(b'"transactionStatus":0', b'"transactionStatus":"Empty"', 1))
    assert (first["state"], first["problem"]) == ("Empty", None)


def test_tombstones_and_keys_of_other_versions(tmp_path: Path) -> None:
    gone = re.sub(rb"payload: producerId.*state=Empty.*", b"payload: <DELETE>", COORDINATOR)
    assert states(tmp_path, gone)[0]["is_tombstone"]
    for other in (b"key: unknown::version=3", b"key: Unknown record type 3 at offset 0, skipping."):
        (first, *_) = states(tmp_path, re.sub(rb"key: .*state=Empty.*", other, COORDINATOR))
        assert (first["transactional_id"], first["is_tombstone"], first["problem"]) == (None, False, None)


def test_a_coordinator_without_its_records_is_not_decoded(tmp_path: Path) -> None:
    bare = b"".join(line for line in COORDINATOR.splitlines(keepends=True) if not line.startswith(b"|"))
    assert {row["problem"] for row in states(tmp_path, bare)} == {
        "records are not printed: print them with --transaction-log-decoder"
    }
    row = summary(tmp_path, bare)
    assert row["damaged_to"] == NOTHING_FOLLOWS
    assert "--transaction-log-decoder" in row["problem"]


def test_offsets_that_are_not_printed_follow_from_the_batch(tmp_path: Path) -> None:
    bare = re.sub(rb"(?m)^\| offset: .* headerKeys: \[\] key: ", b"| key: ", JSON)
    assert bare != JSON
    assert states(tmp_path, bare) == states(tmp_path / "whole", JSON)
    hole = bare.replace(b"lastOffset: 0 count: 1", b"lastOffset: 1 count: 1", 1)
    assert "its offset is not printed" in states(tmp_path, hole)[0]["problem"]


def test_an_id_of_unknown_length_may_hold_line_breaks(tmp_path: Path) -> None:
    bare = re.sub(rb"(?m)^\| offset: .* headerKeys: \[\] key: ", b"| key: ", COORDINATOR)
    assert all("without --skip-record-metadata" in row["problem"] for row in states(tmp_path, bare))


@pytest.mark.parametrize("split", [1000, 10_000_000])
def test_a_coordinator_after_other_topics_may_be_forged_by_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, split: int
) -> None:
    monkeypatch.setattr(text_splits, "SPLIT_SIZE", split)
    *_, coordinator = summaries(tmp_path, DEEP + COORDINATOR)
    assert (coordinator["topic"], coordinator["damaged_to"]) == ("__transaction_state", NOTHING_FOLLOWS)
    assert "into a file of their own" in coordinator["problem"]
    first, *_ = summaries(tmp_path, COORDINATOR + DEEP)
    assert (first["topic"], first["damaged_to"]) == ("__transaction_state", None)


def test_a_snapshot_that_is_cut_short_has_no_entries(tmp_path: Path) -> None:
    entries = (TEXTS / "4.3.0/entries.txt").read_bytes()
    snapshot = entries[: entries.index(b"Dumping fenced-0")]
    assert len(read(ProducerSnapshotsSource, tmp_path, snapshot)) == 1
    for broken in (snapshot[:-5], snapshot.replace(b"producerEpoch: 1", b"producerEpoch: x")):
        assert read(ProducerSnapshotsSource, tmp_path, broken) == []
        assert summary(tmp_path, broken)["problem"]
