"""`txnlog timeline`."""

from __future__ import annotations

import argparse
import sys

from txnlog.commands.command import (
    FORMS,
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
from txnlog.report import id_timeline, id_timeline_svg
from txnlog.report.transaction_query import Wanted

SVG = "svg"
EPILOG = """\
STARTED: a producer of the id got its producer id and epoch. Fenced: the epoch that the coordinator refuses from then
on, with all earlier ones. A transaction stands at its start, with its outcome; one that a timeout or a newer producer
ended fences its own epoch. EXPIRED: the coordinator forgot the id, as it was idle for transactional.id.expiration.ms.
svg: a drawing with a line for each partition, for a browser: --format svg > checkout-7.svg
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    parser.add_argument("--transactional-id", required=True, metavar="ID", help="transactional id")
    add_cluster(parser)
    add_period(parser)
    add_format(parser, (*FORMS, SVG))


def _run(parsed: argparse.Namespace) -> None:
    earliest, latest = period(parsed)
    wanted = Wanted(parsed.cluster, parsed.transactional_id, from_ms=earliest, to_ms=latest)
    root = tables_root(parsed.tables)
    found = id_timeline.timeline(root, wanted, row_limit(parsed))
    if parsed.format == SVG:
        sys.stdout.write(id_timeline_svg.drawn(found))
        return
    sys.stdout.write(id_timeline.rendered(found, parsed.format, width(), root.text))


COMMAND = Command(
    "timeline",
    "print the producers and transactions of one transactional id in their order, and who was fenced",
    _add_arguments,
    _run,
    "timeline --tables /data/txnlog --transactional-id checkout-7",
    EPILOG,
)
