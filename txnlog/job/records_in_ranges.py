"""Which records of the archive are within a range, so that they prove something; the others are removed."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from txnlog.detection.whole_ranges import WholeRange, records_of
from txnlog.spark.materialize import local_frame
from txnlog.tables.layout import COORDINATOR_RECORDS
from txnlog.tables.store import Store

# A range in the frames below: the number that it has in a list, its log and its offsets.
_SPANS = pa.schema(
    [
        ("number", pa.int32()),
        ("cluster", pa.string()),
        ("coordinator_partition", pa.int32()),
        ("topic_id", pa.string()),
        ("from_offset", pa.int64()),
        ("to_offset", pa.int64()),
    ]
)
_WITHIN = (
    "record.cluster = span.cluster AND record.coordinator_partition = span.coordinator_partition"
    " AND record.topic_id = span.topic_id AND offset >= from_offset AND offset < to_offset"
)


def within(
    store: Store, clusters: list[str], ranges: Iterable[WholeRange], how: str = "left_semi", where: str = "true"
) -> DataFrame:
    """The records of some clusters joined with the ranges that they are within; a range's `number` is its place."""
    rows = [
        {name: number if name == "number" else getattr(each, name) for name in _SPANS.names}
        for number, each in enumerate(ranges)
    ]
    records = store.read(COORDINATOR_RECORDS, clusters).where(where)
    return records.alias("record").join(local_frame(store.spark, rows, _SPANS).alias("span"), F.expr(_WITHIN), how)


def remove_unproved(store: Store, clusters: list[str], ranges: list[WholeRange], where: str) -> None:
    """Remove records of some clusters that are in none of the `ranges`, those of all, where a condition in SQL holds.

    A job that was killed wrote them before their range. Its log may have lost these records since, and a range that is
    written now would have them beside the others.
    """
    # Delta counts a table by its log alone, as long as it is asked of the table as a whole: mostly there are none.
    if store.read(COORDINATOR_RECORDS, None).count() > records_of(ranges):
        store.overwrite(COORDINATOR_RECORDS, within(store, clusters, ranges, where=where), clusters, where)
