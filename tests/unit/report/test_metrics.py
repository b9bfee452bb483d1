"""The metrics are what Prometheus' own parser reads, bounded in number, and hostile names stay values."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests import report_tables
from txnlog.errors import OptionError
from txnlog.report import prometheus
from txnlog.report.coordinator_history import ClusterHistory
from txnlog.report.prometheus import PARTITIONS_LISTED, Figures, exposition, figures_of, write
from txnlog.report.verified import NOT_VERIFIED, with_verification
from txnlog.tables.layout import COORDINATOR_RANGES, RULES_GENERATION, Root

ROOT = Path(__file__).parents[3]
NOW = datetime(2026, 11, 22, 3, tzinfo=UTC)
EARLIER = datetime(2026, 11, 21, 3, tzinfo=UTC)
HOSTILE = ('a"} 1\nowned 7', "back\\slash", "\x1b[2J\r", "\u202eevil", "\ud800", "{}\t", "é😀")
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def run(**values: Any) -> dict[str, Any]:
    return {
        "cluster": "c", "as_of_from": NOW, "as_of_to": NOW, "finished_at": NOW, "open_transactions": 2, "bytes": 10,
        "bytes_damaged": 3, "coordinator_partitions": 50, "coordinator_partitions_missing": 1,
        "partitions_with_late_transactions": 1,
    } | values  # fmt: skip


def transaction(**values: Any) -> dict[str, Any]:
    return {
        "cluster": "c", "topic": "orders", "partition": 0, "cause": "NEVER_ADDED", "action": "ABORT", "late": True,
        "open_for_ms": 7_200_000, "held_back_records": 5, "as_of": NOW, "producer_id": 7, "start_offset": 42,
    } | values  # fmt: skip


def samples(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found: Samples, name: str, **labels: str) -> float | None:
    return found.get((f"txnlog_{name}", frozenset(labels.items())))


def figures(transactions: list[dict[str, Any]], runs: list[dict[str, Any]] | None = None, **rest: Any) -> Figures:
    given = (
        with_verification(rest.get("candidates", []), []),
        rest.get("problems", {}),
        rest.get("histories", [ClusterHistory("c", [], [], NOW)]),
    )
    return Figures(runs or [run()], transactions, *given)


def test_the_history_of_coordinators_is_absent_while_it_cannot_be_told() -> None:
    hole = {"last_hole": [EARLIER, NOW]}
    known = [ClusterHistory("c", [hole, {"last_hole": None}], [], NOW), ClusterHistory("d", [], [3], None)]
    found = samples(exposition(figures([], histories=known)))
    assert value(found, "history_whole_since_seconds", cluster="c") == NOW.timestamp()
    assert value(found, "history_whole_since_seconds", cluster="d") is None
    holes = [value(found, "history_partitions_with_hole", cluster=name) for name in "cd"]
    assert holes == [1, 0]


def test_figures_of_a_run_are_there_with_their_units() -> None:
    found = samples(exposition(figures([transaction()], problems={"c": 4})))
    expected = {
        "partitions_with_late_transactions": 1,
        "open_transactions": 2,
        "coordinator_partitions": 50,
        "coordinator_partitions_missing": 1,
        "input_bytes": 10,
        "input_damaged_bytes": 3,
        "input_files_with_problems": 4,
        "last_success_timestamp_seconds": NOW.timestamp(),
        "dump_timestamp_seconds": NOW.timestamp(),
        "held_back_records": 5,
        "partitions_not_listed": 0,
    }
    assert {name: value(found, name, cluster="c") for name in expected} == expected


def test_late_transactions_are_counted_by_cause_and_action_and_others_are_zero() -> None:
    some = [transaction(), transaction(partition=1, late=None), transaction(late=False)]
    found = samples(exposition(figures(some, candidates=[transaction()])))
    assert value(found, "late_transactions", cluster="c", cause="NEVER_ADDED", action="ABORT") == 2
    assert value(found, "late_transactions", cluster="c", cause="MARKER_LOST_COMMIT", action="KEEP") == 0
    assert value(found, "abort_candidates", cluster="c", cause="NEVER_ADDED", verification=NOT_VERIFIED) == 1
    assert value(found, "abort_candidates", cluster="c", cause="ID_EXPIRED", verification=NOT_VERIFIED) == 0
    assert value(found, "abort_candidates", cluster="c", cause="MARKER_LOST_COMMIT", verification=NOT_VERIFIED) is None


def test_what_is_accepted_without_its_history_is_no_candidate(tmp_path: Path) -> None:
    """It counts as undetermined, as what `--accept-compacted-history` did not mark."""

    def metrics(accepted: bool) -> str:
        row = report_tables.transaction(
            cause="HISTORY_COMPACTED", action="UNDETERMINED", wanted_cause="COORDINATOR_UNKNOWN", accepted=accepted
        )
        root = report_tables.written(tmp_path / str(accepted), [row], [report_tables.night()])
        return exposition(prometheus.figures(root))

    marked = metrics(accepted=True)
    assert marked == metrics(accepted=False)
    found = samples(marked)
    labels = {"cluster": "payments", "cause": "HISTORY_COMPACTED", "action": "UNDETERMINED"}
    assert value(found, "late_transactions", **labels) == 1
    assert {number for (name, _), number in found.items() if name == "txnlog_abort_candidates"} == {0}


def test_a_partition_has_the_age_of_its_oldest_and_its_records_once() -> None:
    found = samples(exposition(figures([transaction(), transaction(open_for_ms=3_600_500)])))
    place = {"cluster": "c", "topic": "orders", "partition": "0"}
    assert value(found, "oldest_open_transaction_seconds", **place) == 7200
    assert value(found, "partition_held_back_records", **place) == 5
    assert value(found, "held_back_records", cluster="c") == 5


def test_the_oldest_partitions_get_series_and_the_others_are_counted() -> None:
    many = [transaction(partition=each, open_for_ms=each) for each in range(PARTITIONS_LISTED + 7)]
    found = samples(exposition(figures([*many, transaction(topic="unknown", open_for_ms=None)])))
    ages = [number for (name, _), number in found.items() if name == "txnlog_oldest_open_transaction_seconds"]
    assert len(ages) == PARTITIONS_LISTED - 1
    assert min(ages) == 8 / 1000
    # Its age is not known: it counts as late, and has no number of seconds.
    unknown = {"cluster": "c", "topic": "unknown", "partition": "0"}
    assert value(found, "oldest_open_transaction_seconds", **unknown) is None
    assert value(found, "partition_held_back_records", **unknown) == 5
    assert value(found, "partitions_not_listed", cluster="c") == 8
    assert value(found, "held_back_records", cluster="c") == 5 * (len(many) + 1)


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_hostile_name_is_one_value_of_one_sample(name: str) -> None:
    text = exposition(figures([transaction(topic=name)]))
    assert all(line.isprintable() for line in text.split("\n"))
    topics = {dict(labels).get("topic") for _, labels in samples(text)} - {None}
    assert len(topics) == 1
    assert not any(sample == "owned" for sample, _ in samples(text))
    text.encode()


def test_only_the_latest_run_counts() -> None:
    tables = {
        "open_transactions": [transaction(), transaction(partition=9, as_of=EARLIER)],
        "dump_files": [
            {
                "cluster": "c",
                "partition": 0,
                "as_of": as_of,
                "bytes_damaged": damaged,
                "bytes_skipped": skipped,
                "kind": kind,
            }
            for as_of, damaged, skipped, kind in (
                (NOW, 1, 0, "segment"),
                (NOW, 0, 7, "segment"),
                (NOW, 0, 7, "time_index"),
                (EARLIER, 1, 0, "segment"),
            )
        ],
        "abort_candidates": [
            transaction(judged_by=RULES_GENERATION),
            transaction(judged_by=RULES_GENERATION, cluster="other"),
            transaction(judged_by=None),
        ],
        "verifications": [transaction(verified_at=NOW, status="GONE")],
    }
    found = figures_of([run()], lambda table, where: tables[table.name], [])
    assert [row["partition"] for row in found.open_transactions] == [0]
    assert dict(found.problems) == {"c": 2}
    assert [row["verification"] for row in found.candidates] == ["GONE"]


def test_a_cluster_that_was_only_archived_has_the_metrics_of_its_history(tmp_path: Path) -> None:
    """`txnlog archive` writes no runs; a hole is to be seen before the next `detect`."""
    report_tables.written(tmp_path, [], [])
    ranges = [
        {
            "cluster": "c", "coordinator_partition": 0, "topic_id": "t", "from_offset": start, "to_offset": start + 5,
            "written_from": written, "written_to": written, "leader_epochs": [{"epoch": 0, "start_offset": start}],
        }
        for start, written in ((3, EARLIER), (20, NOW))
    ]  # fmt: skip
    report_tables.write(tmp_path, COORDINATOR_RANGES, ranges)
    found = samples(exposition(prometheus.figures(Root(str(tmp_path)), "c")))
    assert value(found, "history_whole_since_seconds", cluster="c") == NOW.timestamp()
    assert value(found, "history_partitions_with_hole", cluster="c") == 1
    with pytest.raises(OptionError, match="other is not in the tables; they have c"):
        prometheus.figures(Root(str(tmp_path)), "other")


def test_the_file_is_replaced_at_once_and_a_place_that_is_none_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "txnlog.prom"
    file.write_text("before")
    write(figures([transaction()]), file)
    assert file.read_text() == exposition(figures([transaction()]))
    assert [path.name for path in tmp_path.iterdir()] == ["txnlog.prom"]
    with pytest.raises(OptionError, match="metrics cannot be written there: No such file or directory"):
        write(figures([]), tmp_path / "absent" / "txnlog.prom")


def test_names_and_units_follow_the_conventions() -> None:
    for family in text_string_to_metric_families(exposition(figures([transaction()]))):
        assert family.name.startswith("txnlog_")
        assert family.type == "gauge"
        assert (
            family.documentation.endswith(".") or "KIP-664" in family.documentation or "Kafka's" in family.documentation
        )
        # A unit stands last, but for the timestamps' conventional name.
        assert not any(f"_{unit}_" in family.name for unit in ("seconds", "bytes", "ms"))
        # `total` and `count` are for counters and summaries.
        assert not family.name.endswith(("_total", "_count", "_sum", "_bucket", "_ms"))


def test_each_alert_asks_for_metrics_that_are_written_and_labels_that_they_have() -> None:
    written: dict[str, set[str]] = {}
    for name, labels in samples(exposition(figures([transaction()], candidates=[transaction()], problems={}))):
        written.setdefault(name, set()).update(label for label, _ in labels)
    rules = yaml.safe_load((ROOT / "conf/prometheus-rules.yaml").read_text("utf-8"))
    alerts = [rule for group in rules["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in alerts}) == len(alerts) > 5
    for rule in alerts:
        assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
        named = set(re.findall(r"\btxnlog_\w+", rule["expr"]))
        assert named
        assert named <= written.keys(), rule["alert"]
        asked = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"]))) | set(
            re.findall(r"(\w+)=~?\"", rule["expr"])
        )
        assert asked <= set.intersection(*(written[name] for name in named)), rule["alert"]
        causes = set(re.findall(r"[A-Z_]{4,}", rule["expr"]))
        assert causes <= {"KEEP", "FENCE", "MOVE_COORDINATOR", "UNDETERMINED", "ABORT", "WAIT", "RESOLVED", "GONE"}


def test_the_documentation_has_each_metric_with_its_labels() -> None:
    page = (ROOT / "docs/monitoring.md").read_text("utf-8")
    documented: dict[str, set[str]] = {}
    for names, labels in re.findall(r"^\| (`txnlog_.*?`) \| ([\w, ]+) \|", page, re.MULTILINE):
        documented |= {name: set(labels.split(", ")) for name in re.findall(r"`(txnlog_\w+)`", names)}
    written: dict[str, set[str]] = {}
    for name, pairs in samples(exposition(figures([transaction()], candidates=[transaction()]))):
        written.setdefault(name, set()).update(label for label, _ in pairs)
    assert documented == written
    assert f"Only the {PARTITIONS_LISTED} partitions" in page
