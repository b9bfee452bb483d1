"""Writes the pages of `PAGES` from what the code declares: `python docs/generate.py`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from txnlog.commands.command import EXIT_CODES
from txnlog.commands.parser import parser
from txnlog.config import OPTIONS, REQUIRED
from txnlog.detection.causes import Cause
from txnlog.detection.proofs import PROOFS
from txnlog.detection.rules import RULES
from txnlog.format.structure import fields
from txnlog.sources import reading
from txnlog.sources.data_sources import SOURCES
from txnlog.tables.layout import TABLES

HERE = Path(__file__).parent
MADE = "<!-- Made by docs/generate.py: change the code and run it again. -->\n"
# The function of the reading API behind each data source: `txnlog_batches` is `batches`.
PREFIX = "txnlog_"


def tables_page() -> str:
    """The schemas of the Delta tables and of the DataFrames of a dump."""
    parts = [MADE, "# Tables and DataFrames\n", *_delta_tables(), *_data_frames()]
    return "\n".join(parts)


def _delta_tables() -> Iterator[str]:
    yield (
        "## Delta tables\n\n"
        f"`txnlog detect --tables ROOT` writes {len(TABLES)} tables below `ROOT`, each partitioned by `cluster`.\n"
    )
    for table in TABLES:
        keys = ", ".join(f"`{name}`" for name in table.key)
        checks = "".join(f"Check `{name}`: `{rule}`\n\n" for name, rule in table.checks.items())
        yield f"### {table.name}\n\n{table.comment} One row per {keys}.\n\n{checks}{_columns(table.row)}"


def _data_frames() -> Iterator[str]:
    yield (
        "## DataFrames of a dump\n\n"
        "`from txnlog.sources import reading`; each function takes the session and the dump. The same rows come from\n"
        "`spark.read.format(NAME).option('path', dump).load()` after `reading.register(spark)`, and in SQL from\n"
        "`CREATE TEMP VIEW v USING NAME OPTIONS (path '...')`. Copies of one partition are not merged: choose one.\n"
    )
    for source in SOURCES:
        function: Callable[..., object] = getattr(reading, source.short_name.removeprefix(PREFIX))
        summary = (source.row.__doc__ or "").splitlines()[0]
        heading = f"### {function.__name__}\n\n`reading.{function.__name__}(spark, dump)`, format"
        yield f"{heading} `{source.short_name}`. {summary}\n\n{_columns(source.row)}"


def _columns(row: type) -> str:
    lines = ["| column | type | null | meaning |", "|---|---|---|---|"]
    for each in fields(row):
        null = "yes" if each.nullable else ""
        lines.append(f"| `{each.name}` | {_cell(each.wire.ddl)} | {null} | {_cell(each.meaning)} |")
    return "\n".join(lines) + "\n"


def options_page() -> str:
    """The commands with their options, and the exit codes."""
    reports = [name for name in commands() if name != "detect"]
    parts = [MADE, "# Options and exit codes\n", _detect(), *map(_report, reports), _exit_codes()]
    return "\n".join(parts)


def _detect() -> str:
    lines = [
        "## txnlog detect\n",
        "Reads a dump and writes the Delta tables. Each option is a flag and a key of the TOML file of `--config`;",
        "the command line wins. A default stands in parentheses. A duration is `900000` (ms), `900s`, `15m`, `2h` or",
        "`1d`, an instant is `2026-01-31T02:00:00Z` or epoch milliseconds; in TOML a text, a number or a TOML date.\n",
        "| flag | key in TOML | value | meaning |",
        "|---|---|---|---|",
    ]
    for option in OPTIONS:
        flag = "DUMP (no flag)" if option.key == "dump" else f"`--{option.key.replace('_', '-')}`"
        must = " Required." if option.key in REQUIRED else ""
        value = option.placeholder or "`true` (no value on the command line)"
        lines.append(f"| {flag} | `{option.key}` | {value} | {_cell(option.meaning)}.{must} |")
    lines.append("| `--config` | | FILE | TOML file whose keys are these options. |")
    return "\n".join(lines) + "\n"


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parsers of the commands."""
    groups = [each for each in parser()._actions if isinstance(each, argparse._SubParsersAction)]
    return dict(groups[0].choices)


