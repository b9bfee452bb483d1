"""Which rows of the tables are old: pure functions of what is there. What a verdict may still rest on is not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.keys import PARTITION, TRANSACTION
from txnlog.tables.layout import (
    ABORT_CANDIDATES,
    COORDINATOR_STATES,
    DUMP_FILES,
    OPEN_TRANSACTIONS,
    PRODUCER_STATES,
    RUNS,
    VERIFICATIONS,
    Table,
)
from txnlog.tables.store import Store


class Old(NamedTuple):
    """Rows of a table to remove, and a condition that holds for each of them (`target`): nothing else is removed, and
    files without such rows are not read.
    """

    table: Table
    rows: DataFrame
    among: str


def old_rows(store: Store, cluster: str, before: datetime) -> list[Old]:
    """What dumps taken before a time left in the tables, but for what later verdicts rest on.

    That stays: the latest copy of each partition in `dump_files`, so that no older dump counts as news; candidates that
    are OPEN, and the answers of the live cluster about them; every KEEP; and all rows of transactions that are open by
    the latest copy of their partition or by any dump since then.
    """
    time = instant_literal(before)
    files, opened, candidates = (
        store.read(table, [cluster]) for table in (DUMP_FILES, OPEN_TRANSACTIONS, ABORT_CANDIDATES)
    )
    latest = summed(files.where("copy_chosen"), PARTITION, "max(as_of) AS latest")
    standing = candidates.where("status = 'OPEN'").select(*TRANSACTION)
    still_open = (
        opened.join(latest, [*PARTITION], "left")
        .where(f"as_of >= {time} OR as_of = latest")
        .select(*TRANSACTION)
        .unionByName(standing)
    )
    old, resolved = f"as_of < {time}", f"status = 'RESOLVED' AND resolved_at < {time}"
    verified = store.read(VERIFICATIONS, [cluster]).where(f"verified_at < {time}")
    ran = f"coalesce(as_of_to, finished_at) < {time}"
    return [
        Old(
            OPEN_TRANSACTIONS,
            opened.where(f"{old} AND action <> 'KEEP'").join(still_open, [*TRANSACTION], "left_anti"),
            f"target.{old} AND target.action <> 'KEEP'",
        ),
        Old(
            ABORT_CANDIDATES, candidates.where(resolved), f"target.status = 'RESOLVED' AND target.resolved_at < {time}"
        ),
        Old(
            VERIFICATIONS,
            verified.join(standing, [*TRANSACTION], "left_anti"),
            f"target.verified_at < {time}",
        ),
        Old(
            DUMP_FILES,
            files.where(old).join(latest, [*PARTITION], "left").where("coalesce(as_of < latest, true)"),
            f"target.{old}",
        ),
        *(
            Old(table, store.read(table, [cluster]).where(old), f"target.{old}")
            for table in (COORDINATOR_STATES, PRODUCER_STATES)
        ),
        # Last: which run is the latest says what is old.
        Old(
            RUNS,
            store.read(RUNS, [cluster]).where(ran),
            f"coalesce(target.as_of_to, target.finished_at) < {time}",
        ),
    ]


def instant_literal(moment: datetime) -> str:
    """An instant as a literal of SQL, of both Spark and delta-rs."""
    return f"TIMESTAMP '{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}'"
