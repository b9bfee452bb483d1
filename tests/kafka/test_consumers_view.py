"""Logs in a real broker: a read_committed consumer gets what we say is committed, offset for offset.

They are those of all samples, and generated ones: compacted, with late writes that the next marker ended, torn at their
end. The broker recovers them as after a crash: it reads every batch, and writes its transaction indexes, by which a
consumer leaves out what was aborted.
"""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from confluent_kafka import OFFSET_BEGINNING, Consumer, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from tests.kafka.generated_logs import Entry, Log, different_logs, write_log
from tests.kafka.judge import NEWEST, judged
from tests.kafka.trials import RELEASES
from txnlog.dump.dump_file import FileKind, Inventory
from txnlog.dump.inventory import inventory
from txnlog.sources.log_copy import LogCopy, all_copies
from txnlog.sources.outcome import Outcome
from txnlog.sources.partition_transactions import rows_of_copy
from txnlog.sources.record_outcome import record_outcomes

pytestmark = pytest.mark.kafka
COUNT, TORN_EACH = 2_000, 10
TOPIC = "generated"
# What a broker counts on after a clean end.
OF_A_CLEAN_END = (".kafka_cleanshutdown", "recovery-point-offset-checkpoint", "replication-offset-checkpoint")
# Where compaction took what is left to read, a consumer waits for what follows the last stable offset.
PATIENCE_S = 20
UP_WITHIN_S, LEADS_WITHIN_S = 300, 300
SAMPLES = Path(__file__).parents[2] / "data" / "samples"
VISIBLE = (Outcome.COMMITTED, Outcome.NOT_TRANSACTIONAL)
Row = dict[str, Any]


@dataclass
class Written:
    """Generated logs by their partition, some of whose last batches are torn; after them copies of the samples."""

    dump: Path
    samples: Inventory
    logs: list[Log] = field(default_factory=list)

    @property
    def copies(self) -> dict[int, LogCopy]:
        return dict(enumerate(all_copies(self.samples), len(self.logs)))

    def is_torn(self, partition: int) -> bool:
        return partition % TORN_EACH == 0

    def entries(self, partition: int) -> list[Entry]:
        """The batches that are whole."""
        segments = self.logs[partition].segments
        found = [entry for base in sorted(segments) for entry in segments[base]]
        return found[:-1] if self.is_torn(partition) and self.logs[partition].last_segment else found


@dataclass(frozen=True)
class View:
    """What a consumer gets, and where it stops, by partition."""

    offsets: dict[int, set[int]]
    last_stable_offset: dict[int, int]


def of_first_leader(log: Log) -> Log:
    """The same log, all of it of one leader: a new broker's first epoch is no higher."""
    segments = {base: [replace(entry, leader_epoch=0) for entry in entries] for base, entries in log.segments.items()}
    return replace(log, segments=segments)


def refused(folder: Path) -> set[str]:
    """The logs that Kafka's replay does not take: a broker would not start with them."""
    answers = (json.loads(line) for line in judged(NEWEST, "Replay", folder))
    return {f"{TOPIC}-{answer['partition']}" for answer in answers if "refused" in answer}


@pytest.fixture(scope="module")
def written(kafka_jars: None, tmp_path_factory: pytest.TempPathFactory) -> Written:
    made = Written(tmp_path_factory.mktemp("generated") / "dump", inventory(SAMPLES))
    drawn = tmp_path_factory.mktemp("drawn")
    logs = [of_first_leader(log) for log in different_logs(COUNT + COUNT // 20)]
    for number, log in enumerate(logs):
        write_log(log, drawn / f"{TOPIC}-{number}")
    without = refused(drawn)
    made.logs = [log for number, log in enumerate(logs) if f"{TOPIC}-{number}" not in without][:COUNT]
    for partition, log in enumerate(made.logs):
        folder = made.dump / f"{TOPIC}-{partition}"
        write_log(log, folder)
        last = max(folder.iterdir())
        if made.is_torn(partition) and log.last_segment:
            last.write_bytes(last.read_bytes()[:-1])
    return made


@pytest.fixture(scope="module", params=RELEASES[:2])
def view(request: pytest.FixtureRequest, written: Written, tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    with Cluster(request.param, tmp_path_factory.mktemp("view") / "cluster") as cluster:
        cluster.start(1)
        count = len(written.logs) + len(written.copies)
        cluster.create_topic(TOPIC, [[1]] * count, {"retention.ms": "-1"})
        cluster.stop(1)
        log_dir = cluster.nodes[1].log_dir
        for name in OF_A_CLEAN_END:
            (log_dir / name).unlink()
        for partition in range(count):
            there = log_dir / f"{TOPIC}-{partition}"
            for file in there.iterdir():
                if file.name != "partition.metadata":
                    file.unlink()
            for file in segments(written, partition):
                shutil.copy(file, there)
        cluster.start(1, seconds=UP_WITHIN_S)
        yield seen(cluster, count)


def segments(written: Written, partition: int) -> list[Path]:
    """With the snapshots of a copy: what was open at its first offset stands in none of its batches."""
    if partition < len(written.logs):
        return [*(written.dump / f"{TOPIC}-{partition}").iterdir()]
    copy = written.copies[partition]
    return [SAMPLES / file.file for file in copy.files if file.kind in (FileKind.SEGMENT, FileKind.PRODUCER_SNAPSHOT)]


def seen(cluster: Cluster, count: int) -> View:
    partitions = [TopicPartition(TOPIC, partition, OFFSET_BEGINNING) for partition in range(count)]
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "view",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
        }
    )
    stable = stable_offsets(cluster, partitions)
    consumer.assign(partitions)
    got: dict[int, set[int]] = {partition: set() for partition in range(count)}
    ended = set[int]()
    while len(ended) < count and (messages := consumer.consume(1000, PATIENCE_S)):
        for message in messages:
            error, partition = message.error(), message.partition()
            assert partition is not None
            if error is None:
                got[partition].add(int(message.offset() or 0))
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(partition)
    consumer.close()
    return View(got, stable)


def stable_offsets(cluster: Cluster, partitions: list[TopicPartition]) -> dict[int, int]:
    """The last stable offset of each partition, once the broker leads it: all logs are recovered first."""
    asked = {each: OffsetSpec.latest() for each in partitions}  # type: ignore[no-untyped-call]
    deadline = time.monotonic() + LEADS_WITHIN_S
    while True:
        answers = cluster.admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED)
        try:
            return {each.partition: int(answer.result().offset) for each, answer in answers.items()}
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(1)


