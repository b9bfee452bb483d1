"""Records of coordinators that other dumps showed, beside those that the copies of a dump have."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.coordinator_copies import CONTENT, OF_COPY
from txnlog.detection.coordinator_records import ID, PLACE, within_calendars
from txnlog.detection.replay import KEY

# The broker and log directory of records that an earlier dump showed.
ARCHIVE = "(archive)"


def archived_states(records: DataFrame, copies: DataFrame, archived: DataFrame) -> DataFrame:
    """Those of some archived records that no copy has whole; as `recorded_states`."""
    stretch = (
        copies.where("is_chosen")
        .selectExpr(*PLACE, "history_from")
        .join(archived, [*PLACE], "inner")
        .where("archived_from < history_from")
        .selectExpr(
            *PLACE,
            "archived_topic_id AS topic_id",
            "archived_from AS from_offset",
            "history_from AS to_offset",
        )
    )
    return archived_within(records, stretch, *PLACE)


def with_later(transactions: DataFrame, records: DataFrame | None, copies: DataFrame) -> DataFrame:
    """Add `later_offset`: where the first archived record of its id is beyond the end of the believed copy; or null.

    `copies` are those of `coordinator_copies`.
    """
    if records is None:
        return transactions.selectExpr("*", "CAST(NULL AS bigint) AS later_offset")
    ends = copies.where("is_chosen").selectExpr(*PLACE, "log_end_offset AS copy_end", "topic_id AS copied_topic_id")
    beyond = records.join(ends, [*PLACE], "inner").where(
        "offset >= copy_end AND coalesce(topic_id = copied_topic_id, true)"
    )
    return transactions.join(summed(beyond, ID, "min(offset) AS later_offset"), [*ID], "left")


def with_commits_elsewhere(transactions: DataFrame, records: DataFrame | None, history: DataFrame) -> DataFrame:
    """Add `commits_elsewhere`: epoch and time (ms) of the commits of its producer id that list the partition, by those
    of the archive's records that are no part of its `history`.
    """
    if records is None:
        none = "CAST(NULL AS array<struct<epoch: smallint, timestamp: bigint>>) AS commits_elsewhere"
        return transactions.selectExpr("*", none)
    # Of a dump with millions of records only these few are to be sorted.
    producers = transactions.select("cluster", "producer_id")
    archived, known = (
        each.where("state = 'PrepareCommit'").join(producers, ["cluster", "producer_id"], "left_semi")
        for each in (records, history)
    )
    # Logs that went other ways may have the same offset and leader epoch.
    of_partitions = (
        archived.selectExpr("*", f"{CONTENT} AS content")
        .join(known.selectExpr(*PLACE, "offset", f"{CONTENT} AS content"), [*PLACE, "offset", "content"], "left_anti")
        .selectExpr("cluster", "producer_id", "producer_epoch", "last_update_timestamp", "inline(topic_partitions)")
    )
    commits = "collect_list(struct(producer_epoch AS epoch, last_update_timestamp AS timestamp)) AS commits_elsewhere"
    return transactions.join(summed(of_partitions, KEY, commits), [*KEY], "left")


def archived_within(records: DataFrame, stretches: DataFrame, *by: str) -> DataFrame:
    """Those of some archived records that lie in the stretch with the same `by` and topic id; as `recorded_states`.

    `stretches` have columns `by` and `topic_id`, and from which offset to which (excluded): `from_offset`, `to_offset`.
    """
    return (
        records.join(stretches, [*by, "topic_id"], "inner")
        .where("offset >= from_offset AND offset < to_offset")
        .selectExpr("* EXCEPT (from_offset, to_offset, topic_id)", *(f"'{ARCHIVE}' AS {name}" for name in OF_COPY))
        .transform(within_calendars)
    )
