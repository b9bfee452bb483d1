"""The script of `txnlog copy-script`: it copies brokers' log directories into a dump, and can be run again."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources

from txnlog.errors import OptionError
from txnlog.times import instant_ms, iso_8601, milliseconds

BODY = resources.files("txnlog.dump") / "script_files" / "copy.sh"
LOCAL, SSH, POD = "local", "ssh", "pod"
# What ssh or kubectl would take for an option is no address.
_SOURCE = re.compile(r"(?P<broker>\w[\w.-]*)=(?:(?P<pod>pod/)?(?P<host>\w[\w.@-]*):)?(?P<log_dir>/.*)", re.ASCII)
HEADER = """#!/usr/bin/env bash
# Copies log directories of Kafka brokers into a dump for txnlog. It changes nothing on the brokers, which may go on
# running. Printed by txnlog copy-script. Run it again to go on after a cut, or to bring the copy up to date.
#
#   bash copy.sh                       copies into the folder {to}
#   TO=/backup/tonight bash copy.sh    copies into another one
#   PARTITIONS='orders-* payments-*'   copies only these folders of partitions, and all of __transaction_state
#   SSH='ssh -i key'                   reaches brokers with this command
#   KUBECTL='kubectl --namespace kafka' CONTAINER=kafka
#                                      reaches pods with this command, in this container
#   UPLOAD=s3://bucket/tonight         then uploads the copy, with aws, gcloud (gs://) or rclone (any other)
#
# It needs bash, GNU find and date here, and GNU find on the brokers; rsync 3 on both, or with --tar and for
# pods tar here and GNU tar on the brokers.
# Exit code 1: something was cut off, run it again. 2: nothing was copied.
set -euo pipefail
"""


@dataclass(frozen=True, slots=True)
class Source:
    """A log directory to copy, and the way to it: on this machine, over ssh, or in a pod."""

    broker: str
    way: str
    host: str
    log_dir: str


@dataclass(frozen=True, slots=True)
class Copies:
    """What a script is made of: `snapshot` is when disks were snapshot, of which mounts are copied then."""

    sources: Sequence[Source]
    to: str = "dump"
    cluster: str | None = None
    max_transaction_timeout: str | None = None
    coordinator_partitions: int | None = None
    snapshot: tuple[str, str] | None = None
    with_tar: bool = False


def source(text: str) -> Source:
    """`BROKER=/path`, `BROKER=HOST:/path` or `BROKER=pod/NAME:/path`. `OptionError` for anything else."""
    match = _SOURCE.fullmatch(text)
    if match is None or not text.isprintable():
        raise OptionError(
            f"{text!r} is not a log directory: write it as 1=/path, 1=host:/path or 1=pod/name:/path, where 1 is the"
            " broker"
        )
    way = POD if match["pod"] else SSH if match["host"] else LOCAL
    return Source(match["broker"], way, match["host"] or "", match["log_dir"].rstrip("/") or "/")


def script(copies: Copies) -> str:
    """The whole script. `OptionError` names a value that cannot be used."""
    twice = [each for each, count in Counter(copies.sources).items() if count > 1]
    if twice:
        raise OptionError(f"{twice[0].log_dir} of broker {twice[0].broker} is named twice")
    started, ended = _snapshot(copies.snapshot)
    manifest = "\n".join(_manifest(copies))
    return (
        HEADER.format(to=_word("--to", copies.to))
        + f"TO=${{TO:-{_word('--to', copies.to)}}} COPY_WITH={'tar' if copies.with_tar else 'rsync'}\n"
        + f"SNAPSHOT_STARTED={started} SNAPSHOT_ENDED={ended}\n"
        + f"MANIFEST={shlex.quote(manifest)}\n\n"
        + "# One line a log directory: name, way, address, path.\n"
        + "each_log_dir() {\n"
        + "".join(_lines(copies.sources))
        + "}\n\n"
        + BODY.read_text("utf-8")
    )


def _lines(sources: Sequence[Source]) -> Iterator[str]:
    """The calls for each log directory. A broker with several has a folder for each below its own."""
    of_broker, place = Counter(each.broker for each in sources), Counter[str]()
    for each in sources:
        place[each.broker] += 1
        name = each.broker if of_broker[each.broker] == 1 else f"{each.broker}/disk-{place[each.broker]}"
        yield f'  "$1" {name} {each.way} {shlex.quote(each.host)} {shlex.quote(each.log_dir)}\n'


def _manifest(copies: Copies) -> Iterator[str]:
    """Keys of `dump.toml` that belong to no copy. A string of JSON is one of TOML."""
    if copies.cluster is not None:
        yield f"cluster = {json.dumps(_printable('--cluster', copies.cluster), ensure_ascii=False)}"
    if copies.max_transaction_timeout is not None:
        yield f'transaction_max_timeout = "{milliseconds(copies.max_transaction_timeout)}ms"'
    if copies.coordinator_partitions is not None:
        yield f"transaction_state_partitions = {copies.coordinator_partitions}"


def _snapshot(given: tuple[str, str] | None) -> Iterable[str]:
    """When the snapshots were taken, as the script has it."""
    if given is None:
        return "''", "''"
    started, ended = map(instant_ms, given)
    if ended < started:
        raise OptionError("--snapshot-ended lies before --snapshot-started")
    return iso_8601(started), iso_8601(ended)


def _word(flag: str, text: str) -> str:
    return shlex.quote(_printable(flag, text))


def _printable(flag: str, text: str) -> str:
    if not text or not text.isprintable():
        raise OptionError(f"{flag}: {text!r} must have printable characters only, and at least one")
    return text
