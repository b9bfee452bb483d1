"""`txnlog list`."""

from __future__ import annotations

import argparse
import sys

from txnlog.commands.command import Command, add_cluster, add_format, add_tables, tables_root
from txnlog.commands.terminal import width
from txnlog.errors import OptionError
from txnlog.report import kafka_listing
from txnlog.times import milliseconds


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    parser.add_argument(
        "--state",
        action="append",
        default=[],
        choices=kafka_listing.STATES,
        metavar="STATE",
        help=f"only ids in this state, one of {', '.join(kafka_listing.STATES)}; may be given several times",
    )
    parser.add_argument(
        "--duration-filter",
        default="-1",
        metavar="DURATION",
        help="only transactions open for longer than this when the dump was taken: ms, or 15m; below 0: all (-1)",
    )
    parser.add_argument(
        "--transactional-id-pattern", metavar="REGEX", help="only ids that match this regular expression completely"
    )
    add_cluster(parser)
    add_format(parser)


def _run(parsed: argparse.Namespace) -> None:
    longer_than = _duration(parsed.duration_filter)
    found = kafka_listing.states(tables_root(parsed.tables), parsed.cluster)
    listed = kafka_listing.listed(found, parsed.state, longer_than, parsed.transactional_id_pattern)
    sys.stdout.write(kafka_listing.rendered_list(listed, parsed.format, width()))


def _duration(text: str) -> int:
    if text.removeprefix("-").isdecimal():
        return int(text)
    try:
        return milliseconds(text)
    except OptionError as error:
        raise OptionError(f"--duration-filter: {error}") from error


COMMAND = Command(
    "list",
    "list the transactional ids as kafka-transactions.sh list does",
    _add_arguments,
    _run,
    "list --tables /data/txnlog --state Ongoing --duration-filter 15m",
)
