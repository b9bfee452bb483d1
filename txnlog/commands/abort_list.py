"""`txnlog abort-list`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from txnlog.commands.command import (
    Command,
    add_cluster,
    add_format,
    add_tables,
    add_topic,
    duration_ms,
    tables_root,
    write,
)
from txnlog.detection.causes import CAUSES_OF_ABORT
from txnlog.errors import OptionError
from txnlog.report import abort_candidates
from txnlog.report.abort_script import Aborts, script
from txnlog.report.dump_states import dump_states
from txnlog.report.latest_run import LATEST_LAST
from txnlog.report.output import counted, printable
from txnlog.report.selection import Selection
from txnlog.report.table_rows import check_cluster, only_cluster, rows
from txnlog.report.verified import BLOCKED, NOT_LATELY, Sorted, by_verification, verifications
from txnlog.tables.layout import RUNS

# How old an answer of `txnlog verify` may be.
WITHIN = "10m"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_format(parser, ("sh", "json", "csv"))
    parser.add_argument("--output", type=Path, metavar="FILE", help="write to this file (default: print)")
    parser.add_argument(
        "--broker-version",
        choices=("3.0", "older"),
        default="3.0",
        help="older: commands for brokers before 3.0, which check nothing",
    )
    add_cluster(parser)
    add_topic(parser)
    parser.add_argument(
        "--verified-within",
        metavar="DURATION",
        help=f"only candidates that `txnlog verify` found STILL_STUCK within this time ({WITHIN})",
    )
    parser.add_argument(
        "--unverified",
        action="store_true",
        help="all candidates but those that `txnlog verify` found RESOLVED or GONE",
    )
    parser.add_argument(
        "--include-accepted",
        metavar="CAUSE",
        action="append",
        default=[],
        help="also transactions that `detect --accept-compacted-history` marked and that would have this cause, such as"
        " COORDINATOR_UNKNOWN; printed separately under a warning, because they may be committed data; may be repeated;"
        " needs --unverified",
    )


def _run(parsed: argparse.Namespace) -> None:
    _check(parsed)
    root = tables_root(parsed.tables)
    within = None if parsed.unverified else duration_ms("--verified-within", parsed.verified_within or WITHIN)
    candidates, older = abort_candidates.offered(root)
    seen = verifications(root)
    runs = rows(root, RUNS, order=LATEST_LAST)
    cluster = _cluster(parsed, [*runs, *candidates])
    wanted = Selection(cluster, parsed.topic)
    candidates = wanted.of(candidates)
    found = by_verification(candidates, seen, within, datetime.now(UTC))
    for line in _remarks(found, len(candidates), older):
        print(line, file=sys.stderr)
    if parsed.format != "sh":
        _put(parsed, abort_candidates.rendered(found.offered, parsed.format))
        return
    more = abort_candidates.accepted(root, parsed.include_accepted) if parsed.include_accepted else []
    more = wanted.of(more)
    states = dump_states(root, [*found.offered, *found.blocked, *more])
    live_id = _cluster_id(cluster, [*seen, *runs])
    is_older = parsed.broker_version == "older"
    _put(parsed, script(Aborts(cluster or "", live_id, found.offered, more, found.blocked, states, is_older)))


def _put(parsed: argparse.Namespace, text: str) -> None:
    if parsed.output is None:
        sys.stdout.write(text)
    else:
        write(parsed.output, text, "the list")


def _check(parsed: argparse.Namespace) -> None:
    if parsed.unverified and parsed.verified_within:
        raise OptionError("--verified-within, --unverified: only one of the two")
    if parsed.include_accepted and parsed.format != "sh":
        raise OptionError(f"--include-accepted: only the script prints them separately, not --format {parsed.format}")
    if parsed.include_accepted and not parsed.unverified:
        raise OptionError("--include-accepted needs --unverified: verify asks about proved candidates only")
    if others := sorted(set(parsed.include_accepted) - CAUSES_OF_ABORT):
        raise OptionError(f"--include-accepted: {', '.join(map(printable, others))}: no cause of an abort")


def _cluster(parsed: argparse.Namespace, found: list[dict[str, Any]]) -> str | None:
    """The only cluster, or the one that is named; None for all of them, which a script cannot have."""
    if parsed.format == "sh":
        return only_cluster(parsed.cluster, found)
    check_cluster(parsed.cluster, found)
    return str(parsed.cluster) if parsed.cluster else None


def _cluster_id(cluster: str | None, runs: list[dict[str, Any]]) -> str | None:
    """The id of the cluster by its latest dump that had one, or else of the one that `verify` asked."""
    found = [row["cluster_id"] for row in runs if row["cluster"] == cluster and row.get("cluster_id")]
    return found[-1] if found else None


def _remarks(found: Sorted, candidates: int, older: int) -> Iterator[str]:
    reasons = Counter([*found.left_out, *([BLOCKED] * len(found.blocked))])
    if reasons:
        counts = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
        yield f"txnlog: {reasons.total()} of {counted(candidates, 'open candidate')} left out: {counts}"
    if reasons[NOT_LATELY]:
        yield "txnlog: run txnlog verify first; --unverified offers what it has not confirmed"
    if older:
        was = "was" if older == 1 else "were"
        yield (
            f"txnlog: {counted(older, 'open candidate')} left out that {was} judged by an older txnlog without proofs:"
            " run txnlog detect on a dump"
        )


COMMAND = Command(
    "abort-list",
    "print the abort commands backed by complete evidence",
    _add_arguments,
    _run,
    "abort-list --tables /data/txnlog --cluster payments > aborts.sh",
)
