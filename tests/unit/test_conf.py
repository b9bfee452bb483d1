"""What stands in conf/ for schedulers and for Databricks is what they read, and calls txnlog as it is."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from databricks.bundles.jobs import Job
from databricks.bundles.schemas import Schema

from txnlog.commands.command import EXIT_CODES
from txnlog.commands.parser import parser
from txnlog.config import detect_options
from txnlog.errors import HistoryError

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "conf" / "databricks"
SCHEDULERS = ROOT / "conf" / "schedulers"
# "Configuration reference" of Databricks Asset Bundles: the top level of databricks.yml.
TOP_LEVEL = {"artifacts", "bundle", "experimental", "include", "permissions", "python", "resources", "run_as",
             "scripts", "sync", "targets", "variables", "workspace"}  # fmt: skip
ARTIFACT = {"build", "dynamic_version", "executable", "files", "path", "type"}
TARGET = {"artifacts", "bundle", "cluster_id", "default", "git", "mode", "permissions", "presets", "resources",
          "run_as", "sync", "variables", "workspace"}  # fmt: skip


def content(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return found


@pytest.fixture(scope="module")
def bundle() -> dict[str, Any]:
    """The bundle with what it includes."""
    whole = content(BUNDLE / "databricks.yml")
    (pattern,) = whole["include"]
    for path in sorted(BUNDLE.glob(pattern)):
        whole |= content(path)
    return whole


@pytest.fixture(scope="module")
def job(bundle: dict[str, Any]) -> Job:
    (found,) = bundle["resources"]["jobs"].values()
    return Job.from_dict(found)


def test_the_bundle_has_the_keys_that_databricks_knows(bundle: dict[str, Any]) -> None:
    assert bundle.keys() <= TOP_LEVEL
    assert bundle["resources"].keys() == {"jobs", "schemas"}
    for artifact in bundle["artifacts"].values():
        assert artifact.keys() <= ARTIFACT
    for target in bundle["targets"].values():
        assert target.keys() <= TARGET
    for variable in bundle["variables"].values():
        assert variable.keys() == {"description", "default"}


def test_databricks_own_classes_take_job_and_schema(bundle: dict[str, Any], job: Job) -> None:
    (schema,) = bundle["resources"]["schemas"].values()
    assert str(Schema.from_dict(schema).name) == "${var.schema}"
    assert job.max_concurrent_runs == 1
    with pytest.raises(ValueError, match="Unexpected field 'taskz'"):
        Job.from_dict({"taskz": []})


def test_each_variable_of_the_bundle_is_declared_and_used() -> None:
    text = "".join(path.read_text("utf-8") for path in BUNDLE.rglob("*.yml"))
    assert set(re.findall(r"\$\{var\.(\w+)\}", text)) == content(BUNDLE / "databricks.yml")["variables"].keys()


def test_the_wheel_task_calls_detect_with_options_that_it_has(job: Job) -> None:
    (task,) = job.as_dict()["tasks"]
    wheel = task["python_wheel_task"]
    defaults = {each["name"]: each["default"] for each in job.as_dict()["parameters"]}
    arguments = [re.sub(r"\{\{job\.parameters\.(\w+)\}\}", lambda match: defaults[match[1]], each) for each in
                 wheel["parameters"]]  # fmt: skip
    parsed = vars(parser().parse_args(arguments))
    known = {key: value for key, value in parsed.items() if key in ("dump", "tables", "metrics", "padding")}
    assert detect_options(known).padding == 300_000
    assert set(re.findall(r"parameters\.(\w+)", str(wheel))) == defaults.keys()


def test_the_wheel_has_the_entry_point_and_it_fails_where_the_command_does(
    job: Job, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (task,) = job.as_dict()["tasks"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {name: target for group in project["entry-points"].values() for name, target in group.items()}
    module, function = declared[task["python_wheel_task"]["entry_point"]].split(":")
    entry = getattr(import_module(module), function)
    monkeypatch.setattr(sys, "argv", ["txnlog", "detect", "absent"])
    with pytest.raises(SystemExit) as ended:
        entry()
    assert ended.value.code == 2
    assert "tables is missing" in capsys.readouterr().err


def test_the_environment_has_a_wheel_where_the_build_puts_it(bundle: dict[str, Any], job: Job) -> None:
    (environment,) = job.as_dict()["environments"]
    (wheel,) = environment["spec"]["dependencies"]
    built = (BUNDLE / bundle["artifacts"]["txnlog"]["path"]).resolve()
    assert (BUNDLE / "resources" / wheel).resolve() == built / "dist" / "*.whl"
    assert built == ROOT


def test_the_script_for_cron_ends_with_the_exit_code_and_says_what_it_means(tmp_path: Path) -> None:
    txnlog = tmp_path / "txnlog"
    txnlog.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m txnlog.cli "$@"\n')
    txnlog.chmod(0o755)
    config = tmp_path / "nightly.toml"
    config.write_text('dump = "absent"\n')
    done = subprocess.run(
        [SCHEDULERS / "nightly.sh", config, tmp_path / "txnlog.prom"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    first, last = done.stderr.splitlines()
    assert "tables is missing" in first
    assert last.startswith("txnlog: wrong options, or a dump that cannot be read")


def test_the_script_has_a_line_for_each_exit_code() -> None:
    script = (SCHEDULERS / "nightly.sh").read_text("utf-8")
    codes = [code for code in re.findall(r"^  (\d)", EXIT_CODES, re.MULTILINE) if int(code) != HistoryError.exit_code]
    assert re.findall(r"^  (\d)\)", script, re.MULTILINE) == codes


def test_the_crontab_calls_the_script_and_the_archive() -> None:
    lines = [line for line in (SCHEDULERS / "txnlog.cron").read_text("utf-8").splitlines() if line[:1].isdigit()]
    night, hour = lines
    assert re.fullmatch(
        r"\d+ \d+ \* \* \*  txnlog  flock --nonblock \S+ nightly\.sh \S+\.toml \S+\.prom 2>&1 .*", night
    )
    found = re.fullmatch(r"\d+ \* \* \* \*  txnlog  flock --nonblock \S+ txnlog (archive .*) 2>&1 .*", hour)
    assert found
    service = (SCHEDULERS / "txnlog-archive.service").read_text("utf-8")
    assert f"\nExecStart=/opt/txnlog/bin/txnlog {found[1]}\n" in service
    assert vars(parser().parse_args(shlex.split(found[1])))["bootstrap_server"] == "kafka-1:9092"


def test_the_dag_compiles_and_tries_again_only_what_may_pass() -> None:
    source = (SCHEDULERS / "airflow_dag.py").read_text("utf-8")
    tree = ast.parse(source)
    compile(tree, "airflow_dag.py", "exec")
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "run"]
    words = [[each.value if isinstance(each, ast.Constant) else "x" for each in call.args] for call in calls]
    assert sorted(each[0] for each in words) == ["archive", "detect"]
    for each in words:
        parser().parse_args(list(map(str, each)))
    (constant,) = [
        node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MAY_PASS"
    ]
    assert ast.literal_eval(constant.value) == 1
