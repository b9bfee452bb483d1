"""`dump.toml`, the optional manifest in a dump's root: which cluster, and when each broker's copy was taken."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from txnlog.dump.opener import shown, small_content
from txnlog.dump_log.dump_text import topic_partition
from txnlog.errors import DumpError, FormatError, OptionError
from txnlog.times import instant_ms, milliseconds

NAME = "dump.toml"
LARGEST_MANIFEST = 1 << 20


@dataclass(frozen=True, slots=True)
class CopyTime:
    """When a copy was taken, in ms since 1970; `ended` is None where only one time is known."""

    started: int
    ended: int | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is known of a dump beside its files.

    `copies` maps a folder, relative to the root, to its time; `texts` a text of `kafka-dump-log.sh` to the partition
    (`orders-0`) that it is of where it does not say so itself.
    """

    cluster: str | None = None
    whole: CopyTime | None = None
    copies: dict[str, CopyTime] = field(default_factory=dict)
    transaction_max_timeout_ms: int | None = None
    transaction_state_partitions: int | None = None
    texts: dict[str, str] = field(default_factory=dict)

    def time_of(self, log_dir: str) -> CopyTime | None:
        """The time of the nearest folder above `log_dir` that the manifest names, else of the whole dump."""
        parts = log_dir.split("/")
        for length in range(len(parts), 0, -1):
            if (time := self.copies.get("/".join(parts[:length]))) is not None:
                return time
        return self.whole


def read_manifest(path: str) -> Manifest:
    """The manifest that the file at `path` holds. `DumpError` names the file and the key."""
    try:
        content = tomllib.loads(small_content(path, LARGEST_MANIFEST).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, FormatError, RecursionError, OSError) as error:
        raise DumpError(f"{shown(path)}: {error}") from error
    return _manifest(shown(path), content)


def _manifest(path: str, content: dict[str, Any]) -> Manifest:
    known = {
        "cluster",
        "started",
        "ended",
        "copies",
        "transaction_max_timeout",
        "transaction_state_partitions",
        "texts",
    }
    for key in content.keys() - known:
        raise DumpError(f"{path}: {key} is not a key of a manifest; known are {', '.join(sorted(known))}")
    partitions = content.get("transaction_state_partitions")
    if partitions is not None and (type(partitions) is not int or partitions < 1):
        raise DumpError(f"{path}: transaction_state_partitions must be a whole number above 0")
    copies = content.get("copies", {})
    if not isinstance(copies, dict) or not all(isinstance(value, dict) for value in copies.values()):
        raise DumpError(f'{path}: copies must be tables such as [copies."broker-1"]')
    return Manifest(
        cluster=_text(path, content.get("cluster")),
        whole=_copy_time(path, "", content),
        copies={folder.strip("/"): time for folder, value in copies.items() if (time := _copy(path, folder, value))},
        transaction_max_timeout_ms=_number(path, "", "transaction_max_timeout", content, milliseconds),
        transaction_state_partitions=partitions,
        texts=_texts(path, content.get("texts", {})),
    )


def _texts(path: str, content: Any) -> dict[str, str]:
    if not isinstance(content, dict):
        raise DumpError(f'{path}: texts must be a table such as [texts] with "ticket/orders.txt" = "orders-0"')
    for file, name in content.items():
        if not isinstance(name, str) or topic_partition(name)[0] is None:
            raise DumpError(f"{path}: texts.{file}: {name!r} is not a partition such as orders-0")
    return {file.strip("/"): name for file, name in content.items()}


def _number(path: str, prefix: str, key: str, content: dict[str, Any], read: Callable[[Any], int]) -> int | None:
    try:
        return read(content[key]) if key in content else None
    except OptionError as error:
        raise DumpError(f"{path}: {prefix}{key}: {error}") from error


def _text(path: str, value: Any) -> str | None:
    if value is not None and (not isinstance(value, str) or not value):
        raise DumpError(f"{path}: cluster must be a string that is not empty")
    return value


def _copy(path: str, folder: str, content: dict[str, Any]) -> CopyTime | None:
    for key in content.keys() - {"started", "ended"}:
        raise DumpError(f"{path}: copies.{folder}.{key} is not a key of a copy; known are started and ended")
    return _copy_time(path, f"copies.{folder}.", content)


def _copy_time(path: str, prefix: str, content: dict[str, Any]) -> CopyTime | None:
    started = _number(path, prefix, "started", content, instant_ms)
    ended = _number(path, prefix, "ended", content, instant_ms)
    if started is None:
        if ended is not None:
            raise DumpError(f"{path}: {prefix}ended is given without {prefix}started")
        return None
    if ended is not None and ended < started:
        raise DumpError(f"{path}: {prefix}ended lies before {prefix}started")
    return CopyTime(started, ended)
