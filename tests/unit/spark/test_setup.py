"""What a person meets who has the wrong Java or Python, or no network; and the session when all is well."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import txnlog.spark.session
from txnlog.errors import SetupError
from txnlog.spark import jars
from txnlog.spark.java import java
from txnlog.spark.session import CONF, IS_SMALL, LOCAL, for_many_rows, session, with_settings

ROOT = Path(__file__).parents[3]


def script(path: Path, body: str) -> Path:
    """An executable of a few lines: a Java or a Python that says what we want to hear."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def java_script(folder: Path, version_line: str) -> Path:
    return script(folder / "bin" / "java", f"echo '{version_line}' >&2")


def run(*command: str | Path, cwd: Path = ROOT, **environment: str | Path) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if k not in {"JAVA_HOME", "SPARK_HOME", "MAKEFLAGS", "MAKELEVEL"}}
    return subprocess.run(
        command,
        cwd=cwd,
        env=inherited | {k: str(v) for k, v in environment.items()},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


# --- Java ---


@pytest.mark.parametrize(
    ("line", "version"),
    [
        pytest.param('openjdk version "17.0.15" 2025-04-15', "17.0.15", id="the oldest that Spark takes"),
        pytest.param('java version "25" 2025-09-16 LTS', "25", id="a first release has no dots"),
        pytest.param('openjdk version "21-ea" 2023-09-19', "21-ea", id="early access"),
    ],
)
def test_a_java_of_17_or_newer_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, version: str
) -> None:
    executable = java_script(tmp_path, line)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java() == (executable, version)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('openjdk version "1.8.0_392"', id="8 calls itself 1.8"),
        pytest.param('openjdk version "11.0.21" 2023-10-17', id="11"),
        pytest.param('openjdk version "16.0.2" 2021-07-20', id="one below"),
    ],
)
def test_an_older_java_is_refused_with_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    java_script(tmp_path, line)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    version = line.split('"')[1]
    with pytest.raises(SetupError, match=rf"Java {re.escape(version)} .* too old.*Java 17.*JAVA_HOME"):
        java()


def test_java_home_wins_over_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = java_script(tmp_path / "home", 'openjdk version "21.0.1"')
    other = java_script(tmp_path / "path", 'openjdk version "17.0.1"')
    monkeypatch.setenv("PATH", str(other.parent))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert java().executable == wanted
    monkeypatch.delenv("JAVA_HOME")
    assert java().executable == other


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param("exit 1", "does not work", id="the stand-in of macOS"),
        pytest.param("echo hello >&2", "names no version", id="something else that is called java"),
    ],
)
def test_what_is_no_java_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, says: str) -> None:
    script(tmp_path / "bin" / "java", body)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SetupError, match=says):
        java()


def test_without_java_one_line_says_what_to_install(tmp_path: Path) -> None:
    answer = run(sys.executable, "-m", "txnlog.spark.java", PATH=tmp_path)
    assert (answer.returncode, answer.stdout) == (SetupError.exit_code, "")
    assert re.fullmatch(r"txnlog: no Java found .*install Java 17 or newer.*JAVA_HOME.*\n", answer.stderr)


def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    answer = run(sys.executable, "-m", "txnlog.spark.java", JAVA_HOME=tmp_path)
    assert answer.returncode == SetupError.exit_code
    assert re.fullmatch(rf"txnlog: JAVA_HOME is {re.escape(str(tmp_path))}, which has no bin/java.*\n", answer.stderr)


def test_a_session_does_not_start_on_an_old_java(tmp_path: Path) -> None:
    java_script(tmp_path, 'openjdk version "11.0.21"')
    code = "from txnlog.spark.session import session, SetupError\ntry: session()\nexcept SetupError as e: print(e)"
    answer = run(sys.executable, "-c", code, JAVA_HOME=tmp_path)
    assert answer.stdout.startswith("Java 11.0.21")
    assert answer.stdout.count("\n") == 1


# --- make ---


