"""`txnlog fencings`."""

from __future__ import annotations

import argparse
import sys

from txnlog.commands.command import (
    Command,
    add_cluster,
    add_format,
    add_period,
    add_tables,
    period,
    row_limit,
    tables_root,
)
from txnlog.commands.terminal import width
from txnlog.report import fencing_list
from txnlog.report.transaction_query import Wanted

EPILOG = """\
Fenced: the epoch that the coordinator refuses from then on. By NEW_PRODUCER: another producer of the same id started,
with the producer id and epoch that follow; whether the one before still ran, no record says. By TIMEOUT: its
transaction took longer than transaction.timeout.ms. By FENCING: its transaction was open when another one started.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_cluster(parser)
    parser.add_argument("--transactional-id", metavar="ID", help="only this transactional id")
    add_period(parser)
    add_format(parser)


def _run(parsed: argparse.Namespace) -> None:
    earliest, latest = period(parsed)
    wanted = Wanted(parsed.cluster, parsed.transactional_id, from_ms=earliest, to_ms=latest)
    root = tables_root(parsed.tables)
    found = fencing_list.fencings(root, wanted, row_limit(parsed))
    sys.stdout.write(fencing_list.rendered(found, parsed.format, width(), root.text))


COMMAND = Command(
    "fencings",
    "list the producers that were fenced, when and by whom",
    _add_arguments,
    _run,
    "fencings --tables /data/txnlog --from 2026-01-31T02:00:00Z",
    EPILOG,
)
