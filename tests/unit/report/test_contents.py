"""What the report takes from the tables: the latest run of each cluster, in the order of what to do first."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.report_tables import HOUR, NIGHT, file, night, transaction, written
from txnlog.detection.causes import Action
from txnlog.errors import OptionError, TableError
from txnlog.report import contents, coverage, run_history
from txnlog.report.advice import ADVICE, COSTS

BEFORE = NIGHT - timedelta(days=1)


def test_only_the_latest_run_of_each_cluster_counts(tmp_path: Path) -> None:
    old = [transaction("old", as_of=BEFORE), transaction("other", as_of=BEFORE, cluster="b")]
    runs = [night(BEFORE), night(), night(BEFORE, cluster="b")]
    found = contents.of_tables(written(tmp_path, [*old, transaction("new")], runs))
    assert [row["topic"] for row in found.transactions] == ["other", "new"]
    assert [row["topic"] for row in found.previous] == ["old"]


def test_of_two_runs_over_the_same_dump_the_last_one_counts(tmp_path: Path) -> None:
    again = night(run_id="again", finished_at=NIGHT + 9 * HOUR)
    found = contents.of_tables(written(tmp_path, [], [again, night(run_id="first")]))
    assert [row["run_id"] for row in found.runs] == ["again"]


def test_committed_data_comes_first_and_then_what_holds_back_most_records(tmp_path: Path) -> None:
    rows = [
        transaction("keep", action="KEEP", cause="MARKER_LOST_COMMIT", held_back_records=7),
        transaction("a-small", held_back_records=1),
        transaction("fence", action="FENCE", cause="STUCK_ONGOING", held_back_records=800),
        transaction("b-large", held_back_records=9),
        transaction("young", late=False),
    ]
    found = contents.of_tables(written(tmp_path, rows, [night()])).blocked_partitions()
    assert [each.partition.topic for each in found] == ["keep", "fence", "b-large", "a-small"]


def test_of_a_partition_the_first_late_transaction_counts_and_young_ones_are_shown(tmp_path: Path) -> None:
    rows = [
        transaction(start=9, cause="EPOCH_MISMATCH"),
        transaction(start=5, late=False, action="WAIT", cause="ONGOING"),
        transaction(start=7, late=None, cause="ID_EXPIRED"),
    ]
    (found,) = contents.of_tables(written(tmp_path, rows, [night()])).blocked_partitions()
    assert [row["start_offset"] for row in found.transactions] == [5, 7, 9]
    assert found.first["cause"] == "ID_EXPIRED"


def test_runs_compare_by_what_came_and_what_went(tmp_path: Path) -> None:
    rows = [
        transaction("stays", as_of=BEFORE),
        transaction("goes", as_of=BEFORE),
        transaction("stays"),
        transaction("comes"),
    ]
    found = contents.of_tables(written(tmp_path, rows, [night(BEFORE), night()]))
    changes = run_history.changes(found, "payments")
    assert [row["topic"] for row in changes.appeared] == ["comes"]
    assert [row["topic"] for row in changes.gone] == ["goes"]
    assert changes.stayed == 1


def test_missing_and_damaged_coordinators_are_named(tmp_path: Path) -> None:
    files = [file(f"broker-1/__transaction_state-{n}/x.log", partition=n, bytes_damaged=n) for n in (0, 2)]
    found = contents.of_tables(written(tmp_path, [], [night(coordinator_partitions=4)], files))
    assert coverage.coordinators_of(found) == [coverage.Coordinators("payments", [0], [2], [1, 3])]


def test_files_with_a_problem_are_shown_and_files_that_have_no_place_in_a_dump_are_not(tmp_path: Path) -> None:
    files = [
        file("link", kind="segment", topic="orders", problem="a symbolic link is not followed"),
        file("notes.md", kind="other", topic=None, problem="not a file that txnlog reads"),
        file("damaged", kind="segment", topic="orders", bytes_damaged=1),
        file("whole", kind="segment", topic="orders"),
        file("old", topic="orders", bytes_damaged=1, as_of=BEFORE),
    ]
    found = contents.of_tables(written(tmp_path, [], [night()], files))
    assert [row["file"] for row in found.files] == ["damaged", "link"]


def test_one_cluster_can_be_chosen(tmp_path: Path) -> None:
    files = [file(bytes_damaged=1), file("elsewhere", cluster="other", bytes_damaged=1)]
    rows = [transaction(), transaction("elsewhere", cluster="other")]
    found = contents.of_tables(written(tmp_path, rows, [night(), night(cluster="other")], files))
    chosen = found.only("other")
    assert [row["cluster"] for row in (*chosen.runs, *chosen.transactions, *chosen.files, *chosen.coordinators)] == [
        "other"
    ] * 4
    assert found.only(None) == found
    with pytest.raises(OptionError, match="--cluster: nope is not in the tables; they have other, payments"):
        found.only("nope")


def test_tables_without_any_run_are_empty_contents(tmp_path: Path) -> None:
    found = contents.of_tables(written(tmp_path, [], []))
    assert (found.runs, found.transactions, found.latest) == ([], [], {})


def test_tables_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="run `txnlog detect` first"):
        contents.of_tables(str(tmp_path))


def test_every_action_has_its_words() -> None:
    assert set(ADVICE) == set(COSTS) == set(Action)
