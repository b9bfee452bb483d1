"""What the log cleaner of real brokers took is proved by copies that were made before: the dumps of tests/archives."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.archived_sample import DUMPS, Verdicts, as_cluster, list_files, of_cluster, truth, unproved, verdicts
from txnlog.cli import main
from txnlog.errors import HistoryError
from txnlog.report.table_rows import rows
from txnlog.tables.layout import OPEN_TRANSACTIONS, Root

DUMP, *ARCHIVES = (DUMPS / name for name in ("dump", "archive-0", "archive-1", "archive-2"))
# The first and the last archive share no record.
WHOLE, LEFT_OUT, LISTED = "whole", "one left out", "one left out, listed"
SECOND = ARCHIVES[1]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three clusters with the same logs, of two of which the second archive is missing."""
    root = tmp_path_factory.mktemp("archived")
    for dump in (*ARCHIVES, DUMP):
        for cluster in (WHOLE,) if dump is SECOND else (WHOLE, LEFT_OUT, LISTED):
            as_cluster(dump, cluster, root / dump.name / cluster)
    list_files(root / DUMP.name / LISTED)
    verdicts(spark, root / "tables", root / DUMP.name, *(root / archive.name for archive in ARCHIVES))
    return root / "tables"


@pytest.mark.parametrize(
    ("cluster", "want"),
    [
        pytest.param(WHOLE, truth(DUMP), id="no copy in between is missing"),
        pytest.param(LEFT_OUT, unproved(DUMP), id="one copy in between is missing"),
        # None of the ids did anything meanwhile.
        pytest.param(LISTED, truth(DUMP), id="one copy in between is missing, but a listing proves idle ids"),
    ],
)
def test_what_the_cleaner_took_is_proved_by_earlier_copies(tables: Path, cluster: str, want: Verdicts) -> None:
    assert len(want) == 3
    assert of_cluster(tables, cluster) == want


def test_history_says_whether_a_copy_is_missing(tables: Path) -> None:
    assert main(["history", "--tables", str(tables), "--cluster", LEFT_OUT]) == HistoryError.exit_code
    assert main(["history", "--tables", str(tables), "--cluster", WHOLE]) == 0


def test_a_verdict_names_the_dump_that_showed_what_it_rests_on(tables: Path) -> None:
    found = rows(Root(str(tables)), OPEN_TRANSACTIONS)
    (lost,) = (row for row in found if row["action"] == "KEEP" and row["cluster"] == WHOLE)
    assert "of the dump of" in lost["evidence_file"]
