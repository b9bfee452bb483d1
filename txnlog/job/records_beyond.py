"""What the archive has of a coordinator partition beyond the end of a copy: that copy is of a time before."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.coordinator_records import PLACE, WRITTEN, within_calendars
from txnlog.detection.whole_ranges import WholeRange
from txnlog.job.last_shared import Row
from txnlog.tables.layout import literal


def first_beyond(
    archived: DataFrame, copies: Iterable[Row], ranges: Iterable[WholeRange]
) -> dict[tuple[str, int], int]:
    """By cluster and partition: when the first record beyond the end of a copy was written (ms), where there is one.

    `archived` are all records of the archive, with times in ms; `copies` one of each partition, with the columns of
    `coordinator_copies`. Of a copy whose topic id is not known any range of that partition may be of its log.
    """
    reaching = list(ranges)
    # Literals, so that only the files are read that have them.
    wanted = [
        f"(cluster = {literal(of_log.cluster)} AND coordinator_partition = {of_log.coordinator_partition}"
        f" AND topic_id = {literal(of_log.topic_id)} AND offset >= {each['log_end_offset']})"
        for each in copies
        for of_log in reaching
        if of_log.log[:2] == (each["cluster"], each["coordinator_partition"])
        and of_log.to_offset > each["log_end_offset"]
        and each["topic_id"] in (None, of_log.topic_id)
    ]
    if not wanted:
        return {}
    beyond = archived.where(" OR ".join(wanted)).transform(within_calendars)
    found = summed(beyond, PLACE, f"min({WRITTEN}) AS written")
    return {(row["cluster"], row["coordinator_partition"]): row["written"] for row in found.toArrow().to_pylist()}
