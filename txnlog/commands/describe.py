"""`txnlog describe`."""

from __future__ import annotations

import argparse
import sys

from txnlog.commands.command import Command, add_cluster, add_format, add_tables, tables_root
from txnlog.commands.terminal import width
from txnlog.report import kafka_listing


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    parser.add_argument("--transactional-id", required=True, metavar="ID", help="the id, as its producer has it")
    add_cluster(parser)
    add_format(parser)


def _run(parsed: argparse.Namespace) -> None:
    found = kafka_listing.described(tables_root(parsed.tables), parsed.transactional_id, parsed.cluster)
    sys.stdout.write(kafka_listing.rendered_description(found, parsed.format, width()))


COMMAND = Command(
    "describe",
    "describe a transactional id as kafka-transactions.sh describe does",
    _add_arguments,
    _run,
    "describe --tables /data/txnlog --transactional-id payments-7",
)
