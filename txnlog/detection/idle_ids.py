"""Ids that did nothing while records of others were compacted away: for them the archive's history has no gap.

The cleaner takes a record of an id only where a later one of it follows (`LogCleaner`). So if the last record that an
earlier range has of an id is its last one in the log still, there was none in between. This needs a listing, as a copy
that is made while the cleaner swaps segments may lack the later record and have the earlier one
(`UnifiedLog.replaceSegments`). And it needs that less than a day has passed: a broker that was away while a tombstone
came and went keeps what that had removed (delete.retention.ms). No other copy may have forgotten the record, or have a
later one.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.archived_records import archived_within
from txnlog.detection.coordinator_copies import CONTENT, OF_COPY
from txnlog.detection.coordinator_records import PLACE, within_calendars

# The default of delete.retention.ms. An id gets its tombstone after transactional.id.expiration.ms, by default 7 days.
_TOMBSTONES_STAY_MS = 86_400_000
_OF_ID = (*PLACE, "transactional_id")
_LAST = f"max_by(struct(offset, coordinator_epoch, {CONTENT} AS content), offset) AS last"


def idle_ids(
    records: DataFrame,
    states: DataFrame,
    coverage: DataFrame,
    archived: DataFrame,
    copies: DataFrame,
    others: DataFrame,
) -> DataFrame:
    """Ids of which the records `states` of the dump have none after the last one that an earlier range has.

    `records` and `archived` are from `Archive.records` and `Archive.reaching`. `idle_from_offset` and `idle_from` (ms):
    every record of the id from there on is in the range or in the dump; `idle_from_epoch` is its leader epoch, and
    `last` the one that both have. In each other raw copy that reaches beyond it (`copies` and `others` are from
    `coordinator_copies` and `elsewhere`) it is the last one, too: a cleaner takes it with the tombstone that followed.
    No range has a later one.
    """
    earlier = archived.selectExpr(*PLACE, "archived_topic_id AS topic_id", "inline(earlier)")
    of_earlier = records.join(earlier, [*PLACE, "topic_id"], "inner").where(
        "offset >= from_offset AND offset < to_offset"
    )
    by = (*_OF_ID, "topic_id", "from_offset", "written_from", "written_to", "first_epoch")
    before = summed(of_earlier.transform(within_calendars), by, _LAST)
    listed = coverage.where("are_listed").selectExpr(*PLACE, "coordinator_copy_ended")
    still_last = (
        before.join(summed(states, _OF_ID, _LAST), [*_OF_ID, "last"], "inner")
        .join(listed, [*PLACE], "inner")
        .where(f"coordinator_copy_ended - written_to < {_TOMBSTONES_STAY_MS}")
        .selectExpr(
            *(*_OF_ID, "topic_id", "last", "from_offset AS idle_from_offset", "written_from AS idle_from"),
            "first_epoch AS idle_from_epoch",
        )
    )
    later = _with_later(still_last, records, copies)
    # Output of kafka-dump-log does not say of which log it is: beside one no id is idle.
    beyond = copies.where("NOT is_chosen").select(*PLACE, *OF_COPY, "log_end_offset")
    lacking = (
        still_last.selectExpr(*_OF_ID, "last.offset AS offset")
        .join(beyond, [*PLACE], "inner")
        .where("log_end_offset > offset")
        .join(summed(others, (*_OF_ID, *OF_COPY), "max(offset) AS offset"), [*_OF_ID, *OF_COPY, "offset"], "left_anti")
    )
    return still_last.join(lacking, [*_OF_ID], "left_anti").join(later, [*_OF_ID], "left_anti")


def _with_later(still_last: DataFrame, records: DataFrame, copies: DataFrame) -> DataFrame:
    """Those of which the archive has a later record, below the end of the believed copy.

    A log that lost its end in an unclean election may have lost it without a trace.
    """
    ends = copies.where("is_chosen").select(*PLACE, "log_end_offset")
    return (
        still_last.join(records.selectExpr(*_OF_ID, "topic_id", "offset AS later"), [*_OF_ID, "topic_id"], "inner")
        .join(ends, [*PLACE], "inner")
        .where("later > last.offset AND later < log_end_offset")
    )


def idle_states(records: DataFrame, states: DataFrame, idle: DataFrame) -> DataFrame:
    """The records that the archive alone has of `idle_ids`, as `recorded_states` of `coordinator_copies`."""
    stretches = idle.selectExpr(*_OF_ID, "topic_id", "idle_from_offset AS from_offset", "last.offset AS to_offset")
    found = archived_within(records, stretches, *_OF_ID)
    return found.join(states.select(*PLACE, "offset"), [*PLACE, "offset"], "left_anti")


def with_idle(transactions: DataFrame, idle: DataFrame | None) -> DataFrame:
    """Let the history of an idle id begin where the archive's earlier range does (`whole_from` and the like)."""
    if idle is None:
        return transactions
    is_earlier = "coalesce(idle_from_offset < whole_from_offset AND whole_from IS NOT NULL, false)"
    places = "from", "from_offset", "from_epoch"
    return transactions.join(idle.drop("topic_id", "last"), [*_OF_ID], "left").selectExpr(
        f"* EXCEPT ({', '.join(f'whole_{each}, idle_{each}' for each in places)})",
        *(f"if({is_earlier}, idle_{each}, whole_{each}) AS whole_{each}" for each in places),
    )
