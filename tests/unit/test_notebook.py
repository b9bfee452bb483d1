"""The notebook, run cell by cell on a real dump; what it answers is what the sample's truth says."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from txnlog.sources import reading

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "jobs/notebooks/hanging_transactions.py"
SAMPLE = ROOT / "data/samples/kafka-3.5.2"
QUESTIONS = 12
HEADER, SEPARATOR, MAGIC = "# Databricks notebook source\n", "\n# COMMAND ----------\n", "# MAGIC"
TRUTH = json.loads((SAMPLE / "truth.json").read_text("utf-8"))["open_transactions"]


def cells() -> list[str]:
    """The cells of code; those of text are comments, and empty when those are gone."""
    text = NOTEBOOK.read_text("utf-8").removeprefix(HEADER)
    return [cell for cell in text.split(SEPARATOR) if not cell.strip().startswith(MAGIC)]


def run(cell: str, names: dict[str, Any]) -> None:
    exec(compile(cell, str(NOTEBOOK), "exec"), names)


@pytest.fixture(scope="module")
def names(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the notebook's names stand for when all cells have run."""
    found: dict[str, Any] = {"spark": spark, "__name__": "notebook"}
    setup, *others = cells()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TXNLOG_DUMP", str(SAMPLE))
        environment.setenv("TXNLOG_TABLES", str(tmp_path_factory.mktemp("tables")))
        environment.setenv("TXNLOG_PLOTS", str(tmp_path_factory.mktemp("plots")))
        run(setup, found)
        found |= {"show": shown, "show_as_text": found["show"]}
        for cell in others:
            run(cell, found)
        yield found
        ANSWERS.clear()


# What the notebook has shown, by frame: to ask each question twice takes twice the time.
ANSWERS: dict[int, tuple[DataFrame, list[dict[str, Any]]]] = {}


def shown(_: str, frame: DataFrame) -> None:
    ANSWERS[id(frame)] = frame, rows(frame)


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    if id(frame) in ANSWERS:
        return ANSWERS[id(frame)][1]
    return [row.asDict(recursive=True) for row in frame.collect()]


