"""Which rows of the tables are old: pure functions of what is there. What a verdict may still rest on is not."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.keys import PARTITION, TRANSACTION
from txnlog.tables.layout import (
    ABORT_CANDIDATES,
    COORDINATOR_STATES,
    DUMP_FILES,
    FINDINGS,
    OPEN_TRANSACTIONS,
    PARTITION_TRANSACTIONS,
    PRODUCER_STATES,
    RUNS,
    VERIFICATIONS,
    Table,
)
from txnlog.tables.store import Store
from txnlog.times import instant_literal


class Old(NamedTuple):
    """Rows of a table to remove: those of which a condition in SQL holds, but for the few that stay."""

    table: Table
    where: str
    staying: DataFrame


def old_rows(store: Store, cluster: str, before: datetime) -> list[Old]:
    """What dumps taken before a time left in the tables, but for what later verdicts rest on.

    That stays: the latest copy of each partition in `dump_files`, so that no older dump counts as news; candidates that
    are OPEN, and the answers of the live cluster about them; every KEEP; and all rows of transactions that are open by
    the latest copy of their partition or by any dump since then.
    """
    time = instant_literal(before)
    old = f"as_of < {time}"

    def read(table: Table, where: str = "true") -> DataFrame:
        return store.read(table, [cluster]).where(where)

    def without_exception(table: Table, where: str) -> Old:
        return Old(table, where, read(table, "false"))

    files, opened = read(DUMP_FILES), read(OPEN_TRANSACTIONS)
    latest = summed(files.where("copy_chosen"), PARTITION, "max(as_of) AS latest")
    standing = read(ABORT_CANDIDATES, "status = 'OPEN'").select(*TRANSACTION)
    still_open = (
        opened.join(latest, [*PARTITION], "left")
        .where(f"as_of >= {time} OR as_of = latest")
        .select(*TRANSACTION)
        .unionByName(standing)
    )
    kept_copies = files.where(old).join(latest.where(f"latest < {time}"), [*PARTITION], "inner")
    undecided, verified = f"{old} AND action <> 'KEEP'", f"verified_at < {time}"
    return [
        Old(OPEN_TRANSACTIONS, undecided, opened.where(undecided).join(still_open, [*TRANSACTION], "left_semi")),
        without_exception(ABORT_CANDIDATES, f"status = 'RESOLVED' AND resolved_at < {time}"),
        Old(VERIFICATIONS, verified, read(VERIFICATIONS, verified).join(standing, [*TRANSACTION], "left_semi")),
        Old(DUMP_FILES, old, kept_copies.where("as_of >= latest")),
        without_exception(COORDINATOR_STATES, old),
        without_exception(PRODUCER_STATES, old),
        without_exception(PARTITION_TRANSACTIONS, old),
        without_exception(FINDINGS, old),
        # Last: which run is the latest says what is old.
        without_exception(RUNS, f"coalesce(as_of_to, finished_at) < {time}"),
    ]
