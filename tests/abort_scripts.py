"""Abort scripts, and commands that stand in for Kafka's: they write down their arguments and say what a test wants."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.writer import put
from txnlog.report.abort_script import Aborts, script
from txnlog.report.dump_states import DumpStates
from txnlog.tables.layout import ABORT_CANDIDATES, columns_of

Row = dict[str, Any]
AS_OF = datetime(2026, 11, 21, tzinfo=UTC)
CLUSTER_ID = "kZ4vP0"
# An answer is the topic's own, or else that of all. After an abort there may be others.
TOOL = """#!/bin/bash
printf '%s\\0' "${0##*/}" "$@" '' >>"$PLACE/calls"
what='' topic=''
while (($#)); do
  case $1 in
    cluster-id | describe-producers | describe | abort) what=$1 ;;
    --topic) topic=$2 ;;
    --command-config) if [[ ${0##*/} == kafka-cluster.sh && -n ${OLDER:-} ]]; then exit 1; fi ;;
  esac
  shift
done
if [[ $what == abort && -d $PLACE/after ]]; then cp "$PLACE"/after/* "$PLACE"; fi
for answer in "$PLACE/$what $topic" "$PLACE/$what"; do
  if [[ -f $answer.fails ]]; then cat "$answer.fails" >&2; exit 1; fi
  if [[ -f $answer ]]; then cat "$answer"; exit 0; fi
done
"""
PRODUCERS = ("ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp",
             "CurrentTransactionStartOffset")  # fmt: skip
TRANSACTION = ("CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState",
               "TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs",
               "TopicPartitions")  # fmt: skip


def candidate(**values: Any) -> Row:
    """A row of `abort_candidates`."""
    row: Row = {each.name: None for each in columns_of(ABORT_CANDIDATES)}
    return row | {
        "cluster": "c", "topic": "orders", "partition": 3, "producer_id": 7, "producer_epoch": 2,
        "coordinator_epoch": -1, "start_offset": 42, "cause": "NEVER_ADDED", "confidence": "HIGH", "reason": "why",
        "as_of": AS_OF, "records": 1, "bytes": 70, "held_back_offsets": 5,
        "opened_file": "broker-1/orders-3/00000000000000000000.log", "opened_position": 9,
        "detected_at": AS_OF, "status": "OPEN", "action": "ABORT",
    } | values  # fmt: skip


def producer_state(row: Row, **values: Any) -> Row:
    """The row of `producer_states` that belongs to a candidate."""
    same = {name: row[name] for name in ("cluster", "topic", "partition", "producer_id", "producer_epoch", "as_of")}
    return same | {
        "coordinator_epoch": row["coordinator_epoch"], "last_sequence": 4, "last_timestamp": AS_OF,
        "current_txn_start_offset": row["start_offset"],
    } | values  # fmt: skip


def coordinator_state(row: Row, **values: Any) -> Row:
    """The row of `coordinator_states` of a candidate's transactional id."""
    return {
        "cluster": row["cluster"], "transactional_id": row["transactional_id"], "state": "CompleteCommit",
        "producer_id": 7, "producer_epoch": 2, "start_timestamp": AS_OF, "topic_partitions": [],
    } | values  # fmt: skip


def states(producers: Sequence[Row], coordinators: Sequence[Row] = (), opened: Sequence[Row] = ()) -> DumpStates:
    """What the tables have about candidates."""
    return DumpStates(
        {(row["topic"], row["partition"], row["producer_id"]): row for row in producers},
        {row["transactional_id"]: row for row in coordinators},
        list(opened),
    )


def aborts(*offered: Row, coordinators: Sequence[Row] = (), **values: Any) -> str:
    """The script that aborts these candidates."""
    known = states([producer_state(row) for row in offered], coordinators)
    given: Row = {"cluster": "c", "cluster_id": CLUSTER_ID, "accepted": (), "blocked": (), "states": known} | values
    return script(Aborts(offered=offered, **given))


def tabbed(*rows: Sequence[object]) -> str:
    """Rows as Kafka's tools print them."""
    widths = [max(len(str(cell)) for cell in column) for column in zip(*rows, strict=True)]
    lines = ("".join(f"{str(cell).ljust(width)}\t" for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{line}\n" for line in lines)


def producer_answer(*rows: Sequence[object]) -> str:
    """What `describe-producers` prints."""
    return tabbed(PRODUCERS, *rows)


def transaction_answer(row: Sequence[object]) -> str:
    """What `describe` prints."""
    return tabbed(TRANSACTION, row)


MS = int(AS_OF.timestamp() * 1000)
# Of `candidate()`, unchanged.
UNCHANGED = producer_answer((3, 0, 1, 9, MS, "None"), (7, 2, -1, 4, MS, 42))


@dataclass
class Ran:
    """A script that was run."""

    code: int
    out: str
    error: str
    calls: list[list[str]]

    @property
    def aborted(self) -> list[list[str]]:
        """The arguments of each abort."""
        return [call[call.index("abort") + 1 :] for call in self.calls if "abort" in call]

    @property
    def summary(self) -> str:
        """What was said at the end."""
        return next((line for line in self.out.splitlines() if " tried: " in line), "")


@dataclass
class Stage:
    """A folder with the commands that stand in for Kafka's, and their answers."""

    folder: Path
    answers: dict[str, str] = field(default_factory=dict)

    def run(self, text: str, environment: Mapping[str, str] | None = None, **answers: str) -> Ran:
        """Run a script with RUN=1, if nothing else is said. A dash in a name of an answer is written as `_`."""
        said = {"cluster-id": f"Cluster ID: {CLUSTER_ID}\n", "describe-producers": UNCHANGED} | self.answers
        said |= {name.replace("_", "-"): answer for name, answer in answers.items()}
        place = self.folder / "place"
        for name, answer in said.items():
            put(place / name, answer)
        for name in ("kafka-transactions.sh", "kafka-cluster.sh"):
            self.tool(self.folder / "bin" / name)
        variables = {"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin", "BOOTSTRAP_SERVER": "broker:9092", "RUN": "1"}
        variables |= {"PLACE": str(place), "LC_ALL": "C.UTF-8"} | dict(environment or {})
        file = self.folder / "aborts.sh"
        file.write_text(text)
        done = subprocess.run(
            ["bash", str(file)], cwd=self.folder, env=variables, capture_output=True, check=False, text=True
        )
        calls = place / "calls"
        written = calls.read_bytes() if calls.exists() else b""
        split = written.removesuffix(b"\0\0").split(b"\0\0") if written else []
        return Ran(done.returncode, done.stdout, done.stderr, [os.fsdecode(one).split("\0") for one in split])

    def tool(self, path: Path) -> Path:
        """Put the command that stands in for Kafka's somewhere."""
        put(path, TOOL)
        path.chmod(0o755)
        return path
