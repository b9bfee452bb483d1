"""`txnlog timeline --format svg`: the transactions of an id over time, a line for each partition, as a drawing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from txnlog.report.figure_style import FONT, INK, QUIET
from txnlog.report.id_timeline import EXPIRED, STARTED, IdTimeline, fenced
from txnlog.report.output import plain, printable
from txnlog.report.transaction_query import OPEN, STATUSES
from txnlog.report.words import lasting, moment, short

Row = dict[str, Any]
WIDTH, LEFT, TOP, LINE, BAR = 1200, 220, 64, 26, 14
RIGHT = WIDTH - 24
TICKS = 5
# The width of the shortest bar.
LEAST = 2.0
# A colour, and what tells the bars apart without colours: whether they are filled, and the dashes of their outline.
STYLES = {
    "COMMIT": ("#4f8a4c", True, ""),
    "ABORT": ("#d1402f", False, ""),
    OPEN: ("#0b7fab", True, "3 2"),
    "CONTRADICTED": ("#8e5bd0", False, "1 2"),
    "UNKNOWN": ("#76808b", False, "4 3"),
}
PRODUCERS = "producers"


class _Axis(NamedTuple):
    """The time from `start` on, `length` long."""

    start: datetime
    length: timedelta

    def x(self, time: datetime) -> float:
        """Where an instant stands."""
        share = (time - self.start) / self.length
        return round(LEFT + min(1.0, max(0.0, share)) * (RIGHT - LEFT), 1)


def drawn(found: IdTimeline) -> str:
    """The events as SVG: bars from the start of a transaction to its end, to the edge while it is under way."""
    ends = [_end(event) for event in found.events]
    start, end = min(event["time"] for event in found.events), max(ends)
    axis = _Axis(start, max(end - start, timedelta(milliseconds=1)))
    clusters = sorted({event["cluster"] for event in found.events})
    found = found._replace(events=[_named(event, len(clusters) > 1) for event in found.events])
    places = sorted({name for event in found.events for name in event["names"]})
    lines = {name: TOP + LINE * number for number, name in enumerate([PRODUCERS, *places])}
    bottom = TOP + LINE * len(lines)
    title = f"{found.events[-1]['transactional_id']} in {', '.join(clusters)}"
    elements = [
        f'<rect width="{WIDTH}" height="{bottom + 30}" fill="#ffffff"/>',
        _text(12, 22, printable(title), "font-size='15' font-weight='600'"),
        *_legend(found),
        *_ticks(axis, bottom),
        *(_text(12, y + BAR - 2, short(name, 30)) for name, y in lines.items()),
        *_marks(found.events, axis, lines[PRODUCERS]),
        *_bars(found.events, axis, lines),
    ]
    size = f'width="{WIDTH}" height="{bottom + 30}" viewBox="0 0 {WIDTH} {bottom + 30}"'
    style = f"font-family={quoteattr(FONT)} font-size='12' fill='{INK}'"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n' + "\n".join([*elements, "</svg>", ""])


def _end(event: Row) -> datetime:
    time: datetime = event["time"]
    return time + timedelta(milliseconds=max(0, event["duration_ms"] or 0))


def _named(event: Row, has_clusters: bool) -> Row:
    """The event with the names of its lines."""
    cluster = f"{event['cluster']}: " if has_clusters else ""
    places = event["partitions"] or ()
    return event | {"names": [f"{cluster}{each['topic']}-{each['partition']}" for each in places]}


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f"<text x='{x}' y='{y}' {more}>{escape(text)}</text>"


def _legend(found: IdTimeline) -> Iterator[str]:
    x = 12
    for status in STATUSES:
        if found.counts[status]:
            yield f'<rect x="{x}" y="34" width="22" height="{BAR}" {_look(status)}/>'
            text = f"{found.counts[status]} {status}"
            yield _text(x + 28, 34 + BAR - 2, text)
            x += 60 + 8 * len(text)


def _look(status: str) -> str:
    colour, is_filled, dashes = STYLES[status]
    return f'fill="{colour if is_filled else "#ffffff"}" stroke="{colour}" stroke-dasharray="{dashes}"'


def _ticks(axis: _Axis, bottom: int) -> Iterator[str]:
    for number in range(TICKS):
        time = axis.start + axis.length * number / (TICKS - 1)
        x = axis.x(time)
        yield f'<line x1="{x}" y1="{TOP - 6}" x2="{x}" y2="{bottom}" stroke="{QUIET}" stroke-width="0.5"/>'
        anchor = "start" if number == 0 else "end" if number == TICKS - 1 else "middle"
        yield _text(x, bottom + 16, moment(time), f'text-anchor="{anchor}"')


def _marks(events: Iterable[Row], axis: _Axis, y: int) -> Iterator[str]:
    for event in events:
        if event["event"] in (STARTED, EXPIRED):
            x, middle, half = axis.x(event["time"]), y + BAR / 2, BAR / 2
            label = f"{event['event']} {plain(event['time'])}"
            if event["event"] == STARTED:
                label += f": producer id {event['producer_id']}, epoch {event['producer_epoch']}"
                label += f", fenced {fenced(event)}" if fenced(event) else ""
            shape = f"M{x} {middle - half}l{half} {BAR}h-{BAR}z" if event["event"] == STARTED else f"M{x} {y}v{BAR}"
            yield f'<path d="{shape}" fill="{INK}" stroke="{INK}"><title>{escape(label)}</title></path>'


def _bars(events: Iterable[Row], axis: _Axis, lines: dict[str, int]) -> Iterator[str]:
    for event in events:
        if event["event"] not in STYLES:
            continue
        x = min(axis.x(event["time"]), RIGHT - LEAST)
        width = max(LEAST, round((RIGHT if event["under_way"] else axis.x(_end(event))) - x, 1))
        took = "" if event["duration_ms"] is None else f", {lasting(event['duration_ms'])}"
        label = f"{event['event']} {plain(event['time'])}{took}, epoch {event['producer_epoch']}"
        label += f", ended by {event['ended_by']}" if event["ended_by"] else ""
        for name in event["names"]:
            title = f"<title>{escape(printable(f'{name}: {label}'))}</title>"
            place = f'x="{x}" y="{lines[name]}" width="{width}" height="{BAR}"'
            yield f"<rect {place} {_look(event['event'])}>{title}</rect>"
