"""Who may know whom: the arrows of the design, as far as an import shows them."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = "import sys, {module}; print([name for name in ('pyspark', 'deltalake', 'rich') if name in sys.modules])"


@pytest.mark.parametrize("module", ["txnlog", "txnlog.format.scan", "txnlog.format.coordinator", "txnlog.cli"])
def test_what_needs_no_spark_does_not_import_it(module: str) -> None:
    script = LOADED.format(module=module)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
