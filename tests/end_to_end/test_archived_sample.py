"""What the log cleaner of real brokers took is proved by copies that were made before: the dumps of tests/archives."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.archived_sample import DUMPS, listed, truth, unproved, verdicts
from txnlog.cli import main
from txnlog.errors import HistoryError
from txnlog.report.table_rows import rows
from txnlog.tables.layout import OPEN_TRANSACTIONS, Root

DUMP, FIRST, SECOND, THIRD = (DUMPS / name for name in ("dump", "archive-0", "archive-1", "archive-2"))


def test_what_the_cleaner_took_is_proved_once_no_copy_in_between_is_missing(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = tmp_path / "tables"
    assert len(truth(DUMP)) == 3
    # Two of the copies share no record.
    assert verdicts(spark, tables, DUMP, FIRST, THIRD) == unproved(DUMP)
    assert main(["history", "--tables", str(tables)]) == HistoryError.exit_code
    # None of the ids did anything meanwhile, which a listing proves.
    assert verdicts(spark, tables, listed(DUMP, tmp_path / "dump")) == truth(DUMP)
    assert verdicts(spark, tables, DUMP, SECOND) == truth(DUMP)
    assert main(["history", "--tables", str(tables)]) == 0
    (lost,) = (row for row in rows(Root(str(tables)), OPEN_TRANSACTIONS) if row["action"] == "KEEP")
    assert "of the dump of" in lost["evidence_file"]
