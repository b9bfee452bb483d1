"""A transaction in a partition, as one copy of the log shows it."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from txnlog.format.structure import BOOLEAN, INT16, INT32, INT64, TEXT


class PartitionTransactionRow(NamedTuple):
    """The data of a producer id between two of its control batches, and the marker that ended it."""

    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    broker: Annotated[str, TEXT, "Broker id, or the folder where no meta.properties names one."]
    log_dir: Annotated[str, TEXT, "Copied log directory, relative to the dump."]
    topic: Annotated[str, TEXT, "Topic."]
    partition: Annotated[int, INT32, "Partition."]
    producer_id: Annotated[int, INT64, "Producer id."]
    producer_epoch: Annotated[int | None, INT16, "Epoch of its last batch; null without data."]
    lowest_producer_epoch: Annotated[int | None, INT16, "Smallest epoch of its data; null without data."]
    outcome: Annotated[str, TEXT, "COMMIT, ABORT, OPEN (no marker follows) or UNKNOWN."]
    outcome_from: Annotated[
        int | None,
        INT64,
        "Offset from which on that holds for its data: before a gap, another transaction may have been.",
    ]
    is_whole: Annotated[
        bool, BOOLEAN, "Whether the copy has all of its data: nothing was removed, no offset is missing."
    ]
    first_offset: Annotated[int | None, INT64, "Offset of its first record; null without data."]
    last_offset: Annotated[int | None, INT64, "Offset of its last record; null without data."]
    batches: Annotated[int, INT64, "Batches of its data."]
    records: Annotated[int | None, INT64, "Their records; null if dump-log output does not say."]
    size_in_bytes: Annotated[int, INT64, "Their bytes."]
    first_timestamp: Annotated[int | None, INT64, "First time in its data, ms since 1970."]
    last_timestamp: Annotated[int | None, INT64, "Largest time in its data, ms since 1970."]
    is_log_append_time: Annotated[bool | None, BOOLEAN, "Whether these are the broker's; null without data."]
    marker_offset: Annotated[int | None, INT64, "Offset of the marker; null without one."]
    marker_epoch: Annotated[int | None, INT16, "Producer epoch of the marker."]
    coordinator_epoch: Annotated[int | None, INT32, "Epoch of the coordinator that wrote the marker."]
    marker_timestamp: Annotated[int | None, INT64, "Time of the marker by the broker's clock, ms since 1970."]
    previous_marker_type: Annotated[str | None, TEXT, "Marker of the producer id before its data; null if not known."]
    previous_marker_offset: Annotated[int | None, INT64, "Offset of that marker."]
    previous_marker_epoch: Annotated[int | None, INT16, "Producer epoch of that marker."]
    reason: Annotated[str | None, TEXT, "Why the outcome is UNKNOWN, or holds for a part of the data; else null."]
    file: Annotated[str | None, TEXT, "File with its first batch; null without data."]
    position: Annotated[int | None, INT64, "Byte of that file."]
    marker_file: Annotated[str | None, TEXT, "File with the marker; null where only a transaction index names it."]
    marker_position: Annotated[int | None, INT64, "Byte of that file."]
