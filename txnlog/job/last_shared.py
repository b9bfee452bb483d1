"""Whether a copy of a coordinator partition and the archive have the same record at the last offset that both have.

Leader epochs alone do not tell it: a cluster that was restored from a backup gives out its epochs once more. If the
last record is the same, so is all before it. If it is not, or the archive lacks it, either may have lost what was
acknowledged, and nothing may rest on the two together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from txnlog.detection.aggregates import summed
from txnlog.detection.coordinator_copies import CONTENT, OF_COPY
from txnlog.detection.coordinator_records import PLACE, within_calendars
from txnlog.detection.recorded_transactions import as_dumped
from txnlog.detection.whole_ranges import WholeRange
from txnlog.spark.materialize import local_frame
from txnlog.tables.layout import COORDINATOR_RECORDS
from txnlog.tables.store import Store

Row = dict[str, Any]
Log = tuple[str, int, str]
_LOG = ("cluster", "coordinator_partition", "topic_id")
_PAIRS = pa.schema(
    [
        ("cluster", pa.string()),
        ("coordinator_partition", pa.int32()),
        *((name, pa.string()) for name in (*OF_COPY, "topic_id")),
        ("from_offset", pa.int64()),
        ("to_offset", pa.int64()),
    ]
)


def rewritten_logs(store: Store, states: DataFrame, copies: Iterable[Row], ranges: Iterable[WholeRange]) -> set[Log]:
    """The logs (`WholeRange.log`) of which a copy and a range of the archive do not have the same last shared record.

    `copies` have the columns of `PLACE` and `OF_COPY`, and `topic_id`; `states` are their records, rows of
    `TransactionStateRow`. A copy without a topic id may be of any log of its partition.
    """
    by_place: dict[tuple[str, int], list[WholeRange]] = {}
    for each in ranges:
        by_place.setdefault(each.log[:2], []).append(each)
    pairs = [
        {name: copy[name] for name in (*PLACE, *OF_COPY)}
        | {name: getattr(each, name) for name in ("topic_id", "from_offset", "to_offset")}
        for copy in copies
        for each in by_place.get(_log(copy)[:2], ())
        if copy["topic_id"] in (None, each.topic_id)
    ]
    shared = _last_shared(states, pairs).toArrow().to_pylist() if pairs else []
    if not shared:
        return set()
    archived = {(*_log(row), row["offset"]): row["content"] for row in _archived(store, shared)}
    return {_log(row) for row in shared if archived.get((*_log(row), row["offset"])) != row["content"]}


def _last_shared(states: DataFrame, pairs: list[Row]) -> DataFrame:
    """Of each copy and range the last record of the copy that lies in the range: its `offset` and `content`."""
    return summed(
        states.where("problem IS NULL AND transactional_id IS NOT NULL")
        .join(local_frame(states.sparkSession, pairs, _PAIRS), [*PLACE, *OF_COPY], "inner")
        .where("offset >= from_offset AND offset < to_offset")
        .transform(within_calendars)
        .selectExpr("*", f"{CONTENT} AS content"),
        (*_LOG, *OF_COPY, "from_offset"),
        "max(offset) AS offset",
        "max_by(content, offset) AS content",
    ).drop(*OF_COPY, "from_offset")


def _archived(store: Store, shared: list[Row]) -> list[Row]:
    """The records of the archive at these offsets, and perhaps others of the same partitions of other clusters."""
    offsets: dict[int, set[int]] = {}
    for row in shared:
        offsets.setdefault(row["coordinator_partition"], set()).add(row["offset"])
    # Literals, so that only the files are read that have them; as many as there are partitions, whatever the clusters.
    wanted = " OR ".join(
        f"coordinator_partition = {partition} AND offset IN ({', '.join(map(str, sorted(of_partition)))})"
        for partition, of_partition in offsets.items()
    )
    found = (
        store.read(COORDINATOR_RECORDS, sorted({row["cluster"] for row in shared}))
        .where(wanted)
        .transform(as_dumped)
        .selectExpr(*_LOG, "offset", f"{CONTENT} AS content")
    )
    rows: list[Row] = found.toArrow().to_pylist()
    return rows


def _log(row: Row) -> Log:
    return row["cluster"], row["coordinator_partition"], row["topic_id"]
