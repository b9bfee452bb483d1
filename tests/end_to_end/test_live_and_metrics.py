"""What `verify` appends without a JVM beside jobs that write with Spark, and the metrics that a job leaves behind."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from tests.small_dumps import ORDERS, small_dump
from txnlog.cli import main
from txnlog.config import detect_options
from txnlog.errors import TableError
from txnlog.job.main import run
from txnlog.report.abort_candidates import open_candidates
from txnlog.report.table_rows import rows
from txnlog.tables.append import append
from txnlog.tables.layout import RUNS, VERIFICATIONS, Root, columns_of
from txnlog.tables.verdict_rows import VerificationRow

HOSTILE = "../c\n$(touch owned)%41\u202e"


@pytest.fixture(scope="module")
def detected(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Root, Path]:
    """Tables, and the file of metrics, of a dump with four hanging transactions."""
    folder = tmp_path_factory.mktemp("live")
    dump, root, metrics = small_dump(folder / "dump"), Root(str(folder / "tables")), folder / "txnlog.prom"
    run(spark, detect_options({"dump": str(dump), "tables": root.text, "metrics": str(metrics)}))
    return root, metrics


BY_DELTA_RS = "made by delta-rs"


@pytest.fixture(params=["made by Spark", BY_DELTA_RS])
def root(request: pytest.FixtureRequest, detected: tuple[Root, Path]) -> Iterator[Root]:
    """The tables; that of verifications is Spark's, or is not there yet, as before this version."""
    original, _ = detected
    copy = Path(original.text).with_name("copy")
    shutil.copytree(original.text, copy)
    if request.param == BY_DELTA_RS:
        shutil.rmtree(copy / VERIFICATIONS.name)
    yield Root(str(copy))
    shutil.rmtree(copy)


def verification(candidate: dict[str, Any], status: str = "STILL_STUCK", **values: Any) -> VerificationRow:
    key = {name: candidate[name] for name in ("cluster", "topic", "partition", "producer_id", "start_offset")}
    rest = dict.fromkeys(("topic_id", "leader", "log_start_offset", "last_stable_offset", "high_watermark"))
    now = datetime.now(UTC)
    return VerificationRow(
        **{
            **key,
            **rest,
            "verified_at": now,
            "status": status,
            "reason": "r",
            "cluster_id": "x",
            "as_of": now,
            **values,
        }
    )


def offered(root: Root, capsys: pytest.CaptureFixture[str], *arguments: str) -> int:
    capsys.readouterr()
    assert main(["abort-list", "--tables", root.text, *arguments]) == 0
    return capsys.readouterr().out.count("\nabort --")


def test_the_abort_list_offers_what_was_just_verified(root: Root, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third, _ = open_candidates(root)
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    assert offered(root, capsys, "--unverified") == len(ORDERS)
    assert offered(root, capsys) == 0
    append(root, VERIFICATIONS, [verification(first), verification(second, "BLOCKED_BY_EARLIER")])
    append(root, VERIFICATIONS, [verification(third, verified_at=long_ago)])
    assert offered(root, capsys) == 1
    assert offered(root, capsys, "--verified-within", "2h") == 2
    assert offered(root, capsys, "--unverified") == len(ORDERS)
    append(root, VERIFICATIONS, [verification(first, "RESOLVED")])
    assert offered(root, capsys, "--verified-within", "2h") == 1
    assert offered(root, capsys, "--unverified") == len(ORDERS) - 1
    assert main(["abort-list", "--tables", root.text, "--verified-within", "soon"]) == 2
    assert "--verified-within: 'soon' is not a duration" in capsys.readouterr().err


@pytest.mark.parametrize(
    "root", [pytest.param("made by Spark", marks=pytest.mark.processes), BY_DELTA_RS], indirect=True
)
def test_spark_reads_and_keeps_what_delta_rs_wrote(
    spark: SparkSession, root: Root, detected: tuple[Root, Path]
) -> None:
    (candidate, *_) = open_candidates(root)
    append(root, VERIFICATIONS, [verification(candidate), verification({**candidate, "cluster": HOSTILE})])
    version = DeltaTable(root.path_of(VERIFICATIONS)).version()
    dump = Path(detected[0].text).with_name("dump")
    run(spark, detect_options({"dump": str(dump), "tables": root.text}))
    # The table needed no column, no check and no comment.
    assert DeltaTable(root.path_of(VERIFICATIONS)).version() == version
    described = spark.sql(f"DESCRIBE TABLE {root.sql_name(VERIFICATIONS)}").collect()
    comments = {row["col_name"]: row["comment"] for row in described}
    assert {field.name: field.meaning for field in columns_of(VERIFICATIONS)}.items() <= comments.items()
    found = spark.sql(f"SELECT DISTINCT cluster FROM {root.sql_name(VERIFICATIONS)}").collect()
    assert {row["cluster"] for row in found} == {candidate["cluster"], HOSTILE}


def test_a_status_that_is_none_is_refused(root: Root) -> None:
    (candidate, *_) = open_candidates(root)
    with pytest.raises(TableError, match="verifications cannot be written"):
        append(root, VERIFICATIONS, [verification(candidate, "MAYBE")])


def test_a_job_writes_the_metrics_that_the_tables_give_without_it(
    detected: tuple[Root, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    root, written = detected
    capsys.readouterr()
    assert main(["metrics", "--tables", root.text]) == 0
    assert capsys.readouterr().out == written.read_text()
    samples = {
        (sample.name, sample.labels.get("cause")): sample.value
        for family in text_string_to_metric_families(written.read_text())
        for sample in family.samples
    }
    causes = {row["cause"] for row in open_candidates(root)}
    assert sum(samples["txnlog_abort_candidates", cause] for cause in causes) == len(ORDERS)
    (night,) = rows(root, RUNS)
    assert samples["txnlog_last_success_timestamp_seconds", None] == night["finished_at"].timestamp()
    assert main(["metrics", "--tables", root.text, "--cluster", "small", "--output", str(tmp_path / "a.prom")]) == 0
    assert (tmp_path / "a.prom").read_text() == written.read_text()
    assert main(["metrics", "--tables", root.text, "--cluster", "absent"]) == 2
    assert "absent is not in the tables; they have small" in capsys.readouterr().err


def test_a_run_knows_the_id_of_its_cluster(detected: tuple[Root, Path]) -> None:
    assert [row["cluster_id"] for row in rows(detected[0], RUNS)] == ["small"]
