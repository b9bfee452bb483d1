"""`txnlog report`."""

from __future__ import annotations

import argparse
from pathlib import Path

from txnlog.commands.command import Command, add_cluster, add_tables, tables_root, write
from txnlog.report.output import printable
from txnlog.report.transaction_query import Wanted
from txnlog.report.words import size


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_cluster(parser)
    parser.add_argument(
        "--transactional-id", metavar="ID", help="a page about this id alone, with its past transactions"
    )
    parser.add_argument("--html", required=True, type=Path, metavar="FILE", help="HTML file to write")


def _run(parsed: argparse.Namespace) -> None:
    written = write(parsed.html, _page(parsed), "the report")
    print(f"report: {printable(parsed.html)} ({size(written)})")


def _page(parsed: argparse.Namespace) -> str:
    root = tables_root(parsed.tables)
    if parsed.transactional_id is not None:
        from txnlog.report import id_page

        return id_page.rendered(root, Wanted(parsed.cluster, parsed.transactional_id))

    from txnlog.report import contents, page

    return page.rendered(contents.of_tables(root).only(parsed.cluster), root.text)


COMMAND = Command(
    "report",
    "write what hangs and what to do first as one HTML file",
    _add_arguments,
    _run,
    "report --tables /data/txnlog --html report.html",
)
