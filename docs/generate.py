"""Writes the pages of `PAGES` from what the code declares: `python docs/generate.py`."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from txnlog.commands.command import EXIT_CODES
from txnlog.commands.parser import parser
from txnlog.detection.causes import Cause
from txnlog.detection.proofs import PROOFS
from txnlog.detection.rules import RULES
from txnlog.format.structure import Field, fields
from txnlog.sources import reading
from txnlog.sources.data_sources import SOURCES
from txnlog.sources.rows import DumpFileRow
from txnlog.sources.transaction_rows import PartitionTransactionRow
from txnlog.tables.layout import DUMP_FILES, OPEN_TRANSACTIONS, PARTITION_TRANSACTIONS, TABLES, columns_of

HERE = Path(__file__).parent
MADE = "[All pages](index.md)\n\n<!-- Made by docs/generate.py: change the code and run it again. -->\n"
# The function of the reading API behind each data source: `txnlog_batches` is `batches`.
PREFIX = "txnlog_"


# What `detect` itself reads: its columns are of the code, not for notebooks.
INTERNAL = "txnlog_evidence"
# So many columns that another structure has as well are not described twice.
ALIKE = 3


def tables_page() -> str:
    """The schemas of the Delta tables and of the DataFrames of a dump."""
    parts = [MADE, "# Tables and DataFrames\n", *_delta_tables(), *_data_frames()]
    return "\n".join(parts)


_ORDER = """\
Dumps may be judged in any order. Where a table has one row for all dumps, the latest dump by its as-of decides, and an
older one that is judged later only adds what no other has shown. What one dump proves committed is `KEEP` in all later
dumps, even if they were judged first, and withdraws their abort candidates. Three things do depend on the order:

- Each verdict rests on what the tables had when its dump was judged: the archive of coordinators' records, and the
  sightings, which bound ages and show that a producer id has gone on. Judge a dump again when another one was added.
- A record in `coordinator_records` is from the first judged dump that shows it: `as_of`, `file` and `position` say
  which. The `as_of` of `transactions` and `known_since` of `transactional_ids` follow it. To look for another one would
  cost a comparison with the whole archive in each run.
- A transaction that had ended by the latest dump does not become a resolved abort candidate by an older one.
"""


def _delta_tables() -> Iterator[str]:
    yield (
        "## Delta tables\n\n"
        f"`txnlog detect --tables ROOT` writes {len(TABLES)} tables below `ROOT`, each partitioned by `cluster`.\n\n"
        f"{_ORDER}"
    )
    described: dict[Field, str] = {}
    for table in sorted(TABLES, key=lambda each: each is not OPEN_TRANSACTIONS):
        keys = ", ".join(f"`{name}`" for name in table.key)
        checks = "".join(f"Check `{name}`: `{rule}`\n\n" for name, rule in table.checks.items())
        columns = _columns(table.row, f"`{table.name}`", described)
        yield f"### {table.name}\n\n{table.comment} One row per {keys}.\n\n{checks}{columns}"


def _data_frames() -> Iterator[str]:
    yield (
        "## DataFrames of a dump\n\n"
        "After `from txnlog.sources import reading`, each function takes the session and the dump. The same rows come\n"
        "from `spark.read.format(NAME).option('path', dump).load()` after `reading.register(spark)`, and in SQL from\n"
        "`CREATE TEMP VIEW v USING NAME OPTIONS (path '...')`. Copies of one partition are not merged: choose one.\n"
    )
    described: dict[Field, str] = {}
    in_tables = {
        row: dict.fromkeys(columns_of(table), f"the table `{table.name}`")
        for row, table in ((DumpFileRow, DUMP_FILES), (PartitionTransactionRow, PARTITION_TRANSACTIONS))
    }
    for source in (each for each in SOURCES if each.short_name != INTERNAL):
        function: Callable[..., object] = getattr(reading, source.short_name.removeprefix(PREFIX))
        summary = (source.row.__doc__ or "").splitlines()[0]
        heading = f"### {function.__name__}\n\n`reading.{function.__name__}(spark, dump)`, format"
        known = in_tables.get(source.row, described)
        columns = _columns(source.row, f"`{function.__name__}`", known)
        yield f"{heading} `{source.short_name}`. {summary}\n\n{columns}"


def _columns(row: type, name: str, described: dict[Field, str]) -> str:
    """The columns of a structure; where another one has several of them with the same words, they are only named."""
    columns = fields(row)
    often = Counter(described.get(each) for each in columns)
    alike = {each: described[each] for each in columns if each in described and often[described[each]] >= ALIKE}
    same = [
        f"As in {other}: {', '.join(f'`{each.name}`' for each in columns if alike.get(each) == other)}.\n"
        for other in dict.fromkeys(alike.values())
    ]
    own = [each for each in columns if each not in alike]
    described |= {each: name for each in own if each not in described}
    head = ["| column | type | null | meaning |", "|---|---|---|---|"] if own else []
    return "\n".join([*same, *head, *map(_column, own)]) + "\n"


def _column(field: Field) -> str:
    null = "yes" if field.nullable else ""
    return f"| `{field.name}` | {_cell(field.wire.ddl)} | {null} | {_cell(field.meaning)} |"


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parsers of the commands."""
    groups = [each for each in parser()._actions if isinstance(each, argparse._SubParsersAction)]
    return dict(groups[0].choices)


