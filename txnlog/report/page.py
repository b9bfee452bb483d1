"""`txnlog report`: the latest dumps' results as one self-contained HTML file, one cluster at a time."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import txnlog
from txnlog.detection.causes import Action
from txnlog.report import coverage, page_tables, run_history, templates
from txnlog.report.advice import ADVICE, counted_actions, rank, urgency
from txnlog.report.contents import Contents, Partition, Row, hangs
from txnlog.report.details import details
from txnlog.report.remedy import remedy

SCRIPTS = ("timeline.js", "list.js", "script.js")


def rendered(tables: Contents, source: str) -> str:
    """The report as HTML. `source` names the tables in the commands that it shows.

    Raises `SetupError` where Jinja is missing.
    """
    template = templates.template("report.html.j2")
    parts = [tables.only(cluster) for cluster in tables.latest]
    clusters = [_cluster(number, part, source) for number, part in enumerate(sorted(parts, key=_order), 1)]
    script = "\n".join(map(templates.file, SCRIPTS))
    return template.render(
        version=txnlog.__version__,
        generated=datetime.now(UTC),
        source=source,
        clusters=clusters,
        blocked=sum(each["headline"]["partitions"] for each in clusters),
        data={each["id"]: each.pop("data") for each in clusters},
        style=templates.file("style.css"),
        script=script,
        hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _order(tables: Contents) -> tuple[Any, ...]:
    """Clusters with the most urgent transactions come first."""
    blocked = tables.blocked_partitions()
    return (not blocked, rank(blocked[0].first) if blocked else (), *tables.latest)


def _cluster(number: int, tables: Contents, source: str) -> dict[str, Any]:
    """What the template and the script need of one cluster."""
    rows = page_tables.by_urgency(tables)
    (run,) = tables.latest.values()
    (coordinators,) = coverage.coordinators_of(tables)
    paged = (page_tables.transactions(rows), page_tables.groups(tables), page_tables.files(tables))
    return {
        "id": f"c{number}",
        "name": run["cluster"],
        "run": run,
        "actions": counted_actions([row for row in rows if hangs(row)]),
        "headline": _headline(tables, rows),
        "cards": _cards(rows, tables, source),
        "causes": _causes(rows),
        "runs": tables.runs[::-1],
        "changes": run_history.changes(tables, run["cluster"]),
        "lines": run_history.lines(tables.runs),
        "coordinators": coordinators,
        "groups": len({row["group_id"] for row in tables.groups}),
        "not_known": sorted({row["not_known"] for row in tables.groups}),
        "paged": {table.name: table for table in paged},
        "data": {table.name: table.data() for table in paged} | {"details": details(tables, rows, source)},
    }


def _headline(tables: Contents, rows: list[Row]) -> dict[str, Any]:
    """The few numbers that an operator needs first."""
    blocked = tables.blocked_partitions()
    aged = [place for place, row in enumerate(rows) if hangs(row) and row["open_for_ms"] is not None]
    return {
        "partitions": len(blocked),
        "transactions": sum(map(hangs, rows)),
        "records": sum(each.first["held_back_records"] for each in blocked),
        "oldest": max(aged, key=lambda place: rows[place]["open_for_ms"], default=None),
    }


def _cards(rows: list[Row], tables: Contents, source: str) -> list[dict[str, Any]]:
    """A card for each action, in the order of urgency."""
    return [_card(action, rows, tables, source) for action in sorted({row["action"] for row in rows}, key=urgency)]


def _card(action: str, rows: list[Row], tables: Contents, source: str) -> dict[str, Any]:
    places = [place for place, row in enumerate(rows) if row["action"] == action]
    first = rows[places[0]]
    partitions = {Partition.of(rows[place]): rows[place]["held_back_records"] for place in places}
    return {
        "action": action,
        "advice": ADVICE.get(action, ""),
        "transactions": len(places),
        "partitions": len(partitions),
        "records": sum(partitions.values()),
        "place": places[0],
        "first": first,
        # One script has all aborts of a cluster.
        "script": remedy(first, tables.states, source).steps[:1] if action == Action.ABORT else (),
    }


def _causes(rows: list[Row]) -> list[tuple[tuple[str, str], int]]:
    """Open transactions by action and cause, the most urgent action first, then the most frequent cause."""
    counts = Counter((row["action"], row["cause"]) for row in rows)
    return sorted(counts.items(), key=lambda each: (urgency(each[0][0]), -each[1], each[0]))
