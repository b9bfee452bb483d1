"""Kafka's own code as the judge: the programs in `judge/`, compiled against the jars of a release and run."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from programs import jars

from txnlog.spark.java import java

SOURCES = Path(__file__).parent / "judge"
OLDEST, NEWEST = "3.5.2", "4.3.0"
PATIENCE_S = 900


def judged(release: str, program: str, *arguments: str | Path, lines: Iterable[Any] = ()) -> Iterator[str]:
    """The lines that a program of `judge/` prints; it is given `lines` as JSON."""
    source = (SOURCES / f"{program}.java").read_text()
    if release == OLDEST:
        source = source.replace(".record.internal.", ".record.")
    with tempfile.TemporaryDirectory() as scratch:
        given, said = Path(scratch, "given.jsonl"), Path(scratch, "said")
        given.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        Path(scratch, f"{program}.java").write_text(source)
        command = [*java_of(release), f"{scratch}/{program}.java", *map(str, arguments)]
        with given.open() as stdin, said.open("w") as stdout:
            subprocess.run(command, stdin=stdin, stdout=stdout, timeout=PATIENCE_S, check=True)
        with said.open() as printed:
            yield from (line.rstrip("\n") for line in printed)


def tool(release: str, main_class: str, *arguments: str | Path) -> Iterator[str]:
    """The lines that one of Kafka's own programs prints."""
    command = [*java_of(release), main_class, *map(str, arguments)]
    with tempfile.TemporaryFile("w+") as said:
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=said, timeout=PATIENCE_S, check=True)
        said.seek(0)
        yield from (line.rstrip("\n") for line in said)


def java_of(release: str) -> list[str]:
    """The start of a command line: Java with the release's jars."""
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    return [str(java().executable), "-Xmx512m", "-XX:+UseSerialGC", quiet, "-cp", f"{jars(release)}/*"]
