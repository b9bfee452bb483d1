"""`txnlog transactions`."""

from __future__ import annotations

import argparse
import sys

from txnlog.commands.command import (
    LARGEST_INT32,
    Command,
    add_cluster,
    add_format,
    add_period,
    add_tables,
    add_topic,
    check_within,
    duration_ms,
    period,
    row_limit,
    tables_root,
)
from txnlog.commands.terminal import width
from txnlog.errors import OptionError
from txnlog.report import transaction_list, transaction_summary
from txnlog.report.transaction_query import STATUSES, Wanted

EPILOG = """\
A duration ends with the Complete* record, or with the decision if only that is kept, by the clocks of the coordinators;
that of a transaction under way ends when the latest copy was taken. OPEN: not decided yet. UNKNOWN: a later transaction
of the id began, and no record of the end is kept. How far back the records go: txnlog history. What is above
the high watermark of the copies is not kept: txnlog describe has it, and the next dump.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_cluster(parser)
    parser.add_argument("--transactional-id", metavar="ID", help="only this transactional id")
    add_topic(parser)
    parser.add_argument("--partition", type=int, metavar="N", help="only this partition of --topic")
    parser.add_argument(
        "--outcome", choices=STATUSES, metavar="OUTCOME", help=f"only this outcome, one of {', '.join(STATUSES)}"
    )
    parser.add_argument("--longer-than", metavar="DURATION", help="only those that take longer than this: 30s")
    add_period(parser)
    parser.add_argument(
        "--summary", action="store_true", help="durations, aborts and who aborted, instead of each transaction"
    )
    groups = [*transaction_summary.GROUPS]
    groups_help = f"a row for each of these, with --summary: {', '.join(groups)} ({groups[0]})"
    parser.add_argument("--by", choices=groups, metavar="GROUP", help=groups_help)
    add_format(parser)


def _run(parsed: argparse.Namespace) -> None:
    wanted, limit = _wanted(parsed), row_limit(parsed)
    root = tables_root(parsed.tables)
    if not parsed.summary and limit is None:
        for piece in transaction_list.pieces(root, wanted, parsed.format):
            sys.stdout.write(piece)
        return
    if not parsed.summary:
        found = transaction_list.transactions(root, wanted, limit)
        sys.stdout.write(transaction_list.rendered(found, parsed.format, width(), root.text, wanted))
        return
    by = parsed.by or next(iter(transaction_summary.GROUPS))
    groups = transaction_summary.summary(root, wanted, by)
    ending = transaction_summary.following(groups, by, root.text, wanted)
    if limit is not None and len(groups) > limit:
        ending = f"Only the first {limit} of {len(groups)} rows are listed: --limit {len(groups)} lists all.\n{ending}"
    sys.stdout.write(transaction_summary.rendered(groups[:limit], parsed.format, by, width(), ending))


def _wanted(parsed: argparse.Namespace) -> Wanted:
    if parsed.partition is not None and parsed.topic is None:
        raise OptionError("--partition needs --topic")
    check_within("--partition", parsed.partition, LARGEST_INT32)
    if parsed.by is not None and not parsed.summary:
        raise OptionError("--by needs --summary")
    return Wanted(
        parsed.cluster,
        parsed.transactional_id,
        parsed.topic,
        parsed.partition,
        parsed.outcome,
        duration_ms("--longer-than", parsed.longer_than),
        *period(parsed),
    )


COMMAND = Command(
    "transactions",
    "list past and open transactions by what coordinators recorded, or sum up how long they took",
    _add_arguments,
    _run,
    "transactions --tables /data/txnlog --longer-than 30s --from 2026-01-31T02:00:00Z",
    EPILOG,
)
