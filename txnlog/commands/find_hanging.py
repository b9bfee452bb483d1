"""`txnlog find-hanging`."""

from __future__ import annotations

import argparse
import sys

from txnlog.commands.command import Command, add_format, add_selection, add_tables, selection, tables_root
from txnlog.commands.terminal import width
from txnlog.report import late_transactions


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_selection(parser)
    add_format(parser)


def _run(parsed: argparse.Namespace) -> None:
    root = tables_root(parsed.tables)
    found = late_transactions.late_transactions(root, selection(parsed))
    sys.stdout.write(late_transactions.rendered(found, parsed.format, width(), root.text))


COMMAND = Command(
    "find-hanging",
    "print every late open transaction of the latest dumps",
    _add_arguments,
    _run,
    "find-hanging --tables /data/txnlog --format json",
)
