"""`txnlog metrics`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from txnlog.commands.command import Command, add_tables
from txnlog.tables.layout import Root


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    parser.add_argument("--cluster", metavar="NAME", help="the figures of one cluster (all)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="replace this file at once (print them)")


def _run(parsed: argparse.Namespace) -> None:
    from txnlog.report import metrics

    found = metrics.figures(Root(parsed.tables), parsed.cluster)
    if parsed.output is None:
        sys.stdout.write(metrics.exposition(found))
    else:
        metrics.write(found, parsed.output)


COMMAND = Command(
    "metrics",
    "print what the latest run of each cluster found, as metrics of Prometheus",
    _add_arguments,
    _run,
    "metrics --tables /data/txnlog --output /var/lib/node_exporter/textfile/txnlog.prom",
)
