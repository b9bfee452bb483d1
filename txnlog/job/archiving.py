"""`txnlog archive`: keeps what coordinators said, of a dump or of the running cluster, and judges nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from txnlog.config import DetectOptions
from txnlog.detection.inputs import Facts
from txnlog.detection.pipeline import shown_whole
from txnlog.detection.whole_ranges import WholeRange
from txnlog.dump.dump_file import Inventory
from txnlog.errors import DumpError
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.job.facts import facts_of, log_dirs_frame
from txnlog.job.few_rows import is_few_rows
from txnlog.job.kept_records import keep_records
from txnlog.job.known_segments import without_known_segments
from txnlog.job.persisting import persisting
from txnlog.job.preparing import check_dated, listed, open_tables
from txnlog.job.steps import Steps
from txnlog.job.stored_archive import stored_ranges
from txnlog.sources.reading import evidence
from txnlog.spark.materialize import materialized_together
from txnlog.tables.layout import Root
from txnlog.tables.lock import only_writer
from txnlog.tables.store import Store

if TYPE_CHECKING:
    from txnlog.live.cluster import LiveCluster

Start = Callable[[bool], SparkSession]
# How far the archive has each log: by cluster, coordinator partition and topic id.
Ends = dict[tuple[str, int, str], int]


def archive_dump(start: Start, options: DetectOptions, announce: Callable[[str], None]) -> dict[str, int]:
    """Keep what a dump shows of coordinators; how many records are new, by cluster. Other partitions are not read.

    Segments that the archive has already are not read either, but for the one with the last record of them.
    """
    steps = Steps(announce)
    with steps.step("list the dump"):
        dump = _of_coordinators(listed(options))
        if not any(file.topic for file in dump.files):
            raise DumpError(f"{options.dump}: there is no log of a partition of {TRANSACTION_STATE} in it")
    with steps.step("start Spark"):
        spark = start(is_few_rows(dump))
    store, clusters = Store(spark, Root(options.tables)), sorted({each.cluster for each in dump.log_dirs})
    with ExitStack() as writing, persisting(spark) as persist:
        with steps.step("open the tables"):
            open_tables(store, writing)
        news = without_known_segments(dump.files, stored_ranges(store, clusters))
        with steps.step("read and keep"):
            read = persist(evidence(spark, dataclasses.replace(dump, files=news)))
            facts = facts_of(read, options, dump, persist=persist)
            return _kept(store, clusters, facts, options)


def archive_cluster(
    start: Start,
    options: DetectOptions,
    cluster: str,
    live: LiveCluster,
    announce: Callable[[str], None],
) -> dict[str, int]:
    """Keep what the running cluster shows of coordinators, under the name `cluster`; how many records are new.

    Each partition is read from the last record on that the archive has. What was read of some is kept before the next
    are: killed in between, the next run goes on from there.
    """
    from txnlog.live.coordinator_facts import live_log_dir, with_coordinators
    from txnlog.live.coordinators import described, logs_in_turn

    steps, new = Steps(announce), 0
    with steps.step("start Spark"):
        spark = start(False)
    store = Store(spark, Root(options.tables))
    with ExitStack() as writing:
        with steps.step("open the tables"):
            open_tables(store, writing)
            nothing = facts_of(evidence(spark, Inventory("", (), ())), options, Inventory("", (), ()))
        with steps.step("read and keep"):
            topic = described(live)
            ends = ends_of(stored_ranges(store, [cluster]))
            known = {each: ends.get((cluster, each, topic.topic_id), 0) for each in topic.leaders}
            for logs in logs_in_turn(live, topic, known):
                log_dirs = log_dirs_frame(spark, [live_log_dir(logs, cluster)], options)
                facts = with_coordinators(nothing, logs, cluster, log_dirs)
                new += _kept(store, [cluster], facts, options)[cluster]
    return {cluster: new}


def _kept(store: Store, clusters: list[str], facts: Facts, options: DetectOptions) -> dict[str, int]:
    shown = shown_whole(facts, options.thresholds, materialized_together, options.as_of)
    check_dated(options, shown.undated)
    with ExitStack() as alone:
        # What is written depends on what is there: no other job may come in between.
        if not store.has_new_tables:
            alone.enter_context(only_writer(store.root))
        store.await_tables()
        return keep_records(store, clusters, facts.transaction_states, shown.times, shown.whole_parts)


def _of_coordinators(dump: Inventory) -> Inventory:
    """Only the logs of coordinators, and the files that are of no partition. Printed output proves no range."""
    files = (file for file in dump.files if file.topic in (None, TRANSACTION_STATE) and not file.is_text)
    return dataclasses.replace(dump, files=tuple(files))


def ends_of(ranges: Iterable[WholeRange]) -> Ends:
    """The offset after the last one that some ranges have of each log."""
    ends: Ends = {}
    for each in ranges:
        ends[each.log] = max(each.to_offset, ends.get(each.log, 0))
    return ends
