"""The samples: which release, which cases in which order."""

from collections.abc import Sequence

import scenarios
import scenarios_closed
import scenarios_dumps
import scenarios_kafka4
import scenarios_shop
from recipe import DayRecipe, Recipe, Scenario, StoppedRecipe, TornRecipe

CLOSED: Sequence[Scenario] = (
    scenarios_closed.ordinary_transactions,
    scenarios_closed.plain_batches,
    scenarios_closed.fenced,
    scenarios_closed.empty,
    scenarios_closed.healed,
    scenarios_closed.absorbed,
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

SHOP = {
    "transaction.max.timeout.ms": "900000",
    "broker.session.timeout.ms": "30000",
    # No broker takes another for dead because its clock was moved.
    **dict.fromkeys(
        (
            "controller.quorum.fetch.timeout.ms",
            "controller.quorum.request.timeout.ms",
            "controller.socket.timeout.ms",
            "replica.lag.time.max.ms",
            "replica.socket.timeout.ms",
            "request.timeout.ms",
        ),
        "172800000",
    ),
}
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
            scenarios_closed.ordinary_transactions,
            scenarios_closed.healed,
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
            scenarios_closed.ordinary_transactions,
            scenarios.late_write,
            scenarios_dumps.coverage_gap,
            scenarios_dumps.begun_before,
        ),
        after=(scenarios_dumps.begun_after,),
        state_partitions=5,
    ),
    DayRecipe(
        name="shop",
        release="3.5.2",
        note=(
            "A day of a web shop on three brokers of Kafka 3.5.2, from 06:00 to 06:00 UTC, dumped while they",
            "run: some four hundred transactions of the checkout, payments, shipping and stock. Three hang,",
            "and one was committed and lost its marker: `truth.json` tells how. Brokers and clients ran with",
            "a clock that was moved on from one transaction to the next; `transaction.max.timeout.ms` is 15 minutes.",
            "Made by `recipes/make.py shop`.",
        ),
        before=(scenarios_shop.day,),
        after=(scenarios_shop.in_flight, scenarios_shop.all_else),
        settings=SHOP,
    ),
)
