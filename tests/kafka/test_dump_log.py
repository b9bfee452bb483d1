"""Row for row against what `kafka-dump-log` prints of the same files: all fields of batches, markers and entries."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.kafka.judge import NEWEST, tool
from tests.writer import (
    CODECS,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    NOW,
    TRANSACTIONAL,
    batch,
    data,
    marker,
    record,
    segment,
)
from txnlog.dump.dump_file import DumpFile, FileKind
from txnlog.dump.inventory import inventory
from txnlog.dump.local import LocalSegment
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.sources.coordinator_states import coordinator_states
from txnlog.sources.segments import Level, segment_batches
from txnlog.sources.small_files import entry_rows

pytestmark = pytest.mark.kafka
SAMPLES = Path(__file__).parents[2] / "data" / "samples"
FILES_A_CALL = 250
# By the numbers of `TransactionState`.
STATES_ON_DISK = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
FIELD = re.compile(r"(\w+): (\S+)")
Row = dict[str, Any]


def printed(files: list[Path]) -> dict[str, list[Row]]:
    """What the tool prints of each file, by its path: a row a batch or entry, with the words of its control record."""
    found: dict[str, list[Row]] = {}
    for start in range(0, len(files), FILES_A_CALL):
        names = ",".join(map(str, files[start : start + FILES_A_CALL]))
        for line in tool(NEWEST, "org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--files", names):
            if line.startswith("Dumping "):
                rows = found.setdefault(line.removeprefix("Dumping "), [])
            elif line.startswith("|"):
                rows[-1] |= {f"record.{name}": value for name, value in FIELD.findall(line)}
            elif not line.startswith("Log starting offset"):
                rows.append(dict(FIELD.findall(line)))
    return found


def optional(text: str) -> int | None:
    """A number from `OptionalLong[7]`, nothing from `OptionalLong.empty`."""
    match = re.fullmatch(r"OptionalLong\[(-?\d+)]", text)
    return int(match[1]) if match else None


def batch_by_kafka(row: Row) -> Row:
    times = [name for name in ("CreateTime", "LogAppendTime") if name in row]
    numbers = {
        "base_offset": "baseOffset",
        "last_offset": "lastOffset",
        "record_count": "count",
        "base_sequence": "baseSequence",
        "producer_id": "producerId",
        "producer_epoch": "producerEpoch",
        "partition_leader_epoch": "partitionLeaderEpoch",
        "position": "position",
        "size_in_bytes": "size",
        "magic": "magic",
        "crc": "crc",
        "max_timestamp": times[0],
    }
    epoch = row.get("record.coordinatorEpoch")
    return {name: int(row[kafkas]) for name, kafkas in numbers.items()} | {
        "is_transactional": row["isTransactional"] == "true",
        "is_control": row["isControl"] == "true",
        "crc_valid": row["isvalid"] == "true",
        "delete_horizon_ms": optional(row["deleteHorizonMs"]),
        "timestamp_type": times[0],
        "compression": row["compresscodec"],
        "marker_type": row.get("record.endTxnMarker"),
        "coordinator_epoch": None if epoch is None else int(epoch),
    }


def entry_by_kafka(row: Row) -> Row:
    """An entry of a producer snapshot; the tool leaves out what a producer without a batch does not have."""
    return {
        "producer_id": int(row["producerId"]),
        "producer_epoch": int(row["producerEpoch"]),
        "coordinator_epoch": int(row["coordinatorEpoch"]),
        "last_sequence": int(row.get("lastSequence", -1)),
        "last_offset": int(row.get("lastOffset", -1)),
        "offset_delta": int(row.get("offsetDelta", 0)),
        "timestamp": int(row["lastTimestamp"]),
        "current_txn_first_offset": optional(row["currentTxnFirstOffset"]),
    }


def aborted_by_kafka(row: Row) -> Row:
    """An entry of a transaction index."""
    columns = {
        "producer_id": "producerId",
        "first_offset": "firstOffset",
        "last_offset": "lastOffset",
        "last_stable_offset": "lastStableOffset",
    }
    return {name: int(row[kafkas]) for name, kafkas in columns.items()}


def batches_of(file: DumpFile) -> Iterator[pa.RecordBatch]:
    with LocalSegment(file.path) as opened:
        yield from segment_batches(file, opened, Level.ALL)


KINDS: dict[FileKind, tuple[Callable[[DumpFile], Iterator[pa.RecordBatch]], Callable[[Row], Row]]] = {
    FileKind.SEGMENT: (batches_of, batch_by_kafka),
    FileKind.PRODUCER_SNAPSHOT: (entry_rows, entry_by_kafka),
    FileKind.TRANSACTION_INDEX: (entry_rows, aborted_by_kafka),
}


def assert_rows_are_kafkas(root: Path) -> int:
    """Compare all rows of all files below a folder; how many there were."""
    files = [file for file in inventory(root).files if file.kind in KINDS and not file.skipped and file.size]
    theirs = printed([Path(file.path) for file in files])
    rows = 0
    for file in files:
        read, by_kafka = KINDS[file.kind]
        expected = [by_kafka(row) for row in theirs[file.path]]
        ours = [row for each in read(file) for row in each.to_pylist()]
        rows += len(ours)
        found = [{name: row[name] for name in expected[0]} for row in ours] if expected else ours
        assert sorted(found, key=str) == sorted(expected, key=str), file.file
    return rows


@pytest.mark.parametrize("sample", sorted(path.parent.name for path in SAMPLES.glob("*/truth.json")))
def test_every_row_of_a_sample_is_what_kafka_prints(sample: str) -> None:
    assert assert_rows_are_kafkas(SAMPLES / sample) > 100


def state_by_kafka(line: str) -> Row:
    """A coordinator record; the newest release prints its status as the number that it is on disk (item 74)."""
    match = re.match(r"\| offset: (\d+) .* key: (\{.*}) payload: (\{.*})$", line)
    assert match, line
    key, payload = json.loads(match[2]), json.loads(match[3])
    assert key["type"] == "0"
    value = payload["data"]
    listed = value["transactionPartitions"]
    return {
        "offset": int(match[1]),
        "transactional_id": key["data"]["transactionalId"],
        "state": STATES_ON_DISK[value["transactionStatus"]],
        "producer_id": value["producerId"],
        "producer_epoch": value["producerEpoch"],
        "timeout_ms": value["transactionTimeoutMs"],
        "last_update_timestamp": value["transactionLastUpdateTimestampMs"],
        "start_timestamp": not_set(value["transactionStartTimestampMs"]),
        "previous_producer_id": not_set(value.get("previousProducerId", -1)),
        "next_producer_id": not_set(value.get("nextProducerId", -1)),
        "client_transaction_version": value.get("clientTransactionVersion", 0),
        "topic_partitions": None
        if listed is None
        else [{"topic": each["topic"], "partition": one} for each in listed for one in each["partitionIds"]],
    }


def not_set(number: int) -> int | None:
    return None if number == -1 else number


@pytest.mark.parametrize("sample", ["kafka-3.5.2", "kafka-4.3.0", "shop"])
def test_every_coordinator_record_of_a_sample_is_what_kafka_prints(sample: str) -> None:
    found = [file for file in inventory(SAMPLES / sample).files if file.topic == TRANSACTION_STATE and file.size]
    files = {file.path: file for file in found if file.kind is FileKind.SEGMENT}
    theirs: dict[str, list[Row]] = {}
    options = ("--transaction-log-decoder", "--files", ",".join(files))
    for line in tool(NEWEST, "org.apache.kafka.tools.DumpLogSegments", *options):
        if line.startswith("Dumping "):
            rows = theirs.setdefault(line.removeprefix("Dumping "), [])
        elif line.startswith("|"):
            rows.append(state_by_kafka(line))
    assert sum(map(len, theirs.values())) > 100
    for path, expected in theirs.items():
        with LocalSegment(path) as opened:
            states = coordinator_states(files[path], opened)
            ours = [row for each in states for row in each.to_pylist()]
        assert [{name: row[name] for name in expected[0]} for row in ours] == expected, path


def several(first: int, codec: str, attributes: int, **header: int) -> bytes:
    records = [record(b"value-%d" % number, offset_delta=number, timestamp_delta=number) for number in range(5)]
    return batch(first, records, codec=codec, attributes=attributes, max_timestamp=NOW + 4, **header)


def test_every_row_of_generated_segments_is_what_kafka_prints(tmp_path: Path) -> None:
    settings = [0, TRANSACTIONAL, LOG_APPEND_TIME, TRANSACTIONAL | LOG_APPEND_TIME]
    batches = [
        several(10 * number, codec, attributes, producer_id=number, producer_epoch=number, base_sequence=7 * number)
        for number, (codec, attributes) in enumerate((c, a) for c in CODECS for a in settings)
    ]
    ends = 10 * len(batches)
    extremes = [
        data(
            ends, producer_id=2**63 - 1, producer_epoch=32767, partition_leader_epoch=2**31 - 1, base_sequence=2**31 - 2
        ),
        marker(ends + 1, producer_id=2**63 - 1, producer_epoch=32767, coordinator_epoch=2**31 - 1),
        data(ends + 2, max_timestamp=-1, base_timestamp=-1),
        data(ends + 3, last_offset_delta=9, record_count=1),
        data(ends + 20, attributes=TRANSACTIONAL | DELETE_HORIZON, base_timestamp=NOW + 86_400_000),
    ]
    segment(tmp_path, "orders-0", b"".join(batches + extremes))
    assert assert_rows_are_kafkas(tmp_path) == len(batches + extremes)
