"""The README's ways to install txnlog, each in a fresh environment that has none of the developers' packages."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.processes import built_wheel
from txnlog.commands.parser import COMMANDS
from txnlog.errors import SetupError

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
SHOP = str(ROOT / "data" / "samples" / "shop")
VERSIONS = re.findall(r'Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
CONTAINERFILE = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
# What a command without its package says to install.
NEEDED = {
    **dict.fromkeys(("detect", "archive", "prune", "partition", "record"), "txnlog[spark]"),
    "verify": "txnlog[kafka]",
    "report": "txnlog[report]",
}
# A network that has nothing but this machine.
NO_NETWORK = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def interpreter(version: str) -> str | None:
    """The Python of a version, if it is here. What pyenv puts on PATH may say only that the version is not chosen."""
    named = shutil.which(f"python{version}")
    found = [named] if named else []
    for each in [*found, *map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))]:
        code = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
        if subprocess.run([each, "-c", code], capture_output=True, text=True, check=False).stdout == f"{version}\n":
            return each
    return None


def run(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    return subprocess.run(
        command, cwd=folder, env=kept | environment, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_wheel(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def image(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The entry point of what the Containerfile's steps make here, without those of the system; the newest Python."""
    home = tmp_path_factory.mktemp("home")
    (home / "dist").mkdir()
    (home / "bin").mkdir()
    shutil.copy(wheel, home / "dist")
    shutil.copy(ROOT / "constraints.txt", home / "dist")
    newest = next(found for version in reversed(VERSIONS) if (found := interpreter(version)))
    (home / "bin" / "python3").write_text(f'#!/bin/sh\nexec {newest} "$@"\n')
    (home / "bin" / "python3").chmod(0o755)
    of_system, *steps = re.findall(r"^RUN (.*)$", CONTAINERFILE, re.MULTILINE)
    assert "apt-get install" in of_system
    for step in steps:
        done = run(home, "sh", "-c", step, PATH=f"{home / 'bin'}:{os.environ['PATH']}")
        assert done.returncode == 0, done.stderr[-3000:]
    (entry_point,) = re.findall(r"^ENTRYPOINT (.*)$", CONTAINERFILE, re.MULTILINE)
    return [word.replace("/home/txnlog", str(home)) for word in json.loads(entry_point)]


@pytest.fixture(scope="module")
def tables(image: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the image finds in a sample, without a network."""
    folder = tmp_path_factory.mktemp("shop")
    done = run(folder, *NO_NETWORK, *image, "detect", SHOP, "--tables", str(folder / "tables"))
    assert done.returncode == 0, done.stderr[-3000:]
    assert "shop: " in done.stdout
    assert " 4 late, 2 to abort, " in done.stdout
    return folder / "tables"


def test_a_run_into_tables_that_are_there_shows_no_warning_of_sparks(image: list[str], tables: Path) -> None:
    done = run(tables.parent, *NO_NETWORK, *image, "detect", SHOP, "--tables", str(tables))
    assert done.returncode == 0
    # The JVM speaks of its incubator modules.
    assert [line for line in done.stderr.splitlines() if not line.startswith("WARNING: Using incubator")] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_without_spark_each_command_works_or_says_in_a_line_what_to_install(
    wheel: Path, tables: Path, tmp_path: Path, version: str
) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here")
    env = tmp_path / "env"
    of_tables, of_partition = ["--tables", str(tables)], ["--topic", "orders", "--partition", "1"]
    typed = {
        "copy-script": ["--cluster", "shop", "1=/var/lib/kafka"],
        "check": [SHOP],
        "detect": [SHOP, "--tables", str(tmp_path / "tables")],
        "archive": [SHOP, "--tables", str(tmp_path / "tables")],
        "prune": [*of_tables, "--keep", "90d"],
        "verify": [*of_tables, "--bootstrap-server", "127.0.0.1:1"],
        "abort-list": [*of_tables, "--unverified"],
        "describe": [*of_tables, "--transactional-id", "checkout-7"],
        "describe-producers": [*of_tables, *of_partition],
        "explain": [*of_tables, *of_partition],
        "partition": [SHOP, *of_partition],
        "record": [SHOP, *of_partition, "--offset", "0"],
        "timeline": [*of_tables, "--transactional-id", "checkout-7"],
        "report": [*of_tables, "--html", "report.html"],
    }
    run(tmp_path, python, "-m", "venv", str(env))
    installed = run(tmp_path, str(env / "bin" / "pip"), "install", "--quiet", str(wheel))
    assert installed.returncode == 0, installed.stderr
    for command in (each.name for each in COMMANDS):
        done = run(tmp_path, str(env / "bin" / "txnlog"), command, *typed.get(command, of_tables))
        if command in NEEDED:
            assert done.returncode == SetupError.exit_code, command
            assert re.fullmatch(rf"txnlog: .*pip install '{re.escape(NEEDED[command])}'.*\n", done.stderr), done.stderr
        else:
            assert done.returncode == 0, done.stderr
