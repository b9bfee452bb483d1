"""Simulated clusters are dumped, judged, and the verdicts held against the truth.

`python -m tests.simulation.judged --clusters 1000 --seed 7` prints how many hangs of each kind were decided, and each
verdict that is wrong with the seed of its cluster; `--only SEED` tells that cluster's story.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from tests.detection_cases import Sighting, detected
from tests.quick_spark import QUICK
from tests.simulation.cluster import MINUTE, PARTITIONS, TIMEOUT_MS, Fate
from tests.simulation.dumps import Dump, dumps_of
from txnlog.spark.session import session

LATE_MS = 20 * MINUTE
UNDECIDED, WAIT = "UNDETERMINED", "WAIT"


def violations(dump: Dump, row: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a verdict."""
    where = (f"{row['topic']}-{row['partition']}", row["producer_id"], row["start_offset"])
    fates = {dump.fate(event) for event in dump.written_from(*where)}
    if row["action"] == "ABORT" and fates & {Fate.COMMITTED, Fate.UNDECIDED}:
        yield f"ABORT of data that is {' and '.join(sorted(each.value for each in fates))}"
    fates = {dump.fate(event) for event in dump.written_from(*where, removed=True)}
    if row["action"] == "KEEP" and row["confidence"] == "HIGH" and Fate.COMMITTED not in fates:
        yield f"KEEP of data that is {' and '.join(sorted(each.value for each in fates))}"
    if row["action"] in ("FENCE", "MOVE_COORDINATOR"):
        yield from _wrong_ending(dump, row)


def _wrong_ending(dump: Dump, row: dict[str, Any]) -> Iterator[str]:
    """Ending the coordinator's transaction decides all open data of its producer id in all of its partitions."""
    current = dump.cluster.current(row["transactional_id"], dump.coordinator_to)
    if row["action"] == "FENCE" and dump.coordinator_to - current.start < TIMEOUT_MS:
        yield "FENCE before its timeout"
    for place in current.partitions:
        for event in dump.open(place, dump.now).get(row["producer_id"], []):
            if event.owner is not current and dump.fate(event) in (Fate.COMMITTED, Fate.UNDECIDED):
                yield f"{row['action']} decides data in {place} that is {dump.fate(event).value}"


def kind_of(dump: Dump, row: dict[str, Any]) -> str | None:
    """What hangs here, if it is a hang that is late; None for what its coordinator may still end."""
    events = dump.written_from(f"{row['topic']}-{row['partition']}", row["producer_id"], row["start_offset"])
    fates = {dump.fate(event) for event in events}
    if not events or Fate.UNDECIDED in fates or dump.logs_to - events[-1].time < LATE_MS:
        return None
    if Fate.COMMITTED in fates:
        return "COMMIT marker lost"
    return "ABORT marker lost" if Fate.ABORTED in fates else "never to be ended"


@dataclass
class Outcome:
    """What was wrong, and how many hangs of each kind and dump were decided."""

    wrong: list[str]
    decided: Counter[tuple[str, str]]
    hangs: Counter[tuple[str, str]]

    def shares(self) -> Iterable[str]:
        """A line for each kind of hang and of dump."""
        for kind, dump in sorted(self.hangs):
            of, decided = self.hangs[kind, dump], self.decided[kind, dump]
            yield f"{kind:22} {dump:24} {decided:6} of {of:6} decided ({decided / of:.0%})"


def judged(spark: SparkSession, seeds: Iterable[int]) -> Outcome:
    """Judge the dumps of each cluster, all first ones in one run of the detection, then all second ones."""
    outcome = Outcome([], Counter(), Counter())
    series = [dumps_of(seed) for seed in seeds]
    seen: dict[int, tuple[Sighting, ...]] = {}
    for number in range(max(len(dumps) for dumps in series)):
        these = [dumps[number] for dumps in series if number < len(dumps)]
        cases = {dump.case.id: replace(dump.case, sightings=seen.get(dump.cluster.seed, ())) for dump in these}
        found = detected(spark, list(cases.values()))
        for dump in these:
            rows = found.rows[dump.case.id]
            _judge(outcome, dump, rows)
            seen[dump.cluster.seed] = tuple(_sighting(row) for row in rows)
    return outcome


def _judge(outcome: Outcome, dump: Dump, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        for wrong in violations(dump, row):
            verdict = f"{row['topic']}-{row['partition']} {row['producer_id']} {row['cause']} {row['confidence']}"
            outcome.wrong.append(f"{dump.case.id}: {verdict}: {wrong}")
        _count(outcome, dump, row)


def _sighting(row: dict[str, Any]) -> Sighting:
    place = (row["topic"], row["partition"], row["producer_id"], row["start_offset"], row["batches"], row["bytes"])
    said = (row["topic_id"], row["action"], row["reason"], row["confidence"])
    return (*place, row["as_of"], row["copy_to"], *said, row["first_batch_leader_epoch"], row["first_batch_crc"])


def _count(outcome: Outcome, dump: Dump, row: dict[str, Any]) -> None:
    kind = kind_of(dump, row)
    if kind is not None:
        order = "coordinator copied last" if dump.coordinator_to > dump.logs_to else "coordinator copied first"
        key = (kind, "history compacted" if dump.is_compacted else order)
        outcome.hangs[key] += 1
        outcome.decided[key] += row["action"] not in (UNDECIDED, WAIT)


def story(spark: SparkSession, seed: int) -> str:
    """The logs of one cluster in words, with the truth and the verdicts."""
    lines, seen = [], ()
    for dump in dumps_of(seed):
        lines += [dump.case.id, f"copied {dict(dump.case.copied)}, {dump.case.coordinators} coordinators"]
        lines += [f"{name:24} {line}" for name, line in dump.case.logs.items()]
        for place in PARTITIONS:
            for producer_id, events in dump.open(place).items():
                fates = ", ".join(dump.fate(event).value for event in events)
                lines.append(f"truth: {place} of {producer_id}: {fates}")
        rows = detected(spark, [replace(dump.case, sightings=seen)]).rows[dump.case.id]
        seen = tuple(_sighting(row) for row in rows)
        for row in rows:
            place = f"{row['topic']}-{row['partition']} of {row['producer_id']}"
            lines.append(f"verdict: {place}: {row['cause']} {row['action']}: {row['reason']}")
        lines += [f"wrong: {wrong}" for row in rows for wrong in violations(dump, row)]
    return "\n".join(lines)


def main() -> None:
    """Judge many clusters, in groups of a thousand."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--only", type=int)
    asked = parser.parse_args()
    spark = session("txnlog-simulation", **{**QUICK, "spark.sql.shuffle.partitions": 2})
    if asked.only is not None:
        print(story(spark, asked.only))
        return
    total = Outcome([], Counter(), Counter())
    for start in range(asked.seed, asked.seed + asked.clusters, 1000):
        group = judged(spark, range(start, min(start + 1000, asked.seed + asked.clusters)))
        total.wrong += group.wrong
        total.decided += group.decided
        total.hangs += group.hangs
    print("\n".join([f"{asked.clusters} clusters from seed {asked.seed}", *total.shares(), *total.wrong]))
    raise SystemExit(bool(total.wrong))


if __name__ == "__main__":
    main()
