"""Writes the tables of consumer groups, where the dump has `__consumer_offsets`."""

from __future__ import annotations

from pyspark.sql import DataFrame

from txnlog.detection.group_positions import blocked_groups, group_positions, last_records
from txnlog.detection.inputs import Facts
from txnlog.detection.pipeline import Detection
from txnlog.detection.stable_offsets import partition_ends
from txnlog.format.group_messages import CONSUMER_OFFSETS
from txnlog.job.latest_dump import renew
from txnlog.keys import COPY
from txnlog.spark.materialize import Materialized
from txnlog.tables.layout import BLOCKED_GROUPS, GROUP_POSITIONS
from txnlog.tables.store import Store


def write_groups(
    store: Store, clusters: list[str], facts: Facts, detection: Detection, dated: Materialized, opened: DataFrame
) -> None:
    """Renew the rows of the groups whose partition of `__consumer_offsets` this dump shows later than any other.

    `dated` has those copies with their `as_of` (ms), `opened` the transactions of this dump as rows of
    `open_transactions`. Without a copy of `__consumer_offsets`, the tables stay as they are.
    """
    if facts.group_records is None or CONSUMER_OFFSETS not in dated.rows.column("topic").to_pylist():
        return
    copies = detection.copies.join(dated.frame.selectExpr(*COPY, "as_of"), [*COPY], "inner")
    ends = partition_ends(detection.copies, detection.transactions, facts.replay_sums, facts.aborted_transactions)
    found = group_positions(last_records(facts.group_records, copies), ends)
    renewed = dated.frame.where(f"topic = '{CONSUMER_OFFSETS}'").selectExpr(
        "cluster", "partition AS coordinator_partition"
    )
    positions = found.withColumnRenamed("commit_timestamp", "committed_at")
    renew(store, GROUP_POSITIONS, clusters, positions, renewed)
    renew(store, BLOCKED_GROUPS, clusters, blocked_groups(positions, opened), renewed)
