"""The parser of the command line, made from the commands."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

import txnlog
from txnlog.commands import (
    abort_list,
    describe,
    describe_producers,
    detect,
    explain,
    find_hanging,
    list_transactions,
    metrics,
    remedies,
    report,
    verify,
)
from txnlog.commands.command import EXIT_CODES, Command, add_loudness
from txnlog.report.output import printable

# In the order of `txnlog --help`. A new command is added here.
COMMANDS: tuple[Command, ...] = (
    detect.COMMAND,
    find_hanging.COMMAND,
    remedies.COMMAND,
    verify.COMMAND,
    abort_list.COMMAND,
    list_transactions.COMMAND,
    describe.COMMAND,
    describe_producers.COMMAND,
    explain.COMMAND,
    report.COMMAND,
    metrics.COMMAND,
)


SHELLS = ("bash", "zsh", "fish")


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where the help is; exit code 2."""
        self.exit(2, f"txnlog: {printable(message)}: see {self.prog} --help\n")


class PrintCompletion(argparse.Action):
    """Print the completion for a shell, and be done."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> NoReturn:
        """The shell's code on stdout; exit code 0."""
        from argcomplete.shell_integration import shellcode

        print(shellcode([parser.prog], shell=values))
        parser.exit()


def parser() -> Parser:
    """The parser of `txnlog`. What it parses has the command's function as `command`."""
    whole = Parser(
        prog="txnlog",
        description="Finds hanging Kafka transactions in copied log directories.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=f"txnlog {txnlog.__version__}")
    whole.add_argument(
        "--print-completion",
        choices=SHELLS,
        action=PrintCompletion,
        help='print the completion for a shell: eval "$(txnlog --print-completion bash)"',
    )
    add_loudness(whole, default=False)
    group = whole.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        _add(group, command)
    return whole


def _add(group: Any, command: Command) -> None:
    example = f"example:\n  txnlog {command.example}\n"
    parser: argparse.ArgumentParser = group.add_parser(
        command.name,
        help=command.meaning,
        description=f"{command.meaning[0].upper()}{command.meaning[1:]}.",
        epilog="\n".join(filter(None, (example, command.epilog))),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    add_loudness(parser)
    parser.set_defaults(command=command.run)
