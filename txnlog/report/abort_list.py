"""`txnlog abort-list`: abort commands for `kafka-transactions.sh`. txnlog itself never aborts anything."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from typing import Any

from txnlog.report.find_hanging import of_latest_run
from txnlog.report.output import as_csv, as_json, plain, printable
from txnlog.report.reading import rows
from txnlog.report.verified import ADDED
from txnlog.tables.layout import ABORT_CANDIDATES, OPEN_TRANSACTIONS, RULES_GENERATION, RUNS, Root, columns_of

HEADER = """#!/usr/bin/env bash
# Aborts of hanging transactions, found by txnlog in copied logs. Each discards the records it names.
# Read each command before you run it: the cluster has changed since the dump was taken.
# BOOTSTRAP_SERVER=host:9092 bash this-file
set -euo pipefail
: "${BOOTSTRAP_SERVER:?set BOOTSTRAP_SERVER to host:port of a broker}"
"""


WARNING = """
# ATTENTION: the evidence for the following commands is incomplete. Older records of __transaction_state are compacted
# away: each of these transactions may be committed data whose COMMIT marker was lost. An abort then destroys data that
# an application was told is committed.
"""


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
    """Rows of `open_transactions` of the latest runs that lack only history and would have one of these causes."""
    found = rows(root, OPEN_TRANSACTIONS, "accepted = true AND action = 'UNDETERMINED'")
    wanted = [row for row in found if row["wanted_cause"] in causes]
    return of_latest_run(wanted, rows(root, RUNS, "true", "finished_at"))


def accepted_part(found: list[dict[str, Any]], older_brokers: bool = False) -> str:
    """The part of the script for rows whose evidence is incomplete, under a warning."""
    return (WARNING + "".join(_entry(row, older_brokers) for row in found)) if found else ""


def rendered(found: list[dict[str, Any]], form: str, older_brokers: bool = False) -> str:
    """The rows as `sh`, `json` or `csv`; an empty script where there is nothing to abort."""
    if form == "json":
        return as_json(found)
    if form == "csv":
        names = [field.name for field in columns_of(ABORT_CANDIDATES)]
        return as_csv(found, [*names, *(name for name in ADDED if found and name in found[0])])
    if not found:
        return ""
    return HEADER + "".join(_entry(row, older_brokers) for row in found)


def _entry(row: dict[str, Any], older_brokers: bool) -> str:
    owner = row["transactional_id"] or "not known"
    evidence = f"opened in {row['opened_file']} at byte {row['opened_position']}"
    if row["evidence_file"]:
        evidence += (
            f"; coordinator {row['evidence_state']} at offset {row['evidence_offset']} of {row['evidence_file']}"
        )
    comments = [
        f"{row['cause']} ({row['confidence']}): {row['reason']}",
        f"cluster {row['cluster']}, transactional id {owner}, as of {plain(row['as_of'])}",
        f"discards {row['records']} records, {row['bytes']} bytes; holds back {row['held_back_offsets']} offsets",
        evidence,
    ]
    if "verified_at" in row:
        comments.append(f"verified on the live cluster at {plain(row['verified_at'])}: {row['verification']}")
    return "\n" + "".join(f"# {printable(comment)}\n" for comment in comments) + command(row, older_brokers) + "\n"


def command(row: dict[str, Any], older_brokers: bool = False) -> str:
    """The line of bash that aborts a transaction."""
    arguments = ["--topic", row["topic"], "--partition", str(row["partition"])]
    if older_brokers:
        # Brokers before 3.0 check nothing. An unknown coordinator epoch becomes 0, never more: a
        # larger one than the real coordinator's would fence it.
        arguments += [
            "--producer-id",
            str(row["producer_id"]),
            "--producer-epoch",
            str(row["producer_epoch"]),
        ]
        arguments += ["--coordinator-epoch", str(max(0, row["coordinator_epoch"]))]
    else:
        arguments += ["--start-offset", str(row["start_offset"])]
    return f'kafka-transactions.sh --bootstrap-server "$BOOTSTRAP_SERVER" abort {" ".join(map(word, arguments))}'


def word(text: str) -> str:
    """A string as one word of bash without characters that control a terminal: people read the list first."""
    if text.isprintable():
        return shlex.quote(text)
    return f"$'{''.join(map(_escaped, text))}'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    return character if character.isprintable() else "".join(f"\\x{byte:02x}" for byte in character.encode())
