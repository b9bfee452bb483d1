"""`txnlog transactions --summary`: its figures are those that numpy finds in the same rows."""

from __future__ import annotations

import csv
import io
import json
import random
import shlex
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from tests.tables_by_hand import at, put
from tests.terminal import seen
from txnlog.cli import main
from txnlog.report.transaction_summary import FIGURES, GROUPS
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_STATES, TRANSACTIONS, Root

COPIED = at(500_000.000_7)
MS = timedelta(milliseconds=1)
NAMES = ["checkout", "it's", "a\nb"]
TOPICS = ["orders", "pay-ments", "o'clock"]
# Outcome, who ended it, whether its Prepare* and its Complete* record are kept.
ENDS = [
    *[("COMMIT", "CLIENT", True, True)] * 8,
    ("COMMIT", "CLIENT", False, True),
    ("COMMIT", "CLIENT", True, False),
    ("ABORT", "CLIENT", True, True),
    ("ABORT", "TIMEOUT", True, True),
    ("ABORT", "FENCING", True, True),
    ("ABORT", None, False, True),
    ("CONTRADICTED", None, True, True),
    (None, None, False, False),
]


def transactions() -> Iterator[dict[str, Any]]:
    """One after the other of each id in each of two clusters, over two days; the last one is under way."""
    chance = random.Random(7)
    for cluster, name in ((cluster, name) for cluster in ("c", "d") for name in NAMES):
        second, count = 0.0, 120 if name != NAMES[2] else 7
        for number in range(count):
            second = round(second + chance.expovariate(count / 150_000), 3)
            outcome, ended_by, is_decided, is_complete = chance.choice(ENDS)
            if number == count - 1:
                outcome, ended_by, is_decided, is_complete = None, None, False, False
            decided = at(second) + timedelta(milliseconds=chance.choice([3, chance.randrange(100_000)]))
            yield {
                "cluster": cluster, "transactional_id": name, "start_timestamp": at(second), "outcome": outcome,
                "ended_by": ended_by, "decided_at": decided if is_decided else None, "as_of": COPIED,
                "completed_at": decided + timedelta(milliseconds=chance.randrange(50)) if is_complete else None,
                "partitions": [{"topic": topic, "partition": partition, "listed_at": at(second)}
                               for topic in chance.sample(TOPICS, chance.randrange(3)) for partition in (0, 1)],
            }  # fmt: skip


FOUND = [*transactions()]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    root = Root(str(tmp_path_factory.mktemp("tables")))
    put(root, TRANSACTIONS, FOUND)
    whole = {"topic_id": "", "coordinator_partition": 0, "from_offset": 0, "to_offset": 9}
    put(root, COORDINATOR_RANGES, [whole | {"cluster": name, "written_to": at(0)} for name in ("c", "d")])
    put(root, COORDINATOR_STATES, [])
    return root


def printed(root: Root, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["transactions", "--tables", root.text, "--summary", *arguments]) == 0
    return capsys.readouterr().out


def groups_of(row: dict[str, Any], by: str) -> list[str | None]:
    """What a transaction counts in."""
    topics = {each["topic"] for each in row["partitions"]}
    start = row["start_timestamp"].isoformat()
    groups: dict[str, list[str | None]] = {
        "transactional-id": [row["transactional_id"]],
        "topic": [*(topics or {None})],
        "partition": [f"{each['topic']}-{each['partition']}" for each in row["partitions"]] or [None],
        "hour": [f"{start[:13]}:00:00.000Z"],
        "day": [f"{start[:10]}T00:00:00.000Z"],
    }
    return groups[by]


def ms(start: Any, end: Any) -> int | None:
    return None if start is None or end is None else (end - start) // MS


