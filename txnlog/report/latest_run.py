"""The latest run over each cluster, and the rows of the tables that belong to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from txnlog.report.table_rows import answer
from txnlog.tables.layout import RUNS, Root
from txnlog.times import instant_literal

Run = Mapping[str, Any]
# The order of runs, as SQL: of an older dump that is judged after a newer one no row is the latest.
LATEST_LAST = "as_of_to, finished_at"


def latest_runs(root: Root) -> list[dict[str, Any]]:
    """The latest run of each cluster: `cluster`, `as_of_from` and `as_of_to`."""
    # After years of daily runs each column is a read of as many files.
    read = f"SELECT cluster, as_of_from, as_of_to FROM found ORDER BY {LATEST_LAST}"
    return list({run["cluster"]: run for run in answer(root, read, found=RUNS)}.values())


def of_latest_run(found: Iterable[dict[str, Any]], runs: Iterable[Run]) -> list[dict[str, Any]]:
    """The rows, of any table with an `as_of`, that belong to the latest of the cluster's `runs`, which is the last."""
    latest = {run["cluster"]: run for run in runs}
    return [row for row in found if _is_of(row, latest.get(row["cluster"]))]


def _is_of(row: dict[str, Any], run: Run | None) -> bool:
    return run is not None and run["as_of_from"] <= row["as_of"] <= run["as_of_to"]


def since(runs: Iterable[Run]) -> str:
    """The condition that excludes rows older than all of these runs, as SQL of both Spark and delta-rs."""
    earliest = min((run["as_of_from"] for run in runs if run["as_of_from"]), default=None)
    return "true" if earliest is None else f"as_of >= {instant_literal(earliest)}"