def rows_by_partition(dump: Path) -> dict[int, list[Row]]:
    return {
        copy.place.partition: [row for some in rows_of_copy(copy) for row in some.to_pylist()]
        for copy in all_copies(inventory(dump))
    }


def test_it_gets_what_the_rows_call_committed_and_nothing_that_they_call_aborted(written: Written, view: View) -> None:
    counts = {"visible": 0, "hidden": 0, "unknown": 0, "whole": 0}
    for partition, rows in rows_by_partition(written.dump).items():
        got, stable = view.offsets[partition], view.last_stable_offset[partition]
        records: dict[str, set[int]] = {"visible": set(), "hidden": set(), "unknown": set()}
        for entry in written.entries(partition):
            if entry.kind == "data" and not entry.is_emptied:
                records[told(entry, rows)] |= {offset for offset in entry.kept if offset < stable}
        log = f"{partition}\n{written.logs[partition]}\nstable: {stable}, got: {sorted(got)}, ours: {records}"
        assert records["visible"] <= got <= records["visible"] | records["unknown"], log
        if all(row["outcome"] != "UNKNOWN" for row in rows):
            opens = [row["first_offset"] for row in rows if row["outcome"] == "OPEN"]
            assert min(opens, default=stable) == stable, log
        counts["whole"] += not records["unknown"]
        for name, offsets in records.items():
            counts[name] += len(offsets)
    assert len(written.logs) == COUNT
    assert counts["visible"] > 2 * COUNT
    assert counts["hidden"] > COUNT
    # Where a marker may have been in what the cleaner took.
    assert counts["unknown"] < counts["hidden"] / 10
    assert counts["whole"] > COUNT * 0.9


def test_it_gets_of_the_samples_what_is_said_to_be_committed(written: Written, view: View) -> None:
    counts = Counter[Outcome]()
    for partition, copy in written.copies.items():
        got, stable = view.offsets[partition], view.last_stable_offset[partition]
        of = {offset: outcome(written.samples, copy, offset) for offset in range(copy.log_start, stable)}
        visible = {offset for offset, found in of.items() if found in VISIBLE}
        log = f"{copy.log_dir} {copy.place}\nstable: {stable}, got: {sorted(got)}, ours: {of}"
        # The broker knows no log start offset within a segment.
        assert visible == {offset for offset in got if offset >= copy.log_start}, log
        if visible:
            # Elsewhere a log may wait at its start for what began in segments that are gone.
            assert outcome(written.samples, copy, stable) in (Outcome.OPEN, Outcome.BEYOND_END), log
        counts.update(of.values())
    assert {*counts} == {*VISIBLE, Outcome.ABORTED, Outcome.CONTROL_RECORD, Outcome.BEFORE_START}


def outcome(dump: Inventory, copy: LogCopy, offset: int) -> Outcome:
    _, found = record_outcomes(dump, copy.place, offset, copy.files[0].cluster)
    (one,) = (each for each in found if each.log_dir == copy.log_dir)
    return one.outcome


def told(entry: Entry, rows: list[Row]) -> str:
    """What the rows say of the records of a batch."""
    if not entry.is_transactional:
        return "visible"
    (row,) = (
        row
        for row in rows
        if row["producer_id"] == entry.producer_id
        and row["first_offset"] is not None
        and row["first_offset"] <= entry.base_offset <= row["last_offset"]
    )
    if row["outcome_from"] is None or row["outcome_from"] > entry.base_offset:
        return "unknown"
    return {"COMMIT": "visible", "ABORT": "hidden", "OPEN": "hidden"}.get(row["outcome"], "unknown")
