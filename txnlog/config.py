"""The options of `detect`, declared once: command line, TOML file and documentation are made from this."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from txnlog.dump_log.dump_text import topic_partition as named_partition
from txnlog.errors import OptionError
from txnlog.times import instant_ms, milliseconds


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What an operator may set. All times in ms.

    `padding_ms` is added to `transaction.max.timeout.ms` before anything counts as late; `slack_ms` is how long a copy
    took where that is not known; `clock_skew_ms` is how far two brokers' clocks may be apart.
    `accept_compacted_history` marks what is UNDETERMINED because only history is missing.
    """

    padding_ms: int = 300_000
    slack_ms: int = 600_000
    clock_skew_ms: int = 5_000
    accept_compacted_history: bool = False


@dataclass(frozen=True, slots=True)
class DetectOptions:
    """The options of `txnlog detect`; durations and instants in ms."""

    dump: str
    tables: str
    cluster: str | None = None
    as_of: int | None = None
    max_transaction_timeout: int | None = None
    padding: int = Thresholds().padding_ms
    slack: int = Thresholds().slack_ms
    clock_skew: int = Thresholds().clock_skew_ms
    coordinator_partitions: int | None = None
    topic_partition: str | None = None
    accept_compacted_history: bool = Thresholds().accept_compacted_history
    full: bool = False
    bootstrap_server: str | None = None
    command_config: str | None = None
    live_coordinators: bool = False
    metrics: str | None = None

    @property
    def thresholds(self) -> Thresholds:
        """Those of its options that a verdict depends on."""
        return Thresholds(self.padding, self.slack, self.clock_skew, self.accept_compacted_history)


class Option(NamedTuple):
    """One option: its key in TOML (`max_transaction_timeout`) is its flag (`--max-transaction-timeout`), too."""

    key: str
    parse: Callable[[Any], Any]
    placeholder: str
    meaning: str


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise OptionError(f"{value!r} is not a string")
    return value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not str(value).isdecimal() or not 0 < int(value) < 2**31:
        raise OptionError(f"{value!r} is not a whole number above 0")
    return int(value)


def _topic_partition(value: Any) -> str:
    if named_partition(_text(value))[0] is None:
        raise OptionError(f"{value!r} is not a partition such as orders-0")
    return str(value)


# `ClientUtils.parseAndValidateAddresses` of Kafka: a protocol may stand before it, brackets around an IPv6 address.
ADDRESS = re.compile(r"(?:[a-zA-Z][a-zA-Z\d_.-]*://)?\[?(?P<host>[0-9a-zA-Z._%:-]+)\]?:(?P<port>[0-9]{1,5})")


def addresses(value: Any) -> str:
    """Addresses of brokers. `OptionError` unless each is a host and a port."""
    parts = [part for part in (each.strip() for each in str(value).split(",")) if part]
    found = [ADDRESS.fullmatch(part) for part in parts]
    if not parts or not all(each and 0 < int(each["port"]) < 65_536 for each in found):
        raise OptionError(f"{value!r} is not HOST:PORT, or several of them with commas between")
    return ",".join(parts)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise OptionError(f"{value!r} is neither true nor false")
    return value


OPTIONS = (
    Option(
        "dump",
        _text,
        "DUMP",
        "copied log directories, one broker's or a folder per broker: a folder, or an address in an object store",
    ),
    Option(
        "tables",
        _text,
        "ROOT",
        "where the Delta tables are: a folder, a URI, or CATALOG.SCHEMA (default: $TXNLOG_TABLES)",
    ),
    Option(
        "cluster",
        _text,
        "NAME",
        "name of the cluster; default: that of dump.toml, else cluster.id of meta.properties",
    ),
    Option(
        "as_of",
        instant_ms,
        "TIME",
        "when the dump was taken: ISO 8601 with a time zone, or epoch milliseconds",
    ),
    Option(
        "max_transaction_timeout",
        milliseconds,
        "DURATION",
        "the brokers' transaction.max.timeout.ms (15m), e.g. 900000, 900s, 15m",
    ),
    Option(
        "padding",
        milliseconds,
        "DURATION",
        "time added to transaction.max.timeout.ms before a transaction is late (5m)",
    ),
    Option("slack", milliseconds, "DURATION", "copy duration to assume if it is unknown (10m)"),
    Option("clock_skew", milliseconds, "DURATION", "how much the clocks of two machines may differ (5s)"),
    Option(
        "coordinator_partitions",
        _count,
        "N",
        "transaction.state.log.num.partitions (default: from dump.toml or the ids)",
    ),
    Option(
        "topic_partition",
        _topic_partition,
        "TOPIC-N",
        "partition of kafka-dump-log.sh output that does not name it, e.g. orders-0",
    ),
    Option(
        "accept_compacted_history",
        _flag,
        "",
        "mark transactions that lack only history (`accepted`), for abort-list --include-accepted",
    ),
    Option(
        "full",
        _flag,
        "",
        "read every log completely, not only from the newest producer snapshot on, and list its transactions",
    ),
    Option(
        "bootstrap_server",
        addresses,
        "HOST:PORT",
        "ask the running cluster for its id, its transaction.max.timeout.ms and the partitions of __transaction_state",
    ),
    Option(
        "command_config",
        _text,
        "FILE",
        "client.properties with the settings for TLS and SASL, as kafka-transactions.sh takes it",
    ),
    Option(
        "live_coordinators",
        _flag,
        "",
        "also read __transaction_state from the running cluster",
    ),
    Option("metrics", _text, "FILE", "write the results as Prometheus metrics, e.g. for the node exporter"),
)
_BY_KEY = {option.key: option for option in OPTIONS}
REQUIRED = ("dump", "tables")


def detect_options(
    given: Mapping[str, Any], config: Path | None = None, otherwise: Mapping[str, Any] | None = None
) -> DetectOptions:
    """The options of a run: `given` ones win over those of the file, and those over what counts `otherwise`.

    `OptionError` names file and key.
    """
    values = {key: _parsed(key, value, "--" + key.replace("_", "-")) for key, value in given.items()}
    if config is not None:
        content = read_config(config)
        values = {key: _parsed(key, value, f"{config}: {key}") for key, value in content.items()} | values
    values = {**(otherwise or {}), **values}
    for key in REQUIRED:
        if key not in values:
            raise OptionError(f"{key} is missing: name it on the command line or in the file of --config")
    if values.get("live_coordinators") and "bootstrap_server" not in values:
        raise OptionError("live_coordinators needs bootstrap_server: name the cluster to read")
    return DetectOptions(**values)


def read_config(path: Path) -> dict[str, Any]:
    """The keys of a TOML file, all of them known."""
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise OptionError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    for key in content:
        if key not in _BY_KEY:
            raise OptionError(f"{path}: {key} is not an option; known are {', '.join(sorted(_BY_KEY))}")
    return content


def _parsed(key: str, value: Any, where: str) -> Any:
    try:
        return _BY_KEY[key].parse(value)
    except OptionError as error:
        raise OptionError(f"{where}: {error}") from error
