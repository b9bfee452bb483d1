"""The parser of the command line, made from the commands."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterable
from typing import Any, NoReturn

import txnlog
from txnlog.commands import (
    abort_list,
    archive,
    check,
    consumer_groups,
    copy_script,
    describe,
    describe_producers,
    detect,
    explain,
    fencings,
    find_hanging,
    history,
    list_transactions,
    metrics,
    partition_log,
    past_transactions,
    prune,
    record_lookup,
    remedies,
    report,
    timeline_of_id,
    verify,
)
from txnlog.commands.command import EXIT_CODES, Command, add_loudness
from txnlog.report.output import printable

# In the order of `txnlog --help`. A new command is added here.
COMMANDS: tuple[Command, ...] = (
    copy_script.COMMAND,
    check.COMMAND,
    detect.COMMAND,
    find_hanging.COMMAND,
    remedies.COMMAND,
    verify.COMMAND,
    abort_list.COMMAND,
    list_transactions.COMMAND,
    describe.COMMAND,
    describe_producers.COMMAND,
    consumer_groups.COMMAND,
    explain.COMMAND,
    partition_log.COMMAND,
    record_lookup.COMMAND,
    past_transactions.COMMAND,
    timeline_of_id.COMMAND,
    fencings.COMMAND,
    report.COMMAND,
    history.COMMAND,
    archive.COMMAND,
    metrics.COMMAND,
    prune.COMMAND,
)


SHELLS = ("bash", "zsh", "fish")


INVALID = re.compile(r"invalid choice: '(?P<typed>.*)' \(choose from (?P<choices>.*)\)", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and of which no option is abbreviated: a new one must not change another."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**(settings | {"allow_abbrev": False}))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What a command does not know is said by the command, which knows what it might be."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            names = [_similar(word.partition("=")[0], self._option_string_actions) for word in unknown]
            self.error(f"unrecognized arguments: {' '.join(unknown)}{_meant(names)}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where the help is; exit code 2."""
        if found := INVALID.search(message):
            message += _meant([_similar(found["typed"], re.findall(r"[\w.-]+", found["choices"]))])
        self.exit(2, f"txnlog: {printable(message)}: see {self.prog} --help\n")


def _similar(typed: str, names: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(typed, names, n=1)), None)


def _meant(names: Iterable[str | None]) -> str:
    meant = ", ".join(filter(None, names))
    return f"; did you mean {meant}?" if meant else ""


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
