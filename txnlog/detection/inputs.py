"""What detection is given: the facts of a dump, what earlier dumps showed, and how small results are computed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame


class Reaching(NamedTuple):
    """How far earlier dumps make the history whole: one row for each coordinator partition of the dump.

    Columns of `PLACE` and `OF_ARCHIVE`, and `archived_topic_id`. `earlier` are the ranges before that: where each
    begins and ends (offsets), and when its first and last record were written (ms). `has_holes`: whether there are any.
    `has_later`: whether other dumps show records beyond the end of a copy.
    """

    frame: DataFrame
    has_holes: bool
    has_later: bool


class Materialized(Protocol):
    """A small result without its history: as a frame, and its rows."""

    @property
    def frame(self) -> DataFrame:
        """What the next steps take."""
        ...

    @property
    def rows(self) -> pa.Table:
        """What is asked of it in the driver."""
        ...


class Archive(Protocol):
    """What earlier dumps showed of `__transaction_state`, which compaction may have removed since."""

    def reaching(self, states: DataFrame, copies: pa.Table) -> Reaching:
        """Of a dump with these `coordinator_copies` and their records, `states`."""
        ...

    def records(self, transactions: Materialized, states: DataFrame) -> DataFrame:
        """The records of all ids that own, or by `states` own, a producer id of some open transactions.

        Rows of `TransactionStateRow` without broker and log directory, and with the `topic_id`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Facts:
    """The DataFrames of a dump (`txnlog.sources`), and what is known of its log directories.

    `replay_sums` are rows of `ReplayRow`. `batches` returns rows of `BatchRow`: at least all transactional batches of
    the producer ids in the partitions (`topic`, `partition`, `producer_id`) that it is given, from the whole log.

    `log_dirs` has one row per log directory: cluster, broker, log_dir, copy_started and copy_ended (ms or null),
    transaction_max_timeout_ms and coordinator_partitions (null if not stated).
    `group_records` are what is left of `__consumer_offsets` (`GroupRecordRow`), from which no verdict is reached.
    `partition_transactions` returns rows of `PartitionTransactionRow`: all those of the copies (`COPY`) that it is
    given, from the whole log; None where no log is to be read in full. `has_many_transactions`: they may be many.
    `remembered` has (cluster, producer_id, transactional_id) of earlier runs: it names an id that its coordinator has
    forgotten, and proves nothing.
    `sightings` are open transactions of other dumps: cluster, topic, partition, producer_id, start_offset, batches,
    bytes, last_timestamp (ms: its last batch's), seen_at and seen_until (ms: as-of and end of its copy), topic_id,
    action, reason, confidence, first_batch_leader_epoch, first_batch_crc, lacking and also_lacking.
    """

    replay_sums: DataFrame
    batches: Callable[[Collection[Mapping[str, Any]]], DataFrame]
    transaction_states: DataFrame
    producer_snapshots: DataFrame
    aborted_transactions: DataFrame
    checkpoints: DataFrame
    dump_files: DataFrame
    log_dirs: DataFrame
    group_records: DataFrame | None = None
    partition_transactions: Callable[[Collection[Mapping[str, Any]]], DataFrame] | None = None
    has_many_transactions: bool = False
    remembered: DataFrame | None = None
    sightings: DataFrame | None = None
    archive: Archive | None = None


Materialize = Callable[..., Sequence[Materialized]]
