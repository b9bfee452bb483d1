"""Records of coordinators that other dumps showed, beside those that the copies of a dump have."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.coordinator_copies import OF_COPY
from txnlog.detection.coordinator_records import ID, PLACE, within_calendars

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
