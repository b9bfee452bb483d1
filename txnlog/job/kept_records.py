"""Adds to the archive what a dump's copies of coordinator partitions show whole, and the transactions in it."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict

import pyarrow as pa
from pyspark.sql import DataFrame

from txnlog.detection.coordinator_copies import disagreements
from txnlog.detection.recorded_transactions import combined, of_records
from txnlog.detection.whole_ranges import WholeRange, contradiction, differs, joined_ranges
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.job.last_shared import Log, Row, rewritten_logs
from txnlog.job.records_in_ranges import remove_unproved
from txnlog.job.stored_archive import WRITTEN, part_of, stored_ranges
from txnlog.keys import LOG_DIR
from txnlog.report.output import printable
from txnlog.spark.materialize import local_frame
from txnlog.spark.schema import arrow_schema
from txnlog.tables.archive_rows import CoordinatorRangeRow
from txnlog.tables.changes import as_upserts, instant, of_table, rows_of_table
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_RECORDS, TRANSACTIONS
from txnlog.tables.store import Store
from txnlog.times import within_calendar

LOG = logging.getLogger("txnlog")
# Copies of partitions, as `disagreements` has them.
_COPIES = pa.schema(
    [
        ("cluster", pa.string()),
        ("coordinator_partition", pa.int32()),
        ("broker", pa.string()),
        ("log_dir", pa.string()),
    ]
)
# Below which offset the records of a copy are certain.
_ENDS = pa.schema(
    [*((name, pa.string()) for name in LOG_DIR), ("coordinator_partition", pa.int32()), ("certain_to", pa.int64())]
)
# Which offsets of a copy are kept: of a partition in a log directory.
_WANTED = pa.schema(
    [
        *((name, pa.string()) for name in LOG_DIR),
        ("coordinator_partition", pa.int32()),
        ("topic_id", pa.string()),
        ("from_offset", pa.int64()),
        ("to_offset", pa.int64()),
    ]
)


def keep_records(
    store: Store, clusters: list[str], states: DataFrame, times: DataFrame, whole_parts: pa.Table
) -> dict[str, int]:
    """Add what the dump's copies of coordinator partitions show whole, as far as the archive does not have it.

    Returns how many offsets are new, by cluster. `states` are rows of `TransactionStateRow`, `times` when each log
    directory was copied. Another job may have added to the archive since this one read it: it is read once more, as
    this job is the only writer now.

    The ranges come last: what a job that is killed has written before proves nothing, and is not added twice.
    """
    of_all = stored_ranges(store, None)
    archived = [each for each in of_all if each.cluster in clusters]
    parts, contradicted = _agreeing(store, archived, states, whole_parts)
    wanted = list(_wanted(archived, parts))
    if wanted:
        records, spans = _records(states, times, wanted), _spans(wanted)
        if not store.is_new(COORDINATOR_RECORDS):
            remove_unproved(store, clusters, of_all, spans)
        store.append(COORDINATOR_RECORDS, _new_records(store, clusters, records, spans))
        starts = [row["started_from"] for _, row in parts if row["started_from"] is not None]
        if starts:
            _merge_transactions(store, clusters, records, min(starts))
    ranges = joined_ranges([*archived, *(each for each, _ in parts), *map(contradiction, contradicted)])
    if set(ranges) != set(archived):
        write_ranges(store, clusters, ranges)
    new = dict.fromkeys(clusters, 0)
    for row in wanted:
        new[row["cluster"]] += row["to_offset"] - row["from_offset"]
    return new


def write_ranges(store: Store, clusters: list[str], ranges: Iterable[WholeRange]) -> None:
    """Put these in the place of all ranges of some clusters."""
    rows = local_frame(store.spark, list(map(_row_of_range, ranges)), _RANGES)
    values = {name: instant(name) for name in WRITTEN}
    store.overwrite(COORDINATOR_RANGES, rows_of_table(COORDINATOR_RANGES, rows, values), clusters)


def _agreeing(
    store: Store, archived: list[WholeRange], states: DataFrame, whole_parts: pa.Table
) -> tuple[list[tuple[WholeRange, Row]], set[Log]]:
    """What is to be kept of the copies, and the logs of which records that were acknowledged contradict one another."""
    rows = whole_parts.to_pylist()
    known = {each.log for each in archived if each.is_contradiction}
    within, before = _contradicting(states, rows), rewritten_logs(store, states, rows, archived) | known
    _warn("copies in the dump have different records at the same offsets", within)
    _warn("earlier dumps have other records, or none, at the same offsets", before)
    refused = within | before
    parts = ((_part_of_row(row), row) for row in rows)
    # Of two logs that are not one only the first is kept: what is found later is no more certain than that.
    agreeing = [(each, row) for each, row in parts if each is not None and each.log not in refused]
    if not refused - known:
        return agreeing, set()
    # What a broker has above its high watermark, its leader may have replaced: nobody was told that it is safe.
    certain = _below_high_watermark(states, rows)
    return agreeing, _contradicting(certain, rows) | rewritten_logs(store, certain, rows, archived)


def _warn(why: str, logs: set[Log]) -> None:
    if logs:
        names = ", ".join(f"{TRANSACTION_STATE}-{one} of {printable(cluster)}" for cluster, one, _ in sorted(logs))
        LOG.warning("not kept, because %s: %s", why, names)


def _contradicting(states: DataFrame, rows: list[Row]) -> set[Log]:
    """The logs of which two copies have other records at the same offsets.

    A disk from before a restored backup has other records, of the same leader epochs. Either may have lost a commit,
    and a range that took some offsets of the one and some of the other would prove what neither log shows.
    """
    copies_of = Counter(_place(row) for row in rows)
    several = [{name: row[name] for name in _COPIES.names} for row in rows if copies_of[_place(row)] > 1]
    if not several:
        return set()
    found = disagreements(states, local_frame(states.sparkSession, several, _COPIES)).toArrow().to_pylist()
    contradicting = {_place(row) for row in found}
    return {(*_place(row), row["topic_id"]) for row in rows if _place(row) in contradicting}


def _below_high_watermark(states: DataFrame, rows: list[Row]) -> DataFrame:
    """The records of copies that all replicas had which could lead."""
    ends = local_frame(states.sparkSession, [{name: row[name] for name in _ENDS.names} for row in rows], _ENDS)
    return (
        states.join(ends, [*LOG_DIR, "coordinator_partition"], "inner").where("offset < certain_to").drop("certain_to")
    )


def _place(row: Row) -> tuple[str, int]:
    return row["cluster"], row["coordinator_partition"]


def _records(states: DataFrame, times: DataFrame, wanted: list[Row]) -> DataFrame:
    found = (
        states.where("problem IS NULL AND transactional_id IS NOT NULL")
        .join(local_frame(states.sparkSession, wanted, _WANTED), [*LOG_DIR, "coordinator_partition"], "inner")
        .where("offset >= from_offset AND offset < to_offset")
        .join(times.selectExpr(*LOG_DIR, f"{instant('as_of')} AS as_of"), [*LOG_DIR], "inner")
    )
    appended, updated = (within_calendar(name) for name in ("append_timestamp", "last_update_timestamp"))
    values = {
        "start_timestamp": instant("start_timestamp"),
        "append_timestamp": f"timestamp_millis(coalesce({appended}, {updated}))",
        "update_lag_ms": f"coalesce({appended}, {updated}) - {updated}",
    }
    return rows_of_table(COORDINATOR_RECORDS, found, values)


def _spans(wanted: list[Row]) -> str:
    """The condition in SQL for rows that lie where something is wanted, or near it."""
    by_partition: dict[int, list[Row]] = {}
    for row in wanted:
        by_partition.setdefault(row["coordinator_partition"], []).append(row)
    # As many literals as there are partitions, whatever the clusters and holes.
    return " OR ".join(
        f"coordinator_partition = {partition} AND offset BETWEEN {min(row['from_offset'] for row in rows)}"
        f" AND {max(row['to_offset'] for row in rows)}"
        for partition, rows in by_partition.items()
    )


def _new_records(store: Store, clusters: list[str], records: DataFrame, spans: str) -> DataFrame:
    # Only where a log lost its end is any of them there.
    news = records.join(store.read(COORDINATOR_RECORDS, clusters).where(spans), [*COORDINATOR_RECORDS.key], "left_anti")
    # Whoever asks for some partitions or ids need not read the files and pages that have others.
    return news.sort("coordinator_partition", "transactional_id", "offset")


def _merge_transactions(store: Store, clusters: list[str], records: DataFrame, started_from: int) -> None:
    """Renew the transactions that some records are of; all of them started at `started_from` (ms) or later."""
    since = f"start_timestamp >= timestamp_millis({started_from})"
    news = of_records(records)
    known = store.read(TRANSACTIONS, clusters).where(since).join(news, [*TRANSACTIONS.key], "left_semi")
    rows = of_table(TRANSACTIONS, combined(news.unionByName(known.drop("ended_by"))))
    store.merge(TRANSACTIONS, as_upserts(rows.sortWithinPartitions("start_timestamp")), clusters, f"target.{since}")


def _wanted(archived: Iterable[WholeRange], parts: list[tuple[WholeRange, Row]]) -> Iterator[Row]:
    """The offsets of each copy that nothing has: not the archive, and no copy before it."""
    there = list(archived)
    for part, row in sorted(parts, key=lambda each: each[0].from_offset - each[0].to_offset):
        agreeing = [each for each in there if each.log == part.log and not differs(each, part)]
        for start, end in _uncovered(part, agreeing):
            place = {name: row[name] for name in (*LOG_DIR, "coordinator_partition", "topic_id")}
            yield place | {"from_offset": start, "to_offset": end}
        there.append(part)


def _uncovered(part: WholeRange, others: Iterable[WholeRange]) -> Iterator[tuple[int, int]]:
    start = part.from_offset
    # What was pruned is not added again.
    for each in sorted(others, key=lambda it: it.known_from):
        if each.to_offset <= start or each.known_from >= part.to_offset:
            continue
        if each.known_from > start:
            yield start, each.known_from
        start = max(start, each.to_offset)
    if start < part.to_offset:
        yield start, part.to_offset


def _part_of_row(row: Row) -> WholeRange | None:
    log = (row["cluster"], row["coordinator_partition"], row["topic_id"])
    return part_of(log, row, row["whole_from"], row["certain_to"], row["written_from"], row["written_to"])


_RANGES = pa.schema(
    [field.with_type(pa.int64()) if field.name in WRITTEN else field for field in arrow_schema(CoordinatorRangeRow)]
)


def _row_of_range(each: WholeRange) -> Row:
    row = asdict(each)
    return row | {"leader_epochs": [epoch._asdict() for epoch in row.pop("epochs")]}
