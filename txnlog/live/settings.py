"""What `detect --bootstrap-server` asks: cluster id, `transaction.max.timeout.ms`, number of coordinator partitions."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from txnlog.config import DetectOptions
from txnlog.dump.dump_file import Inventory
from txnlog.dump.log_dirs import UNNAMED
from txnlog.errors import ClusterError, OptionError
from txnlog.format.coordinator import TRANSACTION_STATE
from txnlog.live.answers import Topic
from txnlog.live.client_properties import client_settings
from txnlog.live.cluster import LiveCluster

LOG = logging.getLogger("txnlog")
TIMEOUT_S = 30.0
MAX_TIMEOUT = "transaction.max.timeout.ms"


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Settings of a running cluster; `coordinator_partitions` is None while it has no `__transaction_state`.

    `transaction_max_timeout_ms` is None where it was not asked for.
    """

    cluster_id: str
    transaction_max_timeout_ms: int | None
    coordinator_partitions: int | None


def live_cluster(options: DetectOptions) -> LiveCluster:
    """The running cluster that the options name. `OptionError` where they contradict each other."""
    if options.live_coordinators and options.as_of is not None:
        raise OptionError(
            "as_of is one time for all copies, but live_coordinators are read now: give the copies' times in dump.toml"
        )
    path = None if options.command_config is None else Path(options.command_config)
    return LiveCluster(options.bootstrap_server or "", client_settings(path), TIMEOUT_S)


def cluster_settings(live: LiveCluster, options: DetectOptions) -> ClusterSettings:
    """The cluster's settings. `ClusterError` if it cannot be reached; a single broker that is down does not matter.

    What the options have is not asked for: brokers' settings need DESCRIBE_CONFIGS, which not everybody has.
    """
    max_timeout = _max_timeout_ms(live) if options.max_transaction_timeout is None else None
    return ClusterSettings(live.cluster_id(), max_timeout, _coordinator_partitions(live))


def _max_timeout_ms(live: LiveCluster) -> int:
    """The largest of all brokers' limits: each has its own, and any of them may be a coordinator."""
    found = live.broker_settings(live.brokers())
    silent = {broker: reason for broker, reason in found.items() if isinstance(reason, str)}
    said = [int(settings[MAX_TIMEOUT]) for settings in found.values() if isinstance(settings, Mapping)]
    reasons = ", ".join(f"broker {broker}: {reason}" for broker, reason in silent.items())
    if not said:
        raise ClusterError(f"{live.bootstrap}: no broker answers what its {MAX_TIMEOUT} is: {reasons}")
    if silent:
        LOG.warning("%s is that of the other brokers: %s", MAX_TIMEOUT, reasons)
    return max(said)


def _coordinator_partitions(live: LiveCluster) -> int | None:
    found = live.topics([TRANSACTION_STATE])[TRANSACTION_STATE]
    if isinstance(found, str):
        raise ClusterError(f"{live.bootstrap} does not describe {TRANSACTION_STATE}: {found}")
    return len(found.leaders) if isinstance(found, Topic) else None


def with_live_settings(options: DetectOptions, dump: Inventory, live: ClusterSettings) -> DetectOptions:
    """The options, completed by the cluster's settings. `ClusterError` for another cluster's dump.

    `transaction.max.timeout.ms` may have been larger when the dump was taken: the larger of dump.toml and cluster
    counts.
    """
    names = {log_dir.cluster for log_dir in dump.log_dirs}
    ids = {log_dir.cluster_id for log_dir in dump.log_dirs} - {None}
    if len(names) > 1 or ids - {live.cluster_id}:
        of = ", ".join(sorted(map(str, ids or names)))
        raise ClusterError(
            f"the running cluster's id is {live.cluster_id}, but the dump is of {of}: name that cluster's brokers, or"
            " leave out --bootstrap-server"
        )
    if options.live_coordinators and not ids:
        raise ClusterError(
            f"nothing in the dump says that it is of cluster {live.cluster_id}, and what another cluster's coordinators"
            " know is no evidence: copy meta.properties of a broker's log directory, too, or leave out"
            " --live-coordinators"
        )
    known = [log_dir.transaction_max_timeout_ms or 0 for log_dir in dump.log_dirs]
    return dataclasses.replace(
        options,
        cluster=options.cluster or (live.cluster_id if names == {UNNAMED} else None),
        max_transaction_timeout=options.max_transaction_timeout or max([live.transaction_max_timeout_ms or 0, *known]),
        coordinator_partitions=options.coordinator_partitions or live.coordinator_partitions,
    )
