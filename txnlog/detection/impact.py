"""What open transactions hold back: the last stable offset is the start of the first one."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.keys import COPY, PARTITION

# A place of which it is known what lies before it: where open data starts, a named offset, or the start of a file.
_PLACE = "struct(coalesce(start_offset, file_start), file_start)"
_BEFORE = "struct(file_start, coalesce(records_before, 0) AS records_before, coalesce(bytes_before, 0) AS bytes_before)"


def held_back(transactions: DataFrame, sums: DataFrame, copies: DataFrame) -> DataFrame:
    """One row per partition with open transactions: its last stable offset, and what lies after it.

    `held_back_offsets`, `held_back_records` and `held_back_bytes` count from the last stable offset to the log end;
    records left by compaction are fewer than the offsets.
    """
    first = summed(
        transactions,
        PARTITION,
        "min(start_offset) AS first_start_offset",
        "min_by(coalesce(last_activity, first_timestamp), start_offset) AS held_back_since",
    )
    stuck = first.join(
        copies.selectExpr(*COPY, "log_start_offset", "log_end_offset"), [*PARTITION], "inner"
    ).selectExpr("*", "greatest(first_start_offset, log_start_offset) AS last_stable_offset")
    of_stuck = sums.where("fact <> 'marker'").join(stuck.selectExpr(*COPY, "last_stable_offset"), [*COPY], "inner")
    begins = summed(
        of_stuck.where("coalesce(start_offset, file_start) >= last_stable_offset"),
        PARTITION,
        f"min_by({_BEFORE}, {_PLACE}) AS begin",
    )
    after = summed(
        of_stuck.where("fact = 'sums'").join(begins, [*PARTITION], "inner").where("file_start >= begin.file_start"),
        PARTITION,
        "sum(records) - any_value(begin.records_before) AS records_after",
        "sum(size_in_bytes) - any_value(begin.bytes_before) AS bytes_after",
    )
    return stuck.join(after, [*PARTITION], "left").selectExpr(
        *PARTITION,
        "last_stable_offset",
        "log_end_offset - last_stable_offset AS held_back_offsets",
        "coalesce(records_after, 0) AS held_back_records",
        "coalesce(bytes_after, 0) AS held_back_bytes",
        "held_back_since",
    )
