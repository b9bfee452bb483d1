"""What is tried on which release: the recipes of the samples with less patience, and what must come of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import scenarios
import scenarios_dumps
from lab import TRANSACTION_MAX_TIMEOUT_MS, Lab
from recipe import Recipe
from recipes import RECIPES

from tests.kafka.answers import ask

# With the largest timeout it makes the minute that is Kafka's unit: both searches then hold the same to be late.
PADDING_MS = 60_000 - TRANSACTION_MAX_TIMEOUT_MS
WAIT_SECONDS = (TRANSACTION_MAX_TIMEOUT_MS + PADDING_MS) / 1000 + 3
RELEASES = ("3.5.2", "4.3.0", "4.4.0")
# A broker that is paused stays a member meanwhile: without a leader, Kafka 4 drops the marker that is pending. A broker
# that is started again waits as long in the worst case.
STAYS_A_MEMBER = {"broker.session.timeout.ms": "20000"}
SEGMENTS_GO_AT_ONCE = {"log.retention.check.interval.ms": "1000"}


def zombie_in_a_listed_partition(lab: Lab) -> None:
    """A zombie's data in a partition that the present transaction of its successor lists, and has not written to."""
    topic = lab.topic("zombie.listed", [1])
    raw = lab.producer("zombie-listed-id", bumps=2)
    former = raw.as_of_epoch(raw.producer)
    raw.initialise()
    first = former.write(topic, 0, "written by the former self")
    raw.add(topic, 0)
    # An abort could hit what the successor writes here meanwhile. The marker of its own transaction ends both.
    story = "Data of the epoch before; the id's present transaction lists the partition and is left alone."
    lab.note_open(former, first, "STUCK_ONGOING", "FENCE", story)


def _recipe(name: str) -> Recipe:
    found = next(recipe for recipe in RECIPES if recipe.name == name)
    return replace(found, padding_ms=PADDING_MS, settings={**found.settings, **STAYS_A_MEMBER})


_KAFKA_3 = _recipe("kafka-3.5.2")
_KAFKA_4 = _recipe("kafka-4.3.0")
_KAFKA_4_4 = replace(_KAFKA_4, name="kafka-4.4.0", release="4.4.0")
_KAFKA_4_STOPPED = _recipe("kafka-4.3.0-stopped")
TRIALS: Sequence[Recipe] = (
    replace(
        _KAFKA_3,
        # An id expires while no other is there, and a broker is stopped for good when all else is done.
        before=(
            scenarios_dumps.expired,
            *_KAFKA_3.before[:-1],
            scenarios_dumps.phantom,
            zombie_in_a_listed_partition,
            scenarios.stuck_prepare,
            ask,
        ),
        settings={**_KAFKA_3.settings, **SEGMENTS_GO_AT_ONCE},
    ),
    replace(_KAFKA_4_STOPPED, before=(*_KAFKA_4_STOPPED.before, ask)),
    *(replace(recipe, before=(zombie_in_a_listed_partition, *recipe.before, ask)) for recipe in (_KAFKA_4, _KAFKA_4_4)),
)

_USUAL = {"LATE_WRITE_AFTER_END", "NEVER_ADDED", "EPOCH_MISMATCH", "HISTORY_COMPACTED", "STUCK_ONGOING",
          "ONGOING", "TOO_YOUNG"}  # fmt: skip
_LOST_OR_PREPARED = {"MARKER_LOST_COMMIT", "MARKER_LOST_ABORT", "STUCK_PREPARE", "PENDING"}
_GONE = {"ID_EXPIRED", "PHANTOM_BELOW_LOG_START"}
_OF_4 = _USUAL | _LOST_OR_PREPARED | {"TWO_PHASE_COMMIT"}
CAUSES: Mapping[str, set[str]] = {
    "kafka-3.5.2": _USUAL | _LOST_OR_PREPARED | _GONE,
    "kafka-4.3.0": _OF_4,
    "kafka-4.4.0": _OF_4,
    "kafka-4.3.0-stopped": _USUAL | _GONE,
}


class Difference(NamedTuple):
    """A topic with an open transaction that only one of the two offers as hanging, and why txnlog is right."""

    topic: str
    listed_by: str
    cause: str
    why: str


KAFKA, TXNLOG = "kafka-transactions.sh find-hanging", "txnlog"
_COMMITTED = "the application was told that it is committed: an abort throws it away; only older records show it"
_PREPARED = "the coordinator has decided and cannot write the marker: Kafka's search takes any state as being at work"
_ONGOING = "past its timeout, and its coordinator does nothing: Kafka's search does not look at how long it is ongoing"
_YOUNG = "written seconds ago with event time: Kafka's search believes the producer's clock, against its broker's"
_EPOCH = "of a fenced epoch; Kafka's search finds the partition in the id's next transaction and compares no epochs"
_YOUNGER = "no coordinator knows the producer id, but the logs of some begin later, as if a disk had been lost"
_NOWHERE = Difference("unknown-producer", KAFKA, "HISTORY_COMPACTED", _YOUNGER)
_OF_ALL_HOT = (
    _NOWHERE,
    Difference("event-time.orders_v1", KAFKA, "TOO_YOUNG", _YOUNG),
    Difference("lost-commit", KAFKA, "MARKER_LOST_COMMIT", _COMMITTED),
    Difference("stuck-ongoing", TXNLOG, "STUCK_ONGOING", _ONGOING),
    Difference("stuck-prepare", TXNLOG, "STUCK_PREPARE", _PREPARED),
    Difference("zombie.listed", TXNLOG, "STUCK_ONGOING", _EPOCH),
)
_OF_4_HOT = (
    *_OF_ALL_HOT,
    Difference("lost-commit.leaderless-tv1", KAFKA, "MARKER_LOST_COMMIT", _COMMITTED),
    Difference("lost-commit.leaderless-tv2", KAFKA, "MARKER_LOST_COMMIT", _COMMITTED),
)
DIFFERENCES: Mapping[str, Sequence[Difference]] = {
    "kafka-3.5.2": _OF_ALL_HOT,
    "kafka-4.3.0": _OF_4_HOT,
    "kafka-4.4.0": _OF_4_HOT,
    "kafka-4.3.0-stopped": (_NOWHERE, Difference("stuck-ongoing", TXNLOG, "STUCK_ONGOING", _ONGOING)),
}
