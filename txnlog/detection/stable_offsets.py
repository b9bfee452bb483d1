"""Where partitions end for consumers: log end offset and last stable offset, and what is aborted before that."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.keys import COPY, PARTITION


def partition_ends(copies: DataFrame, opened: DataFrame, sums: DataFrame, aborted: DataFrame) -> DataFrame:
    """Of each partition of the `copies` where it ends, and where its `opened` transactions hold back who reads it.

    `last_stable_offset` is the log end offset where nothing is open. `data_to`: after this offset and before the last
    stable offset there are only control batches; null if unknown. `aborted_from`: the batch at `data_to` is within an
    aborted transaction, and from there on one aborted transaction follows the other. `topic_id` by the dump.
    """
    stuck = summed(
        opened, PARTITION, "min(last_stable_offset) AS held_at", "min_by(producer_id, start_offset) AS held_by"
    )
    known = copies.selectExpr(*COPY, "log_end_offset", "topic_id").join(stuck, [*PARTITION], "left")
    held = known.where("held_at IS NOT NULL").selectExpr(*COPY, "held_at", "held_by AS producer_id")
    before = (
        sums.where("fact = 'open_data'")
        .join(held, [*COPY, "producer_id"], "inner")
        .where("start_offset = held_at")
        .selectExpr(*COPY, "coalesce(last_data_offset_before, file_start - 1) AS data_to")
    )
    ends = known.join(before, [*COPY], "left")
    return ends.join(_aborted_before(ends, aborted), [*COPY], "left").selectExpr(
        *PARTITION,
        "topic_id",
        "log_end_offset",
        "coalesce(held_at, log_end_offset) AS last_stable_offset",
        "held_at IS NOT NULL AS is_held",
        "data_to",
        "aborted_from",
    )


def _aborted_before(ends: DataFrame, aborted: DataFrame) -> DataFrame:
    """`aborted_from` of the copies whose `data_to` is within an `aborted` transaction."""
    places = ends.where("data_to IS NOT NULL").selectExpr(*COPY, "data_to")
    # One that begins where those before it have ended, or earlier, goes on with them.
    in_turn = f"PARTITION BY {', '.join(COPY)} ORDER BY first_offset, last_offset"
    ended = f"max(last_offset) OVER ({in_turn} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ended"
    return summed(
        aborted.join(places, [*COPY], "inner").where("first_offset <= data_to").selectExpr("*", ended),
        COPY,
        "max(if(coalesce(first_offset <= ended + 1, false), NULL, first_offset)) AS began",
        "max(last_offset) AS ended",
        "max(data_to) AS last_data",
    ).selectExpr(*COPY, "if(ended >= last_data, began, NULL) AS aborted_from")
