"""Who may know whom: the arrows of the design, as far as an import shows them."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [*(ROOT / "txnlog").rglob("*.py"), *(ROOT / "jobs").rglob("*.py")]
# What could reach a broker, by a client or by hand.
NETWORK = {"confluent_kafka", "kafka", "socket", "asyncio", "urllib.request", "http", "requests"}
LOADED = "import sys, {module}; print([name for name in ('pyspark', 'deltalake', 'rich') if name in sys.modules])"


@pytest.mark.parametrize("module", ["txnlog", "txnlog.format.scan", "txnlog.format.coordinator", "txnlog.cli"])
def test_what_needs_no_spark_does_not_import_it(module: str) -> None:
    script = LOADED.format(module=module)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def imported(source: str) -> Iterator[str]:
    """The modules that a source names in its imports, and the packages around them."""
    for node in ast.walk(ast.parse(source)):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
        for name in names:
            yield from {name, name.partition(".")[0]}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_of_txnlog_can_talk_to_a_broker(source: Path) -> None:
    assert NETWORK.isdisjoint(imported(source.read_text("utf-8")))
