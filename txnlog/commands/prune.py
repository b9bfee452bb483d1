"""`txnlog prune`: the one command that removes rows from the tables."""

from __future__ import annotations

import argparse

from txnlog.commands.command import EXIT_CODES, Command, add_tables, duration_ms, tables_root
from txnlog.commands.spark_job import spark_job, spark_needed
from txnlog.report.output import counted, printable

KEPT_HISTORY = "30d"
STEPS = ("start Spark", "open the tables", "remove old rows", "compact and vacuum")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    parser.add_argument(
        "--keep",
        required=True,
        metavar="DURATION",
        help="for how long before the latest dump of each cluster runs and what they found are kept: 90d",
    )
    parser.add_argument(
        "--keep-history",
        default=KEPT_HISTORY,
        metavar="DURATION",
        help=f"for how long the records of coordinators are kept that later verdicts rest on ({KEPT_HISTORY})",
    )


def _run(parsed: argparse.Namespace) -> None:
    root = tables_root(parsed.tables)
    keep, history = duration_ms("--keep", parsed.keep), duration_ms("--keep-history", parsed.keep_history)
    with spark_needed():
        from txnlog.job.pruning import Kept, prune

    kept = Kept(keep or 0, history or 0)
    done = spark_job(STEPS, lambda start, announce: prune(start, root.text, kept, announce))
    for (cluster, table), rows in sorted(done.rows.items()):
        print(f"{printable(cluster)}: {counted(rows, 'row')} of {table} removed")
    if done.upkeep.compacted:
        print(f"{counted(done.upkeep.compacted, 'small file')} compacted")
    if done.upkeep.deleted:
        print(f"{counted(done.upkeep.deleted, 'file')} deleted that no version of the last 7 days needs")
    if not (done.rows or any(done.upkeep)):
        print("Nothing is old: no table was changed.")


COMMAND = Command(
    "prune",
    "remove old rows from the tables, compact their files and delete those that nothing needs",
    _add_arguments,
    _run,
    "prune --tables /data/txnlog --keep 90d",
    EXIT_CODES,
)
