"""What a run writes: verdicts, states, the inventory and the run itself."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime

from pyspark.sql import DataFrame

from txnlog.config import DetectOptions
from txnlog.detection.coordinator_records import producer_ids
from txnlog.detection.inputs import Facts
from txnlog.detection.partition_copies import IS_CUT
from txnlog.detection.pipeline import Detection
from txnlog.job.full_tables import write_full
from txnlog.job.group_tables import write_groups
from txnlog.job.kept_records import keep_records
from txnlog.job.latest_dump import later_copies, latest_copies, with_states, write_snapshots
from txnlog.job.proved_commits import kept_in_later_dumps
from txnlog.job.run_summary import complete, is_repeated, latest_runs, of_clusters
from txnlog.job.steps import Steps
from txnlog.job.stored_remedies import with_remedies
from txnlog.keys import COPY, LOG_DIR
from txnlog.spark.materialize import local_frame, materialized_together
from txnlog.spark.schema import arrow_schema
from txnlog.tables.changes import (
    as_upserts,
    candidate_changes,
    instant,
    new_or_different,
    open_transaction_changes,
    open_transaction_rows,
    rows_of_table,
)
from txnlog.tables.layout import (
    ABORT_CANDIDATES,
    DUMP_FILES,
    OPEN_TRANSACTIONS,
    RUNS,
    TRANSACTIONAL_IDS,
)
from txnlog.tables.run_rows import RunRow
from txnlog.tables.store import Store


def write_results(
    store: Store,
    options: DetectOptions,
    clusters: list[str],
    facts: Facts,
    detection: Detection,
    started: datetime,
    steps: Steps,
) -> list[dict[str, object]]:
    """Write all tables of a run; the rows of `runs`, one a cluster, as dictionaries."""
    with steps.step("write the verdicts"):
        store.await_tables()
        # Of all other runs no file is read, however many there are.
        since, during = _since(detection), _during(detection)
        known = store.read(OPEN_TRANSACTIONS, clusters).where(since)
        later, existing = later_copies(store, clusters, since), known.where(during)
        found, covered = open_transaction_rows(detection.transactions), _covered(detection)
        candidates = store.read(ABORT_CANDIDATES, clusters)
        contradicted = detection.transactions.where("is_contradicted")
        # All that is small and decides what is written, by one query.
        transactions, to_abort, dated, runs, latest, states = materialized_together(
            open_transaction_changes(found, existing, covered).unionByName(
                as_upserts(kept_in_later_dumps(found, known))
            ),
            candidate_changes(found, candidates, covered, later, contradicted),
            latest_copies(detection, later),
            of_clusters(facts, detection, found),
            latest_runs(store, clusters),
            with_states(store, clusters),
        )
        remedied = with_remedies(transactions, detection.judged)
        store.merge(OPEN_TRANSACTIONS, remedied, clusters, f"target.{since}")
        store.merge(ABORT_CANDIDATES, to_abort, clusters)
    # After the verdicts: states are of the latest dump only, so that a disk that fills up leaves the earlier ones.
    # Most of a write is waiting, and these tables do not wait for one another.
    with steps.step("write states and inventory"), ThreadPoolExecutor(2) as beside:
        writes: list[Future[object]] = [beside.submit(_write_owners, store, clusters, facts.transaction_states)]
        if dated.rows.num_rows and not (states.rows.num_rows and is_repeated(runs.rows, latest.rows, options)):
            writes.append(beside.submit(write_snapshots, store, clusters, facts, detection, dated.frame))
            writes.append(beside.submit(write_groups, store, clusters, facts, detection, dated, found))
        shown = (facts.transaction_states, detection.times, detection.whole_parts)
        writes.append(beside.submit(keep_records, store, clusters, *shown))
        _write_dump_files(store, clusters, facts.dump_files, detection, during)
        for write in writes:
            write.result()
    write_full(store, clusters, facts, detection, since, steps)
    with steps.step("write the run"):
        rows = complete(runs.rows, options, started, steps)
        return _written(store, rows)


def _covered(detection: Detection) -> DataFrame:
    """The partitions of the dump, as `open_transaction_changes` and `candidate_changes` take them."""
    return detection.copies.join(detection.times, [*LOG_DIR], "inner").selectExpr(
        "* EXCEPT (as_of)", f"{instant('as_of')} AS as_of", f"{IS_CUT} AS is_cut"
    )


def _since(detection: Detection) -> str:
    """The condition, of rows with an `as_of`, for what is not older than all of the dump."""
    return f"as_of >= timestamp_millis({detection.as_ofs[0]})" if detection.as_ofs else "true"


def _during(detection: Detection) -> str:
    """The condition for what may be of the dump."""
    if not detection.as_ofs:
        return "as_of IS NOT NULL"
    return f"as_of BETWEEN timestamp_millis({detection.as_ofs[0]}) AND timestamp_millis({detection.as_ofs[-1]})"


def _write_dump_files(store: Store, clusters: list[str], files: DataFrame, detection: Detection, during: str) -> None:
    chosen = detection.copies.selectExpr(*COPY, "chosen_because", "true AS copy_chosen")
    times = detection.times.selectExpr(*LOG_DIR, f"{instant('as_of')} AS as_of")
    found = files.join(times, [*LOG_DIR], "inner").join(chosen, [*COPY], "left")
    rows = rows_of_table(DUMP_FILES, found, {"copy_chosen": "coalesce(copy_chosen, false)"})
    changes = new_or_different(DUMP_FILES, rows, store.read(DUMP_FILES, clusters).where(during))
    store.merge(DUMP_FILES, as_upserts(changes), clusters, f"target.{during}")


def _write_owners(store: Store, clusters: list[str], states: DataFrame) -> None:
    known = rows_of_table(TRANSACTIONAL_IDS, producer_ids(states), {"known_since": instant("known_since")})
    news = known.join(store.read(TRANSACTIONAL_IDS, clusters), list(TRANSACTIONAL_IDS.key), "left_anti")
    store.merge(TRANSACTIONAL_IDS, as_upserts(news), clusters)


def _written(store: Store, rows: list[dict[str, object]]) -> list[dict[str, object]]:
    # Arrow takes a map as pairs.
    pairs = [row | {"step_seconds": list(dict(row["step_seconds"]).items())} for row in rows]  # type: ignore[call-overload]
    store.append(RUNS, local_frame(store.spark, pairs, arrow_schema(RunRow)))
    return rows
