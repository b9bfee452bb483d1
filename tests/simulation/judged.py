"""Simulated clusters are dumped, judged, and the verdicts held against the truth.

`python -m tests.simulation.judged --clusters 1000 --seed 7` prints how many hangs of each kind were decided, and each
verdict that is wrong with the seed of its cluster; `--only SEED` tells that cluster's story. With `--archives 2` each
dump is judged with tables to which `txnlog archive` has added two copies of the coordinators' logs before it, and each
cluster once more as if its coordinators' logs had never been compacted: then no less may be decided.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from pyspark.sql import SparkSession

from tests.detection_cases import Case, Sighting, by_cluster, facts
from tests.quick_spark import QUICK
from tests.simulation.cluster import PARTITIONS, TIMEOUT_MS
from tests.simulation.contradictions import contradictions, stronger
from tests.simulation.dumps import Dump, Series, dumps_of
from tests.simulation.events import MINUTE, Event, Fate
from txnlog.config import Thresholds
from txnlog.detection.pipeline import detect, shown_whole
from txnlog.job.kept_records import keep_records
from txnlog.job.stored_archive import StoredArchive
from txnlog.spark.materialize import materialized_together
from txnlog.spark.session import session
from txnlog.tables.layout import Root
from txnlog.tables.store import Store

LATE_MS = 20 * MINUTE
UNDECIDED, WAIT = "UNDETERMINED", "WAIT"


def violations(dump: Dump, row: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a verdict."""
    where = (f"{row['topic']}-{row['partition']}", row["producer_id"], row["start_offset"])
    # What is to be aborted is looked for in the topic that there is now.
    there = {*dump.written_from(*where), *dump.written_from(*where, row["topic_id"])}
    fates = {dump.fate(event) for event in there}
    if row["action"] == "ABORT" and fates & {Fate.COMMITTED, Fate.UNDECIDED}:
        yield f"ABORT of data that is {' and '.join(sorted(each.value for each in fates))}"
    fates = {dump.fate(event) for event in dump.written_from(*where, row["topic_id"], removed=True)}
    if row["action"] == "KEEP" and row["confidence"] == "HIGH" and Fate.COMMITTED not in fates:
        yield f"KEEP of data that is {' and '.join(sorted(each.value for each in fates))}"
    if row["action"] in ("FENCE", "MOVE_COORDINATOR"):
        yield from _wrong_ending(dump, row)


def _wrong_ending(dump: Dump, row: dict[str, Any]) -> Iterator[str]:
    """Ending the coordinator's transaction decides all open data of its producer id in all of its partitions."""
    current = dump.cluster.current(row["transactional_id"], dump.coordinator_to)
    own = [each for each in dump.cluster.transactions if each.transactional_id == row["transactional_id"]]
    later = own[own.index(current) + 1 :]
    if row["action"] == "FENCE" and dump.coordinator_to - current.start < TIMEOUT_MS:
        yield "FENCE before its timeout"
    for place in current.partitions:
        for event in dump.open(place, dump.now).get(row["producer_id"], []):
            if event.owner is not current and dump.fate(event) in (Fate.COMMITTED, Fate.UNDECIDED):
                yield f"{row['action']} decides data in {place} that is {dump.fate(event).value}"
    there = (each for copy in dump.copies.values() for each in copy.holds if isinstance(each, Event))
    for event in there:
        if event.owner in later or (event.owner is current and row["action"] == "FENCE" and event.name != "data"):
            yield f"{row['action']} after the dump shows {event.name} of {event.said}"


def kind_of(dump: Dump, row: dict[str, Any]) -> str | None:
    """What hangs here, None if it is not late."""
    place = f"{row['topic']}-{row['partition']}"
    events = dump.written_from(place, row["producer_id"], row["start_offset"], row["topic_id"])
    fates = {dump.fate(event) for event in events}
    if not events or dump.logs_to - events[-1].time < LATE_MS:
        return None
    if Fate.UNDECIDED in fates:
        return "stuck in coordinator"
    if Fate.COMMITTED in fates:
        return "COMMIT marker lost"
    return "ABORT marker lost" if Fate.ABORTED in fates else "never to be ended"


