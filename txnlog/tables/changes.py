"""What a run changes in the tables: pure functions of what is there and what was found."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from txnlog.dump_log.dump_text import NOT_PRINTED
from txnlog.keys import PARTITION, TRANSACTION
from txnlog.spark.materialize import nullable
from txnlog.spark.schema import spark_schema
from txnlog.tables.layout import ABORT_CANDIDATES, OPEN_TRANSACTIONS, RULES_GENERATION, Table, columns_of
from txnlog.times import within_calendar

# Columns of `changes` that say what to do with a row.
OPERATION = "_operation"
UPSERT, DELETE = "upsert", "delete"


def instant(milliseconds: str) -> str:
    """Ms since 1970 as a timestamp, both SQL; null for what no calendar holds."""
    return f"timestamp_millis({within_calendar(milliseconds)})"


def _evidence(field: str, of_current: str | None = None) -> str:
    """A field of the coordinator's record that decided; `of_current`: its name in the id's last one, if another."""
    of_commit = "'PrepareCommit'" if field == "state" else f"committed.{field}"
    return (
        f"CASE WHEN cause = 'MARKER_LOST_COMMIT' AND committed IS NOT NULL THEN {of_commit}"
        f" WHEN cause = 'MARKER_LOST_ABORT' THEN listing.prepared.{field} ELSE current.{of_current or field} END"
    )


# What a column of `open_transactions` is of the detection's columns, where it has not its name.
_OF_DETECTION = {
    "transactional_id": "coalesce(transactional_id, remembered_id)",
    # Rendered of the rows that are written.
    "remedy": "CAST(NULL AS string)",
    "coordinator_epoch": "coalesce(last_marker.coordinator_epoch, snapshot_coordinator_epoch, -1)",
    "start_timestamp": instant("first_timestamp"),
    "last_timestamp": instant("last_timestamp"),
    "last_activity": instant("last_activity"),
    "as_of": instant("as_of"),
    "copied_until": instant("copy_to"),
    "copy_ended": instant("copy_ended"),
    "held_back_since": instant("held_back_since"),
    "open_for_ms": "age_ms",
    "last_marker_type": f"nullif(last_marker.marker_type, '{NOT_PRINTED}')",
    "last_marker_offset": "last_marker.base_offset",
    "last_marker_epoch": "last_marker.producer_epoch",
    "last_marker_timestamp": instant("last_marker.max_timestamp"),
    "last_marker_file": "last_marker.file",
    "last_marker_position": "last_marker.position",
    "coordinator_state": "if(current.is_tombstone, 'Tombstone', current.state)",
    "coordinator_state_epoch": "current.producer_epoch",
    "evidence_state": _evidence("state"),
    "evidence_offset": _evidence("offset"),
    "evidence_timestamp": instant(_evidence("timestamp", "last_update_timestamp")),
    "evidence_file": _evidence("file"),
    "evidence_position": _evidence("position"),
}


def open_transaction_rows(transactions: DataFrame) -> DataFrame:
    """Verdicts as rows of `open_transactions`."""
    return rows_of_table(OPEN_TRANSACTIONS, transactions, _OF_DETECTION)


def open_transaction_changes(found: DataFrame, existing: DataFrame, covered: DataFrame) -> DataFrame:
    """Rows to upsert, and rows to delete: those that an earlier run over the same dump found and this one does not.

    `covered` has the partitions of this dump with their `as_of`.
    """
    gone = (
        existing.join(covered, [*PARTITION, "as_of"], "left_semi")
        .join(found, [*OPEN_TRANSACTIONS.key], "left_anti")
        .selectExpr("*", f"'{DELETE}' AS {OPERATION}")
    )
    return as_upserts(new_or_different(OPEN_TRANSACTIONS, found, existing)).unionByName(gone)


def as_upserts(rows: DataFrame) -> DataFrame:
    """Rows of a table as changes."""
    return rows.selectExpr("*", f"'{UPSERT}' AS {OPERATION}")


def new_or_different(table: Table, found: DataFrame, existing: DataFrame) -> DataFrame:
    """The rows of `found` that are not in `existing` to the letter; both are rows of the table.

    A `remedy` follows from the rest. Rows of older versions lack it: they are different.
    """
    names = [field.name for field in columns_of(table) if field.name != "remedy"]
    has_key = " AND ".join(f"f.{name} = e.{name}" for name in table.key)
    same = " AND ".join(f"f.{name} <=> e.{name}" for name in names if name not in table.key)
    if len(names) < len(columns_of(table)):
        same += " AND e.remedy IS NOT NULL"
    return found.alias("f").join(existing.alias("e"), F.expr(f"{has_key} AND {same}"), "left_anti")


# Columns of a confirmed row of `abort_candidates` that differ from the row of `open_transactions`.
_CONFIRMED = {
    "status": "'OPEN'",
    "judged_by": f"{RULES_GENERATION}",
    "detected_at": "least(coalesce(detected_at, as_of), as_of)",
    "resolution": "CAST(NULL AS string)",
    "resolved_at": "CAST(NULL AS timestamp)",
}
# What tells a transaction from another one at the same offset, of a row that another dump has of it; whether it does.
_FIRST = {"topic_id": "new_topic_id", "first_batch_leader_epoch": "new_leader_epoch", "first_batch_crc": "new_crc"}
SEEN_FIRST = tuple(f"{name} AS {new}" for name, new in _FIRST.items())
IS_ANOTHER = f"coalesce({' OR '.join(f'{name} <> {new}' for name, new in _FIRST.items())}, false)"
# Why a candidate is resolved: null where it is not.
_RESOLUTION = """CASE
    WHEN coalesce(topic_id <> new_topic_id, false) THEN 'the topic was deleted and created anew'
    WHEN new_action IS NULL AND coalesce(
        NOT is_cut AND new_log_end_offset IS NOT NULL AND new_log_end_offset > start_offset
        AND coalesce(damaged_to, 0) <= start_offset
        AND coalesce(gap_to, 0) <= start_offset
        AND (first_base_offset <= start_offset OR snapshot_offset IS NOT NULL), false) THEN 'no longer open'
    WHEN new_action NOT IN ('ABORT', 'UNDETERMINED') THEN concat('withdrawn: now ', new_cause, ', ', new_action)
    WHEN new_action = 'UNDETERMINED' AND new_crc <> first_batch_crc
        THEN concat('withdrawn: another transaction starts there, ', new_cause, ', UNDETERMINED')
    WHEN new_action = 'UNDETERMINED' AND is_contradicted
        THEN concat('withdrawn: something speaks against it, ', new_cause, ', UNDETERMINED')
    -- The proofs of a candidate are of the batches that it was judged by.
    WHEN new_action = 'UNDETERMINED' AND (new_batches <> batches OR new_bytes <> bytes)
        THEN concat('withdrawn: written to since, now ', new_cause, ', UNDETERMINED')
