"""A source of rows: which files of a dump it reads, how it distributes them over tasks, and which rows they have.

Frames of `txnlog.sources.reading` and Spark's data sources (`txnlog.sources.data_sources`) read by it alike.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from txnlog.dump.dump_file import WEIGHT_PER_TASK, DumpFile, FileKind, Inventory
from txnlog.dump.inventory import inventory
from txnlog.dump.opener import dump_root
from txnlog.dump.text_splits import splits
from txnlog.dump_log.dump_text import topic_partition as named_partition
from txnlog.errors import OptionError
from txnlog.spark.schema import spark_schema

FILES_PER_TASK = 2_000


class Readable(Protocol):
    """What a task reads: a file, or some that are read together."""

    @property
    def weight(self) -> int:
        """How much of a task it is, as of a `DumpFile`."""


@dataclass
class Task(InputPartition):
    """What one task reads."""

    files: list[Any]


class _Reader(DataSourceReader):
    """Lists a dump, distributes its files over tasks, reads them."""

    def __init__(self, source: DumpSource) -> None:
        self._source = source

    def partitions(self) -> list[InputPartition]:
        return list(tasks(self._source.readable()))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # An empty list of partitions still calls this once, with a stand-in.
        if isinstance(partition, Task):
            yield from self._source.rows(partition.files)


def tasks(files: Sequence[Readable]) -> Iterator[Task]:
    """Files in groups of bounded weight and number, in their order: adjacent files share a task."""
    group: list[Readable] = []
    size = 0
    for file in files:
        if group and (size + file.weight > WEIGHT_PER_TASK or len(group) == FILES_PER_TASK):
            yield Task(group)
            group, size = [], 0
        group.append(file)
        size += file.weight
    if group:
        yield Task(group)


def splits_of(file: DumpFile) -> list[DumpFile]:
    """The file, or if it is a long text the splits of it that can be read beside one another."""
    if not file.is_text or file.skipped:
        return [file]
    try:
        found = splits(file.path, file.size)
    except OSError:
        # Reading it reports the error.
        return [file]
    return [
        replace(file, split=each, size=(file.size if each.end is None else each.end) - each.start) for each in found
    ]


class DumpSource(DataSource):
    """What the sources share. Options: `path` (a dump), `cluster` (its name), `partitions`, `topic_partition`.

    `partitions` selects topic partitions: comma-separated patterns such as `orders-0,payments-*`. `topic_partition` is
    whose log a text of `kafka-dump-log.sh` is of that does not say so. `splits_texts` says whether several tasks may
    read a text.
    """

    row: type
    splits_texts = False
    kind: FileKind | None = None
    short_name = ""
    _listed: Inventory | None = None

    @classmethod
    def name(cls) -> str:
        return cls.short_name

    @classmethod
    def of(cls, listed: Inventory, options: Mapping[str, str]) -> Self:
        """A source that reads what has been listed."""
        source = cls(dict(options))
        source._listed = listed
        return source

    def schema(self) -> StructType:
        return spark_schema(self.row)

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader(self)

    def inventory(self) -> Inventory:
        if self._listed is not None:
            return self._listed
        path = self.options.get("path")
        if not path:
            raise OptionError(f"{self.short_name} needs the option path: the folder of a dump")
        topic_partition = self.options.get("topic_partition")
        if topic_partition and named_partition(topic_partition)[0] is None:
            raise OptionError(f"topic_partition {topic_partition!r} is not a partition such as orders-0")
        return inventory(dump_root(path), self.options.get("cluster"), topic_partition)

    def readable(self) -> Sequence[Readable]:
        """What is to be read, in splits that can be read beside one another."""
        wanted = self.wanted_files()
        return [split for file in wanted for split in splits_of(file)] if self.splits_texts else wanted

    def wanted_files(self) -> list[DumpFile]:
        kinds = (self.kind, FileKind.DUMP_TEXT)
        return [
            file
            for file in self.inventory().files
            if (self.kind is None or (file.kind in kinds and not file.skipped))
            and (file.kind is FileKind.DUMP_TEXT or self.is_wanted(file))
        ]

    def is_wanted(self, file: DumpFile) -> bool:
        """Whether `partitions` selects the file. What is in a text, only reading it tells."""
        patterns = [pattern.strip() for pattern in self.options.get("partitions", "*").split(",")]
        return _matches(file, patterns)

    def rows(self, files: list[Any]) -> Iterator[pa.RecordBatch]:
        """The rows of some of what is readable. It is all that a task needs, so nothing is listed for it."""
        raise AssertionError(f"{self.short_name} does not say how to read {len(files)} files")


def _matches(file: DumpFile, patterns: list[str]) -> bool:
    return patterns == ["*"] or any(fnmatch.fnmatchcase(f"{file.topic}-{file.partition}", each) for each in patterns)