@dataclass
class Outcome:
    """What was wrong; how many hangs of each kind and dump were decided, and of each kind and seed; how many of each
    seed by the archive.
    """

    wrong: list[str] = field(default_factory=list)
    decided: Counter[tuple[str, str]] = field(default_factory=Counter)
    hangs: Counter[tuple[str, str]] = field(default_factory=Counter)
    by_seed: Counter[tuple[str, int]] = field(default_factory=Counter)
    by_archive: Counter[int] = field(default_factory=Counter)
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, dump: Dump, rows: list[dict[str, Any]]) -> None:
        """The open transactions of a dump, of which those in tables of their own are not counted."""
        self.rows[dump.name] = rows
        for row in rows:
            for wrong in violations(dump, row):
                verdict = f"{row['topic']}-{row['partition']} {row['producer_id']} {row['cause']} {row['confidence']}"
                self.wrong.append(f"{dump.name}: {verdict}: {wrong}")
            if not dump.is_apart:
                self._count(dump, row)

    def _count(self, dump: Dump, row: dict[str, Any]) -> None:
        kind = kind_of(dump, row)
        if kind is not None:
            order = "coordinator copied last" if dump.coordinator_to > dump.logs_to else "coordinator copied first"
            key = (kind, "history compacted" if dump.is_compacted else order)
            self.hangs[key] += 1
            is_decided = row["action"] not in (UNDECIDED, WAIT)
            self.decided[key] += is_decided
            self.by_seed[kind, dump.cluster.seed] += is_decided
            self.by_archive[dump.cluster.seed] += is_decided and _names_archive(row)

    def shares(self) -> Iterable[str]:
        """A line for each kind of hang and of dump."""
        for kind, dump in sorted(self.hangs):
            of, decided = self.hangs[kind, dump], self.decided[kind, dump]
            yield f"{kind:22} {dump:24} {decided:6} of {of:6} decided ({decided / of:.0%})"


@dataclass
class Tables:
    """What a run leaves to the next one: the open transactions of each cluster, and the archive if there is a store."""

    spark: SparkSession
    store: Store | None = None
    seen: dict[str, tuple[Sighting, ...]] = field(default_factory=dict)

    def archive(self, cases: list[Case]) -> None:
        """What `txnlog archive` does with copies of the coordinators' logs."""
        assert self.store
        given, clusters = facts(self.spark, cases), [case.id for case in cases]
        shown = shown_whole(given, Thresholds(), materialized_together, None)
        keep_records(self.store, clusters, given.transaction_states, shown.times, shown.whole_parts)

    def judge(self, cases: list[Case]) -> dict[str, list[dict[str, Any]]]:
        """What `txnlog detect` does: the open transactions of each case."""
        clusters = [case.id for case in cases]
        given = facts(self.spark, [replace(case, sightings=self.seen.get(case.id, ())) for case in cases])
        if self.store:
            archive = StoredArchive(self.store, clusters)
            given = replace(given, archive=archive if archive.ranges else None)
        found = detect(given, Thresholds(), materialized_together)
        rows = by_cluster(found.transactions, clusters)
        if self.store:
            keep_records(self.store, clusters, given.transaction_states, found.times, found.whole_parts)
        self.seen |= {name: tuple(map(_sighting, of_case)) for name, of_case in rows.items()}
        return rows


def judged(spark: SparkSession, seeds: Sequence[int], archives: int = 0) -> Outcome:
    """Judge the dumps of each cluster, all first ones in one run of the detection, then all second ones.

    With archives, each cluster is judged once more as if nothing had ever been compacted.
    """
    outcome = Outcome()
    series = [dumps_of(seed, archives) for seed in seeds]
    whole = [dumps_of(seed, archives, compacts=False) for seed in seeds] if archives else []
    everything = [*series, *whole]
    with tempfile.TemporaryDirectory(prefix="txnlog-simulation-") as folder:
        tables = Tables(spark, _new_store(spark, folder) if archives else None)
        for number in range(max(len(each.dumps) for each in series)):
            these = [each for each in everything if number < len(each.dumps)]
            for copies in zip_longest(*(each.archived[number] for each in these)):
                tables.archive([copy for copy in copies if copy is not None])
            rows = tables.judge([dump.case for each in these for dump in each.judged_with(number)])
            for each in these:
                for dump in each.judged_with(number):
                    outcome.add(dump, rows[dump.case.id])
    for each in everything:
        outcome.wrong += contradictions(each.in_order(), outcome.rows)
    for each, never_compacted in zip(series, whole, strict=False):
        outcome.wrong += stronger(each.in_order(), never_compacted.in_order(), outcome.rows)
    return outcome


