"""The timeline of one partition: its open transactions as bars over offsets, or over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from txnlog.errors import OptionError
from txnlog.report.contents import Contents, Partition, Row, hangs
from txnlog.report.figure_style import QUIET, Style, style_of
from txnlog.report.spans import Across, Mark, Span, Timeline
from txnlog.report.words import amount, lasting, moment, number, short

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
    """`over_offsets` of the first transactions of a partition, as a figure."""
    found = open_in(tables, partition)
    return over_offsets(found[:MOST_BARS], found[MOST_BARS:]).figure()


def by_time(tables: Contents, partition: Partition) -> Figure:
    """`over_time` of the first transactions of a partition, as a figure."""
    found = open_in(tables, partition)
    return over_time(found[:MOST_BARS], found[MOST_BARS:]).figure()


def over_offsets(shown: Sequence[Row], rest: Sequence[Row]) -> Timeline:
    """The log of a partition over its offsets: what consumers can read, what is held back, and by which transactions.

    A bar reaches from a transaction's first offset to the log end, as it is open there; a triangle shows the producer
    id's marker before it. Lines mark the last stable offset and the log end. `rest` is summed up in one bar.
    """
    log = shown[0]
    left, right = _window(shown, rest)
    spans = [*_log_spans(log, left), *(_offset_span(place, row) for place, row in enumerate(shown, 1))]
    if rest:
        start = min(row["start_offset"] for row in rest)
        length = max(1, log["log_end_offset"] - start)
        spans.append(Span(len(shown) + 1, start, length, YOUNG, "", _others(rest)))
    return Timeline(
        ["log", *_names(shown, rest)],
        spans,
        [*_high_watermark(log), *_markers(shown)],
        [
            Across(log["last_stable_offset"], "dash", "last stable offset"),
            Across(log["log_end_offset"], "solid", "log end"),
        ],
        left,
        right,
    )


def _window(shown: Sequence[Row], rest: Sequence[Row]) -> tuple[float, float]:
    """The offsets to show: from the first thing of interest, as millions may lie before it, to after the log end."""
    log = shown[0]
    marks = [row["last_marker_offset"] for row in shown if row["last_marker_offset"] is not None]
    first = min([row["start_offset"] for row in (*shown, *rest)] + marks + [log["last_stable_offset"]])
    end = log["log_end_offset"]
    pad = max(0.6, (end - first) * 0.08)
    return max(first - pad, min(first, log["log_start_offset"]) - pad / 3), end + pad


def _log_spans(log: Row, left: float) -> list[Span]:
    start, stable, end = max(left, log["log_start_offset"]), log["last_stable_offset"], log["log_end_offset"]
    held = f"{amount(log['held_back_records'], 'record')} held back"
    spans = [Span(0, stable, max(0, end - stable), Style(QUIET, "-"), "LINES", held)]
    if stable > start:
        hover = f"offsets {number(log['log_start_offset'])} to {number(stable - 1)} can be read"
        spans.insert(0, Span(0, start, stable - start, Style("#4f8a4c", ""), "WAIT", "", hover))
    return spans


def _offset_span(place: int, row: Row) -> Span:
    length = max(1, row["log_end_offset"] - row["start_offset"])
    text = f"{short(row['action'])} · {short(row['cause'])}"
    hover = (
        f"{short(row['transactional_id'] or 'id not known', 60)}\nfrom offset {number(row['start_offset'])},"
        f" {amount(row['records'], 'record')}\n{short(row['reason'], 110)}"
    )
    return Span(place, row["start_offset"], length, *_style(row), text, hover)


def _others(rest: Sequence[Row]) -> str:
    return f"{number(len(rest))} more, {number(sum(map(hangs, rest)))} late"


def _style(row: Row) -> tuple[Style, str]:
    return (style_of(row["action"]), short(row["action"])) if hangs(row) else (YOUNG, "")


def _names(shown: Sequence[Row], rest: Sequence[Row]) -> list[str]:
    names = [f"{number(row['start_offset'])} {short(_owner(row))}" for row in shown]
    return [*names, "the rest"] if rest else names


def _owner(row: Row) -> str:
    return str(row["transactional_id"] or f"producer {row['producer_id']}")


def _markers(shown: Sequence[Row]) -> list[Mark]:
    return [
        Mark(place, row["last_marker_offset"], row["last_marker_type"] or "marker")
        for place, row in enumerate(shown, 1)
        if row["last_marker_offset"] is not None
    ]


def _high_watermark(log: Row) -> list[Mark]:
    return [] if log["high_watermark"] is None else [Mark(0, log["high_watermark"], "high watermark")]


def over_time(shown: Sequence[Row], rest: Sequence[Row]) -> Timeline:
    """The open transactions of a partition over time, up to the copy.

    Solid from the first batch to the last, pale while waiting within the allowed time, patterned from the moment on
    that it was late. Times that contradict the brokers' clocks are not shown: its last activity counts instead.
    """
    spans = [span for place, row in enumerate(shown) for span in _time_spans(place, row)]
    if rest:
        spans.append(_rest_in_time(len(shown), rest))
    copied, since = shown[0]["as_of"], shown[0]["held_back_since"]
    across = [Across(copied, "solid", "copied")]
    if since is not None and since < copied:
        across.insert(0, Across(since, "dash", "blocked since"))
    return Timeline(_names(shown, rest), spans, [], across, *_times(spans, copied))


def _times(spans: list[Span], copied: datetime) -> tuple[datetime, datetime]:
    """The times to show: from the first batch of any of them to the copy."""
    first = min([span.start for span in spans] + [copied - timedelta(minutes=1)])
    pad = (copied - first) / 20
    return first - pad, copied + pad


def _time_spans(place: int, row: Row) -> list[Span]:
    copied, active = row["as_of"], row["last_activity"]
    style, action = _style(row)
    if active is None or active > copied:
        return [Span(place, copied, 0, style, action, "its age is unknown")]
    start = row["start_timestamp"] if row["timestamps_trusted"] and row["start_timestamp"] else active
    # A producer may write any timestamp: its first batch cannot be later than its last activity.
    start = min(start, active)
    allowed = _allowed(row)
    text = f"{short(row['action'])} · open for {lasting(row['open_for_ms'])}"
    hover = f"first batch {moment(start)}\nlast activity {moment(active)}\n{short(row['reason'], 110)}"
    # Without a pattern.
    solid = Style(style.colour, "")
    spans = [
        Span(place, start, _length(start, active), solid, f"{action} solid", text, hover),
        Span(place, active, _length(active, allowed), solid, f"{action} solid", "", hover, 0.45),
        Span(place, allowed, _length(allowed, copied), style, action, "", hover),
    ]
    return [span for span in spans if span.length or span.text]


def _allowed(row: Row) -> datetime:
    """The time at which it became late, or that of the copy."""
    copied: datetime = row["as_of"]
    left = row["late_after_ms"] - _length(row["last_activity"], copied)
    return copied if left >= 0 else copied + timedelta(milliseconds=left)


def _rest_in_time(place: int, rest: Sequence[Row]) -> Span:
    copied: datetime = rest[0]["as_of"]
    start = min([copied, *(row["last_activity"] for row in rest if row["last_activity"] is not None)])
    return Span(place, start, _length(start, copied), YOUNG, "", _others(rest))


def _length(start: datetime, end: datetime) -> int:
    """The length of a span of time in milliseconds, as Plotly counts it."""
    return max(0, (end - start) // timedelta(milliseconds=1))
