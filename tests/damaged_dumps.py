"""Many damaged versions of one small dump, judged in one go: each is a cluster of its own.

What a version changes is read anew by the readers of the job; the rows of all other files are those of the whole dump.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.detection_cases import FRAMES, by_cluster, name_of
from txnlog.config import Thresholds, detect_options
from txnlog.detection.inputs import Facts
from txnlog.detection.pipeline import detect
from txnlog.dump.dump_file import DumpFile, Inventory
from txnlog.dump.inventory import inventory
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.job.facts import LOG_DIR_SCHEMA, log_dir_row
from txnlog.sources.data_sources import SOURCES, EvidenceSource, PartitionTransactionsSource, TransactionStatesSource
from txnlog.sources.dump_source import DumpSource
from txnlog.sources.file_groups import LogFiles
from txnlog.sources.rows import ReplayRow
from txnlog.spark.materialize import local_frame, materialized_together
from txnlog.spark.schema import arrow_schema, spark_schema
from txnlog.tables.changes import open_transaction_rows

Row = dict[str, Any]
STRUCTURES = {name_of(source): source.row for source in SOURCES if source is not PartitionTransactionsSource}


@dataclass(frozen=True)
class Version:
    """One damaged version: its name, the files that are other, and what stands in them; None where one is missing."""

    name: str
    changes: Mapping[str, bytes | None]


@dataclass(frozen=True)
class Judged:
    """Verdicts and files of all versions, by their names."""

    verdicts: dict[str, list[Row]]
    files: dict[str, list[Row]]


def rows_of(file: DumpFile) -> dict[str, list[pa.RecordBatch]]:
    """The rows that a file has in each frame, as the job's data sources read them."""
    return {name_of(source): _rows_of_source(source, file) for source in SOURCES if _reads(source, file)}


def _rows_of_source(source: type[DumpSource], file: DumpFile) -> list[pa.RecordBatch]:
    return list(source({}).rows([LogFiles((file,)) if source is EvidenceSource else file]))


def _reads(source: type[DumpSource], file: DumpFile) -> bool:
    if source is PartitionTransactionsSource or (source is TransactionStatesSource and file.topic != TRANSACTION_STATE):
        return False
    return source.kind is None or (source.kind is file.kind and not file.skipped)


@dataclass
class Versions:
    """Collects the rows of versions of the dump at `root`; `scratch` is one file that is written over and over.

    `whole` is the name of the version without damage; those of the others begin with it.
    """

    whole: str
    root: Path
    scratch: Path

    def __post_init__(self) -> None:
        self.inventory: Inventory = inventory(self.root)
        self.files = {file.file: file for file in self.inventory.files}
        self.names: dict[str, list[str]] = {self.whole: []}
        self.damaged: dict[str, list[pa.RecordBatch]] = {name: [] for name in STRUCTURES}
        self.seen = set[bytes]()
        self.count = 0

    def content(self, file: str) -> bytes:
        """The bytes of one of its files."""
        return Path(self.files[file].path).read_bytes()

    def add(self, version: Version) -> None:
        """Read the damaged files of a version."""
        name = f"{self.whole}, {version.name}"
        assert name not in self.names, name
        self.count += 1
        read = {
            file: self._read(self.files[file], content)
            for file, content in version.changes.items()
            if content is not None
        }
        # What gives the same rows gets the same verdicts.
        key = pickle.dumps([list(version.changes), read])
        if key in self.seen:
            return
        self.seen.add(key)
        self.names[name] = list(version.changes)
        for rows in read.values():
            for frame, batches in rows.items():
                self.damaged[frame] += [_of_cluster(batch, name) for batch in batches]

    def _read(self, file: DumpFile, content: bytes) -> dict[str, list[pa.RecordBatch]]:
        # A new file each time: to overwrite one waits for the disk.
        self.scratch.unlink(missing_ok=True)
        self.scratch.write_bytes(content)
        return rows_of(replace(file, path=str(self.scratch), size=len(content)))

    def log_dirs(self) -> list[dict[str, object]]:
        """Rows of `Facts.log_dirs`, one a version."""
        options = detect_options({"dump": str(self.root), "tables": "nowhere"})
        (log_dir,) = self.inventory.log_dirs
        return [log_dir_row(replace(log_dir, cluster=name), options) for name in self.names]

    def frames(self, spark: SparkSession) -> dict[str, DataFrame]:
        """For each version the rows of its damaged files, and those of the whole dump for all other files."""
        versions = spark.createDataFrame(list(self.names.items()), "cluster string, damaged_files array<string>")
        whole = [rows_of(file) for file in self.files.values()]
        frames = {}
        for name, structure in STRUCTURES.items():
            schema = arrow_schema(structure)
            others = pa.Table.from_batches([batch for rows in whole for batch in rows.get(name, [])], schema)
            damaged = pa.Table.from_batches(self.damaged[name], schema).combine_chunks()
            elsewhere = spark.createDataFrame(others).drop("cluster").crossJoin(F.broadcast(versions))
            here = spark.createDataFrame(damaged).join(F.broadcast(versions), "cluster")
            frames[name] = elsewhere.where("NOT array_contains(damaged_files, file)").unionByName(here)
        return frames


def facts(frames: Mapping[str, DataFrame], log_dirs: DataFrame) -> Facts:
    """The facts of all versions. As by `--full`: of damage in what is not needed nobody would know."""
    named: dict[str, Any] = {name: frames[name] for name in FRAMES if name != "dump_files"}
    return Facts(
        **named,
        replay_sums=frames["evidence"].where("fact <> 'file'").select(*spark_schema(ReplayRow).names),
        batches=lambda wanted: frames["batches"],
        dump_files=frames["dump_files"],
        log_dirs=log_dirs,
    )


def judged(spark: SparkSession, dumps: list[Versions]) -> Judged:
    """The verdicts on all versions of all of the dumps: Spark takes hardly longer for many than for one."""
    each = [versions.frames(spark) for versions in dumps]
    frames = {name: reduce(DataFrame.unionByName, (frame[name] for frame in each)).persist() for name in STRUCTURES}
    names = [name for versions in dumps for name in versions.names]
    rows = [row for versions in dumps for row in versions.log_dirs()]
    log_dirs = local_frame(spark, rows, LOG_DIR_SCHEMA).persist()
    try:
        found = detect(facts(frames, log_dirs), Thresholds(), materialized_together)
        return Judged(
            by_cluster(open_transaction_rows(found.transactions), names),
            by_cluster(frames["dump_files"].where("array_contains(damaged_files, file)"), names),
        )
    finally:
        for frame in [*frames.values(), log_dirs]:
            frame.unpersist()


def _of_cluster(batch: pa.RecordBatch, name: str) -> pa.RecordBatch:
    return batch.set_column(
        batch.schema.get_field_index("cluster"), batch.schema.field("cluster"), pa.array([name] * len(batch))
    )
