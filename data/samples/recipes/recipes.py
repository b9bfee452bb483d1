"""The samples: which release, which cases in which order, and how the cluster is dumped."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import scenarios
import scenarios_dumps
import scenarios_kafka4
from cluster import Cluster
from dump import PADDING_MS, Sample, find_hanging, partition_leaders
from lab import Lab

LOG = logging.getLogger("samples")
Scenario = Callable[[Lab], None]

CLOSED: Sequence[Scenario] = (
    scenarios.ordinary_transactions,
    scenarios.plain_batches,
    scenarios.fenced,
    scenarios.empty,
    scenarios.healed,
    scenarios.absorbed,
)
LATE: Sequence[Scenario] = (
    scenarios.late_write,
    scenarios.never_added,
    scenarios.zombie,
    scenarios.unknown_producer,
    scenarios.crowded,
    scenarios.late_offset_commit,
    scenarios.event_time_old,
    scenarios.stuck_ongoing,
)
YOUNG: Sequence[Scenario] = (scenarios.too_young, scenarios.event_time_young, scenarios.ongoing)
KAFKA_4 = {
    "transaction.partition.verification.enable": "false",
    # Two-phase commit needs a version of InitProducerId that is not released yet.
    "transaction.two.phase.commit.enable": "true",
    "unstable.api.versions.enable": "true",
}


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
        return Sample(self.name, folder, self.state_partitions, self.padding_ms)

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


RECIPES = (
    Recipe(
        name="kafka-3.5.2",
        release="3.5.2",
        note=(
            "Three brokers of Kafka 3.5.2, dumped while they run (broker 3 was shut down minutes before,",
            "broker 2 stopped answering seconds before). Every cause and action that 3.5 can show, beside",
            "healthy traffic with all codecs, markers lost in an unclean leader election, a replica that",
            "lags behind, event time, and an open transaction in `__consumer_offsets`. `truth.json` tells",
            "how, case by case.",
            "Made by `recipes/make.py kafka-3.5.2`.",
        ),
        before=(*CLOSED, scenarios.lost_markers, *LATE, scenarios.stuck_prepare),
        after=YOUNG,
        last=(scenarios.pending,),
    ),
    Recipe(
        name="kafka-4.3.0",
        release="4.3.0",
        note=(
            "Three brokers of Kafka 4.3.0 with the finalized feature `transaction.version=2` and with",
            "`transaction.partition.verification.enable=false`, or a transaction can hardly hang any",
            "more. The cases of `kafka-3.5.2` by clients of version 1, some by clients of version 2",
            "(topics `tv2.*` and `pending`), markers dropped because a partition had no leader, and a",
            "two-phase commit. Dumped while the brokers run (broker 3 was shut down minutes before,",
            "broker 2 stopped answering seconds before).",
            "Made by `recipes/make.py kafka-4.3.0`.",
        ),
        before=(
            *CLOSED,
            scenarios_kafka4.tv2_transactions,
            scenarios_kafka4.tv2_java_client,
            scenarios.lost_markers,
            scenarios_kafka4.lost_to_leaderless,
            *LATE,
            scenarios_kafka4.tv2_never_added,
            scenarios_kafka4.tv2_zombie,
            scenarios_kafka4.two_phase,
            scenarios.stuck_prepare,
        ),
        after=(*YOUNG, scenarios_kafka4.tv2_ongoing),
        last=(scenarios_kafka4.tv2_pending,),
        state_partitions=5,
        settings=KAFKA_4,
        storage_options=("--feature", "transaction.version=2"),
    ),
    StoppedRecipe(
        name="kafka-4.3.0-stopped",
        release="4.3.0",
        note=(
            "One broker of Kafka 4.3.0, dumped after a clean shutdown: a producer snapshot stands at the",
            "end of each log, and before each segment where `segment.ms` rolled them. Transactions over",
            "several segments, open ones of which DeleteRecords removed the start, an id that the",
            "coordinator removed as idle, beside the usual cases.",
            "Made by `recipes/make.py kafka-4.3.0-stopped`.",
        ),
        before=(
            scenarios_dumps.expired,
            scenarios.ordinary_transactions,
            scenarios.healed,
            scenarios.late_write,
            scenarios.never_added,
            scenarios.zombie,
            scenarios.unknown_producer,
            scenarios.stuck_ongoing,
            scenarios_dumps.spanning,
            scenarios_dumps.phantom,
        ),
        after=(scenarios.too_young, scenarios.ongoing),
        node_count=1,
        state_partitions=5,
        settings={**KAFKA_4, "log.retention.check.interval.ms": "1000"},
        storage_options=("--feature", "transaction.version=2"),
    ),
    TornRecipe(
        name="kafka-3.5.2-torn",
        release="3.5.2",
        note=(
            "Three brokers of Kafka 3.5.2, copied at different times: broker 3, then broker 1 with the",
            "coordinators, and minutes later broker 2. One of the five `__transaction_state` partitions,",
            "the last, is missing. Open transactions about which this dump proves nothing stand beside",
            "some about which it does.",
            "Made by `recipes/make.py kafka-3.5.2-torn`.",
        ),
        before=(
            scenarios.ordinary_transactions,
            scenarios.late_write,
            scenarios_dumps.coverage_gap,
            scenarios_dumps.begun_before,
        ),
        after=(scenarios_dumps.begun_after,),
        state_partitions=5,
    ),
)
