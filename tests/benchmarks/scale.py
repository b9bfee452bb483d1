"""Whether ten times as much takes ten times as long: `make bench`.

And whether a log of a hundred segments takes as long as one of a single one, where its newest snapshot says enough.
Ten times the bytes, the partitions, the producers and the transactional ids, each read in one process as a worker reads
it, and ten times the transactional ids by the whole command from cold. What a command takes for next to nothing is
taken off both sides; all of it is printed. Times are of the processor, as machines are seldom quiet; those of the whole
command, whose Java is nobody's child to count, are by the clock.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.benchmarks import generated
from tests.benchmarks.logs import detect
from tests.benchmarks.segments import Layout, dump_of, write_segment
from tests.benchmarks.text import read_evidence, seconds
from tests.writer import NOW, snapshot
from txnlog.format.snapshot import NO_TRANSACTION, ProducerSnapshotEntry

MORE = 10
# Ten times, and a tenth of that.
ALLOWED = 11
SEGMENTS, MIB_OF_SEGMENT, AS_LONG, ROUNDS = 100, 200, 1.2, 5
# Small dumps are read in another way.
NEXT_TO_NOTHING_MIB = 9


def processor_seconds(action: Callable[[], object]) -> float:
    """Seconds of processors that an action takes in this process."""
    before = time.process_time()
    action()
    return time.process_time() - before


def compare(
    name: str, make: Callable[[int], Path], small: int, measure: Callable[[Path], float], nothing: float
) -> None:
    """Make a dump and one ten times as large, measure both, and print; `nothing` is what reading nothing takes."""
    found = []
    for size in (small, MORE * small):
        dump = make(size)
        found.append(measure(dump))
        shutil.rmtree(dump)
    one, ten = found
    times = (ten - nothing) / (one - nothing)
    verdict = "" if times <= ALLOWED else f"   MORE THAN {ALLOWED}"
    print(
        f"{name:40} {small:>10,} {one:7.1f} s {MORE * small:>12,} {ten:7.1f} s   {ten / one:5.1f} times as long,"
        f" {times:5.1f} without {nothing:.1f} s for nothing{verdict}",
        flush=True,
    )


def of_bytes(place: Path, mib: int) -> Path:
    """A dump of one log of 200-byte batches."""
    return dump_of(place / f"bytes-{mib}", Layout(), mib)


def in_one_process(place: Path, given: argparse.Namespace) -> None:
    """What a worker does."""
    little = generated.many_logs(place / "nothing", 1)
    # The first time also loads code.
    read_evidence(little, full=True)
    nothing = processor_seconds(lambda: read_evidence(little, full=True))
    parts = (
        ("MiB of one log", partial(of_bytes, place), given.mib),
        ("logs", lambda logs: generated.many_logs(place / f"logs-{logs}", logs), given.logs),
        ("producer ids of one log", lambda ids: generated.log_of_producers(place / f"ids-{ids}", ids), given.producers),
        ("records of coordinators", lambda n: generated.coordinators(place / f"records-{n}", n), given.records),
    )
    for name, make, small in parts:
        compare(name, make, small, lambda dump: processor_seconds(lambda: read_evidence(dump, full=True)), nothing)


def log_of_segments(dump: Path, segments: int, mib: int) -> Path:
    """A dump of one log of so many segments, with the snapshots that say what each leaves open: nothing."""
    (newest,) = dump_of(dump, Layout(), mib).rglob("*.log")
    known = [ProducerSnapshotEntry(number, 0, 0, 0, 0, NOW, 0, NO_TRANSACTION) for number in range(Layout().producers)]
    older = newest.with_name("older")
    newest.rename(older)
    for number in range(segments):
        # Those before the newest are one file, of which nothing is to be read.
        path = newest.with_name(f"{number << 32:020}.log")
        path.hardlink_to(older)
        path.with_suffix(".snapshot").write_bytes(snapshot(known))
    older.unlink()
    path.unlink()
    write_segment(path, Layout().transactions(), (mib << 20) // Layout().batch_bytes, number << 32)
    return dump


def of_segments(place: Path) -> None:
    """What a worker does with one log, of which it need not read more than the newest segment."""
    dumps = [log_of_segments(place / f"segments-{number}", number, MIB_OF_SEGMENT) for number in (1, SEGMENTS)]
    # In turns: the walk is compiled in the middle of it.
    rounds = [[processor_seconds(partial(read_evidence, dump)) for dump in dumps] for _ in range(ROUNDS)]
    one, many = (statistics.median(seconds) for seconds in zip(*rounds, strict=True))
    verdict = "" if many / one <= AS_LONG else f"   MORE THAN {AS_LONG}"
    print(
        f"what is needed of a log of {MIB_OF_SEGMENT} MiB: {one:.2f} s, of one of {SEGMENTS} such segments:"
        f" {many:.2f} s, {many / one:.2f} times as long{verdict}",
        flush=True,
    )


def of_job(place: Path, make: Callable[[Path, int], Path], number: int) -> Path:
    """A dump with so many of something."""
    return make(place / f"job-{number}", number)


def whole_command(place: Path, given: argparse.Namespace) -> None:
    """From cold, with the start of Java and of Spark."""
    idle = dump_of(place / "idle", Layout(batch_bytes=16 << 10), NEXT_TO_NOTHING_MIB)
    nothing = seconds(lambda: detect(idle, place))
    for name, make, small in (
        ("records of coordinators, whole command", generated.coordinators, given.records_of_command),
        ("open transactions, whole command", generated.open_transactions, given.open_transactions),
    ):
        compare(
            name,
            partial(of_job, place, make),
            small,
            lambda dump: seconds(lambda: detect(dump, place)),
            nothing,
        )


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=30, help="bytes of a log (%(default)s MiB)")
    parser.add_argument("--logs", type=int, default=2_000, help="logs (%(default)s); 10000 take 10 minutes")
    parser.add_argument("--producers", type=int, default=100_000, help="producer ids of a log (%(default)s)")
    parser.add_argument("--records", type=int, default=100_000, help="records of coordinators (%(default)s)")
    parser.add_argument("--records-of-command", type=int, default=100_000, help="for the command (%(default)s)")
    parser.add_argument("--open-transactions", type=int, default=5_000, help="open in a dump (%(default)s)")
    given = parser.parse_args()
    print(f"each with {MORE} times as much, which may take {ALLOWED} times as long")
    with tempfile.TemporaryDirectory() as place:
        in_one_process(Path(place), given)
        of_segments(Path(place))
        whole_command(Path(place), given)


if __name__ == "__main__":
    main()
