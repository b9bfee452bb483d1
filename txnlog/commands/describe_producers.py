"""`txnlog describe-producers`."""

from __future__ import annotations

import argparse
import sys

from txnlog.commands.command import Command, add_cluster, add_format, add_partition, add_tables, tables_root
from txnlog.commands.terminal import width
from txnlog.errors import OptionError
from txnlog.report import producers
from txnlog.times import milliseconds


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_partition(parser)
    parser.add_argument(
        "--producer-id-expiration",
        default="1d",
        metavar="DURATION",
        help="the brokers' producer.id.expiration.ms (1d); before Kafka 3.4 transactional.id.expiration.ms (7d) counts",
    )
    add_cluster(parser)
    add_format(parser)


def _run(parsed: argparse.Namespace) -> None:
    try:
        expiration = milliseconds(parsed.producer_id_expiration)
    except OptionError as error:
        raise OptionError(f"--producer-id-expiration: {error}") from error
    found = producers.producers(tables_root(parsed.tables), parsed.topic, parsed.partition, parsed.cluster, expiration)
    sys.stdout.write(producers.rendered(found, parsed.format, width()))


COMMAND = Command(
    "describe-producers",
    "describe a partition's producers as kafka-transactions.sh describe-producers does",
    _add_arguments,
    _run,
    "describe-producers --tables /data/txnlog --topic orders --partition 3",
)
