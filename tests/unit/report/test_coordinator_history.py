"""Since when the history of coordinators is whole, by the ranges that are kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.tables_by_hand import put
from txnlog.cli import main
from txnlog.errors import HistoryError
from txnlog.report.coordinator_history import ClusterHistory, histories_of, rendered, summary, trouble
from txnlog.tables.layout import COORDINATOR_RANGES, RUNS, Root, Table

START = datetime(2026, 11, 21, tzinfo=UTC)


def at(hour: float) -> datetime:
    return START + timedelta(hours=hour)


def kept(partition: int, offsets: tuple[int, int], hours: tuple[float, float], **more: Any) -> dict[str, Any]:
    """A row of `coordinator_ranges`."""
    return {
        "cluster": "c",
        "coordinator_partition": partition,
        "topic_id": "t",
        "from_offset": offsets[0],
        "to_offset": offsets[1],
        "written_from": at(hours[0]),
        "written_to": at(hours[1]),
        "leader_epochs": [{"epoch": 0, "start_offset": offsets[0]}],
    } | more


def history(*ranges: dict[str, Any], partitions: int = 2, empty: tuple[int, ...] = ()) -> ClusterHistory:
    run = {"cluster": "c", "coordinator_partitions": partitions, "as_of_from": at(40), "as_of_to": at(40)}

    def files(_table: Table, _where: str) -> list[dict[str, Any]]:
        return [{"cluster": "c", "partition": number, "as_of": at(40)} for number in empty]

    (found,) = histories_of([run], ranges, files)
    return found


WHOLE = kept(0, (50, 90), (10, 40))


def test_the_partition_that_begins_last_counts() -> None:
    assert history(WHOLE, kept(1, (20, 30), (12, 40))).whole_since == at(12)


def test_a_partition_that_is_whole_from_its_start_does_not_count() -> None:
    assert history(WHOLE, kept(1, (0, 30), (12, 40))).whole_since == at(10)
    elected = kept(1, (0, 30), (12, 40), leader_epochs=[{"epoch": 4, "start_offset": 0}])
    assert history(WHOLE, elected).whole_since == at(12)
    assert history(kept(0, (0, 9), (10, 40)), kept(1, (0, 30), (12, 40))).whole_since == at(10)


def test_a_partition_without_records_is_missing_unless_the_dump_shows_it_empty() -> None:
    found = history(WHOLE)
    assert (found.missing, found.whole_since) == ([1], None)
    assert trouble(found) == "no record of __transaction_state-1"
    assert history(WHOLE, empty=(1,)).whole_since == at(10)
    assert trouble(history(WHOLE, empty=(1,))) == ""


def test_without_a_run_nobody_knows_how_many_partitions_there_are() -> None:
    def archived(*ranges: dict[str, Any]) -> ClusterHistory:
        (found,) = histories_of([], ranges, lambda *_: [])
        return found

    assert archived(WHOLE, kept(2, (20, 30), (12, 40))).missing == [1]
    found = archived(WHOLE, kept(1, (20, 30), (12, 40)))
    assert (found.missing, found.whole_since) == ([], at(12))
    assert "in all 2 partitions that are kept; how many there are is not known" in summary(found)
    assert summary(history(WHOLE, kept(1, (20, 30), (12, 40)))).endswith("in all partitions")


def test_a_hole_is_named_as_long_as_it_is_within() -> None:
    found = history(WHOLE, kept(1, (0, 20), (0, 3)), kept(1, (25, 60), (15, 40)))
    assert found.whole_since == at(15)
    assert found.partitions[1]["last_hole"] == [at(3), at(15)]
    assert trouble(found) == "a hole in __transaction_state-1"
    hour = 3_600_000
    assert trouble(found, within_ms=25 * hour) == "a hole in __transaction_state-1"
    assert trouble(found, within_ms=25 * hour - 1) == ""
    assert summary(found).endswith("in the latest range of all partitions; 1 partition with a hole before")


def test_a_recreated_topic_leaves_no_hole() -> None:
    old = kept(1, (0, 20), (0, 3), topic_id="old")
    assert trouble(history(WHOLE, old, kept(1, (0, 60), (15, 40)))) == ""


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_every_partition_is_printed(form: str) -> None:
    found = history(WHOLE, kept(1, (0, 20), (0, 3)), kept(1, (25, 60), (15, 40)))
    text = rendered([found], form)
    assert all(word in text for word in ("2026-11-21T03:00:00.000Z", "2026-11-21T15:00:00.000Z", "2026-11-21T10:00:00"))


def test_of_tables_in_which_nothing_is_kept_it_does_not_say_that_all_is_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for table in (RUNS, COORDINATOR_RANGES):
        put(Root(str(tmp_path)), table, [])
    assert main(["history", "--tables", str(tmp_path)]) == HistoryError.exit_code
    assert "nothing is kept of any cluster" in capsys.readouterr().err