END"""
_RESOLVED = {"status": "'RESOLVED'", "resolution": "why", "resolved_at": "greatest(new_as_of, as_of)"}
# That it was committed holds whenever the dump was taken that proves it.
_IS_DECISIVE = f"new_as_of >= as_of OR (new_action = 'KEEP' AND NOT {IS_ANOTHER})"


def candidate_changes(
    found: DataFrame, existing: DataFrame, covered: DataFrame, later: DataFrame, contradicted: DataFrame
) -> DataFrame:
    """Rows of `abort_candidates` to upsert.

    `found` are rows of `open_transactions`; `existing` those of `abort_candidates`. `covered` has one row per
    partition of the dump: as_of, topic_id, first_base_offset, log_end_offset, damaged_to, gap_to, snapshot_offset,
    is_cut. `later` has the latest as-of (`later_as_of`) that any run saw of a partition.
    `contradicted`: keys of those of `found` against whose abort something speaks, whatever else is lacking.

    A candidate is resolved by a dump that shows its partition whole after its start and no longer shows it open, by a
    verdict other than ABORT or UNDETERMINED, and by an UNDETERMINED that is in `contradicted` or is of
    another first batch or of more batches; never by a dump that covers less, and by one that is older only if that
    proves it committed (KEEP).
    """
    before = existing.selectExpr(*TRANSACTION, "as_of AS seen_as_of", "detected_at", "resolved_at")
    aborts = found.where("action = 'ABORT'")
    current = aborts.join(before, [*TRANSACTION], "left").join(later, [*PARTITION], "left")
    is_news = (
        "if(seen_as_of IS NULL, coalesce(as_of >= later_as_of, true),"
        " as_of >= seen_as_of AND coalesce(as_of > resolved_at, true))"
    )
    confirmed = rows_of_table(ABORT_CANDIDATES, current.where(is_news), _CONFIRMED)
    resolved = _resolved(existing.where("status = 'OPEN'"), found, covered, contradicted)
    changed = confirmed.unionByName(resolved).unionByName(_shown_before(existing, aborts))
    return as_upserts(new_or_different(ABORT_CANDIDATES, changed, existing))


def _shown_before(existing: DataFrame, aborts: DataFrame) -> DataFrame:
    """The candidates that an older dump showed as such before the dump that is known to be the first."""
    shown = aborts.selectExpr(*TRANSACTION, "as_of AS shown_at", *SEEN_FIRST)
    earlier = existing.join(shown, [*TRANSACTION], "inner").where(f"shown_at < detected_at AND NOT {IS_ANOTHER}")
    return rows_of_table(ABORT_CANDIDATES, earlier, {"detected_at": "shown_at"})


def _resolved(candidates: DataFrame, found: DataFrame, covered: DataFrame, contradicted: DataFrame) -> DataFrame:
    against = contradicted.selectExpr(*TRANSACTION, "true AS is_contradicted")
    verdicts = found.join(against, [*TRANSACTION], "left").selectExpr(
        *TRANSACTION,
        "action AS new_action",
        "cause AS new_cause",
        "batches AS new_batches",
        "bytes AS new_bytes",
        "first_batch_crc AS new_crc",
        "first_batch_leader_epoch AS new_leader_epoch",
        "is_contradicted",
    )
    seen = covered.selectExpr(
        *PARTITION,
        "as_of AS new_as_of",
        "topic_id AS new_topic_id",
        "log_end_offset AS new_log_end_offset",
        *("is_cut", "first_base_offset", "damaged_to", "gap_to", "snapshot_offset"),
    )
    resolved = (
        candidates.join(seen, [*PARTITION], "inner")
        .join(verdicts, [*TRANSACTION], "left")
        .where(_IS_DECISIVE)
        .selectExpr("*", f"{_RESOLUTION} AS why")
        .where("why IS NOT NULL")
    )
    return rows_of_table(ABORT_CANDIDATES, resolved, _RESOLVED)


def rows_of_table(table: Table, frame: DataFrame, values: Mapping[str, str]) -> DataFrame:
    """Exactly the table's columns, in its order and of its types; `values` has the SQL of those not there by name."""
    there = frame.columns
    replaced = ", ".join(name for name in there if name in values)
    kept = f"* EXCEPT ({replaced})" if replaced else "*"
    return of_table(table, frame.selectExpr(kept, *(f"{value} AS {name}" for name, value in values.items())))


def of_table(table: Table, rows: DataFrame) -> DataFrame:
    """The columns of the table. What may not be null is Delta's to check, row by row."""
    # `to` would make a column of nulls of one that is missing.
    missing = {field.name for field in columns_of(table)} - set(rows.columns)
    if missing:
        raise ValueError(f"rows of {table.name} without {', '.join(sorted(missing))}")
    return rows.to(nullable(spark_schema(table.row)))
