"""`txnlog explain`."""

from __future__ import annotations

import argparse
import sys

from txnlog.commands.command import Command, add_cluster, add_format, add_partition, add_tables, tables_root
from txnlog.commands.terminal import width
from txnlog.report import explanation_output, explanations


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_partition(parser)
    parser.add_argument("--producer-id", type=int, metavar="ID", help="only the transaction of this producer id")
    add_cluster(parser)
    add_format(parser, ("table", "json"))


def _run(parsed: argparse.Namespace) -> None:
    root = tables_root(parsed.tables)
    found = explanations.explained(root, parsed.topic, parsed.partition, parsed.producer_id, parsed.cluster)
    sys.stdout.write(explanation_output.rendered(found, parsed.format, width()))


COMMAND = Command(
    "explain",
    "print the history of a partition's open transactions, with the evidence",
    _add_arguments,
    _run,
    "explain --tables /data/txnlog --topic orders --partition 3",
)
