"""Jars of Maven Central, fetched with the Ivy that ships with Spark: nothing else needs to be installed."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from txnlog.errors import SetupError
from txnlog.spark.java import java

SETTINGS = Path(__file__).parent / "conf" / "ivysettings.xml"
_PATIENCE_S = 600
_MODULE = """<ivy-module version="2.0">
  <info organisation="txnlog" module="jars"/>
  <dependencies defaultconf="default->default">{dependencies}{excluded}</dependencies>
</ivy-module>
"""


class Artifact(NamedTuple):
    """A jar as Maven names it: `io.delta:delta-storage:4.4.0`."""

    organisation: str
    name: str
    revision: str

    def __str__(self) -> str:
        return ":".join(self)


class Excluded(NamedTuple):
    """What is left out although something depends on it, with all that only it depends on."""

    organisation: str
    name: str


def spark_jars() -> Path:
    """Spark's own jars: those of `SPARK_HOME`, as for Spark's scripts, else of the installed pyspark."""
    home = os.environ.get("SPARK_HOME")
    if home:
        return Path(home, "jars")
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SetupError("pyspark is not installed: pip install 'txnlog[spark]'")
    return Path(spec.origin).parent / "jars"


def fetch(
    artifacts: Sequence[Artifact], target: Path, *, transitive: bool = False, excluded: Sequence[Excluded] = ()
) -> None:
    """Put the artifacts' jars into a folder, and with `transitive` those that they depend on.

    Ivy runs in a scratch folder and the jars are moved over at the end: a jar that is there is whole.
    Raises SetupError when one cannot be had.
    """
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target, prefix="fetch-") as scratch:
        module = Path(scratch, "ivy.xml")
        module.write_text(_module(artifacts, transitive, excluded))
        try:
            _run_ivy(module, Path(scratch))
        except (OSError, subprocess.SubprocessError) as trouble:
            coordinates = " and ".join(map(str, artifacts))
            raise SetupError(
                f"cannot fetch {coordinates}: connect to the network, or put the jars into {target}"
            ) from trouble
        for jar in Path(scratch, "jars").glob("*.jar"):
            jar.replace(target / jar.name)


def _module(artifacts: Sequence[Artifact], transitive: bool, excluded: Sequence[Excluded]) -> str:
    dependencies = "".join(
        f'<dependency org="{one.organisation}" name="{one.name}" rev="{one.revision}"'
        f' transitive="{str(transitive).lower()}"/>'
        for one in artifacts
    )
    left_out = "".join(f'<exclude org="{one.organisation}" module="{one.name}"/>' for one in excluded)
    return _MODULE.format(dependencies=dependencies, excluded=left_out)


def _run_ivy(module: Path, scratch: Path) -> None:
    """Ivy exits with 1 when it cannot find one of them. Its progress output is not shown."""
    command: list[str | Path] = [java().executable, "-cp", f"{spark_jars()}/*", "org.apache.ivy.Main"]
    # A bundle is a jar, too: Maven calls it so when it is made for OSGi.
    command += ["-settings", SETTINGS, "-ivy", module, "-cache", scratch / "cache", "-types", "jar", "bundle"]
    command += ["-retrieve", f"{scratch}/jars/[artifact]-[revision].[ext]"]
    subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_PATIENCE_S, check=True)
