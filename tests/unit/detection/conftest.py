"""One evaluation of the detection for all cases of the tests that run: Spark takes as long for one case as for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.detection_cases import Case, Found, detected


@pytest.fixture(scope="session")
def found(spark: SparkSession, request: pytest.FixtureRequest) -> Found:
    """What the detection finds in the `CASES` of each module that takes part in this run."""
    functions = (item for item in request.session.items if isinstance(item, pytest.Function))
    here = (each.module for each in functions if each.path.parent == Path(__file__).parent)
    modules: dict[str, Any] = {module.__name__: module for module in here}
    cases: dict[str, Case] = {case.id: case for module in modules.values() for case in getattr(module, "CASES", ())}
    return detected(spark, list(cases.values()))
