"""Which rows of the table `transactions` a question is about, and what follows from each, in SQL.

A transaction is **under way** if no Complete* record of it is kept, no later transaction of its id began, its last
record is in the latest range of its coordinator partition or the last one of its id in the latest dump, and that dump
does not show its end. The end of any other one without a Complete* record is not in the history that is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from txnlog.errors import OptionError
from txnlog.report.abort_candidates import option, word
from txnlog.report.kafka_listing import UNDER_WAY
from txnlog.report.table_rows import answer, check_cluster, streamed, text_literal
from txnlog.tables.catalog import Dialect, dialect
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_STATES, TRANSACTIONS, Root, Table
from txnlog.times import iso_8601

# What the records say of the outcome: nothing yet, or nothing that is kept.
OPEN, UNKNOWN = "OPEN", "UNKNOWN"
STATUSES = ("COMMIT", "ABORT", "CONTRADICTED", OPEN, UNKNOWN)
# What `chosen` adds to the columns of the table.
ADDED = ("status", "under_way", "duration_ms", "markers_ms")
# Each of `Wanted` as an option of the command.
OPTIONS = {
    "cluster": "--cluster",
    "transactional_id": "--transactional-id",
    "topic": "--topic",
    "partition": "--partition",
    "status": "--outcome",
    "longer_than_ms": "--longer-than",
    "from_ms": "--from",
    "to_ms": "--to",
}
_KEY = ", ".join(TRANSACTIONS.key)


class Wanted(NamedTuple):
    """What must be so of a transaction; None is anything. `status` is one of `STATUSES`.

    `topic`, `partition`: it listed that. `longer_than_ms`: its duration is longer. `from_ms`, `to_ms`: it was under way
    at some time in [from, to), ms since 1970.
    """

    cluster: str | None = None
    transactional_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    status: str | None = None
    longer_than_ms: int | None = None
    from_ms: int | None = None
    to_ms: int | None = None


ALL = Wanted()


def answered(root: Root, wanted: Wanted, select: str, *steps: str) -> list[dict[str, Any]]:
    """The rows of a query over the transactions that are wanted, `chosen`; `steps` (`name AS (..)`) come before it.

    `OptionError` where the tables have nothing of the cluster, or of the transactional id.
    The columns of `chosen` are those of the table, then `status`: its outcome, OPEN or UNKNOWN; `under_way`;
    `duration_ms`: from its start to the Complete* record, or to the decision if only that is kept, or to when it was
    last seen under way, null if its end is unknown; `markers_ms`: from the decision to the Complete* record.
    """
    return list(streamed_answer(root, wanted, select, *steps))


def streamed_answer(root: Root, wanted: Wanted, select: str, *steps: str) -> Iterator[dict[str, Any]]:
    """As `answered`, one row after the other."""
    whole = f"WITH {', '.join([*_steps(wanted, dialect(root)), *steps])} {select}"
    found = streamed(root, whole, found=TRANSACTIONS, ranges=COORDINATOR_RANGES, states=COORDINATOR_STATES)
    first = next(found, None)
    if first is None:
        check_known(root, wanted, TRANSACTIONS)
    else:
        yield first
        yield from found


def check_known(root: Root, wanted: Wanted, table: Table) -> None:
    """`OptionError` where a table has no row of the cluster or of the transactional id: a name may be mistyped."""
    clusters = answer(root, "SELECT DISTINCT cluster FROM found", found=table)
    check_cluster(wanted.cluster, clusters)
    known = answer(root, f"SELECT cluster FROM found WHERE {_of_ids(wanted)} LIMIT 1", found=table)
    if wanted.transactional_id is not None and clusters and not known:
        raise OptionError(
            f"--transactional-id: no record of {wanted.transactional_id!r} is kept: `txnlog list` has the ids"
        )


def _steps(wanted: Wanted, sql: Dialect) -> Iterator[str]:
    yield f"of_ids AS (SELECT * FROM found WHERE {_of_ids(wanted)})"
    yield from _ends()
    # The left side is held in memory: it is the small one.
    yield f"""with_end AS (
    SELECT of_ids.*, next_start, seen_until, coalesce(under_way, false) AS under_way,
        coalesce(outcome, CASE WHEN under_way THEN '{OPEN}' ELSE '{UNKNOWN}' END) AS status
    FROM ends RIGHT JOIN of_ids USING ({_KEY}))"""
    until = "CASE WHEN under_way THEN seen_until ELSE coalesce(completed_at, decided_at) END"
    yield f"""measured AS (
    SELECT *, {sql.elapsed_ms.format(start="start_timestamp", end=until)} AS duration_ms,
        {sql.elapsed_ms.format(start="decided_at", end="completed_at")} AS markers_ms
    FROM with_end)"""
    yield f"""listed AS (
    SELECT {_KEY}, place['topic'] AS topic, place['partition'] AS partition
    FROM (SELECT {_KEY}, {sql.each.format(array="partitions", name="place")} FROM of_ids) WHERE {of_places(wanted)})"""
    is_any = wanted.topic is None and wanted.partition is None
    source = "measured" if is_any else sql.semi_join.format(few="listed", many="measured", key=_KEY)
    yield f"chosen AS (SELECT measured.* FROM {source} WHERE {_of_transactions(wanted)})"


def _ends() -> Iterator[str]:
    """Steps up to `ends`: until when the few transactions without a Complete* record were seen, and what came next."""
    yield f"unfinished AS (SELECT {_KEY}, last_offset, as_of FROM of_ids WHERE completed_at IS NULL)"
    yield f"""following AS (
    SELECT {_key_of("unfinished")}, min(later.start_timestamp) AS next_start
    FROM unfinished JOIN of_ids AS later
        ON later.cluster = unfinished.cluster AND later.transactional_id = unfinished.transactional_id
        AND later.start_timestamp > unfinished.start_timestamp
    GROUP BY {_key_of("unfinished")})"""
    # Of a log with a hole, or one that was recreated, an earlier range says nothing of what came after it.
    yield """latest AS (
    SELECT cluster, coordinator_partition, topic_id, from_offset, to_offset, written_to
    FROM (SELECT *, row_number() OVER (PARTITION BY cluster, coordinator_partition ORDER BY written_to DESC) AS place
        FROM ranges)
    WHERE place = 1)"""
    # What the latest dump has of the id from that record on; its copy may show more than is kept for certain.
    yield f"""of_dump AS (
    SELECT {_key_of("unfinished")}, states.as_of AS copied_at, is_certain,
        coalesce(states.start_timestamp = unfinished.start_timestamp AND states.state IN {UNDER_WAY}, false) AS goes_on
    FROM unfinished JOIN states
        ON states.cluster = unfinished.cluster AND states.transactional_id = unfinished.transactional_id
        AND states.coordinator_partition = unfinished.coordinator_partition
        AND states.offset >= unfinished.last_offset)"""
    yield f"""ends AS (
    SELECT {_key_of("unfinished")}, next_start, greatest(unfinished.as_of, written_to, copied_at) AS seen_until,
        next_start IS NULL AND coalesce(goes_on, true)
            AND (written_to IS NOT NULL OR coalesce(is_certain, false)) AS under_way
    FROM unfinished LEFT JOIN following USING ({_KEY}) LEFT JOIN of_dump USING ({_KEY})
    LEFT JOIN latest ON latest.cluster = unfinished.cluster
        AND latest.coordinator_partition = unfinished.coordinator_partition AND latest.topic_id = unfinished.topic_id
        AND latest.from_offset <= unfinished.last_offset AND latest.to_offset > unfinished.last_offset)"""


def _key_of(frame: str) -> str:
    return ", ".join(f"{frame}.{name}" for name in TRANSACTIONS.key)


def _of_ids(wanted: Wanted) -> str:
    """What holds for all transactions of an id or for none: each is looked at with those that follow."""
    values = {"cluster": wanted.cluster, "transactional_id": wanted.transactional_id}
    return _all_of(*(f"{name} = {text_literal(value)}" for name, value in values.items() if value is not None))


def of_places(wanted: Wanted) -> str:
    """What holds for a `place`, one of the partitions of a transaction, that is wanted."""
    topic = "" if wanted.topic is None else f"place['topic'] = {text_literal(wanted.topic)}"
    return _all_of(topic, "" if wanted.partition is None else f"place['partition'] = {wanted.partition}")


def _of_transactions(wanted: Wanted) -> str:
    end = "coalesce(completed_at, decided_at, next_start)"
    conditions = {
        "status = {}": None if wanted.status is None else text_literal(wanted.status),
        "duration_ms > {}": wanted.longer_than_ms,
        # One whose end was not seen may have been under way then.
        f"(under_way OR coalesce({end} >= TIMESTAMP '{{}}', true))": _time(wanted.from_ms),
        "start_timestamp < TIMESTAMP '{}'": _time(wanted.to_ms),
    }
    return _all_of(*(text.format(value) for text, value in conditions.items() if value is not None))


def _time(ms: int | None) -> str | None:
    return None if ms is None else iso_8601(ms)


def _all_of(*conditions: str) -> str:
    return " AND ".join(filter(None, conditions)) or "true"


def arguments(wanted: Wanted) -> str:
    """What is wanted as arguments of `txnlog transactions`, as bash takes them; each after a space."""
    texts = wanted._asdict() | {
        "longer_than_ms": None if wanted.longer_than_ms is None else f"{wanted.longer_than_ms}ms",
        "from_ms": _time(wanted.from_ms),
        "to_ms": _time(wanted.to_ms),
    }
    given = [option(OPTIONS[name], str(text)) for name, text in texts.items() if text is not None]
    return "".join(f" {word(each)}" for words in given for each in words)
