"""Dumps of real brokers whose log cleaner took what proves their open transactions, and verdicts on them.

`data/samples/recipes/archives.py` makes tests/archives: some of coordinators alone, and then one of everything.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from pyspark.sql import SparkSession

from tests.writer import listing
from txnlog.config import DetectOptions
from txnlog.job.archiving import archive_dump
from txnlog.job.main import run
from txnlog.report.table_rows import rows
from txnlog.tables.layout import OPEN_TRANSACTIONS, Root

DUMPS = Path(__file__).parent / "archives"
OF_SAMPLE = 'cluster = "archives"\n'
# Cause and action by topic.
Verdicts = dict[str, str]


def truth(dump: Path) -> Verdicts:
    """What became of its open transactions."""
    noted = json.loads((dump / "truth.json").read_text())["open_transactions"]
    return {row["topic"]: f"{row['cause']} {row['action']}" for row in noted}


def unproved(dump: Path) -> Verdicts:
    """What may be said of them without the records that the cleaner took."""
    return dict.fromkeys(truth(dump), "HISTORY_COMPACTED UNDETERMINED")


def as_cluster(dump: Path, cluster: str, to: Path) -> None:
    """Copy a dump as one of another cluster."""
    shutil.copytree(dump, to)
    manifest = (to / "dump.toml").read_text()
    assert manifest.startswith(OF_SAMPLE)
    (to / "dump.toml").write_text(manifest.replace(OF_SAMPLE, f'cluster = "{cluster}"\n', 1))


def list_files(dump: Path) -> None:
    """Add what `find` would have printed of each broker's folder right before the copy."""
    for broker in (path.parent for path in dump.rglob("replication-offset-checkpoint")):
        listing(broker)


def verdicts(spark: SparkSession, tables: Path, dump: Path, *archives: Path) -> Verdicts:
    """The verdicts on a dump of everything, once some dumps of coordinators alone were archived into the tables."""
    for archive in archives:
        archive_dump(lambda _: spark, DetectOptions(str(archive), str(tables)), lambda _: None)
    run(spark, DetectOptions(str(dump), str(tables), padding=0))
    return of_cluster(tables)


def of_cluster(tables: Path, cluster: str | None = None) -> Verdicts:
    """The verdicts in the tables on one cluster, or on the only one."""
    found = rows(Root(str(tables)), OPEN_TRANSACTIONS)
    return {row["topic"]: f"{row['cause']} {row['action']}" for row in found if cluster in (None, row["cluster"])}
