"""What became of a record: by the markers of a log, or not at all where something is missing; never by a guess."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.writer import (
    ABORT,
    CONTROL,
    TRANSACTIONAL,
    batch,
    checkpoint,
    data,
    marker,
    message,
    put,
    record,
    segment,
    snapshot,
    transaction_index,
)
from txnlog.dump.copy_listing import NAME as LISTING
from txnlog.dump.inventory import inventory
from txnlog.dump.opener import small_content
from txnlog.errors import OptionError
from txnlog.format.transaction_index import AbortedTransaction, aborted_transactions
from txnlog.sources.log_copy import Place
from txnlog.sources.outcome import Outcome, RecordOutcome
from txnlog.sources.record_outcome import record_outcomes

SAMPLES = Path(__file__).parents[3] / "data" / "samples"
TEXTS = Path(__file__).parents[2] / "texts"
# What is printed of a log below its two lines of heading.
LINES = (TEXTS / "4.3.0/deep.txt").read_text().split("\n", 2)[2]
ORDERS = Place("orders", 0)
PLAIN = batch(0, [record()])
PARTLY_CLEANED = batch(
    0, [record(offset_delta=0), record(offset_delta=2)], last_offset_delta=2, attributes=TRANSACTIONAL,
    producer_id=1000, producer_epoch=0, base_sequence=0,
)  # fmt: skip


def compressed(offset: int) -> bytes:
    """A message of the older formats."""
    return message(offset, 1, attributes=1)


def outcome(dump: Path, offset: int, cluster: str | None = None) -> RecordOutcome:
    _, (found,) = record_outcomes(inventory(dump), ORDERS, offset, cluster)
    return found


def of_log(dump: Path, *batches: bytes, offset: int = 0, base_offset: int = 0) -> RecordOutcome:
    segment(dump / "broker-1", "orders-0", b"".join(batches), base_offset)
    return outcome(dump, offset)


def emptied_marker(offset: int) -> bytes:
    """What the cleaner leaves of the last batch of a producer id."""
    return batch(offset, attributes=TRANSACTIONAL | CONTROL, producer_id=1000, producer_epoch=0)


def emptied(offset: int) -> bytes:
    """The same of data."""
    return batch(offset, attributes=TRANSACTIONAL, producer_id=1000, producer_epoch=0, base_sequence=0)


def listed(dump: Path, *entries: tuple[int, int, int]) -> None:
    """The transaction index: producer id, first offset, and offset of the marker."""
    rows = [AbortedTransaction(0, producer, first, last, first) for producer, first, last in entries]
    put(dump / "broker-1/orders-0" / f"{0:020}.txnindex", transaction_index(rows))


@pytest.mark.parametrize(
    ("batches", "offset", "expected"),
    [
        ([data(0), marker(1)], 0, "COMMITTED"),
        ([data(0), marker(1, kind=ABORT)], 0, "ABORTED"),
        ([data(0)], 0, "OPEN"),
        # Markers of others, and earlier ones of its own, decide nothing.
        ([data(0), data(1, 1001), marker(2, 1001)], 0, "OPEN"),
        ([data(0), marker(1), data(2), marker(3, kind=ABORT)], 2, "ABORTED"),
        ([data(0), marker(1), data(2), marker(3, kind=ABORT)], 0, "COMMITTED"),
        ([data(0), data(1, 1001), marker(2, 1001, kind=ABORT), marker(3)], 0, "COMMITTED"),
        ([data(0, count=5), marker(5)], 4, "COMMITTED"),
        ([data(0), marker(1, producer_epoch=1, kind=ABORT)], 0, "ABORTED"),
        ([PLAIN, data(1), marker(2, kind=ABORT)], 0, "NOT_TRANSACTIONAL"),
        (
            [batch(0, [record()], producer_id=1000, producer_epoch=0, base_sequence=0), marker(1)],
            0,
            "NOT_TRANSACTIONAL",
        ),
        ([message(0, 1), data(1), marker(2, kind=ABORT)], 0, "NOT_TRANSACTIONAL"),
        # It has the offset of the last message in it.
        ([compressed(4), data(5), marker(6)], 2, "NOT_TRANSACTIONAL"),
        ([data(0), marker(1)], 1, "CONTROL_RECORD"),
        ([data(0), marker(1)], 2, "BEYOND_END"),
        # The cleaner takes a COMMIT marker, but no ABORT marker before the data.
        ([data(0), marker(9)], 0, "COMMITTED"),
        ([data(0), marker(9, kind=ABORT)], 0, "UNKNOWN"),
        ([data(0), data(9)], 0, "UNKNOWN"),
        ([data(0), emptied_marker(1)], 0, "UNKNOWN"),
        ([data(0), data(9), marker(10, kind=ABORT)], 9, "ABORTED"),
        ([data(0), data(9), marker(10)], 5, "CLEANED"),
        ([data(3), marker(4)], 1, "CLEANED"),
        ([emptied(0), marker(1)], 0, "CLEANED"),
        ([PLAIN, emptied_marker(1), data(2)], 1, "CLEANED"),
        # Which records of a batch the cleaner left, it does not say without them.
        ([PARTLY_CLEANED, marker(3)], 1, "UNKNOWN"),
        # Bytes that are no batch.
        ([data(0), b"?" * 80, marker(2)], 0, "UNKNOWN"),
        ([data(0), b"?" * 80], 0, "UNKNOWN"),
        # They hide none where no offset is missing.
        ([data(0), b"?" * 80, data(1)], 0, "OPEN"),
        ([b"?" * 80, data(1), marker(2)], 0, "UNKNOWN"),
        ([data(0), b"?" * 80, marker(2)], 1, "UNKNOWN"),
        ([data(0), marker(1), b"?" * 80], 0, "COMMITTED"),
        ([data(0), marker(1), b"?" * 80], 3, "UNKNOWN"),
        ([b"?" * 80, data(1), marker(2)], 1, "COMMITTED"),
        # A batch that was being written when it was copied.
        ([data(0), data(1)[:70]], 0, "OPEN"),
        ([data(5), data(3), marker(6)], 5, "UNKNOWN"),
    ],
)
def test_the_next_marker_of_the_producer_id_decides(
    batches: list[bytes], offset: int, expected: str, tmp_path: Path
) -> None:
    found = of_log(tmp_path, *batches, offset=offset)
    assert found.outcome == expected
    if found.batch is not None and expected != "UNKNOWN":
        assert found.batch.base_offset <= offset <= found.batch.last_offset
    assert (found.ended_by is not None and found.ended_by.base_offset > offset) or expected not in (
        "COMMITTED",
        "ABORTED",
    )


@pytest.mark.parametrize(
    ("segments", "offset", "expected"),
    [
        ({0: data(0), 1: marker(1)}, 0, "COMMITTED"),
        ({0: data(0), 1: data(1, 1001), 2: marker(2, kind=ABORT)}, 0, "ABORTED"),
        # One in between is missing: the cleaner, retention within it, or an incomplete copy.
        ({0: data(0), 2: marker(2)}, 0, "UNKNOWN"),
        ({0: data(0), 2: marker(2)}, 1, "UNKNOWN"),
        ({0: data(0), 2: marker(2), 3: data(3), 4: marker(4)}, 3, "COMMITTED"),
        # What the cleaner took at the start of a segment.
        ({0: data(0), 1: marker(5)}, 0, "COMMITTED"),
        ({0: data(0), 1: marker(5, kind=ABORT)}, 0, "UNKNOWN"),
        ({0: data(0), 1: b""}, 0, "OPEN"),
        ({7: data(7), 8: marker(8)}, 3, "BEFORE_START"),
        ({7: b""}, 3, "BEFORE_START"),
        ({7: b""}, 7, "BEYOND_END"),
        ({0: data(0), 1: b"?" * 80, 2: marker(2)}, 0, "UNKNOWN"),
        ({0: data(0) + b"?" * 80, 1: data(1)}, 0, "OPEN"),
        # Nothing says that a compressed message reaches back over what is missing.
        ({0: compressed(9), 100: compressed(109)}, 50, "UNKNOWN"),
        ({0: compressed(9), 10: compressed(19)}, 15, "NOT_TRANSACTIONAL"),
    ],
)
def test_it_goes_on_in_the_next_segment_if_that_is_there(
    segments: dict[int, bytes], offset: int, expected: str, tmp_path: Path
) -> None:
    for base, content in segments.items():
        segment(tmp_path / "broker-1", "orders-0", content, base)
    assert outcome(tmp_path, offset).outcome == expected


def test_only_what_is_needed_is_read(tmp_path: Path) -> None:
    for base in range(0, 10, 2):
        segment(tmp_path / "broker-1", "orders-0", data(base) + marker(base + 1), base)
    dump = inventory(tmp_path)
    for base in (0, 2, 6, 8):
        (tmp_path / "broker-1/orders-0" / f"{base:020}.log").unlink()
    _, (found,) = record_outcomes(dump, ORDERS, 4)
    assert (found.outcome, found.reason) == ("COMMITTED", "the next marker of its producer id is COMMIT")


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        # Where the log alone proves nothing.
        ([data(0), marker(9, kind=ABORT)], "ABORTED"),
        ([data(0), b"?" * 80, marker(9, kind=ABORT)], "ABORTED"),
        ([data(0), marker(9)], "UNKNOWN"),
        ([data(0)], "ABORTED"),
        # The index is of a log that was truncated since.
        ([data(0), *(data(offset, 1001) for offset in range(1, 11))], "UNKNOWN"),
        ([data(0), marker(1, kind=ABORT)], "UNKNOWN"),
    ],
)
def test_the_transaction_index_is_evidence_too(batches: list[bytes], expected: str, tmp_path: Path) -> None:
    listed(tmp_path, (1000, 0, 9))
    assert of_log(tmp_path, *batches).outcome == expected


def test_an_entry_of_the_index_is_of_one_transaction_of_one_producer(tmp_path: Path) -> None:
    listed(tmp_path, (1001, 0, 9), (1000, 0, 1), (1000, 4, 9))
    batches = (data(0), marker(1, kind=ABORT), data(2), marker(3), data(4), marker(9, kind=ABORT))
    assert of_log(tmp_path, *batches, offset=2).outcome == "COMMITTED"
    assert [outcome(tmp_path, offset).outcome for offset in (0, 4)] == ["ABORTED"] * 2


def test_a_copy_whose_listing_has_more_does_not_prove_it_open(tmp_path: Path) -> None:
    name = f"{0:020}.log"
    put(tmp_path / "broker-1" / LISTING, f"# begun\t1700000000000\n./orders-0/{name}\t99999\t1700000000000\n")
    found = of_log(tmp_path, data(0))
    assert found.outcome == "UNKNOWN"
    assert "listing.tsv has" in found.reason


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("replication-offset-checkpoint", checkpoint([("orders", 1, 9), ("orders", 0, 9)])),
        (f"orders-0/{9:020}.index", b""),
        (f"orders-0/{9:020}.snapshot", snapshot([])),
    ],
)
def test_a_copy_that_ends_before_its_log_did_does_not_prove_it_open(name: str, content: bytes, tmp_path: Path) -> None:
    put(tmp_path / "broker-1" / name, content)
    found = of_log(tmp_path, data(0), data(1), marker(2))
    assert (found.outcome, outcome(tmp_path, 5).outcome) == ("COMMITTED", "UNKNOWN")
    found = of_log(tmp_path, data(0))
    assert (found.outcome, found.reason) == (
        "UNKNOWN",
        "no marker follows in what can be read: the copy ends at offset 1, but its log reached offset 9",
    )
    assert outcome(tmp_path, 20).outcome == "BEYOND_END"


def test_below_the_log_start_offset_no_consumer_reads(tmp_path: Path) -> None:
    put(tmp_path / "broker-1/log-start-offset-checkpoint", checkpoint([("orders", 1, 9), ("orders", 0, 2)]))
    found = of_log(tmp_path, data(0), marker(1), data(2), marker(3))
    assert (found.outcome, found.reason) == (
        "BEFORE_START",
        "the log starts at offset 2, by log-start-offset-checkpoint",
    )
    assert outcome(tmp_path, 2).outcome == "COMMITTED"


def test_printed_output_has_the_same_log_start_offset(tmp_path: Path) -> None:
    put(tmp_path / "broker-1/x.txt", (TEXTS / "4.3.0/deep.txt").read_text())
    put(tmp_path / "broker-1/log-start-offset-checkpoint", checkpoint([("orders", 0, 2)]))
    assert outcome(tmp_path, 0).outcome == "BEFORE_START"


@pytest.mark.parametrize(
    ("hidden", "offset", "expected"),
    [
        # After the marker it hides nothing of the record.
        (4, 2, "COMMITTED"),
        (4, 4, "UNKNOWN"),
        # Before the record's segment neither.
        (0, 2, "COMMITTED"),
        (0, 1, "UNKNOWN"),
        (0, 6, "OPEN"),
        (7, 6, "UNKNOWN"),
    ],
)
def test_a_segment_that_cannot_be_read_hides_what_it_may_have(
    hidden: int, offset: int, expected: str, tmp_path: Path
) -> None:
    log_dir = tmp_path / "broker-1"
    segment(log_dir, "orders-0", data(2) + marker(3), 2)
    segment(log_dir, "orders-0", data(6), 6)
    put(log_dir / "orders-0" / f"{hidden:020}.log.gz", b"compressed")
    assert outcome(tmp_path, offset).outcome == expected


def test_each_copy_is_asked_and_each_cluster_alone(tmp_path: Path) -> None:
    for broker, content in (("1", data(0)), ("2", data(0) + marker(1))):
        segment(tmp_path / "a" / f"broker-{broker}", "orders-0", content)
    put(tmp_path / "a/dump.toml", 'cluster = "a"\n')
    name, found = record_outcomes(inventory(tmp_path), ORDERS, 0)
    assert (name, [(each.log_dir, each.outcome) for each in found]) == (
        "a",
        [("a/broker-1", "OPEN"), ("a/broker-2", "COMMITTED")],
    )
    segment(tmp_path / "b/broker-1", "orders-0", data(0) + marker(1, kind=ABORT))
    put(tmp_path / "b/dump.toml", 'cluster = "b"\n')
    assert outcome(tmp_path, 0, "b").outcome == "ABORTED"
    with pytest.raises(OptionError, match="several clusters: add --cluster, one of a, b"):
        outcome(tmp_path, 0)
    with pytest.raises(OptionError, match="no log of orders-0 of cluster c"):
        outcome(tmp_path, 0, "c")


@pytest.mark.parametrize(("text", "is_marker_printed"), [("deep.txt", True), ("shallow.txt", False)])
def test_printed_output_tells_what_the_segment_tells(text: str, is_marker_printed: bool, tmp_path: Path) -> None:
    shutil.copy(TEXTS / "4.3.0" / text, put(tmp_path / "text/broker-1/x.txt"))
    segment(tmp_path / "raw/broker-1", "orders-0", (TEXTS / "4.3.0/segment").read_bytes())
    seen = set()
    for offset in range(30):
        printed, raw = outcome(tmp_path / "text", offset), outcome(tmp_path / "raw", offset)
        is_ended = raw.outcome in (Outcome.COMMITTED, Outcome.ABORTED)
        if is_ended and not is_marker_printed:
            assert "--deep-iteration" in printed.reason
        else:
            assert printed.outcome == raw.outcome, (offset, printed, raw)
        seen.add(raw.outcome)
    assert {Outcome.COMMITTED, Outcome.ABORTED, Outcome.OPEN, Outcome.CONTROL_RECORD} <= seen


def test_printed_output_with_a_forged_line_tells_nothing(tmp_path: Path) -> None:
    text = (TEXTS / "4.3.0/deep.txt").read_text()
    put(tmp_path / "broker-1/x.txt", text)
    assert outcome(tmp_path, 0).outcome == "COMMITTED"
    put(tmp_path / "broker-1/x.txt", text + text[text.rindex("baseOffset") :])
    assert outcome(tmp_path, 0).outcome == "UNKNOWN"


def section(batches: str, base_offset: int, topic: str = "orders") -> str:
    return f"Dumping /data/{topic}-0/{base_offset:020}.log\nLog starting offset: {base_offset}\n{batches}"


def in_parts() -> tuple[str, str]:
    """Real output, the second batch and those after it in a section of their own, as if a segment had begun there."""
    first, second = LINES[: (at := LINES.index("baseOffset: 3 "))], LINES[at:]
    begun = re.sub("position: ([0-9]+)", lambda found: f"position: {int(found[1]) - 125}", second)
    return section(first, 0), section(begun, 3)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["{0}{1}"], "COMMITTED"),
        # A section that comes too early, or again, may hide a marker before the one that is found.
        (["{1}{0}"], "UNKNOWN"),
        (["{0}{1}", "{0}{1}"], "UNKNOWN"),
        # In the order of this log's sections, whatever else is printed before them.
        (["{1}", "{0}"], "COMMITTED"),
        (["{other}{0}", "{1}"], "COMMITTED"),
    ],
)
def test_sections_of_printed_output_are_put_in_order(texts: list[str], expected: str, tmp_path: Path) -> None:
    first, second = in_parts()
    other = section(LINES, 500, "payments")
    for number, text in enumerate(texts):
        put(tmp_path / "broker-1" / f"{number}.txt", text.format(first, second, other=other))
    assert outcome(tmp_path, 0).outcome == expected


def test_what_is_cut_off_may_have_been_of_this_log(tmp_path: Path) -> None:
    first, second = in_parts()
    other = section(LINES, 0, "payments")
    packed = gzip.compress((first + other + second).encode(), 0)
    put(tmp_path / "broker-1/x.txt.gz", packed)
    assert outcome(tmp_path, 0).outcome == "COMMITTED"
    put(tmp_path / "broker-1/x.txt.gz", packed[: len(packed) // 2])
    assert outcome(tmp_path, 0).outcome == "UNKNOWN"


def test_a_text_of_other_logs_that_is_cut_may_have_had_the_marker(tmp_path: Path) -> None:
    first, second = in_parts()
    put(tmp_path / "broker-1/0.txt", first)
    others = section(LINES, 0, "payments").rstrip("\n")
    put(tmp_path / "broker-1/1.txt", others + "\n")
    assert outcome(tmp_path, 0).outcome == "OPEN"
    put(tmp_path / "broker-1/1.txt", others[:-3])
    found = outcome(tmp_path, 0)
    assert (found.outcome, found.reason) == (
        "UNKNOWN",
        "no marker follows in what can be read: broker-1/1.txt: it ends in the middle of a line",
    )
    # What was found is not in doubt.
    put(tmp_path / "broker-1/2.txt", second)
    assert outcome(tmp_path, 0).outcome == "COMMITTED"


def logs_with_index() -> Iterable[tuple[Path, Place]]:
    return sorted(
        {(index.parents[2], Place(*_named(index.parent.name))) for index in SAMPLES.glob("*/*/*/*.txnindex")}, key=str
    )


def _named(folder: str) -> tuple[str, int]:
    topic, _, partition = folder.rpartition("-")
    return topic, int(partition)


def kafkas(log: Path) -> Iterator[tuple[int, int, int]]:
    for index in log.glob("*.txnindex"):
        for entry in aborted_transactions(small_content(str(index), 1 << 20)):
            yield int(entry["producer_id"]), int(entry["first_offset"]), int(entry["last_offset"])


@pytest.mark.parametrize(("sample", "place"), logs_with_index(), ids=lambda each: getattr(each, "name", str(each)))
def test_brokers_wrote_the_same_into_their_indexes(sample: Path, place: Place, tmp_path: Path) -> None:
    """The markers alone, without the index that they are held against, record by record."""
    dump = shutil.copytree(sample, tmp_path / "dump", ignore=shutil.ignore_patterns("*.txnindex", "__t*"))
    found, offset, is_there = inventory(dump), 0, True
    while is_there:
        copies = record_outcomes(found, place, offset)[1]
        is_there = any(each.outcome is not Outcome.BEYOND_END for each in copies)
        for each in copies:
            if each.outcome not in (Outcome.COMMITTED, Outcome.ABORTED):
                continue
            assert each.batch is not None
            log = sample / each.log_dir / str(place)
            is_listed = any(
                producer == each.batch.producer_id and first <= offset < last for producer, first, last in kafkas(log)
            )
            assert is_listed == (each.outcome is Outcome.ABORTED), (offset, each)
        offset += 1
    assert offset > 1
