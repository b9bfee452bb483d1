"""An archive of Spark's classes, with which a run takes about two thirds of the time.

More than a third of a short run goes into loading and checking classes. Since Java 13 the JVM can do so once and
keep the result (JEP 350, dynamic class data sharing: -XX:ArchiveClassesAtExit). The JVM passes over an archive of
another Java or of other jars without a word, and everything is as slow as before.

Run as a module it makes the archive, unless it is there: 200 MB. `txnlog.job.training` decides what classes are in it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from txnlog.errors import SetupError
from txnlog.spark.jars import folder
from txnlog.spark.java import Java, java

_PATIENCE_S = 900


def archive(runtime: Java) -> Path:
    """Where the archive of this Java, this Spark and this Delta is, if it was made."""
    versions = f"spark-{version('pyspark')}-delta-{version('delta-spark')}-java-{runtime.version}"
    return folder() / f"{versions}.jsa"


def java_options(runtime: Java) -> list[str]:
    """The option that has the JVM use the archive; none where there is no archive."""
    made = archive(runtime)
    return [f'"-XX:SharedArchiveFile={made}"'] if made.is_file() else []


def make(runtime: Java) -> Path:
    """The archive, made by a run of the job, which takes about a minute and a half.

    Raises SetupError when that fails; everything works without the archive.
    """
    target = archive(runtime)
    if target.is_file():
        return target
    folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder(), prefix="archive-") as scratch:
        made = Path(scratch, target.name)
        command = [sys.executable, "-m", "txnlog.job.training", str(made), scratch]
        try:
            # The JVM writes the archive after Python has ended; it holds the pipes, so this waits for both.
            subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_PATIENCE_S, check=True)
            made.replace(target)
        except (OSError, subprocess.SubprocessError) as trouble:
            raise SetupError(f"no archive of Spark's classes could be made in {target.parent}") from trouble
    return target


def main() -> int:
    """Print the archive's path, or the one line that says why there is none."""
    try:
        print(make(java()))  # noqa: T201 - for make
    except SetupError as error:
        print(f"txnlog: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
