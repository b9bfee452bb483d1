"""The script of `txnlog abort-list`: aborts of one cluster, each after a look at whether anything has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from txnlog.report.abort_candidates import abort_arguments, word
from txnlog.report.dump_states import DumpStates
from txnlog.report.output import counted, plain, printable
from txnlog.report.verified import STUCK

Row = dict[str, Any]

BODY = resources.files("txnlog.report") / "script_files" / "aborts.sh"
HEADER = """#!/usr/bin/env bash
# Aborts of hanging transactions, found by txnlog in copied logs. Each discards the records it names.
# cluster {cluster}, cluster id {cluster_id}
#
# Read each entry before you run it: the cluster has changed since the dump was taken.
#   BOOTSTRAP_SERVER=host:9092 bash aborts.sh          asks the cluster and says what would be aborted
#   BOOTSTRAP_SERVER=host:9092 RUN=1 bash aborts.sh    aborts it
#   COMMAND_CONFIG=client.properties                   settings for TLS and SASL
#   KAFKA_TRANSACTIONS="docker exec broker-1 /opt/kafka/bin/kafka-transactions.sh"
#                                                      the tool's path, or a command that runs it
"""
CHECKED = """#
# Right before each abort the script asks the cluster once more, and skips what is not exactly as in the dump.
# Exit code 1: something was skipped because it has changed, or failed. 2: nothing was tried.
"""
UNCHECKED = """#
# ATTENTION: for brokers before 3.0. NOTHING IS CHECKED. Each abort ends whatever this producer id has open now at this
# epoch, a live transaction included. Stop the producers first, run this once, and set I_STOPPED_THESE_PRODUCERS=yes.
# Exit code 1: something failed. 2: nothing was tried.
"""
WARNING = """
# ATTENTION: the evidence for the following commands is incomplete. Older records of __transaction_state are compacted
# away: each of these transactions may be committed data whose COMMIT marker was lost. An abort then destroys data that
# an application was told is committed.
"""


@dataclass(frozen=True, slots=True)
class Aborts:
    """What a script is made of: `accepted` lacks history, `blocked` waits for an earlier transaction."""

    cluster: str
    cluster_id: str | None
    offered: Sequence[Row]
    accepted: Sequence[Row]
    blocked: Sequence[Row]
    states: DumpStates
    older_brokers: bool = False


def script(aborts: Aborts) -> str:
    """The whole script; an empty text where it has nothing to say."""
    if not (aborts.offered or aborts.accepted or aborts.blocked):
        return ""
    parts = [_head(aborts), BODY.read_text("utf-8")]
    parts += [_entry(row, aborts) for row in aborts.offered]
    parts += [WARNING] if aborts.accepted else []
    parts += [_entry(row, aborts) for row in aborts.accepted]
    parts += [_left_out(row, "it comes after an earlier open transaction", aborts) for row in aborts.blocked]
    return "".join([*parts, "\nfinish\n"])


def _head(aborts: Aborts) -> str:
    identity = {"cluster": printable(aborts.cluster), "cluster_id": printable(aborts.cluster_id or "not in the dump")}
    is_checked = "no" if aborts.older_brokers else "yes"
    expected = word(aborts.cluster_id) if aborts.cluster_id else "${CLUSTER_ID:-}"
    return (
        HEADER.format(**identity)
        + (UNCHECKED if aborts.older_brokers else CHECKED)
        + f"set -euo pipefail\nCLUSTER_ID={expected} CHECKED={is_checked} RUN=${{RUN:-0}}\n\n"
    )


def _entry(row: Row, aborts: Aborts) -> str:
    """The lines of a transaction: what it is, what must still be so, and the abort."""
    states, arguments = aborts.states, abort_arguments(row, aborts.older_brokers)
    if (owner := states.owner(row)) is not None:
        return _left_out(row, f"{owner} has begun another transaction that lists this partition", aborts)
    if aborts.older_brokers:
        return _comments([*_about(row), *_waits_for(row, aborts)]) + f"abort {arguments}\n"
    if (producer := states.producer(row)) is None:
        return _left_out(row, "the tables lack the state of its producer: run txnlog detect on a new dump", aborts)
    expected = [f"expect_producer {word(producer)}"]
    expected += [
        f"expect_transactional_id {word(name)} {word(state)}" for name, state in states.transactions(row).items()
    ]
    lines = [*expected, f"abort {arguments}"]
    return _comments([*_about(row), *_waits_for(row, aborts)]) + "".join(f"{line}\n" for line in lines)


def _left_out(row: Row, why: str, aborts: Aborts) -> str:
    place = f"{row['topic']}-{row['partition']} from offset {row['start_offset']}"
    said = [f"NOT IN THIS SCRIPT: {place}, {row['cause']}, producer id {row['producer_id']}: {why}"]
    return _comments([*said, *_verification(row), *_waits_for(row, aborts)])


def _comments(lines: Sequence[str]) -> str:
    return "\n" + "".join(f"# {printable(line)}\n" for line in lines)


def _about(row: Row) -> list[str]:
    owner = row["transactional_id"] or "not known"
    evidence = f"opened in {row['opened_file']} at byte {row['opened_position']}"
    if row["evidence_file"]:
        evidence += (
            f"; coordinator {row['evidence_state']} at offset {row['evidence_offset']} of {row['evidence_file']}"
        )
    loss = f"discards {counted(row['records'], 'record')}, {counted(row['bytes'], 'byte')}"
    return [
        f"{row['cause']} ({row['confidence']}): {row['reason']}",
        f"cluster {row['cluster']}, transactional id {owner}, as of {plain(row['as_of'])}",
        f"{loss}; holds back {counted(row['held_back_offsets'], 'offset')}",
        evidence,
        *_verification(row),
    ]


def _verification(row: Row) -> list[str]:
    if row.get("verified_at") is None:
        return []
    return [f"verified on the live cluster at {plain(row['verified_at'])}: {row['verification']}"]


def _waits_for(row: Row, aborts: Aborts) -> list[str]:
    """What keeps consumers from reading on even after this abort."""
    if (row.get("verification") or "").startswith(STUCK):
        return []
    listed = {(each["topic"], each["partition"], each["start_offset"]) for each in (*aborts.offered, *aborts.accepted)}
    return [_earlier(each, listed) for each in aborts.states.earlier(row)]


def _earlier(row: Row, listed: set[tuple[Any, ...]]) -> str:
    is_listed = (row["topic"], row["partition"], row["start_offset"]) in listed
    what = "its abort is in this script" if is_listed else f"{row['action']} ({row['cause']}): {row['reason']}"
    return f"waits for the transaction of producer id {row['producer_id']} from offset {row['start_offset']}: {what}"
