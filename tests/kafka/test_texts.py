"""The samples as texts that their release's `kafka-dump-log` prints: the verdicts of the samples, or weaker ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.benchmarks.segments import Layout, write_segment
from tests.benchmarks.text import printed
from tests.kafka.judge import NEWEST, OLDEST, tool
from txnlog.config import DetectOptions, detect_options
from txnlog.dump.dump_file import FileKind
from txnlog.dump.inventory import inventory
from txnlog.dump.text_splits import SPLIT_SIZE, splits
from txnlog.format.batch import NOTHING_FOLLOWS
from txnlog.job.facts import facts_of
from txnlog.job.main import run
from txnlog.report.table_rows import rows
from txnlog.sources.reading import evidence
from txnlog.tables.layout import DUMP_FILES, OPEN_TRANSACTIONS, Root

pytestmark = pytest.mark.kafka
SAMPLES = Path(__file__).parents[2] / "data" / "samples"
DUMP_LOG = {OLDEST: "kafka.tools.DumpLogSegments", NEWEST: "org.apache.kafka.tools.DumpLogSegments"}
RELEASE_OF = {
    "kafka-3.5.2": OLDEST,
    "kafka-3.5.2-torn": OLDEST,
    "kafka-4.3.0": NEWEST,
    "kafka-4.3.0-stopped": NEWEST,
    "shop": OLDEST,
}
TRUTHS = {name: json.loads((SAMPLES / name / "truth.json").read_text()) for name in RELEASE_OF}
PRINTED = (FileKind.SEGMENT, FileKind.PRODUCER_SNAPSHOT, FileKind.TRANSACTION_INDEX)
KEPT = (FileKind.META_PROPERTIES, FileKind.OFFSET_CHECKPOINT)
DEEP, SHALLOW = ("--deep-iteration",), ()
# Less than any line of a batch has.
SHORTEST_LINE = 250
Key = tuple[str, int, int]


def as_text(sample: str, target: Path, options: tuple[str, ...]) -> None:
    """The sample with two texts for each broker in the place of its logs; what else is small is kept."""
    release, folder = RELEASE_OF[sample], target / sample
    folder.mkdir(parents=True)
    files = [file for file in inventory(SAMPLES / sample).files if not file.skipped]
    for file in files:
        if file.kind in KEPT:
            kept = folder / file.file
            kept.parent.mkdir(exist_ok=True)
            shutil.copy(file.path, kept)
    for log_dir in sorted({file.log_dir for file in files if file.topic}):
        mine = [file for file in files if file.log_dir == log_dir and file.kind in PRINTED and file.topic]
        coordinators = [file.path for file in mine if file.topic == "__transaction_state"]
        others = [file.path for file in mine if file.topic != "__transaction_state"]
        for name, paths, chosen in (
            ("logs.txt", others, options),
            ("coordinators.txt", coordinators, ("--transaction-log-decoder",)),
        ):
            if paths:
                lines = tool(release, DUMP_LOG[release], *chosen, "--files", ",".join(paths))
                (folder / log_dir / name).write_text("".join(f"{line}\n" for line in lines))
    manifest = (SAMPLES / sample / "dump.toml").read_text()
    cluster = TRUTHS[sample]["cluster"]
    (folder / "dump.toml").write_text(manifest.replace(f'"{cluster}"', f'"{cluster} {target.name}"'))


@pytest.fixture(scope="module")
def tables(spark: SparkSession, kafka_jars: None, tmp_path_factory: pytest.TempPathFactory) -> Root:
    folder = tmp_path_factory.mktemp("texts")
    for name, options in (("deep", DEEP), ("shallow", SHALLOW)):
        for sample in RELEASE_OF:
            as_text(sample, folder / "dump" / name, options)
    root = Root(str(folder / "tables"))
    run(spark, detect_options({"dump": str(folder / "dump"), "tables": root.text}))
    return root


def by_key(transactions: list[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
    return {(each["topic"], each["partition"], each["producer_id"]): each for each in transactions}


def found_in(tables: Root, sample: str, text: str) -> dict[Key, dict[str, Any]]:
    return by_key(rows(tables, OPEN_TRANSACTIONS, f"cluster = '{TRUTHS[sample]['cluster']} {text}'"))


@pytest.mark.parametrize("text", ["deep", "shallow"])
@pytest.mark.parametrize("sample", RELEASE_OF)
def test_a_text_gives_the_verdicts_of_the_sample_or_weaker_ones(tables: Root, sample: str, text: str) -> None:
    truth = by_key(TRUTHS[sample]["open_transactions"])
    found = found_in(tables, sample, text)
    assert found.keys() == truth.keys()
    for key, row in found.items():
        assert row["start_offset"] == truth[key]["start_offset"], key
        same = (row["cause"], row["action"]) == (truth[key]["cause"], truth[key]["action"])
        assert same or row["action"] in ("UNDETERMINED", "WAIT"), (key, row["cause"], row["reason"])
        assert row["confidence"] != "HIGH"
        assert row["reason"].endswith("(by kafka-dump-log output)")


@pytest.mark.parametrize("sample", RELEASE_OF)
def test_with_records_every_verdict_is_that_of_the_sample(tables: Root, sample: str) -> None:
    truth = by_key(TRUTHS[sample]["open_transactions"])
    found = found_in(tables, sample, "deep")
    # No text says where the broker's log starts: leader-epoch-checkpoint does.
    without_start = {key: ("COVERAGE_GAP", "UNDETERMINED") for key in truth if key[0] == "phantom"}
    assert {key: (row["cause"], row["action"]) for key, row in found.items()} == {
        key: (row["cause"], row["action"]) for key, row in truth.items()
    } | without_start


def test_without_records_what_follows_a_marker_is_undetermined(tables: Root) -> None:
    truth = by_key(TRUTHS["kafka-3.5.2"]["open_transactions"])
    found = found_in(tables, "kafka-3.5.2", "shallow")
    late_writes = {key for key, row in truth.items() if row["cause"] == "LATE_WRITE_AFTER_END"}
    assert late_writes
    assert {found[key]["cause"] for key in late_writes} == {"NOT_PRINTED"}
    assert all("--deep-iteration --files" in found[key]["reason"] for key in late_writes)


def test_every_text_is_whole_and_every_byte_accounted_for(tables: Root) -> None:
    files = rows(tables, DUMP_FILES, "is_text")
    assert len(files) > 500
    for file in files:
        parts = ("bytes_parsed", "bytes_tail", "bytes_damaged", "bytes_skipped")
        assert sum(file[part] for part in parts) == file["size_in_bytes"]
        assert file["damaged_to"] is None, (file["file"], file["problem"])


@pytest.fixture(scope="module")
def long_text(kafka_jars: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the tool prints of a log is long enough to be read by several tasks; the log is beside it."""
    folder = tmp_path_factory.mktemp("long")
    log, text = folder / "raw" / "orders-0" / f"{0:020}.log", folder / "text" / "orders.txt"
    for path in (log, text):
        path.parent.mkdir(parents=True)
    write_segment(log, Layout().transactions(), 2 * SPLIT_SIZE // SHORTEST_LINE)
    printed([log], text, SHALLOW)
    return folder


def file_rows(spark: SparkSession, dump: Path) -> list[dict[str, Any]]:
    listed = inventory(dump)
    facts = facts_of(evidence(spark, listed), DetectOptions(dump=str(dump), tables=""), listed)
    return [row.asDict() for row in facts.dump_files.where("kind = 'segment'").collect()]


def test_a_long_text_is_read_by_several_tasks_and_says_what_the_log_says(spark: SparkSession, long_text: Path) -> None:
    path = long_text / "text/orders.txt"
    assert len(splits(str(path), path.stat().st_size)) > 1
    (raw,), (text,) = file_rows(spark, long_text / "raw"), file_rows(spark, long_text / "text")
    same = ("topic", "partition", "batches", "first_offset", "last_offset", "broker_timestamp", "damaged_to", "gap_to")
    assert {name: text[name] for name in same} == {name: raw[name] for name in same}
    assert (text["is_text"], text["problem"], text["batches"] > SPLIT_SIZE // SHORTEST_LINE) == (True, None, True)
    with path.open("rb") as lines:
        assert text["bytes_parsed"] == text["size_in_bytes"] == path.stat().st_size - len(next(lines))


def test_a_long_text_that_ends_in_a_line_is_not_whole(spark: SparkSession, long_text: Path, tmp_path: Path) -> None:
    cut = tmp_path / "orders.txt"
    cut.write_bytes((long_text / "text/orders.txt").read_bytes()[:-50])
    (row,) = file_rows(spark, tmp_path)
    assert row["damaged_to"] == NOTHING_FOLLOWS
    assert "it ends in the middle of a line" in row["problem"]
