"""Dumps of a busy coordinator at several times, and jobs over them into the same tables, for tests of the archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.coordinator_writer import coordinator_record
from tests.writer import ABORT, batch, checkpoint, copied_at, data, listing, marker, put, segment
from txnlog.config import DetectOptions
from txnlog.format.coordinator import TransactionState
from txnlog.job.archiving import archive_dump
from txnlog.job.main import run
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_RECORDS, OPEN_TRANSACTIONS, TRANSACTIONS, Root, Table

START = 1_700_000_000_000
MINUTE = 60_000
BUSY, LOST, NEVER, SLOW = 1000, 2000, 3000, 4000
ARCHIVE = COORDINATOR_RECORDS, COORDINATOR_RANGES, TRANSACTIONS
# From which dump a record was taken: the first one that was judged or archived, of those that have it.
OF_THE_FIRST = {COORDINATOR_RECORDS.name: {"as_of", "file", "position"}, TRANSACTIONS.name: {"as_of"}}
PLACES = [("orders", 0)], [("payments", 0)]


MANIFEST = """cluster = "{}"
transaction_state_partitions = 1
started = "{}"
ended = "{}"
"""


def at(minute: float) -> int:
    return START + int(minute * MINUTE)


@dataclass
class Coordinator:
    """The log of `__transaction_state-0`: its records and the minute of each; the leader epoch from a minute on."""

    records: list[tuple[float, str, TransactionState]] = field(default_factory=list)
    elected: tuple[float, int] = (1e9, 0)

    def add(
        self,
        minute: float,
        name: str,
        producer_id: int,
        state: str,
        places: list[tuple[str, int]] | None,
        began: float | None = None,
        epoch: int = 0,
    ) -> None:
        start = -1 if places is None else at(minute if began is None else began)
        value = TransactionState(producer_id, epoch, 60_000, state, places, at(minute), start)
        self.records.append((minute, name, value))

    def transaction(self, minute: float, name: str, producer_id: int, places: list[tuple[str, int]]) -> None:
        for state, listed in (("Ongoing", places), ("PrepareCommit", places), ("CompleteCommit", [])):
            self.add(minute, name, producer_id, state, listed)

    def batches(self, until: float, compacted_to: float) -> Iterator[bytes]:
        for offset, minute, name, value in self._left(until, compacted_to):
            epoch = self.elected[1] if minute >= self.elected[0] else 0
            record = coordinator_record(value, name)
            yield batch(offset, [record], max_timestamp=at(minute), partition_leader_epoch=epoch)

    def printed(self, until: float, compacted_to: float) -> Iterator[str]:
        """As `kafka-dump-log.sh --transaction-log-decoder` of 2.1 prints it."""
        yield from ("Dumping __transaction_state-0/00000000000000000000.log", "Starting offset: 0")
        for position, (offset, minute, name, value) in enumerate(self._left(until, compacted_to)):
            listed = ", ".join(f"{topic}-{number}" for topic, number in value.topic_partitions or ())
            yield (
                f"offset: {offset} position: {100 * position} CreateTime: {at(minute)} isvalid: true"
                f" keysize: {4 + len(name)} valuesize: 37 magic: 2 compresscodec: NONE producerId: -1 producerEpoch: -1"
                " sequence: -1 isTransactional: false headerKeys: []"
                f" key: transactionalId={name} payload: producerId:{value.producer_id},"
                f"producerEpoch:{value.producer_epoch},state={value.state},partitions=Set({listed}),"
                f"txnLastUpdateTimestamp={value.last_update_timestamp},txnTimeoutMs={value.timeout_ms}"
            )

    def _left(self, until: float, compacted_to: float) -> Iterator[tuple[int, float, str, TransactionState]]:
        last_of = {name: offset for offset, (minute, name, _) in enumerate(self.records) if minute < compacted_to}
        for offset, (minute, name, value) in enumerate(self.records):
            if minute < until and (minute >= compacted_to or last_of[name] == offset):
                yield offset, minute, name, value

    def end(self, until: float) -> int:
        return sum(minute < until for minute, _, _ in self.records)


def history() -> Coordinator:
    """Two ids whose transactions are of minutes 10 and 14, and another one that is busy all the time.

    The one that never added its partition had another one before, with the same coordinator.
    """
    log = Coordinator()
    for name, producer_id in (("busy", BUSY), ("lost", LOST), ("never", NEVER)):
        log.add(0, name, producer_id, "Empty", None)
    for minute in range(1, 60):
        if minute == 3:
            log.transaction(3, "never", NEVER, PLACES[1])
        if minute == 10:
            log.transaction(10, "lost", LOST, PLACES[0])
        if minute == 14:
            log.transaction(14, "never", NEVER, PLACES[1])
        log.transaction(minute + 0.5, "busy", BUSY, PLACES[1])
    return log


def dump(
    root: Path,
    log: Coordinator,
    minute: int,
    compacted_to: float,
    topic_id: str | None = "A" * 22,
    of_coordinator_alone: bool = False,
    coordinator_minute: int | None = None,
    listed: str | None = None,
    committed: float | None = None,
    cluster: str = "c",
    is_printed: bool = False,
    followed: float = 13,
) -> Path:
    """A dump of that minute: a commit whose marker was lost, and data that its transaction never added.

    `coordinator_minute`: the copy of the coordinator is as old as that, and nothing says so. `listed`: all files of the
    coordinator were listed before the copy, and these lines as well. `committed`: the id that never added its partition
    has a COMMIT marker of that minute in another one, of which its coordinator lost the record. `is_printed`: of the
    coordinator there is output of `kafka-dump-log.sh` alone. `followed`: when the marker that follows the data was
    written.
    """
    copied = minute if coordinator_minute is None else coordinator_minute
    moment = datetime.fromtimestamp(at(minute) / 1000, UTC).isoformat()
    put(root / "dump.toml", MANIFEST.format(cluster, moment, moment))
    log_dir = root / "broker-1"
    if is_printed:
        put(log_dir / "coordinator.txt", "\n".join([*log.printed(copied, compacted_to), ""]))
    else:
        _coordinator(log_dir, log, copied, compacted_to, topic_id)
    ends = [("__transaction_state", 0, log.end(copied))]
    if not of_coordinator_alone:
        ends += _partitions(log_dir, minute, followed)
    if committed is not None:
        times = {"max_timestamp": at(committed)}
        segment(log_dir, "refunds-0", data(0, NEVER, **times) + marker(1, NEVER, **times))
        ends.append(("refunds", 0, 2))
    put(log_dir / "replication-offset-checkpoint", checkpoint(ends))
    put(log_dir / "cleaner-offset-checkpoint", checkpoint([("__transaction_state", 0, log.end(compacted_to))]))
    if listed is not None:
        put(log_dir / "__transaction_state-0" / "leader-epoch-checkpoint", checkpoint([(0, 0)]))
        listing(log_dir, listed, "__transaction_state-0", at(minute))
    copied_at(log_dir, at(minute))
    return root


def _coordinator(log_dir: Path, log: Coordinator, copied: float, compacted_to: float, topic_id: str | None) -> None:
    batches = list(log.batches(copied, compacted_to))
    cleaned = len(list(log.batches(compacted_to, compacted_to)))
    segment(log_dir, "__transaction_state-0", b"".join(batches[:cleaned]))
    segment(log_dir, "__transaction_state-0", b"".join(batches[cleaned:]), log.end(compacted_to))
    if topic_id is not None:
        put(log_dir / "__transaction_state-0" / "partition.metadata", f"version: 0\ntopic_id: {topic_id}\n")


def _partitions(log_dir: Path, minute: int, followed: float) -> list[tuple[str, int, int]]:
    """Two partitions; where each ends."""
    before, after = (marker(n, BUSY, kind=ABORT, max_timestamp=at(minute)) for n, minute in ((0, 9), (3, followed)))
    orders = [before, data(1, LOST, max_timestamp=at(10)), data(2, NEVER, max_timestamp=at(12)), after]
    segment(log_dir, "orders-0", b"".join(orders))
    # Nothing of the busy id's COMMITs is in the dump but the last one.
    segment(
        log_dir,
        "payments-0",
        b"".join([data(0, BUSY, max_timestamp=at(minute - 0.5)), marker(1, BUSY, max_timestamp=at(minute - 0.5))]),
    )
    return [("orders", 0, 4), ("payments", 0, 2)]


# Writes a dump: `dump` but for its folder and the name of its cluster.
Dumped = Callable[..., Path]


def dumps_of(*times: tuple[int, float], log: Coordinator | None = None, **of_last: Any) -> list[Dumped]:
    """Dumps of a log: of which minute each is, and to which the cleaner had come."""
    dumps = [partial(dump, log=log or history(), minute=each[0], compacted_to=each[1]) for each in times]
    return [*dumps[:-1], partial(dumps[-1], **of_last)]


def side_by_side(root: Path, clusters: Mapping[str, Sequence[Dumped]]) -> list[Path]:
    """A folder for each run, with a dump of each cluster: one run is enough for all. The last dumps are in the last."""
    runs = max(map(len, clusters.values()))
    for name, dumps in clusters.items():
        for number, write in enumerate(dumps, runs - len(dumps)):
            write(root / f"run-{number}" / name, cluster=name)
    return [root / f"run-{number}" for number in range(runs)]


class Judged:
    """Runs of the job over dumps, one after the other, into the same tables."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder

    def detect(self, dumped: Path) -> dict[int, str]:
        """The verdicts of that dump by producer id, if it is of one cluster."""
        run(self.spark, DetectOptions(str(dumped), str(self.folder / "tables")))
        return self.verdicts(None)

    def verdicts(self, cluster: str | None) -> dict[int, str]:
        """The latest verdicts by producer id."""
        found = self.rows(OPEN_TRANSACTIONS, cluster)
        rows = [row for row in found if row["as_of"] == max(each["as_of"] for each in found)]
        return {row["producer_id"]: f"{row['cause']} {row['action']}" for row in rows}

    def archive(self, dumped: Path) -> int:
        """How many records were new."""
        options = DetectOptions(str(dumped), str(self.folder / "tables"))
        return sum(archive_dump(lambda _: self.spark, options, lambda _: None).values())

    def rows(self, table: Table, cluster: str | None = None) -> list[dict[str, Any]]:
        read = self.spark.table(Root(str(self.folder / "tables")).sql_name(table))
        found = [row.asDict(recursive=True) for row in read.collect()]
        return [row for row in found if cluster in (None, row["cluster"])]

    def versions(self) -> list[int]:
        """Commits of the archive's tables."""
        logs = (self.folder / "tables" / each.name / "_delta_log" for each in ARCHIVE)
        return [len(list(log.glob("*.json"))) for log in logs]


PROVED = {LOST: "MARKER_LOST_COMMIT KEEP", NEVER: "NEVER_ADDED ABORT"}
UNPROVED = dict.fromkeys((LOST, NEVER), "HISTORY_COMPACTED UNDETERMINED")
