"""`txnlog groups`: where consumer groups stand, and which of them open transactions block, from tables.

The first columns are those of `kafka-consumer-groups.sh --describe` (`ConsumerGroupCommand`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from txnlog.errors import OptionError
from txnlog.report.fitted import ACTION_STYLES, Column
from txnlog.report.output import as_csv, as_json, as_table, counted, with_cluster
from txnlog.report.table_rows import check_cluster, rows, rows_if_there, text_literal
from txnlog.tables.layout import BLOCKED_GROUPS, GROUP_POSITIONS, RUNS, Root, Table, columns_of

Row = dict[str, Any]
# What Kafka's tool prints for a missing value.
NONE = "-"
_ORDER = "cluster, group_id, topic, partition"


def positions(root: Root, **wanted: str | None) -> list[Row]:
    """The rows of `group_positions`; `wanted` are values of cluster, group_id and topic, None for any."""
    return _found(root, GROUP_POSITIONS, wanted)


def blocked(root: Root, **wanted: str | None) -> list[Row]:
    """The rows of `blocked_groups`; `wanted` as for `positions`."""
    return _found(root, BLOCKED_GROUPS, wanted)


def _found(root: Root, table: Table, wanted: dict[str, str | None]) -> list[Row]:
    where = [f"{name} = {text_literal(value)}" for name, value in wanted.items() if value is not None]
    found = rows(root, table, " AND ".join(where) or "true", _ORDER)
    if not found:
        check_cluster(wanted["cluster"], rows_if_there(root, RUNS))
        _check_group(root, wanted["group_id"])
    return found


def _check_group(root: Root, group: str | None) -> None:
    """`OptionError` for a group of which no record is kept: its name may be mistyped."""
    if group is not None and not rows(root, GROUP_POSITIONS, f"group_id = {text_literal(group)}", limit=1):
        raise OptionError(f"--group: no committed offset of {group!r} is known: `txnlog groups` has the groups")


def rendered_positions(found: list[Row], form: str, width: int | None = None) -> str:
    """The rows as `table`, `json` or `csv`."""
    return _rendered(found, GROUP_POSITIONS, _POSITIONS, form, width) or "No committed offsets.\n"


def rendered_blocked(found: list[Row], form: str, width: int | None = None) -> str:
    """The rows as `table`, `json` or `csv`; a table ends with what no record says."""
    text = _rendered(found, BLOCKED_GROUPS, _BLOCKED, form, width)
    if form != "table":
        return text
    if not found:
        return "No blocked groups.\n"
    groups = len({(row["cluster"], row["group_id"]) for row in found})
    seen = sorted({f"Clients see: {row['client_sees']}." for row in found})
    unknown = sorted({f"Not known: {row['not_known']}." for row in found})
    return "\n".join([f"{text}{counted(groups, 'group')} blocked.", *seen, *unknown, ""])


def _rendered(found: list[Row], table: Table, columns: tuple[Column, ...], form: str, width: int | None) -> str:
    if form == "json":
        return as_json(found)
    if form == "csv":
        return as_csv(found, [field.name for field in columns_of(table)])
    return as_table(found, with_cluster(found, columns), width) if found else ""


def _or_none(name: str) -> Column:
    is_name = name in ("member_id", "client_id", "client_host", "transactional_id")
    return Column(_HEADINGS[name], partial(_value, name), is_name, _RANKS.get(name, 0))


def _value(name: str, row: Row) -> Any:
    return NONE if row[name] is None else row[name]


_HEADINGS = {
    "committed_offset": "CURRENT-OFFSET",
    "log_end_offset": "LOG-END-OFFSET",
    "lag": "LAG",
    "member_id": "CONSUMER-ID",
    "client_host": "HOST",
    "client_id": "CLIENT-ID",
    "last_stable_offset": "LAST-STABLE-OFFSET",
    "pending_offset": "PENDING-OFFSET",
    "blocked_by": "BLOCKED-BY",
    "waiting_offsets": "WAITING",
    "transactional_id": "TRANSACTIONAL-ID",
    "producer_id": "PRODUCER-ID",
    "start_offset": "START-OFFSET",
    "cause": "CAUSE",
}
# The higher, the sooner a column gives way on a narrow terminal.
_RANKS = {
    "client_id": 6, "client_host": 5, "member_id": 4, "last_stable_offset": 3, "pending_offset": 2, "producer_id": 4,
    "transactional_id": 1, "start_offset": 2,
}  # fmt: skip
_PLACE = (
    Column("GROUP", "group_id", is_name=True),
    Column("TOPIC", "topic", is_name=True),
    Column("PARTITION", "partition"),
)
_POSITIONS = (
    *_PLACE,
    *map(_or_none, ("committed_offset", "log_end_offset", "lag", "member_id", "client_host", "client_id")),
    *map(_or_none, ("last_stable_offset", "pending_offset", "blocked_by")),
    Column("COMMITTED-AT", "committed_at", dispensable=7),
)
_BLOCKED = (
    *_PLACE,
    *map(_or_none, ("blocked_by", "committed_offset", "last_stable_offset", "pending_offset", "waiting_offsets")),
    Column("OPEN-IN", lambda row: f"{row['blocking_topic']}-{row['blocking_partition']}", is_name=True, dispensable=3),
    *map(_or_none, ("start_offset", "producer_id", "transactional_id", "cause")),
    Column("ACTION", lambda row: row["action"] or NONE, styles=ACTION_STYLES),
)
