"""The Java that Spark will start: found the way Spark's own scripts find it, and new enough for Spark 4.

Run as a module it prints that Java's version, so that `make` can check it before long downloads. It imports
the standard library only: at that time nothing is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from txnlog.errors import SetupError

OLDEST = 17  # Spark 4.0 dropped Java 8 and 11
ADVICE = f"install Java {OLDEST} or newer and set JAVA_HOME to its folder"
_VERSION = re.compile(r'version "([^"]+)"')


class Java(NamedTuple):
    """A Java runtime that can run Spark."""

    executable: Path
    version: str  # as it names itself: 17.0.15


def java() -> Java:
    """The Java of `JAVA_HOME`, else of `PATH`: the order of Spark's bin/spark-class.

    Raises SetupError when there is none, when it does not run, and when it is older than Spark takes.
    """
    executable = _executable()
    version = _version(executable)
    if _major(version) < OLDEST:
        raise SetupError(f"Java {version} ({executable}) is too old for Spark: {ADVICE}")
    return Java(executable, version)


def _executable() -> Path:
    home = os.environ.get("JAVA_HOME")
    if home:
        executable = Path(home, "bin", "java")
        if not os.access(executable, os.X_OK):
            raise SetupError(f"JAVA_HOME is {home}, which has no bin/java: {ADVICE}")
        return executable
    found = shutil.which("java")
    if found is None:
        raise SetupError(f"no Java found (JAVA_HOME is not set, PATH has no java): {ADVICE}")
    return Path(found)


def _version(executable: Path) -> str:
    """What `java -version` says, on stderr. macOS has a `java` that only says that there is none."""
    try:
        answer = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as trouble:
        raise SetupError(f"{executable} -version does not work: {ADVICE}") from trouble
    match = _VERSION.search(answer.stderr)
    if match is None:
        raise SetupError(f"{executable} -version names no version: {ADVICE}")
    return match[1]


def _major(version: str) -> int:
    """17 of `17.0.15` and of `17-ea`, 8 of `1.8.0_392`: up to Java 8 the first number was always 1."""
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def main() -> int:
    """Print the version, or the one line that says what is missing."""
    try:
        print(java().version)  # noqa: T201 - `python -m txnlog.spark.java` is for make
    except SetupError as error:
        print(f"txnlog: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
