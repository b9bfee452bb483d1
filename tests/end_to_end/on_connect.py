"""Run by `test_platforms.py` in a process of its own: a dump through Spark Connect, readers and detection."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from txnlog.config import Thresholds, detect_options
from txnlog.detection.pipeline import detect
from txnlog.dump.inventory import inventory
from txnlog.job.facts import facts_of
from txnlog.sources import reading
from txnlog.spark.materialize import materialized_together
from txnlog.spark.session import SMALL_PLANS

dump = sys.argv[1]
builder = SparkSession.builder.remote("local[2]")
for name, value in SMALL_PLANS.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
readers = (
    reading.batches, reading.transaction_states, reading.producer_snapshots,
    reading.aborted_transactions, reading.partition_transactions, reading.checkpoints, reading.dump_files,
    reading.evidence,
)  # fmt: skip
counts = {reader.__name__: reader(spark, dump).count() for reader in readers}
options = detect_options({"dump": dump, "tables": "unused"})
listed = inventory(Path(dump))
facts = facts_of(reading.evidence(spark, listed), options, listed)
found = detect(facts, Thresholds(), materialized_together).transactions
rows = found.select("topic", "partition", "producer_id", "start_offset", "cause", "action").collect()
print(json.dumps({"session": type(spark).__module__, "counts": counts, "rows": [row.asDict() for row in rows]}))