def make(tmp_path: Path, **variables: str | Path) -> subprocess.CompletedProcess[str]:
    """`make setup` into a scratch folder: all troubles come up before it writes there."""
    settings = {"VENV": tmp_path / "venv"} | variables
    answer = run("make", "setup", *(f"{name}={value}" for name, value in settings.items()))
    assert not (tmp_path / "venv").exists()
    return answer


def one_line(answer: subprocess.CompletedProcess[str]) -> str:
    assert answer.returncode != 0
    assert answer.stderr.count("\n") == 1, answer.stderr
    return answer.stderr


def python_script(tmp_path: Path, version: str) -> Path:
    """A Python of another version, and as Debian ships it: without venv."""
    code = f'"import sys; sys.version_info = ({version}); $2"'
    return script(tmp_path / "python", f'case "$2" in *venv*) exit 1;; esac\nexec {sys.executable} -c {code}')


def test_make_says_that_python_is_too_old(tmp_path: Path) -> None:
    python = python_script(tmp_path, "3, 10, 14")
    line = one_line(make(tmp_path, PYTHON=python))
    assert f"{python} is too old" in line
    assert "install Python 3.11" in line
    assert "PYTHON=" in line


def test_make_says_that_there_is_no_such_python(tmp_path: Path) -> None:
    assert "there is no /no/such/python: install Python 3.11" in one_line(make(tmp_path, PYTHON="/no/such/python"))


def test_make_says_that_python_has_no_venv(tmp_path: Path) -> None:
    python = python_script(tmp_path, "3, 11, 0")
    assert "has no venv: install it (Debian, Ubuntu: python3-venv)" in one_line(make(tmp_path, PYTHON=python))


def test_make_says_that_java_is_too_old_before_it_downloads(tmp_path: Path) -> None:
    java_script(tmp_path, 'openjdk version "11.0.21"')
    python = script(tmp_path / "python", f'case "$*" in *venv*/venv) exit 9;; *) exec {sys.executable} "$@";; esac')
    line = one_line(make(tmp_path, PYTHON=python, JAVA_HOME=tmp_path))
    assert "Java 11.0.21" in line


def test_make_help_names_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = set(re.findall(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)[0].split())
    listed = {line.split()[0] for line in run("make", "help").stdout.splitlines()}
    assert listed | {"help"} == phony | {"help"}
    assert {"run", "test", "lint", "types", "format", "formats", "clean", "wheel"} <= listed


# --- Delta's jars ---


@pytest.mark.parametrize(
    ("pyspark", "artifact"),
    [("4.0.1", "delta-spark_4.0_2.13"), ("4.1.1", "delta-spark_4.1_2.13"), ("4.2.0", "delta-spark_4.2_2.13")],
)
def test_the_jar_follows_the_installed_pyspark(monkeypatch: pytest.MonkeyPatch, pyspark: str, artifact: str) -> None:
    monkeypatch.setattr(jars, "version", lambda _: pyspark)
    assert jars.artifacts() == (artifact, "delta-storage")


def test_a_spark_without_delta_is_told_the_release_that_the_extra_has() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert f"delta-spark=={jars.DELTA}" in extras["spark"]
    assert jars.coordinates("4.1.1") == f"io.delta:delta-spark_4.1_2.13:{jars.DELTA}"


def test_a_spark_that_brings_delta_needs_no_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "folder", lambda: tmp_path / "kept")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "delta-spark_2.13-4.0.0.jar").touch()
    assert jars.delta_jars() == []
    assert not (tmp_path / "kept").exists()


def test_jars_that_are_there_are_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "folder", lambda: tmp_path)
    monkeypatch.setenv("JAVA_HOME", "/no/such/java")  # Ivy would need one
    for artifact in jars.artifacts():
        (tmp_path / f"{artifact}-4.4.0.jar").touch()
    assert {jar.name for jar in jars.delta_jars()} == {f"{a}-4.4.0.jar" for a in jars.artifacts()}


