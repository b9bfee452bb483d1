"""What `txnlog explain` prints: text for people, and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from txnlog.report.explanations import Event, Explanation, Explanations
from txnlog.report.fitted import ACTION_STYLES
from txnlog.report.output import plain, printable
from txnlog.report.paragraphs import INDENT, Paragraph, of_steps, text_of


def rendered(found: Explanations, form: str, width: int | None = None) -> str:
    """The explanations as `table` (text, wrapped to `width` columns of a terminal) or `json`."""
    if form == "json":
        return json.dumps([_as_json(explanation) for explanation in found.of_transactions], indent=2) + "\n"
    if not found.of_transactions:
        return f"no such transaction is open there as of {printable(', '.join(found.as_of))}\n"
    return "\n".join(text_of(_paragraphs(explanation), width) for explanation in found.of_transactions)


def _as_json(explanation: Explanation) -> dict[str, Any]:
    transaction = {name: plain(value) for name, value in explanation.transaction.items()}
    events = [event._asdict() for event in explanation.events]
    rest = {"transaction": transaction, "events": events, "remedy": explanation.remedy.as_json()}
    return explanation._asdict() | rest


def _paragraphs(explanation: Explanation) -> Iterator[Paragraph]:
    row = explanation.transaction
    title = f"{row['topic']}-{row['partition']} in cluster {row['cluster']}: open from offset {row['start_offset']}"
    yield Paragraph(title, 0, "bold")
    yield from _part("Who wrote it", explanation.who)
    yield Paragraph("What happened", 0, "bold")
    for event in explanation.events:
        yield from _event(event)
    yield from _part("Why it is open", explanation.why)
    if explanation.rests_on:
        yield Paragraph("Proofs", 0, "bold")
    for proof in explanation.rests_on:
        yield Paragraph(proof)
    yield Paragraph(f"What to do: {row['action']}", 0, ACTION_STYLES.get(row["action"], "bold"))
    yield Paragraph(explanation.remedy.says)
    yield from of_steps(explanation.remedy.steps)
    yield from _part("What it holds back", explanation.held_back)
    yield from _part("What prevents it", explanation.prevention)


def _part(heading: str, text: str) -> Iterator[Paragraph]:
    yield Paragraph(heading, 0, "bold")
    yield Paragraph(text)


def _event(event: Event) -> Iterator[Paragraph]:
    when = "at an unknown time" if event.time is None else f"{event.time} ({event.clock})"
    yield Paragraph(f"{when}: {event.what}")
    if event.file is not None:
        offset = "" if event.offset is None else f"offset {event.offset}, "
        yield Paragraph(f"{offset}{event.file}, byte {event.position}", 2 * INDENT, "dim")