def test_outside_databricks_a_frame_is_text_below_its_question(
    names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    names["show_as_text"]("5. Whose?", names["looked_at"])
    printed = capsys.readouterr().out
    assert printed.startswith("\n5. Whose?\n")
    first = next(row for row in rows(names["hanging"]) if row["transactional_id"] is not None)
    assert first["transactional_id"] in printed


def test_each_question_has_a_heading_and_asks_once(names: dict[str, Any]) -> None:
    text = NOTEBOOK.read_text("utf-8")
    titles = re.findall(r"^# MAGIC ## (\d+\. .*)", text, re.MULTILINE)
    assert [int(title.split(".")[0]) for title in titles] == list(range(1, QUESTIONS + 1))
    assert re.findall(r'^show\("(.*)", ', text, re.MULTILINE) == titles


def test_what_hangs_and_what_to_do_is_what_the_sample_says(names: dict[str, Any]) -> None:
    wanted = {(each["topic"], each["partition"], each["cause"], each["action"]) for each in TRUTH if each["late"]}
    found = {(row["topic"], row["partition"], row["cause"], row["action"]) for row in rows(names["hanging"])}
    assert found == wanted


def test_of_two_open_transactions_the_first_holds_the_partition_back(names: dict[str, Any]) -> None:
    [crowded] = [row for row in rows(names["held_back"]) if row["topic"] == "crowded"]
    assert crowded["last_stable_offset"] == 2
    assert crowded["holder"]["transactional_id"] == "crowded-late"
    assert crowded["open_after"] == 1


def test_late_writes_are_those_of_the_sample_and_no_others(names: dict[str, Any]) -> None:
    wanted = {
        (each["topic"], each["partition"], each["producer_id"], each["start_offset"])
        for each in TRUTH
        if each["cause"] == "LATE_WRITE_AFTER_END"
    }
    found = rows(names["late_writes"])
    assert {(row["topic"], row["partition"], row["producer_id"], row["first_offset"]) for row in found} == wanted


def test_what_is_kept_is_no_late_write(names: dict[str, Any]) -> None:
    """Data of a commit whose marker was lost, after an earlier marker of its producer: who aborts it destroys it."""
    (question,) = (cell for cell in cells() if "late_writes =" in cell)
    opened, found = names["views"]["open_transactions"], dict(names)
    opened.selectExpr("* EXCEPT (action)", "'KEEP' AS action").createOrReplaceTempView("open_transactions")
    try:
        run(question, found)
        assert rows(found["late_writes"]) == []
    finally:
        opened.createOrReplaceTempView("open_transactions")


def test_a_dump_without_a_run_is_said_in_a_line(names: dict[str, Any]) -> None:
    (views,) = (cell for cell in cells() if "latest_run =" in cell)
    with pytest.raises(SystemExit, match=f"no run over elsewhere: detect it, or name it as a run did: {SAMPLE}"):
        run(views, names | {"dump": "elsewhere"})


def test_the_history_of_an_id_shows_that_its_transaction_was_committed(names: dict[str, Any]) -> None:
    of_id = names | {"wanted": {"transactional_id": "lost-commit-id"}}
    (question,) = (cell for cell in cells() if "looked_at =" in cell)
    run(question, of_id)
    found = rows(of_id["history"])
    assert [row["state"] for row in found][-2:] == ["PrepareCommit", "CompleteCommit"]
    assert "lost-commit-0" in found[-2]["listed"].split()


def test_a_whole_dump_has_no_troubles(names: dict[str, Any]) -> None:
    assert rows(names["troubles"]) == []


def test_a_damaged_segment_and_a_missing_coordinator_are_troubles(
    names: dict[str, Any], spark: SparkSession, tmp_path: Path
) -> None:
    dump = shutil.copytree(SAMPLE, tmp_path / "dump")
    shutil.rmtree(dump / "broker-1/__transaction_state-7")
    segment = dump / "broker-1/plain-0/00000000000000000000.log"
    segment.write_bytes(segment.read_bytes()[:-1] + b"\xff")
    damaged = names | {"dump_files": reading.dump_files(spark, str(dump))}
    damaged["dump_files"].createOrReplaceTempView("dump_files")
    for cell in cells():
        if "troubles" in cell:
            run(cell, damaged)
    found = [row["file"] for row in rows(damaged["troubles"])]
    assert found == ["__transaction_state-7", "broker-1/plain-0/00000000000000000000.log"]


def test_what_is_open_at_the_end_of_the_plot_is_what_the_sample_leaves_open(names: dict[str, Any]) -> None:
    assert rows(names["open_over_time"])[-1]["open"] == len(TRUTH)


def test_each_question_has_a_plot_that_shows_something(names: dict[str, Any]) -> None:
    assert [int(name.split("-")[0]) for name in names["plots"]] == list(range(1, QUESTIONS + 1))
    assert [name for name, figure in names["plots"].items() if not any(len(trace.y) for trace in figure.data)] == []


def test_outside_a_notebook_plots_are_files_that_share_one_library(names: dict[str, Any]) -> None:
    folder = Path(names["parameter"]("plots", ""))
    assert {path.stem for path in folder.glob("*.html")} == set(names["plots"])
    assert [path.name for path in folder.glob("*.js")] == ["plotly.min.js"]


def test_what_ended_took_no_longer_than_the_sample(names: dict[str, Any]) -> None:
    found = rows(names["durations"])
    assert sum(row["ended"] for row in found) > 0
    assert all(sorted(row["p50_p95_p99_ms"]) == row["p50_p95_p99_ms"] for row in found)
    assert {row["aborted_percent"] for row in found} > {0.0, 100.0}
    assert all(row["p50_p95_p99_ms"][0] >= 0 and row["p50_p95_p99_ms"][2] <= row["longest_ms"] for row in found)
    by_topic, by_id = ([row for row in found if row[name] is not None] for name in ("topic", "transactional_id"))
    assert by_topic
    assert {row["transactional_id"] for row in by_id} >= {"absorbed-id"}


def test_a_commit_that_a_partition_never_got_is_told(names: dict[str, Any]) -> None:
    lost = {(each["topic"], each["partition"]) for each in TRUTH if each["cause"] == "MARKER_LOST_COMMIT"}
    found = {name: row["recorded"] for row in rows(names["torn"]) for name in row["without_marker"]}
    assert lost
    assert {found[f"{topic}-{partition}"] for topic, partition in lost} == {"COMMIT"}
    assert all(not row["committed_in"] or row["recorded"] == "COMMIT" for row in rows(names["torn"]))


def test_what_is_asked_for_alone_is_in_the_views(names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    (views,) = (cell for cell in cells() if "createOrReplaceTempView(name)" in cell)
    whole = rows(names["views"]["partition_transactions"])
    middle = sorted(row["marker_timestamp"] for row in whole if row["marker_timestamp"])[len(whole) // 3]
    for name, value in (("TOPIC", "crowded"), ("LATEST", str(middle))):
        monkeypatch.setenv(f"TXNLOG_{name}", value)
    found = dict(names)
    run(views, found)
    wanted = [row for row in whole if row["topic"] == "crowded" and (row["first_timestamp"] or 0) < middle]
    assert rows(found["views"]["partition_transactions"].orderBy("first_offset")) == sorted(
        wanted, key=lambda row: row["first_offset"]
    )
    opened = rows(found["views"]["open_transactions"])
    assert {row["topic"] for row in opened} <= {"crowded"}
    # The figures of the HTML report are of the same.
    assert len(names["report"].transactions) > len(found["report"].transactions) == len(opened)
    assert rows(found["views"]["dump_files"].where("topic = '__transaction_state'"))


def test_the_id_of_the_zombie_has_had_more_than_one_epoch(names: dict[str, Any]) -> None:
    assert "zombie-id" in {row["transactional_id"] for row in rows(names["epochs"])}


def test_the_copy_that_lags_is_named(names: dict[str, Any]) -> None:
    assert "lagging" in {row["topic"] for row in rows(names["lags"]) if row["offsets_missing"]}


def test_the_night_of_the_sample_is_counted(names: dict[str, Any]) -> None:
    [night] = rows(names["compared"])
    assert (night["open_transactions"], night["late_transactions"]) == (len(TRUTH), sum(each["late"] for each in TRUTH))


@pytest.mark.parametrize("word", [".rdd", "sparkContext", ".persist(", ".cache(", "_jvm"])
def test_nothing_in_it_needs_classic_compute(word: str) -> None:
    assert all(word not in cell for cell in cells())


def test_it_is_in_databricks_source_form() -> None:
    text = NOTEBOOK.read_text("utf-8")
    assert text.startswith(HEADER)
    assert text.count(SEPARATOR.strip()) >= 15
