"""`txnlog partition`."""

from __future__ import annotations

import argparse
import os
import sys

from txnlog.commands.command import (
    LARGEST_INT32,
    LARGEST_INT64,
    TABLES,
    Command,
    add_cluster,
    add_format,
    add_partition,
    add_period,
    add_tables,
    check_within,
    duration_ms,
    period,
    row_limit,
    tables_root,
)
from txnlog.commands.spark_job import spark_needed
from txnlog.commands.terminal import width
from txnlog.dump.inventory import check_has_logs, inventory
from txnlog.dump.opener import dump_root
from txnlog.errors import OptionError

OUTCOMES = ("COMMIT", "ABORT", "OPEN", "UNKNOWN")
EPILOG = """\
One copy is read from its first segment to its last. OPEN: no marker follows. UNKNOWN: the copy lacks something that is
needed. From: where offsets are missing, the outcome holds for the data from there on; before, another transaction of
the producer id may have been. Whole: nothing of its data can be missing. A duration is from the first time in the data,
by the producer's clock unless the topic has LogAppendTime, to the marker, by the broker's.
LATE_WRITE: data was written after its own transaction had ended, or before a marker that was lost, and counts as a part
of this one.
MARKER_WITHOUT_DATA: the transaction wrote nothing here, or this is the second marker of the one before. With --tables
it is NEVER_WRITTEN or MARKER_TWICE where both markers are matched to a transaction that the coordinator recorded.
TORN_OUTCOME (with --tables): the coordinator decided otherwise.
MARKER_LOST: its data is of two epochs, with no marker between; or (with --tables) it was committed or aborted, and the
marker never came here.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dump", metavar="DUMP", help="folder of a dump, or its address in an object store")
    add_partition(parser)
    add_cluster(parser)
    parser.add_argument("--log-dir", metavar="PATH", help="the copy in this log directory of the dump")
    parser.add_argument("--producer-id", type=int, metavar="N", help="only this producer id")
    parser.add_argument("--transactional-id", metavar="ID", help="only this transactional id, by --tables")
    parser.add_argument(
        "--outcome", choices=OUTCOMES, metavar="OUTCOME", help=f"only this outcome, one of {', '.join(OUTCOMES)}"
    )
    parser.add_argument("--longer-than", metavar="DURATION", help="only those that took longer than this: 30s")
    add_period(parser)
    add_tables(parser)
    add_format(parser)


def _run(parsed: argparse.Namespace) -> None:
    with spark_needed():
        from txnlog.report import partition_list
        from txnlog.report.partition_findings import Recorded
        from txnlog.sources.log_copy import Place
        from txnlog.sources.partition_transactions import transactions
    _check(parsed)
    root = tables_root(parsed.tables) if parsed.tables or os.environ.get(TABLES) else None
    limit, longer_than = row_limit(parsed), duration_ms("--longer-than", parsed.longer_than)
    earliest, latest = period(parsed)
    dump = inventory(dump_root(parsed.dump))
    check_has_logs(dump, parsed.dump)
    place = Place(parsed.topic, parsed.partition)
    copies = transactions(dump, place, parsed.cluster, parsed.log_dir)
    recorded = Recorded(root, copies[0].copy.files[0].cluster, place)
    ids = None if parsed.producer_id is None else frozenset({parsed.producer_id})
    if parsed.transactional_id is not None:
        known = recorded.producer_ids(parsed.transactional_id)
        ids = known if ids is None else ids & known
    wanted = partition_list.Wanted(ids, parsed.outcome, longer_than, earliest, latest)
    if limit is None:
        for piece in partition_list.pieces(copies, wanted, recorded, parsed.format):
            sys.stdout.write(piece)
        for problem in copies[0].problems:
            print(f"txnlog: not read: {problem}", file=sys.stderr)
        return
    found = partition_list.found_in(copies, wanted, recorded, limit)
    sys.stdout.write(partition_list.rendered(found, parsed.format, width(), parsed.dump))


def _check(parsed: argparse.Namespace) -> None:
    check_within("--partition", parsed.partition, LARGEST_INT32)
    check_within("--producer-id", parsed.producer_id, LARGEST_INT64)
    if parsed.transactional_id is not None and not (parsed.tables or os.environ.get(TABLES)):
        raise OptionError("--transactional-id needs --tables")


COMMAND = Command(
    "partition",
    "list the transactions of one partition, ended and open, as its log shows them",
    _add_arguments,
    _run,
    "partition dump --topic orders --partition 3 --tables /data/txnlog --longer-than 30s",
    EPILOG,
)
