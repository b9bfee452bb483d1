"""`txnlog metrics`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from txnlog.commands.command import Command, add_tables, tables_root


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    parser.add_argument("--cluster", metavar="NAME", help="only this cluster (default: all)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="replace this file atomically (default: print)")


def _run(parsed: argparse.Namespace) -> None:
    from txnlog.report import prometheus

    found = prometheus.figures(tables_root(parsed.tables), parsed.cluster)
    if parsed.output is None:
        sys.stdout.write(prometheus.exposition(found))
    else:
        prometheus.write(found, parsed.output)


COMMAND = Command(
    "metrics",
    "print the results of each cluster's latest run as Prometheus metrics",
    _add_arguments,
    _run,
    "metrics --tables /data/txnlog --output /var/lib/node_exporter/textfile/txnlog.prom",
)
