"""What mends an open transaction: the commands, or what to add and until when. `explain`, the report and `txnlog
remedies` say it in these words. txnlog itself changes nothing in a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from txnlog.detection.causes import Action, Cause
from txnlog.detection.proof import Proof
from txnlog.detection.proofs import IMPLIED, PROOFS
from txnlog.report import kafka_tools
from txnlog.report.abort_candidates import word
from txnlog.report.advice import COSTS
from txnlog.report.dump_states import described
from txnlog.report.kafka_listing import UNDER_WAY
from txnlog.report.output import counted, plain
from txnlog.report.table_rows import rows_if_there
from txnlog.tables.layout import COORDINATOR_STATES, Root

Row = dict[str, Any]
# Rows of `coordinator_states` by cluster and transactional id.
States = Mapping[tuple[str, str], Row]
# Of those ids only whose transaction is under way does a remedy say more.
UNDER_WAY_SQL = f"state IN ({', '.join(map(repr, UNDER_WAY))})"
_BY_NAME = {proof.name: proof for proof in PROOFS}


class Step(NamedTuple):
    """Something to do or to know, and the lines of bash for it."""

    says: str
    commands: tuple[str, ...] = ()


class Remedy(NamedTuple):
    """What to do about a transaction and what that costs, and the steps in their order."""

    says: str
    steps: tuple[Step, ...]

    def as_json(self) -> dict[str, Any]:
        """As objects and arrays."""
        return {"says": self.says, "steps": [step._asdict() for step in self.steps]}


def states_under_way(root: Root) -> States:
    """The states of the ids whose transaction is under way; none where an old version left no such table."""
    return by_id(rows_if_there(root, COORDINATOR_STATES, UNDER_WAY_SQL))


def by_id(found: Iterable[Row]) -> States:
    """Rows of `coordinator_states` by their key."""
    return {(row["cluster"], row["transactional_id"]): row for row in found}


def missing_proofs(row: Row) -> list[Proof]:
    """The missing proofs of an undetermined row, the deciding one first, without those that another one implies."""
    # Tables of older versions lack these columns, and their proofs may have had other names.
    names = [row.get("lacking"), *(row.get("also_lacking") or ())]
    missing = [_BY_NAME[name] for name in names if name in _BY_NAME]
    implied = [second for first, second in IMPLIED if first in missing]
    return [proof for proof in missing if proof not in implied]


def remedy(row: Row, states: States, tables: str | None) -> Remedy:
    """The remedy of a row of `open_transactions`. `tables` is what `--tables` takes; without it the commands take it
    from `TXNLOG_TABLES`.
    """
    if row["action"] not in Action.__members__:
        return Remedy(f"This txnlog does not know {row['action']}: use the one that wrote the tables.", ())
    action = Action(row["action"])
    option = '--tables "$TXNLOG_TABLES"' if tables is None else f"--tables {word(tables)}"
    steps = _STEPS[action](row, states.get((row["cluster"], row["transactional_id"])), option)
    return Remedy(COSTS[action].format(**_amounts(row)) + _earlier(row), steps)


def _amounts(row: Row) -> dict[str, str]:
    return {
        name: counted(row[name], one) for name, one in (("batches", "batch"), ("records", "record"), ("bytes", "byte"))
    }


def _earlier(row: Row) -> str:
    if row["last_stable_offset"] >= row["start_offset"]:
        return ""
    return f" Consumers stay blocked until the transaction at offset {row['last_stable_offset']} has ended, too."


def _abort(row: Row, _: Row | None, option: str) -> tuple[Step, ...]:
    of_tables = f"{option} --cluster {word(row['cluster'])}"
    asks = f'txnlog verify {of_tables} --bootstrap-server "$BOOTSTRAP_SERVER"'
    return (
        Step("Ask the cluster whether it is still stuck, and get the aborts of this cluster as a script:",
             (asks, f"txnlog abort-list {of_tables} > aborts.sh")),
        Step("Read the script. It checks each transaction once more, says what it would abort, and aborts with RUN=1:",
             ("bash aborts.sh", "RUN=1 bash aborts.sh")),
    )  # fmt: skip


def _fence(row: Row, state: Row | None, _: str) -> tuple[Step, ...]:
    name = row["transactional_id"]
    shows = "" if state is None else f" It must still show {described(state)}."
    return (
        Step(f"Ask its coordinator: whatever is Ongoing now ends, also a transaction that began after the dump.{shows}",
             (kafka_tools.describe(name),)),
        Step("End it with the tools of Kafka 4.1 or newer, on older brokers, too. Its producer is fenced: restart the"
             " application.",
             (kafka_tools.force_terminate(name),)),
        Step("With older tools, or where transaction.max.timeout.ms is below a minute, start a producer with the id:"
             " initTransactions ends what it has open. Here with confluent-kafka; add settings for TLS and SASL:",
             (kafka_tools.init_transactions(name),)),
    )  # fmt: skip


def _move_coordinator(row: Row, state: Row | None, _: str) -> tuple[Step, ...]:
    place = f"__transaction_state-{row['coordinator_partition']}"
    broker = "" if state is None else f", in the dump broker {state['broker']}"
    waiting = ", ".join(row["pending_partitions"] or [f"{row['topic']}-{row['partition']}"])
    return (
        Step(f"Find its coordinator: CoordinatorId is the broker that leads {place}{broker}. Then find the leader of"
             f" each partition that waits for a marker ({waiting}), and repair a leader that is down or refuses it:",
             (kafka_tools.describe(row["transactional_id"]), kafka_tools.topic_layout(row["topic"]))),
        Step(f"If the preferred replica does not lead {place}, elect it:",
             (kafka_tools.topic_layout("__transaction_state"),
              kafka_tools.preferred_election("__transaction_state", row["coordinator_partition"]))),
        Step(f"If it does, restart the broker that leads {place}: another replica takes over and sends the markers."),
    )  # fmt: skip


def _keep(row: Row, _: Row | None, __: str) -> tuple[Step, ...]:
    start, end = max(row["start_offset"], row["log_start_offset"]), row["log_end_offset"]
    stays = f"read_committed consumers stay blocked at offset {row['last_stable_offset']}"
    return (
        Step(f"read_uncommitted consumers read it already. What is stuck in the dump is from offset {start} to"
             f" {end - 1}, records of other producers included:",
             (kafka_tools.read_uncommitted(row["topic"], row["partition"], start, row["held_back_records"]),)),
        Step(f"Replay: copy from offset {start} on to a repaired topic and move the consumers there. In the dump,"
             f" kafka-dump-log.sh --print-data-log shows which batches are of producer id {row['producer_id']}; leave"
             " out what was aborted."),
        Step(f"Until then {stays}: none of Kafka's tools writes the COMMIT marker that is missing."),
    )  # fmt: skip


def _undetermined(row: Row, _: Row | None, option: str) -> tuple[Step, ...]:
    missing = missing_proofs(row)
    # The last rule has no cause that could be proved.
    has_cause = row.get("wanted_cause") not in (None, Cause.SKEW)
    wanted = f"{row['wanted_cause']} is not proved. To prove it" if has_cause else "To prove more"
    more = f" Besides, it lacks {counted(len(missing) - 1, 'more proof')}, which txnlog explain names."
    proves = f"{wanted}: {missing[0].supplied_by}.{more if missing[1:] else ''}" if missing else None
    if row["cause"] == Cause.CLEANER_ARTEFACT:
        return (Step(proves or Cause.CLEANER_ARTEFACT.prevention, (kafka_tools.describe_producers(row),)),)
    again = ("txnlog check DUMP", _detect(option))
    return (Step(f"{proves or Cause[row['cause']].prevention} Then see what the new dump lacks, and judge it:", again),)


def _wait(row: Row, state: Row | None, option: str) -> tuple[Step, ...]:
    if row["cause"] == Cause.TWO_PHASE_COMMIT:
        owner = row["transactional_id"]
        return (Step(f"It has no timeout. Ask the application of {owner} whether its outside coordinator is alive."),)
    until = _until(row, state)
    if until is None:
        return (Step("Its age is not known. Dump again in some minutes:", (_detect(option),)),)
    return (Step(f"Wait until {plain(until)}. If it is still open then, dump again:", (_detect(option),)),)


def _detect(option: str) -> str:
    return f"txnlog detect DUMP {option}"


def _until(row: Row, state: Row | None) -> datetime | None:
    """When it is late, or when its coordinator ends it by its timeout: whichever is later."""
    spans = [(row["last_activity"], row["late_after_ms"])]
    if state is not None and state["state"] == "Ongoing":
        spans.append((state["start_timestamp"], state["timeout_ms"]))
    try:
        moments = [start + timedelta(milliseconds=length) for start, length in spans if start is not None]
    except OverflowError:
        # A producer's clock may say anything.
        return None
    return max(moments, default=None)


_STEPS: Mapping[Action, Callable[[Row, Row | None, str], tuple[Step, ...]]] = {
    Action.KEEP: _keep,
    Action.ABORT: _abort,
    Action.FENCE: _fence,
    Action.MOVE_COORDINATOR: _move_coordinator,
    Action.UNDETERMINED: _undetermined,
    Action.WAIT: _wait,
}
