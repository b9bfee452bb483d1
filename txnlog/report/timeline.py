"""The timeline of one partition: its open transactions as bars over offsets, or over time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from txnlog.errors import OptionError
from txnlog.report.contents import Contents, Partition, Row, hangs
from txnlog.report.figure_style import QUIET, Style, label, style_of
from txnlog.report.spans import Span, apart, bars, line, note, stacked
from txnlog.report.words import amount, lasting, moment, number

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_BARS = 25
YOUNG = Style(QUIET, "")


def open_in(tables: Contents, partition: Partition) -> list[Row]:
    """The open transactions of a partition, by start offset. `OptionError` where there are none."""
    found = [row for row in tables.transactions if Partition.of(row) == partition]
    if not found:
        raise OptionError(f"nothing is open in {partition.topic}-{partition.number} of {partition.cluster}")
    return found


def by_offset(tables: Contents, partition: Partition) -> Figure:
    """The log of a partition over its offsets: what consumers can read, what is held back, and by which transactions.

    A bar reaches from a transaction's first offset to the log end, as it is open there; a triangle shows the producer
    id's marker before it. Lines mark the last stable offset and the log end.
    """
    found = open_in(tables, partition)
    shown, rest = found[:MOST_BARS], found[MOST_BARS:]
    log = found[0]
    left, right = _window(found)
    spans = [*_log_spans(log, left), *(_offset_span(place, row) for place, row in enumerate(shown, 1))]
    if rest:
        spans.append(_rest_span(len(shown) + 1, rest, log["log_end_offset"]))
    traces = [*bars(spans, left, right), _markers(shown), _high_watermark(log)]
    lines = [line(log["last_stable_offset"], "dash"), line(log["log_end_offset"], "solid")]
    notes = [note(log["last_stable_offset"], "last stable offset", "right" if _is_right(log, left, right) else "left")]
    notes.append(note(log["log_end_offset"], "log end", "right"))
    return stacked(
        traces, ["log", *_names(shown, rest)], lines, apart(notes), title="offset", range=[left, right], tickformat=","
    )


def _window(found: list[Row]) -> tuple[float, float]:
    """The offsets to show: from the first thing of interest, as millions may lie before it, to after the log end."""
    log = found[0]
    marks = [row["last_marker_offset"] for row in found[:MOST_BARS] if row["last_marker_offset"] is not None]
    first = min([row["start_offset"] for row in found] + marks + [log["last_stable_offset"]])
    end = log["log_end_offset"]
    pad = max(0.6, (end - first) * 0.08)
    return max(first - pad, min(first, log["log_start_offset"]) - pad / 3), end + pad


def _is_right(log: Row, left: float, right: float) -> bool:
    return bool(log["last_stable_offset"] > (left + right) / 2)


def _log_spans(log: Row, left: float) -> list[Span]:
    start, stable, end = max(left, log["log_start_offset"]), log["last_stable_offset"], log["log_end_offset"]
    held = f"{amount(log['held_back_records'], 'record')} held back"
    spans = [Span(0, stable, max(0, end - stable), Style(QUIET, "-"), held)]
    if stable > start:
        hover = f"offsets {number(log['log_start_offset'])} to {number(stable - 1)} can be read"
        spans.insert(0, Span(0, start, stable - start, Style("#4f8a4c", ""), "", hover))
    return spans


def _offset_span(place: int, row: Row) -> Span:
    length = max(1, row["log_end_offset"] - row["start_offset"])
    text = f"{label(row['action'])} · {label(row['cause'])}"
    hover = (
        f"{label(row['transactional_id'] or 'id not known', 60)}<br>from offset {number(row['start_offset'])},"
        f" {amount(row['records'], 'record')}<br>{label(row['reason'], 110)}"
    )
    return Span(place, row["start_offset"], length, _style(row), text, hover)


def _rest_span(place: int, rest: list[Row], end: int) -> Span:
    start = min(row["start_offset"] for row in rest)
    return Span(place, start, max(1, end - start), YOUNG, _others(rest))


def _others(rest: list[Row]) -> str:
    return f"{number(len(rest))} more, {number(sum(map(hangs, rest)))} late"


def _style(row: Row) -> Style:
    return style_of(row["action"]) if hangs(row) else YOUNG


def _names(shown: list[Row], rest: list[Row]) -> list[str]:
    names = [f"<b>{place}</b> {label(_owner(row), 20)}" for place, row in enumerate(shown, 1)]
    return [*names, "the rest"] if rest else names


def _owner(row: Row) -> str:
    return str(row["transactional_id"] or f"producer {row['producer_id']}")


def _markers(shown: list[Row]) -> dict[str, Any]:
    marked = [(place, row) for place, row in enumerate(shown, 1) if row["last_marker_offset"] is not None]
    symbols = {"COMMIT": "triangle-up", "ABORT": "x"}
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "marker before",
        "x": [row["last_marker_offset"] for _, row in marked],
        "y": [place for place, _ in marked],
        "hovertext": [
            f"{label(row['last_marker_type'] or 'marker')} at {number(row['last_marker_offset'])}" for _, row in marked
        ],
        "hoverinfo": "text",
        "marker": {
            "size": 13,
            "color": QUIET,
            "line": {"width": 1.5, "color": "#5b6672"},
            "symbol": [symbols.get(row["last_marker_type"], "circle-open") for _, row in marked],
        },
        "showlegend": False,
    }


def _high_watermark(log: Row) -> dict[str, Any]:
    known = log["high_watermark"] is not None
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [log["high_watermark"]] if known else [],
        "y": [0] if known else [],
        "hovertext": [f"high watermark {number(log['high_watermark'])}"] if known else [],
        "hoverinfo": "text",
        "marker": {"size": 11, "symbol": "diamond", "color": "#0b7fab", "line": {"width": 1, "color": "#ffffff"}},
        "showlegend": False,
    }


def by_time(tables: Contents, partition: Partition) -> Figure:
    """The open transactions of a partition over time, up to the copy.

    Solid from the first batch to the last, pale while waiting within the allowed time, patterned from the moment on
    that it was late. Times that contradict the brokers' clocks are not shown: its last activity counts instead.
    """
    found = open_in(tables, partition)
    shown, rest = found[:MOST_BARS], found[MOST_BARS:]
    spans = [span for place, row in enumerate(shown) for span in _time_spans(place, row)]
    if rest:
        spans.append(_rest_in_time(len(shown), rest))
    copied, since = found[0]["as_of"], found[0]["held_back_since"]
    left, right = _times(spans, copied)
    lines, notes = [line(copied, "solid")], [note(copied, "copied", "right")]
    if since is not None and since < copied:
        lines.append(line(since, "dash"))
        notes.insert(0, note(since, "blocked since", "left"))
    return stacked(
        bars(spans, left, right),
        _names(shown, rest),
        lines,
        apart(notes),
        title="time (UTC)",
        type="date",
        range=[left, right],
    )


def _times(spans: list[Span], copied: datetime) -> tuple[datetime, datetime]:
    """The times to show: from the first batch of any of them to the copy."""
    first = min([span.start for span in spans] + [copied - timedelta(minutes=1)])
    pad = (copied - first) / 20
    return first - pad, copied + pad


def _time_spans(place: int, row: Row) -> list[Span]:
    copied, active = row["as_of"], row["last_activity"]
    if active is None or active > copied:
        return [Span(place, copied, 0, _style(row), "its age is unknown")]
    start = row["start_timestamp"] if row["timestamps_trusted"] and row["start_timestamp"] else active
    # A producer may write any timestamp: its first batch cannot be later than its last activity.
    start = min(start, active)
    allowed = _allowed(row)
    text = f"{label(row['action'])} · open for {lasting(row['open_for_ms'])}"
    hover = f"first batch {moment(start)}<br>last activity {moment(active)}<br>{label(row['reason'], 110)}"
    solid = Style(_style(row).colour, "")
    spans = [
        Span(place, start, _length(start, active), solid, text, hover),
        Span(place, active, _length(active, allowed), solid, "", hover, 0.45),
        Span(place, allowed, _length(allowed, copied), _style(row), "", hover),
    ]
    return [span for span in spans if span.length or span.text]


def _allowed(row: Row) -> datetime:
    """The time at which it became late, or that of the copy."""
    copied: datetime = row["as_of"]
    left = row["late_after_ms"] - _length(row["last_activity"], copied)
    return copied if left >= 0 else copied + timedelta(milliseconds=left)


def _rest_in_time(place: int, rest: list[Row]) -> Span:
    copied: datetime = rest[0]["as_of"]
    start = min([copied, *(row["last_activity"] for row in rest if row["last_activity"] is not None)])
    return Span(place, start, _length(start, copied), YOUNG, _others(rest))


def _length(start: datetime, end: datetime) -> int:
    """Plotly counts the length of a bar on a time axis in milliseconds."""
    return max(0, (end - start) // timedelta(milliseconds=1))
