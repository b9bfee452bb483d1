"""The command line: `txnlog detect`, `find-hanging`, `abort-list`. Results on stdout, everything else on stderr."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import txnlog
from txnlog.config import OPTIONS, DetectOptions, detect_options
from txnlog.errors import SparkError, TxnlogError
from txnlog.report import abort_list, find_hanging
from txnlog.report.output import printable
from txnlog.sources.opener import dump_root
from txnlog.tables.layout import Root

if TYPE_CHECKING:
    from txnlog.job import Outcome

# So many are printed; the inventory of the dump has all.
LINKS_NAMED = 5
EXIT_CODES = """exit codes:
  0  done, whatever was found
  1  an error of txnlog itself, or of Spark
  2  wrong options, or a dump that cannot be read
  3  Java, Python, Spark or a jar is missing
  4  a Delta table that is missing, of another schema, or cannot be written
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code. Errors are one line on stderr."""
    parsed = _parser().parse_args(arguments)
    try:
        command: Callable[[argparse.Namespace], None] = parsed.command
        command(parsed)
    except TxnlogError as error:
        print(f"txnlog: {printable(error)}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("txnlog: interrupted; the tables are as they were or complete, run it again", file=sys.stderr)
        return 130
    return 0


def detect(arguments: Sequence[str] | None = None) -> int:
    """`txnlog detect` as a job of its own, for `spark-submit`."""
    return main(["detect", *(sys.argv[1:] if arguments is None else arguments)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="txnlog",
        description="Finds hanging Kafka transactions in copied log directories.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"txnlog {txnlog.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_detect(commands)
    _add_report(
        commands,
        "find-hanging",
        "print every late open transaction of the latest dumps",
        ("table", "json", "csv"),
        _find_hanging,
    )
    aborts = _add_report(
        commands,
        "abort-list",
        "print the aborts that are whole in evidence",
        ("sh", "json", "csv"),
        _abort_list,
    )
    aborts.add_argument(
        "--broker-version",
        choices=("3.0", "older"),
        default="3.0",
        help="older: the form for brokers before 3.0, which check nothing",
    )
    return parser


def _add_detect(commands: Any) -> None:
    command = commands.add_parser(
        "detect",
        help="read a dump and write the Delta tables",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for option in OPTIONS:
        if option.key == "dump":
            command.add_argument("dump", nargs="?", default=argparse.SUPPRESS, metavar="DUMP", help=option.meaning)
        elif not option.placeholder:
            command.add_argument(_flag(option.key), action="store_true", default=argparse.SUPPRESS, help=option.meaning)
        else:
            command.add_argument(
                _flag(option.key), default=argparse.SUPPRESS, metavar=option.placeholder, help=option.meaning
            )
    command.add_argument("--config", type=Path, metavar="FILE", help="TOML file whose keys are these options")
    command.set_defaults(command=_detect)


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


def _add_report(
    commands: Any,
    name: str,
    meaning: str,
    forms: tuple[str, ...],
    function: Callable[[argparse.Namespace], None],
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=meaning, description=meaning.capitalize() + ".")
    command.add_argument("--tables", required=True, metavar="ROOT", help="where the Delta tables are")
    command.add_argument("--format", choices=forms, default=forms[0], help=f"form of the output ({forms[0]})")
    command.set_defaults(command=function)
    return command


def _detect(parsed: argparse.Namespace) -> None:
    known = {option.key for option in OPTIONS}
    options = detect_options({key: value for key, value in vars(parsed).items() if key in known}, parsed.config)
    # Spark takes its time to import and to start: not before the options are right.
    dump_root(options.dump)
    from txnlog.job import run
    from txnlog.session import session
    from txnlog.spark_errors import SPARK_ERRORS, cause_of

    # PySpark logs each of its errors once more, with the whole stack.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    try:
        with _progress() as announce:
            announce("start Spark")
            outcome = run(session(), options, announce)
    except SPARK_ERRORS as error:
        raise SparkError(f"Spark: {cause_of(error)}") from error
    except OSError as error:
        # PySpark hands small tables to Spark in temporary files, and talks to it through a socket.
        raise SparkError(f"{error}: is a disk full, or was Spark ended?") from error
    _print_outcome(outcome, options)


def _print_outcome(outcome: Outcome, options: DetectOptions) -> None:
    for found in outcome.runs:
        print(
            f"{printable(found['cluster'])}: {found['open_transactions']} open transactions,"
            f" {found['late_transactions']} late, {found['abort_candidates']} to abort,"
            f" {found['undetermined']} undetermined"
            f" ({found['partitions']} partitions, as of {printable(found['as_of_from'])}"
            f" by {_joined(found['as_of_sources'])})"
        )
        if found["coordinator_partitions_missing"]:
            print(
                f"  the dump lacks {found['coordinator_partitions_missing']} of {found['coordinator_partitions']}"
                " partitions of __transaction_state"
            )
        if found["bytes_damaged"]:
            print(f"  {found['bytes_damaged']} of {found['bytes']} bytes are damaged: see the table dump_files")
    if outcome.not_followed:
        print(
            f"{len(outcome.not_followed)} symbolic links or special files were not followed, and what they lead to was"
            f" not read: {', '.join(map(printable, outcome.not_followed[:LINKS_NAMED]))}"
        )
    root = Root(options.tables)
    place = options.tables if root.is_schema else Path(options.tables).absolute()
    print(f"Delta tables: {printable(place)}")


def _joined(names: object) -> str:
    return ", ".join(map(str, names)) if isinstance(names, list) else str(names)


def _find_hanging(parsed: argparse.Namespace) -> None:
    found = find_hanging.late_transactions(Root(parsed.tables))
    sys.stdout.write(find_hanging.rendered(found, parsed.format))


def _abort_list(parsed: argparse.Namespace) -> None:
    found = abort_list.open_candidates(Root(parsed.tables))
    sys.stdout.write(abort_list.rendered(found, parsed.format, parsed.broker_version == "older"))


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """The name of the step under way on a terminal; nothing in a log."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console

    with Console(stderr=True).status("…") as status:
        yield lambda step: status.update(f"{step} …")


if __name__ == "__main__":
    sys.exit(main())
