"""Who may know whom: the arrows of the design, as far as an import shows them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

ROOT = Path(__file__).parents[2]
MODULES = [*(ROOT / "txnlog").rglob("*.py")]
SOURCES = [*MODULES, *(ROOT / "jobs").rglob("*.py")]
# What could reach a broker, by a client or by hand.
NETWORK = {"confluent_kafka", "kafka", "socket", "asyncio", "urllib.request", "http", "requests"}
LIVE = ROOT / "txnlog" / "live"
# What a client of Kafka has that changes something, and what only asks.
CHANGING = re.compile(
    r"(create_|delete_|alter_|incremental_|elect_|produce|send_|commit|store_|set_|New[A-Z]).*|.*Producer$"
)
CLIENT_METHODS = {name for client in (AdminClient, Consumer) for name in dir(client) if not name.startswith("_")}
ASKING = {
    "cluster_id",
    "position",
    "describe_cluster",
    "describe_configs",
    "describe_topics",
    "list_offsets",
    "poll",
    "assign",
    "consume",
    "close",
}
LOADED = "import sys, {module}; print([name for name in ('pyspark', 'deltalake', 'rich') if name in sys.modules])"


@pytest.mark.parametrize("module", ["txnlog", "txnlog.format.scan", "txnlog.format.coordinator", "txnlog.cli"])
def test_what_needs_no_spark_does_not_import_it(module: str) -> None:
    script = LOADED.format(module=module)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_two_modules_share_a_name() -> None:
    names = Counter(module.stem for module in MODULES)
    assert [name for name, modules in names.items() if modules > 1] == ["__init__"]


def test_no_module_is_over_250_lines() -> None:
    assert [module.name for module in MODULES if len(module.read_text("utf-8").splitlines()) > 250] == []


def test_no_window_is_summed_up_anew_for_each_row() -> None:
    """As Spark does where a frame begins at the row and ends with its partition: of n rows it then adds up n² / 2."""
    of_partition = "UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    framed = [line for module in MODULES for line in module.read_text("utf-8").splitlines() if "FOLLOWING" in line]
    assert framed
    assert [line for line in framed if of_partition not in line] == []


def imported(source: str) -> Iterator[str]:
    """The modules that a source names in its imports, and the packages around them."""
    for node in ast.walk(ast.parse(source)):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
        for name in names:
            yield from {name, name.partition(".")[0]}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_of_txnlog_but_live_can_talk_to_a_broker(source: Path) -> None:
    # Whether a host has a known name is asked without it.
    allowed = {"confluent_kafka", "socket"} if source.parent == LIVE else set()
    assert (NETWORK - allowed).isdisjoint(imported(source.read_text("utf-8")))


@pytest.mark.parametrize("source", sorted(LIVE.glob("*.py")), ids=lambda path: path.name)
def test_live_asks_brokers_and_changes_nothing(source: Path) -> None:
    tree = ast.parse(source.read_text("utf-8"))
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    named = {each.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names}
    assert {word for word in called | named if CHANGING.match(word)} == set()
    assert {word for word in called if word in CLIENT_METHODS} <= ASKING
