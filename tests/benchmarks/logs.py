"""How fast logs are read, against reading the file at all and against Kafka's own tool: `make bench`.

One run writes two segments, one of 200-byte batches in short transactions and one of 16 KiB batches, or of other sizes,
producers and codecs, and takes from each: `read()` of the file, `kafka-dump-log` shallow and deep, the headers with
every checksum, what the replay needs, the same through Spark, the transactions; and of the first the whole command from
cold. Each figure is a ratio to a reference of the same round, as machines are seldom quiet.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.processes import KINDS, Peak, peak_of
from tests.benchmarks.segments import Layout, dump_of
from tests.benchmarks.text import printed, ratio, read_evidence, seconds
from tests.kafka.judge import NEWEST, java_of
from tests.writer import CODECS
from txnlog.dump.inventory import inventory
from txnlog.dump.opener import opened_segment
from txnlog.format.scan import scan
from txnlog.sources.log_copy import all_copies
from txnlog.sources.partition_transactions import rows_of_copy

JOB = "tests.benchmarks.text_job"
EMPTY_JOB = "tests.benchmarks.empty_job"
READ_AT_ONCE = 1 << 30


def segments_of(dump: Path) -> list[Path]:
    """The segments of a dump."""
    return sorted(dump.rglob("*.log"))


def read_whole(dump: Path) -> None:
    """Read the files into memory."""
    for segment in segments_of(dump):
        with segment.open("rb") as file:
            while file.read(READ_AT_ONCE):
                pass


def decode_headers(dump: Path) -> None:
    """Decode every header and check every byte's checksum, on one core."""
    for path in segments_of(dump):
        with opened_segment(str(path)) as segment:
            for _ in scan(segment):
                pass


def read_transactions(dump: Path) -> None:
    """List the transactions of each log, as `txnlog partition` does, on one core."""
    for copy in all_copies(inventory(dump)):
        for _ in rows_of_copy(copy):
            pass


def through_spark(dump: Path, what: str) -> Peak:
    """Read it through Spark on one core, without its start."""
    return peak_of([sys.executable, "-m", JOB, "--cores", "1", what, str(dump), str(dump)])


def detect(dump: Path, scratch: Path, *options: str) -> Peak:
    """The whole command from cold, and the most memory that a worker took."""
    tables = scratch / f"tables-{time.monotonic_ns()}"
    code = "import sys; from txnlog.cli import main; code = main(sys.argv[1:]); print(0.0); sys.exit(code)"
    return peak_of([sys.executable, "-c", code, "detect", str(dump), "--tables", str(tables), *options])


def empty_job(scratch: Path) -> None:
    """A job that starts Spark and commits one row to a Delta table."""
    place = scratch / f"empty-{time.monotonic_ns()}"
    subprocess.run([sys.executable, "-m", EMPTY_JOB, str(place)], check=True, capture_output=True)


def tool(dump: Path, scratch: Path, *options: str) -> None:
    """Let Kafka's tool print all segments."""
    for segment in segments_of(dump):
        printed([segment], scratch / "text.txt", options)


Measured = dict[str, list[float]]


def measured(rounds: int, actions: dict[str, Callable[[], object]]) -> Measured:
    """Seconds of each action in each round."""
    found: Measured = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            found[name].append(seconds(action))
    return found


def print_memory(peaks: list[Peak]) -> None:
    """The most that a process of each kind took in any round."""
    for kind in KINDS:
        print(f"{'  memory of the largest process: ' + kind:58} {max(getattr(peak, kind) for peak in peaks):7.0f} MiB")


def compare(layout: Layout, dump: Path, scratch: Path, rounds: int) -> None:
    """Measure one dump in rounds and print."""
    size = sum(segment.stat().st_size for segment in segments_of(dump))
    print(f"{layout}: {size >> 20:,} MiB")
    found = measured(
        rounds,
        {
            "read() into memory": lambda: read_whole(dump),
            "kafka-dump-log": lambda: tool(dump, scratch),
            "kafka-dump-log --deep-iteration": lambda: tool(dump, scratch, "--deep-iteration"),
            "headers and checksums, one core": lambda: decode_headers(dump),
            "what the replay needs, one core": lambda: read_evidence(dump, full=True),
            "transactions of the log, one core": lambda: read_transactions(dump),
        },
    )
    deep, whole = found["kafka-dump-log --deep-iteration"], found["read() into memory"]
    for step, times in found.items():
        of_read = statistics.median(one / other for one, other in zip(times, whole, strict=True))
        print(f"{ratio(step, deep, times)}   {of_read:6.2f} of read()")
    peaks = [through_spark(dump, "evidence") for _ in range(rounds)]
    inner = [peak.inner_seconds for peak in peaks]
    over = sorted(one / other for one, other in zip(inner, found["what the replay needs, one core"], strict=True))
    print(ratio("  the same through Spark, one core", deep, inner), f"  {statistics.median(over):.2f} of that without")
    print_memory(peaks)


def cold(dump: Path, scratch: Path, rounds: int) -> None:
    """The whole command from cold, all of the log read from a hot cache, against the tool."""
    peaks: list[Peak] = []
    found = measured(
        rounds,
        {
            "kafka-dump-log --deep-iteration": lambda: tool(dump, scratch, "--deep-iteration"),
            "an empty job": lambda: empty_job(scratch),
            # The tool's text, larger than the log, may have taken its place in the cache.
            "read() into memory": lambda: read_whole(dump),
            "txnlog detect --full, cold": lambda: peaks.append(detect(dump, scratch, "--full")),
        },
    )
    for step, times in found.items():
        print(ratio(step, found["kafka-dump-log --deep-iteration"], times))
    print_memory(peaks)


def samples(scratch: Path, rounds: int) -> None:
    """The whole command on the samples of the repository, against an empty job."""
    dump = Path(__file__).parents[2] / "data" / "samples"
    found = measured(
        rounds,
        {
            "an empty job": lambda: empty_job(scratch),
            "txnlog detect data/samples, cold": lambda: detect(dump, scratch),
        },
    )
    *references, whole = found.values()
    print(f"txnlog detect data/samples, cold: {statistics.median(whole):.1f} s")
    for name, times in zip(found, references, strict=False):
        ratios = sorted(one / other for one, other in zip(whole, times, strict=True))
        print(f"{name}: {statistics.median(times):.1f} s, of which that is"
              f" {statistics.median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})")  # fmt: skip


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=512, help="size of each segment (%(default)s)")
    parser.add_argument(
        "--batch-bytes", type=int, nargs="+", default=[200, 16 << 10], help="sizes of batches, each in a run of its own"
    )
    parser.add_argument("--producers", type=int, default=50, help="how many write to it (%(default)s)")
    parser.add_argument("--codec", choices=CODECS, default="none", help="how batches are compressed (%(default)s)")
    parser.add_argument("--seed", type=int, default=Layout().seed, help="of what is random (%(default)s)")
    parser.add_argument("--segments", type=int, default=8, help="segments of the cold job's log (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is measured (%(default)s)")
    given = parser.parse_args()
    # The first one to ask for the tool fetches it.
    java_of(NEWEST)
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        layouts = [Layout(size, given.producers, given.codec, given.seed) for size in given.batch_bytes]
        for layout in layouts:
            compare(layout, dump_of(scratch / f"{layout.batch_bytes}", layout, given.mib), scratch, given.rounds)
        print(f"{layouts[0]}, the whole command")
        cold(dump_of(scratch / "cold", layouts[0], given.mib, given.segments), scratch, given.rounds)
        samples(scratch, given.rounds)


if __name__ == "__main__":
    main()
