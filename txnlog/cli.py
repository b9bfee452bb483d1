"""The command line: `txnlog COMMAND`. Results on stdout, everything else on stderr."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence

from txnlog.commands.parser import parser
from txnlog.errors import TxnlogError
from txnlog.report.output import printable

# Set by a shell with `txnlog --print-completion` when the tab key is pressed.
COMPLETES = "_ARGCOMPLETE"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code. Errors are one line on stderr."""
    whole = parser()
    if COMPLETES in os.environ:
        from argcomplete import autocomplete

        autocomplete(whole)
    parsed = whole.parse_args(arguments)
    with _listening(parsed):
        return _run(parsed)


def _run(parsed: argparse.Namespace) -> int:
    try:
        command: Callable[[argparse.Namespace], None] = parsed.command
        command(parsed)
    except TxnlogError as error:
        if parsed.debug:
            traceback.print_exc()
        print(f"txnlog: {printable(error)}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output closed the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("txnlog: interrupted; each table is unchanged or complete: run it again", file=sys.stderr)
        return 130
    return 0


def detect(arguments: Sequence[str] | None = None) -> int:
    """`txnlog detect` as a job of its own, for `spark-submit`."""
    return main(["detect", *(sys.argv[1:] if arguments is None else arguments)])


def task() -> None:
    """A command as a wheel task of Databricks, which ignores a function's return value."""
    code = main()
    if code:
        sys.exit(code)


@contextlib.contextmanager
def _listening(parsed: argparse.Namespace) -> Iterator[None]:
    """Log messages go to stderr, if asked for."""
    if not (parsed.verbose or parsed.debug):
        yield
        return
    logger, handler = logging.getLogger("txnlog"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("txnlog: %(message)s"))
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if parsed.debug else logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)


if __name__ == "__main__":
    sys.exit(main())
