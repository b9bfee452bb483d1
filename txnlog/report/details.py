"""One blocked partition, as the report shows it: timelines, evidence, remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from txnlog.report import timeline
from txnlog.report.advice import meaning
from txnlog.report.contents import BlockedPartition, Contents, Row, hangs
from txnlog.report.output import printable
from txnlog.report.remedy import remedy

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# As many as the timeline shows; the table of all transactions has the others.
MOST_ROWS = timeline.MOST_BARS


def detail(
    tables: Contents, blocked: BlockedPartition, place: int, figures: dict[str, Figure], source: str
) -> dict[str, Any]:
    """What the template shows of a partition; its two timelines are put into `figures`."""
    figures[f"offsets-{place}"] = timeline.by_offset(tables, blocked.partition)
    figures[f"times-{place}"] = timeline.by_time(tables, blocked.partition)
    first = blocked.first
    return {
        "place": place,
        "partition": blocked.partition,
        "first": first,
        "remedy": remedy(first, tables.states, source),
        "meaning": meaning(first["cause"]),
        "hanging": len(blocked.hanging),
        "open": len(blocked.transactions),
        "rows": [_row(row) for row in blocked.transactions[:MOST_ROWS]],
    }


def _row(row: Row) -> Row:
    return row | {"evidence": evidence(row), "hangs": hangs(row)}


def evidence(row: Row) -> list[str]:
    """Where the evidence for a verdict is in the dump, one line each."""
    found = [f"opened in {printable(row['opened_file'])} at byte {row['opened_position']}"]
    if row["last_marker_offset"] is not None:
        where = f" in {printable(row['last_marker_file'])}" if row["last_marker_file"] else ""
        found.append(f"{row['last_marker_type'] or 'marker'} before it at offset {row['last_marker_offset']}{where}")
    if row["evidence_file"]:
        found.append(
            f"coordinator {row['evidence_state']} at offset {row['evidence_offset']} of"
            f" {printable(row['evidence_file'])}"
        )
    return found