def _new_store(spark: SparkSession, folder: str) -> Store:
    store = Store(spark, Root(folder))
    store.ensure()
    store.await_tables()
    return store


def _sighting(row: dict[str, Any]) -> Sighting:
    place = (row["topic"], row["partition"], row["producer_id"], row["start_offset"], row["batches"], row["bytes"])
    said = (row["topic_id"], row["action"], row["reason"], row["confidence"])
    batches = (row["first_batch_leader_epoch"], row["first_batch_crc"], row["last_timestamp"])
    return (*place, row["as_of"], row["copy_ended"], *said, *batches, row["lacking"], row["also_lacking"])


def _names_archive(row: dict[str, Any]) -> bool:
    """Whether a record that the verdict may name was in an earlier dump only."""
    records = (row["committed"], row["listing"] and row["listing"]["prepared"])
    return any(record is not None and " of the dump of " in record["file"] for record in records)


def story(spark: SparkSession, seed: int, archives: int) -> str:
    """The logs of one cluster in words, with the truth and the verdicts.

    With archives, it is told once more as if nothing had ever been compacted.
    """
    compacted = dumps_of(seed, archives)
    rows: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory(prefix="txnlog-simulation-") as folder:
        tables = Tables(spark, _new_store(spark, folder) if archives else None)
        lines = [*_told(tables, compacted, rows)]
        if archives:
            never = dumps_of(seed, archives, compacts=False)
            lines += _told(tables, never, rows)
            lines += (f"wrong: {wrong}" for wrong in stronger(compacted.in_order(), never.in_order(), rows))
    return "\n".join(lines)


def _told(tables: Tables, series: Series, rows: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    for number, archived in enumerate(series.archived):
        for case in archived:
            tables.archive([case])
            yield f"archived {dict(case.copied)}"
            yield from _logs(case)
        for dump in series.judged_with(number):
            yield f"{dump.name}, copied {dict(dump.case.copied)}, {dump.case.coordinators} coordinators"
            yield from _logs(dump.case)
            yield from _truth(dump)
            rows[dump.name] = tables.judge([dump.case])[dump.case.id]
            for row in rows[dump.name]:
                place = f"{row['topic']}-{row['partition']} of {row['producer_id']}"
                yield f"verdict: {place}: {row['cause']} {row['action']} {row['confidence']}: {row['reason']}"
                yield from (f"wrong: {wrong}" for wrong in violations(dump, row))
    yield from (f"wrong: {wrong}" for wrong in contradictions(series.in_order(), rows))


def _logs(case: Case) -> Iterator[str]:
    return (f"{name:24} {line}" for name, line in case.logs.items())


def _truth(dump: Dump) -> Iterator[str]:
    for place in PARTITIONS:
        for producer_id, events in dump.open(place).items():
            yield f"truth: {place} of {producer_id}: {', '.join(dump.fate(event).value for event in events)}"


def main() -> None:
    """Judge many clusters, in groups of a thousand."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--archives", type=int, default=0)
    parser.add_argument("--only", type=int)
    asked = parser.parse_args()
    spark = session("txnlog-simulation", is_small=False, **{**QUICK, "spark.sql.shuffle.partitions": 2})
    if asked.only is not None:
        print(story(spark, asked.only, asked.archives))
        return
    total = Outcome()
    for start in range(asked.seed, asked.seed + asked.clusters, 1000):
        group = judged(spark, range(start, min(start + 1000, asked.seed + asked.clusters)), asked.archives)
        total.wrong += group.wrong
        total.decided += group.decided
        total.hangs += group.hangs
        total.by_archive += group.by_archive
    told = f"{asked.clusters} clusters from seed {asked.seed}, {total.by_archive.total()} hangs decided by the archive"
    print("\n".join([told, *total.shares(), *total.wrong]))
    raise SystemExit(bool(total.wrong))


if __name__ == "__main__":
    main()
