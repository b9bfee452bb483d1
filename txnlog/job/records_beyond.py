"""What the archive has of a coordinator partition beyond the end of a copy: that copy is of a time before."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.coordinator_records import PLACE, WRITTEN, within_calendars
from txnlog.detection.whole_ranges import WholeRange
from txnlog.job.last_shared import Row
from txnlog.spark.materialize import local_frame

_ENDS = pa.schema(
    [
        ("cluster", pa.string()),
        ("coordinator_partition", pa.int32()),
        ("topic_id", pa.string()),
        ("log_end_offset", pa.int64()),
    ]
)


def first_beyond(
    archived: DataFrame, copies: Iterable[Row], ranges: Iterable[WholeRange]
) -> dict[tuple[str, int], int]:
    """By cluster and partition: when the first record beyond the end of a copy was written (ms), where there is one.

    `archived` are all records of the archive, with times in ms; `copies` one of each partition, with the columns of
    `coordinator_copies`. Of a copy whose topic id is not known any range of that partition may be of its log.
    """
    reaching = list(ranges)
    ends = [
        {name: each[name] for name in (*PLACE, "log_end_offset")} | {"topic_id": of_log.topic_id}
        for each in copies
        for of_log in reaching
        if of_log.log[:2] == (each["cluster"], each["coordinator_partition"])
        and of_log.to_offset > each["log_end_offset"]
        and each["topic_id"] in (None, of_log.topic_id)
    ]
    if not ends:
        return {}
    # A literal, so that files whose offsets all lie below are not read.
    beyond = archived.where(f"offset >= {min(row['log_end_offset'] for row in ends)}").join(
        local_frame(archived.sparkSession, ends, _ENDS), [*PLACE, "topic_id"], "inner"
    )
    found = summed(
        beyond.where("offset >= log_end_offset").transform(within_calendars), PLACE, f"min({WRITTEN}) AS written"
    )
    return {(row["cluster"], row["coordinator_partition"]): row["written"] for row in found.toArrow().to_pylist()}
