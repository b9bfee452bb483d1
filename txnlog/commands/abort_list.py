"""`txnlog abort-list`."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime

from txnlog.commands.command import Command, add_format, add_tables, duration_ms
from txnlog.errors import OptionError
from txnlog.report import abort_list, verified
from txnlog.report.output import printable
from txnlog.tables.layout import Root


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    add_format(parser, ("sh", "json", "csv"))
    parser.add_argument(
        "--broker-version",
        choices=("3.0", "older"),
        default="3.0",
        help="older: commands for brokers before 3.0, which check nothing",
    )
    parser.add_argument(
        "--verified-within",
        metavar="DURATION",
        help="only candidates that `txnlog verify` found STILL_STUCK within this time, e.g. 10m",
    )
    parser.add_argument(
        "--include-accepted",
        metavar="CAUSE",
        action="append",
        default=[],
        help="also transactions that `detect --accept-compacted-history` marked and that would have this cause, such as"
        " COORDINATOR_UNKNOWN; printed separately under a warning, because they may be committed data; may be repeated",
    )


def _run(parsed: argparse.Namespace) -> None:
    if parsed.include_accepted and parsed.format != "sh":
        raise OptionError(f"--include-accepted: only the script prints them separately, not --format {parsed.format}")
    root = Root(parsed.tables)
    within = duration_ms("--verified-within", parsed.verified_within)
    found, older = abort_list.offered(root)
    if within is not None:
        stuck = verified.still_stuck(found, verified.verifications(root), within, datetime.now(UTC))
        if len(stuck) < len(found):
            print(_left_out(len(found) - len(stuck), len(found), parsed), file=sys.stderr)
        found = stuck
    if older:
        print(
            f"txnlog: {older} open candidates are left out: an older txnlog judged them without proofs. Run txnlog"
            " detect on a dump to judge them again",
            file=sys.stderr,
        )
    is_older = parsed.broker_version == "older"
    more = abort_list.accepted(root, parsed.include_accepted) if parsed.include_accepted else []
    if parsed.format != "sh":
        sys.stdout.write(abort_list.rendered(found, parsed.format, is_older))
        return
    script = abort_list.rendered(found, "sh", is_older)
    sys.stdout.write((script or abort_list.HEADER) + abort_list.accepted_part(more, is_older) if more else script)


def _left_out(count: int, of: int, parsed: argparse.Namespace) -> str:
    return (
        f"txnlog: {count} of {of} open candidates are left out: no `txnlog verify` has found them STILL_STUCK within"
        f" {printable(parsed.verified_within)}"
    )


COMMAND = Command(
    "abort-list",
    "print the abort commands backed by complete evidence",
    _add_arguments,
    _run,
    "abort-list --tables /data/txnlog --verified-within 10m > aborts.sh",
)
