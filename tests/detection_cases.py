"""Cases of the detection: each is a cluster of its own, so that one evaluation of Spark serves them all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from tests.logs_as_rows import CoordinatorLog, PartitionLog, Rows
from tests.logs_in_words import MINUTE, START
from tests.replay_rows import replay_rows
from txnlog.config import Thresholds
from txnlog.detection.inputs import Facts
from txnlog.detection.pipeline import Detection, detect
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.sources.data_sources import SOURCES, BatchesSource, EvidenceSource, PartitionTransactionsSource
from txnlog.sources.dump_source import DumpSource
from txnlog.sources.rows import BatchRow
from txnlog.spark.materialize import materialized_together
from txnlog.spark.schema import spark_schema


def name_of(source: type[DumpSource]) -> str:
    """The name that what a data source reads has among the facts."""
    return source.short_name.removeprefix("txnlog_")


# Those that the detection goes by.
OTHERS = (BatchesSource, EvidenceSource, PartitionTransactionsSource)
FRAMES = {name_of(source): source.row for source in SOURCES if source not in OTHERS}
LOG_DIRS = (
    "cluster string, broker string, log_dir string, copy_started bigint, copy_ended bigint, "
    "transaction_max_timeout_ms bigint, coordinator_partitions int"
)
SIGHTINGS = (
    "cluster string, topic string, partition int, producer_id bigint, start_offset bigint, batches bigint, "
    "bytes bigint, seen_at bigint, seen_until bigint, topic_id string, action string, reason string, "
    "confidence string, first_batch_leader_epoch int, first_batch_crc bigint, last_timestamp bigint, lacking string, "
    "also_lacking array<string>"
)
Sighting = tuple[Any, ...]
# A file of a log directory that its broker wrote at its first start.
OLD_FILE = {
    "file": "meta.properties",
    "kind": "meta_properties",
    "size_in_bytes": 0,
    "modified": datetime.fromtimestamp(START / 1000, UTC),
    "is_text": False,
    **dict.fromkeys(("bytes_parsed", "bytes_tail", "bytes_damaged", "bytes_skipped"), 0),
}
# Minutes since START at which a copy was taken, from and to.
COPIED = (1000.0, 1000.05)


@dataclass(frozen=True)
class Case:
    """A dump in words and what is to come out of it.

    `orders` is the log of orders-0 and `coordinator` that of `__transaction_state-0`, both on broker 1; None where
    the dump lacks it. `logs` has more by `topic-partition@broker` or `@broker/disk`; `modified_on` says the minute of
    the files of a disk where it is not `modified`. `copied` says when brokers were copied: minutes
    from and to, either may be None. `coordinators` is how many partitions `__transaction_state` has. `seen` says how
    an earlier dump showed the transaction of producer 7 from offset 0: batches, bytes, and the minute of that dump,
    `seen_as` with which action and confidence, `seen_crc` its first checksum; `sightings` are more, columns of
    `SIGHTINGS` without the cluster. `keeps_times`: the copy has kept the times of files, of which one is old.
    """

    id: str
    orders: str | None
    coordinator: str | None = ""
    want: Any = None
    logs: Mapping[str, str] = field(default_factory=dict)
    copied: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    coordinators: int | None = 1
    max_timeout: int = 15
    modified: float = 1000
    modified_on: Mapping[str, float] = field(default_factory=dict)
    remembered: str | None = None
    seen: tuple[int, int, float] | None = None
    seen_as: str = "UNDETERMINED LOW"
    seen_crc: int | None = 0
    sightings: tuple[Sighting, ...] = ()
    keeps_times: bool = True


@dataclass(frozen=True)
class Found:
    """What the detection found in each case, by its id."""

    rows: dict[str, list[dict[str, Any]]]
    copies: dict[str, list[dict[str, Any]]]
    coverage: dict[str, list[dict[str, Any]]]
    detection: Detection

    def of(self, case: Case) -> list[dict[str, Any]]:
        """The open transactions of orders-0, in the order of their start."""
        rows = [row for row in self.rows[case.id] if row["topic"] == "orders" and row["partition"] == 0]
        return sorted(rows, key=lambda row: row["start_offset"])

    def only(self, case: Case) -> dict[str, Any]:
        """The one open transaction of producer 7 in orders-0."""
        (row,) = (row for row in self.of(case) if row["producer_id"] == 7)
        return row

    def columns(self, case: Case, names: Iterable[str]) -> dict[str, Any]:
        """Some of its columns, such as `current.state`."""
        row = self.only(case)
        return {name: reduce(lambda value, key: value[key], name.split("."), row) for name in names}


def detected(spark: SparkSession, cases: list[Case]) -> Found:
    """Run the detection once, over the facts of all cases."""
    ids = [case.id for case in cases]
    assert len(ids) == len(set(ids)), f"not one case each: {sorted(each for each in ids if ids.count(each) > 1)}"
    found = detect(facts(spark, cases), Thresholds(), materialized_together)
    rows, copies, coverage = (by_cluster(f, ids) for f in (found.transactions, found.copies, found.coverage))
    return Found(rows, copies, coverage, found)


def facts(spark: SparkSession, cases: Iterable[Case]) -> Facts:
    """The facts of all cases, each in a cluster by its id."""
    remembered, sightings = [], []
    rows = rows_of(cases := list(cases))
    for case in cases:
        sightings += [(case.id, *each) for each in case.sightings]
        if case.remembered:
            remembered.append((case.id, 7, case.remembered))
        if case.seen:
            batches, size, minutes = case.seen
            action, _, confidence = case.seen_as.partition(" ")
            seen_at = START + int(minutes * MINUTE)
            sightings.append(
                (
                    case.id,
                    "orders",
                    0,
                    7,
                    0,
                    batches,
                    size,
                    seen_at,
                    seen_at,
                    None,
                    action,
                    "said so",
                    confidence,
                    1,
                    case.seen_crc,
                    _last_timestamp(rows, case.id),
                    None,
                    None,
                )
            )
    frames: dict[str, Any] = {
        name: _frame(spark, getattr(rows, name), spark_schema(row)) for name, row in FRAMES.items()
    }
    log_dirs = [tuple(each.values()) for each in rows.log_dirs]
    all_batches = _frame(spark, rows.batches, spark_schema(BatchRow))
    return Facts(
        **frames,
        replay_sums=spark.createDataFrame(replay_rows(rows.batches, rows.producer_snapshots, rows.checkpoints)),
        batches=lambda wanted: _of_wanted(all_batches, wanted),
        log_dirs=spark.createDataFrame(log_dirs, LOG_DIRS),
        remembered=spark.createDataFrame(remembered, "cluster string, producer_id bigint, transactional_id string"),
        sightings=spark.createDataFrame(sightings, SIGHTINGS),
    )


def _last_timestamp(rows: Rows, cluster: str) -> int | None:
    """What the producer of a case says of its last batch: an earlier dump showed the same one."""
    wanted = (cluster, "orders", 7, False)
    names = "cluster", "topic", "producer_id", "is_control"
    own = [batch for batch in rows.batches if tuple(batch[name] for name in names) == wanted]
    told = max(own, key=lambda batch: batch["base_offset"])["max_timestamp"] if own else -1
    return None if told < 0 else told


def _of_wanted(batches: DataFrame, wanted: Collection[Mapping[str, Any]]) -> DataFrame:
    """Those that a dump is asked for, and no more."""
    names = ("cluster", "topic", "partition", "producer_id")
    asked = {tuple(row[name] for name in names) for row in wanted}
    frame = batches.sparkSession.createDataFrame(
        list(asked), "cluster string, topic string, partition int, producer_id bigint"
    )
    return batches.join(frame, [*names], "left_semi")


def rows_of(cases: Iterable[Case]) -> Rows:
    """The rows of all cases, each in a cluster by its id."""
    rows = Rows()
    for case in cases:
        _add(rows, case)
    return rows


def by_cluster(frame: DataFrame, ids: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each cluster, of those without any as well."""
    found: dict[str, list[dict[str, Any]]] = {each: [] for each in ids}
    for row in frame.collect():
        found[row["cluster"]].append(row.asDict(recursive=True))
    return found


