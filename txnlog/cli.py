"""The command line: `txnlog COMMAND`. Results on stdout, everything else on stderr."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence

from txnlog.commands.parser import parser
from txnlog.errors import TxnlogError
from txnlog.report.output import printable


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code. Errors are one line on stderr."""
    parsed = parser().parse_args(arguments)
    _listen(parsed)
    try:
        command: Callable[[argparse.Namespace], None] = parsed.command
        command(parsed)
    except TxnlogError as error:
        if parsed.debug:
            traceback.print_exc()
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


def _listen(parsed: argparse.Namespace) -> None:
    """What the modules of txnlog log goes to stderr, if somebody asked for it."""
    if parsed.verbose or parsed.debug:
        logging.basicConfig(format="txnlog: %(message)s", stream=sys.stderr)
        logging.getLogger("txnlog").setLevel(logging.DEBUG if parsed.debug else logging.INFO)


if __name__ == "__main__":
    sys.exit(main())
