"""How fast texts of `kafka-dump-log` are read, against the tool that wrote them: `make bench`.

One run makes a segment, lets the newest tool print it, and reads that text in one process and by Spark from cold. Each
figure is a ratio to the tool's time in the same round, as machines are seldom quiet.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from tests.benchmarks.processes import Peak, peak_of
from tests.benchmarks.segments import Layout, write_segment
from tests.kafka.judge import NEWEST, java_of
from txnlog.sources.data_sources import BatchesSource, EvidenceSource

JOB = "tests.benchmarks.text_job"
SMALL = Path(__file__).parents[1] / "texts" / NEWEST


def printed(segments: Iterable[Path], text: Path, options: tuple[str, ...]) -> None:
    """Let the tool print segments, all by one call."""
    files = ",".join(map(str, segments))
    command = [*java_of(NEWEST), "org.apache.kafka.tools.DumpLogSegments", *options, "--files", files]
    with text.open("wb") as out:
        subprocess.run(command, stdout=out, check=True)


def read_here(folder: Path) -> int:
    """Read all batches of the texts in this process; how many there are."""
    source = BatchesSource({"path": str(folder)})
    return sum(len(rows) for file in source.wanted_files() for rows in source.rows([file]))


def read_evidence(dump: Path, *, full: bool = False) -> int:
    """Read in this process what the replay needs of a dump, of `full` all of it; how many rows that are."""
    source = EvidenceSource({"path": str(dump), "full": str(full).lower()})
    return sum(len(rows) for rows in source.rows(list(source.readable())))


def read_by_spark(what: str, folder: Path) -> Peak:
    """Read `batches` or `evidence` of the texts in a Spark job of its own, from cold."""
    return peak_of([sys.executable, "-m", JOB, what, str(SMALL), str(folder)])


def seconds(action: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.monotonic()
    action()
    return time.monotonic() - start


def ratio(name: str, reference: list[float], measured: list[float]) -> str:
    """How many times faster than the reference, over the rounds."""
    ratios = sorted(one / other for one, other in zip(reference, measured, strict=True))
    spread = f"{ratios[0]:.1f} to {ratios[-1]:.1f}"
    return f"{name:58} {statistics.median(measured):7.1f} s   {statistics.median(ratios):5.1f} times faster ({spread})"


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=3_000_000, help="batches of the segment (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is measured (%(default)s)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        measure(Path(scratch), arguments.batches, arguments.rounds)


def measure(scratch: Path, batches: int, rounds: int) -> None:
    """Measure in rounds and print."""
    # The first one to ask for the tool fetches it.
    java_of(NEWEST)
    segment = scratch / "orders-0" / "00000000000000000000.log"
    segment.parent.mkdir()
    write_segment(segment, Layout().transactions(), batches)
    for name, options in (("with records", ("--deep-iteration",)), ("without records", ())):
        folder = scratch / name
        folder.mkdir()
        tool, here, evidence, spark, started, summed = [], [], [], [], [], []
        for _ in range(rounds):
            tool.append(seconds(partial(printed, [segment], folder / "text.txt", options)))
            here.append(seconds(partial(read_here, folder)))
            evidence.append(seconds(partial(read_evidence, folder)))
            start = time.monotonic()
            spark.append(read_by_spark("batches", folder))
            started.append(time.monotonic() - start)
            summed.append(read_by_spark("evidence", folder))
        size = (folder / "text.txt").stat().st_size
        print(f"{name}: {batches:,} batches, {segment.stat().st_size >> 20:,} MiB of log, {size >> 20:,} MiB of text")
        print(f"{'kafka-dump-log prints it':58} {statistics.median(tool):7.1f} s")
        print(ratio("all batches, one process", tool, here))
        print(ratio("what the replay needs, one process", tool, evidence))
        print(ratio("all batches by Spark on two cores", tool, [peak.inner_seconds for peak in spark]))
        print(ratio("  with the start of Java, Spark and workers", tool, started))
        print(ratio("what the replay needs by Spark on two cores", tool, [peak.inner_seconds for peak in summed]))
        print(f"{'  the largest worker':58} {max(peak.worker for peak in [*spark, *summed]):7.0f} MiB")


if __name__ == "__main__":
    main()
