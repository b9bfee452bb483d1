"""What stands in conf/ for schedulers and for Databricks is what they read, and calls txnlog as it is."""

from __future__ import annotations

import ast
import fcntl
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
    return Job.from_dict(bundle["resources"]["jobs"]["detect"])


def as_dict(job: Job) -> dict[str, Any]:
    """A job as it stands in the bundle. By its type a variable could stand in each place; here none does."""
    return dict(job.as_dict())


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
        Job.from_dict({"taskz": []})  # type: ignore[typeddict-unknown-key]


def test_each_variable_of_the_bundle_is_declared_and_used() -> None:
    text = "".join(path.read_text("utf-8") for path in BUNDLE.rglob("*.yml"))
    assert set(re.findall(r"\$\{var\.(\w+)\}", text)) == content(BUNDLE / "databricks.yml")["variables"].keys()


def test_the_wheel_tasks_call_commands_with_options_that_they_have(job: Job) -> None:
    tasks = {task["task_key"]: task["python_wheel_task"]["parameters"] for task in as_dict(job)["tasks"]}
    defaults = {each["name"]: each["default"] for each in as_dict(job)["parameters"]}
    parsed = {
        key: vars(
            parser().parse_args(
                [re.sub(r"\{\{job\.parameters\.(\w+)\}\}", lambda match: defaults[match[1]], each) for each in given]
            )
        )
        for key, given in tasks.items()
    }
    known = {key: value for key, value in parsed["detect"].items() if key in ("dump", "tables", "metrics", "padding")}
    assert detect_options(known).padding == 300_000
    # A job ends with the report and the script, of the tables that it wrote.
    assert {each["tables"] for each in parsed.values()} == {known["tables"]}
    assert [parsed["report"]["html"].name, parsed["script"]["output"].name] == ["report.html", "aborts.sh"]
    assert set(re.findall(r"parameters\.(\w+)", str(tasks))) == defaults.keys()


def test_each_hour_what_coordinators_say_is_kept(bundle: dict[str, Any]) -> None:
    hourly = as_dict(Job.from_dict(bundle["resources"]["jobs"]["archive"]))
    (task,) = hourly["tasks"]
    assert re.fullmatch(r"0 \d+ \* \* \* \?", hourly["schedule"]["quartz_cron_expression"])
    given = task["python_wheel_task"]["parameters"]
    parsed = parser().parse_args([each.replace("${var.coordinators}", "copies") for each in given])
    assert (given[0], parsed.dump) == ("archive", "copies")


def test_report_and_script_follow_the_run(job: Job) -> None:
    follow = {task["task_key"]: [each["task_key"] for each in task.get("depends_on", [])] for task in
              as_dict(job)["tasks"]}  # fmt: skip
    assert follow == {"detect": [], "report": ["detect"], "script": ["detect"]}


