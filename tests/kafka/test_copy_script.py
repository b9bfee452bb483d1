"""The script of `copy-script` on a broker that writes, rolls and deletes segments meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster import Cluster
from confluent_kafka import Producer

from tests.copy_scripts import Place
from tests.walk import batches, pieces
from txnlog.dump.dump_file import FileKind
from txnlog.dump.inventory import inventory
from txnlog.dump.lacks import clusters_of, lacking_files, lacks
from txnlog.format.checkpoint import HIGH_WATERMARKS, offset_checkpoints

pytestmark = pytest.mark.kafka
TOPIC = "busy"
SETTINGS = {"log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "0"}
ROLLS = {"segment.bytes": "1048576", "retention.bytes": "3145728", "file.delete.delay.ms": "100"}
STATED = {"max_transaction_timeout": "10s", "coordinator_partitions": 5}
# Each lets a few files arrive, says so, and then hangs until it is killed.
HANGS = {
    "rsync": 'head -n 2 | "$REAL" "$@"; touch "$PLACE/reached"; exec sleep 600',
    "tar": '"$REAL" "$@" | head -c 1500000; touch "$PLACE/reached"; exec sleep 600',
}
ONLY_ONCE = 'if [[ -f $PLACE/reached || ! -f {listing!r} || "$*" == *-xof* ]]; then exec "$REAL" "$@"; fi\n'


class Writer(threading.Thread):
    """One transaction after the other in each partition, until it is told to stop."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(daemon=True)
        settings = {"bootstrap.servers": cluster.bootstrap, "transactional.id": "writer", "log_level": 0}
        self.producer = Producer(settings | {"transaction.timeout.ms": 10_000})
        self.ends = threading.Event()
        self.producer.init_transactions(30)

    def run(self) -> None:
        while not self.ends.wait(0.05):
            self.producer.begin_transaction()
            for number in range(8):
                self.producer.produce(TOPIC, os.urandom(30_000), partition=number % 2)
            self.producer.commit_transaction(30)

    def end(self) -> None:
        """Stop, and wait until it has."""
        self.ends.set()
        self.join()


@pytest.fixture
def busy(kafka_jars: None, tmp_path: Path) -> Iterator[tuple[Path, Writer]]:
    """A log directory that is written to, old enough that segments are deleted."""
    settings = {**SETTINGS, "transaction.state.log.num.partitions": "5"}
    with Cluster("4.3.0", tmp_path / "cluster", settings=settings) as cluster:
        cluster.start(1)
        cluster.create_topic(TOPIC, [[1], [1]], ROLLS)
        writer, folder = Writer(cluster), cluster.nodes[1].log_dir
        writer.start()
        deadline = time.monotonic() + 60
        while list(folder.glob(f"{TOPIC}-*/{0:020}.log")) and time.monotonic() < deadline:
            time.sleep(0.2)
        yield folder, writer
        writer.end()


def log_ends(dump: Path) -> dict[tuple[str, int], int]:
    """The log end offset of each copied log."""
    ends: dict[tuple[str, int], int] = {}
    for file in inventory(dump).files:
        if file.kind is FileKind.SEGMENT and file.topic is not None:
            found = batches(pieces(Path(file.path).read_bytes())).values()
            last = max((each.base_offset + each.last_offset_delta + 1 for each in found), default=file.base_offset or 0)
            key = (file.topic, file.partition or 0)
            ends[key] = max(ends.get(key, 0), last)
    return ends


def killed(place: Place, way: str, log_dir: Path) -> None:
    """Begin to copy, and be killed in the middle."""
    listing = place.to / "broker-1" / "listing.tsv"
    place.stands_in_for(way, ONLY_ONCE.format(listing=str(listing)) + HANGS[way])
    with place.begin(way, f"1={log_dir}", values=STATED) as begun:
        while not (place.folder / "reached").exists():
            assert begun.poll() is None, begun.communicate()
            time.sleep(0.1)
        os.killpg(begun.pid, signal.SIGKILL)


def assert_log_ends_are_copied(dump: Path) -> None:
    """No high watermark lies beyond the copied log."""
    ends = log_ends(dump)
    for folder in ("broker-1", "coordinators-1"):
        for topic, partition, mark in offset_checkpoints((dump / folder / HIGH_WATERMARKS).read_text()):
            if (topic == "__transaction_state") == (folder == "coordinators-1"):
                assert ends[topic, partition] >= mark


@pytest.mark.parametrize("way", ["rsync", "tar"])
def test_a_copy_of_a_running_broker_goes_on_after_a_cut_and_lacks_nothing(
    way: str, busy: tuple[Path, Writer], tmp_path: Path
) -> None:
    (log_dir, writer), place = busy, Place(tmp_path)
    killed(place, way, log_dir)
    assert "copies" not in place.manifest()
    assert lacking_files(inventory(place.to)) != []

    place.run(way, f"1={log_dir}", values=STATED)
    found = inventory(place.to)
    assert [lack for cluster in clusters_of(found) for lack in lacks(cluster)] == []
    # Only the start of a log is deleted meanwhile.
    assert {lack.what for lack in lacking_files(found)} <= {"files deleted since they were listed"}
    assert_log_ends_are_copied(place.to)

    writer.end()
    time.sleep(2)
    place.run(way, f"1={log_dir}", values=STATED)
    copied = {name: content for name, content in place.copied().items() if name.endswith((".log", ".snapshot"))}
    kept = [path for path in log_dir.glob(f"{TOPIC}-*/*") if path.suffix in (".log", ".snapshot")]
    assert len(kept) > 4
    for path in kept:
        assert copied.pop(f"broker-1/{path.parent.name}/{path.name}") == path.read_bytes()
    assert [name for name in copied if TOPIC in name] == []