def test_jars_that_cannot_be_had_are_one_line_and_leave_nothing(tmp_path: Path) -> None:
    """A proxy that is not there stands in for a missing network."""
    no_network = "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9"
    code = "import sys; from pathlib import Path; from txnlog.spark import jars\n"
    code += "jars.folder = lambda: Path(sys.argv[1]); sys.exit(jars.main())"
    answer = run(sys.executable, "-c", code, tmp_path, JAVA_TOOL_OPTIONS=no_network)
    assert (answer.returncode, answer.stdout) == (SetupError.exit_code, "")
    assert re.fullmatch(r"txnlog: cannot fetch io\.delta:delta-spark_\S+ and .*: connect .*\n", answer.stderr)
    assert list(tmp_path.iterdir()) == []


# --- the session ---


def test_the_session_has_delta_and_utc(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    spark.sql("SELECT timestamp'2020-01-01 00:00:00Z' AS at").write.format("delta").save(table)
    assert spark.sql(f"SELECT cast(at AS string) AS at FROM delta.`{table}`").head() == ("2020-01-01 00:00:00",)


def test_settings_win_over_the_local_ones(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.shuffle.partitions") == "1"
    assert LOCAL["spark.sql.shuffle.partitions"] != 1


@pytest.mark.parametrize("is_small", [False, True])
def test_a_local_session_for_little_data_does_not_compile(monkeypatch: pytest.MonkeyPatch, is_small: bool) -> None:
    started: list[dict[str, object]] = []
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(txnlog.spark.session, "_start", lambda _, settings: started.append(dict(settings)))
    for variable in txnlog.spark.session.PLATFORMS:
        monkeypatch.delenv(variable, raising=False)
    session("txnlog", is_small=is_small, **{"spark.sql.adaptive.enabled": True})
    (settings,) = started
    assert settings.get("spark.sql.codegen.wholeStage", True) is not is_small
    assert settings["spark.sql.adaptive.enabled"] is True
    assert ("-XX:TieredStopAtLevel=1" in str(settings[txnlog.spark.session.JAVA_OPTIONS])) is is_small
    assert "-Xlog:disable" in str(settings[txnlog.spark.session.JAVA_OPTIONS])


def test_an_active_session_is_taken_as_it_is(spark: SparkSession) -> None:
    assert session("another", is_small=False, **{"spark.sql.shuffle.partitions": 99}) is spark
    assert spark.conf.get("spark.sql.shuffle.partitions") == "1"


@pytest.mark.parametrize("variable", txnlog.spark.session.PLATFORMS)
def test_a_platform_keeps_its_own_settings(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    started: list[dict[str, object]] = []
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(txnlog.spark.session, "_start", lambda _, settings: started.append(dict(settings)))
    monkeypatch.setattr(txnlog.spark.session, "check_delta", lambda _: None)
    monkeypatch.setenv(variable, "1")
    session("txnlog", is_small=True, **{"spark.sql.shuffle.partitions": 3})
    assert started == [{"spark.sql.shuffle.partitions": 3}]


PROGRAM = """
import os, sys
from txnlog.spark.session import session
before = dict(os.environ)
spark = session(**{"spark.master": "local[1]"})
by_pyspark = {"SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE"}
now = {name: value for name, value in os.environ.items() if name in before or name not in by_pyspark}
assert before == now, "the environment is as it was"
spark.sql("CREATE TABLE t USING delta AS SELECT 1 AS a")
rows = spark.table("t").mapInArrow(lambda batches: batches, "a int").collect()
print(rows, spark.conf.get("spark.sql.warehouse.dir").startswith(os.getcwd()))
spark.stop()
sys.exit("the end")
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """A program that starts Spark as the command line does: a table, a Python worker, a last word."""
    folder = tmp_path_factory.mktemp("working directory")
    return run(sys.executable, "-c", PROGRAM, cwd=folder, PYTHONPATH=ROOT), folder


@pytest.mark.processes
def test_stdout_has_the_results_only(program: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    assert program[0].stdout == "[Row(a=1)] False\n"


@pytest.mark.processes
def test_stderr_has_errors_and_one_line_of_java(program: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    # Spark adds the module by itself, and no option of Java's turns its warning off.
    assert program[0].stderr == "WARNING: Using incubator modules: jdk.incubator.vector\nthe end\n"


@pytest.mark.processes
def test_the_working_directory_stays_clean(program: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    assert list(program[1].iterdir()) == []


@pytest.mark.processes
def test_a_spark_that_does_not_start_is_a_setup_error() -> None:
    code = "from txnlog.spark.session import session, SetupError\n"
    code += "try: session(**{'spark.driver.memory': '1b'})\nexcept SetupError as e: print(e)"
    answer = run(sys.executable, "-c", code)
    assert answer.stdout == "Spark did not start: what it said is above\n"
    assert answer.stderr  # what it said


# --- what is shipped beside the code ---


LISTING_TASKS = "sql.sources.parallelPartitionDiscovery.parallelism"


def test_the_settings_of_a_platform_and_of_one_machine_agree() -> None:
    lines = (ROOT / "conf" / "spark-defaults.conf").read_text().splitlines()
    platform = dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    of_size = {f"spark.{name}" for name in ("databricks.delta.snapshotPartitions", LISTING_TASKS)}
    for key in platform.keys() & LOCAL.keys() - of_size:
        value = LOCAL[key]
        assert platform[key] == (str(value).lower() if isinstance(value, bool) else str(value)), key


def test_constraints_pin_every_package_and_name_no_address() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


@pytest.mark.processes
def test_the_job_logs_json_on_stderr(tmp_path: Path) -> None:
    program = "from txnlog.spark.session import session\ns = session(**{'spark.master': 'local[1]'})\n"
    program += f"s.sql('SELECT 1 AS a').write.format('delta').save('{tmp_path}/table')"
    answer = run(sys.executable, "-c", program, SPARK_CONF_DIR=ROOT / "conf")
    objects = [json.loads(line) for line in answer.stderr.splitlines() if line.startswith("{")]
    assert {"ts", "level", "msg", "logger"} <= objects[0].keys()
    assert any("OptimisticTransaction" in each["logger"] for each in objects)
    assert answer.stdout == ""


def test_the_job_says_in_a_line_which_package_the_driver_lacks() -> None:
    """`-S`: without the packages of this environment. The code of txnlog is there, as with `--py-files`."""
    answer = run(sys.executable, "-S", "jobs/detect_hanging_transactions.py", PYTHONPATH=ROOT)
    assert (answer.returncode, answer.stdout) == (SetupError.exit_code, "")
    assert re.fullmatch(r"txnlog: No module named '\w+': install .*docs/monitoring.md.*\n", answer.stderr)


def test_the_page_for_platforms_lists_each_package_that_the_wheel_needs() -> None:
    page = (ROOT / "docs" / "monitoring.md").read_text("utf-8")
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    listed = re.findall(r"^- on the driver.*?:\s(.*?)[;.]$", page, flags=re.MULTILINE | re.DOTALL)
    names = {name for each in listed for name in re.findall(r"[\w-]+", each.replace(" and ", " "))}
    assert names == {re.split(r"[<>=]", each)[0] for each in needed}


def test_the_notes_of_a_release_are_its_section_of_the_changelog(tmp_path: Path) -> None:
    sections = re.split(r"^## \[(.+?)\].*\n", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)[1:]
    for version, text in zip(sections[::2], sections[1::2], strict=True):
        assert run("make", "--silent", "notes", f"VERSION={version}").stdout == text
    assert run("make", "--silent", "notes").stdout == sections[-1]
    missing = run("make", "--silent", "notes", "VERSION=9.9.9")
    assert missing.returncode != 0
    assert missing.stdout == ""


def test_log_settings_are_package_data() -> None:
    assert {path.name for path in CONF.iterdir()} == {"log4j2.properties", "ivysettings.xml"}


@pytest.mark.parametrize("is_small", ["true", "false"])
def test_a_step_over_many_rows_has_compiled_plans_meanwhile(spark: SparkSession, is_small: str) -> None:
    def is_compiled() -> bool:
        plan = spark.range(3).selectExpr("id + 1")._jdf.queryExecution().executedPlan().toString()
        return "*(1)" in plan

    with with_settings(spark, {IS_SMALL: is_small}):
        with for_many_rows(spark):
            # Settings of another session stay as they are.
            assert is_compiled() is (is_small == "true")
        assert not is_compiled()
