"""The rows of `txnlog abort-list`, and the abort of each. txnlog itself never aborts anything."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from typing import Any

from txnlog.detection.causes import CAUSES_OF_ABORT
from txnlog.report.latest_run import latest_runs, of_latest_run, since
from txnlog.report.output import as_csv, as_json
from txnlog.report.table_rows import rows
from txnlog.report.verified import ADDED
from txnlog.tables.layout import ABORT_CANDIDATES, OPEN_TRANSACTIONS, RULES_GENERATION, Root, columns_of


def open_candidates(root: Root) -> list[dict[str, Any]]:
    """The rows of `abort_candidates` that are OPEN and judged by rules that ask for proofs."""
    return offered(root)[0]


def offered(root: Root) -> tuple[list[dict[str, Any]], int]:
    """`open_candidates`, and how many more an older version left: not offered until a new dump is judged."""
    where, order = "status = 'OPEN' AND action = 'ABORT'", "cluster, topic, partition, start_offset"
    found = rows(root, ABORT_CANDIDATES, where, order)
    proved = [row for row in found if is_judged_by_proofs(row)]
    return proved, len(found) - len(proved)


def is_judged_by_proofs(row: Mapping[str, Any]) -> bool:
    """Whether a candidate may be offered; tables of older versions lack the column."""
    return (row.get("judged_by") or 0) >= RULES_GENERATION


def accepted(root: Root, causes: Collection[str]) -> list[dict[str, Any]]:
    """Rows of `open_transactions` of the latest runs that lack only history and would have one of these causes.

    Only causes of an abort: what a coordinator is about to end may be committed by now.
    """
    runs = latest_runs(root)
    found = rows(root, OPEN_TRANSACTIONS, f"accepted = true AND action = 'UNDETERMINED' AND {since(runs)}")
    return of_latest_run((row for row in found if row["wanted_cause"] in CAUSES_OF_ABORT.intersection(causes)), runs)


def rendered(found: list[dict[str, Any]], form: str) -> str:
    """The rows as `json` or `csv`."""
    if form == "json":
        return as_json(found)
    names = [field.name for field in columns_of(ABORT_CANDIDATES)]
    return as_csv(found, [*names, *(name for name in ADDED if found and name in found[0])])


def abort_arguments(row: dict[str, Any], older_brokers: bool = False) -> str:
    """The arguments of `abort`, as bash takes them."""
    arguments = [*option("--topic", row["topic"]), "--partition", str(row["partition"])]
    if older_brokers:
        # Brokers before 3.0 check nothing. An unknown coordinator epoch becomes 0, never more: a
        # larger one than the real coordinator's would fence it.
        arguments += ["--producer-id", str(row["producer_id"]), "--producer-epoch", str(row["producer_epoch"])]
        arguments += ["--coordinator-epoch", str(max(0, row["coordinator_epoch"]))]
    else:
        arguments += ["--start-offset", str(row["start_offset"])]
    return " ".join(map(word, arguments))


def option(name: str, value: str) -> list[str]:
    """An option and its value; Kafka's tool takes a value that starts with a dash for another option."""
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def word(text: str) -> str:
    """A string as one word of bash without characters that control a terminal: people read the list first."""
    if text.isprintable():
        return shlex.quote(text)
    return f"$'{''.join(map(_escaped, text))}'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    return character if character.isprintable() else "".join(f"\\x{byte:02x}" for byte in character.encode())
