"""How large the archive of coordinators' records is, and what the next day reads of it: `make bench`.

A day of transactions is written as the log of each partition of `__transaction_state` and archived. What that leaves in
the tables is copied into as many earlier days, a commit a day. Then the next day is archived and judged, and Spark and
Hadoop say how many files of each table the job read, and how many bytes: after one day, and after all of them.

Before that, `txnlog archive` of the day's log is timed against `kafka-dump-log`, which prints it.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyspark.sql import SparkSession

from tests.benchmarks.daily_runs import command
from tests.benchmarks.generated import COORDINATOR_PARTITIONS
from tests.benchmarks.text import printed, seconds
from tests.coordinator_writer import coordinator_partition, coordinator_record
from tests.executions import IN_FULL, last_execution, scans
from tests.writer import batch, checkpoint, data, marker, put, segment
from txnlog.config import DetectOptions
from txnlog.format.coordinator import TransactionState
from txnlog.job.archiving import archive_dump
from txnlog.job.main import run
from txnlog.report.output import counted
from txnlog.spark.session import session
from txnlog.tables.layout import COORDINATOR_RANGES, COORDINATOR_RECORDS, TRANSACTIONS, Table

DAY_MS, START = 86_400_000, 1_700_000_000_000
PARTITIONS = [("orders", 1), ("payments", 7)]
STATES = ("Ongoing", "Ongoing", "PrepareCommit", "CompleteCommit")
# The third record lists no more than the second; the first lists one partition.
LISTED: tuple[list[tuple[str, int]], ...] = (PARTITIONS[:1], PARTITIONS, PARTITIONS, [])
IDS_OF_A_PARTITION = 20
OF_ARCHIVE = (COORDINATOR_RECORDS, COORDINATOR_RANGES, TRANSACTIONS)


class Read(NamedTuple):
    """How often a job opened files of each table of the archive, and how many bytes it read of all tables."""

    files: dict[str, int]
    size: int


def day_of(folder: Path, day: int, each: int, first_day: int) -> Path:
    """A dump at the end of a day: a segment for the day in each partition, and the one of the day before.

    `each`: transactions a day in a partition. The first offset of all is that of `first_day`.
    """
    ended = START + (day + 1) * DAY_MS
    stated = datetime.fromtimestamp(ended / 1000, UTC).isoformat()
    put(folder / "dump.toml", f'cluster = "bench"\nstarted = "{stated}"\nended = "{stated}"\n')
    log_dir, records = folder / "broker-1", len(STATES) * each
    for number, names in enumerate(owned_ids(IDS_OF_A_PARTITION)):
        place = log_dir / f"__transaction_state-{number}"
        for written in range(max(first_day, day - 1), day + 1):
            put(place / f"{records * written:020}.log", transactions(names, number, written, each))
        put(place / "partition.metadata", f"version: 0\ntopic_id: {'A' * 22}\n")
    ends = [("__transaction_state", number, records * (day + 1)) for number in range(COORDINATOR_PARTITIONS)]
    # Something is open, so that detection asks the archive.
    producer_id = 1_000_000
    content = marker(0, producer_id, max_timestamp=ended - DAY_MS) + data(
        1, producer_id, max_timestamp=ended - DAY_MS // 2
    )
    segment(log_dir, "orders-1", content + marker(2, max_timestamp=ended - 1000))
    put(log_dir / "replication-offset-checkpoint", checkpoint([*ends, ("orders", 1, 3)]))
    return folder


def transactions(names: list[str], partition: int, day: int, each: int) -> bytes:
    """The transactions of a day, at any time of it, of these ids in turns; four records a transaction."""
    random = np.random.default_rng([partition, day])
    starts = np.sort(random.integers(0, DAY_MS - 60_000, each)) + START + day * DAY_MS
    content, offset = [], len(STATES) * day * each
    for number, began in enumerate(starts.tolist()):
        name = names[number % len(names)]
        times = (began + np.cumsum(random.integers(1, 80, 4))).tolist()
        # The last one has the time at which its markers were first sent.
        for state, listed, updated, at in zip(STATES, LISTED, (*times[:3], times[2]), times, strict=True):
            value = TransactionState(1_000_000 + number_of(name), 0, 60_000, state, listed, updated, began)
            content.append(batch(offset, [coordinator_record(value, name)], max_timestamp=at))
            offset += 1
    return b"".join(content)


def owned_ids(count: int) -> list[list[str]]:
    """So many ids of each partition of `__transaction_state`."""
    found: list[list[str]] = [[] for _ in range(COORDINATOR_PARTITIONS)]
    for number in itertools.count():
        owned = found[coordinator_partition(name := f"payments-{number}")]
        if len(owned) < count:
            owned.append(name)
        elif min(map(len, found)) == count:
            return found
    raise AssertionError


def number_of(name: str) -> int:
    """The number in the name of an id."""
    return int(name.rpartition("-")[2])


def with_earlier_days(tables: Path, days: int, each: int) -> None:
    """Add what so many archives of earlier days would have left, a commit a day."""
    records = len(STATES) * each
    for table, offsets in ((COORDINATOR_RECORDS, ("offset",)), (TRANSACTIONS, ("first_offset", "last_offset"))):
        rows = read(tables, table)
        for day in range(days, 0, -1):
            write_deltalake(DeltaTable(str(tables / table.name)), earlier(rows, offsets, day, records), mode="append")
    ranges = earlier(read(tables, COORDINATOR_RANGES), ("from_offset",), days, records, ("written_from",))
    starts = pa.array(
        [[{"epoch": 0, "start_offset": start}] for start in ranges.column("from_offset").to_pylist()],
        ranges.schema.field("leader_epochs").type,
    )
    ranges = ranges.set_column(ranges.schema.get_field_index("leader_epochs"), "leader_epochs", starts)
    write_deltalake(DeltaTable(str(tables / COORDINATOR_RANGES.name)), ranges, mode="overwrite")


def read(tables: Path, table: Table) -> pa.Table:
    """The rows of a table."""
    found = DeltaTable(str(tables / table.name))
    return pa.table(QueryBuilder().register("found", found).execute("SELECT * FROM found").read_all())


def earlier(
    rows: pa.Table, offsets: tuple[str, ...], days: int, records: int, times: tuple[str, ...] | None = None
) -> pa.Table:
    """The same rows so many days before: all timestamps, or some."""
    for name, field in zip(rows.schema.names, rows.schema, strict=True):
        place = rows.schema.get_field_index(name)
        if name in offsets:
            rows = rows.set_column(place, field, pc.subtract(rows.column(name), records * days))
        elif pa.types.is_timestamp(field.type) and (times is None or name in times):
            shifted = pc.subtract(rows.column(name), pa.scalar(timedelta(days=days), pa.duration("us")))
            rows = rows.set_column(place, field, shifted.cast(field.type))
    return rows


def size_of(tables: Path, table: Table) -> int:
    """Bytes of a table's files, without those that were replaced."""
    sizes = DeltaTable(str(tables / table.name)).get_add_actions(flatten=True)
    return int(pc.sum(pa.table(sizes).column("size_bytes")).as_py())


