"""`txnlog groups`."""

from __future__ import annotations

import argparse
import sys

from txnlog.commands.command import Command, add_cluster, add_format, add_tables, add_topic, tables_root
from txnlog.commands.terminal import width
from txnlog.report import group_list


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_tables(parser)
    parser.add_argument("--group", metavar="GROUP", help="only this consumer group")
    add_topic(parser)
    parser.add_argument(
        "--blocked", action="store_true", help="only groups that an open transaction blocks, and which one"
    )
    add_cluster(parser)
    add_format(parser)


def _run(parsed: argparse.Namespace) -> None:
    root = tables_root(parsed.tables)
    wanted = {"cluster": parsed.cluster, "group_id": parsed.group, "topic": parsed.topic}
    if parsed.blocked:
        text = group_list.rendered_blocked(group_list.blocked(root, **wanted), parsed.format, width())
    else:
        text = group_list.rendered_positions(group_list.positions(root, **wanted), parsed.format, width())
    sys.stdout.write(text)


COMMAND = Command(
    "groups",
    "list where consumer groups stand, and which of them open transactions block",
    _add_arguments,
    _run,
    "groups --tables /data/txnlog --blocked",
)
