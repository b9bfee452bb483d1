"""`txnlog report --transactional-id`: what one transactional id has open, and all that coordinators recorded of it, as
one HTML file.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import txnlog
from txnlog.errors import OptionError
from txnlog.report import fencing_list, id_timeline, transaction_list, transaction_summary
from txnlog.report.advice import counted_actions
from txnlog.report.contents import hangs
from txnlog.report.details import evidence
from txnlog.report.fitted import Column, Drawn
from txnlog.report.id_timeline import IdTimeline
from txnlog.report.id_timeline_svg import drawn
from txnlog.report.late_transactions import latest_transactions
from txnlog.report.latest_run import latest_runs
from txnlog.report.output import with_cells, with_cluster
from txnlog.report.remedy import remedy, states_under_way
from txnlog.report.selection import Selection
from txnlog.report.table_rows import check_cluster
from txnlog.report.templates import file, template
from txnlog.report.transaction_query import Wanted
from txnlog.tables.layout import Root

Row = dict[str, Any]
# Of what is past, the latest so many rows of each kind are in the page, without the columns that matter least.
MOST, MOST_DISPENSABLE = 200, 3


class Listed(NamedTuple):
    """A table of the page: its heading, the columns with their cells, and how many rows there are in all."""

    title: str
    columns: Sequence[Drawn]
    whole: int

    @property
    def lines(self) -> list[tuple[str, ...]]:
        """The cells, row by row."""
        return [*zip(*(each.cells for each in self.columns), strict=True)]


def rendered(root: Root, wanted: Wanted) -> str:
    """The page of `wanted.transactional_id`, in one cluster or in all.

    `OptionError`: an unknown cluster, or an id of which nothing is known. `SetupError` where Jinja is missing.
    """
    runs = latest_runs(root)
    check_cluster(wanted.cluster, runs)
    of_id = Selection(wanted.cluster).of(latest_transactions(root, runs))
    opened = [row for row in of_id if row["transactional_id"] == wanted.transactional_id]
    found = _timeline(root, wanted, bool(opened))
    states = states_under_way(root)
    clusters = {row["cluster"] for row in [*opened, *(found.events if found else ())]}
    return template("id.html.j2").render(
        version=txnlog.__version__,
        generated=datetime.now(UTC),
        source=root.text,
        style=file("style.css"),
        id=wanted.transactional_id,
        clusters=sorted(clusters),
        as_of=max((run["as_of_to"] for run in runs if run["cluster"] in clusters and run["as_of_to"]), default=None),
        opened=[(row, evidence(row), remedy(row, states, root.text)) for row in opened],
        hanging=sum(map(hangs, opened)),
        actions=counted_actions(opened),
        drawing=drawn(found) if found else "",
        events=found,
        lists=[each for each in _lists(root, wanted) if each.whole],
    )


def _timeline(root: Root, wanted: Wanted, has_open: bool) -> IdTimeline | None:
    try:
        return id_timeline.timeline(root, wanted, MOST)
    except OptionError:
        if has_open:
            return None
        raise


def _lists(root: Root, wanted: Wanted) -> list[Listed]:
    fenced = fencing_list.fencings(root, wanted, MOST)
    ended = transaction_list.transactions(root, wanted, MOST)
    by_topic = transaction_summary.summary(root, wanted, "topic")
    topic = Column("Topic", transaction_list.or_none("topic"), is_name=True)
    return [
        _listed("Producers that were fenced", fenced.rows[::-1], fencing_list.SHOWN, fenced.counts.total()),
        _listed("How long its transactions took, in ms", by_topic, (topic, *transaction_summary.SHOWN), len(by_topic)),
        _listed("Transactions", ended.rows[::-1], transaction_list.SHOWN, sum(ended.counts.values())),
    ]


def _listed(title: str, found: list[Row], columns: Sequence[Column], whole: int) -> Listed:
    of_any_id = [each for each in columns if each.of != "transactional_id" and each.dispensable <= MOST_DISPENSABLE]
    shown = with_cluster(found, of_any_id)
    return Listed(title, with_cells(found, shown), whole)
