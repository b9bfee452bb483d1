"""What coordinators said in earlier dumps: kept in two tables, and used as history where compaction has removed it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from txnlog.detection.coordinator_records import ID
from txnlog.detection.pipeline import Detection, Facts
from txnlog.detection.whole_ranges import EpochStart, SeenEpoch, WholeRange, contradicts, differs, joined, reaching_back
from txnlog.keys import LOG_DIR
from txnlog.sources.rows import TransactionStateRow
from txnlog.spark.schema import arrow_schema, spark_schema
from txnlog.spark.settle import local_frame
from txnlog.tables.archive_rows import CoordinatorRangeRow
from txnlog.tables.changes import instant, rows_of_table
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_RECORDS
from txnlog.tables.store import Store

Row = dict[str, Any]
_TIMES = ("append_timestamp", "last_update_timestamp", "start_timestamp")
_WRITTEN = ("written_from", "written_to")
_PRODUCER_IDS = "explode(array(producer_id, previous_producer_id, next_producer_id)) AS producer_id"
_REACHING = pa.schema(
    [
        ("cluster", pa.string()),
        ("coordinator_partition", pa.int32()),
        ("archived_topic_id", pa.string()),
        ("archived_from", pa.int64()),
        ("archived_since", pa.int64()),
        ("archived_epoch", pa.int32()),
        ("archive_differs", pa.bool_()),
    ]
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


class StoredArchive:
    """The archive of some clusters (`txnlog.detection.pipeline.Archive`)."""

    def __init__(self, store: Store, clusters: list[str]) -> None:
        self._store, self._clusters = store, clusters
        self.ranges = _stored_ranges(store, clusters)

    def reaching(self, copies: pa.Table) -> DataFrame:
        """How far the archive makes the history whole of which the dump has `coordinator_copies`."""
        places: dict[tuple[str, int], list[Row]] = {}
        for row in copies.to_pylist():
            places.setdefault((row["cluster"], row["coordinator_partition"]), []).append(row)
        rows = [row for of_place in places.values() for row in self._of_place(of_place)]
        return local_frame(self._store.spark, rows, _REACHING)

    def _of_place(self, copies: list[Row]) -> Iterator[Row]:
        chosen = next((row for row in copies if row["is_chosen"]), None)
        if chosen is None or chosen["topic_id"] is None:
            return
        log = (chosen["cluster"], chosen["coordinator_partition"], chosen["topic_id"])
        of_log = [each for each in self.ranges if each.log == log]
        seen = [epoch for row in copies if not row["is_text"] for epoch in _seen(row)]
        has_lost = any(contradicts(each, epoch) for each in of_log for epoch in seen)
        row = dict.fromkeys(_REACHING.names) | dict(zip(_REACHING.names, log, strict=False))
        row["archive_differs"] = has_lost or any(differs(one, other) for one in of_log for other in of_log)
        own = _part(log, chosen, chosen["own_from"], chosen["log_end_offset"])
        if own is not None:
            # The copy that makes the history longer may itself reach to where the archive ends. Of no other copy are
            # records taken.
            others = (
                _part(log, each, each["whole_from"], each["certain_to"])
                for each in copies
                if _is(each, chosen["other"])
            )
            history = reaching_back(own, [*of_log, *(each for each in others if each)])
            row |= {
                "archived_from": history.from_offset,
                "archived_since": history.written_from,
                "archived_epoch": history.epochs[0].epoch,
            }
        yield row

    def records(self, transactions: DataFrame, states: DataFrame) -> DataFrame:
        """All records of the ids that own a producer id of some open transactions, by the archive or by `states`."""
        archived = self._store.read(COORDINATOR_RECORDS, self._clusters)
        ids = (
            archived.selectExpr(*ID, _PRODUCER_IDS)
            .unionByName(states.selectExpr(*ID, _PRODUCER_IDS))
            .join(transactions.selectExpr("cluster", "producer_id"), ["cluster", "producer_id"], "left_semi")
            .select(*ID)
            .distinct()
        )
        names = [name for name in spark_schema(TransactionStateRow).names if name not in LOG_DIR[1:]]
        return (
            archived.join(ids, [*ID], "left_semi")
            .selectExpr(
                f"* EXCEPT ({', '.join(_TIMES)}, file)",
                *(f"unix_millis({name}) AS {name}" for name in _TIMES),
                "concat(file, ' of the dump of ', as_of) AS file",
                "CAST(NULL AS string) AS problem",
            )
            .select(*names, "topic_id")
        )


def _stored_ranges(store: Store, clusters: list[str]) -> list[WholeRange]:
    if store.is_new(COORDINATOR_RANGES):
        return []
    times = (f"unix_millis({name}) AS {name}" for name in _WRITTEN)
    ranges = store.read(COORDINATOR_RANGES, clusters).selectExpr(f"* EXCEPT ({', '.join(_WRITTEN)})", *times)
    return [_range_of_row(row) for row in ranges.toArrow().to_pylist()]


def keep_records(store: Store, clusters: list[str], facts: Facts, detection: Detection) -> None:
    """Add what the dump's copies of coordinator partitions show whole, as far as the archive does not have it.

    Another job may have added to it since this one read it: it is read once more, as this job is the only writer now.

    Records first: a job that is killed in between leaves records without a range, which prove nothing and are not added
    twice.
    """
    parts = [(each, row) for row in detection.whole_parts.to_pylist() if (each := _part_of_row(row)) is not None]
    archived = _stored_ranges(store, clusters)
    wanted = list(_wanted(archived, parts))
    if wanted:
        store.append(COORDINATOR_RECORDS, _new_records(store, clusters, wanted, facts, detection))
    ranges = joined([*archived, *(each for each, _ in parts)])
    if set(ranges) != set(archived):
        rows = local_frame(store.spark, list(map(_row_of_range, ranges)), _RANGES)
        values = {name: instant(name) for name in _WRITTEN}
        store.overwrite(COORDINATOR_RANGES, rows_of_table(COORDINATOR_RANGES, rows, values), clusters)


def _new_records(store: Store, clusters: list[str], wanted: list[Row], facts: Facts, detection: Detection) -> DataFrame:
    times = detection.times.selectExpr(*LOG_DIR, f"{instant('as_of')} AS as_of")
    found = (
        facts.transaction_states.where("problem IS NULL AND transactional_id IS NOT NULL")
        .join(local_frame(store.spark, wanted, _WANTED), [*LOG_DIR, "coordinator_partition"], "inner")
        .where("offset >= from_offset AND offset < to_offset")
        .join(times, [*LOG_DIR], "inner")
    )
    rows = rows_of_table(COORDINATOR_RECORDS, found, {name: instant(name) for name in _TIMES})
    # Only where a job was killed before, or a log lost its end, is any of them there.
    there = store.read(COORDINATOR_RECORDS, clusters).where(f"offset >= {min(row['from_offset'] for row in wanted)}")
    news = rows.join(there, [*COORDINATOR_RECORDS.key], "left_anti")
    # Whoever asks for some offsets need not read the files that have others.
    return news.sort("coordinator_partition", "offset")


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
    for each in sorted(others, key=lambda it: it.from_offset):
        if each.to_offset <= start or each.from_offset >= part.to_offset:
            continue
        if each.from_offset > start:
            yield start, each.from_offset
        start = max(start, each.to_offset)
    if start < part.to_offset:
        yield start, part.to_offset


def _seen(copy: Row) -> list[SeenEpoch]:
    return [SeenEpoch(**epoch) for epoch in copy["epochs"] or ()]


def _is(copy: Row, other: Row | None) -> bool:
    return other is not None and (copy["broker"], copy["log_dir"]) == (other["broker"], other["log_dir"])


def _part(
    log: tuple[str, int, str],
    copy: Row,
    start: int | None,
    end: int | None,
    written_from: int = 0,
    written_to: int = 0,
) -> WholeRange | None:
    """The range of a copy, whose epochs are those of its records; None where it has none."""
    of_range = [] if start is None or end is None else [e for e in _seen(copy) if e.last_offset >= start]
    if start is None or end is None or start >= end or not of_range:
        return None
    starts = sorted(
        (EpochStart(each.epoch, max(each.first_offset, start)) for each in of_range if each.first_offset < end),
        key=lambda each: each.start_offset,
    )
    # No record is at its start: what is said of it cannot be so.
    if not starts or starts[0].start_offset != start:
        return None
    return WholeRange(*log, start, end, written_from, written_to, tuple(starts))


def _part_of_row(row: Row) -> WholeRange | None:
    log = (row["cluster"], row["coordinator_partition"], row["topic_id"])
    return _part(log, row, row["whole_from"], row["certain_to"], row["written_from"], row["written_to"])


_RANGES = pa.schema(
    [field.with_type(pa.int64()) if field.name in _WRITTEN else field for field in arrow_schema(CoordinatorRangeRow)]
)


def _range_of_row(row: Row) -> WholeRange:
    epochs = tuple(EpochStart(**each) for each in row.pop("leader_epochs"))
    return WholeRange(**row, epochs=epochs)


def _row_of_range(each: WholeRange) -> Row:
    row = asdict(each)
    return row | {"leader_epochs": [epoch._asdict() for epoch in row.pop("epochs")]}
