"""Rows of the tables about the latest dumps: the input of the HTML report and its figures."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from txnlog.dump.dump_file import FileKind
from txnlog.errors import MissingTableError
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.report.advice import rank
from txnlog.report.latest_run import of_latest_run, since
from txnlog.report.remedy import UNDER_WAY_SQL, States, by_id
from txnlog.report.selection import Selection
from txnlog.report.table_rows import check_cluster, rows
from txnlog.tables.catalog import streamed
from txnlog.tables.layout import BLOCKED_GROUPS, COORDINATOR_STATES, DUMP_FILES, OPEN_TRANSACTIONS, RUNS, Root, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = dict[str, Any]
# Rows of a table by an SQL condition that both delta-rs and Spark understand.
Reader = Callable[[Table, str], list[Row]]
COORDINATORS = f"topic = '{TRANSACTION_STATE}' AND kind = '{FileKind.SEGMENT}'"


class Partition(NamedTuple):
    """A partition of a cluster."""

    cluster: str
    topic: str
    number: int

    @staticmethod
    def of(row: Row) -> Partition:
        """The partition that a row is about."""
        return Partition(row["cluster"], row["topic"], row["partition"])


class BlockedPartition(NamedTuple):
    """A partition with hanging transactions, and all that is open in it, by start offset."""

    partition: Partition
    transactions: list[Row]

    @property
    def first(self) -> Row:
        """The hanging transaction that starts first: the one to deal with."""
        return next(row for row in self.transactions if hangs(row))

    @property
    def hanging(self) -> list[Row]:
        """Those that hang."""
        return [row for row in self.transactions if hangs(row)]


@dataclass(frozen=True, slots=True)
class Contents:
    """Rows of the tables, with the columns of docs/tables.md and instants in UTC.

    `runs` are rows of the table `runs`, one for each cluster and as-of, the oldest first. `transactions` are the open
    ones of the latest run of each cluster, `previous` those of the run before it. `files` are those files of the latest
    run that are not as they should be, `coordinators` all segments of `__transaction_state`, `states` those of the ids
    whose transaction is under way. `groups` are rows of `blocked_groups`, the most offsets that wait first.
    """

    runs: list[Row]
    transactions: list[Row]
    previous: list[Row]
    files: list[Row]
    coordinators: list[Row]
    states: States
    groups: list[Row]

    @property
    def latest(self) -> dict[str, Row]:
        """The latest run over each cluster."""
        return {run["cluster"]: run for run in self.runs}

    def only(self, cluster: str | None) -> Contents:
        """Those of a cluster, of all if it is None. `OptionError` for one that is not there."""
        check_cluster(cluster, self.runs)
        wanted = Selection(cluster)
        return replace(
            self,
            runs=wanted.of(self.runs),
            transactions=wanted.of(self.transactions),
            previous=wanted.of(self.previous),
            files=wanted.of(self.files),
            coordinators=wanted.of(self.coordinators),
            groups=wanted.of(self.groups),
        )

    def blocked_partitions(self) -> list[BlockedPartition]:
        """The partitions with hanging transactions, the most urgent first."""
        groups: dict[Partition, list[Row]] = {}
        for row in self.transactions:
            groups.setdefault(Partition.of(row), []).append(row)
        found = [BlockedPartition(*group) for group in groups.items() if any(map(hangs, group[1]))]
        return sorted(found, key=_rank)


def hangs(row: Row) -> bool:
    """Whether a transaction is late, or may be because its age is unknown."""
    return row["late"] is not False


def of_tables(tables: Root | str) -> Contents:
    """The contents of tables, without Spark unless they are in a catalog. `TableError` where they cannot be read."""
    root = tables if isinstance(tables, Root) else Root(tables)
    return _contents(partial(rows, root))


def of_spark(spark: SparkSession, tables: Root | str) -> Contents:
    """The contents of tables that a session can read, be it a folder that only its Spark has the rights for."""
    root = tables if isinstance(tables, Root) else Root(tables)

    def read(table: Table, where: str) -> list[Row]:
        return list(streamed(spark, root, f"SELECT * FROM found WHERE {where}", {"found": table}))

    return _contents(read)


def _contents(read: Reader) -> Contents:
    def if_there(table: Table, where: str = "true") -> list[Row]:
        """Tables of an earlier version lack some."""
        with suppress(MissingTableError):
            return read(table, where)
        return []

    runs = _by_as_of(read(RUNS, "as_of_to IS NOT NULL"))
    latest = {run["cluster"]: run for run in runs}
    before = {run["cluster"]: run for run in runs if run is not latest[run["cluster"]]}
    opened = read(OPEN_TRANSACTIONS, since([*latest.values(), *before.values()]))
    is_wanted = f"(problem IS NOT NULL OR bytes_damaged > 0 OR ({COORDINATORS}))"
    found = of_latest_run(read(DUMP_FILES, f"{since(latest.values())} AND {is_wanted}"), latest.values())
    files = sorted(found, key=lambda file: (file["cluster"], file["file"]))
    return Contents(
        runs,
        sorted(of_latest_run(opened, latest.values()), key=_place),
        sorted(of_latest_run(opened, before.values()), key=_place),
        list(filter(_is_trouble, files)),
        [file for file in files if file["topic"] == TRANSACTION_STATE and file["kind"] == FileKind.SEGMENT],
        by_id(if_there(COORDINATOR_STATES, UNDER_WAY_SQL)),
        sorted(
            if_there(BLOCKED_GROUPS),
            key=lambda row: (-(row["waiting_offsets"] or 0), row["group_id"], *Partition.of(row)),
        ),
    )


def _by_as_of(runs: list[Row]) -> list[Row]:
    """One row per cluster and as-of, oldest first. Of several runs over the same dump the last one counts."""
    latest = {(run["as_of_to"], run["cluster"]): run for run in sorted(runs, key=lambda run: run["finished_at"])}
    return [latest[run] for run in sorted(latest)]


def _is_trouble(file: Row) -> bool:
    """Files that do not belong in a dump are not a problem: txnlog skips them on purpose."""
    return bool(file["bytes_damaged"]) or (file["problem"] is not None and file["kind"] != FileKind.OTHER)


def _place(row: Row) -> tuple[Any, ...]:
    return (*Partition.of(row), row["start_offset"], row["producer_id"])


def _rank(blocked: BlockedPartition) -> tuple[Any, ...]:
    return (*rank(blocked.first), blocked.partition)
