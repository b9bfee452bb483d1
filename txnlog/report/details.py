"""What an opened row of the report shows: evidence, timelines, remedy. Nothing that the row shows itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from txnlog.report import timeline
from txnlog.report.advice import meaning
from txnlog.report.contents import Contents, Partition, Row
from txnlog.report.output import printable
from txnlog.report.remedy import Step, remedy


def details(tables: Contents, rows: list[Row], source: str) -> dict[str, Any]:
    """The details of the rows, for the script of the page. Steps and timelines that rows share are there once."""
    drawn, place_of = _timelines(tables)
    steps: dict[Step, int] = {}
    found = []
    for row in rows:
        mends = remedy(row, tables.states, source)
        found.append(
            {
                "meaning": meaning(row["cause"]),
                "evidence": evidence(row),
                "timeline": place_of[id(row)],
                "remedy": printable(mends.says),
                "steps": [steps.setdefault(step, len(steps)) for step in mends.steps],
            }
        )
    said = [{"says": printable(step.says), "commands": step.commands} for step in steps]
    return {"rows": found, "steps": said, "timelines": drawn}


def _timelines(tables: Contents) -> tuple[list[list[dict[str, Any]]], dict[int, int]]:
    """The timelines of all partitions, and which of them shows a row. Rows are sorted by partition and offset."""
    drawn: list[list[dict[str, Any]]] = []
    place_of: dict[int, int] = {}
    for _, group in groupby(tables.transactions, Partition.of):
        for shown, rest in _in_parts(list(group)):
            place_of |= {id(row): len(drawn) for row in shown}
            drawn.append([timeline.over_offsets(shown, rest).as_data(), timeline.over_time(shown, rest).as_data()])
    return drawn, place_of


def _in_parts(rows: list[Row]) -> Iterator[tuple[list[Row], list[Row]]]:
    """As many rows as a timeline shows, and the others."""
    for start in range(0, len(rows), timeline.MOST_BARS):
        end = start + timeline.MOST_BARS
        yield rows[start:end], rows[:start] + rows[end:]


def evidence(row: Row) -> list[str]:
    """Why the verdict is what it is, and where in the dump that is seen, one line each."""
    found = [printable(row["reason"]), f"opened in {printable(row['opened_file'])} at byte {row['opened_position']}"]
    if row["last_marker_offset"] is not None:
        where = f" in {printable(row['last_marker_file'])}" if row["last_marker_file"] else ""
        found.append(f"{row['last_marker_type'] or 'marker'} before it at offset {row['last_marker_offset']}{where}")
    if row["evidence_file"]:
        found.append(
            f"coordinator {row['evidence_state']} at offset {row['evidence_offset']} of"
            f" {printable(row['evidence_file'])}"
        )
    return found
