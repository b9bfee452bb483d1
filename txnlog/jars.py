"""Delta's two jars, fetched once with the Ivy that ships with Spark, then used as plain files.

Spark's own `spark.jars.packages` resolves at every start, takes seconds for it, writes a page to stderr, and
brings 33 jars of 87 MB: all but two of them Spark has already, or this project does not use.

Run as a module it fetches the jars and prints their paths, joined by commas, for a Spark that has no Delta:
`spark-submit --jars "$(python -m txnlog.jars)" ...`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from txnlog.errors import SetupError
from txnlog.java import java

SCALA = "2.13"  # the only one Spark 4 is built for
SETTINGS = Path(__file__).parent / "conf" / "ivysettings.xml"
_PATIENCE_S = 600
_MODULE = """<ivy-module version="2.0">
  <info organisation="txnlog" module="jars"/>
  <dependencies defaultconf="default->master">{dependencies}</dependencies>
</ivy-module>
"""


def delta_jars() -> list[Path]:
    """Delta's jars for the installed pyspark, fetched if need be; none where Spark brings its own.

    Raises SetupError when they are missing and cannot be had.
    """
    if any(_spark_jars().glob("delta-spark*.jar")):
        return []
    jars = [folder() / f"{artifact}-{_installed('delta-spark')}.jar" for artifact in artifacts()]
    if not all(jar.is_file() for jar in jars):
        _fetch(artifacts(), _installed("delta-spark"), folder())
    return jars


def artifacts() -> tuple[str, str]:
    """Since Delta 4.1 one artifact per minor version of Spark: delta-spark_4.2_2.13 for pyspark 4.2.0."""
    minor = ".".join(_installed("pyspark").split(".")[:2])
    return f"delta-spark_{minor}_{SCALA}", "delta-storage"


def folder() -> Path:
    """Where what is fetched or made once is kept: in the virtual environment, else in the user's cache."""
    if sys.prefix != sys.base_prefix and os.access(sys.prefix, os.W_OK):
        return Path(sys.prefix, "share", "txnlog")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "txnlog"


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError as missing:
        raise SetupError(f"{package} is not installed: pip install 'txnlog[spark]'") from missing


def _spark_jars() -> Path:
    """Spark's own jars: those of `SPARK_HOME`, as for Spark's scripts, else of the installed pyspark."""
    home = os.environ.get("SPARK_HOME")
    if home:
        return Path(home, "jars")
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SetupError("pyspark is not installed: pip install 'txnlog[spark]'")
    return Path(spec.origin).parent / "jars"


def _fetch(names: tuple[str, ...], revision: str, target: Path) -> None:
    """Run Ivy in a scratch folder and move the jars over at the end: a jar that is there is whole."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target, prefix="fetch-") as scratch:
        try:
            _run_ivy(names, revision, Path(scratch))
        except (OSError, subprocess.SubprocessError) as trouble:
            coordinates = " and ".join(f"io.delta:{name}:{revision}" for name in names)
            raise SetupError(
                f"cannot fetch {coordinates}: connect to the network, or put the jars into {target}"
            ) from trouble
        for jar in Path(scratch, "jars").glob("*.jar"):
            jar.replace(target / jar.name)


def _run_ivy(names: tuple[str, ...], revision: str, scratch: Path) -> None:
    """Ivy exits with 1 when it cannot find one of them. Its dots and its report are nobody's business."""
    dependencies = "".join(
        f'<dependency org="io.delta" name="{name}" rev="{revision}" transitive="false"/>' for name in names
    )
    module = scratch / "ivy.xml"
    module.write_text(_MODULE.format(dependencies=dependencies))
    command: list[str | Path] = [java().executable, "-cp", f"{_spark_jars()}/*", "org.apache.ivy.Main"]
    command += ["-settings", SETTINGS, "-ivy", module, "-cache", scratch / "cache", "-types", "jar"]
    command += ["-retrieve", f"{scratch}/jars/[artifact]-[revision].[ext]"]
    subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_PATIENCE_S, check=True)


def main() -> int:
    """Print the jars' paths, or the one line that says why they cannot be had."""
    try:
        print(",".join(str(jar) for jar in delta_jars()))  # noqa: T201 - for make and spark-submit
    except SetupError as error:
        print(f"txnlog: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
