"""`txnlog archive`: keeps what coordinators say, without a verdict on anything."""

from __future__ import annotations

import argparse

from txnlog.commands.command import (
    EXIT_CODES,
    Command,
    add_bootstrap_server,
    add_tables,
    bootstrap_and_timeout,
    tables_root,
)
from txnlog.commands.spark_job import spark_job, spark_needed
from txnlog.config import DetectOptions
from txnlog.dump.opener import dump_root
from txnlog.errors import OptionError
from txnlog.report.coordinator_history import histories, summary
from txnlog.report.latest_run import LATEST_LAST
from txnlog.report.output import counted, printable
from txnlog.report.table_rows import rows_if_there
from txnlog.tables.layout import RUNS, URI, Root
from txnlog.times import instant_ms

STEPS = ("list the dump", "start Spark", "open the tables", "read and keep")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "dump", nargs="?", metavar="DUMP", help="copied log directories: of them only __transaction_state is read"
    )
    add_tables(parser)
    parser.add_argument(
        "--cluster", metavar="NAME", help="name of the cluster; default: as detect calls it, or the cluster's id"
    )
    parser.add_argument("--as-of", metavar="TIME", help="when the dump was taken: ISO 8601 with a time zone")
    add_bootstrap_server(parser, is_required=False, bounds="each answer")


def _run(parsed: argparse.Namespace) -> None:
    root = tables_root(parsed.tables)
    if (parsed.dump is None) == (parsed.bootstrap_server is None):
        raise OptionError("name either a dump or --bootstrap-server")
    as_of = None if parsed.as_of is None else instant_ms(parsed.as_of)
    options = DetectOptions(parsed.dump or "", root.text, parsed.cluster, as_of)
    new = _of_cluster(parsed, options) if parsed.dump is None else _of_dump(options)
    for cluster, records in new.items():
        print(f"{printable(cluster)}: {counted(records, 'new record')} of coordinators")
    # To read a store once more takes requests, and rights of one's own.
    if not URI.fullmatch(root.text):
        for each in histories(root):
            if each.cluster in new:
                print(f"{printable(each.cluster)}: {summary(each)}")


def _of_dump(options: DetectOptions) -> dict[str, int]:
    dump_root(options.dump)
    with spark_needed():
        from txnlog.job.archiving import archive_dump

    return spark_job(STEPS, lambda start, announce: archive_dump(start, options, announce))


def _of_cluster(parsed: argparse.Namespace, options: DetectOptions) -> dict[str, int]:
    bootstrap, timeout_s = bootstrap_and_timeout(parsed)
    with spark_needed():
        from txnlog.job.archiving import archive_cluster
    from txnlog.live.client_properties import client_settings
    from txnlog.live.cluster import LiveCluster

    live = LiveCluster(bootstrap, client_settings(parsed.command_config), timeout_s)
    cluster = options.cluster or _name_of(Root(options.tables), live.cluster_id())
    return spark_job(STEPS, lambda start, announce: archive_cluster(start, options, cluster, live, announce))


def _name_of(root: Root, cluster_id: str) -> str:
    """What earlier dumps of the cluster are called, else its id."""
    runs = rows_if_there(root, RUNS, order=LATEST_LAST)
    return next((row["cluster"] for row in reversed(runs) if row["cluster_id"] == cluster_id), cluster_id)


COMMAND = Command(
    "archive",
    "keep what coordinators say, which compaction removes: of a dump, or of the running cluster",
    _add_arguments,
    _run,
    "archive dump --tables /data/txnlog",
    EXIT_CODES,
)
