"""What a run changes in the tables: pure functions of what is there and what was found."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from txnlog.dump_log.dump_text import NOT_PRINTED
from txnlog.tables.layout import ABORT_CANDIDATES, OPEN_TRANSACTIONS, RULES_GENERATION, Table, columns_of
from txnlog.times import LATEST_MS

PARTITION = ("cluster", "topic", "partition")
TRANSACTION = ABORT_CANDIDATES.key

# Columns of `changes` that say what to do with a row.
OPERATION = "_operation"
UPSERT, DELETE = "upsert", "delete"


def instant(milliseconds: Column) -> Column:
    """A column of ms since 1970 as a timestamp; null for what no calendar holds."""
    return F.when(milliseconds.between(0, LATEST_MS), F.timestamp_millis(milliseconds))


def open_transaction_rows(transactions: DataFrame) -> DataFrame:
    """Verdicts as rows of `open_transactions`."""
    cause, commit = F.col("cause"), F.col("committed").isNotNull()

    def evidence(field: str) -> Column:
        of_commit = F.lit("PrepareCommit") if field == "state" else F.col(f"committed.{field}")
        return (
            F.when((cause == "MARKER_LOST_COMMIT") & commit, of_commit)
            .when(cause == "MARKER_LOST_ABORT", F.col(f"listing.prepared.{field}"))
            .otherwise(F.col(f"current.{field}"))
        )

    marker_epoch = F.coalesce("last_marker.coordinator_epoch", "snapshot_coordinator_epoch", F.lit(-1))
    values = transactions.withColumns(
        {
            "owner": F.coalesce("transactional_id", "remembered_id"),
            "coordinator_epoch": marker_epoch,
            "start_time": instant(F.col("first_timestamp")),
            "last_time": instant(F.col("last_timestamp")),
            "activity_time": instant(F.col("last_activity")),
            "as_of_time": instant(F.col("as_of")),
            "copied_until": instant(F.col("copy_to")),
            "since_time": instant(F.col("held_back_since")),
            "last_marker_type": F.nullif(F.col("last_marker.marker_type"), F.lit(NOT_PRINTED)),
            "last_marker_offset": F.col("last_marker.base_offset"),
            "last_marker_epoch": F.col("last_marker.producer_epoch"),
            "last_marker_file": F.col("last_marker.file"),
            "last_marker_position": F.col("last_marker.position"),
            "coordinator_state": F.when(F.col("current.is_tombstone"), F.lit("Tombstone")).otherwise(
                F.col("current.state")
            ),
            "coordinator_state_epoch": F.col("current.producer_epoch"),
            "evidence_state": evidence("state"),
            "evidence_offset": evidence("offset"),
            "evidence_file": evidence("file"),
            "evidence_position": evidence("position"),
            "open_for_ms": F.col("age_ms"),
        }
    )
    renamed = {
        "transactional_id": "owner",
        "start_timestamp": "start_time",
        "last_timestamp": "last_time",
        "last_activity": "activity_time",
        "as_of": "as_of_time",
        "held_back_since": "since_time",
    }
    return values.select(*table_columns(OPEN_TRANSACTIONS, {name: F.col(of) for name, of in renamed.items()}))


def open_transaction_changes(found: DataFrame, existing: DataFrame, covered: DataFrame) -> DataFrame:
    """Rows to upsert, and rows to delete: those that an earlier run over the same dump found and this one does not.

    `covered` has the partitions of this dump with their `as_of`.
    """
    same = [F.col(name) for name in (*TRANSACTION, "as_of")]
    gone = (
        existing.join(covered.select(*PARTITION, "as_of"), [*PARTITION, "as_of"], "left_semi")
        .join(found.select(*same), [*TRANSACTION, "as_of"], "left_anti")
        .withColumn(OPERATION, F.lit(DELETE))
    )
    return new_or_different(found, existing).withColumn(OPERATION, F.lit(UPSERT)).unionByName(gone)


def new_or_different(found: DataFrame, existing: DataFrame) -> DataFrame:
    """The rows of `found` that are not in `existing` to the letter."""
    return found.exceptAll(existing.select(found.columns))


def candidate_changes(
    found: DataFrame, existing: DataFrame, covered: DataFrame, later: DataFrame, contradicted: DataFrame
) -> DataFrame:
    """Rows of `abort_candidates` to upsert.

    `found` are rows of `open_transactions`; `existing` those of `abort_candidates`. `covered` has one row per
    partition of the dump: as_of, topic_id, first_base_offset, log_end_offset, damaged_to, gap_to, snapshot_offset,
    is_cut. `later` has the latest as-of (`later_as_of`) that any run saw of a partition.
    `contradicted`: keys of those of `found` against whose abort something speaks, whatever else is lacking.

    A candidate is resolved by a dump that shows its partition whole behind its start and no longer shows it open, by a
    verdict other than ABORT or UNDETERMINED, and by an UNDETERMINED that is in `contradicted` or is of
    another first batch or of more batches; never by a dump that is older or that covers less.
    """
    before = existing.select(*TRANSACTION, F.col("as_of").alias("seen_as_of"), "detected_at", "resolved_at")
    current = found.where("action = 'ABORT'").join(before, [*TRANSACTION], "left").join(later, [*PARTITION], "left")
    is_news = F.expr(
        "if(seen_as_of IS NULL, coalesce(as_of >= later_as_of, true),"
        " as_of >= seen_as_of AND coalesce(as_of > resolved_at, true))"
    )
    detected = F.least(F.coalesce("detected_at", "as_of"), "as_of")
    confirmed = (
        current.where(is_news)
        .withColumn("status", F.lit("OPEN"))
        .withColumn("judged_by", F.lit(RULES_GENERATION))
        .withColumn("detected_at", detected)
        .withColumn("resolution", F.lit(None).cast("string"))
        .withColumn("resolved_at", F.lit(None).cast("timestamp"))
        .select(*table_columns(ABORT_CANDIDATES, {}))
    )
    open_ones = existing.where("status = 'OPEN'")
    resolved = _resolved(open_ones, found, covered, contradicted).select(*table_columns(ABORT_CANDIDATES, {}))
    return new_or_different(confirmed.unionByName(resolved), existing).withColumn(OPERATION, F.lit(UPSERT))


def _resolved(candidates: DataFrame, found: DataFrame, covered: DataFrame, contradicted: DataFrame) -> DataFrame:
    against = contradicted.select(*TRANSACTION, F.lit(True).alias("is_contradicted"))
    verdicts = found.join(against, [*TRANSACTION], "left").select(
        *TRANSACTION,
        F.col("action").alias("new_action"),
        F.col("cause").alias("new_cause"),
        F.struct("batches", "bytes").alias("new_size"),
        F.col("first_batch_crc").alias("new_crc"),
        "is_contradicted",
    )
    seen = covered.select(
        *PARTITION,
        F.col("as_of").alias("new_as_of"),
        F.col("topic_id").alias("new_topic_id"),
        F.expr("NOT is_cut AND log_end_offset IS NOT NULL").alias("has_end"),
        F.col("log_end_offset").alias("new_log_end_offset"),
        "first_base_offset",
        "damaged_to",
        "gap_to",
        "snapshot_offset",
    )
    recreated = F.coalesce(F.col("topic_id") != F.col("new_topic_id"), F.lit(False))
    shown_whole = F.coalesce(
        F.expr(
            "has_end AND new_log_end_offset > start_offset AND coalesce(damaged_to, 0) <= start_offset"
            " AND coalesce(gap_to, 0) <= start_offset"
            " AND (first_base_offset <= start_offset OR snapshot_offset IS NOT NULL)"
        ),
        F.lit(False),
    )
    resolution = (
        F.when(recreated, F.lit("the topic was deleted and created anew"))
        .when(F.col("new_action").isNull() & shown_whole, F.lit("no longer open"))
        .when(
            F.col("new_action").isNotNull() & ~F.col("new_action").isin("ABORT", "UNDETERMINED"),
            F.concat(F.lit("withdrawn: now "), F.col("new_cause"), F.lit(", "), F.col("new_action")),
        )
        .when(
            (F.col("new_action") == "UNDETERMINED") & (F.col("new_crc") != F.col("first_batch_crc")),
            F.concat(
                F.lit("withdrawn: another transaction starts there, "), F.col("new_cause"), F.lit(", UNDETERMINED")
            ),
        )
        .when(
            F.expr("new_action = 'UNDETERMINED' AND is_contradicted"),
            F.concat(F.lit("withdrawn: something speaks against it, "), F.col("new_cause"), F.lit(", UNDETERMINED")),
        )
        # The proofs of a candidate are of the batches that it was judged by.
        .when(
            (F.col("new_action") == "UNDETERMINED") & (F.col("new_size") != F.struct("batches", "bytes")),
            F.concat(F.lit("withdrawn: written to since, now "), F.col("new_cause"), F.lit(", UNDETERMINED")),
        )
    )
    return (
        candidates.join(seen, [*PARTITION], "inner")
        .where("new_as_of >= as_of")
        .join(verdicts, [*TRANSACTION], "left")
        .withColumn("resolution", resolution)
        .where("resolution IS NOT NULL")
        .withColumn("status", F.lit("RESOLVED"))
        .withColumn("resolved_at", F.col("new_as_of"))
    )


def table_columns(table: Table, values: Mapping[str, Column]) -> list[Column]:
    """Exactly the table's columns, in its order and of its types; `values` has those that are not there by name."""
    return [
        values.get(field.name, F.col(field.name)).cast(field.wire.ddl).alias(field.name) for field in columns_of(table)
    ]
