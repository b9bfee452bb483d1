"""`txnlog report`."""

from __future__ import annotations

import argparse
from pathlib import Path

from txnlog.commands.command import Command, add_cluster, add_tables, tables_root
from txnlog.errors import OptionError
from txnlog.report.output import printable
from txnlog.report.words import size


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_cluster(parser)
    parser.add_argument("--html", required=True, type=Path, metavar="FILE", help="HTML file to write")


def _run(parsed: argparse.Namespace) -> None:
    from txnlog.report import contents, page

    root = tables_root(parsed.tables)
    content = page.rendered(contents.of_tables(root).only(parsed.cluster), root.text).encode()
    try:
        parsed.html.write_bytes(content)
    except OSError as error:
        raise OptionError(f"{parsed.html}: the report cannot be written there: {error.strerror}") from error
    print(f"report: {printable(parsed.html)} ({size(len(content))})")


COMMAND = Command(
    "report",
    "write what hangs and what to do first as one HTML file",
    _add_arguments,
    _run,
    "report --tables /data/txnlog --html report.html",
)
