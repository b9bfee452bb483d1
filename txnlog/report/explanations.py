"""`txnlog explain`: the history of the open transactions of a partition, each event with its evidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from txnlog.detection.causes import DISCARDING, Action, Cause
from txnlog.detection.rules import RULES
from txnlog.errors import OptionError
from txnlog.format.group_messages import CONSUMER_OFFSETS
from txnlog.report.kafka_listing import states
from txnlog.report.output import counted, first_of, plain
from txnlog.report.remedy import Remedy, by_id, missing_proofs, remedy
from txnlog.report.table_rows import check_cluster, rows, rows_if_there, text_literal
from txnlog.tables.layout import ABORT_CANDIDATES, BLOCKED_GROUPS, DUMP_FILES, OPEN_TRANSACTIONS, RUNS, Root

PRODUCER, BROKER, COORDINATOR = "producer's clock", "broker's clock", "coordinator's clock"
DUMP = "time of the dump"


class Event(NamedTuple):
    """Something that happened: when and by which clock, where it is recorded, and what it was. Null if unknown."""

    time: str | None
    clock: str | None
    what: str
    offset: int | None = None
    file: str | None = None
    position: int | None = None


class Explanation(NamedTuple):
    """One open transaction, explained. `transaction` is its row of `open_transactions`."""

    transaction: dict[str, Any]
    who: str
    events: list[Event]
    why: str
    rests_on: list[str]
    remedy: Remedy
    held_back: str
    prevention: str


class Explanations(NamedTuple):
    """Those of the open transactions of a partition, and the as-ofs of their dumps."""

    of_transactions: list[Explanation]
    as_of: list[str]

    def only(self, name: str, value: str | None) -> Explanations:
        """Those of which a column has a value; None is any."""
        kept = [each for each in self.of_transactions if value in (None, each.transaction[name])]
        return self._replace(of_transactions=kept)


def explained_id(root: Root, transactional_id: str, cluster: str | None = None) -> Explanations:
    """The open transactions of an id in the latest dump of each partition. `OptionError` where it never had any."""
    owned = f"transactional_id = {text_literal(transactional_id)}"
    owned += "" if cluster is None else f" AND cluster = {text_literal(cluster)}"
    seen = rows(root, OPEN_TRANSACTIONS, owned)
    if not seen:
        check_cluster(cluster, rows(root, RUNS))
        raise OptionError(
            f"no dump in the tables has an open transaction of {transactional_id}: `txnlog list` has the ids"
        )
    places = sorted({(row["topic"], row["partition"], row["cluster"]) for row in seen})
    found = [explained(root, topic, partition, cluster=name) for topic, partition, name in places]
    whole = Explanations(
        [each for of_place in found for each in of_place.of_transactions],
        sorted({moment for of_place in found for moment in of_place.as_of}),
    )
    return whole.only("transactional_id", transactional_id)


def explained(
    root: Root, topic: str, partition: int, producer_id: int | None = None, cluster: str | None = None
) -> Explanations:
    """The open transactions of a partition in the latest dump that has it. `OptionError` where none has it."""
    place = f"topic = {text_literal(topic)} AND partition = {partition}"
    place += "" if cluster is None else f" AND cluster = {text_literal(cluster)}"
    copies = rows(root, DUMP_FILES, f"{place} AND kind = 'segment' AND copy_chosen")
    if not copies:
        if cluster is not None:
            check_cluster(cluster, rows(root, RUNS))
        raise OptionError(f"no dump in the tables has {topic}-{partition}: check --topic, --partition and --cluster")
    latest: dict[str, Any] = {}
    for copy in copies:
        latest[copy["cluster"]] = max(copy["as_of"], latest.get(copy["cluster"], copy["as_of"]))
    seen = rows(root, OPEN_TRANSACTIONS, place, "cluster, start_offset, as_of")
    current = [row for row in seen if row["as_of"] == latest.get(row["cluster"]) and _is(row, producer_id)]
    as_of = [f"{plain(moment)} ({name})" for name, moment in latest.items()]
    return Explanations(
        [_explanation(root, row, [each for each in seen if _same(each, row)]) for row in current], as_of
    )


def _is(row: dict[str, Any], producer_id: int | None) -> bool:
    return producer_id is None or row["producer_id"] == producer_id


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[name] == other[name] for name in ABORT_CANDIDATES.key)


def _explanation(root: Root, row: dict[str, Any], sightings: list[dict[str, Any]]) -> Explanation:
    cause = Cause[row["cause"]]
    state = _state(root, row)
    events = [*_in_partition(row), *_by_coordinator(row, state), *_by_dumps(root, row, sightings)]
    return Explanation(
        row,
        _who(row, state),
        _in_order(events),
        f"{row['cause']} ({row['confidence']} confidence): {row['reason']}. {cause.explanation}",
        list(_rests_on(row)),
        remedy(row, by_id([state] if state else []), root.text),
        _held_back(row) + _blocked_groups(root, row),
        cause.prevention,
    )


def _rests_on(row: dict[str, Any]) -> Iterator[str]:
    """The proofs that a discarding action rests on; for an undetermined row those that are missing."""
    missing = missing_proofs(row)
    for proof in missing:
        yield f"Not proved, which {row['wanted_cause']} needs: {proof.meaning} To supply it: {proof.supplied_by}."
    if missing:
        return
    if Action(row["action"]) in DISCARDING:
        for proof in next(rule.needs for rule in RULES if rule.cause == row["cause"]):
            yield f"{proof.meaning} ({proof.rests_on})"


def _state(root: Root, row: dict[str, Any]) -> dict[str, Any] | None:
    if row["transactional_id"] is None:
        return None
    found = states(root, row["cluster"], row["transactional_id"])
    return found[0] if found else None


def _who(row: dict[str, Any], state: dict[str, Any] | None) -> str:
    producer = f"producer id {row['producer_id']} at epoch {row['producer_epoch']}"
    if row["transactional_id"] is None:
        return f"{producer}; its transactional id is unknown to every coordinator in the tables"
    owner = f"{producer} of the transactional id {row['transactional_id']}"
    owner += (
        ""
        if row["coordinator_partition"] is None
        else f", partition {row['coordinator_partition']} of __transaction_state"
    )
    if state is None:
        return f"{owner}; its coordinator no longer knows the id"
    present = f"producer id {state['producer_id']} at epoch {state['producer_epoch']}, {state['state']}"
    return f"{owner}; the coordinator (broker {state['broker']}) is now at {present}"


def _in_partition(row: dict[str, Any]) -> Iterator[Event]:
    if row["last_marker_offset"] is not None:
        kind = row["last_marker_type"] or "COMMIT or ABORT"
        what = f"{kind} marker of epoch {row['last_marker_epoch']}: it ended what the producer id had open here"
        at = row["last_marker_offset"], row["last_marker_file"], row["last_marker_position"]
        yield Event(*_moment(row["last_marker_timestamp"], BROKER), what, *at)
    doubt = "" if row["timestamps_trusted"] else " (a broker's clock contradicts that time)"
    opened = f"its first batch opened the transaction{doubt}"
    first = plain(row["start_timestamp"])
    yield Event(first, PRODUCER, opened, row["start_offset"], row["opened_file"], row["opened_position"])
    amount = f"{counted(row['batches'], 'batch')}, {counted(row['records'], 'record')}, {counted(row['bytes'], 'byte')}"
    yield Event(plain(row["last_timestamp"]), PRODUCER, f"its last batch; {amount} in all, and no marker after them")


def _by_coordinator(row: dict[str, Any], state: dict[str, Any] | None) -> Iterator[Event]:
    is_current = state is not None and state["offset"] == row["evidence_offset"]
    if row["evidence_file"] is not None and not is_current:
        what = f"the coordinator's record {row['evidence_state']}, on which the verdict rests"
        at = row["evidence_offset"], row["evidence_file"], row["evidence_position"]
        yield Event(*_moment(row["evidence_timestamp"], COORDINATOR), what, *at)
    if state is None:
        return
    if state["start_timestamp"] is not None:
        what = "the coordinator began the latest transaction of the id"
        yield Event(plain(state["start_timestamp"]), COORDINATOR, what)
    present = f"{state['state']} at epoch {state['producer_epoch']}, {_listed(state)}"
    what = f"the coordinator's last record of the id: {present}"
    written = plain(state["last_update_timestamp"])
    yield Event(written, COORDINATOR, what, state["offset"], state["file"], state["position"])


def _moment(time: Any, clock: str) -> tuple[str | None, str | None]:
    """Neither where the time is not known, as of rows of an older version."""
    return (None, None) if time is None else (plain(time), clock)


def _listed(state: dict[str, Any]) -> str:
    names = [f"{each['topic']}-{each['partition']}" for each in state["topic_partitions"] or []]
    return f"listing {', '.join(names)}" if names else "listing no partition"


def _by_dumps(root: Root, row: dict[str, Any], sightings: list[dict[str, Any]]) -> Iterator[Event]:
    for seen in sightings:
        copied = f"the partition was copied from broker {seen['broker']} with the transaction open"
        yield Event(plain(seen["as_of"]), DUMP, f"{copied}: {seen['cause']}, {seen['action']}")
    place = f"cluster = {text_literal(row['cluster'])} AND topic = {text_literal(row['topic'])}"
    place += f" AND partition = {row['partition']} AND status = 'RESOLVED'"
    for each in rows(root, ABORT_CANDIDATES, f"{place} AND start_offset = {row['start_offset']}"):
        if _same(each, row):
            yield Event(plain(each["resolved_at"]), DUMP, f"resolved as a candidate: {each['resolution']}")


def _in_order(events: list[Event]) -> list[Event]:
    """By time; an event without a time stays after the event before it."""
    times, latest = [], ""
    for event in events:
        latest = latest if event.time is None else event.time
        times.append(latest)
    return [event for _, event in sorted(zip(times, events, strict=True), key=lambda pair: pair[0])]


def _held_back(row: dict[str, Any]) -> str:
    since = "" if row["held_back_since"] is None else f" since {plain(row['held_back_since'])}"
    amount = ", ".join(
        (
            counted(row["held_back_offsets"], "offset"),
            counted(row["held_back_records"], "record"),
            counted(row["held_back_bytes"], "byte"),
        )
    )
    place = f"offset {row['last_stable_offset']}{since}"
    blocked = f"read_committed consumers are blocked at {place}; {amount} are held back"
    if row["last_stable_offset"] < row["start_offset"]:
        return f"{blocked}; the transaction that starts there must end first"
    return blocked


def _blocked_groups(root: Root, row: dict[str, Any]) -> str:
    place = f"cluster = {text_literal(row['cluster'])} AND blocking_topic = {text_literal(row['topic'])}"
    place += f" AND blocking_partition = {row['partition']} AND start_offset = {row['start_offset']}"
    names = sorted({each["group_id"] for each in rows_if_there(root, BLOCKED_GROUPS, place)})
    if not names:
        return ""
    of_groups = (
        "commits of these consumer groups are pending in it"
        if row["topic"] == CONSUMER_OFFSETS
        else "these consumer groups stand there, if they read with read_committed"
    )
    return f"; {of_groups}: {first_of(names, 10)} (txnlog groups --blocked)"
