"""Rows of the Delta tables about a run: the run itself, and the files that it read."""

from __future__ import annotations

from typing import Annotated, NamedTuple, get_type_hints

from txnlog.format.structure import BOOLEAN, INT32, INT64, STEP_SECONDS, TEXT, TEXTS, TIMESTAMP
from txnlog.sources.rows import DumpFileRow


class RunRow(NamedTuple):
    """One run over one cluster."""

    run_id: Annotated[str, TEXT, "Random id of the run."]
    cluster: Annotated[str, TEXT, "Cluster of the dump."]
    dump: Annotated[str, TEXT, "Folder or address that was read."]
    txnlog_version: Annotated[str, TEXT, "Version of txnlog."]
    options: Annotated[str, TEXT, "Options of the run as JSON."]
    started_at: Annotated[object, TIMESTAMP, "Start of the run."]
    finished_at: Annotated[object, TIMESTAMP, "End of the run."]
    input_digest: Annotated[str, TEXT, "SHA-256 over names, sizes and offsets of all files: equal for equal dumps."]
    as_of_from: Annotated[object | None, TIMESTAMP, "Earliest as-of of the copies."]
    as_of_to: Annotated[object | None, TIMESTAMP, "Latest as-of of the copies."]
    as_of_sources: Annotated[list[str], TEXTS, "Where the as-ofs come from."]
    files: Annotated[int, INT64, "Files of the dump."]
    bytes: Annotated[int, INT64, "Their bytes."]
    bytes_damaged: Annotated[int, INT64, "Bytes that are not what Kafka writes."]
    partitions: Annotated[int, INT64, "Topic partitions in the dump."]
    coordinator_partitions: Annotated[int, INT32, "Partitions of __transaction_state; 0 if neither stated nor proved."]
    coordinator_partitions_missing: Annotated[int, INT32, "How many of them are missing from the dump."]
    open_transactions: Annotated[int, INT64, "Open transactions."]
    late_transactions: Annotated[int, INT64, "Those that are late, or whose age is unknown."]
    abort_candidates: Annotated[int, INT64, "Those with the action ABORT."]
    undetermined: Annotated[int, INT64, "Those with the action UNDETERMINED."]
    partitions_with_late_transactions: Annotated[int, INT64, "Kafka's PartitionsWithLateTransactionsCount."]
    longest_open_ms: Annotated[int | None, INT64, "Age of the oldest open transaction, ms."]
    step_seconds: Annotated[dict[str, float], STEP_SECONDS, "Seconds each step of the job took."]
    cluster_id: Annotated[str | None, TEXT, "Cluster id, if meta.properties has it."]


# The rows of the dump's inventory, with the as-of that tells the runs apart.
DumpFileTableRow = type(
    "DumpFileTableRow",
    (),
    {
        "__doc__": "One file of one dump.",
        "__annotations__": {
            **get_type_hints(DumpFileRow, include_extras=True),
            "as_of": Annotated[object, TIMESTAMP, "When the copy was taken."],
            "copy_chosen": Annotated[bool, BOOLEAN, "Whether this copy of the partition was used."],
            "chosen_because": Annotated[str | None, TEXT, "Why it was used."],
        },
    },
)
