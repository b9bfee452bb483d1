"""One blocked partition, as the report shows it: timelines, evidence, commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from txnlog.report import timeline
from txnlog.report.abort_candidates import command, option, word
from txnlog.report.advice import ADVICE, meaning
from txnlog.report.contents import BlockedPartition, Contents, Row, hangs
from txnlog.report.output import printable

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# As many as the timeline shows; the table of all transactions has the others.
MOST_ROWS = timeline.MOST_BARS
MOST_COMMANDS = 10
TOOL = 'kafka-transactions.sh --bootstrap-server "$BOOTSTRAP_SERVER"'


def detail(tables: Contents, blocked: BlockedPartition, place: int, figures: dict[str, Figure]) -> dict[str, Any]:
    """What the template shows of a partition; its two timelines are put into `figures`."""
    figures[f"offsets-{place}"] = timeline.by_offset(tables, blocked.partition)
    figures[f"times-{place}"] = timeline.by_time(tables, blocked.partition)
    first = blocked.first
    return {
        "place": place,
        "partition": blocked.partition,
        "first": first,
        "advice": ADVICE.get(first["action"], ""),
        "meaning": meaning(first["cause"]),
        "hanging": len(blocked.hanging),
        "open": len(blocked.transactions),
        "rows": [_row(row) for row in blocked.transactions[:MOST_ROWS]],
        "checks": _checks(first),
        "commands": _commands(blocked),
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


def _checks(row: Row) -> list[str]:
    """Commands that ask the live cluster and change nothing."""
    found = [f"{TOOL} describe-producers {_words('--topic', row['topic'])} --partition {row['partition']}"]
    if row["transactional_id"]:
        found.append(f"{TOOL} describe {_words('--transactional-id', row['transactional_id'])}")
    return found


def _words(name: str, value: str) -> str:
    return " ".join(map(word, option(name, value)))


def _commands(blocked: BlockedPartition) -> list[str]:
    """The abort commands; none if nothing is to be aborted."""
    aborts = [row for row in blocked.hanging if row["action"] == "ABORT"]
    return [command(row) for row in aborts[:MOST_COMMANDS]]