def reading(spark: SparkSession, job: Callable[[], object]) -> Read:
    """What a job's queries read."""
    before, bytes_before = last_execution(spark), bytes_read(spark)
    job()
    size = bytes_read(spark) - bytes_before
    files = {table.name: sum(scan.files for scan in scans(spark, before, table)) for table in OF_ARCHIVE}
    return Read(files, size)


def bytes_read(spark: SparkSession) -> int:
    """Bytes that this JVM has read of files, by Hadoop's count: of a Parquet file only the pages that it wanted."""
    jvm = spark._jvm
    assert jvm is not None
    return sum(int(each.getBytesRead()) for each in jvm.org.apache.hadoop.fs.FileSystem.getAllStatistics())


def next_day(spark: SparkSession, tables: Path, dump: Path) -> tuple[Read, Read]:
    """What `archive` of the next day reads, and `detect` of it thereafter."""
    copy = tables.with_name("copy")
    shutil.copytree(tables, copy)
    options = DetectOptions(str(dump), str(copy))
    archived = reading(spark, lambda: archive_dump(lambda _: spark, options, lambda _: None))
    judged = reading(spark, lambda: run(spark, options))
    shutil.rmtree(copy)
    return archived, judged


def pace(dump: Path, small: Path, scratch: Path) -> str:
    """How long `archive` takes and how long Kafka's tool, both without what they take for a small dump."""
    scratch.mkdir()
    ours, ours_at_least = (
        command("archive", str(each), "--tables", str(scratch / each.name)) for each in (dump, small)
    )
    tool, tool_at_least = (
        seconds(partial(printed, coordinators_of(each), scratch / "text.txt", ("--transaction-log-decoder",)))
        for each in (dump, small)
    )
    ours, tool = ours - ours_at_least, tool - tool_at_least
    return f"archive takes {ours:.0f} s and kafka-dump-log {tool:.0f} s beyond the start: {ours / tool:.1f} times"


def coordinators_of(dump: Path) -> list[Path]:
    """The segments of the coordinators' logs."""
    return sorted(dump.glob("*/__transaction_state-*/*.log"))


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transactions", type=int, default=200_000, help="a day (%(default)s)")
    parser.add_argument("--days", type=int, default=10, help="days before (%(default)s)")
    given = parser.parse_args()
    each = given.transactions // COORDINATOR_PARTITIONS
    with tempfile.TemporaryDirectory() as folder:
        place, day = Path(folder), given.days
        one, all_days = place / "one", place / "all"
        dump = day_of(place / "dump", day, each, day)
        print(pace(dump, day_of(place / "small", day, 20, day), place / "timed"), flush=True)
        spark = session("txnlog-bench", is_small=False, **IN_FULL)
        archive_dump(lambda _: spark, DetectOptions(str(dump), str(one)), lambda _: None)
        for table in (COORDINATOR_RECORDS, TRANSACTIONS):
            print(f"{table.name}: {size_of(one, table) / (each * COORDINATOR_PARTITIONS):.1f} bytes a transaction")
        shutil.copytree(one, all_days)
        with_earlier_days(all_days, given.days - 1, each)
        following = day_of(place / "following", day + 1, each, day)
        for tables, days in ((one, 1), (all_days, given.days)):
            for job, found in zip(("archive", "detect"), next_day(spark, tables, following), strict=True):
                files = ", ".join(f"{counted(number, 'file')} of {name}" for name, number in found.files.items())
                read_of = f"{found.size / (1 << 20):.2f} MiB, {files}"
                print(f"{job} after {counted(days, 'day')} reads {read_of}", flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
