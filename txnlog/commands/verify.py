"""`txnlog verify`: the one command, apart from `detect --bootstrap-server`, that asks a running cluster."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from txnlog.commands.command import (
    FORMS,
    Command,
    add_bootstrap_server,
    add_format,
    add_tables,
    add_topic,
    bootstrap_and_timeout,
    tables_root,
)
from txnlog.commands.terminal import width
from txnlog.report import abort_candidates
from txnlog.report.fitted import Column
from txnlog.report.latest_run import LATEST_LAST
from txnlog.report.output import as_csv, as_json, as_table, counted, printable
from txnlog.report.selection import Selection
from txnlog.report.table_rows import check_cluster, rows
from txnlog.tables.append import append
from txnlog.tables.layout import RUNS, VERIFICATIONS, columns_of

COLUMNS = (
    Column("Topic", "topic", is_name=True),
    Column("Partition", "partition"),
    Column("StartOffset", "start_offset"),
    Column("Status", "status"),
    Column("Leader", "leader", dispensable=4),
    Column("LastStableOffset", "last_stable_offset", dispensable=1),
    Column("HighWatermark", "high_watermark", dispensable=3),
    Column("Reason", "reason", is_name=True, dispensable=2),
)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_bootstrap_server(parser)
    parser.add_argument(
        "--cluster",
        metavar="NAME",
        help="cluster of the candidates; default: the one whose dump had the live cluster's id",
    )
    add_topic(parser)
    add_format(parser, FORMS)


def _run(parsed: argparse.Namespace) -> None:
    root = tables_root(parsed.tables)
    bootstrap, timeout_s = bootstrap_and_timeout(parsed)
    candidates = abort_candidates.open_candidates(root)
    runs = rows(root, RUNS, order=LATEST_LAST)
    check_cluster(parsed.cluster, runs)
    from txnlog.live.client_properties import client_settings
    from txnlog.live.cluster import LiveCluster
    from txnlog.live.verifications import chosen_cluster, verifications

    live = LiveCluster(bootstrap, client_settings(parsed.command_config), timeout_s, bounds_all=True)
    live_id = live.cluster_id()
    chosen = chosen_cluster(candidates, runs, live_id, parsed.cluster)
    found = verifications(Selection(topic=parsed.topic).of(chosen), live, live_id)
    if found:
        append(root, VERIFICATIONS, found)
    sys.stdout.write(_rendered([row._asdict() for row in found], parsed.format))
    if found and parsed.format == "table":
        print(_summary([row.status for row in found], root.text, found[0].cluster, parsed.topic))
    others = len(candidates) - len(chosen)
    if others or not found:
        print(_remark(len(found), others, live_id), file=sys.stderr)


def _rendered(found: list[dict[str, object]], form: str) -> str:
    if form == "json":
        return as_json(found)
    if form == "csv":
        return as_csv(found, [field.name for field in columns_of(VERIFICATIONS)])
    return as_table(found, COLUMNS, width())


def _summary(statuses: list[str], tables: str, cluster: str, topic: str | None) -> str:
    """How many have which status, and what to type next if any can be aborted."""
    numbers = Counter(statuses)
    counts = ", ".join(f"{number} {status}" for status, number in sorted(numbers.items()))
    if not numbers["STILL_STUCK"] + numbers["BLOCKED_BY_EARLIER"]:
        return f"{counts}."
    names = (("--tables", tables), ("--cluster", cluster), ("--topic", topic))
    given = (word for name, value in names if value for word in abort_candidates.option(name, value))
    return f"{counts}. Next: txnlog abort-list {' '.join(map(abort_candidates.word, given))}"


def _remark(found: int, others: int, live_id: str) -> str:
    return (
        f"txnlog: {counted(found, 'open candidate')} of the cluster {printable(live_id)} verified; {others} of other"
        " clusters left out"
    )


COMMAND = Command(
    "verify",
    "ask the live cluster whether each abort candidate still blocks its partition",
    _add_arguments,
    _run,
    "verify --tables /data/txnlog --bootstrap-server kafka-1:9092 --command-config client.properties",
)
