"""A dump of raw logs and of texts together, through the whole job and the command line."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from txnlog.config import detect_options
from txnlog.errors import DumpError
from txnlog.job.main import run
from txnlog.report.table_rows import rows
from txnlog.sources.reading import batches
from txnlog.tables.layout import DUMP_FILES, OPEN_TRANSACTIONS, Root

TEXTS = Path(__file__).parents[1] / "texts"
COORDINATOR = Path(__file__).parents[2] / "data/samples/kafka-3.5.2/broker-1/__transaction_state-11"


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Root:
    """Cluster `texts` has texts only, `both` a raw coordinator and orders-0 raw and as a text."""
    folder = tmp_path_factory.mktemp("texts")
    for cluster in ("texts", "both"):
        log_dir = folder / "dump" / cluster / "broker-1"
        log_dir.mkdir(parents=True)
        started = 'started = "2026-11-21T09:40:00Z"\ntransaction_state_partitions = 50\n'
        (log_dir.parent / "dump.toml").write_text(f'cluster = "{cluster}"\n{started}')
        shutil.copy(TEXTS / "4.3.0/deep.txt", log_dir / "a ticket's attachment")
    shutil.copy(TEXTS / "2.4.1/coordinator.txt", folder / "dump/texts/broker-1/coordinator.txt")
    both = folder / "dump/both/broker-1"
    shutil.copytree(COORDINATOR, both / COORDINATOR.name)
    (both / "orders-0").mkdir()
    shutil.copy(TEXTS / "4.3.0/segment", both / "orders-0/00000000000000000000.log")
    root = Root(str(folder / "tables"))
    run(spark, detect_options({"dump": str(folder / "dump"), "tables": root.text}))
    return root


def only(tables: Root, cluster: str) -> dict[str, Any]:
    (row,) = rows(tables, OPEN_TRANSACTIONS, f"cluster = '{cluster}'")
    return row


def test_a_text_shows_what_the_segment_shows(tables: Root) -> None:
    row, raw = only(tables, "texts"), only(tables, "both")
    same = ("topic", "partition", "producer_id", "start_offset", "records", "bytes", "last_marker_type", "cause")
    assert {name: row[name] for name in same} == {name: raw[name] for name in same}
    assert row["start_offset"] == 20
    assert row["opened_file"] == "texts/broker-1/a ticket's attachment/orders-0/00000000000000000000.log"
    assert row["reason"] == f"{raw['reason']} (by kafka-dump-log output)"


def test_raw_segments_win_and_the_table_of_files_says_so(tables: Root) -> None:
    files = {row["file"]: row for row in rows(tables, DUMP_FILES, "cluster = 'both' AND topic = 'orders'")}
    text = files["both/broker-1/a ticket's attachment/orders-0/00000000000000000000.log"]
    raw = files["both/broker-1/orders-0/00000000000000000000.log"]
    assert (raw["copy_chosen"], raw["is_text"]) == (True, False)
    assert (text["copy_chosen"], text["is_text"]) == (False, True)
    assert raw["chosen_because"] == "raw segments, which have more than kafka-dump-log output"


def test_a_text_that_names_neither_its_partition_nor_a_time_of_a_broker_needs_both(
    spark: SparkSession, tmp_path: Path
) -> None:
    lines = (TEXTS / "4.3.0/deep.txt").read_text().replace("orders-0/", "").splitlines(keepends=True)
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump/ticket.txt").write_text("".join(lines[:6]))
    options = {"dump": str(tmp_path / "dump"), "tables": str(tmp_path / "tables")}
    words = "ticket.txt: byte 0: Dumping 00000000000000000000.log names no partition: name it with --topic-partition"
    with pytest.raises(DumpError, match=words):
        run(spark, detect_options(options))
    options["topic_partition"] = "orders-0"
    with pytest.raises(DumpError, match=r"it is not known when \. was copied or printed: give the time with --as-of"):
        run(spark, detect_options(options))
    run(spark, detect_options({**options, "as_of": "2026-11-21T12:00:00Z"}))
    (row,) = rows(Root(options["tables"]), OPEN_TRANSACTIONS)
    assert (row["topic"], row["partition"]) == ("orders", 0)


@pytest.mark.parametrize("level", ["all", "markers"])
def test_rows_of_some_producers_are_those_of_all_that_have_their_ids(
    spark: SparkSession, tmp_path: Path, level: str
) -> None:
    log_dir = tmp_path / "dump" / "broker-1"
    log_dir.mkdir(parents=True)
    for name in ("4.3.0", "3.5.2", "2.4.1"):
        shutil.copy(TEXTS / name / "deep.txt", log_dir / f"{name}.txt")
    shutil.copytree(COORDINATOR, log_dir / COORDINATOR.name)
    everything = [row.asDict() for row in batches(spark, str(tmp_path), level).collect()]
    producers = {row["producer_id"] for row in everything} - {-1}
    assert len(producers) > 1
    for producer_id in producers:
        found = [row.asDict() for row in batches(spark, str(tmp_path), level, producers=str(producer_id)).collect()]
        expected = [row for row in everything if row["producer_id"] == producer_id]
        assert sorted(found, key=str) == sorted(expected, key=str)
