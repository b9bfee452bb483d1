"""The walk through a segment as it is in Python, and compiled."""

from __future__ import annotations

import pytest

from txnlog.format import compiled_walk, scan
from txnlog.format.walk import walk_in_python, walk_with

WALKS = {"python": walk_in_python, "compiled": walk_with(compiled_walk.walk)}


@pytest.fixture(params=WALKS)
def each_walk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Segments are scanned with this walk from the first batch on."""
    monkeypatch.setattr(scan, "walk", WALKS[request.param])
    return str(request.param)
