"""`txnlog detect`: the one command that needs Spark and a dump."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from txnlog.commands.command import EXIT_CODES, TABLES, Command, tables_root
from txnlog.commands.spark_job import spark_job, spark_needed
from txnlog.config import OPTIONS, DetectOptions, detect_options
from txnlog.detection.causes import Action
from txnlog.dump.opener import dump_root
from txnlog.job.steps import steps_of
from txnlog.report.abort_candidates import word
from txnlog.report.advice import counted_actions
from txnlog.report.coordinator_history import FIRST_DUMP, histories, summary
from txnlog.report.late_transactions import latest_transactions
from txnlog.report.latest_run import latest_runs
from txnlog.report.output import counted, printable
from txnlog.report.table_rows import answer, rows
from txnlog.tables.layout import FINDINGS, RUNS, URI, Root

if TYPE_CHECKING:
    from txnlog.job.main import Outcome

# Number of names that are printed; `dump_files` has all.
LINKS_NAMED = 5


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    for option in OPTIONS:
        if option.key == "dump":
            parser.add_argument("dump", nargs="?", default=argparse.SUPPRESS, metavar="DUMP", help=option.meaning)
        elif not option.placeholder:
            parser.add_argument(_flag(option.key), action="store_true", default=argparse.SUPPRESS, help=option.meaning)
        else:
            parser.add_argument(
                _flag(option.key), default=argparse.SUPPRESS, metavar=option.placeholder, help=option.meaning
            )
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file whose keys are these options")


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


def _run(parsed: argparse.Namespace) -> None:
    known = {option.key for option in OPTIONS}
    given = {key: value for key, value in vars(parsed).items() if key in known}
    options = detect_options(given, parsed.config, {"tables": os.environ[TABLES]} if os.environ.get(TABLES) else {})
    # Importing and starting Spark takes seconds: check the options first.
    dump_root(options.dump)
    tables_root(options.tables)
    print_outcome(_outcome(options), options)


def _outcome(options: DetectOptions) -> Outcome:
    with spark_needed():
        from txnlog.job.main import run_in

    return spark_job(steps_of(options), lambda start, announce: run_in(start, options, announce))


def print_outcome(outcome: Outcome, options: DetectOptions) -> None:
    """Print the results of a run, a few lines per cluster, and where the tables are."""
    for found in outcome.runs:
        print(
            f"{printable(found['cluster'])}: {_counted(found['open_transactions'], 'open transaction')},"
            f" {found['late_transactions']} late, {found['abort_candidates']} to abort,"
            f" {found['undetermined']} undetermined"
            f" ({_counted(found['partitions'], 'partition')}, as of {printable(found['as_of_from'])}"
            f" by {_joined(found['as_of_sources'])})"
        )
        if found["coordinator_partitions_missing"]:
            of = _counted(found["coordinator_partitions"], "partition")
            print(f"  missing from the dump: {found['coordinator_partitions_missing']} of {of} of __transaction_state")
        if found["bytes_damaged"]:
            of = _counted(found["bytes"], "byte")
            print(f"  damaged: {found['bytes_damaged']} of {of}: see the table dump_files")
    if outcome.not_followed:
        named = ", ".join(map(printable, outcome.not_followed[:LINKS_NAMED]))
        print(f"symbolic links or special files, not followed and not read: {len(outcome.not_followed)}: {named}")
    root = Root(options.tables)
    place = options.tables if root.is_schema else Path(options.tables).absolute()
    print(f"Delta tables: {printable(place)}")
    # To read a store once more takes requests, and rights of one's own.
    if not URI.fullmatch(root.text):
        clusters = {str(found["cluster"]) for found in outcome.runs}
        print("".join(_histories(root, clusters)), end="")
        if options.full:
            print(_findings(root, clusters))
        print(_next(root, clusters))


def _histories(root: Root, clusters: set[str]) -> Iterator[str]:
    """Since when the history of each cluster's coordinators is whole; after its first dump, what to do for more."""
    runs = Counter(row["cluster"] for row in rows(root, RUNS))
    for found in histories(root):
        if found.cluster in clusters:
            yield f"{printable(found.cluster)}: {summary(found)}\n"
            if runs[found.cluster] == 1:
                yield f"  {FIRST_DUMP}\n"


def _findings(root: Root, clusters: set[str]) -> str:
    """How many findings of each kind the logs of these clusters have."""
    query = "SELECT cluster, finding, count(*) AS number FROM found GROUP BY cluster, finding"
    counts = Counter[str]()
    for row in answer(root, query, found=FINDINGS):
        if row["cluster"] in clusters:
            counts[row["finding"]] += row["number"]
    if not counts:
        return "Findings in the logs: none."
    return f"Findings in the logs: {', '.join(f'{counts[each]} {each}' for each in sorted(counts))}: table findings."


def _next(root: Root, clusters: set[str]) -> str:
    """The open transactions of these clusters' latest dumps by action, and the command that shows them."""
    found = [row for row in latest_transactions(root, latest_runs(root)) if row["cluster"] in clusters]
    counts = counted_actions(found)
    if all(row["action"] == Action.WAIT for row in found):
        return f"Open transactions: {counts}. Nothing hangs."
    return f"Open transactions: {counts}. Next: txnlog find-hanging --tables {word(root.text)}"


def _counted(number: object, one: str) -> str:
    return counted(int(str(number)), one)


def _joined(names: object) -> str:
    return ", ".join(map(str, names)) if isinstance(names, list) else str(names)


COMMAND = Command(
    "detect",
    "read a dump and write the Delta tables",
    _add_arguments,
    _run,
    "detect dump --tables /data/txnlog --as-of 2026-11-21T02:00:00Z",
    EXIT_CODES,
)
