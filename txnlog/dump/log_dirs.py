"""The log directories of a dump: whose each is, by manifests and `meta.properties`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

from txnlog.dump.dump_file import TEXTS, DumpFile, FileKind, LogDir
from txnlog.dump.manifest import NAME as MANIFEST
from txnlog.dump.manifest import Manifest, read_manifest
from txnlog.dump.opener import small_content
from txnlog.errors import DumpError, FormatError, StoreError
from txnlog.format.checkpoint import properties

Of = TypeVar("Of")
LONGEST_CLUSTER = 80
LARGEST_META_PROPERTIES = 1 << 20
# What Delta calls the folder of rows without a value.
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
# The cluster of a dump in which nothing names one.
UNNAMED = "unnamed"


def manifests_of(files: Iterable[DumpFile]) -> dict[str, Manifest]:
    """Manifests by their folder, relative to the root."""
    found = [file for file in files if file.kind is FileKind.MANIFEST and not file.skipped]
    return {os.path.dirname(file.file): read_manifest(file.path) for file in found}


def log_dirs_of(
    root: str, files: tuple[DumpFile, ...], manifests: dict[str, Manifest], cluster: str | None
) -> tuple[LogDir, ...]:
    """The log directories that hold the files of logs, or texts."""
    kinds = (FileKind.META_PROPERTIES, FileKind.DUMP_TEXT)
    found = sorted({file.log_dir for file in files if file.topic is not None or file.kind in kinds})
    paths = {file.log_dir: file.path for file in files if file.kind is FileKind.META_PROPERTIES and not file.skipped}
    identities = {log_dir: _identity(paths.get(log_dir.removesuffix(TEXTS))) for log_dir in found}
    log_dirs, ids_of_cluster = [], dict[str, str]()
    for log_dir in found:
        folder, manifest = nearest(manifests, log_dir, Manifest())
        cluster_id, broker = identities[log_dir]
        name = cluster or manifest.cluster or cluster_id or _only({identity[0] for identity in identities.values()})
        name = _partition_value(root, name or UNNAMED)
        if cluster_id and ids_of_cluster.setdefault(name, cluster_id) != cluster_id:
            raise DumpError(
                f"{root}: {log_dir} is of cluster {cluster_id}, other folders named {name} are of cluster "
                f"{ids_of_cluster[name]}: give each cluster a folder of its own with its own {MANIFEST}"
            )
        within = log_dir.removesuffix(TEXTS).removeprefix(folder).strip("/") or "."
        log_dirs.append(
            LogDir(
                log_dir,
                name,
                broker or within,
                manifest.time_of(within),
                manifest.transaction_max_timeout_ms,
                manifest.transaction_state_partitions,
                cluster_id,
            )
        )
    return tuple(log_dirs)


def _partition_value(root: str, cluster: str) -> str:
    """The name, if the tables can be partitioned by it: it becomes a folder, in which a byte may take three."""
    if len(cluster.encode()) > LONGEST_CLUSTER:
        raise DumpError(f"{root}: the cluster's name has more than {LONGEST_CLUSTER} bytes: give it another")
    if cluster == NULL_PARTITION or "\0" in cluster:
        raise DumpError(f"{root}: no cluster can be named {cluster}: give it another name")
    return cluster


def nearest(of_folders: dict[str, Of], folder: str, otherwise: Of) -> tuple[str, Of]:
    """What the nearest folder has, and that folder; relative to the root, which is ""."""
    while folder and folder != ".":
        if folder in of_folders:
            return folder, of_folders[folder]
        folder = os.path.dirname(folder)
    return "", of_folders.get("", otherwise)


def _only(names: set[str | None]) -> str | None:
    known = names - {None}
    return known.pop() if len(known) == 1 else None


def _identity(path: str | None) -> tuple[str | None, str | None]:
    """Cluster id and broker id of a log directory by its `meta.properties`, where it is there and can be read."""
    if path is None:
        return None, None
    try:
        pairs = properties(small_content(path, LARGEST_META_PROPERTIES).decode())
    except StoreError:
        # A file that is not to be had is not one without a name in it.
        raise
    except (OSError, UnicodeDecodeError, FormatError, DumpError):
        return None, None
    return pairs.get("cluster.id"), pairs.get("node.id") or pairs.get("broker.id")
