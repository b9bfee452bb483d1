"""What a consumer read of `__transaction_state` as facts of a dump: one more copy of each of its partitions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame

from txnlog.detection.inputs import Facts
from txnlog.dump.dump_file import FileKind, LogDir
from txnlog.dump.manifest import CopyTime
from txnlog.format.checkpoint import CLEANED_TO, HIGH_WATERMARKS
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.format.record import Record
from txnlog.format.structure import fields
from txnlog.live.coordinators import Consumed, CoordinatorLogs, PartitionLog
from txnlog.sources.coordinator_states import NULLS, decoded, state_batches
from txnlog.sources.rows import CheckpointRow, DumpFileRow, TransactionStateRow
from txnlog.spark.materialize import frame_of, local_frame
from txnlog.spark.schema import arrow_schema

# No folder of a dump has such a name; ties between copies are broken by broker name, so this copy wins.
BROKER, LOG_DIR = "(live)", "//live"
# There is no segment to point to.
NO_POSITION = -1

Row = dict[str, Any]


def live_log_dir(found: CoordinatorLogs, cluster: str) -> LogDir:
    """A log directory for all of it, with the time of the read as the time of the copy."""
    return LogDir(LOG_DIR, cluster, BROKER, CopyTime(found.started_ms, found.ended_ms), None, None)


def with_coordinators(facts: Facts, found: CoordinatorLogs, cluster: str, log_dirs: DataFrame) -> Facts:
    """The facts of a dump, and these copies; `log_dirs` is what `Facts.log_dirs` has of `live_log_dir`.

    The copy with the highest leader epoch and log end is used, so these replace older ones by themselves.
    """
    spark = facts.log_dirs.sparkSession
    states = frame_of(spark, state_batches(_states(found, cluster)), arrow_schema(TransactionStateRow))
    files = [_file(log, found.topic_id, _place(cluster, partition)) for partition, log in found.logs.items()]
    known = [row for partition, log in found.logs.items() for row in _checkpoints(log, _place(cluster, partition))]
    return dataclasses.replace(
        facts,
        transaction_states=facts.transaction_states.unionByName(states),
        dump_files=facts.dump_files.unionByName(local_frame(spark, files, arrow_schema(DumpFileRow))),
        checkpoints=facts.checkpoints.unionByName(local_frame(spark, known, arrow_schema(CheckpointRow))),
        log_dirs=facts.log_dirs.unionByName(log_dirs),
    )


def _place(cluster: str, partition: int) -> Row:
    return {
        "cluster": cluster,
        "broker": BROKER,
        "log_dir": LOG_DIR,
        "topic": TRANSACTION_STATE,
        "partition": partition,
        "file": f"{LOG_DIR}/{TRANSACTION_STATE}-{partition}",
    }


def _states(found: CoordinatorLogs, cluster: str) -> Iterator[Row]:
    for partition, log in found.logs.items():
        place = NULLS | _place(cluster, partition) | {"coordinator_partition": partition, "position": NO_POSITION}
        for record in log.records:
            yield place | _batch(record) | decoded(_record(record))


def _batch(record: Consumed) -> Row:
    return {
        "offset": record.offset,
        "coordinator_epoch": record.leader_epoch,
        "append_timestamp": record.timestamp_ms,
        "is_tombstone": False,
    }


def _record(record: Consumed) -> Record:
    return Record(0, record.key, record.value)


def _file(log: PartitionLog, topic_id: str, place: Row) -> Row:
    size = sum(len(record.key or b"") + len(record.value or b"") for record in log.records)
    return (
        dict.fromkeys(field.name for field in fields(DumpFileRow))
        | place
        | {
            "kind": FileKind.SEGMENT.value,
            "size_in_bytes": size,
            "modified": datetime.now(UTC),
            "bytes_parsed": size,
            "bytes_tail": 0,
            "bytes_damaged": 0,
            "bytes_skipped": 0,
            "base_offset": log.start,
            "first_offset": log.records[0].offset if log.records else None,
            "last_offset": log.position - 1 if log.position > log.start else None,
            "batches": len(log.records),
            "partition_leader_epoch": max((record.leader_epoch for record in log.records), default=None),
            "gap_to": log.gap_to,
            "topic_id": topic_id,
            "is_text": False,
        }
    )


def _checkpoints(log: PartitionLog, place: Row) -> list[Row]:
    """As a consumer reads to the high watermark and no further, and all gaps are the cleaner's.

    This topic loses nothing in any other way, and damage no broker hands out.
    """
    return [
        place | {"file": f"{LOG_DIR}/{name}", "checkpoint": name, "checkpoint_offset": log.position}
        for name in (HIGH_WATERMARKS, CLEANED_TO)
    ]