def commands_page() -> str:
    """What each command's `--help` prints."""
    parts = [MADE, "# Commands\n", _COMMANDS, _help("txnlog", parser())]
    return "\n".join([*parts, *(_help(f"txnlog {name}", command) for name, command in commands().items())])


def _help(name: str, command: argparse.ArgumentParser) -> str:
    # As wide on every machine, whatever its terminal.
    command.formatter_class = partial(argparse.RawDescriptionHelpFormatter, width=100)
    return f"## {name}\n\n```\n$ {name} --help\n{command.format_help().rstrip()}\n```\n"


_COMMANDS = """\
`list`, `describe` and `describe-producers` answer the same as the commands of `kafka-transactions.sh` with these names,
but from the tables: they need no cluster and no JVM. Tables on a terminal have Kafka's columns first, then txnlog's.
JSON and CSV have the columns of the Delta tables in [tables.md](tables.md). Three things differ from Kafka's tool on
purpose:

- A duration ends at the time of the dump, and only a transaction that is under way has one.
- An id in the state Empty never counts as long running.
- The coordinator is the broker whose copy of the id's partition of `__transaction_state` was used.

The environment variable `TXNLOG_TABLES` stands for `--tables`. Options cannot be abbreviated.

On a terminal a table fits the width: names are cut, with `…`, numbers never. Columns without room are hidden and named
below the table. If no table fits, each row takes several lines. In a file or a pipe nothing is cut, and there are no
colours. `NO_COLOR` also turns colours off on a terminal; they only repeat what a word says.

**Options of `detect` in a file.** Each option of `detect` is also a key of the TOML file of `--config`: `--as-of` is
`as_of`, `DUMP` is `dump`. The command line wins. `dump` and `tables` are required.
[conf/nightly.toml](../conf/nightly.toml) has all keys with comments. Defaults are in parentheses in the help below.

**Values.** A duration is `900000` (ms), `900s`, `15m`, `2h` or `1d`. A time is `2026-01-31T02:00:00Z` or epoch
milliseconds. In TOML they are a string, a number or a TOML date. An option without a value, such as `--full`, is
`true` or `false` in TOML.

**Exit codes** are in the help of `txnlog` below; 130 means interrupted. Which of them a scheduler should retry:
[monitoring.md](monitoring.md#schedulers).
"""


def exit_codes() -> dict[int, str]:
    """Exit codes by number, as `--help` has them."""
    lines = (line.split(maxsplit=1) for line in EXIT_CODES.splitlines()[1:])
    return {int(code): meaning for code, meaning in lines}


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
    yield "## The causes\n\n| cause | action | meaning |\n|---|---|---|"
    for cause in Cause:
        yield f"| `{cause}` | `{cause.action}` | {_cell(cause.says)} |"


def _rules() -> Iterator[str]:
    yield "## The rules, in their order\n"
    yield f"P1 to P{len(PROOFS)} are [the proofs](#the-proofs) below.\n"
    yield "| | cause | action | applies when | needs |\n|---|---|---|---|---|"
    numbers = {proof: number for number, proof in enumerate(PROOFS, 1)}
    for number, rule in enumerate(RULES, 1):
        needs = _ranges(sorted(numbers[proof] for proof in rule.needs))
        yield f"| {number} | `{rule.cause}` | `{rule.action}` | {_cell(rule.says)} | {needs} |"


def _ranges(numbers: list[int]) -> str:
    """`P1 to P3, P5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join(" to ".join(f"P{number}" for number in run) for run in runs)


def _proofs() -> Iterator[str]:
    yield "### The proofs\n"
    yield "| | proof | meaning | rests on | cause if missing | how to supply it |\n|---|---|---|---|---|---|"
    for number, proof in enumerate(PROOFS, 1):
        cells = (proof.meaning, proof.rests_on, f"`{proof.cause}`", proof.supplied_by)
        yield f"| P{number} | `{proof.name}` | {' | '.join(map(_cell, cells))} |"


PAGES = {
    "tables.md": tables_page,
    "commands.md": commands_page,
    "verdicts.md": verdicts_page,
}

if __name__ == "__main__":
    for page, content in PAGES.items():
        (HERE / page).write_text(content(), "utf-8")
