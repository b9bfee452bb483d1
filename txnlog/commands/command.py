"""The type of a command, and arguments that several commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from txnlog.config import addresses
from txnlog.errors import OptionError, TableError
from txnlog.report.advice import ADVICE
from txnlog.report.selection import Selection
from txnlog.tables.layout import Root
from txnlog.times import instant_ms, milliseconds

EXIT_CODES = """exit codes:
  0  done, whatever was found, damage in the dump included
  1  an error of txnlog itself, or of Spark
  2  wrong options, or a dump that cannot be read
  3  Java, Python, Spark or a jar is missing
  4  a Delta table that is missing, of another schema, or cannot be written
  5  a running cluster that cannot be reached, or is not the one of the dump
  6  history: what is kept of coordinators has a hole, or lacks a partition
"""
# The environment variable that stands for --tables.
TABLES = "TXNLOG_TABLES"
# For people, for programs, for spreadsheets.
FORMS = ("table", "json", "csv")
# Rows of a table for people, unless they say how many; programs get all.
MOST_ROWS = 1_000
TIMEOUT = "30s"
LARGEST_INT32, LARGEST_INT64 = 2**31 - 1, 2**63 - 1


class Command(NamedTuple):
    """One command: `meaning` is its line in `txnlog --help`, `example` what to type after `txnlog`."""

    name: str
    meaning: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]
    example: str
    epilog: str = ""


def add_tables(parser: argparse.ArgumentParser) -> None:
    """The argument of every command that reads tables."""
    parser.add_argument("--tables", metavar="ROOT", help=f"where the Delta tables are (default: ${TABLES})")


def tables_root(text: str | None) -> Root:
    """The tables that `--tables`, or else the environment, names. `TableError` where that is a file."""
    text = text or os.environ.get(TABLES)
    if not text:
        raise OptionError(f"--tables is missing, and {TABLES} is not set")
    root = Root(text)
    if not root.is_schema and Path(text).is_file():
        raise TableError(f"{text} is a file: --tables takes the folder of the tables")
    return root


def write(file: Path, content: str, what: str) -> int:
    """Write a file; how many bytes it has. `OptionError` where that cannot be."""
    try:
        return file.write_bytes(content.encode())
    except OSError as error:
        raise OptionError(f"{file}: {what} cannot be written there: {error.strerror}") from error


def add_format(parser: argparse.ArgumentParser, forms: tuple[str, ...] = FORMS) -> None:
    """The argument of every command that prints rows; the first form is the default."""
    parser.add_argument("--format", choices=forms, default=forms[0], help=f"output format ({forms[0]})")


def add_selection(parser: argparse.ArgumentParser) -> None:
    """The arguments of every command that shows open transactions of any partition."""
    add_cluster(parser)
    add_topic(parser)
    add_action(parser)


def add_topic(parser: argparse.ArgumentParser) -> None:
    """The argument of every command that shows transactions of one action, of any partition."""
    parser.add_argument("--topic", metavar="TOPIC", help="only this topic")


def add_action(parser: argparse.ArgumentParser) -> None:
    """The argument of every command that shows transactions of any action."""
    names = ", ".join(ADVICE)
    parser.add_argument("--action", choices=[*ADVICE], metavar="ACTION", help=f"only this action, one of {names}")


def selection(parsed: argparse.Namespace) -> Selection:
    """What these arguments select."""
    return Selection(parsed.cluster, parsed.topic, parsed.action)


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """The argument of every command whose names are unique in a cluster only."""
    parser.add_argument("--cluster", metavar="NAME", help="only this cluster, if the tables have several")


def add_partition(parser: argparse.ArgumentParser) -> None:
    """The arguments of every command that looks at one partition."""
    parser.add_argument("--topic", required=True, metavar="TOPIC", help="topic")
    parser.add_argument("--partition", required=True, type=int, metavar="N", help="partition number")


def add_loudness(parser: argparse.ArgumentParser, default: object = argparse.SUPPRESS) -> None:
    """`-v` and `--debug`: before the command and after it."""
    parser.add_argument("-v", "--verbose", action="store_true", default=default, help="print each step on stderr")
    parser.add_argument(
        "--debug",
        action="store_true",
        default=default,
        help="like --verbose, with Spark's log and each error's traceback",
    )


def add_bootstrap_server(
    parser: argparse.ArgumentParser, is_required: bool = True, bounds: str = "all answers together"
) -> None:
    """The arguments of every command that asks a running cluster; `bounds` is what its timeout is for."""
    parser.add_argument(
        "--bootstrap-server",
        required=is_required,
        metavar="HOST:PORT",
        help="brokers to start from, separated by commas",
    )
    parser.add_argument(
        "--command-config",
        type=Path,
        metavar="FILE",
        help="client.properties with the settings for TLS and SASL, as kafka-transactions.sh takes it",
    )
    parser.add_argument(
        "--timeout", default=TIMEOUT, metavar="DURATION", help=f"how long {bounds} may take ({TIMEOUT})"
    )


def bootstrap_and_timeout(parsed: argparse.Namespace) -> tuple[str, float]:
    """The address of the brokers, and how many seconds their answers may take; `OptionError` for what cannot be."""
    try:
        bootstrap = addresses(parsed.bootstrap_server)
    except OptionError as error:
        raise OptionError(f"--bootstrap-server: {error}") from error
    timeout = duration_ms("--timeout", parsed.timeout)
    if not timeout:
        raise OptionError("--timeout: must be above 0")
    return bootstrap, timeout / 1000


def duration_ms(flag: str, text: str | None) -> int | None:
    """The value of a flag that is a duration, in ms; `OptionError` names the flag."""
    try:
        return None if text is None else milliseconds(text)
    except OptionError as error:
        raise OptionError(f"{flag}: {error}") from error


def moment_ms(flag: str, text: str | None) -> int | None:
    """The value of a flag that is an instant, in ms since 1970; `OptionError` names the flag."""
    try:
        return None if text is None else instant_ms(text)
    except OptionError as error:
        raise OptionError(f"{flag}: {error}") from error


def add_period(parser: argparse.ArgumentParser) -> None:
    """The arguments of every command that shows transactions over time."""
    parser.add_argument("--from", dest="earliest", metavar="TIME", help="only what was under way then or later")
    parser.add_argument("--to", dest="latest", metavar="TIME", help="only what began before this time")
    parser.add_argument(
        "--limit", type=int, metavar="N", help=f"at most N rows, the latest (json and csv: all; else {MOST_ROWS})"
    )


def period(parsed: argparse.Namespace) -> tuple[int | None, int | None]:
    """`--from` and `--to` in ms since 1970; None where they are not given."""
    earliest, latest = moment_ms("--from", parsed.earliest), moment_ms("--to", parsed.latest)
    if earliest is not None and latest is not None and earliest >= latest:
        raise OptionError(f"--from: {parsed.earliest} is not before --to {parsed.latest}")
    return earliest, latest


def check_within(flag: str, value: int | None, largest: int) -> None:
    """`OptionError` for a number that Kafka cannot have there; none at all is fine."""
    if value is not None and not 0 <= value <= largest:
        raise OptionError(f"{flag}: {value} is {'below 0' if value < 0 else f'above {largest}'}")


def row_limit(parsed: argparse.Namespace) -> int | None:
    """How many rows may be printed at most; None is all."""
    if parsed.limit is None:
        return None if parsed.format in FORMS[1:] else MOST_ROWS
    if parsed.limit < 1:
        raise OptionError("--limit: must be above 0")
    limit: int = parsed.limit
    return limit
