"""`txnlog history`: since when each coordinator partition's history is whole, and where it has holes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.report.fitted import Column
from txnlog.report.latest_run import LATEST_LAST, of_latest_run, since
from txnlog.report.output import as_csv, as_json, as_table, counted, first_of, printable
from txnlog.report.table_rows import check_cluster, rows, rows_if_there
from txnlog.tables.layout import COORDINATOR_RANGES, DUMP_FILES, RUNS, Root, Table

Row = dict[str, Any]
COLUMNS = (
    "cluster", "coordinator_partition", "whole_since", "until", "from_start", "from_offset", "to_offset", "holes",
    "last_hole",
)  # fmt: skip
FIRST_DUMP = (
    "copy __transaction_state again before compaction removes what this dump shows: later verdicts rest on both"
    " (txnlog archive, or the next dump)"
)


class ClusterHistory(NamedTuple):
    """The partitions of a cluster as rows of `COLUMNS`, and those of which no record was ever seen whole.

    `whole_since`: a producer id that no coordinator knows can be judged if its data is newer; None where partitions are
    missing. `is_counted`: a run of `detect` said how many there are; else some may be missing after the last one.
    `contradicted`: partitions of which records contradicted one another; nothing is certain of them any more.
    """

    cluster: str
    partitions: list[Row]
    missing: list[int]
    whole_since: datetime | None
    is_counted: bool = True
    contradicted: Sequence[int] = ()

    def holes_since(self, earliest: datetime | None) -> list[Row]:
        """The partitions whose last hole ended at that time or later."""
        return [
            row
            for row in self.partitions
            if row["last_hole"] is not None and (earliest is None or row["last_hole"][1] >= earliest)
        ]


def histories(root: Root, cluster: str | None = None) -> list[ClusterHistory]:
    """The history of one cluster or of all that the tables have."""
    # `txnlog archive` writes no runs, and an older txnlog wrote no ranges.
    runs = rows_if_there(root, RUNS, order=LATEST_LAST)
    found = rows_if_there(root, COORDINATOR_RANGES) if runs else rows(root, COORDINATOR_RANGES)
    check_cluster(cluster, [*runs, *found])
    return [each for each in histories_of(runs, found, partial(rows, root)) if cluster in (None, each.cluster)]


def histories_of(
    runs: Iterable[Mapping[str, Any]], ranges: Iterable[Row], read: Callable[[Table, str], list[Row]]
) -> list[ClusterHistory]:
    """One for each cluster that has runs or ranges; `read` gives rows of a table of which a condition in SQL holds."""
    latest = {run["cluster"]: run for run in runs}
    files = f"topic = '{TRANSACTION_STATE}' AND kind = 'segment' AND copy_chosen AND batches = 0 AND bytes_damaged = 0"
    found = read(DUMP_FILES, f"{files} AND {since(latest.values())}") if latest else []
    empty = of_latest_run(found, latest.values())
    by_cluster: dict[str, list[Row]] = {name: [] for name in sorted(latest)}
    for each in ranges:
        by_cluster.setdefault(each["cluster"], []).append(each)
    return [
        _of_cluster(name, found, latest.get(name), {row["partition"] for row in empty if row["cluster"] == name})
        for name, found in by_cluster.items()
    ]


def _of_cluster(cluster: str, ranges: list[Row], run: Mapping[str, Any] | None, empty: set[int]) -> ClusterHistory:
    by_partition: dict[int, list[Row]] = {}
    for each in ranges:
        if each["from_offset"] < each["to_offset"]:
            by_partition.setdefault(each["coordinator_partition"], []).append(each)
    contradicted = sorted(
        {each["coordinator_partition"] for each in ranges if each["from_offset"] == each["to_offset"]}
    )
    partitions = [_of_partition(found) for _, found in sorted(by_partition.items())]
    stated = run["coordinator_partitions"] if run else 0
    expected = range(stated or max(by_partition, default=-1) + 1)
    not_missing = {*by_partition, *empty, *contradicted}
    missing = [number for number in expected if number not in not_missing]
    since = [row["whole_since"] for row in partitions]
    # What is whole from its first record on says nothing of when that was.
    bounds = [row["whole_since"] for row in partitions if not row["from_start"]]
    whole_since = None if missing or contradicted else max(bounds, default=min(since, default=None))
    return ClusterHistory(cluster, partitions, missing, whole_since, stated > 0, contradicted)


def _of_partition(ranges: list[Row]) -> Row:
    """The latest range, and how many of the same log come before it without joining it."""
    latest = max(ranges, key=lambda each: each["written_to"])
    in_turn = sorted(
        (each for each in ranges if each["topic_id"] == latest["topic_id"]), key=lambda each: each["from_offset"]
    )
    holes = [[before["written_to"], after["written_from"]] for before, after in pairwise(in_turn)]
    return {
        "cluster": latest["cluster"],
        "coordinator_partition": latest["coordinator_partition"],
        "whole_since": latest["written_from"],
        "until": latest["written_to"],
        # A replica that lost its disk and was elected begins at offset 0 as well, in a later epoch.
        "from_start": latest["from_offset"] == 0 and latest["leader_epochs"][0]["epoch"] == 0,
        "from_offset": latest["from_offset"],
        "to_offset": latest["to_offset"],
        "holes": len(holes),
        "last_hole": holes[-1] if holes else None,
    }


def trouble(found: ClusterHistory, within_ms: int | None = None) -> str:
    """What is wrong with a history, or empty. With `within_ms` only holes that ended so long before its end count."""
    ends = [row["until"] for row in found.partitions]
    since = None if within_ms is None or not ends else max(ends) - timedelta(milliseconds=within_ms)
    holes = found.holes_since(since)
    troubles = (
        f"no record of {_named(found.missing)}" if found.missing else "",
        f"a hole in {_named([row['coordinator_partition'] for row in holes])}" if holes else "",
        f"records of {_named(found.contradicted)} contradicted one another" if found.contradicted else "",
        "" if found.partitions or found.missing or found.contradicted else "nothing is kept",
    )
    return "; ".join(filter(None, troubles))


def _named(partitions: Sequence[int]) -> str:
    return first_of([f"{TRANSACTION_STATE}-{number}" for number in partitions])


def summary(found: ClusterHistory) -> str:
    """The history of a cluster in one line."""
    if found.whole_since is None:
        return f"history of coordinators: {trouble(found)}"
    holes = len(found.holes_since(None))
    return (
        f"history of coordinators: whole since {printable(found.whole_since)}"
        f" in {'all' if not holes else 'the latest range of all'} "
        + (
            "partitions"
            if found.is_counted
            else f"{len(found.partitions)} partitions that are kept; how many there are is not known"
        )
        + (f"; {counted(holes, 'partition')} with a hole before" if holes else "")
    )


def rendered(found: list[ClusterHistory], form: str, width: int | None = None) -> str:
    """All partitions as `table`, `json` or `csv`."""
    listed = [row for each in found for row in each.partitions]
    if form == "json":
        return as_json([row | {"last_hole": _as_texts(row)} for row in listed])
    if form == "csv":
        return as_csv([row | {"last_hole": _as_texts(row)} for row in listed], COLUMNS)
    return "\n".join(f"{each.cluster}: {summary(each)}\n{as_table(each.partitions, _COLUMNS, width)}" for each in found)


def _as_texts(row: Mapping[str, Any]) -> list[str] | None:
    return None if row["last_hole"] is None else list(map(printable, row["last_hole"]))


_COLUMNS = (
    Column("Partition", "coordinator_partition"),
    Column("WholeSince", lambda row: "its start" if row["from_start"] else row["whole_since"]),
    Column("Until", "until"),
    Column("FromOffset", "from_offset"),
    Column("ToOffset", "to_offset"),
    Column("Holes", "holes"),
    Column("LastHole", lambda row: " to ".join(_as_texts(row) or ())),
)
