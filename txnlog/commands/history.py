"""`txnlog history`."""

from __future__ import annotations

import argparse
import sys

from txnlog.commands.command import Command, add_cluster, add_format, add_tables, duration_ms, tables_root
from txnlog.commands.terminal import width
from txnlog.errors import HistoryError
from txnlog.report import coordinator_history


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_cluster(parser)
    parser.add_argument(
        "--within", metavar="DURATION", help="only holes that ended so long before the end of the history count: 7d"
    )
    add_format(parser)


def _run(parsed: argparse.Namespace) -> None:
    within_ms = duration_ms("--within", parsed.within)
    found = coordinator_history.histories(tables_root(parsed.tables), parsed.cluster)
    sys.stdout.write(coordinator_history.rendered(found, parsed.format, width()))
    if not found:
        raise HistoryError("nothing is kept of any cluster: run `txnlog detect` or `txnlog archive` first")
    troubles = ((each.cluster, coordinator_history.trouble(each, within_ms)) for each in found)
    named = [f"{cluster}: {trouble}" for cluster, trouble in troubles if trouble]
    if named:
        raise HistoryError(f"the history of coordinators is not whole: {'; '.join(named)}")


COMMAND = Command(
    "history",
    "print since when the history of coordinators is whole; exit code 6 if it has a hole",
    _add_arguments,
    _run,
    "history --tables /data/txnlog --within 7d",
)
