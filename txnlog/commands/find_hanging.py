"""`txnlog find-hanging`."""

from __future__ import annotations

import argparse
import sys

from txnlog.commands.command import Command, add_format, add_tables, tables_root
from txnlog.commands.terminal import width
from txnlog.report import late_transactions


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_format(parser)


def _run(parsed: argparse.Namespace) -> None:
    found = late_transactions.late_transactions(tables_root(parsed.tables))
    sys.stdout.write(late_transactions.rendered(found, parsed.format, width()))


COMMAND = Command(
    "find-hanging",
    "print every late open transaction of the latest dumps",
    _add_arguments,
    _run,
    "find-hanging --tables /data/txnlog --format json",
)
