"""`txnlog check`: what a dump has and lacks, by the names of its files, before it is carried anywhere."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence

from txnlog.commands.command import Command
from txnlog.dump.copy_listing import NAME as LISTING
from txnlog.dump.dump_file import FileKind, Inventory, LogDir
from txnlog.dump.inventory import check_has_logs, inventory
from txnlog.dump.lacks import ClusterCopy, Lack, clusters_of, lacking_files, lacks
from txnlog.dump.opener import dump_root
from txnlog.format.checkpoint import HIGH_WATERMARKS
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.report.abort_candidates import word
from txnlog.report.output import counted, first_of, printable
from txnlog.times import iso_8601

_SHOWN = {
    FileKind.SEGMENT: "segment",
    FileKind.DUMP_TEXT: "kafka-dump-log.sh output file",
    FileKind.PRODUCER_SNAPSHOT: "producer snapshot",
    FileKind.TRANSACTION_INDEX: "transaction index file",
    FileKind.LEADER_EPOCH_CHECKPOINT: "leader-epoch-checkpoint file",
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dump", metavar="DUMP", help="the folder that copy.sh wrote, or an address in an object store")


def _run(parsed: argparse.Namespace) -> None:
    dump = inventory(dump_root(parsed.dump))
    check_has_logs(dump, parsed.dump)
    for line in report(dump):
        print(printable(line))
    print(f"Next: txnlog detect {word(parsed.dump)} --tables ROOT")


def report(dump: Inventory) -> Iterator[str]:
    """The lines on a dump: what there is of each cluster, what is missing, and what that costs."""
    for copy in clusters_of(dump):
        yield f"cluster {copy.name}"
        yield from (f"  {line}" for line in _contents(copy))
        found = lacks(copy)
        yield from _missing(found)
    files = lacking_files(dump)
    if files:
        yield "files"
        yield from _missing(files)


def _contents(copy: ClusterCopy) -> Iterator[str]:
    brokers = sorted({each.broker for each in copy.log_dirs})
    yield f"{counted(len(brokers), 'broker')}: {first_of(brokers)}; log directories: {len(copy.log_dirs)}"
    partitions = {log[1:] for log in copy.logs if log[1] != TRANSACTION_STATE}
    topics = {topic for topic, _ in partitions}
    yield (
        f"{counted(len(partitions), 'partition')} of {counted(len(topics), 'topic')},"
        f" {counted(len(copy.coordinators), 'partition')} of {TRANSACTION_STATE}"
        f" (with replicas {counted(len(copy.logs), 'log')})"
    )
    kinds = Counter(file.kind for file in copy.files if not file.skipped)
    sizes = sum(file.size for file in copy.files if not file.skipped)
    yield f"{', '.join(counted(kinds[kind], one) for kind, one in _SHOWN.items() if kinds[kind])} ({sizes} bytes)"
    raw = {log_dir for log_dir, _, _ in copy.raw}
    if raw:
        marked, listed = len(raw) - len(copy.raw_without(HIGH_WATERMARKS)), len(raw) - len(copy.unlisted)
        yield f"log directories with segments: {len(raw)}; {HIGH_WATERMARKS} in {marked}, {LISTING} in {listed}"
    yield _times(copy.log_dirs)


def _times(log_dirs: Sequence[LogDir]) -> str:
    times = [each.copied for each in log_dirs if each.copied]
    if not times:
        return "no time of the copy in dump.toml"
    started, ended = min(each.started for each in times), max(each.ended or each.started for each in times)
    return f"copied {iso_8601(started)} to {iso_8601(ended)}"


def _missing(found: Sequence[Lack]) -> Iterator[str]:
    if not found:
        yield "  nothing is missing"
    for lack in found:
        what = "missing" if lack.cost else "note"
        yield f"  {what}: {lack.what}: {first_of(lack.where)}" + (f": {lack.cost}" if lack.cost else "")


COMMAND = Command(
    "check",
    "print what a dump has and lacks, and which verdicts that costs; without Spark",
    _add_arguments,
    _run,
    "check dump",
)
