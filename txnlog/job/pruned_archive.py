"""Shortens the archive of coordinators' records: what is left of a range is whole, and contradicts what it did."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from txnlog.detection.aggregates import summed
from txnlog.detection.whole_ranges import WholeRange, without_old_holes
from txnlog.job.kept_records import write_ranges
from txnlog.job.old_rows import Old
from txnlog.job.records_in_ranges import within
from txnlog.job.stored_archive import stored_ranges
from txnlog.tables.layout import COORDINATOR_RECORDS, TRANSACTIONS
from txnlog.tables.store import Store
from txnlog.times import instant_literal

# When a record was written; where nothing says so, it was there when the copy was taken.
_WRITTEN = "coalesce(timestamp_millis(unix_millis(append_timestamp) - least(coalesce(update_lag_ms, 0), 0)), as_of)"
# When a transaction ended; of one that was under way when it was last seen, when it began.
_ENDED = "coalesce(completed_at, decided_at, start_timestamp)"


def shorten_ranges(store: Store, cluster: str, before: datetime) -> list[WholeRange]:
    """Let each range of a cluster begin with its first record that was written at a time or later; the new ranges.

    A range of older records alone keeps the last of them. All keep their leader epochs: what contradicted a range
    still does, so that no verdict rests on more than it did before.
    """
    ranges, before_ms = stored_ranges(store, [cluster]), int(before.timestamp() * 1000)
    wanted = [each for each in ranges if each.written_from < before_ms]
    if not wanted:
        return ranges
    begun = {each["number"]: each for each in _beginnings(store, cluster, wanted, before_ms)}
    shorter = {each: _begun(each, begun[number]) for number, each in enumerate(wanted) if number in begun}
    kept = without_old_holes((shorter.get(each, each) for each in ranges), before_ms)
    if set(kept) != set(ranges):
        write_ranges(store, [cluster], kept)
    return kept


def _beginnings(store: Store, cluster: str, ranges: list[WholeRange], before_ms: int) -> list[dict[str, int]]:
    """By number of a range: the offset of its first record that is not old, else of its last; when it was written."""
    is_new = f"unix_millis({_WRITTEN}) >= {before_ms}"
    records = within(store, [cluster], ranges, "inner").selectExpr(
        "number", "offset", f"unix_millis({_WRITTEN}) AS written", f"{is_new} AS is_new"
    )
    first = summed(
        records,
        ("number",),
        "coalesce(min(offset) FILTER (WHERE is_new), max(offset)) AS offset",
        "coalesce(min_by(written, offset) FILTER (WHERE is_new), max_by(written, offset)) AS written",
    )
    found: list[dict[str, int]] = first.toArrow().to_pylist()
    return found


def _begun(found: WholeRange, record: dict[str, int]) -> WholeRange:
    if record["offset"] <= found.from_offset:
        return found
    return replace(found, from_offset=record["offset"], written_from=record["written"])


def old_records(store: Store, cluster: str, ranges: list[WholeRange], before: datetime) -> list[Old]:
    """What was written before a time: records that are in none of the ranges, and transactions that ended."""
    time = instant_literal(before)
    # Of files whose earliest record is later none is read.
    is_old = f"(append_timestamp IS NULL OR append_timestamp < {time}) AND {_WRITTEN} < {time}"
    return [
        Old(COORDINATOR_RECORDS, is_old, within(store, [cluster], ranges, where=is_old)),
        Old(
            TRANSACTIONS,
            f"start_timestamp < {time} AND {_ENDED} < {time}",
            store.read(TRANSACTIONS, [cluster]).where("false"),
        ),
    ]
