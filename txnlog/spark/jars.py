"""Delta's two jars, fetched once with the Ivy that ships with Spark, then used as plain files.

Spark's own `spark.jars.packages` resolves at every start, takes seconds for it, writes a page to stderr, and
brings 33 jars of 87 MB: all but two of them Spark has already, or this project does not use.

Run as a module it fetches the jars and prints their paths, joined by commas, for a Spark that has no Delta:
`spark-submit --jars "$(python -m txnlog.spark.jars)" ...`.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from txnlog.errors import SetupError
from txnlog.spark.ivy import Artifact, fetch, spark_jars

SCALA = "2.13"  # the only one Spark 4 is built for
DELTA = "4.4.0"  # that of the extra `spark`


def delta_jars() -> list[Path]:
    """Delta's jars for the installed pyspark, fetched if need be; none where Spark brings its own.

    Raises SetupError when they are missing and cannot be had.
    """
    if any(spark_jars().glob("delta-spark*.jar")):
        return []
    jars = [folder() / f"{artifact}-{_installed('delta-spark')}.jar" for artifact in artifacts()]
    if not all(jar.is_file() for jar in jars):
        fetch([Artifact("io.delta", name, _installed("delta-spark")) for name in artifacts()], folder())
    return jars


def artifacts() -> tuple[str, str]:
    """The artifacts of the two jars, for the installed pyspark."""
    return _artifact(_installed("pyspark")), "delta-storage"


def coordinates(spark_version: str) -> str:
    """What `spark-submit --packages` takes, for a Spark that brings no Delta."""
    return f"io.delta:{_artifact(spark_version)}:{DELTA}"


def _artifact(spark_version: str) -> str:
    """Since Delta 4.1 one artifact per minor version of Spark: delta-spark_4.2_2.13 for Spark 4.2.0."""
    minor = ".".join(spark_version.split(".")[:2])
    return f"delta-spark_{minor}_{SCALA}"


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