def test_the_wheel_has_the_entry_point_and_it_fails_where_the_command_does(
    job: Job, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task, *_ = as_dict(job)["tasks"]
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
    (environment,) = as_dict(job)["environments"]
    wheel, jinja2 = environment["spec"]["dependencies"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert jinja2 in project["optional-dependencies"]["report"]
    built = (BUNDLE / bundle["artifacts"]["txnlog"]["path"]).resolve()
    assert (BUNDLE / "resources" / wheel).resolve() == built / "dist" / "*.whl"
    assert built == ROOT


def nightly(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """One night over a dump that is not there, with its lock in the folder."""
    txnlog = folder / "txnlog"
    txnlog.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m txnlog.cli "$@"\n')
    txnlog.chmod(0o755)
    config = folder / "nightly.toml"
    config.write_text('dump = "absent"\n')
    return subprocess.run(
        [SCHEDULERS / "nightly.sh", config, folder / "txnlog.prom"],
        env={"PATH": f"{folder}:/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LOCKS": str(folder)} | environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_script_for_cron_ends_with_the_exit_code_and_says_what_it_means(tmp_path: Path) -> None:
    done = nightly(tmp_path)
    assert done.returncode == 2
    first, last = done.stderr.splitlines()
    assert "tables is missing" in first
    assert last.startswith("txnlog: wrong options, or a dump that cannot be read")


def stand_in(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)
    return path


def whole_night(folder: Path, copy: str, failing: str = "none") -> tuple[int, list[str]]:
    """The exit code of a night, and what it called; `copy` is the script that copies."""
    calls = folder / "calls"
    stand_in(folder, "txnlog", f'echo "$*" >>{calls}\n[[ $1 != {failing} ]] || exit 5')
    done = subprocess.run(
        [SCHEDULERS / "nightly.sh", "n.toml", "m.prom"],
        env={"PATH": f"{folder}:/usr/bin:/bin", "LOCKS": str(folder), "COPY": str(stand_in(folder, "copy.sh", copy)),
             "BOOTSTRAP_SERVER": "kafka-1:9092", "COMMAND_CONFIG": "client.properties", "CLUSTER": "a shop"},
        capture_output=True, check=False,
    )  # fmt: skip
    return done.returncode, calls.read_text().splitlines() if calls.exists() else []


def test_a_whole_night_copies_judges_verifies_and_writes_the_metrics_again(tmp_path: Path) -> None:
    detect, verify, metrics = (
        "detect --config n.toml --metrics m.prom",
        "verify --bootstrap-server kafka-1:9092 --command-config client.properties --cluster a shop",
        "metrics --output m.prom --cluster a shop",
    )
    assert whole_night(tmp_path, f"echo copied >>{tmp_path}/calls") == (0, ["copied", detect, verify, metrics])
    for command in (verify, metrics):
        parser().parse_args([*shlex.split(command.replace("a shop", "shop")), "--tables", "/data/txnlog"])


@pytest.mark.parametrize(
    ("copy", "failing", "want"), [("exit 3", "none", (74, 0)), ("", "detect", (5, 1)), ("", "verify", (5, 2))]
)
def test_what_fails_ends_a_night(tmp_path: Path, copy: str, failing: str, want: tuple[int, int]) -> None:
    code, calls = whole_night(tmp_path, copy, failing)
    assert (code, len(calls)) == want


def test_a_night_is_skipped_and_said_while_the_one_before_is_going_on(tmp_path: Path) -> None:
    nightly(tmp_path)
    (lock,) = tmp_path.glob("*.lock")
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = nightly(tmp_path)
    assert (done.returncode, done.stderr) == (75, f"txnlog: skipped: the previous run holds {lock}\n")
    assert nightly(tmp_path).returncode == 2


def test_a_place_for_the_lock_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    done = nightly(tmp_path, LOCKS=str(tmp_path / "absent"))
    assert done.returncode == 2
    assert "name a folder that" in done.stderr.splitlines()[-1]


def test_the_script_has_a_line_for_each_exit_code() -> None:
    script = (SCHEDULERS / "nightly.sh").read_text("utf-8")
    codes = [code for code in re.findall(r"^  (\d)", EXIT_CODES, re.MULTILINE) if int(code) != HistoryError.exit_code]
    assert re.findall(r"^  (\d)\)", script, re.MULTILINE) == codes


def test_the_crontab_calls_the_script_the_archive_and_prune() -> None:
    text = (SCHEDULERS / "txnlog.cron").read_text("utf-8")
    night, hour, week = (line for line in text.splitlines() if line[:1].isdigit())
    assert re.fullmatch(r"\d+ \d+ \* \* \*  txnlog  nightly\.sh \S+\.toml \S+\.prom 2>&1 \| .*", night)
    found = re.search(r" txnlog (archive .*?) \|\| ", hour)
    assert found
    service = (SCHEDULERS / "txnlog-archive.service").read_text("utf-8")
    assert f"\nExecStart=/opt/txnlog/bin/txnlog {found[1]}\n" in service
    assert vars(parser().parse_args(shlex.split(found[1])))["bootstrap_server"] == "kafka-1:9092"
    pruned = re.search(r" txnlog (prune .*?) 2>&1", week)
    assert pruned
    parser().parse_args(shlex.split(pruned[1]))
    assert f"\nExecStart=/opt/txnlog/bin/txnlog {pruned[1]}\n" in (SCHEDULERS / "txnlog.service").read_text("utf-8")


def test_no_lock_lies_where_only_root_may_write() -> None:
    for path in SCHEDULERS.iterdir():
        assert not re.search(r"/(var|run)/lock\b", path.read_text("utf-8")), path.name


@pytest.mark.parametrize(("is_held", "want"), [(True, "txnlog: skipped: the previous archive"), (False, "archived")])
def test_an_hour_is_skipped_and_said_while_the_archive_before_is_going_on(
    tmp_path: Path, is_held: bool, want: str
) -> None:
    (line,) = (
        each for each in (SCHEDULERS / "txnlog.cron").read_text("utf-8").splitlines() if " txnlog archive " in each
    )
    command = line.split("txnlog  ", 1)[1].rsplit(" | ", 1)[0].replace("/var/lib/txnlog", str(tmp_path))
    stand_in = tmp_path / "txnlog"
    stand_in.write_text("#!/bin/sh\necho archived\n")
    stand_in.chmod(0o755)
    with (tmp_path / "archive.lock").open("a") as lock:
        if is_held:
            fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            ["/bin/bash", "-c", command], env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.stdout.startswith(want)


def test_the_dag_compiles_and_tries_again_only_what_may_pass() -> None:
    source = (SCHEDULERS / "airflow_dag.py").read_text("utf-8")
    tree = ast.parse(source)
    compile(tree, "airflow_dag.py", "exec")
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "run"]
    words: list[Any] = [[each.value if isinstance(each, ast.Constant) else "x" for each in call.args] for call in calls]
    assert sorted(each[0] for each in words) == ["archive", "detect"]
    for each in words:
        parser().parse_args(list(map(str, each)))
    (constant,) = [
        node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MAY_PASS"
    ]
    assert ast.literal_eval(constant.value) == 1