def _add(rows: Rows, case: Case) -> None:
    own = {"orders-0@1": case.orders, f"{TRANSACTION_STATE}-0@1": case.coordinator}
    logs = {place: line for place, line in {**own, **case.logs}.items() if line is not None}
    brokers = set()
    for name, line in logs.items():
        log, _, disk = name.partition("@")
        broker = disk.partition("/")[0]
        modified = datetime.fromtimestamp((START + case.modified_on.get(disk, case.modified) * MINUTE) / 1000, UTC)
        topic, _, partition = log.rpartition("-")
        place: dict[str, Any] = {"cluster": case.id, "broker": broker or "1", "log_dir": f"broker-{disk or '1'}"}
        brokers.add((place["broker"], place["log_dir"]))
        kind = CoordinatorLog if topic == TRANSACTION_STATE else PartitionLog
        kind(rows, place | {"topic": topic, "partition": int(partition)}, modified).write(line)
    for broker, log_dir in sorted(brokers):
        times = [None if m is None else START + int(m * MINUTE) for m in case.copied.get(broker, COPIED)]
        place = {"cluster": case.id, "broker": broker, "log_dir": log_dir, "from": times[0], "to": times[1]}
        if case.keeps_times:
            rows.dump_files.append(OLD_FILE | {name: place[name] for name in ("cluster", "broker", "log_dir")})
        rows.log_dirs.append(place | {"max": case.max_timeout * MINUTE, "coordinators": case.coordinators})


def _frame(spark: SparkSession, rows: list[dict[str, Any]], schema: StructType) -> DataFrame:
    return spark.createDataFrame([tuple(row.get(name) for name in schema.names) for row in rows], schema)
