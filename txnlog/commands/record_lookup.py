"""`txnlog record`."""

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
    add_tables,
    check_within,
    tables_root,
)
from txnlog.commands.spark_job import spark_needed
from txnlog.commands.terminal import width
from txnlog.dump.inventory import check_has_logs, inventory
from txnlog.dump.opener import dump_root

EPILOG = """\
COMMITTED, ABORTED: by the marker that ended its transaction. OPEN: no marker follows. NOT_TRANSACTIONAL: of no
transaction. CONTROL_RECORD: the marker of a transaction. CLEANED: the log cleaner removed it, at least in one copy.
BEFORE_START: the log or the copy begins after it. BEYOND_END: the copy ends before it. UNKNOWN: the copy lacks
something that is needed. CONTRADICTED: copies diverged.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dump", metavar="DUMP", help="folder of a dump, or its address in an object store")
    add_partition(parser)
    parser.add_argument("--offset", required=True, type=int, metavar="N", help="offset of the record")
    add_cluster(parser)
    add_tables(parser)
    add_format(parser, ("table", "json"))


def _run(parsed: argparse.Namespace) -> None:
    with spark_needed():
        from txnlog.report.record_answer import answered, check_has
        from txnlog.report.record_output import rendered
        from txnlog.sources.log_copy import Place
        from txnlog.sources.record_outcome import record_outcomes
    check_within("--partition", parsed.partition, LARGEST_INT32)
    check_within("--offset", parsed.offset, LARGEST_INT64)
    root = tables_root(parsed.tables) if parsed.tables or os.environ.get(TABLES) else None
    dump = inventory(dump_root(parsed.dump))
    check_has_logs(dump, parsed.dump)
    place = Place(parsed.topic, parsed.partition)
    cluster, copies = record_outcomes(dump, place, parsed.offset, parsed.cluster)
    if root is not None:
        check_has(root, cluster)
    found = answered(cluster, place, parsed.offset, copies, root)
    sys.stdout.write(rendered(found, parsed.format, width(), "" if root is None else root.text))


COMMAND = Command(
    "record",
    "print what became of one record: committed, aborted or open, by which marker, and by which transactional id",
    _add_arguments,
    _run,
    "record dump --tables /data/txnlog --topic orders --partition 3 --offset 4711",
    EPILOG,
)
