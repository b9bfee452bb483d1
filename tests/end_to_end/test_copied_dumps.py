"""A dump as the copy script takes it, with coordinators in folders of their own, leads to the same verdicts."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.copy_scripts import Place
from txnlog.config import detect_options
from txnlog.job.main import run
from txnlog.report.table_rows import rows
from txnlog.tables.layout import OPEN_TRANSACTIONS, RUNS, Root

SHOP = Path(__file__).parents[2] / "data/samples/shop"
TRUTH = json.loads((SHOP / "truth.json").read_text("utf-8"))["open_transactions"]
COPIES = tomllib.loads((SHOP / "dump.toml").read_text("utf-8"))["copies"].values()
# When the sample was taken.
TAKEN = (min(each["started"] for each in COPIES), max(each["ended"] for each in COPIES))
NAMES = ("topic", "partition", "start_offset", "transactional_id", "late", "cause", "action")


@pytest.mark.processes
def test_the_verdicts_on_a_dump_of_the_script_are_those_of_the_sample(spark: SparkSession, tmp_path: Path) -> None:
    place, root = Place(tmp_path), Root(str(tmp_path / "tables"))
    stated = {"cluster": "shop", "coordinator_partitions": 50, "max_transaction_timeout": "15m", "snapshot": TAKEN}
    place.run("tar", *(f"{number}={SHOP / f'broker-{number}'}" for number in (1, 2, 3)), values=stated)
    run(spark, detect_options({"dump": str(place.to), "tables": root.text}))
    found, (night,) = rows(root, OPEN_TRANSACTIONS), rows(root, RUNS)
    assert sorted([row[name] for name in NAMES] for row in found) == sorted(
        [row[name] for name in NAMES] for row in TRUTH
    )
    assert {row["confidence"] for row in found} == {"HIGH"}
    assert (night["cluster"], night["coordinator_partitions_missing"]) == ("shop", 0)
