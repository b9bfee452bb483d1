"""Make tests/archives: `python data/samples/recipes/archives.py`. It takes two minutes.

The coordinators' log keeps its last `LAG_S` seconds whole (`min.compaction.lag.ms`), and is copied more often than
that: consecutive copies share records, and when the last one is made, the cleaner has taken what the first one shows.
"""

import logging
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import scenarios
from cluster import Cluster
from dump import Sample, partition_leaders
from lab import Lab, RawProducer
from make import start
from programs import REPOSITORY

NAME, RELEASE = "archives", "3.5.2"
COORDINATORS, ARCHIVES = 2, 3
# A busy machine needs the ten seconds between the two for a copy; two times the second must be more than the first.
LAG_S, EVERY_S = 26, 16
SETTINGS = {
    "transaction.state.log.num.partitions": str(COORDINATORS),
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "200",
    "transaction.partition.verification.enable": "false",
}
OF_THE_LOG = {"segment.ms": "2000", "min.compaction.lag.ms": f"{LAG_S}000", "min.cleanable.dirty.ratio": "0.01"}
BUSY_IDS, PAUSE_S = 20, 0.1
README = f"""# {NAME}

Four dumps of three brokers of Kafka {RELEASE}, made by `data/samples/recipes/archives.py` within a minute: three of
`__transaction_state` alone, and one of everything. Before the first, a producer wrote data that no coordinator was told
of, and the markers of a commit and of an abort were lost. When the last is made, the log cleaner has long taken what
proves it, and twenty ids have been busy all the time. `dump/truth.json` tells what became of the data.
"""


@dataclass
class Traffic:
    """Transactions of some ids, one after the other, so that coordinators write all the time."""

    ids: list[RawProducer]
    done: int = 0

    def go_on(self, until: Callable[[], bool]) -> None:
        """One transaction after the other until it is so."""
        while not until():
            raw = self.ids[self.done % len(self.ids)]
            raw.begin("busy", 0, "busy")
            raw.end(commit=self.done % 3 > 0)
            self.done += 1
            time.sleep(PAUSE_S)

    def for_seconds(self, seconds: float) -> None:
        """The same for a while."""
        end = time.monotonic() + seconds
        self.go_on(lambda: time.monotonic() > end)


def three_brokers(release: str, folder: Path) -> Cluster:
    """With few coordinator partitions, and a cleaner in haste."""
    return Cluster(release, folder, node_count=3, settings=SETTINGS)


def begin(cluster: Cluster) -> tuple[Lab, Traffic]:
    """Start the brokers, and do what must be proved in the end."""
    lab = start(cluster)
    for key, value in OF_THE_LOG.items():
        cluster.configure_topic("__transaction_state", key, value)
    lab.topic("busy", [1])
    traffic = Traffic([lab.producer(f"busy-{number}") for number in range(BUSY_IDS)])
    never_added(lab)
    scenarios.lost_markers(lab)
    return lab, traffic


def never_added(lab: Lab) -> None:
    """Data that no coordinator was told of."""
    topic = lab.topic("never-added", [1], settings={"message.timestamp.type": "LogAppendTime"})
    raw = lab.producer("never-added-id", bumps=1)
    lab.note_open(
        raw, raw.write(topic, 0, "nobody was told"), "NEVER_ADDED", "ABORT", "Written without its coordinator."
    )


def dumps(lab: Lab, traffic: Traffic, folder: Path) -> Iterator[Path]:
    """Those of the coordinators alone, in time to share records, and last the one of all brokers, with its truth."""
    for number in range(ARCHIVES):
        yield _copied(lab, folder / f"archive-{number}", 1, of_coordinators_alone=True).folder
        traffic.for_seconds(EVERY_S)
    sample = _copied(lab, folder / "dump", 1, 2, 3)
    sample.write_truth(lab, partition_leaders(lab))
    yield sample.folder


def _copied(lab: Lab, folder: Path, *brokers: int, of_coordinators_alone: bool = False) -> Sample:
    sample = Sample(NAME, folder, COORDINATORS, padding_ms=0)
    for broker in brokers:
        sample.copy(
            lab, broker, lambda path: of_coordinators_alone and path.is_dir() and not path.name.startswith("__t")
        )
    sample.write_manifest()
    return sample


def _terminated(*_: object) -> None:
    raise SystemExit(1)


def main() -> None:
    """Make them in a scratch folder, and then replace those that are there."""
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    signal.signal(signal.SIGTERM, _terminated)
    with tempfile.TemporaryDirectory() as scratch, three_brokers(RELEASE, Path(scratch) / "cluster") as cluster:
        made = Path(scratch) / NAME
        lab, traffic = begin(cluster)
        for folder in dumps(lab, traffic, made):
            logging.info("%s", folder.name)
        lab.confirm()
        (made / "README.md").write_text(README)
        target = REPOSITORY / "tests" / NAME
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(made, target)


if __name__ == "__main__":
    main()
