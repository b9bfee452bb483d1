"""`txnlog explain`."""

from __future__ import annotations

import argparse
import sys

from txnlog.commands.command import Command, add_action, add_cluster, add_format, add_tables, tables_root
from txnlog.commands.terminal import width
from txnlog.errors import OptionError
from txnlog.report import explanation_output, explanations


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    parser.add_argument("--topic", metavar="TOPIC", help="topic, with --partition")
    parser.add_argument("--partition", type=int, metavar="N", help="partition number")
    parser.add_argument("--transactional-id", metavar="ID", help="instead of a partition: all that this id has open")
    parser.add_argument("--producer-id", type=int, metavar="ID", help="only the transaction of this producer id")
    add_cluster(parser)
    add_action(parser)
    add_format(parser, ("table", "json"))


def _run(parsed: argparse.Namespace) -> None:
    found = _found(parsed).only("action", parsed.action)
    sys.stdout.write(explanation_output.rendered(found, parsed.format, width()))


def _found(parsed: argparse.Namespace) -> explanations.Explanations:
    of_partition = (parsed.topic, parsed.partition, parsed.producer_id)
    if parsed.transactional_id is not None and of_partition == (None, None, None):
        return explanations.explained_id(tables_root(parsed.tables), parsed.transactional_id, parsed.cluster)
    if parsed.transactional_id is None and None not in of_partition[:2]:
        return explanations.explained(tables_root(parsed.tables), *of_partition, parsed.cluster)
    raise OptionError("explain takes either --topic and --partition or --transactional-id")


COMMAND = Command(
    "explain",
    "print the history of a partition's open transactions, with the evidence",
    _add_arguments,
    _run,
    "explain --tables /data/txnlog --topic orders --partition 3",
)
