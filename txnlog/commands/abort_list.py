"""`txnlog abort-list`."""

from __future__ import annotations

import argparse
import sys

from txnlog.commands.command import Command, add_format, add_tables
from txnlog.report import abort_list
from txnlog.tables.layout import Root


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_format(parser, ("sh", "json", "csv"))
    parser.add_argument(
        "--broker-version",
        choices=("3.0", "older"),
        default="3.0",
        help="older: the form for brokers before 3.0, which check nothing",
    )


def _run(parsed: argparse.Namespace) -> None:
    found = abort_list.open_candidates(Root(parsed.tables))
    sys.stdout.write(abort_list.rendered(found, parsed.format, parsed.broker_version == "older"))


COMMAND = Command(
    "abort-list",
    "print the aborts that are whole in evidence",
    _add_arguments,
    _run,
    "abort-list --tables /data/txnlog > aborts.sh",
)
