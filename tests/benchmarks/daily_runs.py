"""Whether a run and `find-hanging` take as long after a year of daily runs as after the first: `make bench`.

A dump is made and judged, and what it left in the tables is copied as so many earlier runs, one a day, a commit each.
Then `find-hanging` and `detect` of the next dump are measured, each in a process of its own: after the first run, after
all of them, and after all of them and `txnlog prune --keep 90d`. Seconds are by the clock, in turns, the least of
some rounds: machines are seldom quiet.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from tests.benchmarks.segments import COPIED
from tests.writer import NOW, data, marker, put, segment
from txnlog.tables.layout import DUMP_FILES, OPEN_TRANSACTIONS, RUNS

ALLOWED, DAY_MS = 1.5, 86_400_000
# Every so many of the partitions have an open transaction.
OPEN = 20
TIMES = {
    DUMP_FILES.name: ("as_of",),
    OPEN_TRANSACTIONS.name: ("as_of", "copied_until"),
    RUNS.name: ("as_of_from", "as_of_to", "started_at", "finished_at"),
}


def command(*arguments: str) -> float:
    """Seconds that a command takes, with the start of Python."""
    before = time.monotonic()
    subprocess.run([sys.executable, "-m", "txnlog.cli", *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - before


def with_earlier_runs(tables: Path, runs: int) -> None:
    """Add what so many earlier runs over the same cluster would have left, one a day, a commit each."""
    for name, times in TIMES.items():
        table = DeltaTable(str(tables / name))
        rows = pa.table(QueryBuilder().register("found", table).execute("SELECT * FROM found").read_all())
        for days in range(runs, 0, -1):
            write_deltalake(DeltaTable(str(tables / name)), earlier(rows, times, days), mode="append")


def earlier(rows: pa.Table, times: tuple[str, ...], days: int) -> pa.Table:
    """The same rows so many days before."""
    for name in times:
        place = rows.schema.get_field_index(name)
        shifted = pc.subtract(rows.column(name), pa.scalar(timedelta(days=days), pa.duration("us")))
        rows = rows.set_column(place, rows.schema.field(name), shifted.cast(rows.schema.field(name).type))
    if "run_id" in rows.schema.names:
        place = rows.schema.get_field_index("run_id")
        ids = pa.array([f"run {days}"] * len(rows), rows.schema.field("run_id").type)
        rows = rows.set_column(place, rows.schema.field("run_id"), ids)
    return rows


def dumped(dump: Path, partitions: int) -> Path:
    """A dump of so many partitions of one small segment."""
    put(dump / "dump.toml", COPIED)
    ended = data(0) + marker(1)
    for number in range(partitions):
        folder = segment(dump / "broker-1", f"orders-{number}", ended + (b"" if number % OPEN else data(2))).parent
        put(folder / "leader-epoch-checkpoint", "0\n1\n0 0\n")
        put(folder / "partition.metadata", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n")
    return dump


def next_run(dump: Path, tables: Path) -> tuple[float, float]:
    """Seconds of `find-hanging` on some tables, and of `detect` of the next dump into a copy of them."""
    found, copy = command("find-hanging", "--tables", str(tables), "--format", "json"), tables.with_name("copy")
    shutil.copytree(tables, copy)
    judged = command("detect", str(dump), "--tables", str(copy), "--as-of", str(NOW + 2 * DAY_MS))
    shutil.rmtree(copy)
    return found, judged


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=1_000, help="partitions of a dump (%(default)s)")
    parser.add_argument("--runs", type=int, default=365, help="daily runs before (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (%(default)s)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        dump = dumped(place / "dump", given.partitions)
        one, year, pruned = place / "one", place / "year", place / "pruned"
        command("detect", str(dump), "--tables", str(one), "--as-of", str(NOW + DAY_MS))
        shutil.copytree(one, year)
        with_earlier_runs(year, given.runs - 1)
        shutil.copytree(year, pruned)
        print(f"prune: {command('prune', '--tables', str(pruned), '--keep', '90d'):.1f} s", flush=True)
        rounds = [[next_run(dump, each) for each in (one, year, pruned)] for _ in range(given.rounds)]
        for number, name in enumerate(("find-hanging", "detect")):
            first, *later = (min(found[place][number] for found in rounds) for place in range(3))
            for after, seconds in zip(("all runs", "all runs and prune"), later, strict=True):
                verdict = "" if seconds / first <= ALLOWED else f"   MORE THAN {ALLOWED}"
                print(
                    f"{name} after {after}: {seconds:.1f} s, after the first: {first:.1f} s,"
                    f" {seconds / first:.2f} times as long{verdict}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
