"""What all tests share: one small Spark with Delta."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from tests.object_store import Store
from tests.quick_spark import QUICK
from txnlog.dump.object_store import _store
from txnlog.spark.session import session

# A machine that is busy is no failure.
settings.register_profile("txnlog", deadline=None)
settings.load_profile("txnlog")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs Spark, so that `make check` can leave it out."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One for the whole run, as to start it takes longer than most tests."""
    # Java keeps a plan until Python has collected its frame, which is part of a cycle. Python looks for cycles among
    # old objects once there are a quarter more of them: without what pytest has collected that is soon.
    gc.collect()
    gc.freeze()
    started = session(
        "txnlog-tests",
        is_small=False,
        **{
            **QUICK,
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        },
    )
    yield started
    started.stop()


@pytest.fixture(scope="session")
def store() -> Iterator[Store]:
    """One for the whole run, as what it holds is the process's: each test puts its objects into a folder of its own."""
    with Store() as started:
        yield started


@pytest.fixture
def reader(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The store with the rights to list and to get, and nothing counted yet."""
    for name, value in store.credentials.items():
        monkeypatch.setenv(name, value)
    _store.cache_clear()
    with store.guarded():
        store.requests.clear()
        yield store
