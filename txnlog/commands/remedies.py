"""`txnlog remedies`."""

from __future__ import annotations

import argparse
import sys

from txnlog.commands.command import Command, add_format, add_selection, add_tables, selection, tables_root
from txnlog.commands.terminal import width
from txnlog.report import remedy_list


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_selection(parser)
    add_format(parser)


def _run(parsed: argparse.Namespace) -> None:
    found = remedy_list.remedied(tables_root(parsed.tables), selection(parsed))
    sys.stdout.write(remedy_list.rendered(found, parsed.format, width()))


COMMAND = Command(
    "remedies",
    "print what mends each open transaction of a cluster, most urgent first",
    _add_arguments,
    _run,
    "remedies --tables /data/txnlog --cluster payments",
)