def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures of a group, found in another way."""
    last = {(row["cluster"], row["transactional_id"]): row for row in FOUND}
    is_last = [row is last[row["cluster"], row["transactional_id"]] for row in rows]
    outcomes = [row["outcome"] for row in rows]
    enders = [row["ended_by"] for row in rows if row["outcome"] == "ABORT"]
    ended = [ms(row["start_timestamp"], row["completed_at"] or row["decided_at"]) for row in rows]
    durations = np.array([each for each in ended if each is not None])
    markers = [ms(row["decided_at"], row["completed_at"]) for row in rows]
    open_for = [(COPIED - row["start_timestamp"]) // MS for row, is_it in zip(rows, is_last, strict=True) if is_it]
    decided = outcomes.count("ABORT") + outcomes.count("COMMIT")
    return {
        "transactions": len(rows),
        "committed": outcomes.count("COMMIT"),
        "aborted": outcomes.count("ABORT"),
        "contradicted": outcomes.count("CONTRADICTED"),
        "unknown_end": outcomes.count(None) - sum(is_last),
        "aborted_share": outcomes.count("ABORT") / decided if decided else None,
        "aborted_by_client": enders.count("CLIENT"),
        "aborted_by_timeout": enders.count("TIMEOUT"),
        "aborted_by_fencing": enders.count("FENCING"),
        "aborted_by_unknown": enders.count(None),
        "measured": len(durations),
        **{
            f"p{share}_ms": np.percentile(durations, share, method="inverted_cdf") if len(durations) else None
            for share in (50, 95, 99)
        },
        "max_ms": max(durations, default=None),
        "markers_max_ms": max((each for each in markers if each is not None), default=None),
        "under_way": sum(is_last),
        "under_way_max_ms": max(open_for, default=None),
    }


@pytest.mark.parametrize("by", GROUPS)
def test_every_figure_is_that_of_numpy(root: Root, capsys: pytest.CaptureFixture[str], by: str) -> None:
    expected = defaultdict(list)
    for row in FOUND:
        for group in groups_of(row, by):
            expected[row["cluster"], group].append(row)
    found = json.loads(printed(root, capsys, "--by", by, "--format", "json"))
    assert {(row["cluster"], row[GROUPS[by][0]]) for row in found} == set(expected)
    assert len(found) == len(expected)
    for row in found:
        whole = expected[row["cluster"], row[GROUPS[by][0]]]
        assert {name: row[name] for name in FIGURES} == figures(whole)


def test_the_rows_cover_every_case() -> None:
    whole = figures(FOUND)
    assert [name for name in FIGURES if not whole[name]] == []


def test_the_slowest_come_first_and_of_times_the_latest(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    slow = [row["p99_ms"] for row in json.loads(printed(root, capsys, "--by", "partition", "--format", "json"))]
    assert slow == sorted(slow, reverse=True)
    hours = [row["hour"] for row in json.loads(printed(root, capsys, "--by", "hour", "--format", "json"))]
    assert hours == sorted(hours, reverse=True)


def test_filters_hold_before_anything_is_summed_up(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ["--cluster", "d", "--topic", "o'clock", "--partition", "1", "--outcome", "ABORT"]
    rows = [
        row
        for row in FOUND
        if row["cluster"] == "d"
        and row["outcome"] == "ABORT"
        and any((each["topic"], each["partition"]) == ("o'clock", 1) for each in row["partitions"])
    ]
    (found,) = json.loads(printed(root, capsys, *wanted, "--by", "partition", "--format", "json"))
    assert found == {"cluster": "d", "topic_partition": "o'clock-1"} | figures(rows)


@pytest.mark.parametrize("by", GROUPS)
def test_what_to_type_next_lists_the_slowest_of_the_slowest(
    root: Root, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    rows = json.loads(printed(root, capsys, "--by", by, "--outcome", "COMMIT", "--format", "json"))
    slowest = max((row for row in rows if row[GROUPS[by][0]] is not None), key=lambda row: row["p99_ms"])
    *_, last = printed(root, capsys, "--by", by, "--outcome", "COMMIT").splitlines()
    assert last.startswith(
        f"Next, the slowest: txnlog transactions --tables {root.text} --cluster {slowest['cluster']} "
    )
    assert main([*shlex.split(last.partition("txnlog ")[2]), "--format", "json"]) == 0
    listed = [row["duration_ms"] for row in json.loads(capsys.readouterr().out)]
    assert (min(listed), max(listed)) == (slowest["p99_ms"], slowest["max_ms"])


def test_a_table_says_what_a_duration_is_and_what_is_left_out(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    heading, *rows, meaning, limit, _ = printed(root, capsys, "--by", "day", "--limit", "2").splitlines()
    assert heading.split()[:7] == ["Cluster", "Day", "Transactions", "P50Ms", "P95Ms", "P99Ms", "MaxMs"]
    assert len(rows) == 2
    assert meaning.startswith("Durations: ms from a transaction's start to its Complete* record")
    days = len({(row["cluster"], day) for row in FOUND for day in groups_of(row, "day")})
    assert limit == f"Only the first 2 of {days} rows are listed: --limit {days} lists all."
    header, *lines = csv.reader(io.StringIO(printed(root, capsys, "--by", "day", "--format", "csv")))
    assert header == ["cluster", "day", *FIGURES]
    assert len(lines) == days


def test_every_line_but_the_last_fits_a_terminal(
    root: Root, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("txnlog.commands.past_transactions.width", lambda: 90)
    *lines, last = seen(printed(root, capsys, "--by", "topic"))
    assert max(map(len, lines)) <= 90
    assert last.startswith("Next, the slowest: ")


def test_nothing_is_said_in_a_sentence(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(root, capsys, "--topic", "absent") == "No transactions.\n"
    assert main(["transactions", "--tables", root.text, "--summary", "--transactional-id", "absent"]) == 2
    assert "--transactional-id: no record of 'absent' is kept: `txnlog list` has the ids" in capsys.readouterr().err
    assert (
        main(["transactions", "--tables", root.text, "--from", "2027-01-01T00:00Z", "--to", "2026-01-01T00:00Z"]) == 2
    )
    assert "--from: 2027-01-01T00:00Z is not before --to 2026-01-01T00:00Z" in capsys.readouterr().err
    assert main(["transactions", "--tables", root.text, "--topic", "pay", "--partition", "-1"]) == 2
    assert "--partition: -1 is below 0" in capsys.readouterr().err
    assert main(["transactions", "--tables", root.text, "--summary", "--cluster", "x"]) == 2
    assert "--cluster: x is not in the tables; they have c, d" in capsys.readouterr().err
