"""The walk through a segment as it is in Python, and compiled for processors with a CRC32 instruction and without."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from types import ModuleType

import pytest
from llvmlite import binding

from txnlog.format import compiled, scan
from txnlog.format.walk import Walk, walk_in_python, walk_with

WALKS = ("python", "instruction", "tables")


@pytest.fixture(scope="session")
def without_instruction(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The compiled walk as it is on a processor that has no instruction for checksums."""
    # A file of its own, as what is compiled is kept beside the file.
    file = shutil.copy(compiled.__file__, tmp_path_factory.mktemp("compiled") / "compiled_with_tables.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binding, "get_host_cpu_features", dict)
        spec = importlib.util.spec_from_file_location("txnlog.format.compiled_with_tables", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    assert not module.HAS_INSTRUCTION
    return module


@pytest.fixture
def walk_named(without_instruction: ModuleType) -> Callable[[str], Walk]:
    walks = {
        "python": walk_in_python,
        "instruction": walk_with(compiled.walk),
        "tables": walk_with(without_instruction.walk),
    }
    return walks.__getitem__


@pytest.fixture(params=WALKS)
def each_walk(
    request: pytest.FixtureRequest, walk_named: Callable[[str], Walk], monkeypatch: pytest.MonkeyPatch
) -> str:
    """Segments are scanned with this walk from the first batch on."""
    monkeypatch.setattr(scan, "walk", walk_named(request.param))
    return str(request.param)
