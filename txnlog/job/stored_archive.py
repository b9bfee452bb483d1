"""What coordinators said in earlier dumps: kept in two tables, and used as history where compaction has removed it."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from txnlog.detection.coordinator_records import ID, PLACE
from txnlog.detection.inputs import Materialized, Reaching
from txnlog.detection.recorded_transactions import as_dumped
from txnlog.detection.whole_ranges import (
    EpochStart,
    SeenEpoch,
    WholeRange,
    contradicts,
    differs,
    is_of_same_time,
    reaching_back,
    records_of,
)
from txnlog.errors import TableError
from txnlog.job.last_shared import Log, Row, rewritten_logs
from txnlog.job.persisting import Persist
from txnlog.job.records_beyond import first_beyond
from txnlog.keys import LOG_DIR
from txnlog.sources.rows import TransactionStateRow
from txnlog.spark.materialize import local_frame, materialized_together
from txnlog.spark.schema import spark_schema
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_RECORDS, literal
from txnlog.tables.store import Store

# Columns of ranges that are ms in a dump.
WRITTEN = ("written_from", "written_to")
_PRODUCER_ID_COLUMNS = ("producer_id", "previous_producer_id", "next_producer_id")
_PRODUCER_IDS = f"explode(array({', '.join(_PRODUCER_ID_COLUMNS)})) AS producer_id"
# To parse a statement with many takes longer than they spare.
MOST_LITERALS = 1000
_OF_EARLIER = ("from_offset", "to_offset", *WRITTEN, "first_epoch")
_REACHING = pa.schema(
    [
        ("cluster", pa.string()),
        ("coordinator_partition", pa.int32()),
        ("archived_topic_id", pa.string()),
        ("archived_from", pa.int64()),
        ("archived_since", pa.int64()),
        ("archived_epoch", pa.int32()),
        ("archive_differs", pa.bool_()),
        ("archived_beyond", pa.int64()),
        ("earlier", pa.list_(pa.struct([(name, pa.int64()) for name in _OF_EARLIER]))),
    ]
)


class StoredArchive:
    """The archive of some clusters (`txnlog.detection.inputs.Archive`). `persist` is for frames that are used often."""

    def __init__(self, store: Store, clusters: list[str], persist: Persist = lambda frame: frame) -> None:
        self._store, self._clusters, self._persist = store, clusters, persist
        of_all = stored_ranges(store, None)
        self.ranges = [each for each in of_all if each.cluster in clusters]
        if self.ranges:
            _check_has_records(store, of_all)

    def check_is_there_still(self) -> None:
        """`TableError` where another job has pruned what verdicts may rest on: none of them is written then."""
        now = stored_ranges(self._store, self._clusters) if self.ranges else []
        if not all(any(_is_within(each, one) for one in now) for each in self.ranges):
            raise TableError(_pruned(self._store))

    def reaching(self, states: DataFrame, copies: pa.Table) -> Reaching:
        """How far the archive makes the history whole of which the dump has `coordinator_copies`, of these records."""
        places: dict[tuple[str, int], list[Row]] = {}
        found = copies.to_pylist()
        for row in found:
            places.setdefault((row["cluster"], row["coordinator_partition"]), []).append(row)
        rewritten = rewritten_logs(self._store, states, found, self.ranges)
        chosen = [row for of_place in places.values() for row in of_place if row["is_chosen"]]
        beyond = first_beyond(self._archived(), chosen, self.ranges)
        rows = [row for of_place in places.values() for row in self._of_place(of_place, rewritten, beyond)]
        frame = local_frame(self._store.spark, rows, _REACHING)
        return Reaching(frame, any(row["earlier"] for row in rows), bool(beyond))

    def _archived(self) -> DataFrame:
        """The records with times in ms, as a dump has them."""
        return as_dumped(self._store.read(COORDINATOR_RECORDS, self._clusters))

    def _of_place(self, copies: list[Row], rewritten: set[Log], beyond: dict[tuple[str, int], int]) -> Iterator[Row]:
        chosen = next((row for row in copies if row["is_chosen"]), None)
        if chosen is None:
            return
        log = (chosen["cluster"], chosen["coordinator_partition"], chosen["topic_id"])
        of_place = [each for each in self.ranges if each.log[:2] == log[:2]]
        # A copy without a topic id may be of any of the logs.
        of_log = [each for each in of_place if log[2] in (None, each.topic_id)]
        seen = [epoch for row in copies if not row["is_text"] for epoch in _seen(row)]
        has_lost = any(each.log in rewritten or any(contradicts(each, epoch) for epoch in seen) for each in of_log)
        of_others = (each for each in of_place if log[2] not in (None, each.topic_id))
        is_restored = any(is_of_same_time(each, chosen["earliest"], chosen["latest"]) for each in of_others)
        differ = any(differs(one, other) for one in of_log for other in of_log if one.log == other.log)
        row = dict.fromkeys(_REACHING.names) | dict(zip(_REACHING.names, log, strict=False))
        row["archived_beyond"] = beyond.get(log[:2])
        row["archive_differs"] = has_lost or is_restored or differ
        own = None if log[2] is None else part_of(log, chosen, chosen["own_from"], chosen["log_end_offset"])
        if own is not None:
            # The copies that make the history longer may themselves reach to where the archive ends. Of no other copy
            # are records taken.
            others = (
                part_of(log, each, each["whole_from"], each["certain_to"])
                for each in copies
                if any(_is(each, other) for other in chosen["others"])
            )
            history = reaching_back(own, [*of_log, *(each for each in others if each)])
            row |= {
                "archived_from": history.from_offset,
                "archived_since": history.written_from,
                "archived_epoch": history.first_epoch,
                "earlier": [
                    {name: getattr(each, name) for name in _OF_EARLIER}
                    for each in of_log
                    if each.to_offset <= history.from_offset and not row["archive_differs"]
                ],
            }
        yield row

    def records(self, transactions: Materialized, states: DataFrame) -> DataFrame:
        """All records of the ids that own a producer id of some open transactions, by the archive or by `states`."""
        found = self._places(transactions, states)
        names = [name for name in spark_schema(TransactionStateRow).names if name not in LOG_DIR[1:]]
        return self._persist(
            self._archived()
            .where(one_of("coordinator_partition", found.rows.column("coordinator_partition")))
            .where(one_of("transactional_id", found.rows.column("transactional_id")))
            .join(found.frame, [*PLACE, "transactional_id"], "left_semi")
            .selectExpr(
                "* EXCEPT (file)",
                "concat(file, ' of the dump of ', as_of) AS file",
                "CAST(NULL AS string) AS problem",
            )
            .select(*names, "topic_id")
        )

    def _places(self, transactions: Materialized, states: DataFrame) -> Materialized:
        """Those ids, and the coordinator partitions in which the archive has them.

        Of the archive only the ids and producer ids are read for it, which as columns are next to nothing: rows are in
        the order of partitions and ids.
        """
        producers = transactions.frame.selectExpr("cluster", "producer_id")
        of_producers = " OR ".join(
            one_of(name, transactions.rows.column("producer_id")) for name in _PRODUCER_ID_COLUMNS
        )
        archived = self._store.read(COORDINATOR_RECORDS, self._clusters)
        owners = (
            archived.where(of_producers)
            .selectExpr(*ID, _PRODUCER_IDS)
            .unionByName(states.selectExpr(*ID, _PRODUCER_IDS))
            .join(producers, ["cluster", "producer_id"], "left_semi")
            .select(*ID)
            .distinct()
        )
        places = archived.select(*PLACE, "transactional_id").distinct().join(owners, [*ID], "left_semi")
        (found,) = materialized_together(places)
        return found


def one_of(column: str, values: pa.ChunkedArray) -> str:
    """A condition in SQL that a column has one of some values, or a weaker one if they are many.

    As literals they tell Delta and Parquet which files and pages need not be read.
    """
    wanted = [literal(each) if isinstance(each, str) else str(each) for each in pc.unique(values).to_pylist()]
    if len(wanted) > MOST_LITERALS:
        return "true"
    return f"{column} IN ({', '.join(wanted)})" if wanted else "false"


def _check_has_records(store: Store, ranges: list[WholeRange]) -> None:
    """All records of the ranges of all clusters are there. `TableError` where there are fewer.

    A commit among those that are missing would be forgotten. Ranges are written after their records, and made
    shorter before those go. Delta counts a table by its log alone, as long as it is asked of the table as a whole.
    """
    missing = records_of(ranges) - store.read(COORDINATOR_RECORDS, None).count()
    if missing > 0 and stored_ranges(store, None) != ranges:
        raise TableError(_pruned(store))
    if missing > 0:
        raise TableError(
            f"{COORDINATOR_RECORDS.name} in {store.root.text} has {missing} records fewer than"
            f" {COORDINATOR_RANGES.name} says: rows were removed by hand. RESTORE the table to its version before that,"
            " or remove both tables; only txnlog prune --keep-history removes old records"
        )


def _pruned(store: Store) -> str:
    return f"{store.root.text}: txnlog prune removed records meanwhile on which verdicts may rest: run it again"


def _is_within(one: WholeRange, other: WholeRange) -> bool:
    return one.log == other.log and other.from_offset <= one.from_offset and one.to_offset <= other.to_offset


def stored_ranges(store: Store, clusters: list[str] | None) -> list[WholeRange]:
    """What `coordinator_ranges` has of some clusters, or of all, in the order of offsets."""
    if store.is_new(COORDINATOR_RANGES):
        return []
    times = (f"unix_millis({name}) AS {name}" for name in WRITTEN)
    ranges = store.read(COORDINATOR_RANGES, clusters).selectExpr(f"* EXCEPT ({', '.join(WRITTEN)})", *times)
    found = [_range_of_row(row) for row in ranges.toArrow().to_pylist()]
    return sorted(found, key=lambda each: (each.log, each.from_offset))


def _seen(copy: Row) -> list[SeenEpoch]:
    return [SeenEpoch(**epoch) for epoch in copy["epochs"] or ()]


def _is(copy: Row, other: Row) -> bool:
    return (copy["broker"], copy["log_dir"]) == (other["broker"], other["log_dir"])


def part_of(
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


def _range_of_row(row: Row) -> WholeRange:
    epochs = tuple(EpochStart(**each) for each in row.pop("leader_epochs"))
    return WholeRange(**row, epochs=epochs)
