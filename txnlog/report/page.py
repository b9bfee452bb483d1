"""`txnlog report`: the latest dumps' results as one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from datetime import UTC, datetime
from importlib import resources
from typing import TYPE_CHECKING, Any

import txnlog
from txnlog.detection.causes import Action, Cause
from txnlog.errors import SetupError
from txnlog.report import coverage, nights, overview, page_tables, words
from txnlog.report.abort_candidates import word
from txnlog.report.advice import ADVICE, urgency
from txnlog.report.contents import BlockedPartition, Contents
from txnlog.report.details import detail
from txnlog.report.output import printable
from txnlog.report.remedy import remedy

if TYPE_CHECKING:
    from jinja2 import Environment
    from plotly.graph_objects import Figure

FILES = resources.files("txnlog.report") / "page_files"
# Partitions with timelines, which take some kilobytes each; the tables have all partitions.
DETAILED = 40
# Clusters with a chart of their runs.
COMPARED = 12


def rendered(tables: Contents, source: str) -> str:
    """The report as HTML. `source` names the tables in the commands that it shows.

    Raises `SetupError` where Jinja or Plotly is missing.
    """
    environment = _environment()
    figures: dict[str, Figure] = {}
    view = _view(tables, source, figures)
    scripts = {"plotly": _plotly(), "script": _file("script.js")}
    return environment.get_template("report.html.j2").render(
        view,
        figures={name: json.loads(figure.to_json()) for name, figure in figures.items()},
        tables={table.name: table.data() for table in view["paged"].values()},
        style=_file("style.css"),
        hashes=[_hash(script) for script in scripts.values()],
        **scripts,
    )


def _environment() -> Environment:
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError as error:
        raise SetupError("the report needs Jinja: pip install 'txnlog[report]'") from error
    environment = Environment(
        autoescape=True,
        loader=FunctionLoader(_file),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": words.number,
        "lasting": words.lasting,
        "moment": words.moment,
        "size": words.size,
        "name": printable,
        "word": word,
    }
    environment.globals["amount"] = words.amount
    return environment


def _file(name: str) -> str:
    return (FILES / name).read_text("utf-8")


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise SetupError("the report needs Plotly: pip install 'txnlog[report]'") from error
    return str(get_plotlyjs())


def _hash(script: str) -> str:
    """The hash by which the page's Content-Security-Policy allows a script: no other script can run."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _view(tables: Contents, source: str, figures: dict[str, Figure]) -> dict[str, Any]:
    """The template's variables; the figures go into `figures`."""
    blocked = tables.standstills()
    if blocked:
        figures |= {"held-back": overview.held_back(tables), "causes": overview.causes(tables)}
    details = [detail(tables, each, place, figures, source) for place, each in enumerate(blocked[:DETAILED], 1)]
    lacks = _lacks(tables, figures)
    paged = (page_tables.standing(blocked), page_tables.files(tables), page_tables.transactions(tables))
    return {
        "version": txnlog.__version__,
        "generated": datetime.now(UTC),
        "source": source,
        "headline": _headline(tables, blocked),
        "plan": _plan(blocked, tables, source),
        "clusters": [_cluster(run, blocked) for run in tables.latest.values()],
        "causes": overview.by_cause(tables),
        "meanings": {cause.value: cause.says for cause in Cause},
        "details": details,
        "undetailed": max(0, len(blocked) - DETAILED),
        "compared": _compared(tables, figures),
        "lacks": lacks,
        "paged": {table.name: table for table in paged},
    }


def _headline(tables: Contents, blocked: list[BlockedPartition]) -> dict[str, Any]:
    """The few numbers that an operator needs first."""
    hanging = [row for each in blocked for row in each.hanging]
    aged = [row for row in hanging if row["open_for_ms"] is not None]
    return {
        "partitions": len(blocked),
        "transactions": len(hanging),
        "clusters": len({each.partition.cluster for each in blocked}),
        "records": sum(each.first["held_back_records"] for each in blocked),
        "oldest": max(aged, key=lambda row: row["open_for_ms"], default=None),
        "as_of": max((run["as_of_to"] for run in tables.nights), default=None),
        "actions": Counter(row["action"] for row in hanging),
        "missing": sum(run["coordinator_partitions_missing"] for run in tables.latest.values()),
        "damaged": sum(run["bytes_damaged"] for run in tables.latest.values()),
    }


def _plan(blocked: list[BlockedPartition], tables: Contents, source: str) -> list[dict[str, Any]]:
    """What to do, by action in order of urgency, with the partitions that hold back most."""
    actions = sorted({each.first["action"] for each in blocked}, key=urgency)
    steps = [_step(action, blocked) for action in actions]
    # One script has all aborts of a cluster.
    return [
        step | {"script": remedy(step["worst"].first, tables.states, source).steps[:1]}
        if step["action"] == Action.ABORT
        else step | {"script": ()}
        for step in steps
    ]


def _step(action: str, blocked: list[BlockedPartition]) -> dict[str, Any]:
    places = [place for place, each in enumerate(blocked, 1) if each.first["action"] == action]
    mine = [blocked[place - 1] for place in places]
    return {
        "action": action,
        "place": places[0],
        "advice": ADVICE.get(action, ""),
        "partitions": len(mine),
        "records": sum(each.first["held_back_records"] for each in mine),
        "worst": mine[0],
    }


def _cluster(run: dict[str, Any], blocked: list[BlockedPartition]) -> dict[str, Any]:
    return run | {"standing": sum(each.partition.cluster == run["cluster"] for each in blocked)}


def _compared(tables: Contents, figures: dict[str, Figure]) -> list[dict[str, Any]]:
    """The runs over each cluster, the latest first."""
    found = []
    for place, cluster in enumerate(tables.latest, 1):
        mine = [run for run in reversed(tables.nights) if run["cluster"] == cluster]
        name = f"nights-{place}" if len(mine) > 1 and place <= COMPARED else None
        if name:
            figures[name] = nights.compared(tables, cluster)
        found.append({"cluster": cluster, "nights": mine, "changes": nights.changes(tables, cluster), "figure": name})
    return found


def _lacks(tables: Contents, figures: dict[str, Figure]) -> dict[str, Any]:
    """What is missing from the dumps."""
    found = coverage.coordinators_of(tables)
    if found:
        figures["coordinators"] = coverage.coordinators(tables)
    return {"coordinators": found, "files": len(tables.files)}