def _report(name: str) -> str:
    command = commands()[name]
    lines = [f"## txnlog {name}\n", f"{command.description}\n", "| flag | value | meaning |", "|---|---|---|"]
    for action in command._actions:
        if action.dest not in ("help", "verbose", "debug"):
            value = ", ".join(map(str, action.choices)) if action.choices else action.metavar or ""
            must = " Required." if action.required else ""
            lines.append(f"| {', '.join(action.option_strings)} | {value} | {_cell(action.help or '')}.{must} |")
    return "\n".join(lines) + "\n"


def commands_page() -> str:
    """What each command's `--help` prints."""
    parts = [MADE, "# Commands\n", _COMMANDS, _help("txnlog", parser())]
    return "\n".join([*parts, *(_help(f"txnlog {name}", command) for name, command in commands().items())])


def _help(name: str, command: argparse.ArgumentParser) -> str:
    # As wide on every machine, whatever its terminal.
    command.formatter_class = partial(argparse.RawDescriptionHelpFormatter, width=100)
    return f"## {name}\n\n```\n$ {name} --help\n{command.format_help().rstrip()}\n```\n"


_COMMANDS = """\
`list`, `describe` and `describe-producers` answer what the commands of `kafka-transactions.sh` of those names answer,
from the tables of a run: no cluster, no JVM. Their tables have Kafka's columns, then txnlog's; JSON and CSV have the
columns of the Delta tables in [tables.md](tables.md). They differ from Kafka's tool on purpose where that misleads:
durations count to the time of the dump, and only while a transaction is under way; an id that is Empty is never long
running. A coordinator is the broker whose copy of the id's partition of `__transaction_state` was believed.

On a terminal a table fits the width: names are cut, numbers never; columns for which there is no room are left out and
named below, and where no table fits, rows stand line below line. In a file or a pipe nothing is cut, and there are no
colours. `NO_COLOR` turns colours off on a terminal, too; they only repeat what a word says.
"""


def exit_codes() -> dict[int, str]:
    """Exit codes by number, as `--help` has them."""
    lines = (line.split(maxsplit=1) for line in EXIT_CODES.splitlines()[1:])
    return {int(code): meaning for code, meaning in lines}


def _exit_codes() -> str:
    rows = "\n".join(f"| {code} | {_cell(meaning)} |" for code, meaning in exit_codes().items())
    return f"## Exit codes\n\n| code | meaning |\n|---|---|\n{rows}\n| 130 | interrupted |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<")


_RULES = ("<!-- Made by docs/generate.py, up to the end of the proofs. -->\n", "<!-- End of the proofs. -->\n")


def verdicts_page() -> str:
    """The page of verdicts, with its causes, rules and proofs as the code has them."""
    begin, end = _RULES
    before, _, rest = (HERE / "verdicts.md").read_text("utf-8").partition(begin)
    made = "\n".join(["", *_causes(), "", *_rules(), "", *_proofs(), ""])
    return before + begin + made + end + rest.partition(end)[2]


def _causes() -> Iterator[str]:
    yield "## The causes\n\n| cause | action | in words |\n|---|---|---|"
    for cause in Cause:
        yield f"| `{cause}` | `{cause.action}` | {_cell(cause.says)} |"


def _rules() -> Iterator[str]:
    yield "## The rules, in their order\n\n| | cause | action | applies when | needs |\n|---|---|---|---|---|"
    numbers = {proof: f"P{number}" for number, proof in enumerate(PROOFS, 1)}
    for number, rule in enumerate(RULES, 1):
        needs = ", ".join(sorted((numbers[proof] for proof in rule.needs), key=lambda each: int(each[1:])))
        yield f"| {number} | `{rule.cause}` | `{rule.action}` | {_cell(rule.says)} | {needs} |"


def _proofs() -> Iterator[str]:
    yield "### The proofs\n"
    yield "| | proof | what it says | rests on | without it | supplied by |\n|---|---|---|---|---|---|"
    for number, proof in enumerate(PROOFS, 1):
        cells = (proof.meaning, proof.rests_on, f"`{proof.cause}`", proof.supplied_by)
        yield f"| P{number} | `{proof.name}` | {' | '.join(map(_cell, cells))} |"


PAGES = {
    "tables.md": tables_page,
    "options.md": options_page,
    "commands.md": commands_page,
    "verdicts.md": verdicts_page,
}

if __name__ == "__main__":
    for page, content in PAGES.items():
        (HERE / page).write_text(content(), "utf-8")
