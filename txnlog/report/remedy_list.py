"""`txnlog remedies`: what mends each open transaction of a cluster, the most urgent first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from txnlog.report.advice import counted_actions
from txnlog.report.fitted import ACTION_STYLES
from txnlog.report.late_transactions import latest_transactions
from txnlog.report.latest_run import latest_runs
from txnlog.report.output import as_csv, counted, plain
from txnlog.report.paragraphs import Paragraph, of_steps, text_of
from txnlog.report.remedy import Remedy, Step, remedy, states_under_way
from txnlog.report.selection import Selection
from txnlog.report.table_rows import only_cluster
from txnlog.tables.layout import OPEN_TRANSACTIONS, Root, columns_of

BEFORE = (
    Paragraph("The cluster has changed since the dump. Ask it before you act, and set for the commands:", 0),
    Paragraph("export BOOTSTRAP_SERVER=host:9092", is_command=True),
    Paragraph(
        "If the brokers ask for TLS or SASL, add --command-config FILE to those of Kafka; before Kafka 4.2"
        " kafka-leader-election.sh calls it --admin.config, and kafka-console-consumer.sh --consumer.config.",
        0,
    ),
)


class Remedied(NamedTuple):
    """An open transaction, a row of `open_transactions`, and what mends it."""

    transaction: dict[str, Any]
    remedy: Remedy


def remedied(root: Root, selection: Selection) -> list[Remedied]:
    """The open transactions of the latest dump of the cluster, the most urgent first."""
    runs = latest_runs(root)
    cluster = only_cluster(selection.cluster, runs)
    found = selection._replace(cluster=cluster).of(latest_transactions(root, runs))
    states = states_under_way(root)
    return [Remedied(row, remedy(row, states, root.text)) for row in found]


def rendered(found: Sequence[Remedied], form: str, width: int | None = None) -> str:
    """The remedies as `table` (text, wrapped to `width` columns of a terminal), `json` or `csv`."""
    if form == "csv":
        names = [field.name for field in columns_of(OPEN_TRANSACTIONS)]
        return as_csv([each.transaction | {"remedy": as_text(each.remedy)} for each in found], names)
    if form == "json":
        return json.dumps([_as_json(each) for each in found], indent=2) + "\n"
    return text_of(_paragraphs(found), width)


def _as_json(each: Remedied) -> dict[str, Any]:
    transaction = {name: plain(value) for name, value in each.transaction.items()}
    return {"transaction": transaction, "remedy": each.remedy.as_json()}


def as_text(remedy: Remedy) -> str:
    """A remedy as lines of text, for a cell of a table."""
    return text_of([Paragraph(remedy.says), *of_steps(remedy.steps)], None).rstrip()


def _paragraphs(found: Sequence[Remedied]) -> Iterator[Paragraph]:
    if not found:
        yield Paragraph("Nothing is open.", 0)
        return
    as_of = max(each.transaction["as_of"] for each in found)
    actions = counted_actions([each.transaction for each in found])
    yield Paragraph(f"Cluster {found[0].transaction['cluster']} as of {plain(as_of)}: {actions}", 0, "bold")
    yield from BEFORE
    printed: dict[tuple[Step, ...], int] = {}
    for number, each in enumerate(found, 1):
        yield Paragraph("", 0)
        yield from _entry(number, each, printed)


def _entry(number: int, each: Remedied, printed: dict[tuple[Step, ...], int]) -> Iterator[Paragraph]:
    row = each.transaction
    owner = row["transactional_id"] or "not known"
    place = f"{row['topic']}-{row['partition']} from offset {row['start_offset']}"
    yield Paragraph(f"{number}. {row['action']}: {place}", 0, ACTION_STYLES.get(row["action"], "bold"))
    holds = f"{counted(row['held_back_records'], 'record')} held back"
    yield Paragraph(f"{holds}; transactional id {owner}; {row['cause']} ({row['confidence']}): {row['reason']}")
    yield Paragraph(each.remedy.says)
    if (same := printed.setdefault(each.remedy.steps, number)) == number:
        yield from of_steps(each.remedy.steps)
    else:
        yield Paragraph(f"The steps are those of {same}.")
