"""Figures of all hanging transactions: records held back by partition and by cause."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from txnlog.report.advice import urgency
from txnlog.report.contents import BlockedPartition, Contents, hangs
from txnlog.report.figure_style import axis, bar, figure, label, named_lines, style_of, whole
from txnlog.report.words import amount, number

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_BARS = 15
BAR_HEIGHT = 30
# The text after a bar needs room, too.
ROOM = 1.45


def held_back(tables: Contents) -> Figure:
    """Records that `read_committed` consumers cannot see: the longest bars, and one line for the rest."""
    found = sorted(tables.blocked_partitions(), key=lambda each: (-each.first["held_back_records"], each.partition))
    shown, rest = found[:MOST_BARS], found[MOST_BARS:]
    several = len({each.partition.cluster for each in found}) > 1
    names = [_name(each, several) for each in shown]
    values = [each.first["held_back_records"] for each in shown]
    traces = [_bar(place, each) for place, each in enumerate(shown)]
    if rest:
        names.append("and")
        traces.append(_rest(len(shown), rest))
    return _bars(traces, names, values, "records held back")


def _name(blocked: BlockedPartition, with_cluster: bool) -> str:
    cluster, topic, number_ = blocked.partition
    name = label(f"{topic}-{number_}", 24)
    return f"{name} <i>{label(cluster, 14)}</i>" if with_cluster else name


def _bar(place: int, blocked: BlockedPartition) -> dict[str, Any]:
    first = blocked.first
    text = f"{number(first['held_back_records'])} · {label(first['action'])}"
    return _trace(place, first["held_back_records"], text, first["action"], label(first["reason"], 110))


def _rest(place: int, rest: list[BlockedPartition]) -> dict[str, Any]:
    records = sum(each.first["held_back_records"] for each in rest)
    return _trace(place, 0, f"{amount(len(rest), 'more partition')}, {amount(records, 'record')}", "", "")


def _trace(place: int, value: int, text: str, action: str, hover: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "y": [place],
        "x": [value],
        "width": 0.62,
        "text": [text],
        "textposition": "outside",
        "cliponaxis": False,
        "hovertext": [hover],
        "hoverinfo": "text" if hover else "skip",
        "marker": bar(style_of(action)),
        "showlegend": False,
    }


def _bars(traces: list[dict[str, Any]], names: list[str], values: list[int], title: str) -> Figure:
    most = max(values, default=1)
    return figure(
        traces,
        80 + BAR_HEIGHT * len(names),
        barmode="overlay",
        xaxis=axis(title, range=[0, most * ROOM], **whole(most)),
        yaxis=named_lines(names),
    )


def causes(tables: Contents) -> Figure:
    """Hanging transactions by cause: one bar for each, in the style of its action."""
    counts = by_cause(tables)
    traces = [
        _trace(place, count, f"{number(count)} · {label(action)}", action, "")
        for place, ((action, _), count) in enumerate(counts)
    ]
    names = [label(cause) for (_, cause), _ in counts]
    return _bars(traces, names, [count for _, count in counts], "hanging transactions")


def by_cause(tables: Contents) -> list[tuple[tuple[str, str], int]]:
    """Hanging transactions per action and cause, in the order of what to do first, then the most frequent first."""
    counts = Counter((row["action"], row["cause"]) for row in tables.transactions if hangs(row))
    return sorted(counts.items(), key=lambda each: (urgency(each[0][0]), -each[1], each[0]))
