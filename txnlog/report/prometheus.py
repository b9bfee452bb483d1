"""What the tables say, as metrics of Prometheus: `detect --metrics FILE` and `txnlog metrics`.

All are gauges of the latest run of each cluster. Names and units follow Prometheus' conventions; a cluster may have any
number of partitions, so only those with the oldest open transactions get series of their own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest, write_to_textfile
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

import txnlog
from txnlog.detection.causes import Action, Cause
from txnlog.errors import OptionError
from txnlog.report.abort_candidates import is_judged_by_proofs
from txnlog.report.coordinator_history import ClusterHistory, histories
from txnlog.report.latest_run import LATEST_LAST, of_latest_run, since
from txnlog.report.output import printable
from txnlog.report.table_rows import rows_if_there
from txnlog.report.verified import NOT_VERIFIED, with_verification
from txnlog.tables.layout import (
    ABORT_CANDIDATES,
    DUMP_FILES,
    OPEN_TRANSACTIONS,
    RUNS,
    VERIFICATIONS,
    Root,
    Table,
)

# A series each; the others are counted.
PARTITIONS_LISTED = 100
# Kinds of files that a verdict may rest on.
READ = ("segment", "producer_snapshot", "transaction_index", "offset_checkpoint", "dump_text")

Row = Mapping[str, Any]
Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """Rows of the tables that metrics are made of: the latest run of each cluster, and what it found.

    `problems` counts files with a problem by cluster; `candidates` are OPEN, each with the status of its latest
    `verification`; `histories` are those of coordinators.
    """

    runs: Sequence[Row]
    open_transactions: Sequence[Row]
    candidates: Sequence[Row]
    problems: Mapping[str, int]
    histories: Sequence[ClusterHistory]


def figures(root: Root, cluster: str | None = None) -> Figures:
    """The figures of one cluster or of all, without a JVM. One that was only archived has no more than its history."""
    known = histories(root, cluster)
    newest = {run["cluster"]: run for run in rows_if_there(root, RUNS, order=LATEST_LAST)}
    runs = [run for name, run in newest.items() if cluster in (None, name)]
    return figures_of(runs, partial(rows_if_there, root), known)


def figures_of(
    runs: Sequence[Row], read: Callable[[Table, str], list[dict[str, Any]]], known: Sequence[ClusterHistory]
) -> Figures:
    """The figures of some runs, one a cluster, and of histories; `read` gives rows of a table by a condition in SQL."""
    clusters = {run["cluster"] for run in runs}
    files = of_latest_run(read(DUMP_FILES, f"problem IS NOT NULL AND {since(runs)}"), runs)
    return Figures(
        runs,
        of_latest_run(read(OPEN_TRANSACTIONS, since(runs)), runs),
        with_verification(
            (
                row
                for row in read(ABORT_CANDIDATES, "status = 'OPEN'")
                if row["cluster"] in clusters and is_judged_by_proofs(row)
            ),
            read(VERIFICATIONS, "true"),
        ),
        Counter(row["cluster"] for row in files if is_problem(row)),
        known,
    )


def is_problem(file: Row) -> bool:
    """Whether a file with a remark is one that should have been read whole: not one that txnlog never reads."""
    return bool(file["bytes_damaged"]) or (file["kind"] in READ and bool(file["bytes_skipped"]))


def exposition(found: Figures) -> str:
    """The metrics in the text format of Prometheus."""
    return generate_latest(_registry(found)).decode()


def write(found: Figures, path: Path) -> None:
    """Write the metrics to a file atomically: a reader sees the old one or the new one. `OptionError`."""
    try:
        write_to_textfile(str(path), _registry(found))
    except OSError as error:
        raise OptionError(f"{path}: metrics cannot be written there: {error.strerror}") from error


def _registry(found: Figures) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(_Collector(found))
    return registry


class _Collector(Collector):
    """The metrics of some figures, as `prometheus_client` asks for them."""

    def __init__(self, found: Figures) -> None:
        self._found = found

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """One family after the other."""
        yield _gauge("build_info", "Version of txnlog.", ("version",), [((txnlog.__version__,), 1)])
        for name, (column, meaning) in OF_A_RUN.items():
            known = (run for run in self._found.runs if run[column] is not None)
            yield _gauge(name, meaning, ("cluster",), [((run["cluster"],), _number(run[column])) for run in known])
        problems = [((run["cluster"],), self._found.problems.get(run["cluster"], 0)) for run in self._found.runs]
        yield _gauge("input_files_with_problems", "Files of the dump that could not be read.", ("cluster",), problems)
        yield from self._history()
        yield from self._by_cause()
        yield from self._by_partition()

    def _history(self) -> Iterator[GaugeMetricFamily]:
        found = self._found.histories
        yield _gauge(
            "history_whole_since_seconds",
            "Since when the history of all coordinators is whole; not there while partitions are missing.",
            ("cluster",),
            [((each.cluster,), each.whole_since.timestamp()) for each in found if each.whole_since is not None],
        )
        yield _gauge(
            "history_partitions_with_hole",
            "Partitions of __transaction_state whose kept history has a hole.",
            ("cluster",),
            [((each.cluster,), len(each.holes_since(None))) for each in found],
        )

    def _by_cause(self) -> Iterator[GaugeMetricFamily]:
        late = (row for row in self._found.open_transactions if row["late"] is not False)
        counts = Counter[Labels]((row["cluster"], row["cause"], row["action"]) for row in late)
        usual = [(run["cluster"], cause, cause.action) for run in self._found.runs for cause in Cause]
        yield _gauge(
            "late_transactions",
            "Open transactions that are late, or of which the age cannot be known.",
            ("cluster", "cause", "action"),
            _with_zeros(counts, usual),
        )
        labels = ("cluster", "cause", "verification")
        candidates = Counter[Labels](tuple(row[name] for name in labels) for row in self._found.candidates)
        aborts = [(cluster, cause, NOT_VERIFIED) for cluster, cause, action in usual if action is Action.ABORT]
        yield _gauge(
            "abort_candidates",
            "Open rows of the abort list, by what the live cluster last said of them.",
            labels,
            _with_zeros(candidates, aborts),
        )

    def _by_partition(self) -> Iterator[GaugeMetricFamily]:
        partitions = defaultdict[tuple[str, str, int], list[Row]](list)
        for row in self._found.open_transactions:
            partitions[row["cluster"], row["topic"], row["partition"]].append(row)
        ages = {place: _age_s(found) for place, found in partitions.items()}
        listed = sorted(partitions, key=lambda place: (-ages[place], place))[:PARTITIONS_LISTED]
        labels = ("cluster", "topic", "partition")
        yield _gauge(
            "oldest_open_transaction_seconds",
            "Time since the last batch of a partition's oldest open transaction, when it was copied.",
            labels,
            [(tuple(map(str, place)), ages[place]) for place in listed if ages[place] < inf],
        )
        held = {place: max(row["held_back_records"] for row in found) for place, found in partitions.items()}
        yield _gauge(
            "partition_held_back_records",
            "Records that read_committed consumers of a partition do not get.",
            labels,
            [(tuple(map(str, place)), held[place]) for place in listed],
        )
        sums, unlisted = Counter[Labels](), Counter[Labels]()
        for place, count in held.items():
            sums[place[:1]] += count
        for place in partitions.keys() - set(listed):
            unlisted[place[:1]] += 1
        clusters = [(run["cluster"],) for run in self._found.runs]
        yield _gauge(
            "held_back_records",
            "Records that read_committed consumers of all partitions do not get.",
            ("cluster",),
            _with_zeros(sums, clusters),
        )
        yield _gauge(
            "partitions_not_listed",
            "Partitions with open transactions that have no series of their own.",
            ("cluster",),
            _with_zeros(unlisted, clusters),
        )


# Metric to column of `runs`, and what it is.
OF_A_RUN = {
    "partitions_with_late_transactions": (
        "partitions_with_late_transactions",
        "Partitions with a late transaction: Kafka's PartitionsWithLateTransactionsCount.",
    ),
    "open_transactions": ("open_transactions", "Open transactions, whatever their age."),
    "coordinator_partitions": ("coordinator_partitions", "Partitions that __transaction_state has."),
    "coordinator_partitions_missing": ("coordinator_partitions_missing", "How many of them the dump lacks."),
    "input_bytes": ("bytes", "Bytes of the dump."),
    "input_damaged_bytes": ("bytes_damaged", "Bytes of it that are not what Kafka writes."),
    "dump_timestamp_seconds": ("as_of_from", "When the first copy of the dump was taken."),
    "last_success_timestamp_seconds": ("finished_at", "When the last run that came to its end did so."),
}


def _number(value: Any) -> float:
    return float(value.timestamp() if isinstance(value, datetime) else value)


def _age_s(transactions: Iterable[Row]) -> float:
    """Age of the oldest one; infinite where one's age cannot be known: it counts as late."""
    ages = [row["open_for_ms"] for row in transactions]
    return inf if None in ages else max(ages) / 1000


def _with_zeros(counts: Mapping[Labels, int], usual: Iterable[Labels]) -> list[tuple[Labels, int]]:
    """What was counted, and 0 for what usually could be: a series that is not there raises no alert."""
    return sorted((dict.fromkeys(usual, 0) | dict(counts)).items())


def _gauge(
    name: str, meaning: str, labels: Sequence[str], samples: Iterable[tuple[Labels, float]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"txnlog_{name}", meaning, labels=labels)
    for values, number in samples:
        # The format escapes quotation marks and line breaks; what changes a terminal, or is no text, is ours.
        family.add_metric([printable(value) for value in values], number)
    return family
