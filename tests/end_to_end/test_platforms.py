"""The same code on other Sparks: Spark Connect, `spark-submit` with the wheel, and a cluster of two workers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pyspark
import pytest

from tests.end_to_end.processes import built_wheel, contents
from tests.end_to_end.spark_cluster import SETTINGS, spark_cluster
from txnlog.errors import SetupError
from txnlog.report import late_transactions
from txnlog.sources.data_sources import SOURCES
from txnlog.sources.dump_source import DumpSource
from txnlog.spark.jars import coordinates, delta_jars
from txnlog.spark.session import SMALL_PLANS
from txnlog.tables.layout import Root

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
SETTINGS_OF_A_PLATFORM = ("--properties-file", str(ROOT / "conf" / "spark-defaults.conf"))
DUMP = ROOT / "data" / "samples" / "kafka-3.5.2-torn"
TRUTH = json.loads((DUMP / "truth.json").read_text())["open_transactions"]
COMPARED = ("topic", "partition", "producer_id", "start_offset", "cause", "action")
EXPECTED = {tuple(each[name] for name in COMPARED) for each in TRUTH}


def run(command: list[str], folder: Path, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        env=kept | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"} | environment,
        check=False,
    )
    assert done.returncode == code, done.stderr[-3000:]
    return done


def test_readers_and_detection_give_the_same_on_spark_connect(tmp_path: Path) -> None:
    done = run([sys.executable, str(Path(__file__).with_name("on_connect.py")), str(DUMP)], tmp_path)
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["session"] == "pyspark.sql.connect.session"
    assert {tuple(row[name] for name in COMPARED) for row in answer["rows"]} == EXPECTED
    for source in SOURCES:
        reader: DumpSource = source({"path": str(DUMP)})
        rows = sum(batch.num_rows for batch in reader.rows(list(reader.readable())))
        assert answer["counts"][source.short_name.removeprefix("txnlog_")] == rows


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_wheel(tmp_path_factory.mktemp("dist"))


def test_the_wheel_brings_no_spark(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        (metadata,) = [name for name in content.namelist() if name.endswith("METADATA")]
        required = [line for line in content.read(metadata).decode().splitlines() if line.startswith("Requires-Dist")]
        assert not [line for line in required if ("spark" in line or "pandas" in line) and "extra ==" not in line]
        assert "txnlog/spark/conf/log4j2.properties" in content.namelist()


def submitted(
    wheel: Path, folder: Path, *options: str, code: int = 0, **settings: object
) -> subprocess.CompletedProcess[str]:
    """The nightly job by `spark-submit`, the code from the wheel alone; its tables are in `tables`."""
    config = folder / "night.toml"
    config.write_text(f'dump = "{DUMP}"\ntables = "{folder / "tables"}"\n')
    job = folder / "job.py"
    source = (ROOT / "jobs" / "detect_hanging_transactions.py").read_text()
    job.write_text(f"import txnlog; assert '.whl' in txnlog.__file__, txnlog.__file__\n{source}")
    submit = Path(sys.executable).with_name("spark-submit")
    set_here = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    return run(
        [str(submit), *options, *set_here, "--py-files", str(wheel), str(job), "--config", str(config)],
        folder,
        code,
        SPARK_CONF_DIR=str(ROOT / "conf" if SETTINGS_OF_A_PLATFORM[0] in options else folder),
    )


def with_delta(master: str) -> tuple[str, ...]:
    return ("--master", master, *SETTINGS_OF_A_PLATFORM, "--jars", ",".join(map(str, delta_jars())))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param(SETTINGS_OF_A_PLATFORM, rf"find Delta's jars: .* --packages {coordinates(pyspark.__version__)}",
                     id="jars"),
        pytest.param((), r"set up for Delta: set spark.sql.extensions and .*SPARK_CONF_DIR=conf", id="settings"),
    ],
)  # fmt: skip
def test_a_spark_without_delta_is_told_in_a_line_what_it_lacks(
    wheel: Path, tmp_path: Path, options: tuple[str, ...], says: str
) -> None:
    done = submitted(wheel, tmp_path, "--master", "local[1]", *options, code=SetupError.exit_code)
    # Spark prints both streams of the job on its stdout.
    (line,) = [each for each in done.stdout.splitlines() if each.startswith("txnlog:")]
    assert re.search(says, line), line
    assert not (tmp_path / "tables").exists()


@pytest.fixture(scope="module")
def in_local_mode(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """The tables of the job in local mode, and what it said."""
    folder = tmp_path_factory.mktemp("local")
    # The cluster plans as a platform does; here most of the time would go into plans for few rows.
    done = submitted(wheel, folder, *with_delta("local[2]"), code=0, **SMALL_PLANS)
    return folder / "tables", done.stdout, done.stderr


def test_spark_submit_runs_the_job_from_the_wheel_alone(in_local_mode: tuple[Path, str, str]) -> None:
    tables, printed, errors = in_local_mode
    assert "7 open transactions, 7 late, 1 to abort, 6 undetermined" in printed
    found = late_transactions.late_transactions(Root(str(tables)))
    assert {tuple(row[name] for name in COMPARED) for row in found} == EXPECTED
    assert all(line.startswith("{") for line in errors.splitlines() if " WARN " in line or '"level"' in line)


def test_a_cluster_of_two_workers_writes_the_tables_of_local_mode(
    wheel: Path, in_local_mode: tuple[Path, str, str], tmp_path: Path
) -> None:
    with spark_cluster(tmp_path) as cluster:
        submitted(wheel, tmp_path, *with_delta(cluster.master), code=0, **SETTINGS)
        assert cluster.executors() == [1, 1]
    found = contents(tmp_path / "tables")
    assert found == contents(in_local_mode[0])
    assert len(found["open_transactions"]) == len(EXPECTED)
