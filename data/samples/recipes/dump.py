"""A sample from a running cluster: copied log directories, manifest, and what is true about them."""

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from lab import TRANSACTION_MAX_TIMEOUT_MS, Hanging, Lab

PADDING_MS = 300_000
TRIES = 20
CLEANED = "cleaner-offset-checkpoint"
# The indexes are preallocated with 10 MB each and say nothing that the segments do not.
LEFT_OUT = shutil.ignore_patterns("*.index", "*.timeindex", "__cluster_metadata-0", ".lock", "bootstrap.checkpoint")
Skip = Callable[[Path], bool]


@dataclass
class Sample:
    """A folder under data/samples while it is being made."""

    name: str
    folder: Path
    state_partitions: int
    padding_ms: int
    max_timeout_ms: int = TRANSACTION_MAX_TIMEOUT_MS
    copied: dict[int, tuple[int, int]] = field(default_factory=dict)

    def copy(self, lab: Lab, node_id: int, skip: Skip = lambda _: False) -> None:
        """Copy one broker's log directory: checkpoints first, then coordinators, then all other partitions.

        A checkpoint older than the log it speaks of is harmless; a newer one would claim too much. Only what the
        cleaner took after its own was copied would be a gap that nothing explains: then all is copied once more.
        """
        source, target = lab.cluster.nodes[node_id].log_dir, self.folder / f"broker-{node_id}"
        for _ in range(TRIES):
            started = lab.cluster.clock.time_ms
            _copy_log_dir(source, target, skip)
            self.copied[node_id] = (started, lab.cluster.clock.time_ms)
            if _cleaned(source) == _cleaned(target):
                return
            shutil.rmtree(target)
        raise TimeoutError(f"the log cleaner never stood still for as long as it takes to copy {source}")

    def write_manifest(self) -> None:
        """The manifest, `dump.toml`."""
        lines = [
            f'cluster = "{_cluster(self.name)}"',
            f'transaction_max_timeout = "{self.max_timeout_ms // 1000}s"',
            f"transaction_state_partitions = {self.state_partitions}",
        ]
        for node_id, (started, ended) in sorted(self.copied.items()):
            lines += [
                "",
                f"[copies.broker-{node_id}]",
                f'started = "{_iso(started)}"',
                f'ended = "{_iso(ended)}"',
            ]
        (self.folder / "dump.toml").write_text("\n".join(lines) + "\n")

    def write_truth(self, lab: Lab, leaders: Mapping[tuple[str, int], int]) -> None:
        """What detection must say, row by row. `leaders`: whose copy of a partition is to be believed."""
        rows = sorted(
            (self._row(one, self.copied[leaders[one.first.topic, one.first.partition]][0]) for one in lab.hanging),
            key=lambda row: (str(row["topic"]), str(row["partition"]), str(row["start_offset"])),
        )
        closed = [one._asdict() for one in sorted(lab.closed)]
        release = lab.cluster.release
        truth = {
            "cluster": _cluster(self.name),
            "kafka": release,
            "open_transactions": rows,
            "closed": closed,
        }
        (self.folder / "truth.json").write_text(json.dumps(truth, indent=2) + "\n")

    def _row(self, one: Hanging, copied: int) -> dict[str, str | int | bool | None]:
        largest_timeout = max(self.max_timeout_ms, one.timeout_ms)
        return {
            "topic": one.first.topic,
            "partition": one.first.partition,
            "producer_id": one.first.producer.producer_id,
            "producer_epoch": one.first.producer.producer_epoch,
            "start_offset": one.first.base_offset,
            "transactional_id": one.transactional_id,
            "late": copied - one.last_appended_at > largest_timeout + self.padding_ms,
            "cause": one.cause,
            "action": one.action,
            "story": one.story,
        }

    def write_notes(self, lab: Lab, leaders: Mapping[tuple[str, int], int], hanging: str, lines: Iterable[str]) -> None:
        """All that stands beside the copied folders."""
        self.write_manifest()
        self.write_truth(lab, leaders)
        (self.folder / "find-hanging.txt").write_text(hanging)
        (self.folder / "README.md").write_text(f"# {self.name}\n\n" + "\n".join(lines) + "\n")


def _cleaned(log_dir: Path) -> str | None:
    """What the cleaner has said of the logs of a directory; None before it cleaned for the first time."""
    path = log_dir / CLEANED
    return path.read_text() if path.exists() else None


def _copy_log_dir(source: Path, target: Path, skip: Skip) -> None:
    target.mkdir(parents=True)
    for path in sorted(source.iterdir(), key=_copy_order):
        if path.name in LEFT_OUT("", [path.name]) or skip(path):
            continue
        if path.is_dir():
            _copy_log(path, target / path.name)
        else:
            shutil.copy2(path, target / path.name)


def _copy_log(log: Path, target: Path) -> None:
    """Copy a partition's log, once more from its beginning if its broker took away a file meanwhile."""
    for _ in range(TRIES):
        try:
            shutil.copytree(log, target, ignore=LEFT_OUT)
        except shutil.Error:
            shutil.rmtree(target)
        else:
            return
    raise TimeoutError(f"{log} never stood still for as long as it takes to copy it")


def _copy_order(path: Path) -> tuple[int, str]:
    if path.is_file():
        return 0, path.name
    return (1 if path.name.startswith("__transaction_state-") else 2), path.name


def _cluster(name: str) -> str:
    return name.replace("kafka-", "sample-")


def _iso(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def partition_leaders(lab: Lab) -> dict[tuple[str, int], int]:
    """The node that leads each partition of a noted transaction."""
    nodes = {node.port: node.node_id for node in lab.cluster.nodes.values()}
    return {
        (topic, partition): nodes[leader[1]]
        for topic in {one.first.topic for one in lab.hanging}
        for partition, leader in lab.cluster.client.leaders(topic).items()
        if leader is not None
    }


def find_hanging(lab: Lab) -> str:
    """What Kafka's own search prints now, for each broker that is up. Its unit of time is the minute."""
    text = ""
    for node_id in lab.cluster.nodes:
        if lab.cluster.is_up(node_id):
            arguments = ("find-hanging", "--broker-id", str(node_id), "--max-transaction-timeout", "1")
            text += f"$ kafka-transactions.sh --bootstrap-server {lab.cluster.bootstrap} {' '.join(arguments)}\n"
            text += lab.cluster.transactions(*arguments) + "\n"
    return text
