"""What a recipe is: which cases in which order, on which cluster, and how that is dumped."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import scenarios_dumps
from clock import DAY_MS, Clock, last_six_in_the_morning, now_ms
from cluster import Cluster
from dump import PADDING_MS, Sample, find_hanging, partition_leaders
from lab import TRANSACTION_MAX_TIMEOUT_MS, Lab

LOG = logging.getLogger("samples")
Scenario = Callable[[Lab], None]
MAX_TIMEOUT = "transaction.max.timeout.ms"


@dataclass(frozen=True)
class Recipe:
    """`before`: cases that become late, `after`: young ones, `last`: what stops brokers."""

    name: str
    release: str
    note: Sequence[str]
    before: Sequence[Scenario]
    after: Sequence[Scenario]
    last: Sequence[Scenario] = ()
    node_count: int = 3
    state_partitions: int = 50
    settings: Mapping[str, str] = field(default_factory=dict)
    storage_options: Sequence[str] = ()
    padding_ms: int = PADDING_MS

    def cluster(self, folder: Path) -> Cluster:
        """The cluster that this recipe needs."""
        settings = {"transaction.state.log.num.partitions": str(self.state_partitions), **self.settings}
        return Cluster(self.release, folder, self.node_count, settings, self.storage_options)

    def sample(self, folder: Path) -> Sample:
        """The sample that a dump of it goes to."""
        max_timeout_ms = int(self.settings.get(MAX_TIMEOUT, TRANSACTION_MAX_TIMEOUT_MS))
        return Sample(self.name, folder, self.state_partitions, self.padding_ms, max_timeout_ms)

    def dump(self, lab: Lab, sample: Sample, wait_seconds: float) -> None:
        """Copy the brokers one right after the other, while they run."""
        hanging, leaders = self._prepare(lab, wait_seconds)
        play(lab, self.last)
        leaders |= partition_leaders(lab)
        for node_id in lab.cluster.nodes:
            sample.copy(lab, node_id)
        sample.write_notes(lab, leaders, hanging, self.note)

    def _prepare(self, lab: Lab, wait_seconds: float) -> tuple[str, dict[tuple[str, int], int]]:
        """Everything up to the moment of the dump: what `find-hanging` says then, and the leaders."""
        play(lab, self.before)
        lab.confirm()
        time.sleep(wait_seconds)
        play(lab, self.after)
        lab.confirm()
        return find_hanging(lab), partition_leaders(lab)


class StoppedRecipe(Recipe):
    """Dumped after a clean shutdown, which writes a producer snapshot at the end of each log."""

    def dump(self, lab: Lab, sample: Sample, wait_seconds: float) -> None:
        """Copy each broker after its shutdown."""
        hanging, leaders = self._prepare(lab, wait_seconds)
        for node_id in lab.cluster.nodes:
            lab.cluster.stop(node_id)
            sample.copy(lab, node_id)
        sample.write_notes(lab, leaders, hanging, self.note)


class DayRecipe(Recipe):
    """A day that passes in minutes, from six to six: the cases move the clock, and nobody waits."""

    def cluster(self, folder: Path) -> Cluster:
        """Its brokers begin a day before they are dumped."""
        begin = last_six_in_the_morning() - DAY_MS
        return replace(super().cluster(folder), clock=Clock(folder.with_name("clock"), now_ms() - begin))

    def dump(self, lab: Lab, sample: Sample, wait_seconds: float) -> None:
        """As any other, without the wait."""
        super().dump(lab, sample, wait_seconds=0)


class TornRecipe(Recipe):
    """Broker 3 is copied first, then broker 1 with the coordinators, and minutes later broker 2."""

    def dump(self, lab: Lab, sample: Sample, wait_seconds: float) -> None:
        """Copy brokers 3 and 1, let transactions begin and grow old, copy broker 2."""
        play(lab, self.before)
        completing = scenarios_dumps.completing(lab)
        lab.confirm()
        leaders = partition_leaders(lab)
        time.sleep(wait_seconds)
        sample.copy(lab, 3)
        completing.end(commit=True)
        sample.copy(lab, 1, skip=lambda path: path.name == scenarios_dumps.MISSING_PARTITION)
        play(lab, self.after)
        time.sleep(wait_seconds)
        lab.confirm(scenarios_dumps.COMPLETED_AFTER_COPY)
        hanging, leaders = find_hanging(lab), leaders | partition_leaders(lab)
        sample.copy(lab, 2)
        # The coordinators were copied minutes before, and no broker dated anything after its last batch.
        lab.expect("late-write", 1, "SKEW", "UNDETERMINED")
        sample.write_notes(lab, leaders, hanging, self.note)


def play(lab: Lab, cases: Sequence[Scenario]) -> None:
    """Run the cases in this order."""
    for case in cases:
        LOG.info("  %s", case.__name__)
        case(lab)
